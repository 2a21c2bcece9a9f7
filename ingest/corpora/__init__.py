"""Parses corpora into sentences of annotated words, and reports what is wrong with them."""
