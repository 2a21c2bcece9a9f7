"""Shards of a corpus, as texts name them: 3/16 is the third of 16, 1-2+4/5 are three of five.

The k-th of n shards has the documents k, k + n, k + 2n, ... in the order of the text: the place of
a document alone says where it belongs, and shards differ by one document at most. The corpus is
known by the digest of its files, so that places mean the same on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

MOST = 1_000_000
"""The most shards that a corpus can be divided into."""
_TEXT = re.compile(r"([0-9]{1,9}(?:[-+][0-9]{1,9})*)/([0-9]{1,9})")


@dataclass(frozen=True)
class Shards:
    """Some of the `count` shards of a corpus, by their 1-based numbers; all of them are a whole.

    Of two, neither of which is whole, both must divide the corpus alike to be compared or joined.
    """

    numbers: frozenset[int]
    count: int

    @property
    def is_whole(self) -> bool:
        """Whether no shard is missing."""
        return 0 < len(self.numbers) == self.count

    @property
    def text(self) -> str | None:
        """As table `corpus` has it: `3/5` for a shard, `1-2+4/5` for three; None for a whole."""
        return None if self.is_whole else f"{_ranges(self.numbers)}/{self.count}"

    @property
    def label(self) -> str | None:
        """As the name of a run has it: `shard3of5`; None for a whole."""
        return None if self.is_whole else f"shard{_ranges(self.numbers)}of{self.count}"

    @property
    def missing(self) -> str:
        """The shards that are not there, as a text of the same form."""
        return f"{_ranges(set(range(1, self.count + 1)) - self.numbers)}/{self.count}"

    def with_(self, other: Shards) -> Shards:
        """These and those."""
        if self.is_whole or other.is_whole:
            return WHOLE
        return Shards(self.numbers | other.numbers, other.count)

    def has(self, other: Shards) -> bool:
        """Whether all of `other` is here."""
        return self.is_whole or (not other.is_whole and other.numbers <= self.numbers)

    def meets(self, other: Shards) -> bool:
        """Whether they have a shard in common."""
        return self.is_whole or other.is_whole or bool(self.numbers & other.numbers)

    def has_document(self, index: int) -> bool:
        """Whether the document at this 1-based place in the corpus is in one of them."""
        return (index - 1) % self.count + 1 in self.numbers


WHOLE = Shards(frozenset({1}), 1)


def read_shards(text: str | None) -> Shards:
    """The shards that a text names, all of them for None; ValueError if it names none."""
    if text is None:
        return WHOLE
    match = _TEXT.fullmatch(text)
    count = int(match[2]) if match else 0
    if not match or not 1 <= count <= MOST:
        raise ValueError(text)
    numbers: set[int] = set()
    for numbers_text in match[1].split("+"):
        ends = [int(number) for number in numbers_text.split("-")]
        if len(ends) > 2 or not 1 <= ends[0] <= ends[-1] <= count:
            raise ValueError(text)
        numbers |= set(range(ends[0], ends[-1] + 1))
    return Shards(frozenset(numbers), count)


def _ranges(numbers: Iterable[int]) -> str:
    ranges = []
    for _, run in groupby(enumerate(sorted(numbers)), lambda item: item[1] - item[0]):
        ends = [number for _, number in run]
        ranges.append(str(ends[0]) if len(ends) == 1 else f"{ends[0]}-{ends[-1]}")
    return "+".join(ranges)
