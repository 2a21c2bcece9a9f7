"""Which nodes of a request are in the same sentence.

Within sentences all are. Within documents, two nodes that only attention or coreference connects
may be in different sentences, and nodes that nothing connects stay with the first node.
"""

from __future__ import annotations

from collections.abc import Iterable

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import Scope


def groups(scope: Scope, outer: dict[str, int], *, is_wide: bool) -> dict[str, int]:
    """The number of the sentence of each node of a scope, and of the pattern around it, `outer`.

    The first node's number is 0; the numbers in `outer` are kept.
    """
    names = [*outer, *(name for name in scope.nodes if name not in outer)]
    if not is_wide:
        return dict.fromkeys(names, 0)
    # `tied` joins the nodes of one sentence, `linked` those that anything at all connects.
    tied = _Union(names)
    first: dict[int, str] = {}
    for name, number in outer.items():
        tied.join(first.setdefault(number, name), name)
    for pair in _tree_ties(scope):
        tied.join(*pair)
    linked = _Union(names)
    for name in names:
        linked.join(name, tied.root(name))
    for one, other in _links(scope):
        linked.join(one, other)
    for name in names:  # the pattern's own call has connected all the outer nodes already
        if name in outer:
            linked.join(names[0], name)
    for name in names:  # what nothing connects goes to the sentence of the first node
        if linked.root(name) != linked.root(names[0]):
            tied.join(names[0], name)
            linked.join(names[0], name)
    numbers: dict[str, int] = {tied.root(name): number for name, number in outer.items()}
    for name in names:
        numbers.setdefault(tied.root(name), max(numbers.values(), default=-1) + 1)
    return {name: numbers[tied.root(name)] for name in names}


def _tree_ties(scope: Scope) -> Iterable[tuple[str, str]]:
    """The pairs of nodes that an edge, a path, an order or a distance puts into one sentence."""
    for edge in scope.edges:
        if edge.source is not None and edge.target is not None:
            yield edge.source.text, edge.target.text
    for path in scope.paths:
        yield path.source.text, path.target.text
    for order in scope.orders:
        ends = [_node_of(scope, name.text) for name in (order.left, order.right)]
        if ends[0] is not None and ends[1] is not None:
            yield ends[0], ends[1]
    for comparison in scope.comparisons:
        for each in (comparison.left, comparison.right):
            if isinstance(each, tree.Measure):
                yield each.one.text, each.other.text


def _node_of(scope: Scope, name: str) -> str | None:
    """The node with that name, or a node at an end of the tree edge with that name, or None."""
    if scope.has_node(name):
        return name
    edge = scope.edge(name)
    if not isinstance(edge, tree.Edge):
        return None
    end = edge.target or edge.source
    return None if end is None else end.text


def _links(scope: Scope) -> Iterable[tuple[str, str]]:
    """The pairs of nodes that attention or coreference connects."""
    for attends in scope.attends:
        match [end for end in attends.ends if scope.has_node(end)]:
            case [one, other]:
                yield one, other
    for pair in scope.corefers:
        match pair.ends:
            case [one, other]:
                yield one, other


class _Union:
    """Disjoint sets of names, joined pair by pair (union-find)."""

    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}

    def root(self, name: str) -> str:
        """The name that represents the set of a name."""
        while self._above[name] != name:
            name = self._above[name]
        return name

    def join(self, one: str, other: str) -> None:
        """Join the sets of two names into one."""
        self._above[self.root(other)] = self.root(one)
