"""A request as a tree of our own types, which say what it means and not how it was written.

A name in capitals, such as `A` or `V`, is a node's in the examples below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, order=True)
class Place:
    """Where something stands in the text of a request; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Name:
    """A name of a node or an edge. Two are equal where they read alike, wherever they stand.

    A node whose name ends in `$` may be the same word as another node.
    """

    text: str
    place: Place = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Regex:
    """A regular expression as it was written: `re"..."` (Str) or `/.../` (PCRE).

    `columns` says for each character of the text how far it stands from the place.
    """

    text: str
    dialect: Literal["str", "pcre"]
    ignores_case: bool = False
    place: Place = field(default=Place(1, 1), compare=False)
    columns: tuple[int, ...] = field(default=(), compare=False)


Value = str | Regex
Operator = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Test:
    """What a feature of a node, a part of a label or a key of the metadata must be.

    `kind` is one of: equal (one of the values), different (there, and none of the values),
    present, absent.
    """

    feature: str
    kind: Literal["equal", "different", "present", "absent"]
    values: tuple[Value, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Node:
    """`N [..]|[..]`: a node, and the alternatives, each of tests that hold together."""

    name: Name
    alternatives: tuple[tuple[Test, ...], ...]


@dataclass(frozen=True)
class WholeLabel:
    """`-[a|b]->`, or with `^` any other label than these."""

    names: tuple[str, ...]
    is_negated: bool = False


@dataclass(frozen=True)
class RegexLabel:
    """`-[re".."]->`."""

    regex: Regex


@dataclass(frozen=True)
class PartLabel:
    """`-[1=a, 2=b]->`: tests of what stands before and after the first colon."""

    tests: tuple[Test, ...]


Label = WholeLabel | RegexLabel | PartLabel


@dataclass(frozen=True)
class Edge:
    """`e: A -[..]-> B`: A is the head of B. An end that is None is a star."""

    name: Name | None
    source: Name | None
    target: Name | None
    label: Label | None
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Path:
    """`A ->> B`: A stands somewhere above B in the tree."""

    source: Name
    target: Name
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Head:
    """An attention head by layer and head, which count from 1; None stands for any."""

    layer: int | None
    head: int | None

    def __str__(self) -> str:
        if self.layer is None and self.head is None:
            return "*"
        return "-".join("*" if each is None else str(each) for each in (self.layer, self.head))


@dataclass(frozen=True)
class Attends:
    """`A =[3-1]=> B`: what A looks at most by the head is B.

    With a sign and a threshold, `A =[3-1 > 0.5]=> B`: the weight from A to B is above it. An end
    that is `SEP` or `CLS` is a special token, where no node is called so; one that is None is a
    star, some word.
    """

    name: Name | None
    source: Name | None
    target: Name | None
    head: Head
    sign: Operator | None
    threshold: float | None
    place: Place = field(compare=False)

    @property
    def ends(self) -> tuple[str, ...]:
        """What its ends are called, but for a star."""
        return tuple(end.text for end in (self.source, self.target) if end is not None)


@dataclass(frozen=True)
class Corefers:
    """`A ~ B`: they are head words of two mentions of one entity. An end that is None is a star."""

    one: Name | None
    other: Name | None
    place: Place = field(compare=False)

    @property
    def ends(self) -> tuple[str, ...]:
        """What its ends are called, but for a star."""
        return tuple(end.text for end in (self.one, self.other) if end is not None)


@dataclass(frozen=True)
class Order:
    """`A < B` (next to each other), `A << B`; of edges also `><` (crossing), `<>` (apart)."""

    left: Name
    sign: Literal["<", "<<", "><", "<>"]
    right: Name
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Reference:
    """`N.upos`, `e.label`, `meta.speaker`."""

    owner: Name
    feature: str
    place: Place = field(compare=False)

    def __str__(self) -> str:
        return f"{self.owner}.{self.feature}"


@dataclass(frozen=True)
class Measure:
    """`delta(A, B)`, `length(A, B)` and `proj_size(A)`, in words.

    `proj_size`, how many words but punctuation a node and what is below it are, has its node twice.
    """

    kind: str
    one: Name
    other: Name
    place: Place = field(compare=False)

    def __str__(self) -> str:
        nodes = str(self.one) if self.kind == "proj_size" else f"{self.one}, {self.other}"
        return f"{self.kind}({nodes})"


Term = Reference | Measure


@dataclass(frozen=True)
class Literal_:
    """A value on the right of a comparison."""

    value: Value
    is_quoted: bool
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Comparison:
    """`N.Number <> M.Number`, `e.length > 3`."""

    left: Term
    operator: Operator
    right: Term | Literal_
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Presence:
    """`A.Tense`, `!e.2`, `global.is_not_projective`."""

    reference: Reference
    is_present: bool
    place: Place = field(compare=False)


Clause = Node | Edge | Path | Attends | Corefers | Order | Comparison | Presence


@dataclass(frozen=True)
class Block:
    """The clauses of a `pattern`, `without`, `with` or `global`, which hold together."""

    kind: Literal["pattern", "without", "with", "global"]
    clauses: tuple[Clause, ...]
    tests: tuple[Test, ...] = ()  # of a global block


@dataclass(frozen=True)
class Request:
    """A request: what all its blocks say."""

    blocks: tuple[Block, ...]

    @property
    def pattern(self) -> tuple[Clause, ...]:
        """The clauses of all its patterns."""
        return tuple(
            clause for block in self.blocks if block.kind == "pattern" for clause in block.clauses
        )


@dataclass(frozen=True)
class Nested:
    """`{ O =[3-1]=> V }` as a key: whether a `with` of it holds. `text` is as it was written."""

    clauses: tuple[Clause, ...] = field(compare=False)
    text: str
    place: Place = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Looks:
    """`weight(3-1, A, B)` and `looks_at(3-1, A).upos`, as a key.

    The first is the weight from A to B by the head, the second what A looks at most by it: the form
    of that word, another feature of it, or the weight (`looks_at(3-1, A).weight`).
    """

    kind: Literal["weight", "looks_at"]
    head: Head
    source: Name
    target: Name | None
    feature: str
    place: Place = field(compare=False)

    @property
    def ends(self) -> tuple[str, ...]:
        """What the nodes are called that it is of."""
        return tuple(each.text for each in (self.source, self.target) if each is not None)

    def __str__(self) -> str:
        if self.target is not None:
            return f"weight({self.head}, {self.source}, {self.target})"
        asked = "" if self.feature == "form" else f".{self.feature}"
        return f"looks_at({self.head}, {self.source}){asked}"


Key = Term | Nested | Looks
