"""What heads attend to, position by position: neighbours, special tokens, classes of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from multiword.passes import Input, Position
from multiword.text import Corpus, Word
from multiword.trees import largest

Figures = dict[tuple[int, int, str], float]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def of_heads(inputs: Sequence[Input]) -> Figures:
    """Neighbours, special tokens, punctuation and entropy by (layer, head, figure)."""
    layers, numbers = inputs[0].maps.shape[:2]
    figures: Figures = {}
    for layer in range(layers):
        for number in range(numbers):
            rows: dict[str, list[float]] = {}
            for input in inputs:
                for name, value in _of_map(input, input.maps[layer, number].tolist()).items():
                    rows.setdefault(name, []).append(value)
            for name, values in rows.items():
                figures[layer + 1, number + 1, name] = _mean(values)
    return figures


def _of_map(input: Input, weights: list[list[float]]) -> dict[str, float]:
    n = len(input.positions)
    kinds = [each.kind for each in input.positions]
    marks = [kind == "word" and each.text in (".", ",")
             for kind, each in zip(kinds, input.positions, strict=True)]  # fmt: skip
    sums: Counter[str] = Counter()
    for i in range(n):
        for j in range(n):
            weight = weights[i][j]
            if abs(i - j) <= 1:
                sums["self" if i == j else "next" if i < j else "previous"] += weight
            target = "punctuation" if marks[j] else kinds[j] if kinds[j] != "word" else "other"
            sums[target] += weight
            if weight > 0:
                sums["entropy"] -= weight * math.log(weight)
    names = ("previous", "self", "next", "cls", "sep", "punctuation", "other", "entropy")
    return {name: sums[name] / n for name in names}


def classes(corpus: Corpus, position: Position) -> set[tuple[str, str]]:
    """The classes of a position: each that one of its words has, once."""
    if position.kind != "word":
        return {("class", position.kind)}
    found = set()
    for place in position.words:
        word = corpus.words[place]
        if word.upos is not None:
            found.add(("upos", word.upos))
        if word.folded is not None:
            found.add(("relation", word.folded))
        found |= {("class", each) for each in _named(word)}
    return found


def _named(word: Word) -> set[str]:
    found = set()
    if word.upos in ("NOUN", "PROPN"):
        found.add("noun")
    if word.upos == "VERB":
        found.add("verb")
    if word.upos == "PRON":
        found.add("pronoun")
    relation = word.relation or ""
    if relation.startswith(("nsubj", "csubj")):
        found.add("subject")
    if word.folded in ("obj", "dobj", "iobj"):
        found.add("object")
    is_negative = "Neg" in word.feats.get("Polarity", "")
    if relation == "neg" or is_negative or word.form.lower() in ("not", "n't", "n’t"):
        found.add("negation")
    return found


def by_class(
    corpus: Corpus, inputs: Sequence[Input]
) -> dict[tuple[str, str, int, int], tuple[float, float, float, int, int]]:
    """Received, given, chance, positions and inputs by (classification, class, layer, head)."""
    layers, numbers = inputs[0].maps.shape[:2]
    members: list[dict[tuple[str, str], list[int]]] = []
    for input in inputs:
        own: dict[tuple[str, str], list[int]] = {}
        for at, position in enumerate(input.positions):
            for each in classes(corpus, position):
                own.setdefault(each, []).append(at)
        members.append(own)
    result = {}
    for key in sorted({each for own in members for each in own}):
        having = [(input, own[key]) for input, own in zip(inputs, members, strict=True)
                  if key in own]  # fmt: skip
        chance = _mean([1 / len(input.positions) for input, _ in having])
        count = sum(len(own) for _, own in having)
        for layer in range(layers):
            for number in range(numbers):
                received, given = [], []
                for input, own_places in having:
                    weights = input.maps[layer, number].tolist()
                    words = input.word_positions
                    n = len(input.positions)
                    received.append(
                        _mean([sum(row[at] for row in weights) / n for at in own_places])
                    )
                    others = [(at, [w for w in words if w != at]) for at in own_places]
                    if all(each for _, each in others):
                        given.append(
                            _mean([_mean([weights[at][w] for w in each]) for at, each in others])
                        )
                result[(*key, layer + 1, number + 1)] = (
                    _mean(received), _mean(given), chance, count, len(having),
                )  # fmt: skip
    return result


def frequencies(corpus: Corpus) -> Counter[str]:
    """How often each text of a unit is in the corpus, in lower case."""
    return Counter(unit.text.lower() for units in corpus.sentences for unit in units)


def functions(corpus: Corpus, inputs: Sequence[Input]) -> Figures:
    """How sure a head is, its commonest offset, and how often it looks at the rarest word."""
    often = frequencies(corpus)
    rarest = []
    for input in inputs:
        counts = {at: often[input.positions[at].text.lower()] for at in input.word_positions}
        rarest.append({at for at, count in counts.items() if count == min(counts.values())})
    open_ = [sum(each.kind != "sep" for each in input.positions) for input in inputs]
    figures: Figures = {}
    layers, numbers = inputs[0].maps.shape[:2]
    for layer in range(layers):
        for number in range(numbers):
            weights: list[float] = []
            apart: Counter[int] = Counter()
            on_rarest, inputs_on_rarest = 0, []
            for input, rare in zip(inputs, rarest, strict=True):
                to = largest(input, input.maps[layer, number])
                own = input.maps[layer, number].tolist()
                weights += [own[at][other] for at, other in to.items()]
                apart.update(other - at for at, other in to.items())
                on_rarest += sum(other in rare for other in to.values())
                drawn = Counter(to.values())
                most = min(drawn, key=lambda at: (-drawn[at], at))
                inputs_on_rarest.append(float(most in rare))
            offset = min(apart, key=lambda each: (-apart[each], abs(each), each))
            total = sum(apart.values())
            for name, value in (
                ("confidence", math.fsum(weights) / total),
                ("positional", apart[offset] / total),
                ("offset", float(offset)),
                ("rare_word", _mean(inputs_on_rarest)),
                ("rare_word_maxima", on_rarest / total),
                (
                    "rare_word_chance",
                    _mean([len(rare) / n for rare, n in zip(rarest, open_, strict=True)]),
                ),
                ("positions", float(total)),
            ):
                figures[layer + 1, number + 1, name] = value
    return figures
