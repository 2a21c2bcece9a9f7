"""`best_head` compared with the published code's method, on the same attention, in one process.

    python benchmarks/bench_best_head.py BANK [--rounds 3]

The published method: for each layer, head and direction, take each sentence's map, cut off the
special tokens, blank the diagonal, arg-max every row, and count hits per relation in Python. Its
maps are read from the bank into NumPy arrays beforehand, and that time is not counted, while the
query reads the file. Both must find the same best accuracies.
"""

from __future__ import annotations

import argparse
import collections
import statistics
import time

import duckdb
import numpy as np

Example = tuple[list[int], list[str], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bank")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    connection = duckdb.connect(arguments.bank, read_only=True)
    examples = _examples(connection)
    ratios = []
    for number in range(arguments.rounds + 1):
        start = time.perf_counter()
        found = connection.execute(
            "select relation, layer, head, direction, accuracy from best_head()"
        ).fetchall()
        query = time.perf_counter() - start
        if number == 0:
            continue
        start = time.perf_counter()
        expected = _published(examples)
        loop = time.perf_counter() - start
        for relation, *_, accuracy in found:
            assert abs(expected[relation] - accuracy) < 1e-12, relation
        ratios.append(loop / query)
        print(f"query {query:.3f} s, loop {loop:.2f} s, ratio {loop / query:.0f}")
    print(f"median ratio {statistics.median(ratios):.0f}")


def _examples(connection: duckdb.DuckDBPyConnection) -> list[Example]:
    """Heads, relations and maps [L, H, n, n], with special tokens, of every sentence."""
    model = connection.execute("select layers, heads from model").fetchone()
    assert model is not None
    examples = []
    for sequence, sentence, positions in connection.execute(
        "select id, sentence, positions from sequence order by id"
    ).fetchall():
        words = connection.execute(
            "select head_index, split_part(deprel, ':', 1) from word where sentence = ?"
            " order by id",
            [sentence],
        ).fetchall()
        maps = connection.execute(
            "select flatten(list(weights order by layer, head, from_position)) from attention"
            " where sequence = ?",
            [sequence],
        ).fetchone()
        assert maps is not None
        shaped = np.array(maps[0], dtype=np.float32).reshape(*model, positions, positions)
        examples.append(([row[0] for row in words], [row[1] for row in words], shaped))
    return examples


def _published(examples: list[Example]) -> dict[str, float]:
    """The best accuracy of any head and direction, per relation."""
    best: dict[str, float] = {}
    layers, heads = examples[0][2].shape[:2]
    for layer in range(layers):
        for head in range(heads):
            for transpose in (False, True):
                correct: collections.Counter[str] = collections.Counter()
                total: collections.Counter[str] = collections.Counter()
                for gold, relations, maps in examples:
                    attention = np.array(maps[layer][head])
                    if transpose:
                        attention = attention.T
                    attention[range(len(attention)), range(len(attention))] = 0
                    predictions = np.argmax(attention[1:-1, 1:-1], axis=-1) + 1
                    for prediction, head_index, relation in zip(
                        predictions, gold, relations, strict=True
                    ):
                        total["all"] += 1
                        if head_index:
                            total[relation] += 1
                        if prediction == head_index and len(gold) > 1:
                            correct["all"] += 1
                            correct[relation] += 1
                for relation, count in total.items():
                    best[relation] = max(best.get(relation, 0.0), correct[relation] / count)
    return best


if __name__ == "__main__":
    main()
