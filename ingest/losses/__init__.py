"""What a model's own head predicts: the surprisal of words, and what it is without some heads."""
