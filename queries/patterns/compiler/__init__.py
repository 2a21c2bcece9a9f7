"""Builds one SELECT from a parsed request."""
