"""Generates pages from the commands, the schema, the analyses and the faults."""
