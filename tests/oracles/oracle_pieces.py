"""SentencePiece tokenizers the slow, obvious way: words with `▁` for white space, cut by hand.

It was written apart from the package and from the tokenizers library, whose file it reads: it makes
one merge at a time, or compares the log-probabilities of all segmentations of a word.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

SPACE = "▁"


class SlowPieces:
    """A tokenizer.json of model BPE or Unigram without a normalizer that changes letters."""

    def __init__(self, folder: Path, *, before_text: str) -> None:
        """`before_text` is written before the first word: SPACE, or nothing."""
        model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
        self._before_text = before_text
        if model["type"] == "BPE":
            self._ids = model["vocab"]
            self._ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
            self._cut = self._merged
        else:
            assert model["type"] == "Unigram"
            self._ids = {piece: at for at, (piece, _) in enumerate(model["vocab"])}
            self._scores = dict(model["vocab"])
            self._cut = self._most_probable

    def __call__(self, words: Sequence[str], space_before: Sequence[bool]) -> list[list[int]]:
        """The ids of the pieces of each word."""
        found = []
        for at, (word, space) in enumerate(zip(words, space_before, strict=True)):
            before = self._before_text if at == 0 else SPACE if space else ""
            found.append([self._ids[piece] for piece in self._cut(before + word)])
        return found

    def _merged(self, written: str) -> list[str]:
        pieces = list(written)
        while True:
            pairs = list(pairwise(pieces))
            known = [
                (self._ranks[pair], at) for at, pair in enumerate(pairs) if pair in self._ranks
            ]
            if not known:
                return pieces
            _, at = min(known)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]

    def _most_probable(self, written: str) -> list[str]:
        @cache
        def best(start: int) -> tuple[float, tuple[str, ...]]:
            if start == len(written):
                return 0.0, ()
            ways = []
            for end in range(start + 1, len(written) + 1):
                piece = written[start:end]
                if piece in self._scores and (end == len(written) or best(end)[1]):
                    ways.append((self._scores[piece] + best(end)[0], (piece, *best(end)[1])))
            return max(ways, default=(float("-inf"), ()))

        return list(best(0)[1])
