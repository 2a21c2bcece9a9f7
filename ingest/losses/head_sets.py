"""Sets of heads that are disabled together, and random sets of the same size beside them."""
# ruff: noqa: RUF009 (`option` makes a dataclass field, which ruff cannot see.)

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from attnbank.ingest.options import MOST_SEED, TRUST_HELP, option
from attnbank.sql.errors import CallError
from attnbank.sql.header import RunChoice

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from attnbank.sql.run_choice import Run

Cut = Literal["zero", "mean", "uniform"]
"""What the output of a disabled head becomes, before the output projection."""
ControlsFrom = Literal["layers", "any"]
Head = tuple[int, int]
"""A layer and a head, both 1-based."""

USUAL_CONTROLS = 20
_HEAD = re.compile(r"([0-9]{1,4})-([0-9]{1,4})")
_MOST_SETS = 10_000
_of_sets, _of_model, _of_outcomes = (
    partial(option, group=each) for each in ("Controls", "Model", "Outcomes")
)


@dataclass(frozen=True)
class LossOptions:
    """What the words and pairs of a run are read with, and which pairs are asked for."""

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
    """Also what becomes of disabled heads, and what they are compared with."""

    replacement: Cut = _of_sets(
        "zero",
        "What the output of a disabled head becomes, before the output projection: zero; its mean"
        " over the tokens of the run; or the mean of the values that a token sees (uniform"
        " attention).",
        choices=get_args(Cut),
        flag="with",
    )
    controls: int | None = _of_sets(
        None,
        f"Random sets of the same size for each set. Default: {USUAL_CONTROLS}, or all there are;"
        " with --each, 0.",
        least=0,
        most=_MOST_SETS,
        metavar="N",
    )
    controls_from: ControlsFrom = _of_sets(
        "layers",
        "Where controls are drawn from: the layers of the set, as many heads from each; or any.",
        choices=get_args(ControlsFrom),
    )
    seed: int = _of_sets(0, "Seed of the controls.", least=0, most=MOST_SEED, metavar="SEED")


@dataclass(frozen=True)
class HeadSet:
    """Heads that are disabled together; `control_of` is the 1-based number of another set."""

    name: str
    heads: tuple[Head, ...]
    chosen_by: str
    control_of: int | None = None
    seed: int | None = None


def run_to_read(connection: DuckDBPyConnection, path: Path, requested: str | int | None) -> Run:
    """The run whose inputs are read again: the one requested, or the default.

    Raises CallError for one that does not exist, is not finished or cuts words, and where no run
    fits.
    """
    from attnbank.sql.run_choice import choose_run

    choice = RunChoice(contexts=("sentence", "document"))
    run = choose_run(connection, path, choice, "attnbank surprisal", requested)
    if not run.is_finished:
        raise CallError(
            f"The run {run.name} is unfinished.",
            "Finish it first: type the same ingest command again.",
        )
    return run


def read_heads(text: str) -> tuple[Head, ...]:
    """The heads of a text such as 19-7,3-1. Raises CallError for what is not one."""
    found = []
    for each in text.split(","):
        matched = _HEAD.fullmatch(each.strip())
        if matched is None:
            raise CallError(
                f"{each.strip()[:40]!r} is not a valid head.",
                "Give layers and heads, counted from 1: 19-7,3-1.",
            )
        found.append((int(matched[1]), int(matched[2])))
    return tuple(found)


def with_controls(
    chosen: Sequence[HeadSet], layers: Sequence[int], heads: int, options: AblateOptions
) -> list[HeadSet]:
    """The sets, and after them the controls of each, of a model with these layers.

    No control has a head of any chosen set, and no two controls of a set are the same. Raises
    CallError for an empty set, a head that the model does not have, a head that is named twice,
    two sets of one name, and for more controls than there are.
    """
    _check_heads_exist(chosen, layers, heads)
    taken = {head for each in chosen for head in each.heads}
    found = list(chosen)
    for number, own in enumerate(chosen, start=1):
        free = [
            (layer, head)
            for layer in layers
            for head in range(1, heads + 1)
            if (layer, head) not in taken
        ]
        found += _controls(own, number, free, options)
    if len(found) > _MOST_SETS:
        raise CallError(f"{len(found):,} sets were given.", f"Give at most {_MOST_SETS:,}.")
    return found


def _check_heads_exist(chosen: Sequence[HeadSet], layers: Collection[int], heads: int) -> None:
    names: set[str] = set()
    for each in chosen:
        if not each.heads:
            raise CallError(f"The set {each.name} ({each.chosen_by}) is empty.", "Name a head.")
        if each.name in names:
            raise CallError(f"Two sets are called {each.name}.", "Leave one of them out.")
        names.add(each.name)
        for (layer, head), count in Counter(each.heads).items():
            if layer not in layers or not 1 <= head <= heads:
                raise CallError(
                    f"The model has no head {layer}-{head}.",
                    f"Its heads are {min(layers)}-1 to {max(layers)}-{heads}.",
                )
            if count > 1:
                raise CallError(f"The set {each.name} names {layer}-{head} twice.", "Name it once.")


def _controls(
    own: HeadSet, number: int, free: Sequence[Head], options: AblateOptions
) -> Iterator[HeadSet]:
    """The controls of a set, drawn from heads that are free."""
    if options.controls_from == "any":
        pools = [(list(free), len(own.heads))]
    else:
        counts = Counter(layer for layer, _ in own.heads)
        pools = [
            ([each for each in free if each[0] == layer], count)
            for layer, count in sorted(counts.items())
        ]
    possible = math.prod(math.comb(len(pool), count) for pool, count in pools)
    usual = min(USUAL_CONTROLS, possible)
    count = usual if options.controls is None else options.controls
    if count > possible:
        raise CallError(
            f"Of {own.name} only {possible:,} control{'' if possible == 1 else 's'} can be drawn:"
            f" {len(own.heads)} heads"
            f" {'of its layers' if options.controls_from == 'layers' else 'of the model'}, none of"
            " them in a chosen set.",
            f"Give --controls {possible}"
            + (", or --controls-from any." if options.controls_from == "layers" else "."),
        )
    where = "the layers of" if options.controls_from == "layers" else "all heads but those of"
    for place, heads in enumerate(
        _draw_sets(pools, count, possible, f"{options.seed} {own.name}"), 1
    ):
        name = f"control {place} of {own.name}"
        yield HeadSet(name, heads, f"drawn from {where} {own.name}", number, options.seed)


def _draw_sets(
    pools: Sequence[tuple[list[Head], int]], count: int, possible: int, seed: str
) -> Iterable[tuple[Head, ...]]:
    """Different sets with so many heads of each pool, in random order."""
    rng = random.Random(f"controls {seed}")
    if possible <= max(1000, 2 * count):
        every = itertools.product(*(itertools.combinations(*each) for each in pools))
        return rng.sample([tuple(itertools.chain(*each)) for each in every], count)
    found: dict[tuple[Head, ...], None] = {}
    while len(found) < count:
        parts = (sorted(rng.sample(pool, size)) for pool, size in pools)
        found[tuple(itertools.chain(*parts))] = None
    return found
