"""Keys about what a head looks at: `weight(3-1, A, B)` and `looks_at(3-1, A).upos`.

Each is a subquery with one value. The value is an aggregate, because Spark requires that. It is
over the one row that a word has in a run, or over several: the special tokens of a kind in its
input, whose weights are added, or the words at the position that is looked at, whose values are
joined (ADP+DET).
"""

from __future__ import annotations

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import SPECIAL
from attnbank.queries.patterns.select import terms, values
from attnbank.queries.patterns.select.attention import RunFacts
from attnbank.queries.patterns.select.scopes import Bound, Planned
from attnbank.queries.patterns.select.terms import column


def key_value(planned: Planned, key: tree.Looks, run: RunFacts) -> exp.Expr:
    """The value of a key; null if the run has not read the word.

    Between two words of one position there is no weight: it would be the position's on itself.
    """
    source = planned.bound[key.source.text]
    if key.target is None:
        return _looked_at(source, key, run)
    is_special = not planned.scope.has_node(key.target.text)
    if is_special:
        wanted = terms.equal(column("target", "kind"), terms.text(SPECIAL[key.target.text]))
    else:
        target = planned.bound[key.target.text]
        wanted = terms.every(
            [
                terms.equal(column("target", "word"), column(target.row, "id")),
                exp.Or(
                    this=terms.unequal(column("target", "position"), column("source", "position")),
                    expression=terms.equal(column("target", "word"), column("source", "word")),
                ),
            ]
        )
    at = exp.Add(this=column("target", "position"), expression=terms.number(1))
    weight = exp.Anonymous(this="list_extract", expressions=[column("attention", "weights"), at])
    total = exp.Sum(this=terms.plain_double(weight))
    targets = "position" if is_special else "word_position"
    select = _select(total, "attention", "from_position", source, key, run, targets, wanted)
    return exp.Subquery(this=select)


def _looked_at(source: Bound, key: tree.Looks, run: RunFacts) -> exp.Expr:
    if key.feature == "weight":
        value = terms.plain_double(column("peak", "most_attended_weight"))
    elif key.feature == "deprel":
        value = column("looked_at", "deprel")
    else:
        value = values.feature(key.feature, "looked_at")
    wanted = terms.equal(column("target", "position"), column("peak", "most_attended"))
    if key.feature in ("weight", "__id__"):  # numbers: of several words the first one's
        value = exp.Min(this=value)
    else:
        by_word = exp.Ordered(this=column("looked_at", "id"), nulls_first=False)
        in_order = exp.Order(this=value, expressions=[by_word])
        value = exp.GroupConcat(this=in_order, separator=terms.text("+"))
    select = _select(value, "peak", "position", source, key, run, "word_position", wanted)
    on = terms.equal(column("looked_at", "id"), column("target", "word"))
    select.append("joins", _inner("word", "looked_at", on))
    return exp.Subquery(this=select)


def _select(
    value: exp.Expr, table: str, place: str, source: Bound, key: tree.Looks, run: RunFacts,
    targets: str, wanted: exp.Expr,
) -> exp.Select:  # fmt: skip
    """The SELECT of a value from the row of a head at one word, and from a `target` position.

    `table` is peak or attention, `place` its column with the position of the word; `targets` is the
    table or view that has the target, and `wanted` says which position that is.
    """
    of_head = [
        terms.equal(column(table, "layer"), terms.number(key.head.layer or 0)),
        terms.equal(column(table, "head"), terms.number(key.head.head or 0)),
    ]
    in_run = terms.equal(column("sequence", "run"), terms.number(run.id))
    of_word = terms.equal(column("source", "word"), column(source.row, "id"))
    at_source = [
        terms.equal(column("source", "sequence"), column(table, "sequence")),
        terms.equal(column("source", "position"), column(table, place)),
    ]
    in_input = terms.equal(column("target", "sequence"), column(table, "sequence"))
    in_sequence = terms.equal(column(table, "sequence"), column("sequence", "id"))
    return exp.Select(
        expressions=[value],
        from_=exp.From(this=terms.table("sequence")),
        joins=[
            _inner(table, None, in_sequence),
            _inner("word_position", "source", terms.every(at_source)),
            _inner(targets, "target", terms.every([in_input, wanted])),
        ],
        where=exp.Where(this=terms.every([in_run, *of_head, of_word])),
    )


def _inner(table: str, alias: str | None, on: exp.Expr) -> exp.Join:
    return exp.Join(this=terms.table(table, alias), kind="INNER", on=on)
