"""What the sections of a report found, in sentences with numbers, for its first page.

A sentence is only about what is above chance by a test, or is a plain mean; where nothing was
tested, or too few pairs were, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from attnbank.queries.report.outline import Missing, Section, SectionAnswer

_ALPHA = 0.05

# The fewest dependents, mentions or positions of a figure in a sentence.
_MIN_COUNT = 100

# Relations in a sentence.
_MOST_BEST, _MOST_NAMED = 3, 8

Answers = Mapping[str, SectionAnswer | Missing]


@dataclass(frozen=True)
class Finding:
    """A sentence, and the section that it is from."""

    text: str
    section: Section


def findings(answers: Answers) -> list[Finding]:
    """The sentences that the answers of sections allow, in the order of importance."""
    return [
        Finding(text, answer.section)
        for key, read in _READERS.items()
        if isinstance(answer := answers.get(key), SectionAnswer)
        for text in read(answer, answers)
    ]


def _best_heads(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    """The relations of table 1 with the largest gain, of those that the held-out test confirms."""
    held_out = _tested(answers, "held-out-relations")
    if held_out is None or answer.drawn is None:
        return
    confirmed = held_out.filter(pl.col("p") < _ALPHA)["relation"].to_list()
    best = answer.drawn.rows.filter(
        pl.col("relation").is_in(confirmed), pl.col("n") >= _MIN_COUNT, pl.col("gain") > 0
    ).sort("gain", descending=True)
    if not best.height:
        return
    parts = [
        f"{row['relation']}: head {_head(row)}, {_share(row['accuracy'])}{_interval(row)} of"
        f" {row['n']:,} (best fixed offset {_share(row['offset_accuracy'])}, held out"
        f" {_share(row['held_out_accuracy'])})"
        for row in best.head(_MOST_BEST).to_dicts()
    ]
    yield f"The heads that gain most over a fixed offset: {'; '.join(parts)}."


def _relations_above_chance(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    tested = _tested(answers, "held-out-relations")
    if tested is None:
        return
    significant = tested.filter(pl.col("p") < _ALPHA)
    unit = tested["clustered_by"][0]
    yield (
        f"Found better than by the best fixed offset, on {unit} that the head was not chosen on:"
        f" {significant.height or 'none'} of {tested.height} relations (p < {_ALPHA:g}, corrected"
        f" for the relations){_not_found(tested)}."
    )


def _random_weights(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    rows = answer.rows.filter(pl.col("relation") != "all", pl.col("n") >= 10)
    tested = rows.rename({"p_documents_corrected": "p"}).drop_nulls("p")
    if not tested.height:
        return
    significant = tested.filter(pl.col("p") < _ALPHA, pl.col("difference") > 0)
    control = tested["run_b"][0]
    yield (
        f"Found better than by random weights ({control}), each with its best head:"
        f" {significant.height or 'none'} of {tested.height} relations (p < {_ALPHA:g}, corrected"
        f" for the relations){_worse(tested)}{_not_found(tested)}."
    )


def _worse(tested: pl.DataFrame) -> str:
    worse = tested.filter(pl.col("p") < _ALPHA, pl.col("difference") <= 0)
    return _some("; found worse", worse)


def _not_found(tested: pl.DataFrame) -> str:
    return _some("; not by more than chance", tested.filter(pl.col("p") >= _ALPHA))


def _some(fact: str, rows: pl.DataFrame) -> str:
    """Name the first relations of rows; empty if there are none."""
    relations = rows["relation"].to_list()
    if not relations:
        return ""
    rest = len(relations) - _MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return f"{fact}: {', '.join(relations[:_MOST_NAMED])}{more}"


def _special_tokens(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    shares_of = answers.get("relative-position")
    if not isinstance(shares_of, SectionAnswer) or shares_of.runs != answer.runs:
        return  # norms are not shares of attention
    above = answer.rows.filter(pl.col("panel") == "above").drop_nulls("attention")
    means = above.group_by("target", maintain_order=True).agg(pl.col("attention").mean())
    shares = dict(means.sort("attention", descending=True).rows())
    special = above.filter(pl.col("target") != ". and ,")
    if not shares or not special.height:
        return
    heads = special.group_by("layer", "head").agg(pl.col("attention").sum())
    names = [_TARGETS.get(name, name) for name in special["target"].unique(maintain_order=True)]
    parts = [
        f"{_share(share)} of their attention to {_TARGETS.get(target, target)}"
        if at == 0 else f"{_share(share)} to {_TARGETS.get(target, target)}"
        for at, (target, share) in enumerate(shares.items()) if share >= 0.005
    ]  # fmt: skip
    count = heads.filter(pl.col("attention") > 0.5).height
    yield (
        f"On average heads give {_listed(parts, 'and')}; {count or 'none'} of {heads.height} give"
        f" more than half to {_listed(names, 'or')}."
    )


_TARGETS = {". and ,": "periods and commas", "first word": "the first word of the input"}


def _positions(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    columns = {
        "previous": "the previous token",
        "next": "the next token",
        "self": "the token itself",
    }
    parts = []
    for column, name in columns.items():
        rows = answer.rows.drop_nulls(column).sort(column, descending=True)
        count = rows.filter(pl.col(column) > 0.5).height
        if not count:
            continue
        first = rows.row(0, named=True)
        chance = first["chance" if column == "self" else f"{column}_chance"]
        most = "" if count == 1 else "most "
        parts.append(
            f"{count} to {name} ({most}head {_head(first)}, {_share(first[column])}; uniform"
            f" attention {_share(chance)})"
        )
    if parts:
        yield f"Heads that give more than half of their attention: {_listed(parts, 'and')}."


def _coreference(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    rows = answer.rows.filter(pl.col("kind") == "all", pl.col("n") >= _MIN_COUNT).to_dicts()
    for row in rows:
        if row["p_value"] is None:
            continue
        rule = row["rule"].replace("_", " ")
        verdict = (
            "better than" if row["p_value"] < _ALPHA else "not better by more than chance than"
        )
        yield (
            f"Coreference: head {_head(row)} finds an antecedent of {_share(row['accuracy'])}"
            f"{_interval(row)} of {row['n']:,} held-out mentions, {verdict} the rule {rule}"
            f" ({_share(row['rule_accuracy'])})."
        )


def _induction(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    rows = answer.rows.drop_nulls(["weight", "weight_low"]).sort("weight", descending=True)
    if not rows.height or rows["n"][0] < _MIN_COUNT:
        return
    row = rows.row(0, named=True)
    if row["weight_low"] <= max(row["weight_chance"], row["control_high"] or 0.0):
        return
    beside = "" if row["control"] is None else f"; random weights: {_share(row['control'])}"
    yield (
        f"Induction: of {rows.height} heads, head {_head(row)} attends most to the token after an"
        f" earlier copy, with {_share(row['weight'])} [{100 * row['weight_low']:.0f},"
        f" {100 * row['weight_high']:.0f}] of its attention at the {row['n']:,} positions that have"
        f" one (uniform attention: {_share(row['weight_chance'])}{beside})."
    )


def _ablations(answer: SectionAnswer, answers: Answers) -> Iterator[str]:
    # The best of several sets and outcomes is chosen by its p: corrected by their number.
    rows = answer.rows.filter(pl.col("class") == "all").drop_nulls("p")
    corrected = rows.with_columns(p=(pl.col("p") * rows.height).clip(upper_bound=1.0)).sort("p")
    for row in corrected.filter(pl.col("p") < _ALPHA).head(1).to_dicts():
        of_tests = f", corrected for {rows.height} tests" if rows.height > 1 else ""
        unit = " nats" if row["outcome"] == "surprisal" else ""
        yield (
            f"Without {row['name']} ({row['heads']}), {row['outcome']} goes from"
            f" {row['whole']:.3f} to {row['without']:.3f}{unit}: worse than without as many heads"
            f" drawn at random (p = {row['p']:.3f}{of_tests}, {row['controls']} sets)."
        )


_READERS: dict[str, Callable[[SectionAnswer, Answers], Iterator[str]]] = {
    "table-1": _best_heads,
    "held-out-relations": _relations_above_chance,
    "control": _random_weights,
    "figure-2": _special_tokens,
    "relative-position": _positions,
    "held-out-mentions": _coreference,
    "induction": _induction,
    "effects": _ablations,
}


def _tested(answers: Answers, key: str) -> pl.DataFrame | None:
    """The relations of a held-out comparison that were tested; `p` is corrected for them."""
    answer = answers.get(key)
    if not isinstance(answer, SectionAnswer):
        return None
    rows = answer.rows.filter(pl.col("relation") != "all").rename({"p_corrected": "p"})
    tested = rows.drop_nulls("p")
    return tested if tested.height else None


def _head(row: Mapping[str, Any]) -> str:
    return f"{row['layer']}-{row['head']}"


def _share(share: float | None) -> str:
    return "not known" if share is None else f"{100 * share:.0f} %"


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row["low"], row["high"]
    return "" if low is None or high is None else f" [{100 * low:.0f}, {100 * high:.0f}]"


def _listed(parts: list[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"
