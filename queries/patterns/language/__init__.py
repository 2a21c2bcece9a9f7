"""The language of requests: its grammar, its tree, and what is wrong with a request."""
