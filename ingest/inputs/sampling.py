"""A seeded random sample of the inputs of a run."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from attnbank.ingest.inputs.drafts import Draft, Skip


@dataclass(frozen=True)
class Sample:
    """The inputs that were drawn: their places among all, and the sentences that they hold."""

    places: frozenset[int]  # 0-based, in the order of the text
    sentences: int


def draw(drafts: Iterable[Draft | Skip], limit: int, seed: int) -> Sample:
    """Draw those `limit` inputs whose lots are the smallest.

    The lot of an input depends on the seed and on where it begins, and on nothing else: a smaller
    sample is a part of a larger one, and batches play no part.
    """
    lots: list[tuple[int, int, int]] = []  # a heap of (-lot, -place, sentences): largest lot first
    place = 0
    for each in drafts:
        if isinstance(each, Draft):
            heapq.heappush(lots, (-_lot(each, seed), -place, len(each.sentences)))
            if len(lots) > limit:
                heapq.heappop(lots)
            place += 1
    return Sample(frozenset(-each[1] for each in lots), sum(each[2] for each in lots))


def sampled(drafts: Iterable[Draft | Skip], sample: Sample) -> Iterator[Draft | Skip]:
    """The inputs of the sample and every sentence that is left out, in the order of the text.

    `drafts` is gone through a second time, so that no more than the drawn places are kept.
    """
    place = 0
    for each in drafts:
        if isinstance(each, Skip):
            yield each
            continue
        if place in sample.places:
            yield each
        place += 1


def _lot(draft: Draft, seed: int) -> int:
    first = draft.sentences[0]
    text = f"sample {seed} {first.document_index} {first.index}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
