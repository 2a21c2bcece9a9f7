"""`attnbank info`: what is in a bank."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.apart import read_apart
from attnbank.cli.humanize import number, size, unknown_lines
from attnbank.cli.options import BankCommand, open_named_bank, output_options
from attnbank.sql.outputs.lines import shown

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries.contents import Contents

READING = 2
"""The value of run.reading in runs whose words all carry the white space before them."""
_OLD_READING = (
    "read by an older attnbank: unless its tokenizer is WordPiece or byte-level, words had spaces"
    " that the text has not; ingest it again"
)


@output_options
@click.command(cls=BankCommand)
@click.pass_context
def command(ctx: click.Context, format_: str | None, output: str | None) -> None:
    """Show what is in the bank: runs, models, corpora, and what was left out.

    As JSON it is one object; in the other formats for programs it is the runs.

    \b
    Example:
      attnbank info
    """
    from attnbank.cli.output import check_output, destination, write_frame

    chosen = check_output(ctx, format_, output)

    def answer() -> None:
        with open_named_bank(ctx) as bank:
            contents = bank.info()
        if chosen not in ("table", "json"):
            write_frame(ctx, contents.runs, format_, output)
            return
        text = _for_people(contents) if chosen == "table" else _for_programs(contents)
        with destination(ctx, output, binary=False) as file:
            file.write(text.encode(errors="backslashreplace"))

    read_apart(ctx, answer)


def _for_programs(contents: Contents) -> str:
    found: dict[str, Any] = {
        "path": str(contents.path),
        "bytes": contents.bytes,
        "format": contents.format,
        "created_by": contents.created_by,
    }
    for part in ("runs", "models", "corpora", "skipped", "departures", "tables"):
        found[part] = getattr(contents, part).to_dicts()
    return json.dumps(found, indent=2, ensure_ascii=False, default=_iso) + "\n"


def _iso(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _shown(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows, with names and texts escaped so that a terminal can show them safely."""
    for row in frame.iter_rows(named=True):
        yield {key: shown(value) if isinstance(value, str) else value for key, value in row.items()}


def _for_people(contents: Contents) -> str:
    """The contents as paragraphs of text, safe for a terminal."""
    blocks = [
        f"{shown(str(contents.path))}: {size(contents.bytes)}, written by attnbank"
        f" {shown(contents.created_by)}",
        *(_run(row) for row in _shown(contents.runs)),
        *(_model(row) for row in _shown(contents.models)),
        *(_corpus(row) for row in _shown(contents.corpora)),
        _skipped(contents),
        *_departures(contents),
        "rows  "
        + ", ".join(f"{shown(name)} {number(rows)}" for name, rows in contents.tables.rows()),
    ]
    if not contents.runs.height:
        blocks.insert(1, "No runs yet: attnbank ingest CORPUS...")
    return "\n\n".join(blocks) + "\n"


def _run(row: dict[str, Any]) -> str:
    """The paragraph about a run; `row` is a row of the frame of runs."""
    shape = [f"context {row['context']}", f"unit {row['unit']}", f"subword {row['subword']}"]
    shape.append(f"at most {row['max_tokens']} tokens")
    is_whole = row["keep"] != "peaks"
    if is_whole:
        shape.append(f"{row['decimals']} decimals" if row["decimals"] else "unrounded")
    held = f"{number(row['weights'])} weights" if is_whole else "peaks and sums of their attention"
    shape.append(f"batches of {number(row['batch_tokens'])} tokens on {row['device']}")
    seed = "" if row["random_seed"] is None else f" (random weights, seed {row['random_seed']})"
    if row["finished"] is None:
        end = f"interrupted after {number(row['batches'])} batches; the same ingest goes on"
    else:
        end = f"finished {row['finished']} UTC"
    return "\n".join(
        [
            f"run {row['id']}  {row['name']}",
            f"  model {row['model']}{seed}, corpus {row['corpus']}",
            f"  {', '.join(shape)}",
            *_choices(row),
            f"  {number(row['sentences'])} sentences, {number(row['words'])} words,"
            f" {held}, about {size(row['bytes'])}",
            *(f"  {line}" for line in unknown_lines(row["words"], row["unknown_words"])),
            *_tokens_of_run(row),
            *([] if (row["reading"] or 1) >= READING else [f"  {_OLD_READING}"]),
            f"  started {row['started']} UTC, {end}",
        ]
    )


def _tokens_of_run(row: dict[str, Any]) -> list[str]:
    """How multiword tokens were read, where their words do not spell them."""
    if row["multiword"] is None:
        return []
    if row["multiword"] == "parts":
        return ["  of multiword tokens the parts were read, not what is written"]
    inner = row["inner_dependencies"]
    left_out = (
        f"; {number(inner)} dependencies in them are left out (inside-token)" if inner else ""
    )
    return [f"  multiword tokens were read as written{left_out}"]


def _choices(row: dict[str, Any]) -> list[str]:
    """A line about the further options of a run; no line if there are none."""
    told = {
        "shard": "",
        "truncate": "the first input of each document alone",
        "limit": "a sample of {} inputs",
        "seed": "seed {}",
        "gradients": "gradients",
        "ablate": "ablation of {}",
        "replacement": "replaced by {}",
        "mask_seed": "mask seed {}",
    }
    told["shard"] = f"the {_shards(row['shard'] or '')} of the documents"
    chosen = [text.format(row[name]) for name, text in told.items() if row[name] is not None]
    return [f"  {', '.join(chosen)}"] if chosen else []


def _shards(text: str) -> str:
    """A shard, 3/5, or the shards that were merged, 1-2+4/5, with the word before it."""
    return f"shard{'s' if {*text} & {*'+-'} else ''} {text}"


def _model(row: dict[str, Any]) -> str:
    """The paragraph about a model; `row` is a row of the frame of models."""
    seed = row["random_seed"]
    weights = "trained weights" if seed is None else f"random weights, seed {seed}"
    revision = f", revision {row['revision']}" if row["revision"] else ""
    return "\n".join(
        [
            f"model {row['id']}  {row['name']}{revision}",
            f"  {row['architecture']}, {row['layers']} layers with {row['heads']} heads each,"
            f" {weights}",
            f"  sha256 {row['sha256']}",
            f"  {row['tokenizer']}, sha256 {row['tokenizer_sha256'] or 'not kept'}",
        ]
    )


def _corpus(row: dict[str, Any]) -> str:
    """The paragraph about a corpus; `row` is a row of the frame of corpora."""
    silver = f", predicted by {row['annotator']}" if row["annotator"] else ""
    splits = ", ".join(row["splits"]) if row["splits"] else "none"
    language = f"; language {row['language']}" if row["language"] else ""
    shard = f", which are its {_shards(row['shard'])}" if row["shard"] else ""
    files = [f"  pipeline sha256 {row['annotator_sha256']}"] if row["annotator_sha256"] else []
    return "\n".join(
        [
            f"corpus {row['id']}  {row['name']}",
            f"  {row['format']}, {row['annotation']} annotation{silver}; split {splits}{language}",
            f"  {number(row['documents'])} documents, {number(row['sentences'])} sentences,"
            f" {number(row['words'])} words, {number(row['mentions'])} mentions{shard}",
            f"  sha256 {row['sha256']}",
            *_tokens_of_corpus(row),
            *files,
        ]
    )


def _tokens_of_corpus(row: dict[str, Any]) -> list[str]:
    """Its multiword tokens that their words do not spell, and its nodes that are no words."""
    told = []
    if row["unspelled_tokens"]:
        told.append(
            f"{number(row['unspelled_tokens'])} of {number(row['multiword_tokens'])} multiword"
            " tokens are not what their words spell"
        )
    if row["empty_nodes"]:
        told.append(f"{number(row['empty_nodes'])} empty node{'s' * (row['empty_nodes'] > 1)}")
    return [f"  {', '.join(told)}"] if told else []


def _departures(contents: Contents) -> list[str]:
    lines = [
        f"  {number(row['n'])} {row['reason']}  corpus {row['corpus']};"
        f" the first: {row['example']} ({row['place']})"
        for row in _shown(contents.departures)
    ]
    return ["\n".join(["read all the same", *lines])] if lines else []


def _skipped(contents: Contents) -> str:
    if not contents.skipped.height:
        return "left out  nothing"
    lines = ["left out"]
    for row in _shown(contents.skipped):
        whose = row["run"] or f"corpus {row['corpus']}, every run"
        place = f" ({row['place']})" if row["place"] else ""
        lines.append(f"  {number(row['n'])} {row['reason']}  {whose}; e.g. {row['example']}{place}")
    return "\n".join(lines)


command.name = "info"
