"""Write results: where, in which format, and with --provenance how they were made.

And what is to be known of a run; durations, sizes and counts for people.
"""

from __future__ import annotations

import itertools
import select
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from attnbank.cli.options import (
    REMEMBERED,
    bank_path,
    compose,
    file_options,
    option,
    requested_output,
    shared_value,
)
from attnbank.cli.safe_echo import Terminal, closed, safe_echo
from attnbank.queries.table_formats import csv_text, json_rows, why_p_is_empty
from attnbank.sql import outputs, provenance
from attnbank.sql.errors import AttnbankError, CallError, QueryError
from attnbank.sql.messages import did_you_mean, escape_control, join_names
from attnbank.sql.paths import without_secrets

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries import Bank
    from attnbank.queries.spark import Exported
    from attnbank.sql.run_choice import Run

# Formats that are rounded and have at most MOST_ROWS rows.
FOR_PEOPLE = frozenset({"table", "markdown", "latex"})
# Rows in a format for people; programs get all rows.
MOST_ROWS = 10_000
# Bytes of a table: 10,000 rows of long texts or lists would fill the memory.
MOST_BYTES = 64_000_000
# Rows that are formatted at once, before they are written.
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
FORMATS = tuple(ENDINGS.values())

provenance_option = option(
    "--provenance",
    "Record how the file was made: in the metadata of Parquet, else in a file beside it"
    " (rows.csv.provenance.json).",
    False,
    **REMEMBERED,
)
output_options = compose(
    file_options(
        FORMATS,
        ENDINGS,
        "Format of the result (attnbank --help explains them). Default: from the extension of -o,"
        " else table.",
    ),
    provenance_option,
)


def write_frame(
    ctx: click.Context, frame: pl.DataFrame, *, wraps: bool = False, title: str | None = None,
    note: str | None = None, hint: str | None = None,
) -> None:  # fmt: skip
    """Write a frame to standard output, or to the file of -o. Raises as `destination` does.

    `wraps` wraps the last column in a narrow terminal. Formats for people show `title` above
    the rows (and drop a column `run` that has one value), and `note` below them. `hint` says
    why there may be no rows.
    """
    has_title = title is not None and choose_format(ctx) in FOR_PEOPLE
    if has_title and "run" in frame.columns and frame["run"].n_unique() < 2:
        frame = frame.drop("run")
    write_frames(
        ctx, [frame], count=lambda: frame.height, wraps=wraps, title=title, note=note, hint=hint
    )


def write_frames(
    ctx: click.Context, frames: Iterable[pl.DataFrame], *, count: Callable[[], int],
    wraps: bool = False, title: str | None = None, note: str | None = None,
    hint: str | None = None,
) -> None:  # fmt: skip
    """Write a result that comes in parts, one of them in memory at a time; see `write_frame`.

    `count` is called at the end and returns the number of rows. Also raises what the iterator
    raises.
    """
    chosen = choose_format(ctx)
    parts = iter(frames)
    first = next(parts, None)  # before the file is created: most errors come with the first part
    all_parts = itertools.chain([] if first is None else [first], parts)
    with destination(ctx, binary=chosen == "parquet") as file:
        if chosen not in FOR_PEOPLE:
            _write_for_programs(all_parts, chosen, file, provenance_text(ctx))
        else:
            if title is not None:
                write_heading([title], chosen, file)
            part = _first_rows(all_parts)
            encode_frame(part, chosen, file, terminal_width(ctx), wraps=wraps)
            if note is not None:
                if chosen == "markdown":
                    _write_lines([""], file)  # or it would be read as a row
                write_heading([note], chosen, file)
            file.flush()
            for _ in all_parts:  # the other parts are counted, not shown
                check_reader(ctx)
    rows = count()
    if chosen in FOR_PEOPLE and (note := why_p_is_empty(part)) is not None:
        safe_echo(note, err=True)
    if not rows and (chosen == "table" or hint is not None):
        safe_echo(f"No rows{f': {hint}' if hint else ''}.", err=True)
    if chosen in FOR_PEOPLE and rows > part.height:
        safe_echo(
            f"Showing the first {part.height:,} of {rows:,} rows; use -f csv, jsonl or parquet for"
            " all of them.",
            err=True,
        )


def _first_rows(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the first MOST_ROWS rows, or fewer if these have more than MOST_BYTES.

    Do not wait for a further part: a statement that never ends would show nothing.
    """
    import polars as pl

    parts: list[pl.DataFrame] = []
    rows, size = 0, 0.0
    for frame in frames:
        parts.append(frame.head(MOST_ROWS - rows))
        rows += parts[-1].height
        size += parts[-1].estimated_size()
        if rows >= MOST_ROWS or size > MOST_BYTES:
            break
    return pl.concat(parts) if parts else pl.DataFrame()


def check_reader(ctx: click.Context) -> None:
    """Raise BrokenPipeError if standard output has no reader any more (| head)."""
    if requested_output(ctx)[1] is not None or not hasattr(select, "poll"):
        return
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # in memory, as in a notebook: no file descriptor
        return
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
        raise BrokenPipeError


def write_heading(lines: Iterable[str], format_: str, file: BinaryIO) -> None:
    """Write lines above a table: LaTeX comments, or Markdown paragraphs without markup."""
    for line in map(escape_control, lines):
        if format_ == "markdown":
            plain = "".join(
                f"\\{character}" if character in "\\|<&*`_[" else character for character in line
            )
            _write_lines([plain, ""] if line else [], file)
        else:
            _write_lines([f"% {line}" if format_ == "latex" and line else line], file)


def encode_frame(
    frame: pl.DataFrame,
    format_: str,
    file: BinaryIO,
    width: int | None = None,
    *,
    wraps: bool = False,
) -> None:
    """Write a frame in one of FORMATS; `width` is the terminal's in columns, for a table."""
    from attnbank.queries.table_formats import latex, markdown, table_lines

    if format_ not in FOR_PEOPLE:
        _write_for_programs(iter([frame]), format_, file)
    elif format_ == "table":
        _write_lines(table_lines(frame, width, wraps=wraps), file)
    else:
        _write_lines(latex(frame) if format_ == "latex" else markdown(frame), file)


def _write_for_programs(
    frames: Iterator[pl.DataFrame], format_: str, file: BinaryIO, origin: str | None = None
) -> None:
    # In parts, so that writing stops soon after the reader of a pipe has ended.
    parts = (
        part
        for frame in frames
        for part in (frame.iter_slices(_ROWS_AT_ONCE) if frame.height else [frame])
    )
    if format_ == "parquet":
        _write_parquet(frames, file, origin)
    elif format_ in ("csv", "tsv"):
        separator = "," if format_ == "csv" else "\t"
        for at, part in enumerate(parts):
            file.write(csv_text(part, separator, header=at == 0).encode())
    elif format_ == "jsonl":
        for part in parts:
            _write_lines(json_rows(part), file)
    else:
        _write_lines(_json_lines(parts), file)


def _write_parquet(frames: Iterator[pl.DataFrame], file: BinaryIO, origin: str | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for frame in frames:
            table = frame.to_arrow()
            if writer is None:
                options: dict[str, Any] = {"compression": "zstd", "compression_level": 3}
                writer = pq.ParquetWriter(file, table.schema, **options)
            try:
                writer.write_table(table.cast(writer.schema))
            except pa.ArrowInvalid as error:
                raise QueryError(
                    f"The rows do not all have the same types: {str(error).splitlines()[0]}",
                    "Cast the column in the statement: cast(x as double).",
                ) from error
    finally:
        if writer is not None:
            if origin is not None:
                writer.add_key_value_metadata({provenance.KEY: origin})
            writer.close()


def choose_format(ctx: click.Context, endings: Mapping[str, str] = ENDINGS) -> str:
    """The format of -f, or of the extension of -o. Raises CallError for another extension."""
    format_, output = requested_output(ctx)
    if format_ is not None or output is None:
        return format_ or "table"
    ending = Path(output).suffix.lower()
    if ending not in endings:
        meant = did_you_mean(ending, endings) if ending else ""
        raise CallError(
            f"Cannot infer a format from {output}.",
            f"{meant} The name must end in {join_names(endings)}.".strip(),
        )
    return endings[ending]


def check_output(ctx: click.Context) -> str:
    """Return the format. Raises CallError, before any work, if -o cannot be written."""
    chosen, output = choose_format(ctx), requested_output(ctx)[1]
    _check_provenance(ctx)
    if output is not None:
        outputs.check_output(output, bank_path(ctx))
    return chosen


@contextmanager
def destination(ctx: click.Context, *, binary: bool) -> Iterator[BinaryIO]:
    """Context manager that yields standard output, or the file of -o, replaced when complete.

    With --provenance, a file that is not `binary` gets a second file that describes it. Raises
    CallError for binary data on a terminal, AttnbankError if nothing can be written.
    """
    output = requested_output(ctx)[1]
    _check_provenance(ctx)
    if output is None:
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
    if has_provenance(ctx) and not binary:  # Parquet says it itself
        provenance.write_beside(Path(output).expanduser(), _facts(ctx), bank_path(ctx))


def _write_lines(lines: Iterable[str], file: BinaryIO) -> None:
    for line in lines:
        file.write(f"{line}\n".encode(errors="replace"))


def _json_lines(parts: Iterator[pl.DataFrame]) -> Iterator[str]:
    before = "["
    for part in parts:
        for row in json_rows(part):
            yield before
            before = f"{row},"
    yield before.removesuffix(",")
    yield "]"


def terminal_width(ctx: click.Context) -> int | None:
    """The width of the terminal in columns; None if the result goes to a file or a pipe."""
    goes_there = requested_output(ctx)[1] is None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if goes_there else None


def run_title(run: Run) -> str:
    """The name of the run that was read, and how many it was chosen from if none was named."""
    choice = f" ({run.among} runs match; choose with --run or attnbank use)"
    return f"Run: {run.name}{choice if run.among > 1 else ''}"


# From this share of words with an unknown piece on, the model hardly sees the language.
_WARN_FROM = 0.05
# What became of the first word of an input that has no token before it.
_OF_FIRST_WORD = {
    "special": "is excluded like a special token (--bos adds a token)",
    "word": "is treated like any other (--first-word word)",
}


def without_surprisal_lines(first: int, sharing: int) -> list[str]:
    """Lines that say how many words of a run have no surprisal, and why."""
    return [
        f"{count_noun(count, 'word')} {'has' if count == 1 else 'have'} no surprisal: {why}"
        for count, why in (
            (first, "no token precedes the first word of an input"),
            (sharing, "only one of the words that share a position has it"),
        )
        if count
    ]


def unknown_lines(words: int, unknown: int | None) -> list[str]:
    """Lines with the number of words that contain an unknown piece, and a warning if it is large.

    `unknown` is None if the run did not count them.
    """
    if unknown is None:
        return ["unknown words were not counted: the run was made by an older attnbank"]
    share = unknown / words if words else 0.0
    lines = [
        f"{unknown:,} of {words:,} words ({100 * share:.1f} %) contain a piece that"
        " the tokenizer does not know"
    ]
    if share >= _WARN_FROM:
        lines.append(
            "warning: the model reads the unknown token in their place; use a model of this"
            " language and script"
        )
    return lines


def name_of_measure(measure: str) -> str:
    """The noun for the figures of a run by its measure: weights, norms, figures of rollout."""
    return measure if measure in ("weights", "norms") else f"figures of {measure}"


def reading_lines(run: Mapping[str, Any]) -> list[str]:
    """Lines on how a run (its columns) tokenized its words, where users should know."""
    lines = []
    if run["joined_words"]:
        share = 100 * run["joined_words"] / max(run["words"], 1)
        how = (
            "share a piece with a neighbour, as in the text (--edges share)"
            if run["edges"] == "share"
            else "are tokenized differently in the text (see --edges share)"
        )
        lines.append(f"{run['joined_words']:,} of {run['words']:,} words ({share:.1f} %) {how}")
    if misspelled := run.get("misspelled_words"):
        lines.append(
            f"the given tokens of {misspelled:,} of {run['words']:,} words do not match their text"
        )
    if inner := run["inner_dependencies"]:
        lines.append(
            f"{inner:,} {'dependency is' if inner == 1 else 'dependencies are'} between words that"
            " share a position; analyses of heads skip them (inside-token)"
        )
    if run["bos"] is not None:
        lines.append(f"{run['bos']} was put before each input (--bos)")
    elif run["first_word"] in _OF_FIRST_WORD:
        lines.append(
            "no token precedes the text, and heads of causal models rest on the first token: the"
            f" first word of each input {_OF_FIRST_WORD[run['first_word']]}"
        )
    return lines


_FACTS = "attnbank.facts"


def has_provenance(ctx: click.Context) -> bool:
    """Whether --provenance was given."""
    return bool(shared_value(ctx, "provenance"))


def _check_provenance(ctx: click.Context) -> None:
    output = requested_output(ctx)[1]
    if has_provenance(ctx) and output is None:
        raise CallError("--provenance describes a file, and no file is written.", "Give -o FILE.")
    if has_provenance(ctx):
        outputs.check_output(f"{output}{provenance.ENDING}", bank_path(ctx))


def record(
    ctx: click.Context,
    source: Bank | Exported,
    run: str | None,
    statement: str | None = None,
    **facts: Any,
) -> None:
    """Record for --provenance how a result was made: its run, its SQL and `facts`."""
    if not has_provenance(ctx):
        return
    from attnbank.queries import Bank

    if isinstance(source, Bank):
        facts["run"] = None if run is None else provenance.provenance_of_run(source.connection, run)
    else:
        facts["run"] = None if run is None else {"name": run}
        facts["exports"] = [
            provenance.provenance_of_export(export) for export in ctx.params["data"]
        ]
    if statement is not None:
        facts["statement_sha256"] = provenance.digest_text(statement)
    ctx.meta[_FACTS] = facts


def record_runs(ctx: click.Context, bank: Bank, run: str | None) -> None:
    """Record for --provenance how each run of a bank was made, or the run of this name or id."""
    if has_provenance(ctx):
        rows = bank.runs().select("id", "name").rows()
        names = [name for id, name in rows if run in (None, name, str(id))]
        ctx.meta[_FACTS] = {
            "runs": [provenance.provenance_of_run(bank.connection, name) for name in names]
        }


def _facts(ctx: click.Context) -> dict[str, Any]:
    options = {
        name: _without_secrets(value)
        for name, value in ctx.params.items()
        # Not `in (None, False, ())`, which 0 is, too.
        if name != "force" and value is not None and value is not False and value != ()
    }
    facts = {"command": ctx.command_path, "options": options, **ctx.meta.get(_FACTS, {})}
    return provenance.whole(facts, None if "exports" in facts else bank_path(ctx))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_without_secrets(part) for part in value]
    return without_secrets(value) if isinstance(value, str) and "://" in value else value


def provenance_text(ctx: click.Context) -> str | None:
    """The recorded facts as JSON; None without --provenance."""
    return provenance.json_of_facts(_facts(ctx)) if has_provenance(ctx) else None


def duration(seconds: float) -> str:
    """Format seconds: 42 s, 3 min 5 s, 2 h 10 min."""
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    if whole_seconds < 3600:
        return f"{whole_seconds // 60} min {whole_seconds % 60} s"
    return f"{whole_seconds // 3600} h {whole_seconds % 3600 // 60} min"


def count_noun(count: int, noun: str) -> str:
    """Format a count with its noun: 1 word, 2,000 words."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_bytes(count: float) -> str:
    """Format a number of bytes in decimal units: 512 bytes, 9.6 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError
