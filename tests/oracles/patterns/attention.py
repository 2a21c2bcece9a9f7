"""What holds of the attention maps: what a word looks at most, and how much it looks at another."""

from __future__ import annotations

import operator
from collections.abc import Callable

from attnbank.queries.patterns.syntax import AttentionEdge, Head
from patterns.binding import Binding, BoundEdge, Place, Spot
from patterns.corpus import WORDS, Corpus

SPECIAL = ("CLS", "SEP")
OPS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


class Attention:
    """The inputs of a run, looked up by word. With `wide` a star may be in another sentence."""

    def __init__(self, corpus: Corpus, wide: bool) -> None:
        self.inputs = corpus.inputs or []
        self.positions = corpus.positions
        self.wide = wide

    def sentences(self) -> list[Spot]:
        """The sentences that the run did not leave out."""
        return sorted({place[0] for place in self.positions})

    def edges(self, edge: AttentionEdge, binding: Binding) -> list[BoundEdge]:
        """The heads in which one end looks at the other; an end is bound, a star or special."""
        by_label: dict[str, BoundEdge] = {}
        for at, start in self.ends(edge.source, edge.target, binding):
            for other, end in self.ends(edge.target, edge.source, binding):
                if other != at or (start == end and self.are_two_words(edge, binding)):
                    continue
                weights = self.inputs[at].weights
                for layer in _chosen(edge.head.layer, weights.shape[0]):
                    for head in _chosen(edge.head.head, weights.shape[1]):
                        weight = float(weights[layer, head, start, end])
                        if edge.sign is None or edge.threshold is None:
                            looks = self.inputs[at].peaks[layer, head, start] == end
                        else:
                            looks = OPS[edge.sign](weight, edge.threshold)
                        if looks:
                            label = f"{layer + 1}-{head + 1}"
                            source, target = (
                                binding.nodes.get(str(name), self.place(at, position))
                                for name, position in ((edge.source, start), (edge.target, end))
                            )
                            by_label.setdefault(label, BoundEdge(source, target, label, weight))
        return list(by_label.values())

    def ends(self, name: str | None, other: str | None, binding: Binding) -> list[tuple[int, int]]:
        """The positions that an end of an edge can have; `other` is the name of the other end."""
        if name in binding.nodes:
            return self.positions.get(binding.nodes[name], [])
        assert other is not None
        bound = binding.nodes[other]
        return [
            (at, position)
            for at, _ in self.positions.get(bound, [])
            for position, (kind, words) in enumerate(self.inputs[at].positions)
            if (
                kind in WORDS and (self.wide or words[0][0] == bound[0])
                if name is None
                else kind == name.lower()
            )
        ]

    def others(self, place: Place, edge: AttentionEdge, looking: bool) -> list[Place]:
        """The words that a word looks at in these heads, or (not `looking`) that look at it."""
        places: dict[Place, None] = {}
        for at, position in self.positions.get(place, []):
            inputs = self.inputs[at]
            which = _slices(edge.head)
            peaks, weights = inputs.peaks[which], inputs.weights[which]
            for other, (_, words) in enumerate(inputs.positions):
                start, end = (position, other) if looking else (other, position)
                if edge.sign is None or edge.threshold is None:
                    looks = bool((peaks[:, :, start] == end).any())
                else:
                    holds = OPS[edge.sign]
                    looks = any(holds(at, edge.threshold) for at in weights[:, :, start, end].flat)
                if looks:  # two words of one position have no weight between them
                    places |= dict.fromkeys(words if other != position else [place])
        return list(places)

    def place(self, at: int, position: int) -> Place:
        """The first word of a position; of a special token no place in the corpus."""
        return next(iter(self.inputs[at].positions[position][1]), (-1, 0))

    def are_two_words(self, edge: AttentionEdge, binding: Binding) -> bool:
        places = [binding.nodes[end] for end in edge.ends if end in binding.nodes]
        return len(set(places)) == 2


def _chosen(number: int | None, count: int) -> range:
    return range(count) if number is None else range(number - 1, number)


def _slices(head: Head) -> tuple[slice, ...]:
    return tuple(
        slice(None) if number is None else slice(number - 1, number)
        for number in (head.layer, head.head)
    )
