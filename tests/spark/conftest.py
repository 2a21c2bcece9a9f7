"""One Spark session for all tests of this folder: to start one takes longer than most tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from attnbank.queries import Bank, open_bank
from attnbank.queries.spark import Exported, SparkBackend, Stage, open_export
from attnbank.queries.spark_sessions import session_of
from attnbank.sql.export_format import export

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    # With one partition most joins and groups need no shuffle, which is a job of its own.
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings that change no row, and with which a few thousand rows take a fraction of the time."""


class Reusing(SparkBackend):
    """Computes each stage once for all statements that have it: most of them choose runs, say.

    Spark plans a statement for seconds, and less where it has fewer stages left to read.
    """

    def __init__(self, backend: SparkBackend) -> None:
        super().__init__(backend.source)
        self._known: dict[str, DataFrame] = {}

    def _prepare(self, stage: Stage) -> None:
        if stage.view in self._known:
            self._known[stage.view].createOrReplaceTempView(stage.view)
        else:
            super()._prepare(replace(stage, reads=2))
            self._known[stage.view] = self._session.table(stage.view)

    @contextmanager
    def temp_table(self, name: str, rows: pl.DataFrame) -> Iterator[None]:
        self._known.clear()  # they may read the table that has other rows within
        try:
            with super().temp_table(name, rows):
                yield
        finally:
            self._known.clear()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs java, which is not installed")
    with pytest.MonkeyPatch.context() as patch:
        options = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
        patch.setenv("JDK_JAVA_OPTIONS", options)
        with session_of("local[2]") as session:
            yield session


@pytest.fixture(scope="session")
def on_spark(spark: SparkSession) -> Callable[..., Exported]:
    """A function that opens an export on Spark, with settings for a few rows."""

    def opened(folder: Path) -> Exported:
        result = open_export(spark, folder)
        result.backend = Reusing(result.backend)
        for name, value in SMALL.items():
            result.session.conf.set(name, value)
        return result

    return opened


@pytest.fixture(scope="session")
def bank(full_bank: Path) -> Iterator[Bank]:
    """The bank in which every analysis has something to say, open."""
    with open_bank(full_bank) as opened:
        yield opened


@pytest.fixture(scope="session")
def folder(bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of that bank, not to be written to, in a folder with an odd name."""
    path = tmp_path_factory.mktemp("exported") / "an export, [x] 100%"
    export(bank.path, path)
    return path


@pytest.fixture(scope="session")
def exported(folder: Path, on_spark: Callable[..., Exported]) -> Exported:
    """That export, open on Spark."""
    return on_spark(folder)


@pytest.fixture(scope="session")
def on_both(bank: Bank, exported: Exported) -> Callable[..., pl.DataFrame]:
    """A function from a question to the rows of the bank, which are those of the export."""

    def answered(
        ask: Callable[[Bank | Exported], pl.DataFrame], *, abs_tol: float = 1e-8
    ) -> pl.DataFrame:
        mine, theirs = ask(bank), ask(exported)
        assert mine.height > 0
        assert_frame_equal(theirs, mine, rel_tol=1e-9, abs_tol=abs_tol)
        return mine

    return answered
