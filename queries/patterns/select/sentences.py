"""What a request asks of a sentence as a whole: its metadata, and the shape of its tree."""

from __future__ import annotations

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import SHAPES, Checked, check_shape
from attnbank.queries.patterns.select import terms, values
from attnbank.queries.patterns.select.scopes import Bound
from attnbank.queries.patterns.select.terms import column

TABLE = "this_sentence"
"""The alias of table `sentence`, because `word` has a column that is called `sentence`."""
COLUMNS = {"sent_id": "name", "text": "text"}
"""Keys of metadata that are columns of table `sentence`, and the names of these columns."""


def conditions(tests: list[tree.Test]) -> list[exp.Expr]:
    """The tests of `global` blocks as conditions on table `sentence`."""
    return [condition(test) for test in tests]


def condition(test: tree.Test) -> exp.Expr:
    """The condition for a test of the metadata or of the tree's shape.

    Raises RequestError for an unknown `is_...`.
    """
    if test.kind == "present" and test.feature.startswith("is_"):
        check_shape(test.feature, test.place)
        return shape(test.feature)
    return values.fits(test, lambda: metadata(test.feature))


def metadata(key: str) -> exp.Expr:
    """The metadata of a sentence, or else of its document, under a key; null if neither has it."""
    if key in COLUMNS:
        return column(TABLE, COLUMNS[key])
    found = [
        exp.Bracket(this=column(table, "metadata"), expressions=[terms.text(key)])
        for table in (TABLE, "document")
    ]
    return exp.Coalesce(this=found[0], expressions=found[1:])


def read_document(checked: Checked) -> bool:
    """Whether a request reads metadata that may be the document's."""
    keys = {test.feature for test in checked.sentence_tests}
    for scope in checked.scopes():
        keys |= {each.feature for each in scope.references() if scope.is_metadata(each)}
    keys |= {
        each.feature
        for each in (*checked.keys, *checked.sort)
        if isinstance(each, tree.Reference) and checked.pattern.is_metadata(each)
    }
    return any(key not in COLUMNS and key not in SHAPES for key in keys)


def shape(name: str) -> exp.Expr:
    """The condition that the tree of a sentence has a shape.

    Ingest keeps only whole trees, so a sentence either has a tree or has no edges at all; without
    edges it is a forest of single words.
    """
    if name in ("is_forest", "is_not_cyclic"):
        return exp.true()
    if name in ("is_not_forest", "is_cyclic"):
        return exp.false()
    if name == "is_tree":
        return exp.Not(this=_has_word_without_head())
    if name == "is_not_tree":
        return _has_word_without_head()
    crossing = _has_crossing()
    return exp.Not(this=crossing) if name == "is_projective" else crossing


def _has_word_without_head() -> exp.Expr:
    """That the sentence has a word without a head, and so no tree."""
    select = exp.Select(
        expressions=[terms.number(1)],
        from_=exp.From(this=terms.table("word", "loose")),
        where=exp.Where(
            this=terms.every(
                [
                    terms.equal(column("loose", "sentence"), column(TABLE, "id")),
                    terms.is_null(column("loose", "head_index")),
                ]
            )
        ),
    )
    return exp.Exists(this=select)


def _has_crossing() -> exp.Expr:
    """That two edges of the sentence's tree cross."""
    one, other = "left_edge", "right_edge"
    left, right = ((Bound(row, is_head=True), Bound(row)) for row in (one, other))
    on = [
        terms.equal(column(other, "sentence"), column(one, "sentence")),
        exp.LT(this=begin(*left), expression=begin(*right)),
        exp.LT(this=begin(*right), expression=end(*left)),
        exp.LT(this=end(*left), expression=end(*right)),
    ]
    select = exp.Select(
        expressions=[terms.number(1)],
        from_=exp.From(this=terms.table("word", one)),
        joins=[exp.Join(this=terms.table("word", other), kind="INNER", on=terms.every(on))],
        where=exp.Where(this=terms.equal(column(one, "sentence"), column(TABLE, "id"))),
    )
    return exp.Exists(this=select)


def begin(one: Bound, other: Bound) -> exp.Expr:
    """The index of the left end of an edge between two words."""
    return exp.Least(this=other.index(), expressions=[one.index()], ignore_nulls=True)


def end(one: Bound, other: Bound) -> exp.Expr:
    """The index of the right end of an edge between two words."""
    return exp.Greatest(this=other.index(), expressions=[one.index()], ignore_nulls=True)
