"""What the names of a request are bound to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Spot = int  # the place of a sentence in the corpus
Place = tuple[Spot, int]  # a sentence, and an index in it: 0 is the anchor


@dataclass(frozen=True)
class BoundEdge:
    """An edge that a name is bound to."""

    source: Place
    target: Place
    label: str
    weight: float | None = None  # of attention


@dataclass(frozen=True)
class Binding:
    """The nodes and the named edges that are bound."""

    nodes: dict[str, Place]
    edges: dict[str, BoundEdge]

    def with_node(self, name: str, place: Place) -> Binding:
        return Binding({**self.nodes, name: place}, self.edges)

    def with_edge(self, name: str, edge: BoundEdge) -> Binding:
        return Binding(self.nodes, {**self.edges, name: edge})

    def has(self, names: Iterable[str]) -> bool:
        return all(name in self.nodes or name in self.edges for name in names)
