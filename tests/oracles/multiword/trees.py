"""What heads find of the trees: accuracy, offsets, the best head, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

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
    return {word: at for at, each in enumerate(input.positions) for word in each.words}


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


def offsets(
    judged: Sequence[Arc],
    inputs: Sequence[Input],
    corpus: Corpus,
    tried: Sequence[int] = (-3, -2, -1, 1, 2, 3),
    *,
    clamped: bool = False,
) -> dict[tuple[str, int], Counts]:
    """(correct, n) of each relation and offset, in positions."""
    right: Counter[tuple[str, int]] = Counter()
    total: Counter[tuple[str, int]] = Counter()
    for arc in judged:
        own = [
            at
            for at, each in enumerate(inputs[arc.input].positions)
            if any(corpus.words[word].sentence == arc.word.sentence for word in each.words)
        ]
        for offset in tried:
            guess = arc.position + offset
            hit = guess == arc.gold
            if clamped and guess < min(own):
                hit = arc.gold is None
            elif clamped:
                hit = min(guess, max(own)) == arc.gold
            for name in _names(arc):
                total[name, offset] += 1
                right[name, offset] += hit
    return {key: (right[key], total[key]) for key in total}


def best(
    counted: dict[tuple[str, Head], Counts], baseline: dict[tuple[str, int], Counts]
) -> dict[str, tuple[int, Head, int, int, int]]:
    """Of each relation n, its best head and what that finds, its best offset and what that does."""
    rows = {}
    for relation in sorted({name for name, _ in counted}):
        taken: Head | None = None
        for (name, head), (correct, _) in sorted(counted.items()):
            if name == relation and (taken is None or correct > counted[relation, taken][0]):
                taken = head
        nearest: int | None = None
        order = sorted((abs(each), each) for name, each in baseline if name == relation)
        for _, offset in order:
            if nearest is None or baseline[relation, offset] > baseline[relation, nearest]:
                nearest = offset
        assert taken is not None and nearest is not None
        correct, n = counted[relation, taken]
        rows[relation] = (n, taken, correct, nearest, baseline[relation, nearest][0])
    return rows


def errors(
    judged: Sequence[Arc],
    inputs: Sequence[Input],
    corpus: Corpus,
    head: Head,
    relation: str | None = None,
    *,
    causal: bool = False,
) -> dict[tuple[str, str], int]:
    """How often a wrong position of each relation, part of speech and distance is found."""
    counted: Counter[tuple[str, str]] = Counter()
    for arc in judged:
        if arc.gold is None or relation not in (None, arc.relation):
            continue
        if causal and not is_seen(arc, head[2]):
            continue
        input = inputs[arc.input]
        at = found(input, arc, head)
        if at == arc.gold:
            continue
        if at < 0:
            for breakdown in ("relation", "upos", "distance"):
                counted[breakdown, "none"] += 1
            continue
        words = [corpus.words[each] for each in input.positions[at].words]
        counted["relation", "+".join(str(word.folded) for word in words)] += 1
        counted["upos", "+".join(str(word.upos) for word in words)] += 1
        counted["distance", str(at - arc.position)] += 1
    return dict(counted)


def syntactic(
    judged: Sequence[Arc], inputs: Sequence[Input], margin: float, min_count: int
) -> dict[tuple[int, int], set[str]]:
    """Relations that the largest weights of a head find better than their commonest offset."""
    known = [arc for arc in judged if arc.gold is not None and not arc.word.is_punctuation]
    by_relation: dict[str, list[Arc]] = {}
    for arc in known:
        by_relation.setdefault(arc.relation, []).append(arc)
    layers, numbers = inputs[0].maps.shape[:2]
    result: dict[tuple[int, int], set[str]] = {}
    for layer in range(layers):
        for number in range(numbers):
            to = [largest(each, each.maps[layer, number]) for each in inputs]
            names = set()
            for relation, own in by_relation.items():
                apart = Counter((arc.gold or 0) - arc.position for arc in own)
                chance = max(apart.values()) / len(own)
                forth = sum(to[arc.input].get(arc.position) == arc.gold for arc in own)
                back = sum(to[arc.input].get(arc.gold or 0) == arc.position for arc in own)
                if len(own) >= min_count and max(forth, back) / len(own) >= chance + margin:
                    names.add(relation)
            result[layer + 1, number + 1] = names
    return result


def largest(input: Input, weights: np.ndarray) -> dict[int, int]:
    """Where the largest weight of each position lies, [SEP] left out on both sides."""
    open_ = [at for at, each in enumerate(input.positions) if each.kind != "sep"]
    rows = weights.tolist()
    found = {}
    for at in open_:
        taken = open_[0]
        for other in open_:
            if rows[at][other] > rows[at][taken]:
                taken = other
        found[at] = taken
    return found
