"""Judging heads on the pairs of words that a request finds, as if they were a relation.

The pairs become a temporary table `saved_pair` of one connection, which hides the bank's own table
of that name. So every analysis of a relation can read them like those of a saved relation, and
nothing is written to the bank.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl
import sqlglot
from sqlglot import exp

from attnbank.queries.patterns.finding import (
    Question,
    asks_about_attention,
    check_corpus,
    choose,
    is_document,
    question,
    unknown_names,
)
from attnbank.queries.patterns.select.attention import RunFacts
from attnbank.queries.patterns.select.building import Choice
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankWarning, CallError
from attnbank.sql.suggest import did_you_mean, listed

if TYPE_CHECKING:
    from attnbank.queries.requests import Requests

RELATION = "(request)"
"""The name under which the pairs of a request are judged; no relation of a corpus has spaces or
brackets."""
_HIT = "hit"
_GROUPED = (
    "n", "accuracy", "low", "high", "offset_accuracy",
    "layer", "head", "direction", "offset", "run",
)  # fmt: skip


def pairs_of(
    bank: Requests,
    request: str,
    dependent: str,
    head: str,
    *,
    by: str = "",
    corpus: str | None = None,
    run: str | int | None = None,
    within: str = "sentence",
    timeout: float,
    memory: int,
) -> tuple[pl.DataFrame, list[str], str]:
    """The pairs of words that a request finds, the names of its keys, and the SELECT.

    `within` is as in `find`: in a document the two words may be in different sentences. `timeout`
    is in seconds, `memory` in bytes.

    The columns are `word` and `head_word`, both word.id, and one per key of `by`. Raises as
    Bank.find does, and CallError for a node that the request does not have.
    """
    is_wide = is_document(within)
    is_asked = asks_about_attention(request, by)
    facts = bank.run_of_request(request, run, within, by) if is_asked else None
    chosen = None if facts is None else RunFacts.of(facts)
    choice = Choice(corpus, keys=True, is_wide=is_wide, run=chosen)
    asked = question(request, columns=by, choice=choice)
    statement = pairs_statement(asked, dependent, head, is_wide=is_wide)
    if corpus is not None:
        check_corpus(bank.connection, corpus)
    pairs = bank.found_by(statement, timeout, memory)
    if not pairs.height:
        for told in unknown_names(bank.connection, asked.checked):
            warnings.warn(told, AttnbankWarning, stacklevel=4)
    return pairs, [str(each) for each in asked.checked.keys], statement


def run_over(bank: Requests, within: str, run: str | int | None) -> str | None:
    """The run whose heads are judged; None if the analysis is to choose it.

    Unless a run is named, pairs within documents are judged in a run that reads documents.
    """
    if run is not None:
        return str(run)
    if not is_document(within):
        return None
    found = choose(bank.connection, bank.path, None, reads=True, is_wide=True)
    return None if found is None else str(found.id)


def best_heads(bank: Requests, pairs: pl.DataFrame, run: str | None) -> pl.DataFrame:
    """The best head on some pairs, tested: one row for the run, and one for its random control.

    The columns are those of `best_head_test`, without `relation`.
    """
    if not pairs.height:
        return _nothing("best_head_test").drop("relation")
    with judged_as_relation(bank, pairs):
        found = _tested(bank, pairs, run)
        if not found.height:
            return found.drop("relation")
        statement = registry.statement("patterns/control_run")
        control = bank.connection.execute(statement, {"run": found["run"][0]}).fetchall()
        more = [bank.query("best_head_test", relation=RELATION, run=name) for (name,) in control]
    return pl.concat([found, *more]).drop("relation")


def every_head(bank: Requests, pairs: pl.DataFrame, run: str | None) -> pl.DataFrame:
    """Every head, in both directions, on some pairs: the rows of head_score."""
    if not pairs.height:
        return _nothing("head_score")
    with judged_as_relation(bank, pairs):
        return bank.query("head_score", relation=RELATION, run=run)


def best_in_groups(
    bank: Requests, pairs: pl.DataFrame, keys: Sequence[str], run: str | None
) -> pl.DataFrame:
    """How often the best head of all pairs is right in each group of them, the largest first.

    A group has one value in each of the columns `keys` of `pairs`. A pair that is in several rows
    with different values is counted in each of their groups.
    """
    if not pairs.height:
        return pl.DataFrame(schema=[*keys, *_GROUPED])
    with judged_as_relation(bank, pairs):
        best = _tested(bank, pairs, run)
        if not best.height:
            return pl.DataFrame(schema=[*keys, *_GROUPED])
        (row,) = best.to_dicts()
        told = {name: row[name] for name in ("layer", "head", "direction", "offset", "run")}
        with grouped(bank, pairs, keys) as groups:
            statement = registry.statement("patterns/score_groups")
            counted = bank.frame_of(statement, told | {"relation": RELATION})
    found = counted.join(groups, on="number", how="left", maintain_order="left").drop("number")
    return found.select(*keys, pl.exclude(keys)).with_columns(
        pl.lit(value).alias(name) for name, value in told.items()
    )


def _nothing(name: str) -> pl.DataFrame:
    """A frame with the columns of an analysis and no rows."""
    return pl.DataFrame(schema=[each.name for each in registry.find(name).columns])


def _tested(bank: Requests, pairs: pl.DataFrame, run: str | None) -> pl.DataFrame:
    """The best head on the pairs; warns of pairs that are not judged.

    Their words are not in one input of the run, or share a position of it.
    """
    found = bank.query("best_head_test", relation=RELATION, run=run)
    whole = pairs.select("word", "head_word").n_unique()
    judged = found["n"][0] if found.height else 0
    if judged < whole:
        named = found["run"][0] if found.height else run
        inside = bank.connection.execute(
            registry.statement("patterns/pairs_inside"), {"relation": RELATION, "run": named}
        ).fetchall()[0][0]
        outside = whole - judged - inside
        told = [f"{outside:,} of the {whole:,} pairs stand in no input of the run"] * (outside > 0)
        told += [f"{inside:,} of the {whole:,} pairs are of words that share a position"] * (
            inside > 0
        )
        warnings.warn(
            f"{', and '.join(told)}; the others are judged.", AttnbankWarning, stacklevel=5
        )
    return found


def pairs_statement(question: Question, dependent: str, head: str, *, is_wide: bool = False) -> str:
    """The SELECT of the pairs of a request: word, head_word (both word.id), and its further keys.

    `question` must have the column `sentence` (Choice.keys). Pairs with the node before the first
    word are left out, since it is no word. Raises CallError for a node that the request does not
    have, if both names are the same node, and if a node has the name of a column.
    """
    nodes = question.columns.nodes
    for name in (dependent, head):
        if name not in nodes:
            known = ", ".join(nodes) or "none"
            raise CallError(
                f"The request has no node {name}.",
                f"{did_you_mean(name, nodes)} Its nodes: {known}.".strip(),
            )
    if dependent == head:
        raise CallError("--from and --to name one node.", f"Give two of: {listed(nodes)}.")
    if {"sentence", "sent_id"} & set(nodes):
        raise CallError("A node cannot be called sentence or sent_id here.", "Rename it.")
    hits = sqlglot.parse_one(question.statement, dialect="duckdb")
    hits.set("order", None)
    made = exp.select(
        exp.column("id", "dependent_word").as_("word"),
        exp.column("id", "governing_word").as_("head_word"),
        *(
            exp.column(exp.to_identifier(each, quoted=True), _HIT)
            for each in map(str, question.checked.keys)
        ),
    ).distinct()
    made = made.from_(exp.Subquery(this=hits, alias=exp.TableAlias(this=exp.to_identifier(_HIT))))
    for alias, node in (("dependent_word", dependent), ("governing_word", head)):
        index = exp.column(exp.to_identifier(node, quoted=True), _HIT)
        sentence = exp.to_identifier(f"{node}.sentence" if is_wide else "sentence", quoted=is_wide)
        made = made.join(
            exp.table_("word").as_(alias),
            on=exp.and_(
                exp.column("sentence", alias).eq(exp.column(sentence, _HIT)),
                exp.column("index", alias).eq(index),
            ),
        )
    return made.sql("duckdb")


@contextmanager
def judged_as_relation(bank: Requests, pairs: pl.DataFrame) -> Iterator[None]:
    """Within, RELATION is a saved relation with these pairs, each counted once."""
    rows = pairs.select("word", "head_word").unique().with_columns(relation=pl.lit(RELATION))
    with bank.beside("saved_pair", rows.select("relation", "word", "head_word")):
        yield


@contextmanager
def grouped(bank: Requests, pairs: pl.DataFrame, keys: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Within, the temporary table asked_group has the number of each pair's group.

    Yields the groups: one row per combination of keys, with its number.
    """
    groups = pairs.select(keys).unique().sort(keys, nulls_last=True)
    groups = groups.with_row_index("number").cast({"number": pl.Int64})
    rows = pairs.join(groups, on=list(keys), how="inner", nulls_equal=True)
    with bank.beside("asked_group", rows.select("word", "head_word", "number")):
        yield groups
