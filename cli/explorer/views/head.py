"""One head: what it finds, how it looks, which heads are like it, and examples right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import fmean
from typing import Any, TypeVar

import polars as pl

from attnbank.cli.explorer.desk import Answer
from attnbank.cli.explorer.grids import DIRECTIONS
from attnbank.cli.explorer.tables import Table, table_of
from attnbank.cli.explorer.views.heads import relations
from attnbank.cli.explorer.visit import Page, Visit, link
from attnbank.queries.sentences.working import at_work
from attnbank.sql.errors import AttnbankError, CallError, QueryError

_Made = TypeVar("_Made")
_EXAMPLES = 12
_BEST = 10
_VALUES = 5
"""Values of each breakdown of the errors that are shown."""
_LEAST = 10
"""Dependents that a relation has at least to be listed, as the default of best_head has it."""
_SURFACE = (
    ("relative_position", ("previous", "self", "next")),
    ("special_tokens", ("cls", "sep", "punctuation", "other")),
    ("entropy", ("entropy",)),
    ("head_pattern", ("pattern",)),
    ("head_function", ("confidence", "offset", "positional")),
)
"""What is told of how a head looks: analyses, and their columns."""


def view(visit: Visit) -> Page:
    """Show the head that the address names.

    Raises CallError where it is none of the model's, QueryError where nothing is known of it. A
    part that the bank has no answer for is listed with the reason.
    """
    layer, head = _pair(visit.parts["head"])
    name = f"{layer}-{head}"
    parts: list[tuple[str, str]] = []
    surface = _surface(visit, layer, head, parts)
    best = _asked(parts, "Relations", partial(_relations, visit, layer, head))
    if best is None and not surface:
        raise QueryError(f"Nothing is known of head {name}.", parts[0][1])
    relation, direction = visit.text("relation"), visit.chosen("direction", DIRECTIONS)
    if not relation and best is not None and best.frame.height:
        relation = best.frame["relation"][0]
        direction = visit.text("direction", best.frame["direction"][0])
    relation = relation or "all"
    run = visit.run if best is None else best.run
    found: dict[str, Any] = {"right": None, "wrong": None, "errors": None}
    if best is not None:
        made = _asked(parts, "Examples", partial(_at_work, visit, name, relation, direction, run))
        found |= made or {}
    return Page(
        "head.html",
        f"Head {name}",
        {
            "name": name,
            "run": visit.run,
            "runs": visit.runs(),
            "answered": run,
            "best": None if best is None else _best_table(visit, name, best),
            "relation": relation,
            "relations": relations(visit),
            "direction": direction,
            "directions": DIRECTIONS,
            "surface": surface,
            "nearest": _asked(parts, "Nearest heads", partial(_nearest, visit, layer, head)),
            "missing": parts,
            **found,
        },
    )


def _pair(text: str) -> tuple[int, int]:
    """Layer and number of a head. Raises CallError for what is none."""
    parts = text.split("-")
    if len(parts) != 2 or not all(each.isascii() and each.isdecimal() for each in parts):
        raise CallError(f"{text[:40]} is no head.", "A head is LAYER-HEAD: 3-1.")
    return int(parts[0][:6]), int(parts[1][:6])


def _asked(parts: list[tuple[str, str]], what: str, make: Callable[[], _Made]) -> _Made | None:
    """What `make` gives; None where the bank has no answer, with the reason among the parts.

    A run may lack trees, or nothing may be computed yet: the rest of the page is there all the
    same.
    """
    try:
        return make()
    except AttnbankError as error:
        why = what, f"{error.fact} {error.remedy}".strip()
        if why not in parts:
            parts.append(why)
        return None


def _of(frame: pl.DataFrame, layer: int, head: int) -> pl.DataFrame:
    """The rows of one head. Raises CallError where the model has no such head."""
    rows = frame.filter((pl.col("layer") == layer) & (pl.col("head") == head))
    if frame.height and not rows.height:
        raise CallError(
            f"The model has no head {layer}-{head}.",
            f"Its heads are 1-1 to {max(frame['layer'])}-{max(frame['head'])}.",
        )
    return rows


def _relations(visit: Visit, layer: int, head: int) -> Answer:
    """The relations that the head finds best, beside the best offset and the held-out figure.

    Those come first that it finds most above the offset. The held-out figure is there where this
    head was chosen on the other half of the text.
    """
    scores = visit.ask("head_accuracy", run=visit.run)
    own = _of(scores.frame, layer, head)
    offsets = (
        visit.ask("offset_baseline", run=scores.run)
        .frame.sort("accuracy", pl.col("offset").abs(), "offset", descending=[True, False, False])
        .group_by("relation", maintain_order=True)
        .first()
        .select("relation", "offset", pl.col("accuracy").alias("offset_accuracy"))
    )
    held_out = (
        visit.ask("best_head_held_out", run=scores.run)
        .frame.filter((pl.col("layer") == layer) & (pl.col("head") == head))
        .select("relation", "direction", pl.col("accuracy").alias("held_out"))
    )
    found = (
        own.filter(pl.col("n") >= _LEAST)
        .join(offsets, on="relation", how="left")
        .with_columns((pl.col("accuracy") - pl.col("offset_accuracy")).alias("gain"))
        .join(held_out, on=["relation", "direction"], how="left")
        .sort("gain", "relation", "direction", descending=[True, False, False], nulls_last=True)
        .head(_BEST)
        .select("relation", "direction", "n", "accuracy", "offset", "offset_accuracy", "gain",
                "held_out", "run")
    )  # fmt: skip
    return Answer(found, scores.notes)


def _best_table(visit: Visit, name: str, best: Answer) -> Table:
    return table_of(
        best.frame,
        {
            "relation": lambda row: link(
                f"/head/{name}", run=visit.run, relation=row["relation"],
                direction=row["direction"],
            )
        },
    )  # fmt: skip


def _surface(
    visit: Visit, layer: int, head: int, parts: list[tuple[str, str]]
) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """How the head looks: for each run that answers its figures, beside the mean of all heads."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for analysis, columns in _SURFACE:
        answer = _asked(parts, "Patterns", partial(visit.ask, analysis, run=visit.run))
        if answer is None:
            continue
        frame = answer.frame
        own = _of(frame, layer, head)
        for column in columns if own.height else ():
            value = own[column][0]
            mean = ""
            if frame.schema[column].is_float():
                known = frame[column].drop_nulls()
                mean = f"{fmean(known):.3f}" if known.len() else ""
                value = None if value is None else f"{value:.3f}"
            told = "" if value is None else str(value)
            found.setdefault(answer.run or "", []).append((column.replace("_", " "), told, mean))
    return list(found.items())


def _nearest(visit: Visit, layer: int, head: int) -> Table:
    """The heads that attend most alike, by the distance of section 6."""
    answer = visit.ask("head_distance", run=visit.run)
    frame = answer.frame
    sides = [
        frame.filter((pl.col(f"layer_{own}") == layer) & (pl.col(f"head_{own}") == head)).select(
            pl.col(f"layer_{other}").alias("layer"),
            pl.col(f"head_{other}").alias("head"),
            (pl.col("js_divergence") / pl.col("n_tokens")).alias("nats_a_token"),
            "run",
        )
        for own, other in (("a", "b"), ("b", "a"))
    ]
    return table_of(pl.concat(sides).sort("nats_a_token", "layer", "head").head(5), run=visit.run)


def _at_work(
    visit: Visit, name: str, relation: str, direction: str, run: str | None
) -> dict[str, Any]:
    """Words of the relation whose head is found, or is not, and what is found where it is not."""
    layer, head = _pair(name)

    def read() -> dict[str, Any]:
        found = at_work(visit.bank, layer, head, relation, direction, run, _EXAMPLES)
        errors = found.errors.group_by("breakdown", maintain_order=True).head(_VALUES)
        return {
            "right": _examples(visit, found.right),
            "wrong": _examples(visit, found.wrong),
            "errors": table_of(errors),
        }

    return visit.opened.once(("at work", name, relation, direction, run), read)


def _examples(visit: Visit, rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Examples as a concordance has them, with the address of each, where its words are marked."""
    lines = visit.bank.concordance(rows.drop("found"), 8)
    return [
        {**line, "found": row["found"], "id": row["sentence"], "hit": _hit(row)}
        for line, row in zip(lines.to_dicts(), rows.to_dicts(), strict=True)
    ]


def _hit(row: Mapping[str, Any]) -> str:
    """The dependent and its head as the address of a sentence says which words are marked."""
    words = sorted({each for each in (row["dependent"], row["gold"]) if each})
    return f"{row['sentence']}:{','.join(map(str, words))}"
