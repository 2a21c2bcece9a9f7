"""The sentences of a bank with their attention maps as arrays, for tests in plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnbank.queries import Bank


@dataclass
class Sentence:
    """A sentence as arrays: `maps` is [layers, heads, positions, positions]."""

    name: str
    words: list[dict[str, Any]]
    kinds: list[str]
    place: dict[int, int]  # the position of each word, by its index
    maps: np.ndarray

    def peak(self, layer: int, head: int, index: int) -> int | None:
        """The word that a word looks at most, the leftmost of equals; None if there is none."""
        row = self.maps[layer - 1, head - 1, self.place[index]]
        others = [other for other in self.place if other != index and row[self.place[other]] > 0]
        return max(others, key=lambda other: (row[self.place[other]], -other), default=None)

    def weight(self, layer: int, head: int, one: int, other: int) -> float:
        return float(self.maps[layer - 1, head - 1, self.place[one], self.place[other]])

    def edges(self, *labels: str) -> Iterator[tuple[int, int]]:
        for index, word in enumerate(self.words, 1):
            if word["deprel"] in labels or not labels:
                yield word["head_index"], index

    def pairs(self) -> Iterator[tuple[int, int]]:
        every = range(1, len(self.words) + 1)
        return ((one, other) for one in every for other in every if one != other)


def read_sentences(bank: Bank) -> list[Sentence]:
    """The sentences of a bank with one run, which must be of single sentences, in order."""
    model = bank.table("model").collect()
    layers, heads = int(model["layers"][0]), int(model["heads"][0])
    made = []
    for id, sentence, name in bank.sql(
        "select sequence.id, sentence.id as sentence, sentence.name from sequence"
        " inner join sentence on sentence.id = sequence.sentence order by sentence.id"
    ).rows():
        words = bank.sql(
            "select id, index, form, upos, head_index, deprel from word"
            " where sentence = $sentence order by index", {"sentence": sentence}
        ).to_dicts()  # fmt: skip
        positions = bank.sql(
            "select kind, word from position where sequence = $id order by position", {"id": id}
        ).rows()
        weights = bank.sql(
            "select weights from attention where sequence = $id"
            " order by layer, head, from_position", {"id": id}
        )["weights"].to_list()  # fmt: skip
        index_of = {word["id"]: word["index"] for word in words}
        size = len(positions)
        made.append(
            Sentence(
                name,
                words,
                [kind for kind, _ in positions],
                {index_of[word]: at for at, (_, word) in enumerate(positions) if word is not None},
                np.array(weights, np.float64).reshape(layers, heads, size, size),
            )
        )
    return made
