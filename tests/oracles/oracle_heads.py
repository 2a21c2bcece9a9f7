"""What attention heads find, dependent by dependent, by loops over the rows of a bank."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from pathlib import Path

import duckdb

Head = tuple[int, int, str]
"""Layer, head and direction."""


@dataclass(frozen=True)
class Word:
    """A word of the text that is in a tree; `head` is the index of its head, 0 for a root."""

    id: int
    sentence: int
    index: int
    head: int
    relation: str
    tag: str


class Reading:
    """One run of a bank: its words, their positions, and what the heads find for each of them."""

    def __init__(self, bank: Path, run: str) -> None:
        with duckdb.connect(str(bank), read_only=True) as connection:
            rows = connection.execute(
                "select id, sentence, index, head_index, deprel, coalesce(upos, xpos) from word"
                " where head_index is not null"
            ).fetchall()
            self.words = {
                id: Word(id, sentence, index, head, deprel.split(":")[0], tag)
                for id, sentence, index, head, deprel, tag in rows
            }
            places = connection.execute(
                "select sequence.id, position.position, position.word from position, sequence, run"
                " where sequence.id = position.sequence and run.id = sequence.run"
                " and run.name = ? and position.kind = 'word'",
                [run],
            ).fetchall()
            self.word_at = {(sequence, place): word for sequence, place, word in places}
            self.place = {word: (sequence, place) for sequence, place, word in places}
            self.found: dict[int, dict[Head, int | None]] = defaultdict(dict)
            for sequence, place, layer, head, to, by in connection.execute(
                "select sequence, position, layer, head, most_attended, most_attending from peak"
            ).fetchall():
                word = self.word_at.get((sequence, place))
                if word is not None:
                    self.found[word][layer, head, "dependent_to_head"] = self._word(sequence, to)
                    self.found[word][layer, head, "head_to_dependent"] = self._word(sequence, by)
            documents = connection.execute(
                "select document.id from document, run where run.corpus = document.corpus"
                " and run.name = ? order by document.index, document.id", [run]
            ).fetchall()  # fmt: skip
            number = {id: place for place, (id,) in enumerate(documents, start=1)}
            places_in_text = connection.execute(
                "select word.id, sentence.document, sentence.index from word, sentence"
                " where sentence.id = word.sentence"
            ).fetchall()
            read = {document for word, document, _ in places_in_text if word in self.place}
            self.cluster = {
                word: (number[document] if len(read) > 1 else index) % 100
                for word, document, index in places_in_text
                if word in self.place
            }
        self._ids = {(each.sentence, each.index): each.id for each in self.words.values()}

    def _word(self, sequence: int, place: int | None) -> int | None:
        return None if place is None else self.word_at[sequence, place]

    def dependents(self, relation: str) -> list[int]:
        """The words of the run that have the relation to a head; for `all`, roots as well."""
        return [
            word
            for word in sorted(self.place)
            if word in self.words
            and (relation == "all" or (self.words[word].relation == relation and self.head(word)))
        ]

    def head(self, word: int) -> int | None:
        """The syntactic head of a word in its input; None for a root."""
        told = self.words[word]
        head = self._ids.get((told.sentence, told.head))
        return head if head in self.place else None

    def best(self, words: list[int]) -> tuple[Head, set[int]]:
        """The head that is right most often, the first of equals, and the words it is right on."""
        right: dict[Head, set[int]] = defaultdict(set)
        for word in words:
            for head, found in self.found[word].items():
                right[head] |= {word} if found is not None and found == self.head(word) else set()
        return max(sorted(right.items()), key=lambda item: len(item[1]))


def mcnemar(one: int, other: int) -> float:
    """McNemar's exact two-sided p value, computed with whole numbers up to the last step."""
    return min(1.0, 2 * mcnemar_better(max(one, other), min(one, other)))


def mcnemar_better(one: int, other: int) -> float:
    """The same one-sided: how likely it is that the first gets at least `one` of them."""
    n = one + other
    return float(Fraction(sum(comb(n, k) for k in range(one, n + 1)), 2**n))
