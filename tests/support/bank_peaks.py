"""The peaks of a bank with one run as arrays; slow implementations let them decide near ties."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np


def peaks(connection: duckdb.DuckDBPyConnection) -> Iterator[np.ndarray]:
    """The peaks of each sequence, batch by batch: [2, L, H, n] indices of words, -1 for none.

    Words count from 0. First comes the word attended to most, then the word that attends most.
    """
    sizes = connection.execute("select layers, heads from model").fetchone()
    assert sizes is not None
    first = connection.execute("select min(position) from peak").fetchone()
    assert first is not None
    cursor = connection.cursor().execute(
        "select list(coalesce(most_attended - $first, -1) order by layer, head, position),"
        " list(coalesce(most_attending - $first, -1) order by layer, head, position)"
        " from peak inner join sequence on sequence.id = peak.sequence"
        " group by sequence.batch, sequence.id"
        " order by sequence.batch, sequence.id",
        {"first": first[0]},
    )
    while both := cursor.fetchone():
        yield np.array(both).reshape(2, *sizes, -1)
