"""The abstract syntax tree of a request.

In the examples below, capitals such as `A` or `V` are names of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, TypeVar

from attnbank.sql.errors import CallError

_MAX_FACT = 240


@dataclass(frozen=True)
class SourcePosition:
    """A position in the text of a request; line and column count from 1."""

    line: int
    column: int


class RequestError(CallError):
    """A request is invalid or not supported; `position` is the position in `within`."""

    def __init__(
        self, position: SourcePosition, fact: str, remedy: str = "", within: str = "the request"
    ) -> None:
        if len(fact) > _MAX_FACT:  # it may quote a name or value of any length
            fact = f"{fact[: _MAX_FACT // 2]} … {fact[-_MAX_FACT // 2 :]}"
        super().__init__(
            f"Line {position.line}, column {position.column} of {within}: {fact}", remedy
        )
        self.position = position
        self._fact = fact

    def in_keys(self) -> RequestError:
        """The same error, with its position in the keys (--columns, --sort, --by)."""
        return RequestError(self.position, self._fact, self.remedy, "the keys")


class Name(str):
    """The name of a node or an edge, with its position.

    A node whose name ends in `$` may be the same word as another node.
    """

    position: SourcePosition

    def __new__(cls, text: str, position: SourcePosition) -> Name:
        """Create a name."""
        name = super().__new__(cls, text)
        name.position = position
        return name


@dataclass(frozen=True)
class Regex:
    """`re"..."` (Str) or `/.../` (PCRE).

    `columns` has the distance of each character of `text` from `position`.
    """

    text: str
    dialect: Literal["str", "pcre"]
    ignores_case: bool
    position: SourcePosition = field(compare=False)
    columns: tuple[int, ...] = field(compare=False)


Value = str | Regex
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
Kind = Literal["equal", "different", "present", "absent"]


@dataclass(frozen=True)
class Test:
    """A test of a feature of a node, a label, a part of a label or a key of metadata.

    equal means one of the values; different means present, and none of them. In
    `[ExtPos=ADV/upos=ADV]`, `fallback` is the test of upos, which applies if there is no ExtPos.
    """

    feature: str
    kind: Kind
    values: tuple[Value, ...]
    position: SourcePosition = field(compare=False)
    fallback: Test | None = None


# The feature of a node that is the surprisal of its word, from table `surprisal`.
SURPRISAL = "surprisal"

# The feature of a test of a whole label: `-[a|b]->`, `-[^a|b]->`, `-[re".."]->`.
#
# Other features of a label are its part before the first colon, `1`, and the one after it, `2`.
WHOLE = ""

# The prefix of a label of the enhanced graph.
ENHANCED = "E:"


@dataclass(frozen=True)
class Node:
    """`N [..]|[..]`: a node and its alternatives; all tests of one alternative must hold."""

    name: Name
    alternatives: tuple[tuple[Test, ...], ...]


@dataclass(frozen=True)
class Tie:
    """A clause that connects two nodes. An end that is None is a star: any word."""

    source: Name | None
    target: Name | None

    @property
    def ends(self) -> tuple[Name, ...]:
        """Its ends without stars."""
        return tuple(end for end in (self.source, self.target) if end is not None)


@dataclass(frozen=True)
class Edge(Tie):
    """`e: A -[..]-> B`: A is the head of B, and all the tests of the label hold.

    With `is_enhanced` it is an edge of the enhanced graph, `-[E:obj]->` or `-[enhanced=yes]->`,
    and `label` is without `E:` and `enhanced`.
    """

    name: Name | None
    label: tuple[Test, ...]
    is_enhanced: bool

    @property
    def position(self) -> SourcePosition:
        """The position of its first node."""
        return self.ends[0].position


@dataclass(frozen=True)
class Path(Tie):
    """`A ->> B`: A is an ancestor of B in the tree. Neither end is a star."""

    source: Name
    target: Name


@dataclass(frozen=True)
class Head:
    """An attention head by layer and head, which count from 1; None means any."""

    layer: int | None
    head: int | None

    def __str__(self) -> str:
        text = "-".join(
            "*" if number is None else str(number) for number in (self.layer, self.head)
        )
        return "*" if text == "*-*" else text


@dataclass(frozen=True)
class LooseTie(Tie):
    """A tie outside of the tree, whose ends may be in different sentences."""


@dataclass(frozen=True)
class AttentionEdge(LooseTie):
    """`A =[3-1]=> B`: A attends most to B in head 3-1; `A =[3-1 > 0.5]=> B`: with such a weight.

    An end `SEP` or `CLS` is a special token, unless a node has that name.
    """

    name: Name | None
    head: Head
    sign: Operator | None
    threshold: float | None
    position: SourcePosition = field(compare=False)


@dataclass(frozen=True)
class Corefers(LooseTie):
    """`A ~ B`: A and B are head words of two mentions of the same entity."""


@dataclass(frozen=True)
class Order:
    """`A < B` (B is the next word), `A << B` (B is later).

    `e << f`: the edge (or node) e lies within f; `e >< f`: they cross; `e <> f`: they are apart.
    """

    left: Name
    sign: Literal["<", "<<", "><", "<>"]
    right: Name
    position: SourcePosition = field(compare=False)


@dataclass(frozen=True)
class Reference:
    """`N.upos`, `e.label`, `meta.speaker`: a feature of a node, an edge or the metadata.

    `N.ExtPos/upos` is the first feature that the node has, of `feature` and then `others`.
    """

    owner: Name
    feature: str
    others: tuple[str, ...] = ()

    @property
    def position(self) -> SourcePosition:
        """The position of its owner."""
        return self.owner.position

    def __str__(self) -> str:
        return f"{self.owner}.{'/'.join((self.feature, *self.others))}"


@dataclass(frozen=True)
class NodeFunction:
    """`delta(A, B)`: the index of B minus that of A; `length(A, B)`: its absolute value.

    `proj_size(A)` is the number of words, without punctuation, in the subtree of A; A is also
    `second`.
    """

    kind: str
    first: Name
    second: Name
    position: SourcePosition = field(compare=False)

    def __str__(self) -> str:
        nodes = self.first if self.kind == "proj_size" else f"{self.first}, {self.second}"
        return f"{self.kind}({nodes})"


@dataclass(frozen=True)
class Constant:
    """A value on the right of a comparison. `is_quoted` is true for regular expressions too.

    `written` has all digits of a number; `value`, like Grew, keeps six.
    """

    value: Value
    is_quoted: bool
    written: str
    position: SourcePosition = field(compare=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Sum:
    """`delta(A, B) - delta(B, C) + 1`: terms and numbers, each with its sign."""

    parts: tuple[tuple[Literal["+", "-"], Reference | NodeFunction | Constant], ...]

    @property
    def position(self) -> SourcePosition:
        """The position of its first part."""
        return self.parts[0][1].position

    def __str__(self) -> str:
        return " ".join(f"{sign} {part}" for sign, part in self.parts).removeprefix("+ ")


Term = Reference | NodeFunction | Sum


def terms_of_sum(term: Term | Constant) -> tuple[Reference | NodeFunction | Constant, ...]:
    """The parts of a sum; of anything else only itself."""
    return tuple(part for _, part in term.parts) if isinstance(term, Sum) else (term,)


@dataclass(frozen=True)
class Comparison:
    """`N.Number <> M.Number`, `e.length > 3`: two terms, or a term and a value, compared."""

    left: Term
    operator: Operator
    right: Term | Constant


@dataclass(frozen=True)
class Presence:
    """`A.Tense`, `!e.2`, `global.is_not_projective`: a feature is present, or absent."""

    reference: Reference
    is_present: bool


Clause = Node | Edge | Path | AttentionEdge | Corefers | Order | Comparison | Presence


@dataclass(frozen=True)
class Block:
    """The clauses of a `pattern`, `without`, `with` or `global`, which must all hold together."""

    kind: Literal["pattern", "without", "with", "global"]
    clauses: tuple[Clause, ...]
    tests: tuple[Test, ...] = ()  # only in a global block, which has no clauses


# A request: its blocks in order.
Request = tuple[Block, ...]


@dataclass(frozen=True)
class Nested:
    """`{ O =[3-1]=> V }` as a key: whether these clauses hold; `text` is the source text."""

    clauses: tuple[Clause, ...] = field(compare=False)
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class AttentionKey:
    """`weight(3-1, A, B)` or `looks_at(3-1, A).upos` as a key; `looks_at` has no target.

    The first is the weight from A to B. The second is the form or another feature of the word that
    A attends to most, or its weight (`looks_at(3-1, A).weight`).
    """

    head: Head
    source: Name
    target: Name | None
    feature: str
    position: SourcePosition = field(compare=False)

    def __str__(self) -> str:
        if self.target is not None:
            return f"weight({self.head}, {self.source}, {self.target})"
        suffix = "" if self.feature == "form" else f".{self.feature}"
        return f"looks_at({self.head}, {self.source}){suffix}"


@dataclass(frozen=True)
class Arrangement:
    """`V#S#O` as a key: the order of its nodes in the sentence, `S << V << O`."""

    names: tuple[Name, ...]

    def __str__(self) -> str:
        return "#".join(self.names)


# The value of a RelationKey if no edge of the tree connects the nodes, as in Grew.
NO_RELATION = "__none__"


@dataclass(frozen=True)
class RelationKey:
    """`X -> Y` as a key: the label of the edge of the tree from X to Y, or NO_RELATION.

    With `is_mutual`, `X <-> Y`, an edge from Y to X counts too; its label begins with `-`.
    """

    source: Name
    target: Name
    is_mutual: bool = False

    def __str__(self) -> str:
        return f"{self.source} {'<->' if self.is_mutual else '->'} {self.target}"


@dataclass(frozen=True)
class Interval:
    """`N.f[gap=100, min=0, max=500]` as a key: the interval that a number is in, `[100, 200[`.

    If set, `least` and `most` bound the intervals: what lies below or above is one interval each.
    """

    term: Reference | NodeFunction
    gap: int
    least: int | None
    most: int | None

    def __str__(self) -> str:
        options = (("gap", self.gap), ("min", self.least), ("max", self.most))
        arguments = ", ".join(f"{name}={value}" for name, value in options if value is not None)
        return f"{self.term}[{arguments}]"


Key = Term | Nested | AttentionKey | Arrangement | RelationKey | Interval

_Part = TypeVar("_Part")


def parts(kind: type[_Part], *trees: object) -> Iterator[_Part]:
    """Yield every node of a class in some trees, in the order of the text."""
    for tree in trees:
        if isinstance(tree, kind):
            yield tree
        if isinstance(tree, tuple | list):
            yield from parts(kind, *tree)
        elif is_dataclass(tree):
            yield from parts(kind, *(getattr(tree, attribute.name) for attribute in fields(tree)))
