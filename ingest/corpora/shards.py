"""Shards of a corpus: a part of its documents, so that several machines can share an ingest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.sql.errors import CallError
from attnbank.sql.ids import MOST, Shards, read_shards


def read_shard(text: str | None) -> Shards:
    """Parse a shard such as 3/16; None and 1/1 are the whole corpus.

    Raises CallError if the text is not one shard.
    """
    with suppress(ValueError):
        shards = read_shards(text)
        if len(shards.numbers) == 1:
            return shards
    raise CallError(
        f"--shard must be K/N, with K from 1 to N and N up to {MOST:,}, not {str(text)[:40]!r}.",
        "For example, for the third of 16 shards: --shard 3/16.",
    )


def items_of_shard(
    items: Iterable[Sentence | Problem], shard: Shards
) -> Iterator[Sentence | Problem]:
    """Yield the sentences and problems of a shard, in order; if it is the whole, unchanged.

    Documents get their index in the whole corpus (`DocumentStart.index`). A problem belongs to the
    document it is in (or the first), so that it is reported by one shard only.
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
