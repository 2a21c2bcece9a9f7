"""Where the attention of heads goes, whatever the words are: for cards and the explorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import polars as pl

from attnbank.sql.errors import CallError, QueryError


class Behaviour(NamedTuple):
    """A share of attention: a column of an analysis, and that of uniform attention."""

    label: str
    analysis: str
    column: str
    chance: str | None
    of_all: str | None = None  # the column that the value is a share of, if it is none itself


# The last two are shown of causal models: attention to what comes after an earlier copy of the
# token, and to the copy.
BEHAVIOURS = (
    Behaviour("previous token", "relative_position", "previous", "previous_chance"),
    Behaviour("next token", "relative_position", "next", "next_chance"),
    Behaviour("itself", "relative_position", "self", "chance"),
    Behaviour("[CLS]", "special_tokens", "cls", "cls_chance"),
    Behaviour("[SEP]", "special_tokens", "sep", "sep_chance"),
    Behaviour("first token", "special_tokens", "first", "first_chance"),
    Behaviour(". and ,", "special_tokens", "punctuation", "punctuation_chance"),
    Behaviour("after a copy (induction)", "induction_head", "weight", "weight_chance"),
    Behaviour("earlier copy", "duplicate_token_head", "weight", "weight_chance"),
)
ENTROPY = Behaviour("entropy (of uniform)", "entropy", "entropy", None, of_all="uniform")

_OF_COPIES = ("induction_head", "duplicate_token_head")
# Copies from which the mean of the attention to them is shown.
_LEAST_COPIES = 100


def behaviours_of_heads(
    rows: Callable[[str, str], pl.DataFrame],
    behaviours: Sequence[Behaviour],
    run: str,
    control: str | None,
    *,
    is_causal: bool,
) -> tuple[pl.DataFrame, list[str]]:
    """Where the attention of each head of a run goes, and sentences on what is left out.

    There is a row for each behaviour and head: label, analysis, column, layer, head and, as shares
    in [0, 1], value, chance (that of uniform attention) and control (that of the same head in the
    run `control`, of random weights). `rows` gives those of an analysis for a run, and may raise
    CallError and QueryError.
    """
    frames: list[pl.DataFrame] = []
    notes: list[str] = []
    for analysis in dict.fromkeys(behaviour.analysis for behaviour in behaviours):
        if analysis in _OF_COPIES and not is_causal:
            continue
        own = [behaviour for behaviour in behaviours if behaviour.analysis == analysis]
        is_basic = analysis in ("relative_position", "special_tokens")
        label = "Where its attention goes" if is_basic else own[0].label.capitalize()
        try:
            answer = rows(analysis, run)
        except (CallError, QueryError) as error:
            notes.append(f"{label}: left out. {error.fact}")
            if not is_basic:
                continue
            frames.clear()  # norms are not shares, though special_tokens has them
            break
        if analysis in _OF_COPIES and answer.height and answer["n"][0] < _LEAST_COPIES:
            notes.append(
                f"{label}: left out. Only {answer['n'][0]} tokens repeat an earlier one"
                " (attnbank ingest --repeat 50 --unit token)."
            )
            continue
        of_control = pl.DataFrame()
        if control is not None:
            with suppress(CallError, QueryError):
                of_control = rows(analysis, control)
        frames += [_of_heads(behaviour, answer, of_control) for behaviour in own]
    return (pl.concat(frames) if frames else pl.DataFrame(schema=_SCHEMA)), notes


_SCHEMA = {
    "label": pl.String, "analysis": pl.String, "column": pl.String, "layer": pl.Int64,
    "head": pl.Int64, "value": pl.Float64, "chance": pl.Float64, "control": pl.Float64,
}  # fmt: skip


def _of_heads(behaviour: Behaviour, answer: pl.DataFrame, of_control: pl.DataFrame) -> pl.DataFrame:
    """The rows of one behaviour; heads without a value are left out."""
    value = pl.col(behaviour.column)
    if behaviour.of_all is not None:
        value = value / pl.col(behaviour.of_all)
    heads = answer.select(
        "layer", "head", value=value,
        chance=pl.lit(None) if behaviour.chance is None else pl.col(behaviour.chance),
    )  # fmt: skip
    if of_control.height:
        beside = of_control.select("layer", "head", control=value)
        heads = heads.join(beside, on=["layer", "head"], how="left", maintain_order="left")
    else:
        heads = heads.with_columns(control=pl.lit(None))
    named = heads.filter(pl.col("value").is_not_null()).select(
        pl.lit(behaviour.label).alias("label"), pl.lit(behaviour.analysis).alias("analysis"),
        pl.lit(behaviour.column).alias("column"), "layer", "head", "value", "chance", "control",
    )  # fmt: skip
    return named.cast(_SCHEMA)  # type: ignore[arg-type]
