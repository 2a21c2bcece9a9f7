"""The shard of a corpus that an ingest reads, so that n machines can each take one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.sql.errors import CallError
from attnbank.sql.shards import MOST, Shards, read_shards


def read_shard(text: str | None) -> Shards:
    """The one shard that a text like 3/16 names; the whole corpus for None, and for 1/1.

    Raises CallError if the text names none, or several.
    """
    with suppress(ValueError):
        shards = read_shards(text)
        if len(shards.numbers) == 1:
            return shards
    raise CallError(
        f"--shard takes K/N with K from 1 to N, and N up to {MOST:,}, not {str(text)[:40]!r}.",
        "For example, the third of 16 shards is --shard 3/16.",
    )


def items_of_shard(
    items: Iterable[Sentence | Problem], shard: Shards
) -> Iterator[Sentence | Problem]:
    """What belongs to a shard, in the order of the text; everything as it is of a whole.

    Each document has its place in the whole corpus (`DocumentStart.index`). What cannot be read
    belongs to the document that it stands in, as far as one has begun, so that it is in one shard.
    """
    if shard.is_whole:
        yield from items
        return
    document = 0
    for item in items:
        if isinstance(item, Sentence) and item.document is not None:
            document += 1
            item = replace(item, document=replace(item.document, index=document))
        if shard.has_document(max(document, 1)):
            yield item
