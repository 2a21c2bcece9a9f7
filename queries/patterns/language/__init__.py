"""Parses a request and resolves its names: grammar, syntax tree, error messages."""
