"""Plan the tables and conditions of one scope of a request: the pattern, a `with` or a `without`.

A node is a row of `word`. If it can be the node before the first word, the anchor, it is a row of
an expression that has all words and one anchor per sentence. A node that must only be the head of
another one needs no row: its index is the `head_index` of its dependent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations, product
from typing import NamedTuple

from attnbank.queries.patterns import expressions, syntax
from attnbank.queries.patterns.expressions import all_of, any_of
from attnbank.queries.patterns.resolver import ResolvedRequest, Scope, tests_surprisal
from attnbank.sql.names import quoted


@dataclass(frozen=True)
class Bound:
    """The row of a node: `row` is its alias, or with `is_head` the alias of its dependent's row."""

    row: str
    is_head: bool = False

    @property
    def index(self) -> str:
        """Its index in the sentence, which counts from 1; 0 for the anchor."""
        return f"{self.row}.{'head_index' if self.is_head else 'index'}"

    @property
    def sentence_id(self) -> str:
        """The id of its sentence."""
        return f"{self.row}.sentence"


class NamedEdge(NamedTuple):
    """The alias of the row with an edge's label, and its ends; None if one is a special token."""

    row: str
    ends: tuple[Bound, Bound] | None


class Condition(NamedTuple):
    """A condition, and the aliases of its rows; a tie can serve as their join condition."""

    expression: str
    rows: frozenset[str]
    is_tie: bool


class FromItem(NamedTuple):
    """A table in the `from` of a scope.

    With `has_sentence` it is also joined on its column `sentence`; with `has_surprisal` it has a
    column with the surprisal of the word.
    """

    alias: str
    table: str
    may_be_anchor: bool
    has_sentence: bool
    has_surprisal: bool


# Tables and aliases that are the same in every SELECT, so that no node may have them.
_FIXED = frozenset({
    "this_sentence", "sentence", "document", "corpus", "word", "hit", "left_edge", "right_edge",
    "loose", "sequence", "position", "word_position", "peak", "distribution", "source", "target",
    "looked_at", "mention", "one_mention", "other_mention", "enhanced_dependency", "subtree",
    "previous", "start", "above", "surprisal", "surprisal_looked_at",
})  # fmt: skip


class Aliases:
    """Creates unique aliases. Names that differ only in case count as equal, as in SQL."""

    def __init__(self) -> None:
        self._used = set(_FIXED)

    def new(self, wanted: str, *, is_own: bool = True) -> str:
        """The wanted name, numbered if it is used; quoted unless it is our own (`is_own`)."""
        alias, number = wanted, 1
        while alias.casefold() in self._used:
            number += 1
            alias = f"{wanted}_{number}"
        self._used.add(alias.casefold())
        return alias if is_own else quoted(alias)


@dataclass
class ScopePlan:
    """The tables (`sources`) and conditions of a scope.

    `bound` and `edges` have the rows of nodes and named edges. `group` has the number of the
    sentence of each node (see `_sentence_numbers`), `row_group` that of each row that has one, by
    alias. `hidden` are the aliases of stars, which are not columns of the result. Aliases are
    written as in SQL, quoted if a user may have chosen them.
    """

    scope: Scope
    aliases: Aliases
    cross_sentence: bool
    bound: dict[str, Bound]
    edges: dict[str, NamedEdge]
    group: dict[str, int]
    row_group: dict[str, int]
    sources: list[FromItem] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def add_condition(self, expression: str, *rows: str, is_tie: bool = False) -> None:
        """Add a condition on the rows with these aliases."""
        self.conditions.append(Condition(expression, frozenset(rows), is_tie))

    def join(
        self, alias: str, group: int | None, table: str = "word", *, may_be_anchor: bool = False,
        has_surprisal: bool = False,
    ) -> None:  # fmt: skip
        """Add a table to the `from`; `group` is the number of its sentence, None if it has none."""
        has_sentence = group is not None
        self.sources.append(FromItem(alias, table, may_be_anchor, has_sentence, has_surprisal))
        if group is not None:
            self.row_group[alias] = group


def is_reflexive(path: syntax.Path) -> bool:
    """Whether the ends of `A ->> B` may be one node; in Grew a node is its own ancestor."""
    return path.source == path.target or any(end.endswith("$") for end in path.ends)


def plan_scope(
    request: ResolvedRequest,
    scope: Scope,
    outer: ScopePlan | None,
    aliases: Aliases,
    *,
    cross_sentence: bool,
) -> ScopePlan:
    """Plan a scope; `outer` is the plan of the pattern around it, if any.

    clauses.py then adds attention, coreference, order, comparisons and paths.
    """
    groups = _sentence_numbers(scope, outer.group if outer else {}, cross_sentence=cross_sentence)
    planned = ScopePlan(scope, aliases, cross_sentence, {}, {}, groups, {})
    if outer:
        planned.bound |= outer.bound
        planned.edges |= outer.edges
        planned.row_group |= outer.row_group
    # A node whose only part is to be the head of another needs no row of its own.
    dependents = {
        edge.source: edge.target
        for edge in reversed(scope.edges)
        if edge.source is not None and edge.target is not None and edge.source != edge.target
    }
    bare = {name for name in dependents if not _needs_row(request, scope, name)}
    surprising = request.nodes_with_surprisal(scope)
    for name in scope.nodes:
        if name not in bare:
            alias = aliases.new(name, is_own=False)
            planned.bound[name] = Bound(alias)
            planned.join(
                alias, groups[name], may_be_anchor=_may_be_anchor(scope, name),
                has_surprisal=name in surprising,
            )  # fmt: skip
    for name, dependent in dependents.items():
        if name in bare and name in scope.nodes:
            planned.bound[name] = Bound(planned.bound[dependent].row, is_head=True)
    for edge in scope.edges:
        _add_edge(planned, edge)
    for name in scope.tests:
        row = planned.bound[name].row
        for condition in tests_of(scope, name, row):
            planned.add_condition(condition, row)
    _add_distinctness(planned)
    return planned


def tests_of(scope: Scope, node: str, row: str, *, of_word: bool = False) -> list[str]:
    """The conditions of each `N [..]|[..]` of a node on the word in a row.

    With `of_word` the row is one of table `word`, which has no surprisal; such tests are left out.
    """
    return [
        any_of(
            all_of(expressions.feature_test(test, row) for test in tests) for tests in alternatives
        )
        for alternatives in scope.tests.get(node, ())
        if any(alternatives) and not (of_word and tests_surprisal(alternatives))
    ]


def _needs_row(resolved: ResolvedRequest, scope: Scope, name: str) -> bool:
    in_keys = (syntax.Reference, syntax.AttentionKey, syntax.RelationKey)
    names = syntax.parts(syntax.Name, *map(resolved.keys_of, in_keys))
    if scope.outer is None and name in set(names):
        return True
    return any(
        any(syntax.parts(syntax.Test, inner.tests.get(name)))
        or any(edge.target == name for edge in inner.edges)
        or any(name in tie.ends for tie in inner.clauses_of_kind(syntax.LooseTie))
        or any(ref.owner == name and ref.feature != "__id__" for ref in inner.feature_references())
        for inner in resolved.scopes()
        if inner is scope or (inner.outer is scope and name not in inner.nodes)
    )


def _may_be_anchor(scope: Scope, name: str) -> bool:
    """Whether a node can be the one before the first word; True if unclear."""
    edges = scope.clauses_of_kind(syntax.Edge)
    orders = scope.clauses_of_kind(syntax.Order)
    references = syntax.parts(syntax.Reference, scope.clauses_of_kind(syntax.Comparison))
    compared = [
        {reference.feature, *reference.others}
        for reference in references
        if reference.owner == name
    ]
    if (
        any(edge.target == name for edge in edges)
        or any(
            path.target == name and not is_reflexive(path)
            for path in scope.clauses_of_kind(syntax.Path)
        )
        or any(name in tie.ends for tie in scope.clauses_of_kind(syntax.LooseTie))
        or any(order.right == name and scope.has_node(order.left) for order in orders)
        or any(order.left == name and scope.is_edge(order.right) for order in orders)
        or any(features.isdisjoint({"form", "__id__"}) for features in compared)
    ):
        return False
    return all(
        edge.is_enhanced or expressions.can_be_root(edge.label)  # in DEPS any label may stand at 0
        for edge in edges if edge.source == name
    ) and all(
        any(all(map(expressions.anchor_can_pass, alternative)) for alternative in group)
        for group in scope.tests.get(name, ())
    )  # fmt: skip


def _add_edge(planned: ScopePlan, edge: syntax.Edge) -> None:
    """Add the conditions of an edge of the tree, on the row of its dependent."""
    head = None if edge.source is None else planned.bound[edge.source]
    if edge.target is None:
        assert head is not None and edge.source is not None
        dependent = planned.aliases.new("dependent")
        tie = f"{dependent}.head_index = {head.index}"
        tests = [expressions.label_test(test, f"{dependent}.deprel") for test in edge.label]
        # `A -[x]-> *` is some dependent; without a name it must not multiply the pattern's hits.
        if edge.name is None and planned.scope.outer is None:
            planned.add_condition(
                exists_row("word", dependent, head.sentence_id, [tie, *tests]), head.row
            )
            return
        planned.join(dependent, planned.group[edge.source])
        planned.hidden.append(dependent)
        planned.add_condition(tie, dependent, head.row, is_tie=True)
    else:
        dependent = planned.bound[edge.target].row
        is_own_head = head == Bound(dependent, is_head=True)
        if head is None or is_own_head:  # a word may have a label and no head
            planned.add_condition(f"{dependent}.head_index is not null", dependent)
        elif not is_own_head:
            tie = f"{dependent}.head_index = {head.index}"
            planned.add_condition(tie, dependent, head.row, is_tie=True)
        tests = [expressions.label_test(test, f"{dependent}.deprel") for test in edge.label]
    for test in tests:
        planned.add_condition(test, dependent)
    if edge.name is not None:
        ends = Bound(dependent, is_head=True), Bound(dependent)
        planned.edges[edge.name] = NamedEdge(dependent, ends)


def exists_row(table: str, alias: str, sentence: str, conditions: Iterable[str]) -> str:
    """The condition that a table has a row in a sentence for which the conditions hold."""
    within = all_of([f"{alias}.sentence = {sentence}", *conditions])
    return f"exists(select 1 from {table} as {alias} where {within})"


def _add_distinctness(planned: ScopePlan) -> None:
    """Add the conditions that nodes are different words, unless their name ends in `$`."""
    scope = planned.scope
    known_different = set(_pairs_already_different(scope))
    outer_nodes = scope.outer.nodes if scope.outer else []
    for first, second in chain(combinations(scope.nodes, 2), product(scope.nodes, outer_nodes)):
        if first.endswith("$") or second.endswith("$"):
            continue
        if frozenset((first, second)) in known_different:
            continue
        left, right = planned.bound[first], planned.bound[second]
        if left.is_head != right.is_head and left.row == right.row:
            continue  # no word is its own head
        is_other = f"{left.index} <> {right.index}"
        if planned.group[first] != planned.group[second]:
            is_other = any_of([f"{left.sentence_id} <> {right.sentence_id}", is_other])
        planned.add_condition(is_other, left.row, right.row)


def _pairs_already_different(scope: Scope | None) -> Iterator[frozenset[str]]:
    """The pairs of nodes that an edge, a path or an order makes different words already."""
    while scope is not None:
        for tie in (*scope.edges, *scope.clauses_of_kind(syntax.Path)):
            if not (isinstance(tie, syntax.Path) and is_reflexive(tie)):
                yield frozenset(tie.ends)
        for order in scope.clauses_of_kind(syntax.Order):
            if scope.has_node(order.left) and scope.has_node(order.right):
                yield frozenset((order.left, order.right))
        scope = scope.outer


def _sentence_numbers(
    scope: Scope, outer: dict[str, int], *, cross_sentence: bool
) -> dict[str, int]:
    """Number the sentences of a scope's nodes, keeping the numbers of `outer`.

    Without `cross_sentence` all are 0. Nodes that nothing connects join the first node's sentence.
    """
    names = [*outer, *(name for name in scope.nodes if name not in outer)]
    if not cross_sentence:
        return dict.fromkeys(names, 0)
    # Two union-finds: `tied` of nodes in one sentence, `linked` of nodes that any clause connects.
    # The nodes of `outer` were connected when the pattern was planned.
    new = {name: at for at, name in enumerate(names, start=len(names))}
    tied = new | outer
    linked = new | dict.fromkeys(outer, 0)
    for pair in _tree_ties(scope):
        _unite(tied, *pair)
        _unite(linked, *pair)
    for tie in scope.clauses_of_kind(syntax.LooseTie):
        _unite(linked, *filter(scope.has_node, tie.ends))
    for name in names:
        if linked[name] != linked[names[0]]:
            _unite(tied, names[0], name)
            _unite(linked, names[0], name)
    numbers = {tied[name]: number for name, number in outer.items()}
    for name in names:
        numbers.setdefault(tied[name], max(numbers.values(), default=-1) + 1)
    return {name: numbers[tied[name]] for name in names}


def _unite(sets: dict[str, int], *names: str) -> None:
    """Union the sets of these names (union-find: `sets` maps a name to its set)."""
    joined = {sets[name] for name in names}
    for name, number in sets.items():
        if number in joined:
            sets[name] = min(joined)


def _tree_ties(scope: Scope) -> Iterator[tuple[str, ...]]:
    """The nodes that an edge, a path, an order or a distance puts into one sentence."""
    for tie in (*scope.clauses_of_kind(syntax.Edge), *scope.clauses_of_kind(syntax.Path)):
        yield tie.ends
    for order in scope.clauses_of_kind(syntax.Order):
        yield (*_nodes_of(scope, order.left), *_nodes_of(scope, order.right))
    for measure in syntax.parts(syntax.NodeFunction, scope.clauses_of_kind(syntax.Comparison)):
        yield measure.first, measure.second


def _nodes_of(scope: Scope, name: str) -> tuple[str, ...]:
    if scope.has_node(name):
        return (name,)
    edge = scope.edge(name)
    return edge.ends if isinstance(edge, syntax.Edge) else ()
