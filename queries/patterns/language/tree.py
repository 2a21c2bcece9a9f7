"""A request as a tree of our own types, which say what it means and not how it was written.

In the examples below, a name in capitals, such as `A` or `V`, is the name of a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, order=True)
class Place:
    """Where something is in the text of a request; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Name:
    """The name of a node or an edge. Names with the same text are equal, whatever their places.

    A node whose name ends in `$` may be the same word as another node.
    """

    text: str
    place: Place = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Regex:
    """A regular expression as it was written: `re"..."` (Str) or `/.../` (PCRE).

    `columns` has the distance of each character of `text` from `place`, in columns, for errors.
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

    `kind` is one of: equal (one of the values), different (present, and none of the values),
    present, absent.
    """

    feature: str
    kind: Literal["equal", "different", "present", "absent"]
    values: tuple[Value, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Node:
    """`N [..]|[..]`: a node and its alternatives; one of these must hold, with all its tests."""

    name: Name
    alternatives: tuple[tuple[Test, ...], ...]


@dataclass(frozen=True)
class WholeLabel:
    """`-[a|b]->`: one of these labels; with `is_negated`, `-[^a|b]->`, any other label."""

    names: tuple[str, ...]
    is_negated: bool = False


@dataclass(frozen=True)
class RegexLabel:
    """`-[re".."]->`: a label that the regular expression matches."""

    regex: Regex


@dataclass(frozen=True)
class PartLabel:
    """`-[1=a, 2=b]->`: tests of the part before the first colon (1) and after it (2)."""

    tests: tuple[Test, ...]


Label = WholeLabel | RegexLabel | PartLabel


@dataclass(frozen=True)
class Edge:
    """`e: A -[..]-> B`: A is the head of B. An end that is None is a star, that is, any word."""

    name: Name | None
    source: Name | None
    target: Name | None
    label: Label | None
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Path:
    """`A ->> B`: A is an ancestor of B in the tree."""

    source: Name
    target: Name
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Head:
    """An attention head by layer and head, which count from 1; None means any."""

    layer: int | None
    head: int | None

    def __str__(self) -> str:
        if self.layer is None and self.head is None:
            return "*"
        return "-".join("*" if each is None else str(each) for each in (self.layer, self.head))


@dataclass(frozen=True)
class Attends:
    """`A =[3-1]=> B`: B is the word that A attends to most in the head 3-1.

    With a sign and a threshold, `A =[3-1 > 0.5]=> B`: the weight from A to B is above 0.5. An end
    that is called `SEP` or `CLS` is a special token, unless a node has that name. An end that is
    None is a star, that is, any word.
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
        """The names of its ends, without stars."""
        return tuple(end.text for end in (self.source, self.target) if end is not None)


@dataclass(frozen=True)
class Corefers:
    """`A ~ B`: head words of two mentions of the same entity. An end that is None is a star."""

    one: Name | None
    other: Name | None
    place: Place = field(compare=False)

    @property
    def ends(self) -> tuple[str, ...]:
        """The names of its ends, without stars."""
        return tuple(end.text for end in (self.one, self.other) if end is not None)


@dataclass(frozen=True)
class Order:
    """`A < B` (B is the next word), `A << B` (B is later); for edges `<<`, `><` and `<>`.

    `e << f` means that the edge e lies within f (so may a node), `e >< f` that they cross, and
    `e <> f` that they are apart.
    """

    left: Name
    sign: Literal["<", "<<", "><", "<>"]
    right: Name
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Reference:
    """`N.upos`, `e.label`, `meta.speaker`: a feature of a node, an edge or the metadata."""

    owner: Name
    feature: str
    place: Place = field(compare=False)

    def __str__(self) -> str:
        return f"{self.owner}.{self.feature}"


@dataclass(frozen=True)
class Measure:
    """`delta(A, B)`, `length(A, B)` and `proj_size(A)`, in words.

    `delta` is the index of B minus that of A, `length` its absolute value. `proj_size` is the
    number of words, without punctuation, in the subtree of A; here `other` is A too.
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
    """A value on the right of a comparison. `is_quoted` is true for regular expressions too."""

    value: Value
    is_quoted: bool
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Comparison:
    """`N.Number <> M.Number`, `e.length > 3`: two terms, or a term and a value, compared."""

    left: Term
    operator: Operator
    right: Term | Literal_
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Presence:
    """`A.Tense`, `!e.2`, `global.is_not_projective`: that something is there, or is not."""

    reference: Reference
    is_present: bool
    place: Place = field(compare=False)


Clause = Node | Edge | Path | Attends | Corefers | Order | Comparison | Presence


@dataclass(frozen=True)
class Block:
    """The clauses of a `pattern`, `without`, `with` or `global`, which must all hold together."""

    kind: Literal["pattern", "without", "with", "global"]
    clauses: tuple[Clause, ...]
    tests: tuple[Test, ...] = ()  # only in a global block, which has no clauses


@dataclass(frozen=True)
class Request:
    """A whole request: its blocks, in the order in which they were written."""

    blocks: tuple[Block, ...]

    @property
    def pattern(self) -> tuple[Clause, ...]:
        """The clauses of all its `pattern` blocks, which count as one pattern."""
        return tuple(
            clause for block in self.blocks if block.kind == "pattern" for clause in block.clauses
        )


@dataclass(frozen=True)
class Nested:
    """`{ O =[3-1]=> V }` as a key: whether a `with` block of these clauses holds.

    `text` is what was written, with each run of white space replaced by one space.
    """

    clauses: tuple[Clause, ...] = field(compare=False)
    text: str
    place: Place = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Looks:
    """`weight(3-1, A, B)` and `looks_at(3-1, A).upos`, as a key.

    The first is the weight from A to B in the head. The second is the word that A attends to most
    in it: its form, another of its features, or the weight on it (`looks_at(3-1, A).weight`).
    """

    kind: Literal["weight", "looks_at"]
    head: Head
    source: Name
    target: Name | None
    feature: str
    place: Place = field(compare=False)

    @property
    def ends(self) -> tuple[str, ...]:
        """The names of its nodes."""
        return tuple(each.text for each in (self.source, self.target) if each is not None)

    def __str__(self) -> str:
        if self.target is not None:
            return f"weight({self.head}, {self.source}, {self.target})"
        asked = "" if self.feature == "form" else f".{self.feature}"
        return f"looks_at({self.head}, {self.source}){asked}"


Key = Term | Nested | Looks
