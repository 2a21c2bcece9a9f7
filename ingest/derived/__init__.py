"""Computes and keeps results that SQL cannot: head distances, decoded trees, probes."""
