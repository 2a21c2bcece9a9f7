"""One scope of a request, the pattern or a `with` or `without`, as tables, ties and conditions.

A node is a row of `word`. If it can be the node before the first word, the anchor, it is a row of
an expression that has all words and one anchor per sentence. If a node must only be the head of
another one, it needs no row at all: its index is the `head_index` of its dependent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import Checked, Scope
from attnbank.queries.patterns.select import terms, values
from attnbank.queries.patterns.select.groups import groups
from attnbank.queries.patterns.select.terms import column

_ROOTS = ("root", "ROOT")
"""The names of the relation of a root."""
_WORD = ("form", "lemma", "upos", "xpos", "feats", "surface", "misc")


@dataclass(frozen=True)
class Bound:
    """Where a node is found: `row` is the alias of its row, or with `is_head` its dependent's."""

    row: str
    is_head: bool = False

    def index(self) -> exp.Expr:
        """Its index in the sentence, which counts from 1; 0 for the anchor."""
        return column(self.row, "head_index" if self.is_head else "index")

    def sentence(self) -> exp.Expr:
        """The id of its sentence."""
        return column(self.row, "sentence")


@dataclass
class Condition:
    """What must hold, and the aliases of the rows that it is about.

    A tie is an equality by which one of its rows can be found from the other; it becomes the
    condition of a join.
    """

    expression: exp.Expr
    rows: frozenset[str]
    is_tie: bool = False


@dataclass
class Source:
    """A row that a scope reads, of `word` or of a common table expression.

    `may_be_anchor` says whether it can be the node before the first word, `has_sentence` whether
    it has a column `sentence` by which it must be joined too.
    """

    alias: str
    may_be_anchor: bool = False
    table: str = "word"
    has_sentence: bool = True


@dataclass
class Planned:
    """A scope as tables and conditions; `bound` says where each node is found."""

    scope: Scope
    bound: dict[str, Bound]
    sources: list[Source] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    edges: dict[str, str] = field(default_factory=dict)
    """The alias of the dependent of each named edge of the tree, or of the pair of attention."""
    ends: dict[str, tuple[Bound, Bound] | None] = field(default_factory=dict)
    """The two words of each named edge of attention; None if one is a special token."""
    group: dict[str, int] = field(default_factory=dict)
    """The number of the sentence of each node (see groups.py)."""
    row_group: dict[str, int] = field(default_factory=dict)
    """The number of the sentence of each row that has one, by alias."""
    hidden: list[str] = field(default_factory=list)
    """The aliases of stars, which are joined but are no columns of the result."""

    def add(self, expression: exp.Expr, *rows: str, is_tie: bool = False) -> None:
        """Add a condition on the rows with these aliases."""
        self.conditions.append(Condition(expression, frozenset(rows), is_tie))


class Aliases:
    """Unique aliases. Names that differ only in capitals count as equal, as in SQL."""

    def __init__(self) -> None:
        self._taken = {
            "this_sentence", "sentence", "document", "corpus", "word", "hit", "left_edge",
            "right_edge", "loose", "sequence", "position", "word_position", "peak",
            "attention", "source", "target", "mention", "one_mention", "other_mention",
            "read_sentence",
        }  # fmt: skip

    def new(self, wanted: str) -> str:
        """The wanted name, with a number appended if it is taken."""
        found, number = wanted, 1
        while found.casefold() in self._taken:
            number += 1
            found = f"{wanted}_{number}"
        self._taken.add(found.casefold())
        return found


def needs_row(checked: Checked, scope: Scope, name: str) -> bool:
    """Whether more than the index is needed of a node that the scope declares."""
    if scope.outer is None and any(
        (isinstance(key, tree.Reference) and key.owner.text == name)
        or (isinstance(key, tree.Looks) and name in key.ends)
        for key in (*checked.keys, *checked.sort)
    ):
        return True
    for each in checked.scopes():
        if each is not scope and each.outer is not scope:
            continue
        if each is not scope and name in each.nodes:
            continue
        if any(any(alternative) for group in each.tests.get(name, ()) for alternative in group):
            return True
        if any(edge.target is not None and edge.target.text == name for edge in each.edges):
            return True
        if any(name in attends.ends for attends in each.attends):
            return True
        if any(name in pair.ends for pair in each.corefers):
            return True
        if any(
            reference.owner.text == name and reference.feature != "__id__"
            for reference in each.references()
        ):
            return True
    return False


def may_be_anchor(scope: Scope, name: str) -> bool:
    """Whether a node that the scope declares can be the one before the first word.

    Only what is certain counts: if it is hard to tell, the answer is True.
    """
    if any(edge.target is not None and edge.target.text == name for edge in scope.edges):
        return False
    if any(path.target.text == name for path in scope.paths):
        return False
    if any(name in attends.ends for attends in scope.attends):
        return False
    if any(name in pair.ends for pair in scope.corefers):
        return False
    for order in scope.orders:
        if order.right.text == name and scope.has_node(order.left.text):
            return False
        if order.left.text == name and scope.is_edge(order.right.text):
            return False
    for edge in scope.edges:
        if edge.source is not None and edge.source.text == name:
            label = edge.label
            if not any(values.label_can_be(label, each) for each in _ROOTS):
                return False
    for comparison in scope.comparisons:
        for each in (comparison.left, comparison.right):
            is_own = isinstance(each, tree.Reference) and each.owner.text == name
            if is_own and each.feature not in ("form", "__id__"):  # type: ignore[union-attr]
                return False
    return all(
        any(all(values.anchor_can(test) for test in alternative) for alternative in group)
        for group in scope.tests.get(name, ())
    )


def plan(
    checked: Checked, scope: Scope, outer: Planned | None, aliases: Aliases, *, is_wide: bool
) -> Planned:
    """The tables and conditions of a scope, given `outer`, the pattern around it, if any.

    Attention, coreference, order, comparisons and paths are added later (attention.py,
    clauses.py). With `is_wide`, nodes that no tree connects may be in different sentences of a
    document.
    """
    planned = Planned(scope, dict(outer.bound) if outer else {})
    if outer:
        planned.edges.update(outer.edges)
        planned.ends.update(outer.ends)
        planned.row_group.update(outer.row_group)
    planned.group = groups(scope, outer.group if outer else {}, is_wide=is_wide)
    rows = [name for name in scope.nodes if not _is_bare_head(checked, scope, name)]
    for name in rows:
        alias = aliases.new(name)
        planned.bound[name] = Bound(alias)
        planned.row_group[alias] = planned.group[name]
        planned.sources.append(Source(alias, may_be_anchor(scope, name)))
    for name in scope.nodes:
        if name not in rows:
            edge = _edge_from(scope, name)
            assert edge.target is not None
            planned.bound[name] = Bound(planned.bound[edge.target.text].row, is_head=True)
    for edge in scope.edges:
        _add_edge(planned, edge, aliases)
    _add_tests(planned)
    _add_distinctness(planned)
    return planned


def _edge_from(scope: Scope, name: str) -> tree.Edge:
    return next(
        edge
        for edge in scope.edges
        if edge.source is not None and edge.source.text == name and edge.target is not None
    )


def _is_bare_head(checked: Checked, scope: Scope, name: str) -> bool:
    """Whether the `head_index` of its dependent is all that is needed of a node."""
    has_dependent = any(
        edge.source is not None
        and edge.target is not None
        and edge.source.text == name
        and edge.target.text != name
        for edge in scope.edges
    )
    return has_dependent and not needs_row(checked, scope, name)


def _add_edge(planned: Planned, edge: tree.Edge, aliases: Aliases) -> None:
    """Add the conditions of an edge of the tree; its dependent's row has its head and label."""
    if edge.target is None:
        _add_star(planned, edge, aliases)
        return
    dependent = planned.bound[edge.target.text].row
    if edge.name is not None:
        planned.edges[edge.name.text] = dependent
    if edge.source is None:
        planned.add(terms.not_null(column(dependent, "head_index")), dependent)
    else:
        head = planned.bound[edge.source.text]
        if head == Bound(dependent, is_head=True):
            if edge.label is None:
                planned.add(terms.not_null(column(dependent, "head_index")), dependent)
        else:
            tie = terms.equal(column(dependent, "head_index"), head.index())
            planned.add(tie, dependent, head.row, is_tie=True)
    if edge.label is not None:
        for test in values.label_test(edge.label, dependent):
            planned.add(test, dependent)


def _add_star(planned: Planned, edge: tree.Edge, aliases: Aliases) -> None:
    """`A -[x]-> *`: some dependent. Without a name it must not multiply the hits of the pattern."""
    assert edge.source is not None
    head = planned.bound[edge.source.text]
    star = aliases.new("dependent")
    tie = terms.equal(column(star, "head_index"), head.index())
    tests = [] if edge.label is None else values.label_test(edge.label, star)
    if edge.name is None and planned.scope.outer is None:
        same = terms.equal(column(star, "sentence"), head.sentence())
        found = exists([terms.table("word", star)], [same, tie, *tests])
        planned.add(found, head.row)
        return
    planned.sources.append(Source(star))
    planned.row_group[star] = planned.group[edge.source.text]
    planned.hidden.append(star)
    planned.add(tie, star, head.row, is_tie=True)
    for test in tests:
        planned.add(test, star)
    if edge.name is not None:
        planned.edges[edge.name.text] = star


def exists(tables: list[exp.Table], conditions: list[exp.Expr]) -> exp.Expr:
    """That the first of the tables has rows for which the conditions hold."""
    select = exp.Select(
        expressions=[terms.number(1)],
        from_=exp.From(this=tables[0]),
        where=exp.Where(this=terms.every(conditions)),
    )
    return exp.Exists(this=select)


def _add_tests(planned: Planned) -> None:
    for name, tests in planned.scope.tests.items():
        bound = planned.bound[name]
        for group in tests:
            if not any(group):
                continue
            alternatives = [
                terms.every(values.feature_test(test, bound.row) for test in alternative)
                for alternative in group
            ]
            planned.add(terms.either(alternatives), bound.row)


def _add_distinctness(planned: Planned) -> None:
    """Add that nodes are different words, except those whose name ends in `$`."""
    scope = planned.scope
    apart = _known_apart(scope)
    others = scope.outer.nodes if scope.outer else []
    pairs = [*combinations(scope.nodes, 2)]
    pairs += [(new, old) for new in scope.nodes for old in others]
    for one, other in pairs:
        if one.endswith("$") or other.endswith("$") or frozenset((one, other)) in apart:
            continue
        left, right = planned.bound[one], planned.bound[other]
        if left.is_head != right.is_head and left.row == right.row:
            continue  # no word is its own head
        apart_here: exp.Expr = terms.unequal(left.index(), right.index())
        if planned.group[one] != planned.group[other]:
            elsewhere = terms.unequal(left.sentence(), right.sentence())
            apart_here = exp.Paren(this=terms.either([elsewhere, apart_here]))
        planned.add(apart_here, left.row, right.row)


def _known_apart(scope: Scope) -> set[frozenset[str]]:
    """The pairs of nodes that an edge, a path or their order makes different words already."""
    found: set[frozenset[str]] = set()
    each: Scope | None = scope
    while each is not None:
        for edge in each.edges:
            if edge.source is not None and edge.target is not None:
                found.add(frozenset((edge.source.text, edge.target.text)))
        for path in each.paths:
            found.add(frozenset((path.source.text, path.target.text)))
        for order in each.orders:
            if each.has_node(order.left.text) and each.has_node(order.right.text):
                found.add(frozenset((order.left.text, order.right.text)))
        each = each.outer
    return found
