"""The commands that write, each on a small bank, and all that is to be compared of what they wrote.

A case is made once, run once without interruption, and then as often as is asked with one: what
lies in its folder in the end is compared in full.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from forked import Ended, Forked

from attnbank.sql.quoting import quoted

# Small batches and small transactions, so that there are many places to stop at.
SMALL = """
from attnbank.ingest.store import pipeline
pipeline.WEIGHTS_AT_ONCE = 1
"""

_QUIET = frozenset({"ingest", "compute", "probe", "export", "delete", "demo"})
_TIMES = frozenset({"started", "finished"})

_NUMBERED = {
    "run": "dense_rank() over (order by run)",
    "sequence": "sequence - (select min(id) from sequence)",
    "first_sequence": "first_sequence - (select min(id) from sequence)",
}
"""A run that is replaced twice has later numbers than one that is replaced once: no number is
given again. What is compared then are the numbers from the first one on."""


@dataclass(frozen=True)
class Command:
    """A command; what must be there before it, as further commands; whether it must compare equal
    up to the numbers of runs and sequences; whether it takes long; and what it says, typed again,
    where it was done already."""

    args: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    numbers_differ: bool = False
    is_long: bool = False
    done: str = ""

    def is_done(self, ended: Ended) -> bool:
        """Whether it did it, or says that it was done before."""
        return ended.status == 0 or bool(self.done and self.done in ended.told)


def commands(corpus: Path, other: Path, model: Path) -> dict[str, Command]:
    """The commands by name; the corpora and the model are small."""
    one = ("ingest", str(corpus), "-m", str(model), "--batch-tokens", "256")
    two = ("ingest", str(other), "-m", str(model), "--batch-tokens", "256")
    probe = ("probe", "attention", "--train-run", "1", "--test-run", "2", "--epochs", "2")
    return {
        "ingest": Command(one),
        "second ingest": Command(two, (one,)),
        "ingest --replace": Command((*one, "--replace"), (one,), numbers_differ=True),
        "compute": Command(("compute", "head_distance", "--run", "1"), (one,)),
        "probe": Command(probe, (one, two)),
        "export": Command(("export", "parquet"), (one,), done="parquet is not empty"),
        "export --force": Command(
            ("export", "parquet", "--force", "--run", "2"), (one, two, ("export", "parquet"))
        ),
        "-o": Command(("query", "best_head", "--run", "2", "-o", "out.csv"), (
            one, two, ("query", "best_head", "--run", "1", "-o", "out.csv"))),
        "-o parquet": Command(("query", "head_accuracy", "-o", "out.parquet"), (one,)),
        "delete": Command(("delete", "1", "--yes"), (one, two), done="has no run 1"),
        "use": Command(("use", "1"), (one, two)),
        "demo": Command(("demo",), is_long=True),
    }  # fmt: skip


@dataclass
class Case:
    """A command in a folder of its own, and how it ends undisturbed."""

    command: Command
    ready: Path
    forked: Forked
    seconds: float = 0.0
    expected: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)

    def prepared(self, folder: Path) -> Path:
        """A folder with what must be there before."""
        return Path(shutil.copytree(self.ready, folder, symlinks=True))

    def run(self, folder: Path, **how: Any) -> Ended:
        """Run the command there."""
        return run(self.forked, folder, self.command.args, **how)

    def content(self, folder: Path) -> dict[str, str]:
        """All that lies there, by name."""
        return content(folder, numbers_differ=self.command.numbers_differ)

    def differences(self, folder: Path) -> list[str]:
        """What lies there and should not, or is not as it is undisturbed.

        The log beside a bank is a part of it, and its rows were compared.
        """
        found = self.content(folder)
        names = (found.keys() | self.expected.keys()) - {"bank.duckdb.wal"}
        return sorted(each for each in names if found.get(each) != self.expected.get(each))


def make_case(command: Command, forked: Forked, folder: Path) -> Case:
    """Make what must be there before, and run the command once; twice, for how long it takes."""
    ready = folder / "ready"
    ready.mkdir(parents=True)
    for args in command.before:
        done = run(forked, ready, args)
        assert done.status == 0, done.told
    case = Case(command, ready, forked)
    case.before = case.content(ready)
    for name in ("whole", "again") if not command.is_long else ("whole",):
        whole = case.prepared(folder / name)
        done = case.run(whole)
        assert done.status == 0, done.told
        case.seconds = max(case.seconds, done.seconds)
        found = case.content(whole)
        assert case.expected in ({}, found), "it writes something else each time"
        case.expected = found
    return case


def run(forked: Forked, folder: Path, args: tuple[str, ...], **how: Any) -> Ended:
    """Run a command on the bank of a folder."""
    quiet = ["-q"] if args[0] in _QUIET else []
    return forked.run(["-b", "bank.duckdb", *args, *quiet], folder, setup=SMALL, **how)


def content(folder: Path, *, numbers_differ: bool = False) -> dict[str, str]:
    """All that lies in a folder: of a bank every table, of any other file its bytes."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".duckdb":
            for table, rows in tables(path, numbers_differ=numbers_differ):
                found[f"{name}: {table}"] = rows
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "a folder"
    return found


def tables(bank: Path, *, numbers_differ: bool = False) -> Iterator[tuple[str, str]]:
    """Name and digest of every table of a bank: all rows, in their order, but for the times."""
    with duckdb.connect(str(bank), read_only=True) as connection:
        names = connection.execute(
            "select schema_name, table_name from duckdb_tables() where not internal order by all"
        ).fetchall()
        for schema, table in names:
            if numbers_differ and table == "used_id":
                continue
            place = f"{quoted(schema)}.{quoted(table)}"
            columns = connection.query(f"select * from {place} limit 0").columns
            own = {
                column: _NUMBERED.get(column if (column, table) != ("id", "run") else "run", "")
                for column in columns
                if column not in _TIMES
            }
            if numbers_differ and "id" in own and table in ("run", "sequence"):
                own["id"] = "dense_rank() over (order by id)"
            selected = ", ".join(
                f"{expression} as {quoted(column)}" if numbers_differ and expression
                else quoted(column)
                for column, expression in own.items()
            )  # fmt: skip
            rows = connection.execute(f"select {selected} from {place}").fetchall()
            yield table, hashlib.sha256(repr(rows).encode()).hexdigest()


def at_most_two_lines(done: Ended) -> bool:
    """Whether a command that failed has said so in one or two lines, and not as a program does."""
    lines = [line for line in re.split(r"[\r\n]+", done.told) if line.strip()]
    told = [line for line in lines if line.startswith(("Error:", "Interrupted"))]
    bad = ("Traceback", "fault of attnbank", "terminate called", "FATAL", "exception not rethrown")
    return 1 <= len(told) <= len(lines) <= 2 and not any(each in done.told for each in bad)


def spread(count: int, seconds: float, *, seed: float = 0.5) -> list[float]:
    """Times spread over the run of a command."""
    return [seconds * (number + seed) / count for number in range(count)]
