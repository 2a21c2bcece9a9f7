"""The user's own analyses: `.sql` files with a header, in a folder that the user names.

They come from outside and cannot be trusted: names and headers are checked here, and their
statements run in the sandbox, like every statement that a user types.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.sql import registry
from attnbank.sql.errors import AttnbankError, CallError, QueryError
from attnbank.sql.header import OWN, Analysis, parse
from attnbank.sql.reading import sources, statements

if TYPE_CHECKING:
    import polars as pl

VARIABLE = "ATTNBANK_QUERIES"
"""The environment variable that names the folder."""
MOST_FILES = 1000
MOST_BYTES = 1_000_000
"""The most files in a folder, and the most bytes in a file."""
_WEIGHTS = frozenset({"attention", "attention_weight"})
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


_HOW = "What a header has to say: attnbank query best_head --show-sql"


def join(folder: str | Path | None = None) -> None:
    """Add every `NAME.sql` of a folder to the analyses of this process.

    Without a folder, it is the one that the variable ATTNBANK_QUERIES names, if there is any. A
    file that holds no valid analysis is reported when it is asked for. Raises CallError if the
    folder cannot be read, or has more than MOST_FILES such files.
    """
    named = folder or os.environ.get(VARIABLE)
    if named:
        registry.join(*_read_all(Path(named).expanduser()))


def as_declared(analysis: Analysis, found: pl.DataFrame) -> pl.DataFrame:
    """The rows of an analysis. Raises QueryError if their columns are not those it declares."""
    declared = [each.name for each in analysis.columns]
    if found.columns != declared:
        raise QueryError(
            f"{analysis.name}.sql has the columns {', '.join(found.columns)}; its header says"
            f" {', '.join(declared)}.",
            "Let the column lines of the header name them, in that order.",
        )
    return found


def _read_all(folder: Path) -> tuple[dict[str, Analysis], dict[str, CallError]]:
    """The analyses of a folder by name, and the errors of files that hold none, by name."""
    try:
        paths = sorted(each for each in folder.iterdir() if each.suffix == ".sql")
    except OSError as error:
        raise CallError(
            f"The folder of queries {folder} cannot be read: {error.strerror}.",
            "Name a folder of .sql files: --queries DIR, or the variable ATTNBANK_QUERIES.",
        ) from error
    if len(paths) > MOST_FILES:
        raise CallError(
            f"The folder of queries {folder} has {len(paths):,} .sql files, and {MOST_FILES:,} is"
            " the most.",
            "Name a folder with queries alone.",
        )
    found: dict[str, Analysis] = {}
    faults: dict[str, CallError] = {}
    for path in paths:
        try:
            found[path.stem] = _read(path)
        except AttnbankError as error:
            faults[path.stem] = CallError(
                f"{path}: {error.fact.removeprefix(f'{path.name}: ')}", error.remedy or _HOW
            )
    return found, faults


def _read(path: Path) -> Analysis:
    """The analysis in a file. Raises CallError or HeaderError if it holds no valid analysis."""
    if not _NAME.fullmatch(path.stem):
        raise CallError(
            "its name is no name of an analysis.", "Use small letters, digits and _ for it."
        )
    if path.stem in registry.analyses() | registry.shared():
        raise CallError("attnbank has an analysis of that name.", "Call the file something else.")
    try:
        told = path.stat()
        if not stat.S_ISREG(told.st_mode) or told.st_size > MOST_BYTES:
            raise CallError("it is no file of up to 1 MB.", "Take it out of the folder.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise CallError(f"it cannot be read: {error}.", "Take it out of the folder.") from error
    analysis = parse(path.stem, OWN, text)
    if len(statements(analysis.body)) != 1:
        raise CallError("below the header there is no single SELECT.", _HOW)
    _ = analysis.statement  # raises HeaderError where its parameters are not those of the header
    _check_weights(analysis)
    return analysis


def _check_weights(analysis: Analysis) -> None:
    """Raise CallError where a run without weights could be chosen for what reads them.

    Such a run would give an answer without rows.
    """
    if analysis.run is None or analysis.run.weights is not None:
        return
    read = sources(analysis.body) & _WEIGHTS
    if read:
        raise CallError(
            f"it reads {min(read)}, which runs of --keep peaks do not have.",
            "Say so: -- weights: true, and chosen_run(..., reads_weights := true)",
        )
