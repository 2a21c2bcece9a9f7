"""Row ids that say where a row stands, and shards of a corpus.

The n-th document of a corpus has the id `(corpus.id - 1) << 40 | n`, and so have its sentences,
words, mentions and entities, each counted over the whole corpus, whatever part of it is in the
bank. A sequence has `(run.id - 1) << 40 | n`: n is that of its sentence, or of its first word in
runs whose inputs are not sentences. So banks agree on the ids of one corpus and of one run but for
a constant, and rows move from one to another by adding it.

Shards are named in texts: 3/16 is the third of 16, 1-2+4/5 are three of five. The k-th of n has the
documents k, k + n, k + 2n, ...: they differ by one document at most, and mean the same on every
machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from attnbank.sql.names import quoted

# The bits of an id below the number of its corpus or run: a billion documents of a thousand words.
BITS = 40
# The largest number of a corpus or run whose ids are 64-bit integers. No bank uses it: the number
# that would come next is always valid.
LARGEST_OWNER = 1 << (63 - BITS)

# Columns of ids of words; others are named after the table that they refer to.
OF_WORDS = ("first_word", "last_word", "head_word", "attended_word")
# What a column of ids refers to, by its name; `id` is that of its table.
OWNERS = {
    **dict.fromkeys(("document", "sentence", "word", "mention", "entity"), "corpus"),
    **dict.fromkeys(OF_WORDS, "corpus"),
    "sequence": "run",
}
# Tables whose ids are numbers from 1 on.
NUMBERED = ("corpus", "model", "run", "probe")

# New numbers by old ones, for each numbered table.
Numbers = Mapping[str, Mapping[int, int]]


def row_id(owner: int, ordinal: int) -> int:
    """Return the id of the row with this 1-based ordinal in a corpus or run of this number."""
    return (owner - 1) << BITS | ordinal


def ordinal_of(id: int) -> int:
    """Return the 1-based ordinal of a row in its corpus or run."""
    return id & ((1 << BITS) - 1)


def place_of(id: int) -> str:
    """Return an id as people read it: the number of the corpus or run, and the ordinal (2:12)."""
    return f"{(id >> BITS) + 1}:{ordinal_of(id)}"


def refers_to(table: str, column: str) -> str | None:
    """Return the numbered table that a column of ids is of, or None for another column."""
    if (table, column) == ("run", "first_word"):
        return None  # an option
    if column == "id":
        column = table
    if column.endswith("_run"):
        return "run"
    return column if column in NUMBERED else OWNERS.get(column)


def renumbered(table: str, column: str, numbers: Numbers) -> str:
    """Return SQL for a column of `own`, where corpora, models, runs and probes have new numbers.

    It is null for an id of a corpus, model, run or probe that gets none.
    """
    value, target = f"own.{quoted(column)}", refers_to(table, column)
    if target is None or target not in numbers:
        return value
    new = numbers[target].items()
    if not new:
        return "null"
    if (table if column == "id" else column) in OWNERS:
        shifts = " ".join(f"when {old - 1} then {(to - old) << BITS}" for old, to in new)
        return f"{value} + case {value} >> {BITS} {shifts} end"
    return f"case {value} {' '.join(f'when {old} then {to}' for old, to in new)} end"


# The most shards that a corpus can be divided into.
MOST = 1_000_000
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
