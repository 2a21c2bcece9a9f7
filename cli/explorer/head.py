"""One head: its relations, its patterns, its nearest heads, and examples right and wrong."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from statistics import fmean
from typing import Any, TypeVar

import polars as pl

from attnbank.cli.explorer.bank_cache import NotedFrame
from attnbank.cli.explorer.request import Link, RequestContext, hit_of, link
from attnbank.cli.explorer.sentence_pages import small_map
from attnbank.queries.patterns.concordance import add_context
from attnbank.queries.sentences.choosing import layer_and_head
from attnbank.sql import registry, run_choice
from attnbank.sql.errors import AttnbankError, CallError, QueryError
from attnbank.sql.names import DIRECTIONS, literal, quoted

_Made = TypeVar("_Made")
_EXAMPLES = 12
_BEST = 10
# Rows shown of each breakdown of errors.
_VALUES = 5
# The surface patterns on the page: analyses and their columns.
_SURFACE = (
    ("relative_position", ("previous", "self", "next")),
    ("special_tokens", ("cls", "sep", "punctuation", "other", "first")),
    ("entropy", ("entropy",)),
    ("head_pattern", ("pattern",)),
    ("head_function", ("confidence", "offset", "positional")),
)
# The analysis behind the error counts: the page must read the same run and relations.
_COUNTED_AS = "head_error"


def head_view(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show a head. Raises CallError if the model has no such head, QueryError if there are no
    results.
    """
    layer, head = pair = layer_and_head(context.parts["head"])
    name = f"{layer}-{head}"
    missing: list[tuple[str, str]] = []

    def answer_or_reason(what: str, make: Callable[[], _Made]) -> _Made | None:
        """Return the value of `make`; if the bank has no data for it, note the reason and return
        None.
        """
        try:
            return make()
        except AttnbankError as error:
            if (why := (what, f"{error.fact} {error.remedy}".strip())) not in missing:
                missing.append(why)
            return None

    surface: dict[str, list[tuple[str, str, str]]] = {}
    for analysis, columns in _SURFACE:
        answer = answer_or_reason(
            "Patterns", partial(context.query, analysis, run=context.run_name)
        )
        if answer is not None and (head_rows := _rows_of_head(answer.frame, pair)).height:
            lines = (
                _measure_line(head_rows[column][0], answer.frame[column]) for column in columns
            )
            surface.setdefault(answer.run_name or "", []).extend(lines)
    best = answer_or_reason("Relations", lambda: _relations(context, pair))
    if best is None and not surface:
        raise QueryError(f"The bank has no results for head {name}.", missing[0][1])
    relation, direction = (
        context.text_parameter("relation"),
        context.choice_parameter("direction", DIRECTIONS),
    )
    if best is not None and best.frame.height and not relation:
        relation = best.frame["relation"][0]
        direction = context.text_parameter("direction", best.frame["direction"][0])
    variables |= {
        "title": f"Head {name}",
        "name": name,
        "answered": context.run_name if best is None else best.run_name,
        "relation": relation or "all",
        "direction": direction,
        "surface": surface,
        "nearest": answer_or_reason(
            "Nearest heads", lambda: context.table(_nearest_heads(context, pair))
        ),
        "disabled": _ablation_effects(context, name),
        "missing": missing,
    }
    if best is not None:
        variables["rows"] = best.frame
        variables["statement"] = statement = _select_relations(best.run_name, pair)
        variables["command"] = context.command(f"sql {shlex.quote(statement)}")
        variables["best"] = context.table(
            best.frame,
            {
                "relation": lambda row: link(
                    f"/head/{name}", run=context.run_name, relation=row["relation"],
                    direction=row["direction"],
                )
            },
        )  # fmt: skip
        key = pair, variables["relation"], direction, best.run_name
        make = partial(_examples_and_errors, context, *key)
        cache_key = ("at work", *key, context.is_live)
        variables |= (
            answer_or_reason("Examples", lambda: context.handle.compute_once(cache_key, make)) or {}
        )


def _rows_of_head(frame: pl.DataFrame, pair: tuple[int, int]) -> pl.DataFrame:
    """The rows of one head. Raises CallError if the model has no such head."""
    layer, head = pair
    rows = frame.filter(layer=layer, head=head)
    if frame.height and not rows.height:
        raise CallError(
            f"The model has no head {layer}-{head}.",
            f"Its heads are {min(frame['layer'])}-1 to {max(frame['layer'])}-{max(frame['head'])}.",
        )
    return rows


def _measure_line(value: Any, values: pl.Series) -> tuple[str, str, str]:
    """The name of a column, its value for a head, and the mean over all heads if it is a number."""
    mean = ""
    if values.dtype.is_float():
        known = values.drop_nulls()
        mean = f"{fmean(known):.3f}" if known.len() else ""
        value = None if value is None else f"{value:.3f}"
    return values.name.replace("_", " "), "" if value is None else str(value), mean


_COLUMNS = (
    "relation", "direction", "n", "accuracy", "offset", "offset_accuracy", "gain", "p_corrected",
)  # fmt: skip
# The fewest dependents of a relation on the page, as in best_head.
_MIN_COUNT = 10


def _relations(context: RequestContext, pair: tuple[int, int]) -> NotedFrame:
    """The relations of a head by gain over the offset, with its held-out accuracy where it was
    chosen.
    """
    keys = ["relation", "direction"]
    scores = context.query("best_relation", run=context.run_name, most=_BEST, min_count=_MIN_COUNT)
    held_out = (
        context.query("best_head_held_out", run=scores.run_name)
        .frame.filter(layer=pair[0], head=pair[1])
        .select(*keys, pl.col("accuracy").alias("held_out"))
    )
    joined = (
        _rows_of_head(scores.frame, pair)
        .join(held_out, on=keys, how="left", maintain_order="left")
        .select(*_COLUMNS, "held_out", "findable", "run")
    )
    return NotedFrame(joined, scores.notes)


def _select_relations(run: str | None, pair: tuple[int, int]) -> str:
    """A SELECT with the rows of `_relations`, for the command shown on the page."""
    layer, head = pair
    columns = ", ".join(f"best.{quoted(name)}" for name in _COLUMNS)
    return (
        f"select {columns}, held.accuracy as held_out, best.findable, best.run"
        f" from best_relation(most := {_BEST}, min_count := {_MIN_COUNT}, run := {literal(run)})"
        " as best"
        f" left join best_head_held_out(run := {literal(run)}) as held"
        " using (relation, direction, layer, head)"
        f" where layer = {layer} and head = {head} order by best.rank"
    )


def _nearest_heads(context: RequestContext, pair: tuple[int, int]) -> pl.DataFrame:
    """The heads with the most similar attention (section 6)."""
    frame = context.query("head_distance", run=context.run_name).frame
    # head_distance has each pair of heads once, so this head may be on either side.
    sides = [
        frame.filter(**{f"layer_{this}": pair[0], f"head_{this}": pair[1]}).select(
            pl.col(f"layer_{that}").alias("layer"),
            pl.col(f"head_{that}").alias("head"),
            (pl.col("js_divergence") / pl.col("n_tokens")).alias("nats_a_token"),
            "run",
        )
        for this, that in (("a", "b"), ("b", "a"))
    ]
    return pl.concat(sides).sort("nats_a_token", "layer", "head").head(5)


def _ablation_effects(context: RequestContext, name: str) -> Any:
    """The effects of ablated sets that contain this head; None if there are none."""
    try:
        frame = context.query("ablation_effect", run=context.run_name).frame
    except AttnbankError:  # the run has no ablation, and most have none
        return None
    rows = frame.filter(pl.col("heads").str.split(", ").list.contains(name))
    columns = (
        "ablation", "name", "heads", "replacement", "outcome", "n", "whole", "without",
        "difference", "low", "high", "controls", "control_mean", "p", "run",
    )  # fmt: skip
    return context.table(rows.select(columns)) if rows.height else None


def _examples_and_errors(
    context: RequestContext, pair: tuple[int, int], relation: str, direction: str, run: str | None
) -> dict[str, Any]:
    """Examples right and wrong, and breakdowns of the errors. Raises CallError."""
    bank = context.bank
    run_read = bank.run_of(_COUNTED_AS, run=run)
    assert run_read is not None, "the analysis reads one run"
    with bank.backend.answering():
        run_choice.check_relation(
            bank.connection, registry.find_analysis(_COUNTED_AS), {"relation": relation}, run_read
        )
        examples = bank.backend.internal(
            "examples/head_examples", run=run_read.name, relation=relation, layer=pair[0],
            head=pair[1], direction=direction, most=_EXAMPLES,
        )  # fmt: skip
    extent = examples.head(1).select("dependents", "errors").rows()
    errors = examples.filter(pl.col("breakdown").is_in(["right", "wrong"]).not_())
    errors = errors.group_by("breakdown", maintain_order=True).head(_VALUES)

    def to_examples(breakdown: str, value: str | None = None) -> str:
        return link(
            f"/head/{pair[0]}-{pair[1]}/examples", relation=relation, direction=direction,
            breakdown=breakdown, value=value, run=run_read.name,
        )  # fmt: skip

    links: dict[str, Link] = {"n": lambda row: to_examples(row["breakdown"], row["value"])}
    variables: dict[str, Any] = {}
    if context.is_live:
        dependents, wrong = extent[0] if extent else (0, 0)
        variables["more"] = {
            "Right": (to_examples("right"), dependents - wrong),
            "Wrong": (to_examples("wrong"), wrong),
        }
        variables["thumbnails"] = _thumbnails(context, pair, examples, run_read.name)
    return variables | {
        "examples": {
            kind.capitalize(): _examples(context, examples.filter(breakdown=kind))
            for kind in ("right", "wrong")
        },
        "errors": context.table(
            errors.select("breakdown", "value", "n", "share", "errors", "dependents"),
            links if context.is_live else {},
        ),
    }


_THUMBNAILS = 8


def _thumbnails(
    context: RequestContext, pair: tuple[int, int], examples: pl.DataFrame, run: str
) -> list[tuple[str, str, dict[str, Any]]]:
    """The head on example sentences, as small maps: name, address and lines of each."""
    name = f"{pair[0]}-{pair[1]}"
    rows = examples.filter(pl.col("sentence").is_not_null()).unique("sentence", maintain_order=True)
    thumbnails = []
    for row in rows.head(_THUMBNAILS).iter_rows(named=True):
        with suppress(AttnbankError):  # the run may keep no weights
            view = context.bank.show(row["sentence"], name, run=run)
            address = link("/sentence", sentence=row["sentence"], head=name, run=run)
            thumbnails.append((row["sent_id"], address,
                         small_map(view.panels[0], view.facts.measure)))  # fmt: skip
    return thumbnails


_EXAMPLES_OF_PAGE = 50
_BREAKDOWNS = ("right", "wrong", "relation", "upos", "distance")


def examples(context: RequestContext, variables: dict[str, Any]) -> None:
    """Show the examples of one kind (right, wrong, or one kind of error), page by page.

    Mark the dependent in each sentence, and show what the head found. Raises CallError.
    """
    layer, head = pair = layer_and_head(context.parts["head"])
    breakdown = context.choice_parameter("breakdown", _BREAKDOWNS)
    value = context.text_parameter("value", "none")
    relation, direction = (
        context.text_parameter("relation", "all"),
        context.choice_parameter("direction", DIRECTIONS),
    )
    name = f"{layer}-{head}"
    described = {"right": "it finds the gold head", "wrong": "it finds another word"}.get(
        breakdown, f"it finds another word, whose {breakdown} is {value}"
    )
    variables |= {
        "name": name, "relation": relation, "direction": direction, "told": described,
        "title": f"Head {name}: {relation}, {breakdown}",
    }  # fmt: skip
    bank = context.bank
    run_read = bank.run_of(_COUNTED_AS, run=context.run_name)
    assert run_read is not None, "the analysis reads one run"
    _rows_of_head(context.query("head_accuracy", run=run_read.name).frame, pair)
    page = context.page_number()
    with bank.backend.answering():
        run_choice.check_relation(
            bank.connection, registry.find_analysis(_COUNTED_AS), {"relation": relation}, run_read
        )
        rows = bank.backend.internal(
            "examples/example_page", run=run_read.name, relation=relation, layer=layer, head=head,
            direction=direction, breakdown=breakdown, value=value, most=_EXAMPLES_OF_PAGE,
            skipped=(page - 1) * _EXAMPLES_OF_PAGE,
        )  # fmt: skip
    total = rows["total"][0] if rows.height else 0
    variables |= {"answered": run_read.name, "rows": rows.drop("total")}
    variables["part"] = context.paging(total, size=_EXAMPLES_OF_PAGE)
    hits = rows.select("sent_id", "sentence", "dependent",
                        pl.coalesce("target", "gold").alias("found"))  # fmt: skip
    lines = add_context(bank.backend, hits, 8)
    variables["lines"] = [
        {
            **line, "found": row["value"], "is_right": row["is_right"],
            "href": link(
                "/sentence", sentence=row["sentence"], head=name, relation=relation,
                direction=direction, run=run_read.name,
                hit=hit_of({**row, "found": row["target"] or row["gold"]}, ("dependent", "found")),
            ),
        }
        for line, row in zip(lines.to_dicts(), rows.to_dicts(), strict=True)
    ]  # fmt: skip


def _examples(context: RequestContext, rows: pl.DataFrame) -> list[dict[str, Any]]:
    hits = rows.select("sent_id", "sentence", "dependent", "gold")
    lines = add_context(context.bank.backend, hits, 8)
    nodes = ("dependent", "gold")
    return [
        {**line, "found": row["value"], "id": row["sentence"], "words": hit_of(row, nodes)}
        for line, row in zip(lines.to_dicts(), rows.to_dicts(), strict=True)
    ]
