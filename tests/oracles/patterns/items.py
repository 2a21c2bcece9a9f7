"""The items that a request consists of."""

from __future__ import annotations

from dataclasses import dataclass, field

from patterns.regexes import Regex

STAR = "*"
SURPRISAL = "surprisal"
SPECIAL = ("CLS", "SEP")
FLAGS = ("is_tree", "is_projective", "is_forest", "is_cyclic")


@dataclass(frozen=True)
class Test:
    """A test of a feature, of a part of a label, or of metadata; `op` is =, <>, some or none.

    `otherwise` counts where the feature is missing: `[ExtPos=ADV/upos=ADV]`.
    """

    key: str
    op: str
    values: tuple[str, ...] = ()
    regex: Regex | None = None
    otherwise: Test | None = None

    def holds(self, found: list[str]) -> bool:
        """Whether the test holds for these values; there are none if the feature is missing."""
        if self.op in ("some", "none"):
            return bool(found) == (self.op == "some")
        fitting = [self.regex.fits(each) if self.regex else each in self.values for each in found]
        return any(each == (self.op == "=") for each in fitting)


@dataclass(frozen=True)
class Node:
    """`N [..]|[..]`: all tests of at least one alternative must hold."""

    name: str
    alternatives: tuple[tuple[Test, ...], ...]


@dataclass(frozen=True)
class Label:
    """A test of the label of a dependency; for `->` it is empty."""

    whole: tuple[str, ...] | None = None
    negated: bool = False
    regex: Regex | None = None
    parts: tuple[Test, ...] = ()

    @property
    def enhanced(self) -> bool:
        """Whether it is a label of the enhanced graph: E:obj, enhanced=yes."""
        written = [*(self.whole or ()), *([self.regex.text] if self.regex else [])]
        return any(each.startswith("E:") for each in written) or any(
            each.key == "enhanced" and each.op != "none" for each in self.parts
        )


@dataclass(frozen=True)
class Heads:
    """`3-1 > 0.5`: a layer and a head, None for any, and a bound on the weight.

    Without `op`, it is about the word that is looked at most.
    """

    layer: int | None
    head: int | None
    op: str | None = None
    weight: float = 0.0


@dataclass(frozen=True)
class Edge:
    """`e: A -[..]-> B` or `e: A =[..]=> B`; an end may be a star, or a special token."""

    name: str | None
    source: str
    target: str
    how: Label | Heads


@dataclass(frozen=True)
class Corefer:
    """`A ~ B`: head words of two mentions of the same entity."""

    one: str
    other: str


@dataclass(frozen=True)
class Order:
    """`A < B`, `A << B` or `A ->> B` for nodes; `<<`, `><` and `<>` for edges."""

    one: str
    op: str
    other: str


@dataclass(frozen=True)
class Attribute:
    """`N.f`, `e.label`, or a measure: delta(A, B), length(A, B), proj_size(A)."""

    owner: str
    key: str
    other: str | None = None


@dataclass(frozen=True)
class Sum:
    """Terms that are added, each times 1 or -1."""

    parts: tuple[tuple[int, Attribute | str | float], ...]


Term = Attribute | Sum | str | float | Regex


@dataclass(frozen=True)
class Comparison:
    """`N.f <> M.f`, `e.length > 3`, `N.f` alone (op some) and `!N.f` (op none)."""

    left: Term
    op: str
    right: Term | None = None


@dataclass(frozen=True)
class Meta:
    """A test of the sentence's metadata."""

    test: Test


@dataclass(frozen=True)
class Flag:
    """`is_tree`, or with `wanted` False `is_not_tree`."""

    name: str
    wanted: bool


Join = Edge | Corefer
Item = Node | Edge | Corefer | Order | Comparison | Meta | Flag


@dataclass
class Block:
    """A pattern, with, without or global: its items, and its nodes whose name ends in `$`."""

    kind: str
    items: list[Item] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)


@dataclass
class Request:
    """A pattern, and the blocks that filter its hits."""

    pattern: Block
    filters: list[Block]
