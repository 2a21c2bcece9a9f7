"""A request as a tree of our own types, which say what it means and not how it was written.

In the examples below, a name in capitals, such as `A` or `V`, is the name of a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, TypeVar

from attnbank.sql.errors import CallError

_MAX_FACT = 240


@dataclass(frozen=True)
class SourcePosition:
    """Where something is in the text of a request; line and column count from 1."""

    line: int
    column: int


class RequestError(CallError):
    """A request that cannot be read or is not supported; `position` says where, in `within`."""

    def __init__(
        self, position: SourcePosition, fact: str, remedy: str = "", within: str = "the request"
    ) -> None:
        if len(fact) > _MAX_FACT:  # it may quote a name or a value of any length
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
    """The name of a node or an edge; a node whose name ends in `$` may be another one's word."""

    position: SourcePosition

    def __new__(cls, text: str, position: SourcePosition) -> Name:
        """The name as it was written at a place."""
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
    """What a feature of a node, a label, a part of one or a key of the metadata must be.

    equal is one of the values; different is present, and none of them. In `[ExtPos=ADV/upos=ADV]`,
    `otherwise` is the test of upos, which counts where there is no ExtPos.
    """

    feature: str
    kind: Kind
    values: tuple[Value, ...]
    position: SourcePosition = field(compare=False)
    fallback: Test | None = None


# The feature of a node that is a number from table `surprisal`: how improbable its word is.
SURPRISAL = "surprisal"

# The feature of a test of a whole label: `-[a|b]->`, `-[^a|b]->`, `-[re".."]->`.
#
# Other features of a label are its part before the first colon, `1`, and the one after it, `2`.
WHOLE = ""

# What a label of the enhanced graph begins with.
ENHANCED = "E:"


@dataclass(frozen=True)
class Node:
    """`N [..]|[..]`: a node and its alternatives; one of these must hold, with all its tests."""

    name: Name
    alternatives: tuple[tuple[Test, ...], ...]


@dataclass(frozen=True)
class Tie:
    """What ties two nodes to each other. An end that is None is a star, that is, any word."""

    source: Name | None
    target: Name | None

    @property
    def ends(self) -> tuple[Name, ...]:
        """The names of its ends, without stars."""
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
        """The place of its first node."""
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
        named = "-".join(
            "*" if number is None else str(number) for number in (self.layer, self.head)
        )
        return "*" if named == "*-*" else named


@dataclass(frozen=True)
class LooseTie(Tie):
    """A tie that is not of the tree, so that its ends may be in different sentences."""


@dataclass(frozen=True)
class AttentionEdge(LooseTie):
    """`A =[3-1]=> B`: the head 3-1 attends most to B; `A =[3-1 > 0.5]=> B`: with such a weight.

    An end that is called `SEP` or `CLS` is a special token, unless a node has that name.
    """

    name: Name | None
    head: Head
    sign: Operator | None
    threshold: float | None
    position: SourcePosition = field(compare=False)


@dataclass(frozen=True)
class Corefers(LooseTie):
    """`A ~ B`: head words of two mentions of the same entity."""


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

    `N.ExtPos/upos` is the first feature that the node has, of `feature` and then the `others`.
    """

    owner: Name
    feature: str
    others: tuple[str, ...] = ()

    @property
    def position(self) -> SourcePosition:
        """The place of its owner."""
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

    `written` is a number with all its digits, of which Grew keeps six in a value that is a text.
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
        """The place of its first part."""
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
    """`A.Tense`, `!e.2`, `global.is_not_projective`: that something is there, or is not."""

    reference: Reference
    is_present: bool


Clause = Node | Edge | Path | AttentionEdge | Corefers | Order | Comparison | Presence


@dataclass(frozen=True)
class Block:
    """The clauses of a `pattern`, `without`, `with` or `global`, which must all hold together."""

    kind: Literal["pattern", "without", "with", "global"]
    clauses: tuple[Clause, ...]
    tests: tuple[Test, ...] = ()  # only in a global block, which has no clauses


# A whole request: its blocks, in the order in which they were written.
Request = tuple[Block, ...]


@dataclass(frozen=True)
class Nested:
    """`{ O =[3-1]=> V }` as a key: whether these clauses hold; `text` is what was written."""

    clauses: tuple[Clause, ...] = field(compare=False)
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class AttentionKey:
    """`weight(3-1, A, B)` and `looks_at(3-1, A).upos`, which has no target, as a key.

    The first is the weight from A to B. The second is the form or another feature of the word that
    A attends to most, or the weight on it (`looks_at(3-1, A).weight`).
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
    """`V#S#O` as a key: the order in which its nodes stand, `S << V << O`."""

    names: tuple[Name, ...]

    def __str__(self) -> str:
        return "#".join(self.names)


# The value of a Relation where no edge of the tree connects the nodes, as in Grew.
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

    Below `least` and from `most` on there is one interval each, if these are given.
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
    """Every part of a kind in some trees, in the order in which they were written."""
    for tree in trees:
        if isinstance(tree, kind):
            yield tree
        if isinstance(tree, tuple | list):
            yield from parts(kind, *tree)
        elif is_dataclass(tree):
            yield from parts(kind, *(getattr(tree, attribute.name) for attribute in fields(tree)))
