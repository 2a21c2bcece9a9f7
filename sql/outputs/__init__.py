"""Writes files and folders that appear whole or not at all; the tables of an export."""
