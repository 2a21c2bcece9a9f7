"""Runs parts on the executors of Spark: one task each, whose rows come back to the driver.

The tasks are those of an RDD, because pyspark 4 has no `mapInArrow` without pandas.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.ingest.engines.parts import FolderPart, Work, WrittenPart
from attnbank.sql.errors import AttnbankError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE = 4  # parts for each task that can run at the same time


class SparkEngine:
    """Runs parts on the executors of a Spark session, `at_once` of them at a time.

    The executors must have attnbank and its extra `ingest` installed, have the model under the same
    name, and have the folder under the same path.
    """

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self.at_once: int = _AT_ONCE * session.sparkContext.defaultParallelism

    def write_parts(self, work: Work, parts: Sequence[FolderPart]) -> Iterator[WrittenPart]:
        """Compute and write parts, each as a job of its own, and yield them in order.

        Raises AttnbankError, with the reason, if a task fails.
        """
        context, task = self._session.sparkContext, _task(self._folder, work)

        def run_part(part: FolderPart) -> bytes | tuple[str, str]:
            (result,) = context.parallelize([pickle.dumps(part)], 1).map(task).collect()
            return result

        pool = ThreadPoolExecutor(len(parts))
        try:
            with _translate_spark_errors():
                for result in pool.map(run_part, parts):
                    if isinstance(result, tuple):
                        raise AttnbankError(*result)
                    yield pickle.loads(result)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _task(folder: Path, work: Work) -> Callable[[bytes], bytes | tuple[str, str]]:
    """Return the function of a task: from a pickled part to a pickled WrittenPart, or an error.

    Objects of attnbank are sent as bytes: a local executor can only import attnbank, and unpickle
    them, once it has the import paths of this process.
    """
    paths, pickled, folder_name = list(sys.path), pickle.dumps(work), str(folder)

    def task(part: bytes) -> bytes | tuple[str, str]:
        import pathlib
        import pickle
        import sys

        sys.path += [path for path in paths if path not in sys.path]
        from attnbank.ingest.engines.parts import write_part
        from attnbank.sql.errors import AttnbankError

        try:
            written = write_part(
                pathlib.Path(folder_name), pickle.loads(pickled), pickle.loads(part)
            )
        except AttnbankError as error:
            return error.fact, error.remedy
        return pickle.dumps(written)

    return task


@contextmanager
def _translate_spark_errors() -> Iterator[None]:
    """Context manager that raises errors of Spark, such as a dead executor, as AttnbankError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    # PySpark would also log the error, with its stack trace.
    log = logging.getLogger("SQLQueryContextLogger")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        # The most informative line: the last that names an error, or else the first.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        telling = [line for line in lines if "Error" in line.split(":")[0] or "crashed" in line]
        reason = ["it does not say why", *lines[:1], *telling][-1][:300].rstrip(".")
        raise AttnbankError(
            f"Spark could not run some of the batches: {reason}.",
            "Everything written so far is safe. Type the same command: it resumes where it"
            " stopped.",
        ) from error
    finally:
        log.disabled = was_disabled
