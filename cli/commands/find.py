"""`attnbank find`, `count`, `score`, `save` and `saved`: requests in the language of Grew."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli import output
from attnbank.cli.guarded import command
from attnbank.cli.options import (
    bank_path,
    command_prefix,
    compose,
    engine_options,
    field_options,
    open_named_bank,
    open_source,
    option,
    quiet_option,
    run_option,
    take_fields,
    text_argument,
)
from attnbank.cli.safe_echo import notify, safe_echo
from attnbank.queries.options import CONTEXT, CountOptions, FindOptions, ScoreOptions
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import polars as pl

    from attnbank.queries import Bank
    from attnbank.queries.spark import Exported

# Spaces between two columns of a table.
_GAP = 2
_request_argument = text_argument("request")
_hit_options = compose(
    option("--show-sql", "Print the SELECT instead of running it.", False),
    option("--dialect", "SQL dialect of --show-sql.", "duckdb"),
    engine_options(),
    output.output_options,
)


@command("find", "'pattern { V -[obj]-> O; O [upos=PRON] }'")
@_request_argument
@field_options(FindOptions)
@option(
    "--head heads",
    "For these heads (3-1,5-2): the weight from --from to --to, and the word with the largest"
    " weight.",
    "",
    metavar="HEADS",
)
@option(
    "--from node",
    "The node from which --head attends. Default: the dependent of the first edge.",
    metavar="NODE",
)
@option("--to target", "The node to which --head attends.", metavar="NODE")
@_hit_options
def find(
    ctx: click.Context, /, request: str, heads: str, node: str | None, target: str | None,
    **values: Any,
) -> None:  # fmt: skip
    """Find words by a request in the language of Grew.

    REQUEST is in quotes, or - for standard input. A table has one line per hit, with the
    matched words in brackets; formats for programs have one row per hit, with the sentence, the
    index of each node (0 is the node before the first word) and the label of each named edge.
    """
    from attnbank.queries.patterns import head_keys
    from attnbank.queries.requests import add_context

    options = FindOptions(request, **take_fields(FindOptions, values))
    source = open_source(ctx, options.timeout)
    if heads:
        keys = filter(None, (options.columns, head_keys(request, heads, node, target)))
        options = replace(options, columns=", ".join(keys))
    elif node or target:
        raise CallError("--from and --to need --head.", "Add --head 3-1, or leave them out.")
    chosen = output.check_output(ctx)
    if values["show_sql"]:
        _print_sql(source, options, values["dialect"])
        return
    is_read = chosen in output.FOR_PEOPLE
    with source as bank:
        matches, title = _hits(ctx, bank, options, ids=is_read)
        rows = matches
        if is_read:
            width = output.terminal_width(ctx) if chosen == "table" else None
            words_beside = options.context
            if words_beside is None and width is None:
                words_beside = CONTEXT
            rows = add_context(
                bank.backend, matches.drop("run", strict=False).head(output.MOST_ROWS), words_beside
            )
            rows = rows if width is None else _cut_context(rows, width)
    output.write_frames(ctx, [rows], count=lambda: matches.height, title=title)


def _hits(
    ctx: click.Context,
    bank: Bank | Exported,
    options: FindOptions | CountOptions,
    *,
    ids: bool = False,
) -> tuple[pl.DataFrame, str | None]:
    """The rows of a request, and the title of their table."""
    from attnbank.queries.requests import compile_options, run_hits

    compiled = compile_options(options, bank.backend, ids=ids)
    rows = run_hits(bank.backend, compiled, options.timeout)
    run = None if compiled.choice.run is None else compiled.choice.run.name
    if output.has_provenance(ctx):
        from attnbank.queries.dialects import indented_sql

        statement = indented_sql(compiled.statement)
        output.record(ctx, bank, run, statement, request=options.request)
    return rows, None if run is None else f"Run: {run}"


def _print_sql(
    source: AbstractContextManager[Bank | Exported],
    options: FindOptions | CountOptions,
    dialect: str,
) -> None:
    from attnbank.queries.dialects import indented_sql
    from attnbank.queries.patterns import reads_run
    from attnbank.queries.requests import compile_options

    if reads_run(options.request, options.keys):
        with source as bank:
            compiled = compile_options(options, bank.backend)
    else:
        compiled = compile_options(options)
    safe_echo(*indented_sql(compiled.statement, dialect).split("\n"))


def _cut_context(frame: pl.DataFrame, width: int) -> pl.DataFrame:
    import polars as pl

    from attnbank.queries.table_formats import cut, cut_start, display_width
    from attnbank.sql.messages import is_right_to_left

    def widest(name: str) -> int:
        return max(map(display_width, [name, *map(str, frame[name])]), default=0)

    right_to_left = [is_right_to_left(hit) for hit in frame["hit"]]
    fixed = [name for name in frame.columns if name not in ("left", "hit", "right")]
    room = width - sum(widest(name) + _GAP for name in fixed) - 2 * _GAP
    hit = min(widest("hit"), max(20, room // 2))
    left = max(4, (room - hit) // 2)
    right = max(5, room - hit - left)
    lefts, rights = [], []
    for before, after, turned in zip(frame["left"], frame["right"], right_to_left, strict=True):
        # In right-to-left text the left column holds the words after the hit. Always cut on the
        # side that is farther from the hit.
        cut_text = (cut if turned else cut_start)(before, left)
        lefts.append(" " * (left - display_width(cut_text)) + cut_text)
        rights.append((cut_start if turned else cut)(after, right))
    return frame.with_columns(
        pl.Series("left", lefts, pl.String), pl.Series("right", rights, pl.String)
    )


@command("count", "'pattern { V -[obj]-> O }' --by O.upos")
@_request_argument
@field_options(CountOptions)
@option("--show", "Add to each row the find command that lists its hits.", False)
@_hit_options
def count(ctx: click.Context, /, request: str, show: bool, **values: Any) -> None:
    """Count the hits of a request.

    REQUEST is as for find. With two keys, a table is a cross table if it fits the terminal.
    """
    from attnbank.queries.table_formats import crosstab, fits_crosstab

    options = CountOptions(request, **take_fields(CountOptions, values))
    source, limit = open_source(ctx, options.timeout), options.limit
    is_read = output.check_output(ctx) in output.FOR_PEOPLE and not show
    if values["show_sql"]:
        _print_sql(source, options, values["dialect"])
        return
    if is_read:  # a cross table needs all cells
        options = replace(options, limit=None)
    with source as bank:
        counts, title = _hits(ctx, bank, options)
    names = [name for name in counts.columns if name not in ("n", "share", "run")]
    if show:
        counts = _with_finds(options, counts, names)
    elif is_read and fits_crosstab(counts, names):
        counts = crosstab(counts, *names)
    elif limit is not None:  # rows of numeric keys are ordered by key, not by n
        counts = counts.filter(counts["n"].rank("ordinal", descending=True) <= limit)
    counts = counts if limit is None else counts.head(limit)
    output.write_frame(ctx, counts, title=title, wraps=show)


def _with_finds(options: CountOptions, counts: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    import polars as pl

    from attnbank.queries.patterns import request_for_count_row

    within = "document" if options.in_documents else None
    flags = (("--corpus", options.corpus), ("--run", options.run), ("--within", within))
    typed = [str(part) for flag in flags if flag[1] for part in flag]
    # Without --by there is one row, the count of all hits, and a frame without columns has none.
    commands = [
        shlex.join(
            ["attnbank", "find", request_for_count_row(options.request, options.by, key), *typed]
        )
        for key in counts.select(names).rows() or [()] * counts.height
    ]
    return counts.with_columns(pl.Series("find", commands, pl.String))


@command("score", "'pattern { V -[obj]-> O }' --from O --to V")
@_request_argument
@field_options(ScoreOptions)
@engine_options()
@output.output_options
def score(
    ctx: click.Context, /, request: str, dependent: str | None, head: str | None,
    run: tuple[str, ...], **values: Any,
) -> None:  # fmt: skip
    """Score every head on the pairs of words that a request finds.

    REQUEST is as for find. Each pair is scored like a dependency: a head is right if it attends
    from --from more to --to than to any other word, or the other way round. The result is the
    best of all heads (tried is their number), its interval by documents, the highest accuracy
    that a head could have, the best fixed offset, how far the head is above it (gain, with the
    interval of the difference), and p by documents, corrected for all heads. The head
    and the offset that are best on every second document are also compared on the others,
    without correction. If the bank has controls with random weights, each seed has a row, and
    their range follows.
    """
    from attnbank.queries.patterns import check_dependent_and_head

    source = open_source(ctx)
    output.check_output(ctx)
    check_dependent_and_head(request, dependent, head)
    assert dependent is not None and head is not None
    options = take_fields(ScoreOptions, values)
    with source as bank:
        frame = bank.score(request, dependent=dependent, head=head, run=run or None, **options)
        output.record(ctx, bank, frame["run"][0] if frame.height else None, request=request)
    hint = "the request matches no pairs in the run"
    controls = frame[1:] if len(run) < 2 and "tried" in frame.columns else frame.clear()
    output.write_frame(
        ctx, frame, title=_title_of_scores(frame), note=_range_of_controls(controls), hint=hint
    )


def _range_of_controls(controls: pl.DataFrame) -> str | None:
    """The lowest and highest score of the best heads of several seeds of random weights."""
    if controls.height < 2:
        return None
    ranges = []
    for name in ("accuracy", "held_out_accuracy"):
        values = controls[name].drop_nulls().to_list()
        if values:
            ranges.append(f"{name} {min(values):.3f} to {max(values):.3f}")
    return f"random weights ({controls.height} seeds): {', '.join(ranges)}"


def _title_of_scores(frame: pl.DataFrame) -> str | None:
    if not frame.height:
        return None
    names = frame["run"].unique()
    title = [f"Run: {names[0]}"] if len(names) == 1 else []
    if "tried" in frame.columns:
        title.append(f"The best of {frame['tried'][0]} heads and directions, chosen on these pairs")
    return ". ".join(title) or None


@command("save", "possessor 'pattern { N -[nmod:poss]-> P }' --from P --to N")
@click.argument("name")
@_request_argument
@field_options(ScoreOptions, "dependent", "head", "within", "timeout")
@option("--meaning", "Description of the relation.", metavar="TEXT")
@run_option("Run whose attention or surprisal the request reads, by name or id.")
@option("--replace", "Replace the relation of this name.", False)
@quiet_option()
def save(
    ctx: click.Context, /, name: str, request: str, dependent: str | None, head: str | None,
    **options: Any,
) -> None:  # fmt: skip
    """Save the pairs that a request finds as a relation of the bank.

    Every analysis with --relation then accepts NAME, and any program that opens the bank can
    read the view saved.NAME. To include text that was ingested later, type the same command
    again.
    """
    from attnbank.ingest import save_relation
    from attnbank.queries.patterns import check_dependent_and_head

    check_dependent_and_head(request, dependent, head)
    assert dependent is not None and head is not None
    with open_named_bank(ctx) as bank:
        pairs = save_relation(bank, name, request, dependent=dependent, head=head, **options)
    notify(
        f"{name} has {pairs:,} pairs.",
        f"Next: {command_prefix(bank_path(ctx))} query best_head --relation {shlex.quote(name)}",
    )


@command("saved")
@option("--delete name", "Delete this relation.", metavar="NAME")
@output.output_options
def saved(ctx: click.Context, name: str | None) -> None:
    """List the saved relations, or delete one.

    later_sentences is the number of sentences that were ingested after a relation was saved, in
    which it has no pairs: save it again.
    """
    if name is not None:
        from attnbank.ingest.store.saved import forget

        forget(bank_path(ctx), name)
        notify(f"Deleted {name}.")
        return
    with open_named_bank(ctx) as bank:
        frame = bank.saved()
    hint = "no relations saved yet; see attnbank save --help"
    output.write_frame(ctx, frame, wraps=True, hint=hint)
