"""What was computed from runs: steps, probes, and which run a bank prefers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting.copying import Columns, insert
from attnbank.ingest.meeting.held import Held
from attnbank.ingest.meeting.sources import SOURCE, Source
from attnbank.sql.quoting import quoted

_STEPS = {
    "computation": ("step", "options"),
    "head_distance": ("smoothing",),
    "head_embedding": ("smoothing", "seed"),
}
"""The tables of what was computed, and by what one set of rows of a run is told from another."""

_OF_PROBES = ("probe_score", "probe_weight")
_SAME_PROBE = (
    "kind", "train_split", "test_split", "embeddings", "vectors_sha256", "root_at", "seed",
    "options",
)  # fmt: skip


def steps(
    connection: DuckDBPyConnection,
    held: Held,
    columns: Columns,
    run_of: Mapping[int, int],
    notes: list[str],
) -> None:
    """Copy what was computed from the runs that are taken whole (`run_of`), none of it twice."""
    for table, keys in _STEPS.items():
        for old, new in run_of.items():
            there = " and ".join(f"there.{key} is not distinct from own.{key}" for key in keys)
            rest = (
                f"from {SOURCE}.main.{table} as own where own.run = {old} and not exists"
                f" (from main.{table} as there where there.run = {new} and {there})"
            )
            insert(connection, held.source, table, columns, {"run": str(new)}, rest)
    left_out = connection.execute(
        f"select run, string_agg(distinct step, ', ' order by step) from {SOURCE}.main.computation"
        f" where run not in (select unnest(cast($runs as integer[]))) group by run order by run",
        {"runs": [*run_of]},
    ).fetchall()
    for run, done in left_out:
        name = held.runs[run]["name"] if run in held.runs else f"number {run}"
        notes.append(
            f"What was computed from {name} ({done}) is left out: compute it of the whole run."
        )


def probes(
    connection: DuckDBPyConnection,
    held: Held,
    columns: Columns,
    run_of: Mapping[int, int],
    notes: list[str],
) -> dict[int, int]:
    """Copy the probes whose runs are taken whole, none twice; the new id of each, by the old."""
    source = held.source
    found: dict[int, int] = {}
    same = " and ".join(f"there.{name} is not distinct from own.{name}" for name in _SAME_PROBE)
    rows = connection.execute(
        f"select id, kind, train_run, test_run from {SOURCE}.main.probe order by id"
    ).fetchall()
    for old, kind, train, test in rows:
        if test not in run_of or (train is not None and train not in run_of):
            notes.append(
                f"The probe {old} ({kind}) of {source.shown} is left out, for it knows a part of a"
                " run: train it anew."
            )
            continue
        runs = {"train_run": "null" if train is None else str(run_of[train])}
        runs["test_run"] = str(run_of[test])
        there = connection.execute(
            f"select there.id from main.probe as there, {SOURCE}.main.probe as own"
            f" where own.id = {old} and {same} and there.test_run = {runs['test_run']}"
            f" and there.train_run is not distinct from {runs['train_run']} order by there.id"
        ).fetchone()
        if there is not None:
            found[old] = there[0]
            continue
        ((new,),) = connection.execute("select coalesce(max(id), 0) + 1 from probe").fetchall()
        found[old] = new
        rest = f"from {SOURCE}.main.probe as own where own.id = {old}"
        insert(connection, source, "probe", columns, {"id": str(new), **runs}, rest)
        for table in _OF_PROBES:
            rest = f"from {SOURCE}.main.{table} as own where own.probe = {old}"
            insert(connection, source, table, columns, {"probe": str(new)}, rest)
    return found


def preferences(
    connection: DuckDBPyConnection, held: Held, run_of: Mapping[int, int], notes: list[str]
) -> None:
    """Let the new bank prefer what the source prefers, unless an earlier one prefers another."""
    rows = connection.execute(f"select run from {SOURCE}.main.preferred_run").fetchall()
    for (old,) in rows:
        if old not in run_of:
            continue
        new = run_of[old]
        there = connection.execute(
            "select run.id, run.name from preferred_run"
            " inner join run on run.id = preferred_run.run inner join run as own"
            " on own.context = run.context and own.unit = run.unit where own.id = ?",
            [new],
        ).fetchone()
        if there is None:
            connection.execute("insert into preferred_run (run) values (?)", [new])
        elif there[0] != new:
            notes.append(
                f"{held.source.shown} prefers {held.runs[old]['name']}, and a bank before it"
                f" {there[1]}, which stays (attnbank use)."
            )


def frequencies(
    connection: DuckDBPyConnection, source: Source, columns: Columns, notes: list[str]
) -> None:
    """Copy the frequencies of words that people loaded; those of the first bank that has any."""
    names = ", ".join(map(quoted, ("form", "frequency")))
    told = f"select count(*), sum(hash({names})) from"
    (own,) = connection.execute(f"{told} {SOURCE}.main.word_frequency").fetchall()
    (there,) = connection.execute(f"{told} main.word_frequency").fetchall()
    if not own[0] or own == there:
        return
    if there[0]:
        notes.append(
            f"The frequencies of words (word_frequency) of {source.shown} are left out: a bank"
            " before it has others."
        )
        return
    rest = f"from {SOURCE}.main.word_frequency as own"
    insert(connection, source, "word_frequency", columns, {}, rest)


def told_of_answers(sources: Sequence[Source], notes: list[str]) -> None:
    """Note the kept answers, which are of no other bank than their own."""
    if any(each.answers for each in sources):
        told = ", ".join(each.shown for each in sources if each.answers)
        notes.append(f"Kept answers ({told}) are left out: attnbank compute --all keeps new ones.")
