"""Turns the attention maps of a batch into rows: tokens merged to words, peaks, sums."""
