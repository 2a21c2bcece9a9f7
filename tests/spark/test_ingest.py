"""Exports that are filled on Spark: the rows of a local ingest, each written once, or nothing."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bank_rows import query_bank
from fixture_types import Models, Options
from forked import Forked
from polars.testing import assert_frame_equal

from attnbank.ingest import IngestOptions, import_export, ingest, ingest_to_export
from attnbank.ingest.parts import (
    FolderPart,
    SparkEngine,
    Work,
    WrittenPart,
    parse_part_list,
    write_part,
)
from attnbank.ingest.reports import Report
from attnbank.queries import open_bank
from attnbank.queries.spark import Exported
from attnbank.sql.errors import AttnbankError, BankError, CallError
from attnbank.sql.export_format import export

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS: dict[str, Any] = {
    "context": "pair", "unit": "token", "limit": 6, "gradients": True, "ablate": "heads",
}  # fmt: skip
OTHER = {
    "run": ("started", "finished", "options"),
    "run_part": ("started", "finished"),
    "bank": ("created_by", "changes"),
}
"""The columns that differ between two ingests of the same: their times, and the folder's place."""


class Here:
    """An engine without machines: it runs the parts in this process, one at a time."""

    at_once = 3

    def __init__(self, folder: Path, fails_at: int = 0) -> None:
        self.folder = folder
        self.fails_at = fails_at
        self.parts: list[FolderPart] = []

    def write_parts(self, work: Work, parts: Sequence[FolderPart]) -> list[WrittenPart]:
        self.parts += parts
        if self.fails_at and len(self.parts) > self.fails_at:
            write_part(self.folder, work, parts[-1])  # it is written, and nobody is told
            raise AttnbankError("A machine is gone.", "Type it again.")
        return [write_part(self.folder, work, part) for part in parts]


def _rows(bank: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table in the order of the file, without what two ingests differ in."""
    tables = [
        row[0]
        for row in query_bank(
            bank, "select table_name from duckdb_tables() where schema_name = 'main'"
        )
    ]
    return {
        table: query_bank(
            bank,
            f"select * exclude ({', '.join(OTHER[table])}) from {table}"
            if table in OTHER
            else f"from {table}",
        )
        for table in tables
    }


def _check_same(
    folder: Path, bank: Path, options: IngestOptions, report: Report | None = None
) -> None:
    """Check that an export holds what a local ingest with the same options writes.

    `report` must be that of the local ingest, too.
    """
    import_export(folder, bank.with_name("imported.duckdb"))
    local = ingest(options)
    if report is not None:
        assert replace(report, state=local.state) == local
    result, expected = _rows(bank.with_name("imported.duckdb")), _rows(options.bank)
    assert result.keys() == expected.keys() and len(expected["attention"]) > 1000
    for table, rows in expected.items():
        assert result[table] == rows, table


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few batches, so that there are many."""
    monkeypatch.setattr("attnbank.ingest.parts.WEIGHTS", 40_000)


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts", "one_thread")
def test_parts_make_the_export_of_a_local_ingest(options_for: Options, tmp_path: Path) -> None:
    options = options_for(tmp_path / "local.duckdb", "sample", batch_tokens=128)
    engines: list[Here] = []

    def engine(folder: Path) -> Here:
        engines.append(Here(folder, fails_at=0 if engines else 5))
        return engines[-1]

    folder = tmp_path / "filled"
    with pytest.raises(AttnbankError, match="A machine is gone"):
        ingest_to_export(options, folder, engine)
    assert not folder.exists()
    report = ingest_to_export(options, folder, engine)
    assert report.state == "resumed" and [path.name for path in tmp_path.iterdir()] == ["filled"]
    first, second = engines
    assert second.parts[0].first == first.parts[3].first > 1
    assert len(second.parts) > 3
    _check_same(folder, tmp_path / "bank.duckdb", options, report)
    with pytest.raises(CallError, match="is not empty"):
        ingest_to_export(options, folder, engine)


@pytest.mark.slow
def test_a_part_is_written_once(options_for: Options, tmp_path: Path) -> None:
    """Two tasks with the same part: the files of the first stay, and both tell of them."""
    given: list[tuple[Work, FolderPart]] = []

    class Twice(Here):
        def write_parts(self, work: Work, parts: Sequence[FolderPart]) -> list[WrittenPart]:
            given.extend((work, part) for part in parts)
            return super().write_parts(work, parts)

    options = options_for(tmp_path / "no.duckdb", "sample")
    ingest_to_export(options, tmp_path / "filled", Twice)
    (work, part) = given[0]
    first = write_part(tmp_path / "again", work, part)
    files = [tmp_path / "again" / file.path for file in first.files.values()]
    stamps = [file.stat().st_mtime_ns for file in files]
    assert write_part(tmp_path / "again", work, part).files == first.files
    assert [file.stat().st_mtime_ns for file in files] == stamps
    assert {path.name for path in (tmp_path / "again").rglob("*") if path.is_file()} == {
        "part-00000001.parquet"
    }
    other = Work(work.facts, work.model.__class__(**{
        **work.model.__dict__, "sha256": "0" * 64
    }), work.device)  # fmt: skip
    with pytest.raises(AttnbankError, match="does not have the same weights on a machine"):
        write_part(tmp_path / "other", other, part)


def test_a_list_of_parts_says_what_was_committed() -> None:
    lines = [
        WrittenPart(first, last, {}, ()).to_line().rstrip("\n")
        for first, last in ((1, 4), (5, 9), (5, 9), (10, 12))
    ]
    result = [line for line, _ in parse_part_list([*lines, '{"first": 1'], 9)]
    assert result == [lines[0], lines[2]]


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"context": "document", "decimals": 5}, PAIRS])
@pytest.mark.few("given1")
def test_spark_fills_what_a_local_ingest_fills(
    options_for: Options,
    given: dict[str, Any],
    spark: SparkSession,
    on_spark: Callable[..., Exported],
    tiny_masked_lm: Models,
    tmp_path: Path,
    small_parts: None,
    one_thread: None,
) -> None:
    options = options_for(
        tmp_path / "local.duckdb", "sample", tiny_masked_lm("bert"), batch_tokens=256, **given
    )
    folder = tmp_path / "filled"
    report = ingest_to_export(options, folder, lambda place: SparkEngine(spark, place))
    assert len([*folder.glob("attention/run=1/part-*.parquet")]) > 2
    _check_same(folder, tmp_path / "bank.duckdb", options, report)
    exported = tmp_path / "exported"
    with open_bank(options.bank) as bank:
        export(bank.path, exported)
        mine, theirs = (it.query("special_tokens", run=1) for it in (bank, on_spark(folder)))
        assert_frame_equal(theirs, mine, rel_tol=1e-9)
    assert {path.name for path in folder.iterdir()} == {path.name for path in exported.iterdir()}


@pytest.mark.slow
def test_an_executor_that_dies_is_told(
    options_for: Options, spark: SparkSession, tmp_path: Path
) -> None:
    """What runs the model is ended, as by a machine that has too little memory."""

    class Dying(SparkEngine):
        def write_parts(self, work: Work, parts: Any) -> Iterator[WrittenPart]:
            return super().write_parts(_Deadly(work), parts)

    options = options_for(tmp_path / "no.duckdb", "sample")
    with pytest.raises(AttnbankError) as caught:
        ingest_to_export(options, tmp_path / "filled", lambda place: Dying(spark, place))
    assert "Spark could not run some of the batches" in caught.value.fact
    assert "\n" not in caught.value.fact and "resumes where it stopped" in caught.value.remedy
    ingest_to_export(options, tmp_path / "filled", lambda place: SparkEngine(spark, place))
    _check_same(tmp_path / "filled", tmp_path / "bank.duckdb", options)


def _Deadly(work: Work) -> Any:
    """Work that ends the process that takes it up."""

    class Deadly:
        def __reduce__(self) -> Any:
            return os._exit, (1,)

    return Deadly()


def _check_whole_or_refused(folder: Path, bank: Path, options: IngestOptions) -> None:
    """Check that import takes a folder only if it has everything: it was killed after the last."""
    try:
        import_export(folder, bank)
    except (BankError, CallError):
        return
    ingest(options)
    result, expected = _rows(bank), _rows(options.bank)
    bank.unlink()
    assert result == expected


HERE = """
import attnbank.cli.commands.ingest as command
from attnbank.ingest import ingest_to_export
from attnbank.ingest import parts

class Here:
    at_once = 2
    def __init__(self, folder):
        self.folder = folder
    def write_parts(self, work, given):
        return [parts.write_part(self.folder, work, each) for each in given]

parts.WEIGHTS = 40_000
command.spark_ingest = lambda options, to, master, shown: ingest_to_export(
    options, to, Here, shown
)
"""
"""Without the JVM of Spark, whose start takes longer than all of the rest."""


@pytest.mark.soak
def test_killed_at_any_moment(
    options_for: Options, sample: Path, tiny_model: Models, tmp_path: Path
) -> None:
    """Killed six times, the command leaves nothing that import takes, and is whole in the end."""
    model, folder = str(tiny_model("bert")), tmp_path / "filled"
    options = options_for(tmp_path / "local.duckdb", "sample", batch_tokens=64)
    args = ["ingest", str(sample), "--model", model, "--batch-tokens", "64"]
    args += ["--engine", "spark", "--to"]
    drawn = random.Random(0)
    kills = 0
    with Forked() as forked:
        whole = forked.run([*args, "once"], tmp_path, setup=HERE)
        assert whole.status == 0, whole.told
        while kills < 6:
            after = drawn.uniform(0.0, whole.seconds)
            ended = forked.run(
                [*args, str(folder)], tmp_path, setup=HERE, signals=((after, signal.SIGKILL),)
            )
            kills += ended.status == -signal.SIGKILL
            assert ended.status in (0, -signal.SIGKILL), ended.told
            for left in (folder, tmp_path / ".filled.ingest" / "export"):
                _check_whole_or_refused(left, tmp_path / "taken.duckdb", options)
            if folder.exists() and kills < 6:  # it was whole, or it is
                shutil.rmtree(folder)
        if not folder.exists():
            ended = forked.run([*args, str(folder)], tmp_path, setup=HERE)
            assert ended.status == 0, ended.told
    _check_same(folder, tmp_path / "bank.duckdb", options)
