"""Head accuracy as a Polars expression, written apart from its SQL statement."""

from __future__ import annotations

import polars as pl

from attnbank.queries.bank import Bank

_CLITICS = ("'s", "\u2019s", "s'", "s\u2019", "'", "\u2019", "s")
_OF_CLITICS = ("case", "possessive")
_POSSESSORS = ("poss", "nmod:poss")
_KEYS = ("relation", "layer", "head", "direction")


def head_accuracy(
    bank: Bank,
    *,
    relation: str | None = None,
    run: str | int | None = None,
    subtypes: bool = False,
    possessive: bool = False,
) -> pl.LazyFrame:
    """How often each head's most-attended word is the gold head (Clark et al. 2019, section 4.2).

    It has the same rows and columns as `bank.query("head_accuracy", ...)` with the same values, but
    is lazy. The model is not causal: each direction can find every dependent. Raises as that does.
    """
    chosen = bank.run_of("head_accuracy", relation=relation, run=run, subtypes=subtypes)
    assert chosen is not None
    name = chosen.name
    gold = _gold(bank, name, subtypes=subtypes, possessive=possessive)
    found = (
        bank.table("peak", run=name)
        .join(gold, on=["sequence", "position"], how="inner")
        .select(
            "relation",
            "is_root",
            "layer",
            "head",
            dependent_to_head=(pl.col("most_attended") == pl.col("head_position")),
            head_to_dependent=(pl.col("most_attending") == pl.col("head_position")),
        )
        .unpivot(
            ["dependent_to_head", "head_to_dependent"],
            index=["relation", "is_root", "layer", "head"],
            variable_name="direction",
            value_name="is_correct",
        )
    )
    counted = pl.concat(
        [
            found.filter(~pl.col("is_root")),
            found.with_columns(relation=pl.lit("all")),
        ]
    ).filter(pl.lit(True) if relation is None else pl.col("relation") == relation)
    return (
        counted.group_by(_KEYS)
        .agg(
            correct=pl.col("is_correct").fill_null(False).sum().cast(pl.Int64),
            n=pl.len().cast(pl.Int64),
        )
        .select(*_KEYS, (pl.col("correct") / pl.col("n")).alias("accuracy"), "correct", "n")
        .with_columns(findable=pl.lit(1.0), overall=pl.col("accuracy"), run=pl.lit(name))
        .sort(_KEYS)
    )


def _gold(bank: Bank, run: str, *, subtypes: bool, possessive: bool) -> pl.LazyFrame:
    """The position of each word with a head, that of its head, and the relation between them."""
    placed = (
        bank.table("position", run=run)
        .filter(pl.col("kind") == "word")
        .select("sequence", "position", "word")
        .join(
            bank.table("word").select("id", "sentence", "index", "form", "head_index", "deprel"),
            left_on="word",
            right_on="id",
        )
    )
    where = ["sequence", "sentence", "index"]
    heads = placed.select(*where, head_position="position")
    following = placed.select(
        "sequence",
        "sentence",
        pl.col("index") - 1,
        clitic_position="position",
        clitic_of="head_index",
        is_clitic=pl.col("form").str.to_lowercase().is_in(_CLITICS)
        & pl.col("deprel").str.split(":").list.first().is_in(_OF_CLITICS),
    )
    is_judged_by_clitic = (
        pl.lit(possessive)
        & pl.col("deprel").is_in(_POSSESSORS)
        & pl.col("is_clitic")
        & (pl.col("clitic_of") == pl.col("index"))
    )
    relation = pl.col("deprel") if subtypes else pl.col("deprel").str.split(":").list.first()
    return (
        placed.filter(pl.col("head_index").is_not_null())
        .join(
            heads,
            left_on=["sequence", "sentence", "head_index"],
            right_on=where,
            how="left",
        )
        .join(following, on=where, how="left")
        .select(
            "sequence",
            "head_position",
            relation=relation,
            is_root=pl.col("head_index") == 0,
            position=pl.when(is_judged_by_clitic)
            .then(pl.col("clitic_position"))
            .otherwise(pl.col("position")),
        )
    )
