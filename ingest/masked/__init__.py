"""Masks words as BERT's training does: gradients, and the loss without single heads."""
