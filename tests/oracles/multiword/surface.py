"""What heads attend to, position by position: neighbours, special tokens, classes of words."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from multiword.passes import Input, Position
from multiword.text import Corpus, Word, lowered
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
    marks = [kind == "word" and each.text.replace("▁", "") in (".", ",")
             for kind, each in zip(kinds, input.positions, strict=True)]  # fmt: skip
    sums: dict[str, float] = defaultdict(float)
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
    if relation == "neg" or is_negative or word.form.lower() in ("not", "n't", "n\u2019t"):
        found.add("negation")
    return found


def by_class(
    corpus: Corpus, inputs: Sequence[Input]
) -> dict[tuple[str, str, int, int], tuple[float, float, float, int, int]]:
    """Received, given, chance, positions and inputs by (classification, class, layer, head)."""
    members: list[dict[tuple[str, str], list[int]]] = []
    for input in inputs:
        own: dict[tuple[str, str], list[int]] = {}
        for at, position in enumerate(input.positions):
            for each in classes(corpus, position):
                own.setdefault(each, []).append(at)
        members.append(own)
    every = sorted({each for own in members for each in own})
    result = {}
    layers, numbers = inputs[0].maps.shape[:2]
    for layer in range(layers):
        for number in range(numbers):
            flows = [_flows(input, input.maps[layer, number].tolist()) for input in inputs]
            for key in every:
                having = [at for at, own in enumerate(members) if key in own]
                received, given = [], []
                for at in having:
                    places = members[at][key]
                    received.append(_mean([flows[at][0][place] for place in places]))
                    if all(place in flows[at][1] for place in places):
                        given.append(_mean([flows[at][1][place] for place in places]))
                result[(*key, layer + 1, number + 1)] = (
                    _mean(received),
                    _mean(given),
                    _mean([1 / len(inputs[at].positions) for at in having]),
                    sum(len(members[at][key]) for at in having),
                    len(having),
                )
    return result


def _flows(input: Input, weights: list[list[float]]) -> tuple[dict[int, float], dict[int, float]]:
    """The mean weight that each position receives, and that it gives to another word position."""
    received, given = {}, {}
    for at in range(len(weights)):
        received[at] = _mean([row[at] for row in weights])
        others = [weights[at][word] for word in input.word_positions if word != at]
        if others:
            given[at] = _mean(others)
    return received, given


def frequencies(corpus: Corpus) -> Counter[str]:
    """How often each text of a unit is in the corpus, in lower case."""
    return Counter(lowered(unit.text) for units in corpus.sentences for unit in units)


def functions(corpus: Corpus, inputs: Sequence[Input]) -> Figures:
    """How sure a head is, its commonest offset, and how often it looks at the rarest word."""
    often = frequencies(corpus)
    rarest = []
    for input in inputs:
        counts = {at: often[lowered(input.positions[at].written)] for at in input.word_positions}
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
