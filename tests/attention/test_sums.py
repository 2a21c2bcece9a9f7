"""The sums of attention maps, by their definitions; the cases of the analyses have them, too."""

from __future__ import annotations

import bounds
import numpy as np
import pytest

from attnbank.ingest.attention.merged_maps import TOTALS, PositionKinds, map_sums


@pytest.mark.parametrize("ends", ["anything", "sep"])
@pytest.mark.parametrize("size", [1, 2, 3, 11, 40])
def test_sums_of_loops(size: int, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sum by its definition, position by position; also where the maps come in parts.

    [SEP] stands anywhere, or at both ends and nowhere else.
    """
    rng = np.random.default_rng(size)
    pooled = rng.dirichlet(np.ones(size), (6, size)).astype(np.float32)
    kind = rng.choice(["cls", "sep", "apart", "first", "stop", "second"], size)
    if ends == "sep":
        kind[kind == "sep"] = "first"
        kind[0] = kind[-1] = "sep"
    flags = PositionKinds(
        cls=kind == "cls",
        sep=kind == "sep",
        first=kind == "apart",
        punctuation=kind == "stop",
        words=np.isin(kind, ["first", "stop", "second"]),
        second=kind == "second",
    )
    sums = map_sums(pooled, flags)
    monkeypatch.setattr("attnbank.ingest.attention.merged_maps.SUMS_AT_ONCE", 2 * size**2)
    in_parts = map_sums(pooled, flags)
    for name, one in vars(sums).items():
        np.testing.assert_array_equal(one, getattr(in_parts, name), err_msg=name)
    for at, weights in enumerate(pooled.astype(np.float64)):
        for name, wanted in _by_loops(weights, kind).items():
            total = sums.totals[at, TOTALS.index(name)]
            np.testing.assert_allclose(total, wanted, rtol=bounds.sums(size**2), err_msg=name)
        for distance in range(-10, 11):
            wanted = sum(weights[i, i + distance] for i in range(size) if 0 <= i + distance < size)
            assert sums.offsets[at, distance + 10] == pytest.approx(wanted, abs=1e-13)
        for i in range(size):
            assert sums.received[at, i] == pytest.approx(sum(weights[:, i]), rel=1e-13)
            to_words = sum(weights[i, j] for j in range(size) if flags.words[j] and j != i)
            assert sums.given[at, i] == pytest.approx(to_words, abs=1e-13)
            others = [j for j in range(size) if kind[j] != "sep"]
            best = max(others, key=lambda j: (weights[i, j], -j)) if others else -1
            is_sep = kind[i] == "sep"
            assert sums.largest_positions[at, i] == (-1 if is_sep else best)
            assert sums.largest_weights[at, i] == (0 if is_sep else pooled[at, i, best])


def _by_loops(weights: np.ndarray, kind: np.ndarray) -> dict[str, float]:
    """The sums of one map, [P, P], by kind of position [P]."""
    size = len(kind)
    total = dict.fromkeys(TOTALS, 0.0)
    entropies = []
    for i in range(size):
        is_word = kind[i] not in ("cls", "sep", "apart")
        entropies.append(-sum(weight * np.log(weight) for weight in weights[i] if weight > 0))
        for j in range(size):
            weight = weights[i, j]
            to = {"cls": "to_cls", "sep": "to_sep", "stop": "to_punctuation"}
            if kind[j] != "apart":
                total[to.get(kind[j], "to_other")] += weight
            to_word = kind[j] not in ("cls", "sep", "apart")
            if kind[i] == kind[j] == "sep":
                total["sep_to_sep"] += weight
            if is_word and to_word:
                total["word_to_word"] += weight
                if (kind[i] == "second") == (kind[j] == "second"):
                    total["same_segment"] += weight
            beside = {-1: "word_before", 0: "word_itself", 1: "word_after"}.get(j - i)
            if beside is not None and to_word:
                total[beside] += weight
    total["entropy"] = float(np.mean(entropies))
    from_cls = [entropies[i] for i in range(size) if kind[i] == "cls"]
    total["entropy_from_cls"] = float(np.mean(from_cls)) if from_cls else float("nan")
    return total
