"""What the names of a request are bound to."""

from __future__ import annotations

from dataclasses import dataclass

Spot = int  # the place of a sentence in the corpus
Place = tuple[Spot, int]  # a sentence, and an index in it: 0 is the anchor


@dataclass(frozen=True)
class Found:
    """An edge that a name is bound to."""

    source: Place
    target: Place
    label: str
    weight: float | None = None  # of attention


@dataclass(frozen=True)
class Binding:
    """The nodes and the named edges that are bound."""

    nodes: dict[str, Place]
    edges: dict[str, Found]

    def with_node(self, name: str, place: Place) -> Binding:
        return Binding({**self.nodes, name: place}, self.edges)

    def with_edge(self, name: str, edge: Found) -> Binding:
        return Binding(self.nodes, {**self.edges, name: edge})

    def has_nodes(self, names: list[str]) -> bool:
        return all(name in self.nodes for name in names)

    def has(self, names: list[str], coming: set[str]) -> bool:
        """Whether all names are bound, and none of them will be bound anew (`coming`)."""
        return all(
            (name in self.nodes or name in self.edges) and name not in coming for name in names
        )
