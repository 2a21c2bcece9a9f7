"""A seeded random sample of the inputs of a run."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from attnbank.ingest.inputs import Draft, Skip


@dataclass(frozen=True)
class Passed:
    """Sentences of an input that is not in the sample."""

    sentences: int


def sampled(
    drafts: Callable[[], Iterator[Draft | Skip]], limit: int, seed: int
) -> Iterator[Draft | Skip | Passed]:
    """Those `limit` inputs whose lots are the smallest, in the order of the text.

    The lot of an input depends on the seed and on where it begins, and on nothing else: a smaller
    sample is a part of a larger one, and batches play no part. `drafts` is gone through twice, so
    that no more than the chosen places are kept.
    """
    lots: list[tuple[int, int]] = []  # a heap of (-lot, -place): the largest lot first
    place = 0
    for each in drafts():
        if isinstance(each, Draft):
            heapq.heappush(lots, (-_lot(each, seed), -place))
            if len(lots) > limit:
                heapq.heappop(lots)
            place += 1
    chosen = {-place for _, place in lots}
    place = 0
    for each in drafts():
        if isinstance(each, Draft):
            yield each if place in chosen else Passed(each.covered)
            place += 1
        else:
            yield each


def _lot(draft: Draft, seed: int) -> int:
    first = draft.sentences[0]
    text = f"sample {seed} {first.document_index} {first.index}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
