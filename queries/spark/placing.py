"""Where the documents of several exports go when they are read as one: what is added to their ids.

This is plain Python over one row per document, as many as one machine counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnbank.sql.errors import CallError

KINDS = ("sentence", "word", "mention", "entity")
"""The kinds of ids that a document has many of, one after the other."""
COLUMNS = {"document": "int", "new_document": "int", "is_read": "boolean"} | {
    f"{kind}_shift": "int" for kind in KINDS
}
"""The columns of what `placed` gives, and what Spark calls their types."""


@dataclass(frozen=True)
class Extent:
    """A document of an export, and the ids of what it holds.

    `corpus` is the new id of its corpus, `index` its place there; `is_read` says whether its text
    is read from this export. `ids` are the first and the last id of each kind, None for none.
    """

    document: int
    corpus: int
    index: int
    is_read: bool
    ids: tuple[tuple[int, int] | None, ...]

    @classmethod
    def of(cls, row: Mapping[str, Any], corpus: int, is_read: bool) -> Extent:
        """From a row with the document, its index, and `KIND_first` and `KIND_last`."""
        ends = [(row[f"{kind}_first"], row[f"{kind}_last"]) for kind in KINDS]
        ids = tuple(None if None in each else each for each in ends)
        return cls(row["document"], corpus, row["index"], is_read, ids)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many ids of each kind it takes."""
        return tuple(0 if each is None else each[1] - each[0] + 1 for each in self.ids)


def placed(
    exports: Sequence[Sequence[Extent]],
    corpora: Sequence[Mapping[str, Any]],
    folders: Sequence[str],
) -> list[list[tuple[Any, ...]]]:
    """For each export the rows that say where its documents go, in the order of COLUMNS.

    Documents are in the order of corpora and places; each kind of id counts from 1. Raises
    CallError if two exports have other documents in one corpus, so that they cannot be one.
    """
    known: dict[tuple[int, int], tuple[int, list[int], tuple[int, ...]]] = {}
    next_ids = [1] * len(KINDS)
    read = [each for export in exports for each in export if each.is_read]
    for number, each in enumerate(sorted(read, key=lambda one: (one.corpus, one.index)), start=1):
        if (each.corpus, each.index) in known:
            raise _differ(corpora, each, folders)
        known[each.corpus, each.index] = (number, list(next_ids), each.counts)
        next_ids = [one + more for one, more in zip(next_ids, each.counts, strict=True)]
    found = []
    for export in exports:
        rows = []
        for each in export:
            number, starts, counts = known.get((each.corpus, each.index), (0, [], ()))
            if counts != each.counts:
                raise _differ(corpora, each, folders)
            shifts = [
                0 if ids is None else start - ids[0]
                for start, ids in zip(starts, each.ids, strict=True)
            ]
            rows.append((each.document, number, each.is_read, *shifts))
        found.append(rows)
    return found


def _differ(
    corpora: Sequence[Mapping[str, Any]], document: Extent, folders: Sequence[str]
) -> CallError:
    name = next(each["name"] for each in corpora if each["id"] == document.corpus)
    return CallError(
        f"The document {document.index} of the corpus {name} is not the same in all of"
        f" {', '.join(folders)}.",
        "Ask them one by one, or ingest one of them again.",
    )
