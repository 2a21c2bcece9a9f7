"""Where results go, and in which format."""

from __future__ import annotations

import itertools
import select
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from attnbank.cli import provenance
from attnbank.cli.options import bank_path
from attnbank.cli.printing import Terminal, closed, say
from attnbank.queries.formats.values import csv_text, json_rows
from attnbank.sql.errors import AttnbankError, CallError, QueryError
from attnbank.sql.outputs import files as outputs
from attnbank.sql.outputs.origins import KEY
from attnbank.sql.suggest import did_you_mean

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "latex", "parquet")
FOR_PEOPLE = frozenset({"table", "markdown", "latex"})
MOST_ROWS = 10_000
"""The most rows that people are shown; programs get all of them."""
MOST_BYTES = 64_000_000
"""The most bytes of rows that people are shown."""
_ROWS_AT_ONCE = 50_000
"""The most rows that are formatted before they are written."""
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

    With `wraps` the text of the last column is wrapped if the terminal is too narrow. `title` says
    which run the figures are of: people read it above the rows, and the column `run`, which tells
    programs, is dropped if it says the same of every row. `hint` is why there may be no rows.

    Raises as `choose_format` and `destination` do.
    """
    is_told_above = title is not None and is_for_people(choose_format(format_, output))
    if is_told_above and "run" in frame.columns and frame["run"].n_unique() < 2:
        frame = frame.drop("run")
    write_frames(
        ctx,
        iter([frame]),
        format_,
        output,
        count=lambda: frame.height,
        wraps=wraps,
        title=title,
        hint=hint,
    )


def write_frames(
    ctx: click.Context,
    frames: Iterable[pl.DataFrame],
    format_: str | None,
    output: str | None,
    *,
    count: Callable[[], int],
    wraps: bool = False,
    title: str | None = None,
    hint: str | None = None,
) -> None:
    """Write a result that comes in parts, like `write_frame`; the first part must have its columns.

    Only one part is held in memory, or for people the first MOST_ROWS rows. `count` is called at
    the end, and returns how many rows there were. Raises also what the iteration raises.
    """
    chosen = choose_format(format_, output)
    parts = iter(frames)
    first = next(parts, None)  # before a file is made, since most errors come with the first part
    whole = itertools.chain([] if first is None else [first], parts)
    with destination(ctx, output, binary=chosen == "parquet") as file:
        if not is_for_people(chosen):
            _write_for_programs(whole, chosen, file, provenance.text(ctx))
        else:
            if title is not None:
                _write_lines(_titled(title, chosen), file)
            shown = _first_rows(whole)
            write(shown, chosen, file, terminal_width() if output is None else None, wraps=wraps)
            file.flush()
            for _ in whole:  # the rest is not shown, but counted
                check_reader(output)
    rows = count()
    if not rows and (chosen == "table" or hint is not None):
        say(f"No rows{f': {hint}' if hint else ''}.", err=True)
    if is_for_people(chosen) and rows > shown.height:
        say(
            f"These are the first {shown.height:,} of {rows:,} rows; -f csv, jsonl or parquet has"
            " all of them.",
            err=True,
        )


def is_for_people(format_: str) -> bool:
    """Whether a format is for people: rounded, and with no more than MOST_ROWS rows."""
    return format_ in FOR_PEOPLE


def _first_rows(frames: Iterator[pl.DataFrame]) -> pl.DataFrame:
    """The first MOST_ROWS rows, or fewer if these have more than MOST_BYTES."""
    import polars as pl

    kept, rows, size = [], 0, 0.0
    for frame in frames:
        part = frame.head(MOST_ROWS - rows)
        kept.append(part)
        rows += part.height
        size += part.estimated_size()
        if rows >= MOST_ROWS or size > MOST_BYTES:
            break
    return pl.concat(kept) if kept else pl.DataFrame()


def check_reader(output: str | None) -> None:
    """Raise BrokenPipeError if nobody reads standard output any more."""
    if output not in (None, "-") or not hasattr(select, "poll"):
        return
    looked = select.poll()
    try:
        looked.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # it is no file, but is kept in memory, as in a notebook
        return
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in looked.poll(0)):
        raise BrokenPipeError


def _titled(title: str, format_: str) -> Iterator[str]:
    """The title as a line of the format, and what separates it from the rows."""
    from attnbank.queries.formats.table import as_text

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
    """Write a frame in one of FORMATS; `width` is that of the terminal in columns, for a table."""
    from attnbank.queries.formats.latex import latex
    from attnbank.queries.formats.table import markdown, table

    if format_ == "table":
        _write_lines(table(frame, width, wraps=wraps), file)
    elif format_ == "markdown":
        _write_lines(markdown(frame), file)
    elif format_ == "latex":
        _write_lines(latex(frame), file)
    else:
        _write_for_programs(iter([frame]), format_, file)


def _write_for_programs(
    frames: Iterator[pl.DataFrame], format_: str, file: BinaryIO, origin: str | None = None
) -> None:
    """Write frames one after another, as one result; `origin` says in Parquet what made it."""
    parts = (part for frame in frames for part in _parts(frame))
    if format_ == "parquet":
        _write_parquet(frames, file, origin)
    elif format_ in ("csv", "tsv"):
        separator = "," if format_ == "csv" else "\t"
        for at, part in enumerate(parts):
            file.write(csv_text(part, separator, header=at == 0).encode())
    elif format_ == "jsonl":
        for part in parts:
            _write_lines(iter(json_rows(part)), file)
    else:
        _write_lines(_json_lines(parts), file)


def _write_parquet(
    frames: Iterator[pl.DataFrame], file: BinaryIO, origin: str | None = None
) -> None:
    """Write frames as one Parquet file; all get the schema of the first.

    Raises QueryError if the values of a later frame do not fit it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for frame in frames:
            table = frame.to_arrow()
            if writer is None:
                writer = pq.ParquetWriter(
                    file, table.schema, compression="zstd", compression_level=3
                )
            try:
                writer.write_table(table.cast(writer.schema))
            except pa.ArrowInvalid as error:
                raise QueryError(
                    f"The rows are not all of one type: {str(error).splitlines()[0]}",
                    "Cast the column in the statement: cast(x as double).",
                ) from error
    finally:
        if writer is not None:
            if origin is not None:
                writer.add_key_value_metadata({KEY: origin})
            writer.close()


def choose_format(format_: str | None, output: str | None) -> str:
    """The format that was asked for, or that the file's ending chooses.

    Raises CallError for an ending that is not one of ENDINGS.
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


def check_output(ctx: click.Context, format_: str | None, output: str | None) -> str:
    """The format that a result will have; checks -o before any work is done.

    Raises CallError as `choose_format` does, and if no file can be written there.
    """
    chosen = choose_format(format_, output)
    provenance.check(ctx, output)
    if output is not None and output != "-":
        outputs.check_output(output, bank_path(ctx))
    return chosen


@contextmanager
def destination(ctx: click.Context, output: str | None, *, binary: bool) -> Iterator[BinaryIO]:
    """Standard output, or the file of -o, which is replaced only when it is complete.

    Raises CallError if no file can be written there, or if a terminal would get binary data;
    AttnbankError if standard output is closed or the file cannot be written. With --provenance a
    file that is not `binary` gets another one beside it, which says what made it.
    """
    provenance.check(ctx, output)
    if output is None or output == "-":
        if "stdout" in closed:
            raise AttnbankError("Standard output is closed.", "Give -o FILE.")
        if binary and sys.stdout.isatty():
            raise CallError("A terminal cannot show Parquet.", "Give -o FILE.")
        sys.stdout.flush()
        out = sys.stdout.buffer
        yield cast("BinaryIO", Terminal(out)) if sys.stdout.isatty() else out
        out.flush()
        return
    with outputs.output_file(output, bank_path(ctx)) as file:
        yield file
    if not binary:  # Parquet says it itself
        provenance.beside(ctx, output)


def _write_lines(lines: Iterator[str], file: BinaryIO) -> None:
    for line in lines:
        file.write(f"{line}\n".encode(errors="replace"))


def _json_lines(parts: Iterator[pl.DataFrame]) -> Iterator[str]:
    """One JSON array, with one row per line."""
    before = "["
    for part in parts:
        for row in json_rows(part):
            yield before
            before = f"{row},"
    yield before.removesuffix(",")
    yield "]"


def _parts(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame in parts, so that writing stops soon after the reader of a pipe has ended."""
    yield from frame.iter_slices(_ROWS_AT_ONCE) if frame.height else [frame]


def terminal_width() -> int | None:
    """The width of the terminal in columns; None if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
