"""Where results go, and in which format."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from attnbank.cli.options import bank_path
from attnbank.cli.values import csv_columns, json_rows
from attnbank.queries.names import did_you_mean
from attnbank.sql.errors import CallError
from attnbank.sql.outputs import output_file

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "latex", "parquet")
FOR_PEOPLE = frozenset({"table", "markdown", "latex"})
_ROWS_AT_ONCE = 50_000
ENDINGS = {
    ".txt": "table",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".tex": "latex",
    ".parquet": "parquet",
}


def write_frame(
    ctx: click.Context,
    frame: pl.DataFrame,
    format_: str | None,
    output: str | None,
    *,
    wraps: bool = False,
    title: str | None = None,
    hint: str | None = None,
) -> None:
    """Write a result to standard output, or to the file that -o names.

    `wraps` lets the last column of a table go on below where the terminal is too narrow. `title`
    says whose figures they are: it stands above what people read, in the place of a column
    `run` that says so to programs. `hint` is why there may be no rows.
    """
    chosen = choose_format(format_, output)
    if title is not None and chosen in FOR_PEOPLE:
        frame = frame.drop("run", strict=False)
    if not frame.height and (chosen == "table" or hint is not None):
        click.echo(f"No rows{f': {hint}' if hint else ''}.", err=True)
    with destination(ctx, output, binary=chosen == "parquet") as file:
        if title is not None and chosen in FOR_PEOPLE:
            _write_lines(_titled(title, chosen), file)
        width = _terminal_width() if output is None else None
        write(frame, chosen, file, width, wraps=wraps)


def _titled(title: str, format_: str) -> Iterator[str]:
    """The line above what people read, and what parts it from the rest."""
    from attnbank.cli.table import as_text

    yield f"% {as_text(title)}" if format_ == "latex" else as_text(title)
    if format_ == "markdown":
        yield ""


def write(
    frame: pl.DataFrame,
    format_: str,
    file: BinaryIO,
    width: int | None = None,
    *,
    wraps: bool = False,
) -> None:
    """Write a frame in one of FORMATS; `width` is that of the terminal, for a table."""
    from attnbank.cli.latex import latex
    from attnbank.cli.table import markdown, table

    if format_ == "table":
        _write_lines(table(frame, width, wraps=wraps), file)
    elif format_ == "markdown":
        _write_lines(markdown(frame), file)
    elif format_ == "latex":
        _write_lines(latex(frame), file)
    elif format_ == "parquet":
        whole = io.BytesIO()
        frame.write_parquet(whole, compression="zstd", compression_level=3)
        file.write(whole.getbuffer())
    elif format_ in ("csv", "tsv"):
        separator = "," if format_ == "csv" else "\t"
        for at, part in enumerate(_parts(frame)):
            file.write(_csv(part, separator, header=at == 0).encode())
    elif format_ == "jsonl":
        for part in _parts(frame):
            _write_lines(iter(json_rows(part)), file)
    else:
        _write_lines(_json_lines(frame), file)


def choose_format(format_: str | None, output: str | None) -> str:
    """The format that was asked for, or that the file's ending chooses.

    Raises CallError for an ending that chooses none.
    """
    if format_ is not None:
        return format_
    if output is None or output == "-":
        return "table"
    ending = Path(output).suffix.lower()
    if ending not in ENDINGS:
        raise CallError(
            f"The ending of {output} chooses no format.",
            f"{did_you_mean(ending, ENDINGS)} End it in {', '.join(ENDINGS)}, or give -f.".strip(),
        )
    return ENDINGS[ending]


@contextmanager
def destination(ctx: click.Context, output: str | None, *, binary: bool) -> Iterator[BinaryIO]:
    """Standard output, or the file of -o, which is replaced when it is whole.

    Raises CallError where no file can stand there (see check_output), or a terminal would get
    bytes; AttnbankError where it cannot be written.
    """
    if output is None or output == "-":
        if binary and sys.stdout.isatty():
            raise CallError("A terminal cannot show Parquet.", "Give -o FILE.")
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with output_file(output, bank_path(ctx)) as file:
        yield file


def _write_lines(lines: Iterator[str], file: BinaryIO) -> None:
    for line in lines:
        file.write(f"{line}\n".encode(errors="replace"))


def _csv(frame: pl.DataFrame, separator: str, *, header: bool) -> str:
    """The rows as CSV: null is an empty cell, an empty text is "".

    Where there is one column, null is "" too: readers pass over an empty line.
    """
    return csv_columns(frame).write_csv(
        include_header=header,
        separator=separator,
        null_value='""' if frame.width == 1 else None,
    )


def _json_lines(frame: pl.DataFrame) -> Iterator[str]:
    """One array, a row a line."""
    before = "["
    for part in _parts(frame):
        for row in json_rows(part):
            yield before
            before = f"{row},"
    yield before.removesuffix(",")
    yield "]"


def _parts(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame in parts, between which a reader who has had enough can stop us."""
    yield from frame.iter_slices(_ROWS_AT_ONCE) if frame.height else [frame]


def _terminal_width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
