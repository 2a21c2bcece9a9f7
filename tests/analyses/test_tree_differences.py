"""What separates trees from chains and from one another, counted and put in intervals by loops."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_bank import make_bank
from oracle_statistics import Interval, difference_of_shares
from toy_attention import random_tree

from attnbank.queries import open_bank

DOCUMENTS = 14
TREES = {
    "best head": ("head", 1, 1),
    "other head": ("head", 1, 2),
    "best layer": ("layer", 1, None),
    "all heads": ("all", None, None),
    "ensemble": ("ensemble", None, None),
}
SEEDS = {"seed 1": ("head", 1, 1), "seed 2": ("head", 1, 2)}
GOOD = {"best head": 0.6, "other head": 0.1, "best layer": 0.4, "all heads": 0.3, "ensemble": 0.6}
RELATIONS = ("nsubj", "obj", "det")
Dependency = tuple[int, str, list[int | None], int]
"""The document of a gold dependency, its relation, the gold heads of its sentence, its word."""


class Made:
    """A bank of drawn trees, and what its loops need: gold dependencies and trees by name."""

    def __init__(self, path: Path) -> None:
        rng = np.random.default_rng(11)
        self.gold: list[Dependency] = []
        self.trees: dict[str, list[list[int | None]]] = defaultdict(list)
        sentences: list[str] = []
        words: list[str] = []
        sequences, positions, decoded = [], [], []
        for document in range(1, DOCUMENTS + 1):
            for _ in range(int(rng.integers(1, 4))):
                number = len(sentences) + 1
                count = int(rng.integers(3, 10))
                heads = _heads(count, rng)
                sentences.append(f"{number},{document},{number},{count}")
                for run in (1, 2, 3, 4):
                    sequences.append(f"{4 * number + run},{run},{document},{number}")
                for place, head in enumerate(heads):
                    word = len(words) + 1
                    relation = "root" if head is None else RELATIONS[int(rng.integers(3))]
                    gold_head = 0 if head is None else head + 1
                    words.append(f"{word},{number},{place + 1},w,{gold_head},{relation}")
                    positions += [f"{4 * number + run},{place + 1},{word}" for run in (1, 2, 3, 4)]
                    if head is not None:
                        self.gold.append((document, relation, heads, place))
                for tree, (source, layer, head_) in [*TREES.items(), *SEEDS.items()]:
                    own = heads if rng.random() < GOOD.get(tree, 0) else _heads(count, rng)
                    self.trees[tree] += [own] * (count - 1)
                    of_word = ", ".join("null" if each is None else str(each + 1) for each in own)
                    run = [*SEEDS].index(tree) + 2 if tree in SEEDS else 1
                    decoded.append(
                        f"{run};none;spanning;{source};{layer or ''};{head_ or ''};both;"
                        f"{4 * number + run};{number};1;[{of_word}];1"
                    )
        rows = "\n".join
        self.path = make_bank(
            path,
            {
                "document": rows(
                    ["id,index", *(f"{each},{each}" for each in range(1, DOCUMENTS + 1))]
                ),
                "model": rows(
                    ["id,name,layers,heads,random_seed", "1,tiny,1,2,"]
                    + [f"{1 + seed},tiny,1,2,{seed}" for seed in (1, 2, 3)]
                ),
                "run": "id,name,model\n1,r,1\n2,seed 1,2\n3,seed 2,3\n4,not decoded,4",
                "sentence": rows(["id,document,index,words", *sentences]),
                "word": rows(["id,sentence,index,form,head_index,deprel", *words]),
                "sequence": rows(["id,run,document,sentence", *sequences]),
                "position": rows(["sequence,position,word", *positions]),
                "attention_tree": rows(
                    [
                        "run;root;decoder;source;layer;head;direction;sequence;sentence;"
                        "first_position;heads;weight",
                        *decoded,
                    ]
                ),
            },
        )

    def has(self, tree: str) -> list[bool]:
        """Of each gold dependency, whether the tree has it in either direction."""
        if tree == "adjacent words":
            return [abs(_head(own) - own[3]) == 1 for own in self.gold]
        return [
            heads[own[3]] == _head(own) or heads[_head(own)] == own[3]
            for own, heads in zip(self.gold, self.trees[tree], strict=True)
        ]

    def difference(
        self, tree: str, other: str, relation: str = "all", halves: tuple[int, ...] = (0,)
    ) -> Interval:
        """The difference of two trees over the documents of some halves, and its interval."""
        clusters: dict[int, list[tuple[bool, bool]]] = defaultdict(list)
        for own, a, b in zip(self.gold, self.has(tree), self.has(other), strict=True):
            if own[0] % 2 in halves and relation in ("all", own[1]):
                clusters[own[0]].append((a, b))
        return difference_of_shares([*clusters.values()])


def _heads(count: int, rng: np.random.Generator) -> list[int | None]:
    """A tree over places from 0; its root has no head."""
    return [each - 1 if each else None for each in random_tree(count, rng)]


def _head(own: Dependency) -> int:
    head = own[2][own[3]]
    assert head is not None
    return head


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("trees") / "bank.duckdb")


def _ends(row: dict[str, Any], name: str) -> tuple[Any, ...]:
    return tuple(row[each] for each in (name, f"{name}_low", f"{name}_high"))


def test_best_trees_beside_chains_and_the_best_head(made: Made) -> None:
    with open_bank(made.path) as bank:
        rows = bank.query("best_tree", classification="relation").rows(named=True)
    compared = 0
    for row in rows:
        tree = row["tree"]
        if tree in ("adjacent words", "next word", "previous word"):
            assert _ends(row, "gain") == _ends(row, "over_head") == (None, None, None)
            continue
        name = f"seed {row['seed']}" if tree == "random weights" else tree
        assert row["run"] == ("r" if name == tree else name)
        told = made.difference(name, "adjacent words", row["class"])
        assert _ends(row, "gain") == pytest.approx(told, abs=1e-3)
        if tree == "best head":
            assert (row["layer"], row["head"]) == TREES[tree][1:]
            assert _ends(row, "over_head") == (None, None, None)
        else:
            assert tree != "random weights" or (row["layer"], row["head"]) == SEEDS[name][1:]
            told = made.difference(name, "best head", row["class"])
            assert _ends(row, "over_head") == pytest.approx(told, abs=1e-3)
            compared += 1
    assert compared == 5 * len(RELATIONS) + 5 and {row["findable"] for row in rows} == {1}


def test_every_tree_beside_a_chain(made: Made) -> None:
    """On all documents; a word that is set apart takes its dependencies from what is findable."""
    with open_bank(made.path) as bank:
        rows = bank.query("tree_accuracy", source=None).rows(named=True)
    named = {where: tree for tree, where in TREES.items()}
    assert len(rows) == len(TREES)
    for row in rows:
        tree = named[row["source"], row["layer"], row["head"]]
        told = made.difference(tree, "adjacent words", halves=(0, 1))
        assert _ends(row, "gain") == pytest.approx(told, abs=1e-3)
        adjacent = made.has("adjacent words")
        assert row["adjacent"] == pytest.approx(sum(adjacent) / len(adjacent))
        assert row["findable"] == 1
