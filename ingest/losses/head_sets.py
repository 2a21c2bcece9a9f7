"""Sets of heads that are disabled together, or in which edges are cut, and their controls.

A control of heads is a random set of the same size; one of edges cuts random edges in the same
heads (`edges.py`).
"""
# ruff: noqa: RUF009 (`option` makes a dataclass field, which ruff cannot see.)

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from attnbank.ingest.losses.edges import Edges
from attnbank.ingest.options import MOST_SEED, TRUST_HELP
from attnbank.sql.errors import CallError
from attnbank.sql.header import RunChoice
from attnbank.sql.option_fields import option

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from attnbank.sql.run_choice import Run

# What the output of a disabled head is replaced by, before the output projection; of edges: mask
# (before the softmax, so that other weights of the row grow) or zero (after it).
HeadReplacement = Literal["zero", "mean", "uniform", "mask"]
ControlsFrom = Literal["layers", "any"]
Head = tuple[int, int]  # a layer and a head, both 1-based

# The tables of an ablation; the last one describes it.
ABLATION = (
    "ablated_head", "ablated_edge", "ablated_surprisal", "ablated_pair", "ablation_set",
)  # fmt: skip
DEFAULT_CONTROLS = 20
_HEAD = re.compile(r"([0-9]{1,4})-([0-9]{1,4})")
_MOST_SETS = 10_000
_of_sets, _of_model, _of_outcomes = (
    partial(option, group=group) for group in ("Controls", "Model", "Outcomes")
)


@dataclass(frozen=True)
class LossOptions:
    """How the surprisal of the words of a run is measured, and that of which minimal pairs."""

    agreement: bool = _of_outcomes(
        False,
        "Also measure the agreement of verbs with their subjects: minimal pairs made from the"
        " trees, with the verb in the other number.",
    )
    pairs: tuple[str, ...] = _of_outcomes(
        (),
        "Also measure the minimal pairs of this file: BLiMP's JSON lines, or a table with columns"
        " good and bad. Can be repeated.",
        metavar="FILE",
        multiple=True,
    )
    model: str | None = _of_model(
        None,
        "The run's model, if it is in a folder: attnbank does not open a folder because a bank"
        " names it. Default: the name in the bank (models of the hub, minilm).",
        metavar="NAME",
    )
    device: str = _of_model(
        "auto",
        "Device for the model: cpu, cuda, cuda:1 or mps; auto is cuda if available, else cpu.",
        metavar="DEVICE",
    )
    trust_remote_code: bool = _of_model(False, TRUST_HELP)
    batch_tokens: int = _of_model(
        2048, "Tokens per forward pass, padding included.", least=1, metavar="N"
    )


@dataclass(frozen=True)
class AblateOptions(LossOptions):
    """How disabled heads or edges are replaced, and which controls they are compared with."""

    replacement: HeadReplacement | None = _of_sets(
        None,
        "What replaces the output of a disabled head, before the output projection: zero (default);"
        " its mean over the tokens of the run; or the mean of the values that a token can attend to"
        " (uniform attention). Of edges: mask (default) removes them before the softmax, so that"
        " the other weights grow; zero drops their weights after it.",
        choices=get_args(HeadReplacement),
        flag="with",
    )
    controls: int | None = _of_sets(
        None,
        "Random sets of the same size for each set, or as many random edges over the same"
        f" distances. Default: {DEFAULT_CONTROLS}, or all there are; with --each, 0.",
        least=0,
        most=_MOST_SETS,
        metavar="N",
    )
    controls_from: ControlsFrom = _of_sets(
        "layers",
        "Where controls are drawn from: the layers of the set, as many heads from each; or any"
        " layer.",
        choices=get_args(ControlsFrom),
    )
    seed: int = _of_sets(0, "Seed of the controls.", least=0, most=MOST_SEED, metavar="SEED")


@dataclass(frozen=True)
class HeadSet:
    """Heads that are disabled together, or in which `edges` are cut and nothing else is changed.

    `control_of` is the 1-based number of the set compared.
    """

    name: str
    heads: tuple[Head, ...]
    chosen_by: str
    control_of: int | None = None
    seed: int | None = None
    edges: Edges | None = None


def choose_scored_run(
    connection: DuckDBPyConnection, path: Path, requested: str | int | None
) -> Run:
    """Return the run whose inputs are scored: the requested one, or the default.

    Raises CallError if it does not exist, is unfinished or is of another context than sentence or
    document, or if no run can be used.
    """
    from attnbank.sql.run_choice import choose_finished_run

    choice = RunChoice(contexts=("sentence", "document"))
    return choose_finished_run(connection, path, choice, "attnbank surprisal", requested)


def parse_heads(text: str) -> tuple[Head, ...]:
    """Parse heads such as 19-7,3-1. Raises CallError if they are invalid."""
    heads = []
    for part in text.split(","):
        matched = _HEAD.fullmatch(part.strip())
        if matched is None:
            raise CallError(
                f"{part.strip()[:40]!r} is not a valid head.",
                "Give layers and heads, counted from 1: 19-7,3-1.",
            )
        heads.append((int(matched[1]), int(matched[2])))
    return tuple(heads)


def add_controls(
    head_sets: Sequence[HeadSet], layers: Sequence[int], heads: int, options: AblateOptions
) -> list[HeadSet]:
    """Return the sets, followed by the controls of each.

    `layers` are the numbers of the model's layers, `heads` is the number of heads in each. No
    control has a head of any of the sets, and no two controls of a set are the same. Raises
    CallError for an empty set, a head that the model does not have, a head that is named twice,
    two sets of one name, and for more controls than there are.
    """
    _check_heads_exist(head_sets, layers, heads)
    used = {head for head_set in head_sets for head in head_set.heads}
    sets = list(head_sets)
    free = [
        (layer, head)
        for layer in layers
        for head in range(1, heads + 1)
        if (layer, head) not in used
    ]
    for number, head_set in enumerate(head_sets, start=1):
        sets += _draw_controls(head_set, number, free, options)
    if len(sets) > _MOST_SETS:
        raise CallError(f"{len(sets):,} sets were given.", f"Give at most {_MOST_SETS:,}.")
    return sets


def _check_heads_exist(head_sets: Sequence[HeadSet], layers: Collection[int], heads: int) -> None:
    names: set[str] = set()
    for head_set in head_sets:
        if not head_set.heads:
            raise CallError(
                f"The set {head_set.name} ({head_set.chosen_by}) is empty.", "Name a head."
            )
        if head_set.name in names:
            raise CallError(f"Two sets are called {head_set.name}.", "Leave one of them out.")
        names.add(head_set.name)
        for (layer, head), count in Counter(head_set.heads).items():
            if layer not in layers or not 1 <= head <= heads:
                raise CallError(
                    f"The model has no head {layer}-{head}.",
                    f"Its heads are {min(layers)}-1 to {max(layers)}-{heads}.",
                )
            if count > 1:
                raise CallError(
                    f"The set {head_set.name} names {layer}-{head} twice.", "Name it once."
                )


def _draw_controls(
    head_set: HeadSet, number: int, free: Sequence[Head], options: AblateOptions
) -> Iterator[HeadSet]:
    """Yield the controls of a set, drawn from heads that are in no set."""
    if head_set.edges is not None:  # the edges of a control are drawn input by input
        for control_number in range(1, _count_controls(options, _MOST_SETS) + 1):
            yield replace(
                head_set, name=f"control {control_number} of {head_set.name}",
                chosen_by=f"drawn over the distances of {head_set.edges.relation}",
                control_of=number, seed=options.seed,
            )  # fmt: skip
        return
    if options.controls_from == "any":
        pools = [(list(free), len(head_set.heads))]
    else:
        counts = Counter(layer for layer, _ in head_set.heads)
        pools = [
            ([head for head in free if head[0] == layer], count)
            for layer, count in sorted(counts.items())
        ]
    possible = math.prod(math.comb(len(pool), count) for pool, count in pools)
    count = _count_controls(options, possible)
    if count > possible:
        raise CallError(
            f"Only {possible:,} control{'' if possible == 1 else 's'} can be drawn for"
            f" {head_set.name}: each has {len(head_set.heads)} heads"
            f" {'of its layers' if options.controls_from == 'layers' else 'of the model'} that are"
            " in no chosen set.",
            f"Give --controls {possible}"
            + (", or --controls-from any." if options.controls_from == "layers" else "."),
        )
    where = "the layers of" if options.controls_from == "layers" else "all heads but those of"
    for control_number, heads in enumerate(
        _draw_sets(pools, count, possible, f"{options.seed} {head_set.name}"), 1
    ):
        name = f"control {control_number} of {head_set.name}"
        yield HeadSet(name, heads, f"drawn from {where} {head_set.name}", number, options.seed)


def _count_controls(options: AblateOptions, possible: int) -> int:
    return min(DEFAULT_CONTROLS, possible) if options.controls is None else options.controls


def _draw_sets(
    pools: Sequence[tuple[list[Head], int]], count: int, possible: int, seed: str
) -> Iterable[tuple[Head, ...]]:
    """Draw `count` different sets, with the given number of heads from each pool."""
    rng = random.Random(f"controls {seed}")
    # If few sets are possible, drawing until they differ would take long: list them all.
    if possible <= max(1000, 2 * count):
        draws = itertools.product(*(itertools.combinations(*pool) for pool in pools))
        return rng.sample([tuple(itertools.chain(*draw)) for draw in draws], count)
    sets: dict[tuple[Head, ...], None] = {}
    while len(sets) < count:
        parts = (sorted(rng.sample(pool, size)) for pool, size in pools)
        sets[tuple(itertools.chain(*parts))] = None
    return sets
