"""Loads models and tokenizers, aligns words with tokens, and refuses what does not fit."""
