"""Score heads on the pairs of words that a request matches, as if the pairs were a relation.

The pairs become a temporary table `saved_pair` of one connection, which hides the bank's own table
of that name. So every analysis of a relation reads them like those of a saved relation, and nothing
is written to the bank.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import polars as pl

from attnbank.queries.table_formats import is_p_value
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankWarning

if TYPE_CHECKING:
    from attnbank.queries.answers import AnyBank

# The name of the pairs as a relation; no relation of a corpus has brackets.
RELATION = "(request)"

# The warning for a request that reads attention.
CIRCULAR = (
    "The request reads attention, and heads are scored on the pairs that it matches: that is"
    " circular. Their accuracy is not evidence, and has no p value."
)

# The warning for a request that reads surprisal. Surprisal does not say what any one head attends
# to, so scoring heads on it is not circular, and p values are kept.
SELECTED = (
    "The request selects pairs by surprisal, to which the heads of the model contribute: the scores"
    " hold for such pairs, and not for other pairs or another model."
)

_GROUP_COLUMNS = (
    "n", "accuracy", "low", "high", "offset_accuracy", "gain", "gain_low", "gain_high",
    "layer", "head", "direction", "offset", "run",
)  # fmt: skip

# The offsets that head_score tries by default.
_DEFAULT_OFFSETS = [-3, -2, -1, 1, 2, 3]


def score_heads(
    bank: AnyBank, pairs: pl.DataFrame, run: str | None, *, all_heads: bool, per_group: bool,
    min_count: int, has_control: bool,
) -> pl.DataFrame:  # fmt: skip
    """Score heads on pairs: columns word and head_word (word.id), then the keys to group by.

    With `all_heads`, returns the rows of `head_score`. By default it returns the row of
    `best_head_test` without `relation`, and if `has_control` also one for each control run; with
    keys, one row per group. If `run` is None, the analysis chooses it.
    """
    keys = pairs.columns[2:]
    name = "head_score" if all_heads else "best_head_test"
    if not pairs.height:
        columns = [*keys, *_GROUP_COLUMNS]
        if not keys:
            columns = [column.name for column in registry.find_analysis(name).columns]
        return pl.DataFrame(schema=columns).drop([] if all_heads else "relation", strict=False)
    rows = pairs.select("word", "head_word").unique().with_columns(relation=pl.lit(RELATION))
    with bank.backend.temp_table("saved_pair", rows.select("relation", "word", "head_word")):
        if all_heads:
            return bank.query(name, relation=RELATION, run=run)
        best = _test_best_head(bank, pairs, run)
        if keys:
            return _score_groups(bank, pairs, best, per_group=per_group, min_count=min_count)
        results = [best]
        if best.height and has_control:
            results += [
                bank.query(name, relation=RELATION, run=control)
                for control in control_runs(bank, best["run"][0])
            ]
    return pl.concat(results).drop("relation")


def control_runs(bank: AnyBank, run: str) -> list[str]:
    """The names of the random-weight control runs of a trained run, in the order of their seeds."""
    return bank.backend.internal("patterns/control_run", run=run).to_series().to_list()


def _score_groups(
    bank: AnyBank, pairs: pl.DataFrame, best: pl.DataFrame, *, per_group: bool, min_count: int
) -> pl.DataFrame:
    """The accuracy of the best head in each group of pairs, the largest group first.

    The head is the best on all pairs, or with `per_group` the best on those of the group. A pair
    with several values of a key is counted in each of their groups. If the first key is a number,
    the groups are sorted by their keys.
    """
    keys = pairs.columns[2:]
    if not best.height:
        return pl.DataFrame(schema=[*keys, *_GROUP_COLUMNS])
    (row,) = best.to_dicts()
    parameters = {name: None if per_group else row[name] for name in ("layer", "head", "direction")}
    groups = pairs.select(keys).unique().sort(keys, nulls_last=True)
    groups = groups.with_row_index("number").cast({"number": pl.Int64})
    rows = pairs.join(groups, on=keys, how="inner", nulls_equal=True)
    with bank.backend.temp_table("score_group", rows.select("word", "head_word", "number")):
        counted = bank.backend.internal(
            "patterns/score_groups", relation=RELATION, run=row["run"], min_count=min_count,
            offsets=_DEFAULT_OFFSETS if per_group else [row["offset"]], **parameters,
        )  # fmt: skip
    if groups[keys[0]].dtype.is_numeric():
        counted = counted.sort("number")
    scored = counted.join(groups, on="number", how="left", maintain_order="left")
    return scored.select(*keys, *_GROUP_COLUMNS)


def without_offsets(frame: pl.DataFrame) -> pl.DataFrame:
    """Set the columns about fixed offsets to null.

    If pairs are grouped by distance, the offset of a group is known beforehand, so that comparing
    with the best offset says nothing.
    """
    columns = ("offset_accuracy", "gain", "gain_low", "gain_high")
    return frame.with_columns(**dict.fromkeys(columns, pl.lit(None, pl.Float64)))


def without_p_values(frame: pl.DataFrame) -> pl.DataFrame:
    """Set every p value to null, because a circular test has none."""
    missing = pl.lit(None, pl.Float64)
    return frame.with_columns(**dict.fromkeys(filter(is_p_value, frame.columns), missing))


def _test_best_head(bank: AnyBank, pairs: pl.DataFrame, run: str | None) -> pl.DataFrame:
    """The best head on the pairs. Warns of pairs of its corpus on which no head can be scored."""
    best = bank.query("best_head_test", relation=RELATION, run=run)
    chosen = bank.run_of("best_head_test", relation=RELATION, run=run)
    assert chosen is not None
    counts = bank.backend.internal("patterns/pairs_of_run", relation=RELATION, run=chosen.name)
    total, inside = counts.row(0)
    scored = best["n"][0] if best.height else 0
    if not total:
        message = f"No pair is in the corpus of the run {chosen.name}."
        warnings.warn(message, AttnbankWarning, stacklevel=5)
    elif scored < total:
        # findable is scored / (scored + unseen), see head_score.
        unseen = round(scored / best["findable"][0]) - scored if scored else 0
        reasons = {
            "are not within one input of the run": total - scored - inside - unseen,
            "have their head where a causal model cannot attend to it in this direction": unseen,
            "are of words that share a position": inside,
        }
        message = ", and ".join(
            f"{count:,} of the {total:,} pairs {why}" for why, count in reasons.items() if count > 0
        )
        warnings.warn(f"{message}; the others are scored.", AttnbankWarning, stacklevel=5)
    return best
