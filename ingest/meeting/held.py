"""What a bank that is merged holds: its corpora, models and runs, and where their rows stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting.sources import SOURCE, Source
from attnbank.sql import registry
from attnbank.sql.bank.shards import Parts, read_parts

Row = dict[str, Any]

_NEEDED = {
    "corpus": ("name", "sha256"),
    "model": ("name", "sha256"),
    "run": ("name", "model", "corpus", "batches", "batch_tokens", "first_sequence", "started"),
}
"""The columns that must be filled for the rest to make sense; others are checked as they come."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run: how many, in how many batches, and the ids that they take.

    `first` is the id that the run begins with, `last` the largest one in use.
    """

    count: int
    batches: int
    first: int
    last: int

    @property
    def room(self) -> int:
        """How many ids they take."""
        return max(0, self.last - self.first + 1)


@dataclass
class Held:
    """The rows of the small tables of a source, by id; what they say of shards, as `Parts`."""

    source: Source
    corpora: dict[int, Row]
    models: dict[int, Row]
    runs: dict[int, Row]
    inputs: dict[int, Inputs]
    parts: dict[int, Parts] = field(default_factory=dict)  # of the corpora
    parts_of_runs: dict[int, Parts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table, rows, parts in (
            ("corpus", self.corpora, self.parts),
            ("run", self.runs, self.parts_of_runs),
        ):
            for id, row in rows.items():
                shard = row["shard"] if table == "corpus" else (row["options"] or {}).get("shard")
                try:
                    parts[id] = read_parts(shard)
                except ValueError:
                    raise self.source.unfit(f"its {table} {row['name']} names no shard") from None
        for row in self.runs.values():
            if row["corpus"] not in self.corpora or row["model"] not in self.models:
                raise self.source.unfit(f"its run {row['name']} has no corpus or no model")
        self._check_inputs()

    def _check_inputs(self) -> None:
        """Raise BankError unless each run has ids of its own for its inputs."""
        ranges = sorted((each.first, each.last) for each in self.inputs.values())
        meet = any(second[0] <= first[1] for first, second in pairwise(ranges))
        if meet or self.inputs.keys() - self.runs.keys():
            raise self.source.unfit("its table sequence has inputs of several runs, or of none")
        for run, each in self.inputs.items():
            if each.first > each.last or self.runs[run]["batches"] < each.batches:
                raise self.source.unfit(f"the inputs of its run {self.runs[run]['name']} are mixed")

    def inputs_of(self, run: int) -> Inputs:
        """The inputs of a run; those of one that has none begin where they would."""
        first = self.runs[run]["first_sequence"]
        return self.inputs.get(run, Inputs(0, 0, first, first - 1))

    def is_finished(self, run: int) -> bool:
        """Whether all batches of a run are there."""
        return self.runs[run]["finished"] is not None


def held_by(connection: DuckDBPyConnection, source: Source) -> Held:
    """What an attached source holds. Raises BankError if its small tables do not fit together."""
    ((formats,),) = connection.execute(f"select list(format) from {SOURCE}.main.bank").fetchall()
    if formats != [registry.FORMAT]:
        raise source.unfit("its table bank does not say its format")
    corpora, models, runs = (
        _by_id(connection, source, each) for each in ("corpus", "model", "run")
    )
    firsts = {  # where an unfinished run goes on by counting
        id: row["first_sequence"] for id, row in runs.items() if row["finished"] is None
    }
    inputs = {
        run: Inputs(count, batches, min(firsts.get(run, first), first), last)
        for run, count, batches, first, last in connection.execute(
            "select run, count(*), max(batch), min(id), max(id)"
            f" from {SOURCE}.main.sequence group by run order by run"
        ).fetchall()
    }
    return Held(source, corpora, models, runs, inputs)


def _by_id(connection: DuckDBPyConnection, source: Source, table: str) -> dict[int, Row]:
    found = connection.execute(f"select * from {SOURCE}.main.{table} order by id")
    names = [each[0] for each in found.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    by_id = {row["id"]: row for row in rows}
    if len(by_id) != len(rows) or None in by_id:
        raise source.unfit(f"its table {table} has an id twice")
    for row in rows:
        for name in _NEEDED[table]:
            if row[name] is None:
                raise source.unfit(f"{table}.{name} is null")
    return by_id
