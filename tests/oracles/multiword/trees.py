"""What heads find of the trees, dependent by dependent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multiword.passes import Input
from multiword.text import Corpus, Word

DIRECTIONS = ("dependent_to_head", "head_to_dependent")
LATER = "later_to_earlier"  # of causal models
Head = tuple[int, int, str]
Counts = tuple[int, int]


@dataclass
class Arc:
    """A dependent and its head as positions of an input; `gold` is None for a root."""

    input: int
    word: Word
    position: int
    gold: int | None

    @property
    def relation(self) -> str:
        assert self.word.folded is not None
        return self.word.folded


def places(input: Input) -> dict[int, int]:
    """The position that each word of an input stands in."""
    return {word: at for at, position in enumerate(input.positions) for word in position.words}


def arcs(corpus: Corpus, inputs: Sequence[Input]) -> tuple[list[Arc], list[Arc]]:
    """The arcs of a run that are judged, and those between two words of one position."""
    judged, inside = [], []
    for number, input in enumerate(inputs):
        stands = places(input)
        for place, position in stands.items():
            word = corpus.words[place]
            if word.governor == -1:
                continue
            gold = None if word.governor is None else stands[word.governor]
            arc = Arc(number, word, position, gold)
            if gold == position:
                inside.append(arc)
            else:
                judged.append(arc)
    return judged, inside


def found(input: Input, arc: Arc, head: Head) -> int:
    """The position that a head finds for a dependent; -1 for none."""
    layer, number, direction = head
    is_from_dependent = direction == DIRECTIONS[0]
    if direction == LATER:
        assert arc.gold is not None
        is_from_dependent = arc.position > arc.gold
    peaks = input.attended if is_from_dependent else input.attending
    return int(peaks[layer - 1, number - 1, arc.position])


def heads(inputs: Sequence[Input]) -> Iterator[Head]:
    layers, numbers = inputs[0].maps.shape[:2]
    for layer in range(1, layers + 1):
        for number in range(1, numbers + 1):
            for direction in (*DIRECTIONS, LATER):
                yield layer, number, direction


def _names(arc: Arc) -> list[str]:
    """The rows that an arc counts in: a root has no head to find, and counts in `all` alone."""
    return ["all"] if arc.gold is None else ["all", arc.relation]


def is_seen(arc: Arc, direction: str) -> bool:
    """Whether a direction of a causal model can find the head: before its dependent, or after."""
    if arc.gold is None:
        return False
    if direction == LATER:
        return True
    return arc.gold < arc.position if direction == DIRECTIONS[0] else arc.gold > arc.position


def accuracy(
    judged: Sequence[Arc], inputs: Sequence[Input], *, causal: bool = False
) -> dict[tuple[str, Head], Counts]:
    """(correct, n) of each relation and head, and of `all`."""
    right: Counter[tuple[str, Head]] = Counter()
    total: Counter[tuple[str, Head]] = Counter()
    every = list(heads(inputs))
    for arc in judged:
        for head in every:
            if not is_seen(arc, head[2]) if causal else head[2] == LATER:
                continue
            hit = found(inputs[arc.input], arc, head) == arc.gold
            for name in _names(arc):
                total[name, head] += 1
                right[name, head] += hit
    return {key: (right[key], total[key]) for key in total}
