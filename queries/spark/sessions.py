"""A Spark session of one command, whose log nobody has to read."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from attnbank.queries.spark.java import check_java
from attnbank.sql.errors import QueryError
from attnbank.sql.extras import need

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
"""The master that is this machine, with all its cores."""
_MEMORY = "2g"
"""The memory of the JVM on this machine, unless the variable SPARK_DRIVER_MEMORY names another."""
_PARTITIONS = "4"
"""Into how many parts one machine shuffles rows. Spark's own 200 are meant for a cluster."""
_ERROR = 2
"""The file descriptor of standard error."""


@contextmanager
def session_of(master: str = LOCAL) -> Iterator[SparkSession]:
    """Start a Spark session, and stop it in the end.

    `master` is Spark's own name of a cluster (`spark://host:7077`, `yarn`), or of this machine with
    some cores (`local[2]`). Raises MissingPackageError without pyspark, CallError without a Java
    that is new enough, and QueryError if Spark does not start.
    """
    need("Spark", "pyspark")
    check_java()
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="attnbank-spark-") as folder:
        builder = SparkSession.builder.appName("attnbank").master(master)
        options = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": folder,
        }
        if master.split("[")[0] == "local":
            options |= {
                # Nothing outside this machine can then reach the session.
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.pyspark.python": sys.executable,
                "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", _MEMORY),
                "spark.sql.shuffle.partitions": _PARTITIONS,
            }
        for name, value in options.items():
            builder = builder.config(name, value)
        session = _started(builder, master)
        try:
            session.sparkContext.setLogLevel("OFF")
            yield session
        finally:
            session.stop()


def _started(builder: SparkSession.Builder, master: str) -> SparkSession:
    """The session that a builder makes; raises QueryError if it makes none."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with tempfile.TemporaryFile() as log:
        try:
            with _standard_error_to(log):
                return builder.getOrCreate()
        except (PySparkException, Py4JError, OSError, RuntimeError) as error:
            log.seek(0)
            told = log.read().decode(errors="replace") or str(error)
            raise QueryError(
                f"Spark does not start with the master {master}: {_reason(told)}",
                "Give another one (--master), or leave it out for this machine.",
            ) from error


def _reason(told: str) -> str:
    """The line of a log that most likely says why a program ended: the first that names an error.

    Without one it is the last line.
    """
    lines = [each.strip() for each in told.splitlines() if each.strip()] or ["it does not say why."]
    telling = [each for each in lines if "Exception" in each or "Error" in each]
    return [*telling, lines[-1]][0][:300]


@contextmanager
def _standard_error_to(file: IO[bytes]) -> Iterator[None]:
    """Within, this process and those that it starts write their standard error to a file.

    The JVM of Spark writes there before it reads which log it should keep, and goes on doing so for
    as long as it lives.
    """
    try:
        before = os.dup(_ERROR)
    except OSError:  # it is closed, so that nothing is written anyway
        yield
        return
    sys.stderr.flush()
    os.dup2(file.fileno(), _ERROR)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, _ERROR)
        os.close(before)
