"""Sinks, and heads that look at repetitions, the slow way: loops over every cell of every map.

Written apart from the package, after the formulas of TransformerLens' `detect_head` (measure "mul")
and of Gu et al. 2025; it reads only maps and the pieces of positions from a bank.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import oracle_statistics
from oracle_maps import maps_of

Head = tuple[int, int]
Pattern = Callable[[list[str]], np.ndarray]


@dataclass
class Read:
    """One input: its document, the pieces of its positions, and its maps [L, H, n, n]."""

    document: int
    tokens: list[str]
    maps: np.ndarray


def read(connection: Any, run: int = 1) -> list[Read]:
    found = []
    named = "select id, document from sequence where run = ? order by id"
    for sequence, document in connection.execute(named, [run]).fetchall():
        pieces = connection.execute(
            "select pieces from position where sequence = ? order by position", [sequence]
        ).fetchall()
        tokens = [" ".join(each) for (each,) in pieces]
        found.append(Read(document, tokens, maps_of(connection, sequence)))
    return found


def previous_token(tokens: list[str]) -> np.ndarray:
    pattern = np.zeros((len(tokens), len(tokens)))
    for i in range(1, len(tokens)):
        pattern[i, i - 1] = 1
    return pattern


def duplicate_token(tokens: list[str]) -> np.ndarray:
    pattern = np.zeros((len(tokens), len(tokens)))
    for i in range(len(tokens)):
        for j in range(i):
            if tokens[i] == tokens[j]:
                pattern[i, j] = 1
    return pattern


def induction(tokens: list[str]) -> np.ndarray:
    """That of duplicates, a column to the right; nothing falls off, as the last has none."""
    pattern = np.zeros((len(tokens), len(tokens)))
    pattern[:, 1:] = duplicate_token(tokens)[:, :-1]
    return pattern


PATTERNS: dict[str, Pattern] = {
    "previous_token_head": previous_token,
    "duplicate_token_head": duplicate_token,
    "induction_head": induction,
}


def even(n: int, *, is_causal: bool) -> np.ndarray:
    found = np.zeros((n, n))
    for i in range(n):
        seen = i + 1 if is_causal else n
        found[i, :seen] = 1 / seen
    return found


def _cells(n: int, *, exclude_bos: bool, exclude_current_token: bool) -> np.ndarray:
    kept = np.ones((n, n))
    if exclude_bos:
        kept[:, 0] = 0
    if exclude_current_token:
        np.fill_diagonal(kept, 0)
    return kept


def scores(
    inputs: Iterable[Read], name: str, *, is_causal: bool, **excluded: bool
) -> dict[Head, dict[str, float | None]]:
    """Of each head what the analysis of this name says."""
    of_head: dict[Head, dict[str, list[tuple[int, float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in inputs:
        n = len(one.tokens)
        kept = _cells(n, **excluded)
        wanted = PATTERNS[name](one.tokens) * kept
        rows = int((wanted.sum(1) > 0).sum())
        flat = even(n, is_causal=is_causal)
        for layer, maps in enumerate(one.maps, start=1):
            for head, each in enumerate(maps, start=1):
                if (each * kept).sum() <= 0 or (flat * kept).sum() <= 0:
                    continue
                for key, a in (("", each), ("chance", flat)):
                    on = float((a * wanted).sum())
                    score = on / float((a * kept).sum())
                    found = of_head[layer, head]
                    found[f"score{key}"].append((one.document, score, 1.0))
                    found[f"weight{key}"].append((one.document, on, float(rows)))
    told: dict[Head, dict[str, float | None]] = {}
    for head_, found in of_head.items():
        mean_score, low, high = mean(found["score"])
        weight, weight_low, weight_high = mean(found["weight"])
        told[head_] = {
            "score": mean_score, "low": low, "high": high, "chance": mean(found["scorechance"])[0],
            "weight": weight, "weight_low": weight_low, "weight_high": weight_high,
            "weight_chance": mean(found["weightchance"])[0],
            "n": sum(rows for _, _, rows in found["weight"]), "sequences": len(found["score"]),
        }  # fmt: skip
    return told


def mean(
    values: list[tuple[int, float, float]], documents: set[int] | None = None
) -> tuple[float | None, float | None, float | None]:
    """The mean and its interval of (document, sum, number): documents are what is drawn.

    Of a run over one document each input is drawn; `documents` are those of the run, if the values
    may be of some only. The variance is that of the residuals of documents that have something.
    """
    whole = sum(number for _, _, number in values)
    if not whole:
        return None, None, None
    middle = sum(each for _, each, _ in values) / whole
    documents = documents or {document for document, _, _ in values}
    of: dict[int, float] = defaultdict(float)
    sizes: dict[int, float] = defaultdict(float)
    for at, (document, each, number) in enumerate(values):
        if number:
            cluster = document if len(documents) > 1 else at
            of[cluster] += each - middle * number
            sizes[cluster] += number
    if len(of) < 2:
        return middle, None, None
    variance = float(np.var(list(of.values()), ddof=1)) * len(of) / whole**2
    half = _quantile(oracle_statistics.of_one_size(list(sizes.values())) - 1) * math.sqrt(variance)
    return middle, max(0.0, middle - half), min(1.0, middle + half)


@cache
def _quantile(freedom: float) -> float:
    return oracle_statistics.student_quantile(freedom)


def alphas(one: Read, position: int, *, is_causal: bool) -> np.ndarray:
    """The mean weight [L, H] on a position of those that see it."""
    first = position if is_causal else 0
    return np.array([[each[first:, position].mean() for each in layer] for layer in one.maps])


def sinks(
    inputs: list[Read], epsilon: float, *, is_causal: bool
) -> dict[int, dict[str, float | None]]:
    """Of each position the share of heads whose mean attention to it exceeds epsilon, and more."""
    found: dict[int, dict[str, float | None]] = {}
    for position in range(max(len(each.tokens) for each in inputs)):
        own = [input for input in inputs if len(input.tokens) > position]
        by_input = [alphas(each, position, is_causal=is_causal) for each in own]
        shares = [
            (each.document, float((alpha > epsilon).mean()), 1.0)
            for each, alpha in zip(own, by_input, strict=True)
        ]
        flat = [even(len(each.tokens), is_causal=is_causal) for each in own]
        chances = [each[position if is_causal else 0 :, position].mean() for each in flat]
        sink, low, high = mean(shares, {each.document for each in inputs})
        found[position] = {
            "sink": sink, "low": low, "high": high,
            "sink_chance": float(np.mean([chance > epsilon for chance in chances])),
            "weight": float(np.mean([alpha.mean() for alpha in by_input])),
            "chance": float(np.mean(chances)), "sequences": len(own),
        }  # fmt: skip
    return found


def sink_heads(
    inputs: list[Read], epsilon: float, position: int, *, is_causal: bool
) -> dict[Head, dict[str, float | None]]:
    """Of each head the share of the inputs in which it rests on a position."""
    own = [input for input in inputs if len(input.tokens) > position]
    by_input = np.array([alphas(each, position, is_causal=is_causal) for each in own])
    found: dict[Head, dict[str, float | None]] = {}
    for layer in range(by_input.shape[1]):
        for head in range(by_input.shape[2]):
            alpha = by_input[:, layer, head]
            weight, low, high = mean(
                [(each.document, float(one), 1.0) for each, one in zip(own, alpha, strict=True)],
                {each.document for each in inputs},
            )
            found[layer + 1, head + 1] = {
                "sink": float((alpha > epsilon).mean()), "weight": weight, "low": low,
                "high": high, "sequences": len(own),
            }  # fmt: skip
    return found
