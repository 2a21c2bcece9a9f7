"""Parses a request: its grammar, its syntax tree, its error messages."""
