"""The commands that write, each on a small bank, and the comparison of everything they wrote.

A case is made once, run without interruption, and then run with interruptions as often as a test
wants. Each time, everything that is in its folder at the end is compared.
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
from crashes import COUNT, take_count
from forked import Ended, Forked

from attnbank.sql.names import quoted

# Small batches and small transactions, so that there are many places to stop at.
SMALL = """
from attnbank.ingest.store import pipeline
pipeline.WEIGHTS_AT_ONCE = 1
"""

MEASURED = """
pipeline.SECONDS_AT_ONCE = 0
"""

WORDS = "select word.id as word, word.index as place from word order by word.id"
"""What a file of the user's own may say of each word."""

_QUIET = frozenset({
    "ablate", "annotate", "ingest", "compute", "probe", "export", "import", "merge", "delete",
    "demo", "surprisal",
})  # fmt: skip
_VARYING = frozenset({"started", "finished", "changes"})

_NUMBERED = {
    "run": "dense_rank() over (order by run)",
    "sequence": "sequence - (select min(id) from sequence)",
}
"""A run that is replaced twice has larger ids than one that is replaced once, since no id is given
again. So ids are compared only relative to the first one."""


@dataclass(frozen=True)
class Command:
    """A command, and the commands that must run `before` it.

    With `numbers_differ`, ids of runs and sequences are compared only relative to the first. `done`
    is what the command says when it is typed again although it was done.
    """

    args: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    numbers_differ: bool = False
    is_long: bool = False
    done: str = ""

    def is_done(self, ended: Ended) -> bool:
        """Whether the command succeeded, or says that it was done before."""
        return ended.status == 0 or bool(self.done and self.done in ended.told)


def commands(
    corpus: Path, other: Path, model: Path, decoder: Path, training: Path
) -> dict[str, Command]:
    """The commands by name; the corpora and the models are small, `training` has checkpoints."""
    one = ("ingest", str(corpus), "-m", str(model), "--batch-tokens", "256")
    two = ("ingest", str(other), "-m", str(model), "--batch-tokens", "256")
    parts = (*one, "--shard", "1/2", "-b", "1.duckdb"), (*one, "--shard", "2/2", "-b", "2.duckdb")
    of_decoder = ("ingest", str(other), "-m", str(decoder), "--batch-tokens", "256")
    probe = ("probe", "attention", "--train-run", "1", "--test-run", "2", "--epochs", "2")
    return {
        "ingest": Command(one),
        "second ingest": Command(two, (one,)),
        "ingest --replace": Command((*one, "--replace"), (one,), numbers_differ=True),
        "compute": Command(("compute", "head_distance", "--run", "1"), (one,)),
        "compute trees": Command(("compute", "attention_tree", "--run", "1"), (one,)),
        "ingest --series": Command(
            ("ingest", str(other), "-m", str(training), "--series", "step*",
             "--batch-tokens", "256")
        ),
        "probe": Command(probe, (one, two)),
        "export": Command(("export", "parquet"), (one,), done="parquet is not empty"),
        "export --force": Command(
            ("export", "parquet", "--force", "--run", "2"), (one, two, ("export", "parquet"))
        ),
        "import": Command(
            ("import", "parquet", "-b", "copy.duckdb"), (one, ("export", "parquet")),
            done="copy.duckdb already exists",
        ),
        "merge": Command(
            ("merge", "both.duckdb", "1.duckdb", "2.duckdb"),
            parts,
            done="both.duckdb already exists",
        ),
        "-o": Command(("query", "best_head", "--run", "2", "-o", "out.csv"), (
            one, two, ("query", "best_head", "--run", "1", "-o", "out.csv"))),
        "-o parquet": Command(("query", "head_accuracy", "-o", "out.parquet"), (one,)),
        "delete": Command(("delete", "1", "--yes"), (one, two), done="no run 1 in"),
        "annotate": Command(
            ("annotate", "own.csv"), (one, ("sql", WORDS, "-o", "own.csv")),
            done="already has a table own",
        ),
        "surprisal": Command(
            ("surprisal", "1", "--agreement", "--model", str(decoder), "--batch-tokens", "256"),
            (of_decoder,),
        ),
        "ablate": Command(
            ("ablate", "a", "--heads", "1-2,3-1", "--with", "mean", "--controls", "2",
             "--agreement", "--model", str(decoder), "--batch-tokens", "256"),
            (of_decoder,),
        ),
        "use": Command(("use", "1"), (one, two)),
        "demo": Command(("demo",), is_long=True),
    }  # fmt: skip


@dataclass
class Case:
    """A command in a folder of its own, and how it ends without interruption.

    `ready` is the folder before the command, `before` its content; `expected` is the content after
    it, `seconds` is how long it takes, and `statements` how many it gives to banks.
    """

    command: Command
    ready: Path
    forked: Forked
    seconds: float = 0.0
    statements: int = 0
    expected: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)

    def prepared(self, folder: Path) -> Path:
        """A new copy of the folder as it is before the command."""
        return Path(shutil.copytree(self.ready, folder, symlinks=True))

    def run(self, folder: Path, **how: Any) -> Ended:
        """Run the command in a folder."""
        return run(self.forked, folder, self.command.args, **how)

    def content(self, folder: Path) -> dict[str, str]:
        """Everything in a folder, by name: see `content`."""
        return content(folder, numbers_differ=self.command.numbers_differ)

    def differences(self, folder: Path) -> list[str]:
        """The names in a folder whose content is missing, superfluous or not as expected.

        The log beside a bank is left out, since its rows are compared with those of the bank.
        """
        found = self.content(folder)
        names = (found.keys() | self.expected.keys()) - {"bank.duckdb.wal"}
        return sorted(name for name in names if found.get(name) != self.expected.get(name))

    def is_all_or_nothing(self, folder: Path) -> bool:
        """Whether the banks of a folder are as before the command, or as after it."""
        banks = {
            f"{path.name}: {table}": rows
            for path in folder.glob("*.duckdb")
            for table, rows in tables(path, numbers_differ=self.command.numbers_differ)
        }
        ends = (self.before, self.expected)
        return banks in [{key: end[key] for key in end if "duckdb: " in key} for end in ends]


def make_case(command: Command, forked: Forked, folder: Path) -> Case:
    """Make the folder that a command needs, and run the command twice, or once if it is long.

    Both must write the same; `seconds` is the time of the slower one.
    """
    ready = folder / "ready"
    ready.mkdir(parents=True)
    for args in command.before:
        done = run(forked, ready, args)
        assert done.status == 0, done.told
    case = Case(command, ready, forked)
    case.before = case.content(ready)
    for name in ("whole", "again") if not command.is_long else ("whole",):
        whole = case.prepared(folder / name)
        done = case.run(whole, setup=COUNT if name == "again" else "")
        assert done.status == 0, done.told
        case.statements = take_count(whole)
        case.seconds = max(case.seconds, done.seconds)
        result = case.content(whole)
        assert case.expected in ({}, result), "it writes something else each time"
        case.expected = result
    return case


def run(forked: Forked, folder: Path, args: tuple[str, ...], setup: str = "", **how: Any) -> Ended:
    """Run a command on the bank of a folder, after the code of `setup`."""
    quiet = ["-q"] if args[0] in _QUIET else []
    bank = [] if args[0] == "merge" else ["-b", "bank.duckdb"]  # it names its new bank itself
    small = SMALL + MEASURED if args[0] in ("ablate", "surprisal") else SMALL
    return forked.run([*bank, *args, *quiet], folder, setup=small + setup, **how)


def content(folder: Path, *, numbers_differ: bool = False) -> dict[str, str]:
    """Digests of everything in a folder: of each table of a bank, and of any other file."""
    result: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".duckdb":
            for table, rows in tables(path, numbers_differ=numbers_differ):
                result[f"{name}: {table}"] = rows
        elif path.is_file():
            result[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            result[name] = "a folder"
    return result


def tables(bank: Path, *, numbers_differ: bool = False) -> Iterator[tuple[str, str]]:
    """The name and a digest of every table of a bank: all rows in their order, without times."""
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
                if column not in _VARYING
            }
            if numbers_differ and "id" in own and table in ("run", "sequence"):
                own["id"] = "dense_rank() over (order by id)"
            selected = ", ".join(
                f"{expression} as {quoted(column)}" if numbers_differ and expression
                else quoted(column)
                for column, expression in own.items()
            )  # fmt: skip
            result = connection.execute(
                "with own as (select row_number() over (order by rowid) as place,"
                f" {selected} from {place})"
                " select sha256(coalesce(string_agg(own::varchar, chr(10) order by place), ''))"
                " from own"
            ).fetchone()
            assert result is not None
            yield table, result[0]


def at_most_two_lines(done: Ended) -> bool:
    """Whether a command that failed printed one or two lines, and no traceback or the like."""
    lines = [line for line in re.split(r"[\r\n]+", done.told) if line.strip()]
    message = [line for line in lines if line.startswith(("Error:", "Interrupted"))]
    bad = ("Traceback", "fault of attnbank", "terminate called", "FATAL", "exception not rethrown")
    return 1 <= len(message) <= len(lines) <= 2 and not any(words in done.told for words in bad)


def spread(count: int, seconds: float, *, seed: float = 0.5) -> list[float]:
    """`count` times in seconds, spread evenly over the run of a command."""
    return [seconds * (number + seed) / count for number in range(count)]
