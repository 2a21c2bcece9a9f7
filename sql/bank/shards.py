"""Which shards of a corpus a bank has, once several have met: `1-2+4/5`, or all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

_TEXT = re.compile(r"([0-9]{1,9}(?:[-+][0-9]{1,9})*)/([0-9]{1,9})")
_MOST = 1_000_000
"""The most shards of a corpus that can be put together."""


@dataclass(frozen=True)
class Parts:
    """Some of the `count` shards of a corpus, by their 1-based numbers; all of them are a whole."""

    numbers: frozenset[int]
    count: int

    @property
    def is_whole(self) -> bool:
        """Whether no shard is missing."""
        return len(self.numbers) == self.count

    @property
    def text(self) -> str | None:
        """As table `corpus` has it: `3/5` for a shard, `1-2+4/5` for three; None for a whole."""
        return None if self.is_whole else f"{_ranges(self.numbers)}/{self.count}"

    @property
    def missing(self) -> str:
        """The shards that are not there, as a text of the same form."""
        return f"{_ranges(set(range(1, self.count + 1)) - self.numbers)}/{self.count}"

    @property
    def is_one(self) -> bool:
        """Whether one shard is missing, or there: for the words around the text."""
        return len(self.numbers) == 1

    def with_(self, other: Parts) -> Parts:
        """These and those. A whole takes in everything; else both must divide alike."""
        if self.is_whole or other.is_whole:
            return WHOLE
        return Parts(self.numbers | other.numbers, self.count)

    def has(self, other: Parts) -> bool:
        """Whether all of `other` is here, of shards that divide the corpus alike."""
        return self.is_whole or (not other.is_whole and other.numbers <= self.numbers)

    def meets(self, other: Parts) -> bool:
        """Whether they have a shard in common, of shards that divide the corpus alike."""
        return self.is_whole or other.is_whole or bool(self.numbers & other.numbers)


WHOLE = Parts(frozenset({1}), 1)


def read_parts(text: str | None) -> Parts:
    """The shards that a text names, as `ingest --shard` or a merge wrote it; all of them for None.

    Raises ValueError if it names none.
    """
    if text is None:
        return WHOLE
    found = _TEXT.fullmatch(text)
    count = int(found[2]) if found else 0
    if not found or not 1 <= count <= _MOST:
        raise ValueError(text)
    numbers: set[int] = set()
    for each in found[1].split("+"):
        ends = [int(number) for number in each.split("-")]
        if len(ends) > 2 or not 1 <= ends[0] <= ends[-1] <= count:
            raise ValueError(text)
        numbers |= set(range(ends[0], ends[-1] + 1))
    return Parts(frozenset(numbers), count)


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges: 1-2+4."""
    ordered = sorted(numbers)
    starts = [ordered[0], *(after for before, after in pairwise(ordered) if after != before + 1)]
    ends = [*(before for before, after in pairwise(ordered) if after != before + 1), ordered[-1]]
    return "+".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in zip(starts, ends, strict=True)
    )
