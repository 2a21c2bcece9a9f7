"""Positions of several words the slow, obvious way, from the text to the figures.

Written apart from the package, and shares nothing with it: `text` reads CoNLL-U, `passes` runs a
model over one input at a time, and the rest are the analyses as loops over dicts.

A word is known by its place in the corpus, counted from 0. A unit is what the tokenizer is given
in one piece and what a position of the attention maps is: a word, or a multiword token that its
parts do not spell (`du`, which is `de` and `le`).
"""
