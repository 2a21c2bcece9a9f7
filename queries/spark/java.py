"""The Java that Spark needs: whether one is installed, and whether it is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from attnbank.sql.errors import CallError

OLDEST = 17
"""The oldest version of Java that Spark 4 runs on."""
_SECONDS = 60.0
_INSTALL = (
    f"Install Java {OLDEST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or"
    " let JAVA_HOME name one."
)


def check_java() -> None:
    """Raise CallError, with what to install, unless Spark would find a Java that it can run on.

    Spark takes the one that the variable JAVA_HOME names, or else the first one on the path.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if not home else shutil.which(str(Path(home) / "bin" / "java"))
    if java is None:
        where = f"JAVA_HOME is {home}, where none is" if home else "none is installed"
        raise CallError(f"Spark needs Java, and {where}.", _INSTALL)
    try:
        asked = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=_SECONDS,
            errors="replace",
        )  # fmt: skip
        told = asked.stderr + asked.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CallError(f"Spark needs Java, and {java} does not run: {error}.", _INSTALL) from error
    version = _version(told)
    if version is None:
        raise CallError(f"Spark needs Java, and {java} does not tell its version.", _INSTALL)
    if version < OLDEST:
        raise CallError(f"Spark needs Java {OLDEST} or newer, and {java} is {version}.", _INSTALL)


def _version(told: str) -> int | None:
    """The main version in what `java -version` prints; None if there is none.

    Until version 8 it was the second number ("1.8.0_392"), since then it is the first ("17.0.15").
    """
    found = re.search(r'version "(?:1\.)?(\d{1,4})', told)
    return None if found is None else int(found[1])
