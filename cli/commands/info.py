"""`attnbank info`: what is in a bank."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.guarded import command
from attnbank.cli.options import open_named_bank
from attnbank.cli.output import (
    check_output,
    count_noun,
    destination,
    format_bytes,
    name_of_measure,
    output_options,
    reading_lines,
    unknown_lines,
    without_surprisal_lines,
    write_frame,
)
from attnbank.ingest.corpora.document import LEFT_OUT
from attnbank.sql.bank.new_banks import is_named_as_a_schema
from attnbank.sql.bank.opening import fault_of_rows
from attnbank.sql.errors import damaged
from attnbank.sql.messages import escape_control, join_names
from attnbank.sql.paths import typed_path
from attnbank.sql.run_choice import behaviour_lines

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries.contents import Contents

# run.reading from which on words are tokenized with the white space before them.
READING = 2
_TEXT = ("document", "sentence", "word", "mention")
_OLD_READING = (
    "ingested by an older attnbank: unless its tokenizer is WordPiece or byte-level, words were"
    " given spaces that the text does not have; ingest it again"
)
# How further options of a run are shown, by column.
_CHOICES = {
    "shard": "the {} of the documents",
    "truncate": "only the first input of each document",
    "limit": "a sample of {} inputs",
    "seed": "seed {}",
    "gradients": "gradients",
    "ablate": "ablation of {}",
    "replacement": "replaced by {}",
    "mask_seed": "mask seed {}",
    "earlier_batch_tokens": "smaller batches after memory ran out (up to batch:tokens {})",
}


@command("info")
@click.option("--check", is_flag=True, help="Check all rows of the bank first, as merge does.")
@output_options
def info(ctx: click.Context, check: bool) -> None:
    """Show what is in the bank: runs, models, corpora, and what was skipped.

    -f json has all of it in one object; the other formats for programs have the runs.

    With --check, a bank whose rows contradict each other is an error: try it on a bank that
    somebody gave you.
    """
    chosen = check_output(ctx)
    with open_named_bank(ctx) as bank:
        if check and (fault := fault_of_rows(bank.connection)):
            raise damaged(typed_path(bank.path), fault)
        contents = bank.info()
    if chosen not in ("table", "json"):
        write_frame(ctx, contents.runs)
        return
    if chosen == "table":
        text = _format_contents(contents)
    else:
        facts: dict[str, Any] = {"path": typed_path(contents.path)}
        facts |= {name: getattr(contents, name) for name in ("bytes", "format", "created_by")}
        for table in ("runs", "models", "corpora", "skipped", "departures", "tables"):
            facts[table] = getattr(contents, table).to_dicts()
        text = json.dumps(facts, indent=2, ensure_ascii=False, default=datetime.isoformat) + "\n"
    with destination(ctx, binary=False) as file:
        file.write(text.encode(errors="backslashreplace"))


def _naming_lines(path: Path) -> list[str]:
    if not is_named_as_a_schema(path):
        return []
    return [
        f"other DuckDB clients confuse its name with the schema {path.stem.lower()}: rename it (mv)"
    ]


def _escaped_rows(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows with control characters in texts escaped, safe for a terminal."""
    for row in frame.iter_rows(named=True):
        yield {
            key: escape_control(value) if isinstance(value, str) else value
            for key, value in row.items()
        }


def _format_contents(contents: Contents) -> str:
    """The contents as paragraphs of text for a terminal; all lines but the first are indented."""
    paragraphs = [
        [
            f"{escape_control(typed_path(contents.path))}: {format_bytes(contents.bytes)}, written"
            f" by attnbank {escape_control(contents.created_by)}",
            *_naming_lines(contents.path),
        ],
        *([] if contents.runs.height else [["No runs yet: attnbank ingest CORPUS..."]]),
        *map(_describe_run, _escaped_rows(contents.runs)),
        *map(_describe_model, _escaped_rows(contents.models)),
        *map(_describe_corpus, _escaped_rows(contents.corpora)),
    ]
    skipped = []
    for row in _escaped_rows(contents.skipped):
        scope = row["run"] or f"corpus {row['corpus']}, every run"
        place = f" ({row['place']})" if row["place"] else ""
        skipped.append(f"{row['n']:,} {row['reason']}  {scope}; e.g. {row['example']}{place}")
    paragraphs.append(["skipped", *skipped] if skipped else ["skipped  nothing"])
    for name, is_left_out in (("accepted", False), ("left out", True)):
        departures = [
            f"{row['n']:,} {row['reason']}  corpus {row['corpus']};"
            f" first: {row['example']} ({row['place']})"
            for row in _escaped_rows(contents.departures)
            if (row["reason"] in LEFT_OUT) == is_left_out
        ]
        paragraphs += [[name, *departures]] if departures else []
    tables = (f"{escape_control(name)} {rows:,}" for name, rows in contents.filled.rows())
    paragraphs.append([f"rows  {', '.join(tables)}"])
    return "\n\n".join("\n  ".join(lines) for lines in paragraphs) + "\n"


def _describe_run(row: dict[str, Any]) -> list[str]:
    is_whole = row["keep"] != "peaks"
    is_weights = row["measure"] == "weights"
    shape = [
        *([] if is_weights else [f"measure {row['measure']}, {row['heads']} to a layer"]),
        f"context {row['context']}",
        f"unit {row['unit']}",
        f"subword {row['subword']}",
        f"at most {row['max_tokens']} tokens",
        *(["edges shared"] if row["edges"] == "share" else []),
        *([f"{row['decimals']} decimals" if row["decimals"] else "unrounded"] if is_whole else []),
        f"batches of {row['batch_tokens']:,} tokens on {row['device']}",
    ]
    choices = [
        template.format(_describe_shard(row[name]) if name == "shard" else row[name])
        for name, template in _CHOICES.items()
        if row[name] is not None and row[name] is not False
    ]
    stored = f"{row['weights']:,} {name_of_measure(row['measure'])}"
    if (row["keep"] or "").startswith("top:"):
        stored += f" (the {row['keep'].removeprefix('top:')} largest from each position)"
    stored = stored if is_whole else "peaks and sums of their attention"
    sibling_seeds = [str(seed) for seed in row["sibling_seeds"]]
    siblings = (
        f", with seed{'s' * (len(sibling_seeds) > 1)} {join_names(sibling_seeds)}"
        if sibling_seeds
        else ""
    )
    seed = row["random_seed"]
    weights = "" if seed is None else f" (random weights, seed {seed}{siblings})"
    end = f"finished {row['finished']} UTC"
    if row["finished"] is None:
        end = f"interrupted after {row['batches']:,} batches; run the same ingest to resume"
    tokens = {
        "parts": ["multiword tokens were read in parts, not as they are written"],
        "written": ["multiword tokens were read as written"],
    }
    return [
        f"run {row['id']}  {row['name']}",
        f"model {row['model']}{weights}, corpus {row['corpus']}",
        ", ".join(shape),
        *([", ".join(choices)] if choices else []),
        *behaviour_lines(row["batching"], None, None),
        f"{row['sentences']:,} sentences, {row['words']:,} words,"
        f" {stored}, about {format_bytes(row['bytes'])}",
        *unknown_lines(row["words"], row["unknown_words"]),
        *tokens.get(row["multiword"], []),
        *reading_lines(row),
        *([f"surprisal of {count_noun(row['surprisals'], 'word')}"] if row["surprisals"] else []),
        *without_surprisal_lines(row["first_words"], row["sharing_words"]),
        *(
            [f"ablations {join_names(map(escape_control, row['ablations']))}"]
            if row["ablations"]
            else []
        ),
        *([] if (row["reading"] or 1) >= READING else [_OLD_READING]),
        f"started {row['started']} UTC, {end}",
    ]


def _describe_shard(text: str) -> str:
    """A shard with the word before it: shard 3/5, or merged shards 1-2+4/5."""
    return f"shard{'s' if {*text} & {*'+-'} else ''} {text}"


def _describe_model(row: dict[str, Any]) -> list[str]:
    seed = row["random_seed"]
    weights = "trained weights" if seed is None else f"random weights, seed {seed}"
    revision = f", revision {row['revision']}" if row["revision"] else ""
    kv_heads = row["kv_heads"]
    shared = "" if kv_heads in (None, row["heads"]) else f" ({kv_heads} of keys and values)"
    seen = "" if row["tokens_seen"] is None else f", {row['tokens_seen']:,} tokens seen"
    step = [] if row["step"] is None else [f"step {row['step']:,} of {row['series']}{seen}"]
    return [
        f"model {row['id']}  {row['name']}{revision}",
        f"{row['architecture']}, {row['layers']} layers with {row['heads']} heads each{shared},"
        f" {weights}{', causal' if row['causal'] else ''}",
        *step,
        *behaviour_lines(None, row["sinks"], row["layer_numbers"], row["sliding_window"]),
        f"sha256 {row['sha256']}",
        f"{row['tokenizer']}, sha256 {row['tokenizer_sha256'] or 'not recorded'}",
    ]


def _describe_corpus(row: dict[str, Any]) -> list[str]:
    silver = f", predicted by {row['annotator']}" if row["annotator"] else ""
    splits = ", ".join(row["splits"]) if row["splits"] else "none"
    language = f"; language {row['language']}" if row["language"] else ""
    shard = f", which are its {_describe_shard(row['shard'])}" if row["shard"] else ""
    odd = []  # oddities that the counts above do not show
    if row["unspelled_tokens"]:
        odd.append(
            f"{row['unspelled_tokens']:,} of {row['multiword_tokens']:,} multiword"
            " tokens are not spelled as their words"
        )
    if row["empty_nodes"]:
        odd.append(f"{row['empty_nodes']:,} empty node{'s' * (row['empty_nodes'] > 1)}")
    if row["unmarked_documents"]:
        unmarked = count_noun(row["unmarked_documents"], "document")
        odd.append(f"{unmarked} not marked in the source: statistics are by sentence")
    return [
        f"corpus {row['id']}  {row['name']}",
        f"{row['format']}, {row['annotation']} annotation{silver}; split {splits}{language}",
        ", ".join(count_noun(row[f"{noun}s"], noun) for noun in _TEXT) + shard,
        f"sha256 {row['sha256']}",
        *([", ".join(odd)] if odd else []),
        *([f"licence {row['licence']}"] if row["licence"] else []),
        *([f"pipeline sha256 {row['annotator_sha256']}"] if row["annotator_sha256"] else []),
    ]
