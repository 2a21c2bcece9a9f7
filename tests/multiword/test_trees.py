"""Decoded trees weigh as much as networkx's best ones, and have as many gold edges as loops count.

The words of a multiword token that is read as written are one node. Maps of the oracle come from a
pass over one input at a time, so that their weights differ by rounding (bounds.NEAR_TIE).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import bounds
import numpy as np
import pytest
from fixture_types import Models
from multiword import decoded
from multiword.decoded import Sentence
from multiword_cases import Case, Make

from attnbank.ingest.derived.computations import compute
from attnbank.ingest.models.files import locate_model
from attnbank.ingest.options import MINILM

HEADS = {(1, 1), (2, 3)}
"""The heads whose trees are decoded slowly, of two layers of three."""

Key = tuple[str, int | None, int | None, str]


def _computed(case: Case, folder: Path, root: str = "none") -> Case:
    bank = folder / "bank.duckdb"
    shutil.copy(case.path, bank)
    compute(bank, "attention_tree", 1, root=root)
    return replace(case, path=bank)


def _sentences(case: Case) -> list[Sentence]:
    return decoded.sentences(case.corpus, case.inputs, case.judged)


def _trees(case: Case, every: list[Sentence]) -> dict[Key, list[list[int | None]]]:
    """The trees of the bank by their source, in the order of the sentences, as places."""
    (first,) = case.rows("select min(id) from sentence")[0]
    order = {(case.sequences[own.input], own.number): at for at, own in enumerate(every)}
    found: dict[Key, list[list[int | None]]] = {}
    for source, layer, head, direction, sequence, sentence, start, heads in case.rows(
        "select source, layer, head, direction, sequence, sentence, first_position, heads"
        " from main.attention_tree"
    ):
        at = order[sequence, sentence - first]
        assert start == every[at].positions[0] and len(heads) == len(every[at].positions)
        trees = found.setdefault((source, layer, head, direction), [[] for _ in every])
        trees[at] = [None if each is None else each - start for each in heads]
    return found


def _map(maps: np.ndarray, source: str, layer: int | None, head: int | None) -> np.ndarray:
    """The map [P, P] of a source, of maps [L, H, P, P]."""
    if source == "all":
        return np.asarray(maps.astype(np.float64).mean(axis=(0, 1)))
    assert layer is not None
    own = maps[layer - 1].astype(np.float64)
    return np.asarray(own.mean(axis=0) if head is None else own[head - 1])


def _few(keys: Iterator[Key]) -> list[Key]:
    return [key for key in keys if key[0] not in ("head", "ensemble") or key[1:3] in HEADS]


@pytest.mark.slow
@pytest.mark.parametrize("root", ["none", "gold"])
@pytest.mark.few("written-*")
def test_no_tree_weighs_more(chosen: Case, tmp_path: Path, root: str) -> None:
    case = _computed(chosen, tmp_path, root=root)
    every = _sentences(case)
    trees = _trees(case, every)
    own = [each.maps for each in case.own()]
    weights = {
        (source, layer, head, direction, sequence, sentence): weight
        for source, layer, head, direction, sequence, sentence, weight in case.rows(
            "select source, layer, head, direction, sequence, sentence, weight"
            " from main.attention_tree"
        )
    }
    (first,) = case.rows("select min(id) from sentence")[0]
    looked_at = 0
    for key in _few(iter(trees)):
        for at in range(0, len(every), 7):
            sentence, heads = every[at], trees[key][at]
            assert decoded.is_tree(heads), (key, at)
            if root == "gold":
                assert heads[sentence.root] is None
            scores = decoded.scores(_map(own[sentence.input], *key[:3]), sentence.positions, key[3])
            best = decoded.largest(scores, sentence.root if root == "gold" else None)
            found = decoded.weight(scores, heads)
            assert found == pytest.approx(best, rel=2 * bounds.NEAR_TIE)
            kept = weights[(*key, case.sequences[sentence.input], first + sentence.number)]
            assert kept == pytest.approx(found, rel=2 * bounds.NEAR_TIE)
            looked_at += len(heads) > 2
    assert looked_at > 50


@pytest.mark.slow
def test_accuracy_is_what_loops_count(case: Case, tmp_path: Path) -> None:
    own = _computed(case, tmp_path, root="gold")
    every = _sentences(own)
    trees = _trees(own, every)
    for punctuation in (False, True):
        rows = own.query("tree_accuracy", source=None, root="gold", punctuation=punctuation)
        assert len(rows) == len(trees) == 3 * (2 * 3 + 2 + 1) + 1
        for row in rows:
            key = row["source"], row["layer"], row["head"], row["direction"]
            counted = decoded.counts(zip(every, trees[key], strict=True), punctuation=punctuation)
            assert (row["n"], row["correct"], row["found"]) == counted, key
        chain: list[list[int | None]] = [[None, *range(len(each.positions) - 1)] for each in every]
        n, _, adjacent = decoded.counts(zip(every, chain, strict=True), punctuation=punctuation)
        assert {row["adjacent"] for row in rows} == {adjacent / n}
    assert any(0 < row["correct"] < row["found"] for row in rows)


@pytest.mark.slow
def test_best_tree_scores_on_the_half_that_chose_nothing(case: Case, tmp_path: Path) -> None:
    own = _computed(case, tmp_path)
    every = _sentences(own)
    trees = _trees(own, every)
    assert len({own.corpus.clusters[each.number] for each in every}) > 1

    def half(odd: int, key: Key) -> tuple[int, int, int]:
        return decoded.counts(
            (each, heads)
            for each, heads in zip(every, trees[key], strict=True)
            if own.corpus.clusters[each.number] % 2 == odd
        )

    rows = {row["tree"]: row for row in own.query("best_tree")}
    named = {"best head": "head", "best layer": "layer", "all heads": "all", "ensemble": "ensemble"}
    for tree, source in named.items():
        row = rows[tree]
        those = [each for each in trees if each[0] == source]
        best = min(those, key=lambda each: (-half(1, each)[2], each[1] or 0, each[2] or 0, each[3]))
        assert (row["layer"], row["head"], row["direction"]) == best[1:]
        chosen_n, _, chosen_found = half(1, best)
        n, correct, found = half(0, best)
        assert row["n"] == n
        assert row["uuas"] == pytest.approx(found / n, rel=bounds.sums(4))
        assert row["uas"] == pytest.approx(correct / n, rel=bounds.sums(4))
        assert row["chosen_uuas"] == pytest.approx(chosen_found / chosen_n, rel=bounds.sums(4))
    ends = [
        [row[name] is None for name in ("low", "gain_low", "high", "gain_high")]
        for row in own.query("best_tree", classification="relation")
        if row["gain"] is not None
    ]
    assert [True] * 4 in ends and all(len({*end}) == 1 for end in ends)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["minilm", "decoder"])
def test_the_small_real_model_and_a_decoder_over_unseen_text(
    model: str, read: Make, corpora: Path, tmp_path: Path, tiny_model: Models
) -> None:
    """Of a decoder both words of an arc count as the later one sees the earlier."""
    whole = (corpora / "ewt-dev.conllu").read_text(encoding="utf-8").split("\n\n")
    source = tmp_path / "ewt-dev.conllu"
    short = [each for each in whole[100:200] if each.count("\n") < 30]  # what the decoder can read
    source.write_text("\n\n".join(short[:60]) + "\n\n", encoding="utf-8")
    folder = Path(locate_model(MINILM)[0]) if model == "minilm" else tiny_model("gpt2")
    first_word = () if model == "minilm" else ("--first-word", "word")
    own = _computed(read(source, folder, "written", "sentence", *first_word), tmp_path)
    every = _sentences(own)
    trees = _trees(own, every)
    rows = own.query("tree_accuracy", source=None)
    assert {row["direction"] for row in rows} == (
        {"dependent_to_head", "head_to_dependent", "both"}
        if model == "minilm"
        else {"later_to_earlier"}
    )
    for row in rows:
        key = row["source"], row["layer"], row["head"], row["direction"]
        counted = decoded.counts(zip(every, trees[key], strict=True))
        assert (row["n"], row["correct"], row["found"]) == counted, key
    alone = [each.maps for each in own.own()]
    for key in [tree for tree in trees if tree[0] != "ensemble"][::7]:
        for at in range(0, len(every), 9):
            sentence = every[at]
            scores = decoded.scores(
                _map(alone[sentence.input], *key[:3]), sentence.positions, key[3]
            )
            found = decoded.weight(scores, trees[key][at])
            best = decoded.largest(scores, None)
            assert decoded.is_tree(trees[key][at])
            assert found == pytest.approx(best, rel=2 * bounds.NEAR_TIE)


@pytest.mark.slow
def test_the_ensemble_is_what_loops_choose(chosen: Case, tmp_path: Path) -> None:
    own = _computed(chosen, tmp_path)
    every = _sentences(own)
    half = [each for each in every if own.corpus.clusters[each.number] % 2 == 1]
    slow = decoded.ensemble(half, own.inputs, 4, 10)
    found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    used: dict[str, set[str]] = {}
    for row in own.query("tree_ensemble"):
        key = row["relation"], row["direction"]
        found.setdefault(key, []).append((row["layer"], row["head"], row["correct"]))
        if row["in_tree"]:
            used.setdefault(row["relation"], set()).add(row["direction"])
    assert found == slow and len(found) > 5
    for relation, directions in used.items():
        best = max(
            decoded.DIRECTIONS, key=lambda each: slow.get((relation, each), [(0, 0, 0)])[-1][2]
        )
        assert directions == {best}
    # The trees of the ensemble: no tree weighs more by the mean of these heads.
    counts = {row["relation"]: row["n"] for row in own.query("tree_ensemble")}
    trees = _trees(own, every)["ensemble", None, None, "both"]
    for at in range(0, len(every), 5):
        sentence = every[at]
        total = np.zeros((len(sentence.positions), len(sentence.positions)))
        for relation, (direction,) in ((each, tuple(which)) for each, which in used.items()):
            heads = slow[relation, direction]
            for layer, head, _ in heads:
                maps = own.inputs[sentence.input].maps[layer - 1, head - 1]
                share = counts[relation] / sum(counts.values()) / len(heads)
                total += share * decoded.scores(maps, sentence.positions, direction)
        largest = decoded.largest(total, None)
        assert decoded.is_tree(trees[at])
        assert decoded.weight(total, trees[at]) == pytest.approx(largest, rel=bounds.sums(1000))
