"""A slow, obvious matcher of requests, written apart from the program; see matcher.py."""
