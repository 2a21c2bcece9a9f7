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
from attnbank.sql.statements import sources, statements

if TYPE_CHECKING:
    import polars as pl

# The environment variable that names the folder.
VARIABLE = "ATTNBANK_QUERIES"

# The most files in a folder, and the most bytes in a file.
MOST_FILES = 1000
MOST_BYTES = 1_000_000

# The views of the weights of every run that keeps them; and the tables, which have those of some.
_WEIGHTS = frozenset({"attention_weight", "distribution"})
_OF_SOME_RUNS = frozenset({"attention", "attention_top"})
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")

_EXAMPLE = "For an example of a header: attnbank query best_head --show-sql"


def join(folder: str | Path | None = None) -> None:
    """Add every `NAME.sql` of a folder, by default VARIABLE's if set, to this process's analyses.

    The error of an invalid file is raised when it is asked for. Raises CallError if the folder
    cannot be read, or has more than MOST_FILES such files.
    """
    named = folder or os.environ.get(VARIABLE)
    if not named:
        return
    folder_path = Path(named).expanduser()
    try:
        paths = sorted(file for file in folder_path.iterdir() if file.suffix == ".sql")
    except OSError as error:
        raise CallError(
            f"The folder of queries {folder_path} cannot be read: {error.strerror}.",
            "Name a folder of .sql files: --queries DIR, or the variable ATTNBANK_QUERIES.",
        ) from error
    if len(paths) > MOST_FILES:
        raise CallError(
            f"The folder of queries {folder_path} has {len(paths):,} .sql files; the maximum is"
            f" {MOST_FILES:,}.",
            "Use a folder that holds only queries.",
        )
    for path in paths:
        try:
            registry.user_analyses[path.stem] = _load_user_analysis(path)
        except AttnbankError as error:
            registry.user_faults[path.stem] = CallError(
                f"{path}: {error.fact.removeprefix(f'{path.name}: ')}", error.remedy or _EXAMPLE
            )


def as_declared(analysis: Analysis, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of an analysis. Raises QueryError if their columns are not those it declares."""
    declared = [column.name for column in analysis.columns]
    if rows.columns != declared:
        raise QueryError(
            f"{analysis.name}.sql has the columns {', '.join(rows.columns)}; its header says"
            f" {', '.join(declared)}.",
            "List them in the column lines of the header, in that order.",
        )
    return rows


def _load_user_analysis(path: Path) -> Analysis:
    """The analysis in a file. Raises CallError or HeaderError if it holds no valid analysis."""
    if not _NAME.fullmatch(path.stem):
        raise CallError(
            "its name is not valid for an analysis.", "Use lower-case letters, digits and _."
        )
    if path.stem in registry.analyses() | registry.shared():
        raise CallError("attnbank already has an analysis with this name.", "Rename the file.")
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            raise CallError(
                "it is not a regular file of at most 1 MB.", "Remove it from the folder."
            )
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise CallError(f"it cannot be read: {error}.", "Remove it from the folder.") from error
    analysis = parse(path.stem, OWN, text)
    if len(statements(analysis.body)) != 1:
        raise CallError("there must be exactly one SELECT below the header.", _EXAMPLE)
    _ = analysis.statement  # raises HeaderError where its parameters are not those of the header
    read = sources(analysis.body)
    if analysis.run is not None:
        # Without rows would be the answer of a run without weights, which could be chosen.
        if of_some := read & _OF_SOME_RUNS:
            raise CallError(
                f"it reads {min(of_some)}, which has rows of only some runs (ingest --keep).",
                "Read the view distribution, which has all of them, laid out as in attention.",
            )
        if analysis.run.weights is None and read & _WEIGHTS:
            raise CallError(
                f"it reads {min(read & _WEIGHTS)}, which runs of --keep peaks do not have.",
                "Add: -- weights: true, and chosen_run(..., reads_weights := true); or, if those of"
                " --keep top:8 are enough, -- weights: largest, and reads_largest := true",
            )
    return analysis
