"""Parts of a run on the executors of Spark: one task each, whose rows come back to the driver.

The tasks are those of an RDD. `mapInArrow` would run them as well, but pyspark 4 lets nobody call
it without pandas, which neither it nor attnbank then uses.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.ingest.engines.parts import Part, Written
from attnbank.ingest.engines.work import Work
from attnbank.sql.errors import AttnbankError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE = 4
"""Parts of a wave for each task that can run at the same time."""
_LONGEST = 300


class OnSpark:
    """Runs parts on the executors of a session that the caller has made.

    They must have attnbank installed with what it needs to run the model, find the model under the
    same name, and see the folder under the same path.
    """

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self.at_once: int = _AT_ONCE * session.sparkContext.defaultParallelism
        """How many parts to give at a time."""

    def write(self, work: Work, parts: Sequence[Part]) -> list[Written]:
        """Compute and write parts, each by one task, and return them in order.

        Raises AttnbankError if a task fails, with its reason.
        """
        given = [pickle.dumps(part) for part in parts]
        with _explained():
            tasks = self._session.sparkContext.parallelize(given, len(given))
            found = tasks.map(_task(self._folder, work)).collect()
        written: list[Written] = []
        for told in found:
            if isinstance(told, tuple):
                raise AttnbankError(*told)
            written.append(pickle.loads(told))
        return written


def _task(folder: Path, work: Work) -> Callable[[bytes], bytes | tuple[str, str]]:
    """What a task does with a part: it returns what was written, pickled, or its error.

    Executors get the function itself, not its name, and all that is of attnbank as bytes: an
    executor on this machine can import attnbank only when it has the paths that it is imported
    from here.
    """
    paths, pickled, place = list(sys.path), pickle.dumps(work), str(folder)

    def task(part: bytes) -> bytes | tuple[str, str]:
        import pathlib
        import pickle
        import sys

        sys.path += [each for each in paths if each not in sys.path]
        from attnbank.ingest.engines.parts import write_part
        from attnbank.sql.errors import AttnbankError

        try:
            made = write_part(pathlib.Path(place), pickle.loads(pickled), pickle.loads(part))
        except AttnbankError as error:
            return error.fact, error.remedy
        return pickle.dumps(made)

    return task


@contextmanager
def _explained() -> Iterator[None]:
    """Within, an error of Spark, such as an executor that died, becomes one for people."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    log = logging.getLogger("SQLQueryContextLogger")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise AttnbankError(
            f"Spark could not run a part of the batches: {_reason(str(error))}",
            "What was written is safe; type the same command, and it goes on where it stopped.",
        ) from error
    finally:
        log.disabled = was_disabled


def _reason(told: str) -> str:
    """The line of an error that says most: the last that names an error, or else the first."""
    lines = [each.strip() for each in told.splitlines() if each.strip()] or ["it does not say why"]
    telling = [each for each in lines if "Error" in each.split(":")[0] or "crashed" in each]
    return ([*lines[:1], *telling])[-1][:_LONGEST].rstrip(".") + "."
