"""The attention maps of a run as NumPy arrays, a few sequences at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from duckdb import DuckDBPyConnection

from attnbank.sql import registry
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.header import RunChoice
from attnbank.sql.runs import Run, chosen_run, run_fits
from attnbank.sql.suggest import listed

AT_ONCE = 8_000_000
"""The weights that are read at a time: 32 MB, and as much again while DuckDB sorts them."""


def choose_run(connection: DuckDBPyConnection, run: str | int | None = None) -> Run:
    """The run with this name or id; by default the one that an analysis of all maps chooses.

    That is the bank's own choice, else the newest finished run of trained weights, of token pairs
    before others. Raises CallError if there is no such run, or none that may be chosen.
    """
    fits = run_fits(connection, RunChoice(weights="true"))
    asked = None if run is None else str(run)
    if asked is not None and not any(asked in (str(each.id), each.name) for each in fits):
        raise CallError(
            f"There is no run {asked} in the bank.",
            f"Its runs: {listed(each.name for each in fits)}."
            if fits
            else "It holds none: attnbank ingest CORPUS...",
        )
    named = [each for each in fits if asked in (str(each.id), each.name)]
    if named and all(each.misfit is not None for each in named):
        raise CallError(
            f"The maps of the run {asked} cannot be read: {named[0].misfit}.",
            "Ingest the corpus again: attnbank ingest CORPUS --keep weights",
        )
    if asked is None and all(each.misfit or each.reserve for each in fits):
        able = [str(each) for each in fits if each.misfit is None]
        if fits and not able:
            raise CallError(
                f"The bank holds no maps that can be read: {listed(map(str, fits))}.",
                "Ingest a corpus again: attnbank ingest CORPUS --keep weights",
            )
        raise CallError(
            "The bank holds no finished run of trained weights.",
            f"Name one (--run, run=): {listed(able)}."
            if able
            else "Fill it: attnbank ingest CORPUS...",
        )
    return chosen_run(connection, RunChoice(favours="pair/token", weights="true"), asked)


@dataclass(frozen=True)
class Maps:
    """The maps of one sequence: `weights` is [layers * heads, n, n] float32, from row to column."""

    sequence: int
    weights: np.ndarray


def maps(connection: DuckDBPyConnection, run: Run, at_once: int = AT_ONCE) -> Iterator[list[Maps]]:
    """The maps of every sequence of the run, in order, in groups of at most `at_once` weights.

    A sequence with more weights is a group of its own. Raises BankError if a sequence lacks the
    distribution of a position and head.
    """
    for group in _groups(connection, run, at_once):
        table = connection.query(
            registry.statement("derived/maps_of_sequences"),
            params={"first": group[0][0], "last": group[-1][0], "run": run.id},
        ).to_arrow_table()
        values = np.concatenate(
            [chunk.flatten().to_numpy() for chunk in table.column("weights").chunks]
            or [np.empty(0, dtype=np.float32)]
        )
        heads = run.layers * run.heads
        if table.num_rows != heads * sum(n for _, n in group) or len(values) != heads * sum(
            n * n for _, n in group
        ):
            raise BankError(
                f"The attention maps of the run {run.name} are incomplete.",
                "Ingest the corpus again with --replace.",
            )
        ends = np.cumsum([heads * n * n for _, n in group])
        yield [
            Maps(sequence, values[end - heads * n * n : end].reshape(heads, n, n))
            for (sequence, n), end in zip(group, ends, strict=True)
        ]


def _groups(
    connection: DuckDBPyConnection, run: Run, at_once: int
) -> Iterator[list[tuple[int, int]]]:
    """(sequence, positions) of consecutive sequences whose maps are read together."""
    group: list[tuple[int, int]] = []
    weights = 0
    rows = connection.execute(
        registry.statement("derived/sequences_of_run"), {"run": run.id}
    ).fetchall()
    for sequence, positions in rows:
        size = run.layers * run.heads * positions**2
        if group and weights + size > at_once:
            yield group
            group, weights = [], 0
        group.append((sequence, positions))
        weights += size
    if group:
        yield group
