"""What words look at, as requests ask for it: every word of a position looks as that does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiword.passes import Input
from multiword.text import Corpus
from multiword.trees import places

Pair = tuple[int, int]


def looks(inputs: Sequence[Input], layer: int, head: int) -> set[Pair]:
    """Pairs of words of which the first looks at the second most."""
    found = set()
    for input in inputs:
        stands = places(input)
        for one, at in stands.items():
            to = int(input.attended[layer - 1, head - 1, at])
            if to >= 0:
                found |= {(one, other) for other in input.positions[to].words}
    return found


def weights(inputs: Sequence[Input], layer: int, head: int) -> dict[Pair, float | None]:
    """The weight between every two words of an input; None for two of one position."""
    found: dict[Pair, float | None] = {}
    for input in inputs:
        stands = places(input)
        own = input.maps[layer - 1, head - 1].tolist()
        for one, at in stands.items():
            for other, to in stands.items():
                if one != other:
                    found[one, other] = None if at == to else own[at][to]
    return found


def looked_at(corpus: Corpus, inputs: Sequence[Input], layer: int, head: int) -> dict[int, str]:
    """Of each word that looks somewhere the parts of speech of what it looks at, joined by +."""
    found = {}
    for input in inputs:
        for word, at in places(input).items():
            to = int(input.attended[layer - 1, head - 1, at])
            if to >= 0:
                words = [corpus.words[each] for each in input.positions[to].words]
                found[word] = "+".join(str(each.upos) for each in words)
    return found


def edges(corpus: Corpus, relation: str) -> Iterator[Pair]:
    """Dependent and head of each gold dependency of a whole relation, subtype included."""
    for word in corpus.words:
        if word.relation == relation and word.governor is not None:
            yield word.place, word.governor


def rests(inputs: Sequence[Input], layer: int, head: int, least: float) -> set[int]:
    """Words whose position gives more than so much to the position that opens the input."""
    found = set()
    for input in inputs:
        own = input.maps[layer - 1, head - 1].tolist()
        opens = [at for at, each in enumerate(input.positions) if each.kind == "cls"]
        for word, at in places(input).items():
            if any(own[at][to] > least for to in opens):
                found.add(word)
    return found
