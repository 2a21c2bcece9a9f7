"""What probes find, example by example: a dependent's position and the position of its head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from multiword.passes import Input
from multiword.text import Corpus
from multiword.trees import Arc

ROOT = -1
Predict = Callable[[Input, int], int]


def right_branching(input: Input, position: int) -> int:
    """The next word position; ROOT for the last one."""
    words = input.word_positions
    at = words.index(position) + 1
    return words[at] if at < len(words) else ROOT


def attention(weights: np.ndarray, opens: float, closes: float) -> Predict:
    """Of ROOT and all other word positions the one that scores most; `weights` [2, L, H]."""

    def predict(input: Input, position: int) -> int:
        maps = input.maps.astype(np.float64)
        scores = {ROOT: 0.0}
        for at, each in enumerate(input.positions):
            if each.kind == "word" and at != position:
                scores[at] = float(
                    (weights[0] * maps[:, :, position, at]).sum()
                    + (weights[1] * maps[:, :, at, position]).sum()
                )
            elif each.kind != "word":
                share = opens if each.kind == "cls" else closes
                scores[ROOT] += share * float(
                    (weights[0] * maps[:, :, position, at]).sum()
                    + (weights[1] * maps[:, :, at, position]).sum()
                )
        return max(scores, key=lambda at: (scores[at], -at))

    return predict


def scores(
    corpus: Corpus, inputs: Sequence[Input], judged: Sequence[Arc], predict: Predict
) -> dict[str, tuple[int, int, int, int]]:
    """(n, correct, edges, found) by relation and of `all`, punctuation left out."""
    total: Counter[tuple[str, str]] = Counter()
    for arc in judged:
        if arc.word.is_punctuation:
            continue
        input = inputs[arc.input]
        gold = ROOT if arc.gold is None else arc.gold
        is_correct = predict(input, arc.position) == gold
        governor = arc.word.governor
        is_edge = governor is not None and not corpus.words[governor].is_punctuation
        for name in ("all", arc.relation):
            total[name, "n"] += 1
            total[name, "correct"] += is_correct
            if is_edge:
                total[name, "edges"] += 1
                total[name, "found"] += is_correct or predict(input, gold) == arc.position
    names = sorted({name for name, _ in total})
    return {
        name: (
            total[name, "n"],
            total[name, "correct"],
            total[name, "edges"],
            total[name, "found"],
        )
        for name in names
    }
