"""Merges several banks or exports into one, and cuts an excerpt out of a bank."""
