"""How far apart the heads of a run attend (section 6 of the paper)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection

from attnbank.ingest.derived.maps import maps
from attnbank.ingest.progress import OnProgress, Progress
from attnbank.sql.errors import CallError
from attnbank.sql.runs import Run

_BLOCK = 1 << 16
"""Weights of all heads that are compared at a time; so few that all of it stays in the cache."""


def head_distance(
    connection: DuckDBPyConnection, run: Run, on_progress: OnProgress, smoothing: float
) -> pa.Table:
    """The distance of every pair of different heads of a run, as rows of table head_distance.

    The distance is the sum over tokens of the Jensen-Shannon divergence of their distributions,
    in nats. Progress counts sequences. Raises CallError for a smoothing outside [0, 1), BankError
    for a run whose attention maps are incomplete.
    """
    heads = run.layers * run.heads
    distances = Distances(heads, smoothing)
    (total,) = connection.execute(
        "select count(*) from sequence where run = ?", [run.id]
    ).fetchone() or (0,)
    done = 0
    for group in maps(connection, run):
        distances.add(each.weights for each in group)
        for _ in group:
            done += 1
            on_progress(Progress("computing", done, total))
    first, second = np.triu_indices(heads, 1)
    number = len(first)
    return pa.table(
        {
            "run": pa.array(np.full(number, run.id, dtype=np.int32)),
            "smoothing": pa.array(np.full(number, smoothing)),
            "layer_a": pa.array((first // run.heads + 1).astype(np.int16)),
            "head_a": pa.array((first % run.heads + 1).astype(np.int16)),
            "layer_b": pa.array((second // run.heads + 1).astype(np.int16)),
            "head_b": pa.array((second % run.heads + 1).astype(np.int16)),
            "js_divergence": pa.array(distances.matrix()[first, second]),
            "n_tokens": pa.array(np.full(number, distances.tokens, dtype=np.int64)),
        }
    )


class Distances:
    """Sums of Jensen-Shannon divergences between all pairs of heads, in nats.

    JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2, so one logarithm per pair and weight is enough,
    that of s = p + q: 2 JS = sum(p ln p) + sum(q ln q) - sum(s ln s) + ln 2 sum(s). Only pairs of a
    head with a later one are computed. Weights are float32, as in the bank; within a block of a
    thousand weights per head sums are in float32 (an error of 1e-6 of the distance), and over
    blocks in float64.
    """

    def __init__(self, heads: int, smoothing: float, threads: int | None = None) -> None:
        if not 0 <= smoothing < 1:
            raise CallError(
                f"Smoothing cannot be {smoothing}: it is a share of a distribution.",
                "Give a number from 0 to below 1, or leave it out.",
            )
        self.heads = heads
        self.smoothing = smoothing
        self.tokens = 0
        self._threads = threads or min(os.cpu_count() or 1, 8)
        self._alone = np.zeros(heads)  # sum(p ln p)
        self._mass = np.zeros(heads)  # sum(p)
        self._pairs = np.zeros((heads, heads))  # sum(s ln s), above the diagonal

    def add(self, found: Iterable[np.ndarray]) -> None:
        """Add the maps of some sequences, [heads, n, n] each."""
        flat = []
        for weights in found:
            n = weights.shape[-1]
            self.tokens += n
            smoothed = weights.astype(np.float64) * (1 - self.smoothing) + self.smoothing / n
            flat.append(smoothed.reshape(self.heads, -1).astype(np.float32))
        if not flat:
            return
        every = np.concatenate(flat, axis=1)
        width = min(max(_BLOCK // self.heads, 64), 1024)
        blocks = [every[:, start : start + width] for start in range(0, every.shape[1], width)]
        with ThreadPoolExecutor(self._threads) as pool:
            # map() keeps the order of the blocks, so that the sums are the same in every run.
            for alone, mass, pairs in pool.map(self._block, blocks):
                self._alone += alone
                self._mass += mass
                self._pairs += pairs

    def _block(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """sum(p ln p) [H], sum(p) [H] and sum(s ln s) [H, H] over a block [H, width]."""
        block = np.ascontiguousarray(block)
        wide = block.astype(np.float64)
        alone = (wide * _log(wide, self.smoothing)).sum(axis=1)
        pairs = np.zeros((self.heads, self.heads))
        room, logs = np.empty_like(block), np.empty_like(block)
        for head in range(self.heads - 1):
            later = slice(self.heads - 1 - head)
            both = np.add(block[head + 1 :], block[head], out=room[later])
            log = _log(both, self.smoothing, logs[later])
            pairs[head, head + 1 :] = np.matmul(both[:, None, :], log[:, :, None])[:, 0, 0]
        return alone, wide.sum(axis=1), pairs

    def matrix(self) -> np.ndarray:
        """The distances [heads, heads] in nats; symmetric, 0 on the diagonal."""
        twice = self._alone[:, None] + self._alone - self._pairs
        twice += np.log(2) * (self._mass[:, None] + self._mass)
        upper = np.triu(np.maximum(twice / 2, 0), 1)
        return upper + upper.T


def _log(values: np.ndarray, smoothing: float, out: np.ndarray | None = None) -> np.ndarray:
    """Natural logarithms; without smoothing, 0 becomes the smallest float, so that 0 ln 0 is 0."""
    if smoothing == 0:
        values = np.maximum(values, np.finfo(np.float32).tiny)
    logs: np.ndarray = np.log(values, out=out)
    return logs
