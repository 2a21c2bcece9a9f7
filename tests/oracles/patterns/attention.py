"""What holds of the attention maps: what a word looks at most, and how much it looks at another."""

from __future__ import annotations

from collections.abc import Callable

from patterns.binding import Binding, Found, Place, Spot
from patterns.corpus import WORDS, Corpus
from patterns.items import SPECIAL, STAR, Edge, Heads
from patterns.regexes import RequestError

OPS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


class Attention:
    """The inputs of a run, looked up by word. With `wide` a star may be in another sentence."""

    def __init__(self, corpus: Corpus, wide: bool) -> None:
        self.inputs = corpus.inputs or []
        self.positions = corpus.positions
        self.wide = wide

    def read(self) -> list[Spot]:
        """The sentences that the run did not leave out."""
        return sorted({place[0] for place in self.positions})

    def check(self, how: Heads) -> None:
        """Raise RequestError for a head that the maps lack."""
        if not self.inputs:
            raise RequestError("attention needs a run")
        layers, heads = self.inputs[0].weights.shape[:2]
        layer = 1 if how.layer is None else how.layer
        head = 1 if how.head is None else how.head
        if not (1 <= layer <= layers and 1 <= head <= heads):
            raise RequestError(f"the model has no head {layer}-{head}")

    def edges(self, item: Edge, how: Heads, binding: Binding) -> list[Found]:
        """The heads in which one end looks at the other; an end is bound, a star or special."""
        found: dict[str, Found] = {}
        for at, start in self.ends(item.source, item.target, binding):
            for other, end in self.ends(item.target, item.source, binding):
                if other != at:
                    continue
                weights = self.inputs[at].weights
                for layer in range(weights.shape[0]) if how.layer is None else [how.layer - 1]:
                    for head in range(weights.shape[1]) if how.head is None else [how.head - 1]:
                        weight = float(weights[layer, head, start, end])
                        if how.op is None:
                            looks = self.inputs[at].peaks[layer, head, start] == end
                        else:
                            looks = OPS[how.op](weight, how.weight)
                        if looks:
                            label = f"{layer + 1}-{head + 1}"
                            source, target = (self.place(at, each) for each in (start, end))
                            found.setdefault(label, Found(source, target, label, weight))
        return list(found.values())

    def ends(self, name: str, other: str, binding: Binding) -> list[tuple[int, int]]:
        """The positions that an end of an edge can have; `other` is the name of the other end."""
        if name in binding.nodes:
            return self.positions.get(binding.nodes[name], [])
        bound = binding.nodes[other]
        return [
            (at, position)
            for at, _ in self.positions.get(bound, [])
            for position, (kind, sentence, _) in enumerate(self.inputs[at].positions)
            if (
                kind in WORDS and (self.wide or sentence == bound[0])
                if name == STAR
                else kind == name.lower()
            )
        ]

    def others(self, place: Place, how: Heads, looking: bool) -> list[Place]:
        """The words that a word looks at in these heads, or (not `looking`) that look at it."""
        found: dict[Place, None] = {}
        layers = slice(None) if how.layer is None else slice(how.layer - 1, how.layer)
        heads = slice(None) if how.head is None else slice(how.head - 1, how.head)
        for at, position in self.positions.get(place, []):
            given = self.inputs[at]
            peaks, weights = (each[layers, heads] for each in (given.peaks, given.weights))
            for other, (kind, sentence, index) in enumerate(given.positions):
                start, end = (position, other) if looking else (other, position)
                if how.op is None:
                    looks = bool((peaks[:, :, start] == end).any())
                else:
                    looks = any(
                        OPS[how.op](each, how.weight) for each in weights[:, :, start, end].flat
                    )
                if kind in WORDS and looks:
                    found[(sentence, index)] = None
        return list(found)

    def place(self, at: int, position: int) -> Place:
        return self.inputs[at].positions[position][1:]


def check_ends(item: Edge) -> None:
    """Raise RequestError for a special token with no word at the other end, or with no weight."""
    if not isinstance(item.how, Heads) or not {item.source, item.target} & set(SPECIAL):
        return
    if item.how.op is None:
        raise RequestError("what a word looks at most is a word: ask for a weight")
    if {item.source, item.target} <= {*SPECIAL, STAR}:
        raise RequestError("a word is due at one end of the attention")
