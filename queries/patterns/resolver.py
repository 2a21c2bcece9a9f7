"""Resolve the names of a request: which are nodes, which are edges, and where each is declared.

An edge, `->>`, `~`, attention or `N [..]` declares a node; order and comparisons do not. A name in
a `with` or `without` is local to it, unless the pattern declares it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from attnbank.queries.patterns import syntax
from attnbank.queries.patterns.parser import is_dotted
from attnbank.queries.patterns.syntax import SURPRISAL, Name, RequestError
from attnbank.sql.errors import CallError
from attnbank.sql.messages import did_you_mean

# Special tokens that can be ends of attention, and their kinds in table `position`.
SPECIAL = {"SEP": "sep", "CLS": "cls"}

# Nodes of a request, in all its blocks and keys together; nearly each becomes a join.
MOST_NODES = 60

# Shapes of the tree that `global` can test.
SHAPES = frozenset(
    f"is_{negated}{shape}"
    for shape in ("tree", "forest", "cyclic", "projective")
    for negated in ("", "not_")
)

_TEXT_FEATURES = frozenset({"form", "lemma", "upos", "xpos", "textform", "wordform"})

# Owners that mean the metadata, as in `meta.speaker`.
_METADATA_OWNERS = frozenset({"meta", "global", "document"})

_RESERVED_NAMES = _METADATA_OWNERS | {"sent_id", "sentence", "run"}

# Features that cannot be read from the row of a word alone.
_NOT_IN_WORD_ROW = frozenset({"mention", "entity_type", "textform", "wordform", "SpaceAfter"})

AnyEdge = syntax.Edge | syntax.AttentionEdge
_Clause = TypeVar("_Clause")


@dataclass
class Scope:
    """The clauses of the pattern, of a `with` or of a `without`.

    `outer` is the pattern around a block. `nodes` are the nodes that the scope itself declares.
    `tests` has the alternatives of each `N [..]|[..]` by node, also of nodes of `outer`. `named`
    has the edges with a name.
    """

    kind: Literal["pattern", "with", "without"]
    clauses: list[syntax.Clause]
    outer: Scope | None = None
    nodes: list[str] = field(default_factory=list)
    tests: dict[str, list[tuple[tuple[syntax.Test, ...], ...]]] = field(default_factory=dict)
    named: dict[str, AnyEdge] = field(default_factory=dict)

    def clauses_of_kind(self, kind: type[_Clause]) -> list[_Clause]:
        """Its clauses of one class; for Edge, those of the tree and of the enhanced graph."""
        return [clause for clause in self.clauses if isinstance(clause, kind)]

    @property
    def edges(self) -> list[syntax.Edge]:
        """Its edges of the tree."""
        return [edge for edge in self.clauses_of_kind(syntax.Edge) if not edge.is_enhanced]

    @property
    def enhanced(self) -> list[syntax.Edge]:
        """Its edges of the enhanced graph."""
        return [edge for edge in self.clauses_of_kind(syntax.Edge) if edge.is_enhanced]

    def has_node(self, name: str) -> bool:
        """Whether the scope or its outer pattern declares a node with that name."""
        return name in self.nodes or (self.outer is not None and self.outer.has_node(name))

    def edge(self, name: str) -> AnyEdge | None:
        """The edge with that name in the scope or its outer pattern; None if there is none."""
        edge = self.named.get(name)
        return self.outer.edge(name) if edge is None and self.outer is not None else edge

    def is_edge(self, name: str) -> bool:
        """Whether a name means an edge; a node with that name takes precedence."""
        return not self.has_node(name) and self.edge(name) is not None

    def is_metadata(self, reference: syntax.Reference) -> bool:
        """Whether a reference is to metadata: its owner is neither a node nor an edge."""
        return not self.has_node(reference.owner) and self.edge(reference.owner) is None

    def feature_references(self) -> Iterator[syntax.Reference]:
        """Every `N.f`, `e.f` and `meta.f` in the comparisons and presences of the scope."""
        return syntax.parts(syntax.Reference, self.clauses)


@dataclass
class ResolvedRequest:
    """A request with its names resolved, the keys that describe its hits and the keys to sort by.

    `blocks` are its `with` and `without`, `nested` the scopes of keys that are patterns.
    `sentence_tests` test metadata, or, as `present` tests such as `is_tree`, the tree's shape.
    """

    pattern: Scope
    blocks: list[Scope]
    sentence_tests: list[syntax.Test]
    keys: tuple[syntax.Key, ...] = ()
    sort: tuple[syntax.Key, ...] = ()
    nested: dict[syntax.Nested, Scope] = field(default_factory=dict)

    def scopes(self) -> list[Scope]:
        """The pattern, the blocks, and the scopes of keys that are patterns."""
        return [self.pattern, *self.blocks, *self.nested.values()]

    def attention(self) -> list[syntax.AttentionKey | syntax.AttentionEdge]:
        """Everything that reads attention: keys, then edges."""
        edges = [
            edge for scope in self.scopes() for edge in scope.clauses_of_kind(syntax.AttentionEdge)
        ]
        return [*self.keys_of(syntax.AttentionKey), *edges]

    def reads_weights(self) -> bool:
        """Whether it reads weights, not only the most attended words."""
        return any(
            (use.target if isinstance(use, syntax.AttentionKey) else use.sign) is not None
            for use in self.attention()
        )

    def nodes_with_surprisal(self, scope: Scope) -> list[str]:
        """The nodes of a scope whose surprisal is read in it, in a block inside it, or in a key."""
        names: set[str] = set()
        for inner in self.scopes():
            if inner is scope or inner.outer is scope:
                compared = (
                    reference.owner
                    for reference in inner.feature_references()
                    if reference.feature == SURPRISAL
                )
                tested = (name for name, tests in inner.tests.items() if tests_surprisal(tests))
                owners = {*compared, *tested}
                names |= {name for name in owners if inner is scope or name not in inner.nodes}
        if scope is self.pattern:
            keys = self.keys_of(syntax.Reference)
            names |= {key.owner for key in keys if key.feature == SURPRISAL}
        return [name for name in scope.nodes if name in names]

    def reads_surprisal(self) -> bool:
        """Whether it reads the surprisal of words."""
        looked_at = (key.feature for key in self.keys_of(syntax.AttentionKey))
        return any(map(self.nodes_with_surprisal, self.scopes())) or SURPRISAL in looked_at

    def reads_run(self) -> bool:
        """Whether it reads attention or surprisal, and so needs a run."""
        return bool(self.attention()) or self.reads_surprisal()

    def keys_of(self, kind: type[_Clause]) -> list[_Clause]:
        """The keys of one class, and the parts of that class in other keys, except in patterns."""
        all_keys = (*self.keys, *self.sort)
        return [
            *syntax.parts(kind, [key for key in all_keys if not isinstance(key, syntax.Nested)])
        ]


def tests_surprisal(tests: Iterable[object]) -> bool:
    """Whether some tests, or alternatives of tests, are of surprisal."""
    return any(test.feature == SURPRISAL for test in syntax.parts(syntax.Test, *tests))


def resolve_request(
    request: syntax.Request, keys: tuple[syntax.Key, ...] = (), sort: tuple[syntax.Key, ...] = ()
) -> ResolvedRequest:
    """Resolve the names of a request, of its keys and of the keys to sort by.

    Raises RequestError for an undeclared or ambiguous name and for what is not supported;
    CallError for more than MOST_NODES nodes.
    """
    of_pattern = [
        clause for block in request if block.kind == "pattern" for clause in block.clauses
    ]
    pattern = _declare_scope("pattern", of_pattern, None)
    resolved = ResolvedRequest(pattern, [], [], keys, sort)
    for block in request:
        if block.kind == "global":
            resolved.sentence_tests.extend(block.tests)
        elif block.kind != "pattern":
            resolved.blocks.append(_declare_scope(block.kind, block.clauses, pattern))
    for test in resolved.sentence_tests:
        if test.kind == "present":
            _check_shape(test.feature, test.position)
    for scope in (pattern, *resolved.blocks):
        _resolve_scope(scope)
    for key in (*keys, *sort):
        try:
            _check_key(resolved, key)
        except RequestError as error:
            raise error.in_keys() from None
    count = sum(len(scope.nodes) for scope in resolved.scopes())
    if count > MOST_NODES:
        raise CallError(
            f"The request has {count} nodes; the most is {MOST_NODES}.",
            "Split it into several requests.",
        )
    return resolved


def _check_key(resolved: ResolvedRequest, key: syntax.Key) -> None:
    term = key.term if isinstance(key, syntax.Interval) else key
    if isinstance(key, syntax.Nested):
        resolved.nested[key] = _declare_scope("with", key.clauses, resolved.pattern)
        _resolve_scope(resolved.nested[key])
    elif isinstance(term, syntax.Term):
        _check_term(resolved.pattern, term)
    else:
        for name in syntax.parts(Name, key):
            is_special = isinstance(key, syntax.AttentionKey) and name is key.target
            if not (is_special and name in SPECIAL):
                _check_node(resolved.pattern, name)
    if isinstance(key, syntax.AttentionKey) and key.feature in _NOT_IN_WORD_ROW:
        raise RequestError(
            key.position, f"{key.feature} of the most attended word is not available.",
            "Name it in the request: A =[3-1]=> B, and B in the keys.",
        )  # fmt: skip


def _declare_scope(
    kind: Literal["pattern", "with", "without"],
    clauses: Iterable[syntax.Clause],
    outer: Scope | None,
) -> Scope:
    scope = Scope(kind, [*clauses], outer)
    later: list[Name] = []  # SEP and CLS are nodes if any other clause declares them
    for clause in scope.clauses:
        if isinstance(clause, syntax.Node):
            _declare(scope, clause.name)
            scope.tests.setdefault(clause.name, []).append(clause.alternatives)
        elif isinstance(clause, syntax.AttentionEdge):
            if clause.source and clause.source not in SPECIAL:
                _declare(scope, clause.source)
            if clause.target and clause.target not in SPECIAL:
                later.append(clause.target)
        elif isinstance(clause, syntax.Tie) and not (
            isinstance(clause, syntax.Edge) and len(clause.ends) == 1
        ):
            _declare(scope, *clause.ends)
        if isinstance(clause, AnyEdge) and clause.name is not None:
            if scope.edge(clause.name) is not None:
                raise RequestError(
                    clause.name.position, f"two edges are called {clause.name}.",
                    "Rename one of them.",
                )  # fmt: skip
            scope.named[clause.name] = clause
    _declare(scope, *later)
    return scope


def _declare(scope: Scope, *names: Name) -> None:
    for name in names:
        if name in _RESERVED_NAMES:
            raise RequestError(
                name.position, f"a node cannot be called {name}.", "Use another name."
            )
        if not scope.has_node(name):
            scope.nodes.append(name)


# Whether the left and the right operand of an order may be edges.
_ORDER_OPERANDS = {
    "<": {(False, False)},
    "<<": {(False, False), (False, True), (True, True)},
    "><": {(True, True)},
    "<>": {(True, True)},
}


def _resolve_scope(scope: Scope) -> None:
    _mark_enhanced_edges(scope)
    for end in (end for edge in scope.clauses_of_kind(syntax.Edge) for end in edge.ends):
        _check_node(scope, end)
    for attends in scope.clauses_of_kind(syntax.AttentionEdge):
        if not any(map(scope.has_node, attends.ends)):
            raise RequestError(
                attends.position, "an edge needs a node on at least one side.", "Name a word there."
            )
    for order in scope.clauses_of_kind(syntax.Order):
        are_edges = scope.is_edge(order.left), scope.is_edge(order.right)
        for end, is_edge in zip((order.left, order.right), are_edges, strict=True):
            if not is_edge:
                _check_node(scope, end)
        if are_edges not in _ORDER_OPERANDS[order.sign]:
            what = "two edges" if order.sign in ("><", "<>") else "two nodes"
            raise RequestError(
                order.position, f"{order.sign} cannot go between these.", f"It goes between {what}."
            )
    for node, alternatives in scope.tests.items():
        for test in syntax.parts(syntax.Test, *alternatives):
            if test.feature == SURPRISAL and test.values:
                raise RequestError(
                    test.position, "surprisal is a number: compare it outside the brackets.",
                    f"Write {node} []; {node}.surprisal > 8.",
                )  # fmt: skip
    for at, clause in enumerate(scope.clauses):
        if isinstance(clause, syntax.Comparison):
            scope.clauses[at] = _resolve_comparison(scope, clause)
    for presence in scope.clauses_of_kind(syntax.Presence):
        reference = presence.reference
        _check_reference(scope, reference)
        if presence.is_present and scope.is_metadata(reference):
            _check_shape(reference.feature, reference.position)
    for name, edge in scope.named.items() if scope.outer is None else ():
        if name in scope.nodes:
            raise RequestError(
                edge.position, f"{name} is both a node and an edge.", "Rename one of them."
            )


def _mark_enhanced_edges(scope: Scope) -> None:
    """Let `e: A -> B; e.enhanced = yes` mean `e: A -[enhanced=yes]-> B`.

    An unmarked edge is one of the tree, for which the condition would never hold.
    """
    conditions = [
        (presence.reference, True)
        for presence in scope.clauses_of_kind(syntax.Presence)
        if presence.is_present
    ]
    conditions += [
        (comparison.left, (comparison.operator, str(comparison.right)) == ("=", "yes"))
        for comparison in scope.clauses_of_kind(syntax.Comparison)
        if isinstance(comparison.left, syntax.Reference)
    ]
    for reference, is_yes in conditions:
        edge = scope.edge(reference.owner)
        if reference.feature != "enhanced" or not isinstance(edge, syntax.Edge) or edge.is_enhanced:
            continue
        can_be = all(test.feature != syntax.WHOLE for test in edge.label)
        if not (is_yes and can_be and edge in scope.clauses):
            raise RequestError(
                reference.position, f"{edge.name} is an edge of the tree, not an enhanced edge.",
                f"Write {edge.name}: {edge.source or '*'} -[enhanced=yes]-> {edge.target or '*'}"
                " or -[E:obj]->.",
            )  # fmt: skip
        enhanced = replace(edge, is_enhanced=True)
        scope.clauses[scope.clauses.index(edge)] = enhanced
        scope.named[reference.owner] = enhanced


def _resolve_comparison(scope: Scope, comparison: syntax.Comparison) -> syntax.Comparison:
    left, right = comparison.left, _resolve_operand(scope, comparison.right)
    for side in (left, right):
        if not isinstance(side, syntax.Constant):
            _check_term(scope, side)
    is_ordered = comparison.operator not in ("=", "<>")
    has_surprisal = any(
        reference.feature == SURPRISAL and scope.has_node(reference.owner)
        for reference in syntax.parts(syntax.Reference, left, right)
    )
    for side in (left, right) if is_ordered or has_surprisal else ():
        if isinstance(side, syntax.Constant):
            _check_number(side, comparison.operator)
        if isinstance(side, syntax.Reference) and side.feature in _TEXT_FEATURES:
            if not is_ordered:
                raise RequestError(
                    side.position,
                    f"{side} is a text, and surprisal a number.",
                    "Compare two numbers.",
                )
            raise RequestError(
                side.position, f"{side.owner}.{side.feature} is a text, which has no order.",
                "Compare __id__, length, delta or a numeric feature.",
            )  # fmt: skip
    return replace(comparison, right=right)


def _resolve_operand(
    scope: Scope, right: syntax.Term | syntax.Constant
) -> syntax.Term | syntax.Constant:
    """Resolve the right side of a comparison: an unquoted `N.f` is a feature, not a text."""
    if isinstance(right, syntax.Sum):
        parts = tuple((sign, _resolve_operand(scope, part)) for sign, part in right.parts)
        return replace(right, parts=parts)  # type: ignore[arg-type]
    if not isinstance(right, syntax.Constant) or not is_dotted(right):
        return right
    owner, _, feature = str(right.value).partition(".")
    if not re.fullmatch(r"\w+", feature):
        raise RequestError(
            right.position, f"{right.value} is not a feature of a node.",
            f'Quote a text with a full stop: "{right.value}".',
        )  # fmt: skip
    if scope.has_node(owner) or scope.edge(owner) is not None or owner in _METADATA_OWNERS:
        return syntax.Reference(Name(owner, right.position), feature)
    raise RequestError(
        right.position, f"{owner} is not declared, and requests have no lexicons.",
        f'Declare it with an edge or brackets, {owner} []; quote a text: "{right.value}".',
    )  # fmt: skip


def _check_number(constant: syntax.Constant, operator: syntax.Operator) -> None:
    if isinstance(constant.value, syntax.Regex):
        fact = "a number cannot be compared with a regular expression."
        raise RequestError(constant.position, fact)
    if not _is_numeric_value(constant.value):
        raise RequestError(constant.position, f"{operator} must be followed by a number.")
    if not math.isfinite(float(constant.written)):
        raise RequestError(constant.position, f"{constant} is too large.", "Give a smaller number.")


def _is_numeric_value(value: syntax.Value) -> bool:
    try:
        return isinstance(value, str) and not math.isnan(float(value))
    except ValueError:
        return False


def _check_term(scope: Scope, term: syntax.Term) -> None:
    for part in syntax.terms_of_sum(term):
        if isinstance(part, syntax.Reference):
            _check_reference(scope, part)
        elif isinstance(part, syntax.NodeFunction):
            _check_node(scope, part.first)
            _check_node(scope, part.second)
        elif not _is_numeric_value(part.value):
            raise RequestError(
                part.position, f"{part} is not a number.", "Only numbers can be added."
            )


def _check_reference(scope: Scope, reference: syntax.Reference) -> None:
    owner = reference.owner
    if scope.is_metadata(reference):
        if owner == "global":
            _check_shape(reference.feature, reference.position)
        if owner not in _METADATA_OWNERS:
            raise _undeclared(owner)
        if reference.others:
            raise RequestError(
                reference.position, f"{reference} is not a key of the metadata.",
                "Alternatives are for features of nodes: X.ExtPos/upos.",
            )  # fmt: skip
        return
    is_node = scope.has_node(owner)
    if is_node and reference.others and SURPRISAL in (reference.feature, *reference.others):
        raise RequestError(
            reference.position, f"{reference} mixes a number and a text.",
            f"Ask for the surprisal alone: {owner}.surprisal.",
        )  # fmt: skip
    edge = None if is_node else scope.edge(owner)
    if isinstance(edge, syntax.Edge) and reference.feature == "weight":
        raise RequestError(
            reference.position, f"{owner} is an edge of the tree, which has no weight.",
            "Edges of attention have one: e: A =[3-1]=> B.",
        )  # fmt: skip


def _check_shape(name: str, position: syntax.SourcePosition) -> None:
    """Raise RequestError if `name` begins like a shape of the tree, but is none."""
    if name.startswith("is_") and name not in SHAPES:
        raise RequestError(
            position, f"{name} is unknown.",
            f"{did_you_mean(name, SHAPES)} It is one of: {', '.join(sorted(SHAPES))}.".strip(),
        )  # fmt: skip


def _check_node(scope: Scope, name: Name) -> None:
    if not scope.has_node(name):
        raise _undeclared(name)


def _undeclared(name: Name) -> RequestError:
    return RequestError(
        name.position, f"{name} is not declared.",
        f"Declare it with an edge or with brackets: {name} [].",
    )  # fmt: skip
