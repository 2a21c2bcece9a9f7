"""A shard of a corpus: every n-th document, so that n machines can each take one.

The k-th of n shards has the documents k, k + n, k + 2n, ... in the order of the text: the place of
a document alone says where it belongs, and shards differ by one document at most. The corpus is
known by the digest of its files, so that places mean the same on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.sql.errors import CallError

_TEXT = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True)
class Shard:
    """The shard `number` of `count`, 1-based."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def has(self, document: int) -> bool:
        """Whether the document at this 1-based place in the corpus belongs to the shard."""
        return (document - self.number) % self.count == 0


def read_shard(text: str | None) -> Shard | None:
    """The shard that a text like 3/16 names; None for None, and for 1/1, which is everything.

    Raises CallError if the text names no shard.
    """
    if text is None:
        return None
    found = _TEXT.fullmatch(text)
    number, count = (int(each) for each in found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise CallError(
            f"--shard takes K/N with K from 1 to N, not {text[:40]!r}.",
            "For example, the third of 16 shards is --shard 3/16.",
        )
    return Shard(number, count) if count > 1 else None


def of_shard(
    items: Iterable[Sentence | Problem], shard: Shard | None
) -> Iterator[Sentence | Problem]:
    """What belongs to a shard, in the order of the text; everything as it is if it is None.

    Each document has its place in the whole corpus (`DocumentStart.index`). What cannot be read
    belongs to the document that it stands in, as far as one has begun, so that it is in one shard.
    """
    if shard is None:
        yield from items
        return
    document = 0
    for each in items:
        if isinstance(each, Sentence) and each.document is not None:
            document += 1
            each = replace(each, document=replace(each.document, index=document))
        if shard.has(max(document, 1)):
            yield each
