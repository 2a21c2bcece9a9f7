"""Resolving the names of a request: what is a node, what is an edge, and where it is declared.

An edge, `->>`, `~`, attention or `N [..]` declares a node; order and comparisons do not. A name in
a `with` or `without` is local to it, unless the pattern has declared it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.faults import RequestError
from attnbank.queries.patterns.language.tree import Name
from attnbank.sql.errors import CallError
from attnbank.sql.suggest import did_you_mean

SPECIAL = {"SEP": "sep", "CLS": "cls"}
"""The special tokens that attention may go to or come from, and their kind in table `position`."""
MOST_NODES = 60
"""The most nodes that a request may have, those of all its blocks and keys together."""
SHAPES = frozenset({
    "is_tree", "is_not_tree", "is_forest", "is_not_forest", "is_cyclic", "is_not_cyclic",
    "is_projective", "is_not_projective",
})  # fmt: skip
"""What `global` can ask of the tree."""
_TEXTS = frozenset({"form", "lemma", "upos", "xpos", "textform", "wordform"})
_EDGE_FEATURES = frozenset({"label", "length", "delta", "weight"})
_RESERVED = frozenset({"sent_id", "sentence", "run", "global", "meta", "document"})

_NOT_OF_LOOKS = frozenset({"mention", "entity_type", "textform", "wordform", "SpaceAfter"})
"""Features that cannot be read from the row of a word alone."""

AnyEdge = tree.Edge | tree.Attends


@dataclass
class Scope:
    """The clauses of the pattern, or of one `with` or `without`, grouped by their kind.

    `outer` is the pattern around a `with` or `without`. `nodes` are the nodes that the scope itself
    declares, in order. `tests` has its tests by node, also of nodes that `outer` declares: for each
    `N [..]|[..]` the alternatives. `named` has its edges by name.
    """

    kind: Literal["pattern", "with", "without"]
    outer: Scope | None = None
    nodes: list[str] = field(default_factory=list)
    tests: dict[str, list[tuple[tuple[tree.Test, ...], ...]]] = field(default_factory=dict)
    edges: list[tree.Edge] = field(default_factory=list)
    paths: list[tree.Path] = field(default_factory=list)
    attends: list[tree.Attends] = field(default_factory=list)
    corefers: list[tree.Corefers] = field(default_factory=list)
    orders: list[tree.Order] = field(default_factory=list)
    comparisons: list[tree.Comparison] = field(default_factory=list)
    presences: list[tree.Presence] = field(default_factory=list)
    named: dict[str, AnyEdge] = field(default_factory=dict)

    def has_node(self, name: str) -> bool:
        """Whether the scope or the pattern around it declares a node with that name."""
        return name in self.nodes or (self.outer is not None and self.outer.has_node(name))

    def edge(self, name: str) -> AnyEdge | None:
        """The edge with that name, of the scope or the pattern around it; None if there is none."""
        found = self.named.get(name)
        return self.outer.edge(name) if found is None and self.outer is not None else found

    def is_edge(self, name: str) -> bool:
        """Whether a name in a comparison means an edge; a node with that name has precedence."""
        return not self.has_node(name) and self.edge(name) is not None

    def references(self) -> Iterator[tree.Reference]:
        """Every `N.f`, `e.f` and `meta.f` in the comparisons and presences of the scope."""
        for comparison in self.comparisons:
            for each in (comparison.left, comparison.right):
                if isinstance(each, tree.Reference):
                    yield each
        for presence in self.presences:
            yield presence.reference

    def is_metadata(self, reference: tree.Reference) -> bool:
        """Whether a reference is to metadata: its owner is neither a node nor an edge."""
        owner = reference.owner.text
        return not self.has_node(owner) and self.edge(owner) is None


@dataclass
class Checked:
    """A request with its names resolved.

    `blocks` are the scopes of its `with` and `without`. `keys` are the values that describe its
    hits, `sort` those that they are sorted by; `nested` has the scopes of those keys that are
    patterns. `sentence_tests` are the tests of the metadata and of the tree's shape; `is_tree` and
    the like are `present` tests there.
    """

    pattern: Scope
    blocks: list[Scope]
    sentence_tests: list[tree.Test]
    keys: tuple[tree.Key, ...] = ()
    sort: tuple[tree.Key, ...] = ()
    nested: dict[tree.Nested, Scope] = field(default_factory=dict)

    def scopes(self) -> Iterator[Scope]:
        """The pattern, the blocks, and the scopes of keys that are patterns."""
        yield self.pattern
        yield from self.blocks
        yield from self.nested.values()

    @property
    def attends(self) -> bool:
        """Whether the request is about attention, and so needs a run."""
        return any(scope.attends for scope in self.scopes()) or any(self.looks())

    @property
    def reads_weights(self) -> bool:
        """Whether it reads every weight, and not only the most attended words."""
        attended = (each for scope in self.scopes() for each in scope.attends)
        return any(each.sign is not None for each in attended) or any(
            each.kind == "weight" for each in self.looks()
        )

    def looks(self) -> Iterator[tree.Looks]:
        """The keys that say what a head looks at."""
        return (each for each in (*self.keys, *self.sort) if isinstance(each, tree.Looks))


def check(
    request: tree.Request, keys: tuple[tree.Key, ...] = (), sort: tuple[tree.Key, ...] = ()
) -> Checked:
    """Resolve the names of a request, and of the keys that describe and sort its hits.

    Raises RequestError for a name that is not declared or has two meanings, and for what is not
    supported; CallError for more than MOST_NODES nodes.
    """
    pattern = _scope("pattern", request.pattern, None)
    made = Checked(pattern, [], [], keys, sort)
    for block in request.blocks:
        if block.kind == "global":
            made.sentence_tests.extend(block.tests)
        elif block.kind != "pattern":
            made.blocks.append(_scope(block.kind, block.clauses, pattern))
    for key in (*keys, *sort):
        if isinstance(key, tree.Nested):
            made.nested[key] = _scope("with", key.clauses, pattern)
        elif isinstance(key, tree.Looks):
            _check_looks(pattern, key)
        else:
            _check_term(pattern, key)
    for scope in made.scopes():
        _check_names(scope)
    count = sum(len(scope.nodes) for scope in made.scopes())
    if count > MOST_NODES:
        raise CallError(
            f"The request has {count} nodes; at most {MOST_NODES} can be asked for.",
            "Split it into several requests.",
        )
    return made


def _scope(
    kind: Literal["pattern", "with", "without"],
    clauses: Iterable[tree.Clause],
    outer: Scope | None,
) -> Scope:
    """Sort the clauses of a pattern or block into a scope, and declare its nodes and edges."""
    scope = Scope(kind, outer)
    for clause in clauses:
        if isinstance(clause, tree.Node):
            _declare(scope, clause.name)
            scope.tests.setdefault(clause.name.text, []).append(clause.alternatives)
        elif isinstance(clause, tree.Edge):
            if clause.source is not None and clause.target is not None:
                _declare(scope, clause.source, clause.target)
            scope.edges.append(clause)
            _name_edge(scope, clause)
        elif isinstance(clause, tree.Path):
            _declare(scope, clause.source, clause.target)
            scope.paths.append(clause)
        elif isinstance(clause, tree.Corefers):
            _declare(scope, *(end for end in (clause.one, clause.other) if end is not None))
            scope.corefers.append(clause)
        elif isinstance(clause, tree.Attends):
            if clause.source is not None and clause.source.text not in SPECIAL:
                _declare(scope, clause.source)
            scope.attends.append(clause)
            _name_edge(scope, clause)
        elif isinstance(clause, tree.Order):
            scope.orders.append(clause)
        elif isinstance(clause, tree.Comparison):
            scope.comparisons.append(clause)
        else:
            scope.presences.append(clause)
    # Only now, since SEP and CLS are nodes if any other clause declares them.
    for attends in scope.attends:
        if attends.target is not None and attends.target.text not in SPECIAL:
            _declare(scope, attends.target)
    return scope


def _declare(scope: Scope, *names: Name) -> None:
    for name in names:
        if not scope.has_node(name.text):
            if name.text in _RESERVED:
                raise RequestError(
                    name.place, f"no node can be called {name}.", "Give it another name."
                )
            scope.nodes.append(name.text)


def _name_edge(scope: Scope, edge: AnyEdge) -> None:
    if edge.name is None:
        return
    if scope.edge(edge.name.text) is not None:
        raise RequestError(
            edge.name.place, f"the edge {edge.name} is named twice.", "Give one another name."
        )
    scope.named[edge.name.text] = edge


def _check_names(scope: Scope) -> None:
    """Raise RequestError if a name in a scope is not declared, or is used in a wrong way."""
    for edge in scope.edges:
        for end in (edge.source, edge.target):
            if end is not None:
                _check_node(scope, end)
    for attends in scope.attends:
        if not any(scope.has_node(end) for end in attends.ends):
            raise RequestError(
                attends.place, "an edge has a node at one end at least.", "Name a word there."
            )
    for order in scope.orders:
        ends = [order.left, order.right]
        edges = [_is_edge(scope, end) for end in ends]
        allowed = {"<": [[False, False]], "<<": [[False, False], [False, True], [True, True]]}
        if edges not in allowed.get(order.sign, [[True, True]]):
            what = "two edges" if order.sign in ("><", "<>") else "two nodes"
            raise RequestError(order.place, f"{order.sign} cannot stand between these.",
                               f"It stands between {what}.")  # fmt: skip
    for at, comparison in enumerate(scope.comparisons):
        scope.comparisons[at] = _checked_comparison(scope, comparison)
    for presence in scope.presences:
        _check_reference(scope, presence.reference)
    if scope.outer is None:
        for name in scope.named:
            if name in scope.nodes:
                place = scope.named[name].place
                raise RequestError(place, f"{name} is a node and an edge.", "Rename one of them.")


def _checked_comparison(scope: Scope, comparison: tree.Comparison) -> tree.Comparison:
    """The comparison with its names resolved: an unquoted `N.f` may be a feature or a text.

    Raises RequestError if its sides cannot be compared.
    """
    left, right = comparison.left, comparison.right
    if isinstance(right, tree.Literal_) and not right.is_quoted and isinstance(right.value, str):
        owner, dot, feature = right.value.partition(".")
        if dot and (scope.has_node(owner) or scope.edge(owner) is not None):
            right = tree.Reference(Name(owner, right.place), feature, right.place)
            comparison = tree.Comparison(left, comparison.operator, right, comparison.place)
    for each in (left, right):
        if not isinstance(each, tree.Literal_):
            _check_term(scope, each)
    if comparison.operator in ("=", "<>"):
        return comparison
    for each in (left, right):
        if isinstance(each, tree.Reference) and each.feature in _TEXTS:
            raise RequestError(
                each.place, f"{each.owner}.{each.feature} is a text, which has no order.",
                "Compare __id__, length, delta or a feature of numbers.",
            )  # fmt: skip
        if isinstance(each, tree.Literal_) and not _is_number(each.value):
            raise RequestError(each.place, f"{comparison.operator} is followed by a number.")
    return comparison


def _is_number(value: tree.Value) -> bool:
    try:
        return isinstance(value, str) and float(value) == float(value)
    except ValueError:
        return False


def _check_term(scope: Scope, term: tree.Term) -> None:
    if isinstance(term, tree.Reference):
        _check_reference(scope, term)
        return
    _check_node(scope, term.one)
    _check_node(scope, term.other)


def _check_looks(scope: Scope, key: tree.Looks) -> None:
    _check_node(scope, key.source)
    if key.target is not None and key.target.text not in SPECIAL:
        _check_node(scope, key.target)
    if key.feature in _NOT_OF_LOOKS:
        raise RequestError(
            key.place, f"{key.feature} of what a head looks at cannot be told.",
            "Name it in the request: A =[3-1]=> B, and B in the keys.",
        )  # fmt: skip


def _check_reference(scope: Scope, reference: tree.Reference) -> None:
    """Raise RequestError for a reference to something that does not exist."""
    owner = reference.owner
    if scope.has_node(owner.text):
        return
    edge = scope.edge(owner.text)
    if edge is None:
        if owner.text == "global" and reference.feature.startswith("is_"):
            check_shape(reference.feature, reference.place)
        if owner.text not in ("meta", "global", "document"):
            raise _unknown(scope, owner)
        return
    is_part = isinstance(edge, tree.Edge)
    if reference.feature == "weight" and is_part:
        raise RequestError(
            reference.place, f"{owner} is an edge of the tree, which has no weight.",
            "Edges of attention have one: e: A =[3-1]=> B.",
        )  # fmt: skip


def check_shape(name: str, place: tree.Place) -> None:
    """Raise RequestError if `name`, an `is_...`, is not one of SHAPES."""
    if name not in SHAPES:
        raise RequestError(
            place, f"{name} is unknown.",
            f"{did_you_mean(name, SHAPES)} It is one of: {', '.join(sorted(SHAPES))}.".strip(),
        )  # fmt: skip


def _is_edge(scope: Scope, name: Name) -> bool:
    if scope.has_node(name.text):
        return False
    if scope.edge(name.text) is None:
        raise _unknown(scope, name)
    return True


def _check_node(scope: Scope, name: Name) -> None:
    if not scope.has_node(name.text):
        raise _unknown(scope, name)


def _unknown(scope: Scope, name: Name) -> RequestError:
    return RequestError(
        name.place, f"nothing declares {name}.",
        f"An edge does, or brackets: {name} [].",
    )  # fmt: skip
