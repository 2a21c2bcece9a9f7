"""Measures the surprisal of words and minimal pairs, with all heads and without some."""
