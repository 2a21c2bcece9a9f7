"""The chapters and sections, as their files state them, and published figures beside the bank's."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from importlib.resources import files
from typing import Any

import polars as pl

from attnbank.queries.answers import AnyBank
from attnbank.queries.pictures import Picture


@dataclass(frozen=True)
class Section:
    """One table or figure: the analysis that answers it, and how to read the answer.

    `picture` is the analysis drawn, `published` the part of the published figures, if any, `values`
    are parameters beside the run.
    """

    key: str
    title: str
    analysis: str
    reading: str
    picture: str
    published: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chapter:
    """Sections that belong together, and the part of a paper that they answer to.

    One that `is_causal` is only in reports on causal models.
    """

    key: str
    title: str
    paper: str
    sections: tuple[Section, ...]
    is_causal: bool = False


@dataclass(frozen=True)
class ComparedSide:
    """A figure that a report on several runs compares.

    It is the `value` of the rows with the same `keys`, the columns of `named` beside it, or the
    means over all heads of `values`.
    """

    title: str
    analysis: str
    keys: tuple[str, ...] = ()
    value: str = ""
    named: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperComparison:
    """Published figures beside ours, as text, with their source and why they may differ.

    `controls` are the runs that answered for random weights.
    """

    rows: pl.DataFrame
    source: str
    setup: str
    differs: str
    controls: tuple[str, ...] = ()


@dataclass(frozen=True)
class SectionPicture:
    """A picture, the rows in it and how to draw it again."""

    analysis: str
    rows: pl.DataFrame
    command: str
    picture: Picture


@dataclass(frozen=True)
class SectionAnswer:
    """What a bank says to a section.

    `runs` answered, `statement` is the SQL, `command` what to type for the rows, `kept` since when
    (UTC) they were kept, if they were not computed now, `rule` why its run was taken.
    """

    section: Section
    title: str
    runs: tuple[str, ...]
    rows: pl.DataFrame
    statement: str
    command: str
    drawn: SectionPicture | None
    comparison: PaperComparison | None = None
    kept: datetime | None = None
    rule: str = ""


@dataclass(frozen=True)
class Missing:
    """A section that a bank cannot answer, with the reason, and the command that would fill it."""

    section: Section
    reason: str
    command: str


@cache
def chapters() -> tuple[Chapter, ...]:
    """The chapters in the order of the paper, then those of other papers and of controls."""
    return tuple(
        Chapter(
            chapter["key"],
            chapter["title"],
            chapter["paper"],
            tuple(
                Section(**{"picture": section["analysis"]} | section)
                for section in chapter["section"]
            ),
            chapter.get("is_causal", False),
        )
        for chapter in _load_toml("sections.toml")["chapter"]
    )


@cache
def sides() -> tuple[ComparedSide, ...]:
    """The figures that a report on several runs compares."""
    sections = []
    for side in _load_toml("sections.toml")["side"]:
        lists = {key: tuple(side.get(key, ())) for key in ("keys", "named", "values")}
        sections.append(
            ComparedSide(side["title"], side["analysis"], value=side.get("value", ""), **lists)
        )
    return tuple(sections)


@cache
def published() -> dict[str, Any]:
    """The published figures, by the name that a section gives."""
    return _load_toml("published.toml")


def _load_toml(name: str) -> dict[str, Any]:
    text = (files("attnbank.queries.report") / name).read_text(encoding="utf-8")
    return tomllib.loads(text)


# What stands where there is no figure, as in every table.
_ABSENT = ""

# Relations that one of the two has and the other does not (but for old treebanks' dobj).
_UNIVERSAL = frozenset({"obj", "case", "obl", "nmod"})
_STANFORD = frozenset({"dobj", "prep", "pobj"})


def compare(
    bank: AnyBank, name: str, run: dict[str, Any], controls: Sequence[str] = (),
    *, fresh: bool = False,
) -> PaperComparison:  # fmt: skip
    """Published figures beside ours, of relations also of `controls`. Raises as `Bank.query`."""
    figures = published()[name]
    values = {**figures.get("values", {}), **run}
    if "relation" in figures:
        ours, *beside = (
            _by_relation(bank, figures["compares"], of_run, fresh=fresh)
            for of_run in (values, *({**values, "run": control} for control in controls))
        )
        rows = _relations(figures["relation"], ours, beside)
    else:
        controls = ()
        frame = bank.answer(figures["compares"], values, fresh=fresh).rows
        if "model" in figures:
            rows = _models(figures["model"], frame)
        elif "probe" in figures:
            rows = _newest_probes(figures["probe"], frame)
        else:
            rows = [
                {
                    "what": figure["what"],
                    "paper": figure["published"],
                    "this bank": MEASURES[figure["measure"]](frame),
                }
                for figure in figures["claim"]
            ]
    return PaperComparison(
        pl.DataFrame(rows), figures["source"], figures["setup"], figures["differs"], tuple(controls)
    )


Row = dict[str, Any]

# The best head for each relation: as it is, and with possessives judged as the paper does.
Heads = tuple[dict[str, Row], dict[str, Row]]


def _by_relation(bank: AnyBank, analysis: str, values: dict[str, Any], *, fresh: bool) -> Heads:
    plain, possessive = (
        bank.answer(analysis, given, fresh=fresh).rows.to_dicts()
        for given in (values, values | {"possessive": True})
    )
    return {row["relation"]: row for row in plain}, {row["relation"]: row for row in possessive}


def _relations(figures: list[Row], ours: Heads, controls: list[Heads]) -> list[Row]:
    """Rows of table 1: a relation of the paper and the one of the treebank that means the same."""
    is_universal = not _UNIVERSAL.isdisjoint(ours[0]) and _STANFORD.isdisjoint(ours[0])
    rows = []
    for figure in figures:
        name, row = _counterpart(figure, ours)
        named = "no counterpart" if name is None else f"{name}: fewer than 10 here"
        remarks = [figure.get("remark"), figure.get("mapping") if is_universal else None]
        measured = {
            "paper": figure["name"],
            "paper: head": figure["head"],
            "paper: accuracy": f"{figure['accuracy']:.1f}",
            "paper: baseline": f"{figure['baseline']:.1f} ({figure['offset']:+d})",
            "this bank": name if row else named,
            "head": f"{row['layer']}-{row['head']}" if row else _ABSENT,
            "accuracy": _per_cent(row["accuracy"]) if row else _ABSENT,
            "baseline": (
                f"{_per_cent(row['offset_accuracy'])} ({row['offset']:+d})" if row else _ABSENT
            ),
            "n": f"{row['n']}" if row else _ABSENT,
        }
        if controls:
            others = [_counterpart(figure, control)[1] for control in controls]
            measured["random weights"] = _range([other["accuracy"] for other in others if other])
        rows.append(measured | {"how far it is fair": " ".join(filter(None, remarks))})
    return rows


def _counterpart(figure: Row, heads: Heads) -> tuple[str | None, Row | None]:
    known = heads[1] if figure.get("possessive") else heads[0]
    name = figure["name"] if figure["name"] in known else figure.get("ud")
    return name, known.get(name or "")


def _models(figures: list[Row], frame: pl.DataFrame) -> list[Row]:
    """Rows of table 2: the rules and the best head, in the order that both have."""
    kinds = ("all", "pronoun", "proper", "nominal")
    return [
        {"paper": figure["name"]}
        | {f"paper: {kind}": f"{figure[kind]}" for kind in kinds}
        | {"this bank": row["model"]}
        | {kind: _ABSENT if row[kind] is None else f"{row[kind]}" for kind in kinds}
        for figure, row in zip(figures, frame.iter_rows(named=True), strict=False)
    ]


def _newest_probes(figures: list[Row], frame: pl.DataFrame) -> list[Row]:
    """Rows of table 3: the newest probe of each kind, and of each seed of random weights."""
    rows = []
    for figure in figures:
        is_random = pl.col("random_seed").is_not_null() == figure.get("random", False)
        fitting = frame.filter(is_random, kind=figure["kind"])
        alike = fitting.join(
            fitting.tail(1), on=["model", "embeddings"], how="semi", nulls_equal=True
        )
        probes = alike.unique("random_seed", keep="last").sort("random_seed")
        rows.append(
            {
                "probe": figure["name"],
                "paper: UAS": f"{figure['uas']}",
                "UAS": _range(probes["uas"].to_list()),
                "scored on": ", ".join(probes["test_run"]) or _ABSENT,
            }
        )
    return rows


def _range(shares: list[float]) -> str:
    """The lowest and the highest of some shares, in per cent; one figure where they are alike."""
    ends = {_per_cent(share): None for share in (min(shares), max(shares))} if shares else {}
    return "\N{EN DASH}".join(ends) or _ABSENT


def _per_cent(share: float | None) -> str:
    """Return a share in [0, 1] as per cent with one decimal; _ABSENT where there is none."""
    return _ABSENT if share is None or not math.isfinite(share) else f"{100 * share:.1f}"


def _over_half(column: str, frame: pl.DataFrame) -> str:
    """How many heads have more than half of their attention there, and in which layers."""
    if not frame[column].count():
        return _ABSENT
    layers = frame.filter(pl.col(column) > 0.5)["layer"].sort().to_list()
    word = "layer" if len(layers) == 1 else "layers"
    where = f" ({word} {', '.join(map(str, layers))})" if layers else ""
    return f"{len(layers)} of {frame.height}{where}"


def _in_the_middle(column: str, frame: pl.DataFrame) -> str:
    """The mean over the heads of layers 6 to 10 of 12, or the same part of another model."""
    first, last = middle(_layers(frame))
    value = frame.filter(pl.col("layer").is_between(first, last))[column].mean()
    if not isinstance(value, float):
        return _ABSENT
    return f"{_per_cent(value)} % (layers {first} to {last} of {_layers(frame)})"


def middle(layers: int) -> tuple[int, int]:
    """Return the first and the last layer of the part that layers 6 to 10 are of 12 layers."""
    first = max(1, math.ceil(layers * 6 / 12))
    return first, max(first, math.floor(layers * 10 / 12))


def _layers(frame: pl.DataFrame) -> int:
    return max(frame["layer"].drop_nulls().to_list(), default=1)


def _sep_gradient_late(frame: pl.DataFrame) -> str:
    start = max(2, math.ceil(_layers(frame) * 5 / 12))
    sep = frame.filter(pl.col("target").str.contains("SEP", literal=True))
    late = sep.filter(pl.col("layer") >= start)["gradient"].mean()
    early = sep.filter(pl.col("layer") < start)["gradient"].mean()
    if not isinstance(late, float) or not isinstance(early, float) or not early:
        return _ABSENT
    return f"{late / early:.2f} (from layer {start} of {_layers(frame)})"


def _cls_entropy_last(frame: pl.DataFrame) -> str:
    value = frame.filter(pl.col("layer") == _layers(frame))["entropy_from_cls"].mean()
    return f"{value:.2f}" if isinstance(value, float) else _ABSENT


def _layer_ratio(frame: pl.DataFrame) -> str:
    ratios = frame.filter(pl.col("layer").is_null())["ratio"].to_list()
    return f"{ratios[0]:.2f}" if ratios and ratios[0] is not None else _ABSENT


# What can be said of the rows of an analysis beside a published claim.
MEASURES: dict[str, Callable[[pl.DataFrame], str]] = {
    "previous_heads": partial(_over_half, "previous"),
    "next_heads": partial(_over_half, "next"),
    "sep_in_the_middle": partial(_in_the_middle, "sep"),
    "sep_to_sep_in_the_middle": partial(_in_the_middle, "sep_to_sep"),
    "sep_gradient_late": _sep_gradient_late,
    "cls_entropy_last": _cls_entropy_last,
    "layer_ratio": _layer_ratio,
}
