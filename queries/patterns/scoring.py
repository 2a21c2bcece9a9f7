"""Judging heads on the pairs of words that a request finds, as if they were a relation.

The pairs become a temporary table `saved_pair` of one connection, which hides the bank's own table
of that name. So every analysis of a relation can read them like those of a saved relation, and
nothing is written to the bank.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import polars as pl

from attnbank.queries.table_formats import is_p_value
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankWarning

if TYPE_CHECKING:
    from attnbank.queries.backend import Backend

# The name under which pairs are judged; no relation of a corpus has brackets.
RELATION = "(request)"

# The warning of a request that reads attention.
CIRCULAR = (
    "The request asks what heads look at, and heads are judged on what it finds: that is circular."
    " Their accuracy is not evidence, and has no p value."
)

# The warning of a request that reads surprisal, which does not say what any head looks at.
#
# So whether a head is right is still open, and there are p values.
SELECTED = (
    "The request chooses pairs by how improbable a model finds words, in which its heads have a"
    " part: what is said of heads holds for such pairs, and not for others or another model."
)

_GROUP_COLUMNS = (
    "n", "accuracy", "low", "high", "offset_accuracy", "gain", "gain_low", "gain_high",
    "layer", "head", "direction", "offset", "run",
)  # fmt: skip

# The offsets that head_score tries by default.
_DEFAULT_OFFSETS = [-3, -2, -1, 1, 2, 3]


def judged(
    bank: Backend, pairs: pl.DataFrame, run: str | None, *, all_heads: bool, per_group: bool,
    min_count: int, has_control: bool,
) -> pl.DataFrame:  # fmt: skip
    """Heads judged on some pairs: word, head_word (word.id), and keys if these make groups.

    With `all_heads` the rows of `head_score`; else the best head, a row of `best_head_test`
    without `relation`, and if `has_control` one for each of its `controls`; with keys the best in
    each group. `run` None leaves the choice to the analysis.
    """
    keys = pairs.columns[2:]
    name = "head_score" if all_heads else "best_head_test"
    if not pairs.height:
        columns = (
            [*keys, *_GROUP_COLUMNS]
            if keys
            else [column.name for column in registry.find_analysis(name).columns]
        )
        return pl.DataFrame(schema=columns).drop([] if all_heads else "relation", strict=False)
    rows = pairs.select("word", "head_word").unique().with_columns(relation=pl.lit(RELATION))
    with bank.temp_table("saved_pair", rows.select("relation", "word", "head_word")):
        if all_heads:
            return bank.query(name, relation=RELATION, run=run)
        best = _test_best_head(bank, pairs, run)
        if keys:
            return _score_groups(bank, pairs, best, per_group=per_group, min_count=min_count)
        results = [best]
        if best.height and has_control:
            beside = controls(bank, best["run"][0])
            results += [bank.query(name, relation=RELATION, run=control) for control in beside]
    return pl.concat(results).drop("relation")


def controls(bank: Backend, run: str) -> list[str]:
    """The runs of random weights beside a run of trained ones, in the order of their seeds."""
    statement = registry.internal_statement("patterns/control_run")
    rows = bank.connection.execute(statement, {"run": run}).fetchall()
    return [name for (name,) in rows]


def _score_groups(
    bank: Backend, pairs: pl.DataFrame, best: pl.DataFrame, *, per_group: bool, min_count: int
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
    parameters |= {
        "offsets": _DEFAULT_OFFSETS if per_group else [row["offset"]], "run": row["run"],
        "relation": RELATION, "min_count": min_count,
    }  # fmt: skip
    groups = pairs.select(keys).unique().sort(keys, nulls_last=True)
    groups = groups.with_row_index("number").cast({"number": pl.Int64})
    rows = pairs.join(groups, on=keys, how="inner", nulls_equal=True)
    with bank.temp_table("score_group", rows.select("word", "head_word", "number")):
        counted = bank.fetch(registry.internal_statement("patterns/score_groups"), parameters)
    if groups[keys[0]].dtype.is_numeric():
        counted = counted.sort("number")
    scored = counted.join(groups, on="number", how="left", maintain_order="left")
    return scored.select(*keys, *_GROUP_COLUMNS)


def without_offsets(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with null for what a fixed offset finds, which groups by distance decide."""
    columns = ("offset_accuracy", "gain", "gain_low", "gain_high")
    return frame.with_columns(**dict.fromkeys(columns, pl.lit(None, pl.Float64)))


def without_p_values(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with null for every p value: what is circular has none."""
    missing = pl.lit(None, pl.Float64)
    return frame.with_columns(**dict.fromkeys(filter(is_p_value, frame.columns), missing))


def _test_best_head(bank: Backend, pairs: pl.DataFrame, run: str | None) -> pl.DataFrame:
    """The best head on the pairs; warns of pairs of its corpus that the run cannot judge."""
    best = bank.query("best_head_test", relation=RELATION, run=run)
    chosen = bank.run_of("best_head_test", relation=RELATION, run=run)
    assert chosen is not None
    ((total, inside),) = bank.connection.execute(
        registry.internal_statement("patterns/pairs_of_run"),
        {"relation": RELATION, "run": chosen.name},
    ).fetchall()
    judged = best["n"][0] if best.height else 0
    if not total:
        message = f"None of the pairs is in the corpus of the run {chosen.name}."
        warnings.warn(message, AttnbankWarning, stacklevel=5)
    elif judged < total:
        unseen = round(judged / best["findable"][0]) - judged if judged else 0
        counts = {
            "are not within one input of the run": total - judged - inside - unseen,
            "have their head where this direction of a causal model cannot find it": unseen,
            "are of words that share a position": inside,
        }
        message = ", and ".join(
            f"{count:,} of the {total:,} pairs {why}" for why, count in counts.items() if count > 0
        )
        warnings.warn(f"{message}; the others are judged.", AttnbankWarning, stacklevel=5)
    return best
