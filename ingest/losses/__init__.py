"""Measures losses over a run: of words, pairs and masked words, also without some heads."""
