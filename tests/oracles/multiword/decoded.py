"""Trees decoded by networkx, ensembles chosen by loops, and how many gold edges they have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import networkx
import numpy as np

from multiword.passes import Input
from multiword.text import Corpus
from multiword.trees import Arc

DIRECTIONS = ("dependent_to_head", "head_to_dependent")


@dataclass
class Sentence:
    """A sentence of an input: the positions of its words, its arcs, and the place of its root."""

    input: int
    number: int
    positions: list[int]
    arcs: list[tuple[int, int, Arc]] = field(default_factory=list)
    root: int = 0


def sentences(corpus: Corpus, inputs: Sequence[Input], judged: Iterable[Arc]) -> list[Sentence]:
    """The sentences of all inputs, with arcs between places in their positions."""
    found: dict[tuple[int, int], Sentence] = {}
    for at, input in enumerate(inputs):
        for position, each in enumerate(input.positions):
            if each.kind == "word":
                number = corpus.words[each.words[0]].sentence
                own = found.setdefault((at, number), Sentence(at, number, []))
                own.positions.append(position)
    for arc in judged:
        own = found[arc.input, arc.word.sentence]
        place = own.positions.index(arc.position)
        if arc.gold is None:
            own.root = place
        else:
            own.arcs.append((place, own.positions.index(arc.gold), arc))
    return list(found.values())


def scores(maps: np.ndarray, positions: Sequence[int], direction: str) -> np.ndarray:
    """What an arc from a dependent to a head weighs [n, n], of one map [P, P]."""
    n = len(positions)
    found = np.zeros((n, n))
    for dependent, row in enumerate(positions):
        for head, column in enumerate(positions):
            own, other = float(maps[row, column]), float(maps[column, row])
            found[dependent, head] = {
                "dependent_to_head": own,
                "head_to_dependent": other,
                "both": (own + other) / 2,
                "later_to_earlier": own + other,
            }[direction]
    return found


def largest(scores: np.ndarray, root: int | None) -> float:
    """The weight of the best tree over the words, by networkx; the root is one of them."""
    n = len(scores)
    if n == 1:
        return 0.0
    graph = networkx.DiGraph()
    far = 1 + 2 * n * np.abs(scores).max()
    for word in range(n):
        if root in (None, word):
            graph.add_edge("root", word, weight=-far)
        for head in range(n):
            if head != word:
                graph.add_edge(head, word, weight=scores[word, head])
    tree = networkx.maximum_spanning_arborescence(graph)
    return float(sum(weight for head, _, weight in tree.edges(data="weight") if head != "root"))


def weight(scores: np.ndarray, heads: Sequence[int | None]) -> float:
    """The sum of the scores of the arcs of a tree."""
    return sum(float(scores[word, head]) for word, head in enumerate(heads) if head is not None)


def is_tree(heads: Sequence[int | None]) -> bool:
    """Whether there is one root, and every word leads to it."""
    if sum(head is None for head in heads) != 1:
        return False
    for start in range(len(heads)):
        word: int | None = start
        for _ in heads:
            word = None if word is None else heads[word]
        if word is not None:
            return False
    return True


def counts(
    trees: Iterable[tuple[Sentence, Sequence[int | None]]], *, punctuation: bool = False
) -> tuple[int, int, int]:
    """Gold edges (n), those that a tree has as arcs, and those that it has either way."""
    n = correct = found = 0
    for own, heads in trees:
        of = {arc.word.place: arc.word for _, _, arc in own.arcs}
        for dependent, head, arc in own.arcs:
            governor = of.get(-1 if arc.word.governor is None else arc.word.governor)
            if not punctuation and (
                arc.word.is_punctuation or (governor is not None and governor.is_punctuation)
            ):
                continue
            n += 1
            correct += heads[dependent] == head
            found += heads[dependent] == head or heads[head] == dependent
    return n, correct, found


def ensemble(
    chosen: Sequence[Sentence], inputs: Sequence[Input], most: int, fewest: int
) -> dict[tuple[str, str], list[tuple[int, int, int]]]:
    """The heads (layer, head, how many they find up to this one) by relation and direction."""
    pairs = defaultdict(list)
    for own in chosen:
        for dependent, head, arc in own.arcs:
            if not arc.word.is_punctuation:
                pairs[arc.relation].append((own, dependent, head))
    layers, heads = inputs[0].maps.shape[:2]
    result: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for relation, those in pairs.items():
        if len(those) < fewest:
            continue
        for direction in DIRECTIONS:
            taken: list[tuple[int, int]] = []
            before = 0
            rows: list[tuple[int, int, int]] = []
            while len(rows) < most:
                best, best_count = (0, 0), -1
                for layer in range(layers):
                    for head in range(heads):
                        if (layer, head) in taken:
                            continue
                        count = 0
                        for own, dependent, gold in those:
                            total = np.zeros(len(own.positions), dtype=np.float32)
                            for each in (*taken, (layer, head)):
                                given = inputs[own.input].maps[each]
                                row = own.positions[dependent]
                                values = [
                                    given[row, p] if direction == DIRECTIONS[0] else given[p, row]
                                    for p in own.positions
                                ]
                                total += np.array(values, dtype=np.float32)
                            total[dependent] = -1
                            count += int(total.argmax()) == gold
                        if count > best_count:
                            best, best_count = (layer, head), count
                if best_count <= before:
                    break
                before = best_count
                taken.append(best)
                rows.append((best[0] + 1, best[1] + 1, before))
            if rows:
                result[relation, direction] = rows
    return result
