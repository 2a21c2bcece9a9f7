"""A Spark session of one command, whose log nobody has to read, and the Java that it needs."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

import psutil

from attnbank.sql.errors import CallError, QueryError, require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The master that is this machine, with all its cores.
LOCAL = "local[*]"

# The oldest version of Java that Spark 4 runs on.
OLDEST = 17
# The most bytes of a local export that count as little to read.
_LITTLE = 10**9
_ERROR = 2  # the file descriptor of standard error
_GRACE = 3.0  # seconds that the JVM has to end after an interrupt, before it is killed
_INSTALL = (
    f"Install Java {OLDEST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or"
    " set JAVA_HOME to one."
)


@contextmanager
def session_of(master: str = LOCAL, reads: str | None = None) -> Iterator[SparkSession]:
    """Start a Spark session, and stop it in the end; an interrupt ends its JVM at once.

    `master` is Spark's own name of a cluster (`spark://host:7077`, `yarn`), or of this machine with
    some cores (`local[2]`). `reads` is the export that it will read, if that is known. Raises
    MissingPackageError without pyspark, CallError without a Java that is new enough, and QueryError
    if Spark does not start.
    """
    require_extra("Spark", "spark", "pyspark")
    check_java()
    from pyspark.sql import SparkSession

    # A JVM that was killed leaves its files here.
    with tempfile.TemporaryDirectory(
        prefix="attnbank-spark-", ignore_cleanup_errors=True
    ) as folder:
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
                "spark.local.dir": folder,
                "spark.pyspark.python": sys.executable,
                "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
                "spark.sql.shuffle.partitions": "4",  # Spark's own 200 are for a cluster
            }
            if reads is not None and _is_little(Path(reads)):
                # Planning a statement runs so much code once that the optimizing compiler takes
                # half of the time, and saves none.
                options["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
        for name, value in options.items():
            builder = builder.config(name, value)
        with _without_tracebacks_of_py4j(), _Interrupts() as interrupts:
            session = _started(builder, master)
            interrupts.handle()  # pyspark has set a handler of its own
            session.sparkContext.setLogLevel("OFF")
            # It would print a traceback when an interrupt has ended the JVM.
            server = session.sparkContext._accumulatorServer
            server.handle_error = lambda *_: None  # type: ignore[method-assign]
            try:
                yield session
            finally:
                if not interrupts.have_come:
                    session.stop()


def _is_little(export: Path) -> bool:
    """Whether this is a folder of this machine, with few bytes."""
    with suppress(OSError):
        files = export.rglob("*.parquet")
        return export.is_dir() and sum(file.stat().st_size for file in files) <= _LITTLE
    return False


@contextmanager
def _without_tracebacks_of_py4j() -> Iterator[None]:
    """Context manager that hides what py4j logs of a call that an interrupt or an error ends.

    Some of it goes to the root logger. Python then gives that one a handler if it has none, which
    prints this and all that py4j logs later, though no program has asked for it.
    """
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


class _Interrupts:
    """Within, an interrupt ends what was started within, and raises KeyboardInterrupt once.

    The JVM would otherwise finish its plan or its job first: what reads an answer waits for that.
    """

    def __init__(self) -> None:
        self.have_come = False
        self._before = {*psutil.Process().children()}
        self._usual = {
            signal_number: signal.getsignal(signal_number)
            for signal_number in (signal.SIGINT, signal.SIGTERM)
        }

    def __enter__(self) -> _Interrupts:
        self.handle()
        return self

    def handle(self) -> None:
        """Take the interrupts, unless the process ignores them or this is another thread."""
        if threading.current_thread() is threading.main_thread():
            for signal_number, usual in self._usual.items():
                if callable(usual):
                    signal.signal(signal_number, self._take)

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        # One that comes before there is a session leaves a JVM that nobody else knows of.
        if self.have_come or (kind is not None and not issubclass(kind, Exception)):
            self.have_come = True
            _end(self._started())
        if threading.current_thread() is threading.main_thread():
            for signal_number, usual in self._usual.items():
                if callable(usual):
                    signal.signal(signal_number, usual)
        if self.have_come and kind is not None and issubclass(kind, Exception):
            raise KeyboardInterrupt

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.have_come:
            return
        self.have_come = True
        threading.Thread(target=_end, args=(self._started(),), daemon=True).start()
        raise KeyboardInterrupt

    def _started(self) -> list[psutil.Process]:
        """The processes that were started within, each with those that it has started itself."""
        processes = []
        for process in psutil.Process().children():
            if process not in self._before:
                with suppress(psutil.Error):
                    processes += [process, *process.children(recursive=True)]
        return processes


def _end(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.terminate()
    _, left = psutil.wait_procs(processes, timeout=_GRACE)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=_GRACE)


def _started(builder: SparkSession.Builder, master: str) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with tempfile.TemporaryFile() as log:
        try:
            with _standard_error_to(log):
                return builder.getOrCreate()
        except (PySparkException, Py4JError, OSError, RuntimeError) as error:
            log.seek(0)
            text = log.read().decode(errors="replace") or str(error)
            # The line that says most: the first that names an error, or else the last.
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            telling = [line for line in lines if "Exception" in line or "Error" in line]
            reason = [*telling, *lines[-1:], "no reason given."][0][:300]
            raise QueryError(
                f"Spark did not start with the master {master}: {reason}",
                "Give another one (--master), or leave it out for this machine.",
            ) from error


@contextmanager
def _standard_error_to(file: IO[bytes]) -> Iterator[None]:
    """Within, this process and those that it starts write their standard error to a file.

    The JVM of Spark does so before it reads which log it should keep, and for as long as it lives.
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


def check_java() -> None:
    """Raise CallError, with what to install, unless Spark would find a Java that it can run on.

    Spark takes the one that the variable JAVA_HOME names, or else the first one on the path.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if not home else shutil.which(str(Path(home) / "bin" / "java"))
    if java is None:
        where = f"there is none in JAVA_HOME ({home})" if home else "none is installed"
        raise CallError(f"Spark needs Java, and {where}.", _INSTALL)
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=60,
            errors="replace",
        )  # fmt: skip
        output = answer.stderr + answer.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CallError(f"Spark needs Java, and {java} does not run: {error}.", _INSTALL) from error
    # The main version; until Java 8 it was the second number ("1.8.0_392", now "17.0.15").
    match = re.search(r'version "(?:1\.)?(\d{1,4})', output)
    if match is None:
        raise CallError(f"Spark needs Java, and the version of {java} is unknown.", _INSTALL)
    if (version := int(match[1])) < OLDEST:
        raise CallError(f"Spark needs Java {OLDEST} or newer; {java} is Java {version}.", _INSTALL)
