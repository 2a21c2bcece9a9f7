"""The sets of heads that `attnbank ablate` names: by a query of the bank, a relation or layers."""
# ruff: noqa: RUF009 (`option` makes a dataclass field, which ruff cannot see.)

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from attnbank.ingest.losses.edges import CutAt, EdgeDirection, Edges
from attnbank.ingest.losses.head_sets import Head, HeadSet, parse_heads
from attnbank.sql.errors import CallError
from attnbank.sql.option_fields import option

if TYPE_CHECKING:
    from attnbank.queries import Bank
    from attnbank.sql.run_choice import Run

_USUAL_TOP = 5


@dataclass(frozen=True, kw_only=True)
class SetOptions:
    """The sets of heads that `attnbank ablate` disables, and the edges that it cuts."""

    heads: tuple[str, ...] = option(
        (),
        "A set: heads as layer-head, counted from 1 (19-7,3-1). Can be repeated.",
        multiple=True,
        metavar="HEADS",
    )
    query: tuple[str, ...] = option(
        (),
        "A set: the columns layer and head of a SELECT on the bank. Can be repeated.",
        multiple=True,
        metavar="SQL",
    )
    best: tuple[str, ...] = option(
        (),
        "A set: the heads that find most of a relation (a saved one too). Can be repeated.",
        multiple=True,
        metavar="RELATION",
    )
    top: int | None = option(
        None, f"How many heads --best takes. Default: {_USUAL_TOP}.", least=1, most=None
    )
    layers: tuple[str, ...] = option(
        (),
        "A set: all heads of some layers, counted from 1 (5-10, or 7). Can be repeated.",
        multiple=True,
        metavar="LAYERS",
    )
    each_head: bool = option(
        False, "A set for each head of the model, without controls.", flag="each"
    )
    together: bool = option(False, "Also one set with the heads of all other sets.")
    edges: tuple[str, ...] = option(
        (),
        "Disable no heads: cut the attention between each word of a relation (a saved one too) and"
        " its head, in the heads of each set; in all heads if no set is named. Can be repeated.",
        multiple=True,
        metavar="RELATION",
    )
    direction: EdgeDirection | None = option(
        None,
        "Which attention --edges cuts: of the dependent to its head, of the head to its dependent,"
        " or both (default). In a causal model only the later of two words attends.",
        choices=get_args(EdgeDirection),
    )

    at: CutAt | None = option(
        None,
        "Where --edges cuts: at the word that attends (default); or, as a causal model has"
        " predicted a word before it reads it, at the token from which the word is predicted.",
        choices=get_args(CutAt),
    )

    def __post_init__(self) -> None:
        if self.top is not None and not self.best:
            raise CallError("--top needs --best.", "Add --best RELATION, or leave --top out.")
        for flag, value in (("--direction", self.direction), ("--at", self.at)):
            if value is not None and not self.edges:
                raise CallError(f"{flag} needs --edges.", "Add --edges RELATION, or leave it out.")
        named = self.heads or self.query or self.best or self.layers or self.each_head
        if not (named or self.edges):
            raise CallError(
                "No set of heads was named.",
                "Give --heads, --query, --best, --layers or --each (--heads 3-1,4-2), or --edges.",
            )


def choose_head_sets(bank: Bank, options: SetOptions, run: Run) -> list[HeadSet]:
    """The sets of heads of a run, or with edges those in which the edges of relations are cut.

    Raises CallError for a set that cannot be read, and as `Bank.query` and `Bank.sql`.
    """
    sets = list(_head_sets(bank, options, run))
    if options.together:
        if len(sets) < 2:
            raise CallError("--together needs at least two sets of heads.", "Leave it out.")
        all_heads = tuple(sorted({head for head_set in sets for head in head_set.heads}))
        sets.append(HeadSet("together", all_heads, "--together"))
    return list(_with_edges(sets, options, run)) if options.edges else sets


def _head_sets(bank: Bank, options: SetOptions, run: Run) -> Iterator[HeadSet]:
    for text in dict.fromkeys(options.heads):
        yield HeadSet(text, parse_heads(text), f"--heads {text}")
    for number, statement in enumerate(options.query, start=1):
        name = "query" if len(options.query) == 1 else f"query {number}"
        yield HeadSet(name, _heads_of_query(bank, statement), f"--query {statement}")
    top = options.top or _USUAL_TOP
    for relation in dict.fromkeys(options.best):
        # The heads by accuracy, each in its better direction.
        accuracies = bank.query("head_accuracy", relation=relation, run=run.name)
        ranked = accuracies.sort(["accuracy", "layer", "head"], descending=[True, False, False])
        heads = ranked.select("layer", "head").unique(maintain_order=True).head(top)
        pairs = tuple((layer, head) for layer, head in heads.rows())
        yield HeadSet(relation, pairs, f"--best {relation} --top {top}")
    for text in dict.fromkeys(options.layers):
        yield HeadSet(f"layers {text}", _heads_of_layers(text, run), f"--layers {text}")
    if options.each_head:
        for layer in run.numbers:
            for head in range(1, run.heads + 1):
                yield HeadSet(f"{layer}-{head}", ((layer, head),), "--each")


def _heads_of_layers(text: str, run: Run) -> tuple[Head, ...]:
    matched = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", text.strip())
    first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
    heads = tuple(
        (layer, head)
        for layer in run.numbers
        if first <= layer <= last
        for head in range(1, run.heads + 1)
    )
    if not heads:
        raise CallError(
            f"{text!r} names no layers of the model.",
            f"Its layers are {min(run.numbers)} to {max(run.numbers)}: --layers"
            f" {min(run.numbers)}-{max(run.numbers)}",
        )
    return heads


def _with_edges(sets: list[HeadSet], options: SetOptions, run: Run) -> Iterator[HeadSet]:
    """Yield the sets in which the edges of each relation are cut."""
    everywhere = tuple((layer, head) for layer in run.numbers for head in range(1, run.heads + 1))
    for relation in dict.fromkeys(options.edges):
        edges = Edges(relation, options.direction or "both", options.at or "word")
        if not sets:
            yield HeadSet(relation, everywhere, f"--edges {relation}", edges=edges)
        for head_set in sets:
            yield replace(
                head_set, name=f"{relation} in {head_set.name}",
                chosen_by=f"--edges {relation} {head_set.chosen_by}", edges=edges,
            )  # fmt: skip


def _heads_of_query(bank: Bank, statement: str) -> tuple[Head, ...]:
    """The heads that the SELECT of --query returns; CallError if it returns anything else."""
    rows = bank.sql(statement, isolated=True)
    if not {"layer", "head"} <= set(rows.columns):
        raise CallError(
            "The SELECT of --query has no columns layer and head.",
            'Name them: --query "select layer, head from best_head() limit 5"',
        )
    heads = rows.select("layer", "head").drop_nulls().unique(maintain_order=True)
    if not all(dtype.is_integer() for dtype in heads.dtypes):
        raise CallError(
            "The columns layer and head of --query are not whole numbers.", "Cast them: layer::int"
        )
    return tuple((layer, head) for layer, head in heads.rows())
