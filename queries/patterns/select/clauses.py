"""The clauses that tie nodes and edges to each other: order, comparisons, paths."""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.faults import RequestError
from attnbank.queries.patterns.select import sentences, terms, values
from attnbank.queries.patterns.select.scopes import Aliases, Bound, Planned, Source
from attnbank.queries.patterns.select.terms import column

Ends = tuple[Bound, Bound]
"""The word where an edge begins and the one where it ends."""


def add(planned: Planned, aliases: Aliases) -> list[exp.CTE]:
    """Add the conditions of order, comparisons, presences and paths of a scope to `planned`.

    Returns the common table expressions that they read. Raises RequestError for an edge of
    attention to a special token where words are needed, and for a value that cannot be compared.
    """
    made = [_add_path(planned, path, aliases) for path in planned.scope.paths]
    for order in planned.scope.orders:
        _add_order(planned, order)
    for comparison in planned.scope.comparisons:
        _add_comparison(planned, comparison)
    for presence in planned.scope.presences:
        _add_presence(planned, presence)
    return made


def _add_order(planned: Planned, order: tree.Order) -> None:
    """Add the condition of an order between two nodes, two edges, or a node and an edge."""
    scope = planned.scope
    left, right = order.left.text, order.right.text
    if scope.is_edge(left):
        one, other = _ends(planned, order.left), _ends(planned, order.right)
        lie = [*_in_one_sentence(planned, *one, *other), _edges_lie(order.sign, one, other)]
        planned.add(terms.every(lie), *(end.row for end in (*one, *other)))
        return
    first = planned.bound[left]
    if scope.is_edge(right):
        edge = _ends(planned, order.right)
        inside = [
            *_in_one_sentence(planned, first, *edge),
            exp.LT(this=sentences.begin(*edge), expression=first.index()),
            exp.LT(this=first.index(), expression=sentences.end(*edge)),
        ]
        planned.add(terms.every(inside), first.row, *(end.row for end in edge))
        return
    second = planned.bound[right]
    if order.sign == "<":
        following = exp.Add(this=first.index(), expression=terms.number(1))
        tie = terms.equal(second.index(), following)
        planned.add(tie, first.row, second.row, is_tie=True)
    else:
        before = exp.LT(this=first.index(), expression=second.index())
        planned.add(before, first.row, second.row)


def _ends(planned: Planned, name: tree.Name) -> Ends:
    """The two words of a named edge. Raises RequestError if one of them is a special token."""
    if isinstance(planned.scope.edge(name.text), tree.Edge):
        row = planned.edges[name.text]
        return Bound(row, is_head=True), Bound(row)
    found = planned.ends[name.text]
    if found is None:
        raise RequestError(
            name.place, f"one end of {name} is a special token, which has no place among words.",
            "Ask for its label (3-1) or its weight.",
        )  # fmt: skip
    return found


def _in_one_sentence(planned: Planned, first: Bound, *others: Bound) -> list[exp.Expr]:
    """The conditions that words are in one sentence, unless that is already known."""
    number = planned.row_group.get(first.row)
    return [
        terms.equal(each.sentence(), first.sentence())
        for each in others
        if number is None or planned.row_group.get(each.row) != number
    ]


def _edges_lie(sign: str, first: Ends, second: Ends) -> exp.Expr:
    """How the spans of two edges lie: `<>` apart, `><` crossing, `<<` the first in the second."""
    one, other = "one", "other"
    ends = {one: first, other: second}

    def begin(edge: str) -> exp.Expr:
        return sentences.begin(*ends[edge])

    def end(edge: str) -> exp.Expr:
        return sentences.end(*ends[edge])

    if sign == "<>":
        apart = [
            exp.LTE(this=end(one), expression=begin(other)),
            exp.LTE(this=end(other), expression=begin(one)),
        ]
        return exp.Paren(this=terms.either(apart))
    if sign == "><":
        crosses = [
            terms.every(
                [
                    exp.LT(this=begin(left), expression=begin(right)),
                    exp.LT(this=begin(right), expression=end(left)),
                    exp.LT(this=end(left), expression=end(right)),
                ]
            )
            for left, right in ((one, other), (other, one))
        ]
        return exp.Paren(this=terms.either(crosses))
    return terms.every(
        [
            exp.LTE(this=begin(other), expression=begin(one)),
            exp.LTE(this=end(one), expression=end(other)),
            exp.Paren(
                this=terms.either(
                    [terms.unequal(begin(one), begin(other)), terms.unequal(end(one), end(other))]
                )
            ),
        ]
    )


def _add_path(planned: Planned, path: tree.Path, aliases: Aliases) -> exp.CTE:
    """`A ->> B`: a recursive expression that climbs from the words that can be B, head by head."""
    name, start, above = aliases.new("climb"), aliases.new("start"), aliases.new("above")
    tests = [
        terms.either(
            terms.every(values.feature_test(test, start) for test in alternative)
            for alternative in group
        )
        for group in planned.scope.tests.get(path.target.text, ())
        if any(group)
    ]
    first = exp.Select(
        expressions=[
            column(start, "sentence"),
            terms.named(column(start, "index"), "descendant"),
            terms.named(column(start, "head_index"), "ancestor"),
        ],
        from_=exp.From(this=terms.table("word", start)),
        where=exp.Where(
            this=terms.every([terms.not_null(column(start, "head_index")), *tests]),
        ),
    )
    on = [
        terms.equal(column(above, "sentence"), column(name, "sentence")),
        terms.equal(column(above, "index"), column(name, "ancestor")),
    ]
    further = exp.Select(
        expressions=[
            column(name, "sentence"),
            column(name, "descendant"),
            column(above, "head_index"),
        ],
        from_=exp.From(this=terms.table(name)),
        joins=[exp.Join(this=terms.table("word", above), kind="INNER", on=terms.every(on))],
    )
    step = aliases.new("path")
    upper, lower = planned.bound[path.source.text], planned.bound[path.target.text]
    planned.sources.append(Source(step, table=name))
    planned.row_group[step] = planned.group[path.target.text]
    for end, bound in (("descendant", lower), ("ancestor", upper)):
        tie = terms.equal(column(step, end), bound.index())
        planned.add(tie, step, bound.row, is_tie=True)
    union = exp.Union(this=first, expression=further, distinct=False)
    return exp.CTE(this=union, alias=exp.TableAlias(this=terms.identifier(name)))


def _add_comparison(planned: Planned, comparison: tree.Comparison) -> None:
    """Add the condition of a comparison; against a text it is a test, which can be faster."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    is_ordered = operator not in ("=", "<>")
    if (
        isinstance(right, tree.Literal_)
        and isinstance(left, tree.Reference)
        and not (is_ordered or _is_number(planned, left))
    ):
        kind: Literal["equal", "different"] = "equal" if operator == "=" else "different"
        test = tree.Test(left.feature, kind, (right.value,), left.place)
        planned.add(_test(planned, left, test), *_rows(planned, left))
        return
    ordered = is_ordered or any(_is_number(planned, each) for each in (left, right))
    sides = [_side(planned, each, ordered) for each in (left, right)]
    rows = {*_rows(planned, left), *_rows(planned, right)}
    compared = terms.compared(operator, *sides)
    if len(rows) > 1 and any(map(_is_looked_up, sides)):
        # DuckDB would compute each side for every word before the join, if it were a plain
        # comparison of two rows; inside coalesce it is computed only for the rows that are joined.
        compared = exp.Coalesce(this=compared, expressions=[exp.false()])
    planned.add(compared, *rows)


def _is_looked_up(value: exp.Expr) -> bool:
    """Whether a value is slow: it is found by a regular expression, not read from a column."""
    return value.find(exp.RegexpExtract) is not None


def label_of(planned: Planned, name: str) -> exp.Expr:
    """The label of a named edge: the relation, or for attention the head (3-1)."""
    is_tree = isinstance(planned.scope.edge(name), tree.Edge)
    return column(planned.edges[name], "deprel" if is_tree else "label")


def key_value(planned: Planned, key: tree.Term) -> exp.Expr:
    """The value of a key: a feature, or a distance in words."""
    return _side(planned, key, False)


def _side(planned: Planned, side: tree.Term | tree.Literal_,
          is_number: bool) -> exp.Expr:  # fmt: skip
    """One side of a comparison; with `is_number` as a number. Raises RequestError if it is none."""
    if isinstance(side, tree.Literal_):
        if not isinstance(side.value, str):
            raise RequestError(side.place, "a number is not compared with a regular expression.")
        if not is_number:
            return terms.text(side.value)
        try:
            float(side.value)
        except ValueError:
            raise RequestError(side.place, f"{side.value} is no number.") from None
        if _is_integer(side.value):
            return terms.number(int(side.value))
        return terms.double(side.value)
    if isinstance(side, tree.Measure):
        one, other = planned.bound[side.one.text], planned.bound[side.other.text]
        if side.kind == "proj_size":
            return _size(one)
        distance = exp.Sub(this=other.index(), expression=one.index())
        return exp.Abs(this=distance) if side.kind == "length" else exp.Paren(this=distance)
    value = _value(planned, side)
    return terms.as_double(value) if is_number and not _is_number(planned, side) else value


def _size(node: Bound) -> exp.Expr:
    """The number of words, without punctuation, in the subtree of a node.

    Each word climbs to the root, one head at a time, and counts for every node on its way.
    """
    is_punctuation = exp.NullSafeEQ(this=column("start", "upos"), expression=terms.text("PUNCT"))
    first = exp.Select(
        expressions=[
            column("start", "sentence"),
            terms.named(column("start", "index"), "ancestor"),
        ],
        from_=exp.From(this=terms.table("word", "start")),
        where=exp.Where(this=exp.Not(this=is_punctuation)),
    )
    on = [
        terms.equal(column("above", "sentence"), column("climb", "sentence")),
        terms.equal(column("above", "index"), column("climb", "ancestor")),
        terms.not_null(column("above", "head_index")),
    ]
    further = exp.Select(
        expressions=[column("climb", "sentence"), column("above", "head_index")],
        from_=exp.From(this=terms.table("climb")),
        joins=[exp.Join(this=terms.table("word", "above"), kind="INNER", on=terms.every(on))],
    )
    union = exp.Union(this=first, expression=further, distinct=False)
    climb = exp.CTE(this=union, alias=exp.TableAlias(this=terms.identifier("climb")))
    same = [
        terms.equal(column("climb", "sentence"), node.sentence()),
        terms.equal(column("climb", "ancestor"), node.index()),
    ]
    count = exp.Select(
        expressions=[exp.Count(this=exp.Star(), big_int=True)],
        from_=exp.From(this=terms.table("climb")),
        where=exp.Where(this=terms.every(same)),
        with_=exp.With(expressions=[climb], recursive=True),
    )
    # The node before the first word counts too, but is no row of `word`.
    is_anchor = terms.equal(node.index(), terms.number(0))
    itself = exp.Case(ifs=[exp.If(this=is_anchor, true=terms.number(1))], default=terms.number(0))
    return exp.Paren(this=exp.Add(this=exp.Subquery(this=count), expression=itself))


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 10


def _is_number(planned: Planned, side: tree.Term | tree.Literal_) -> bool:
    if isinstance(side, tree.Measure):
        return True
    if not isinstance(side, tree.Reference):
        return False
    if planned.scope.has_node(side.owner.text):
        return side.feature == "__id__"
    return side.feature in ("length", "delta", "weight") and planned.scope.is_edge(side.owner.text)


def _rows(planned: Planned, side: tree.Term | tree.Literal_) -> list[str]:
    if isinstance(side, tree.Measure):
        return [planned.bound[side.one.text].row, planned.bound[side.other.text].row]
    if isinstance(side, tree.Literal_):
        return []
    if planned.scope.has_node(side.owner.text):
        return [planned.bound[side.owner.text].row]
    if planned.scope.is_edge(side.owner.text):
        edge = side.owner.text
        ends = planned.ends.get(edge) or ()
        return [planned.edges[edge], *(end.row for end in ends)]
    return []


def _value(planned: Planned, reference: tree.Reference) -> exp.Expr:
    """The value of `N.f`, `e.f` or `meta.key`; null if there is none."""
    name, feature = reference.owner.text, reference.feature
    if planned.scope.has_node(name):
        bound = planned.bound[name]
        return bound.index() if feature == "__id__" else values.feature(feature, bound.row)
    if not planned.scope.is_edge(name):
        return sentences.metadata(feature)
    row = planned.edges[name]
    if feature in ("length", "delta"):
        one, other = _ends(planned, reference.owner)
        distance: exp.Expr = exp.Sub(this=other.index(), expression=one.index())
        distance = exp.Abs(this=distance) if feature == "length" else exp.Paren(this=distance)
        together = _in_one_sentence(planned, one, other)
        return exp.Case(ifs=[exp.If(this=together[0], true=distance)]) if together else distance
    if isinstance(planned.scope.edge(name), tree.Attends):
        if feature not in ("label", "weight"):
            raise RequestError(
                reference.place, f"an edge of attention has no {feature}.",
                "It has a label (3-1), a weight, a length and a delta.",
            )  # fmt: skip
        return column(row, feature)
    return values.label_part(feature, row)


def _test(planned: Planned, reference: tree.Reference, test: tree.Test) -> exp.Expr:
    name = reference.owner.text
    if planned.scope.has_node(name) and reference.feature != "__id__":
        return values.feature_test(test, planned.bound[name].row)
    is_tree = isinstance(planned.scope.edge(name), tree.Edge)
    if planned.scope.is_edge(name) and is_tree and reference.feature in ("1", "2"):
        (found,) = values.label_test(tree.PartLabel((test,)), planned.edges[name])
        return found
    return values.fits(test, lambda: _value(planned, reference))


def _add_presence(planned: Planned, presence: tree.Presence) -> None:
    reference = presence.reference
    test = tree.Test(
        reference.feature, "present" if presence.is_present else "absent", (), reference.place
    )
    name = reference.owner.text
    is_own = planned.scope.has_node(name) or planned.scope.is_edge(name)
    found = _test(planned, reference, test) if is_own else sentences.condition(test)
    planned.add(found, *_rows(planned, reference))
