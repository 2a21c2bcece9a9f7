"""Loads models and tokenizers, aligns words with tokens, and rejects unusable models."""
