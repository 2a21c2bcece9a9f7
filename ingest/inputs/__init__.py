"""Makes the inputs of the model (a sentence, a document, a pair), and batches of them."""
