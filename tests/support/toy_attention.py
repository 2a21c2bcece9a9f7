"""A bank of made-up sentences and attention, where one head is made to look where it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from attnbank.sql.opening import open_to_write

LAYERS = HEADS = 2
RELATIONS = ("nsubj", "obj", "punct")

Look = Callable[[np.ndarray, list[int]], None]
"""Changes the maps [K, n + 2, n + 2] of a sentence, given the heads of its words."""


def random_tree(count: int, chance: np.random.Generator) -> list[int]:
    """Heads of a tree over words 1 to `count`: each hangs on one that was drawn before it."""
    order = (chance.permutation(count) + 1).tolist()
    heads = [0] * count
    for at, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[chance.integers(at)]
    return heads


def make_bank(
    path: Path,
    sizes: dict[str, int],
    look: Look,
    *,
    seed: int = 0,
    has_trees: bool = True,
    splits: tuple[str, ...] = (),
) -> Path:
    """A bank with a run for each name in `sizes`, of so many sentences in documents of five.

    Sentences have 1 to 9 words, drawn from a vocabulary of 20; weights are random but for what
    `look` changes. Positions are [CLS], the words and [SEP].
    """
    chance = np.random.default_rng(seed)
    tables: dict[str, list[tuple[object, ...]]] = {}

    def add(table: str, *row: object) -> None:
        tables.setdefault(table, []).append(row)

    add("model", 1, "./toy", None, "aa" * 32, "Toy", LAYERS, HEADS, None, "Toy", None)
    word = sentence = document = 0
    for number, (name, size) in enumerate(sizes.items(), start=1):
        add("corpus", number, name, "text", name, "bb" * 32, "gold", None)
        add(
            "run", number, name, 1, number, "sentence", "word", "mean", 512, None, 2048, None,
            "cpu", "0", {}, sentence + 1, 1, "2020-01-01 00:00:00", "2020-01-01 00:00:01",
        )  # fmt: skip
        for at in range(size):
            if at % 5 == 0:
                document += 1
                split = splits[at // 5 % len(splits)] if splits else None
                add("document", document, number, at // 5 + 1, f"d{document}", split, None, None)
            sentence += 1
            count = int(chance.integers(1, 10))
            heads = random_tree(count, chance)
            add("sentence", sentence, document, at % 5 + 1, None, None, None, count, 0, None)
            add("sequence", sentence, number, 1, document, sentence, count + 2, count + 2)
            add("position", sentence, 0, "cls", None, "[CLS]", ["[CLS]"])
            for index in range(1, count + 1):
                word += 1
                form = f"w{chance.integers(20)}"
                head = heads[index - 1]
                relation = "root" if head == 0 else RELATIONS[int(chance.integers(3))]
                add(
                    "word", word, sentence, index, form, None, None, None, None,
                    head if has_trees else None, relation if has_trees else None,
                    None, True, None, None,
                )  # fmt: skip
                add("position", sentence, index, "word", word, form, [form])
            add("position", sentence, count + 1, "sep", None, "[SEP]", ["[SEP]"])
            maps = chance.dirichlet(np.ones(count + 2), size=(LAYERS * HEADS, count + 2))
            look(maps, heads)
            for k, weights in enumerate(maps):
                for place, row in enumerate(weights):
                    layer, head_number = k // HEADS + 1, k % HEADS + 1
                    add("attention", sentence, layer, head_number, place, row.tolist())
    with open_to_write(path, "test") as connection:
        for table, rows in tables.items():
            columns = [
                each[0]
                for each in connection.execute(
                    "select column_name from duckdb_columns() where table_name = ?"
                    " and schema_name = 'main' order by column_index",
                    [table],
                ).fetchall()
            ]
            if table in ("attention", "position", "word", "sequence", "sentence"):
                frame = pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
                connection.register("arriving", frame.to_arrow())
                connection.execute(f"insert into {table} select * from arriving")
                connection.unregister("arriving")
            else:
                places = ", ".join("?" for _ in columns)
                for row in rows:
                    connection.execute(f"insert into {table} values ({places})", list(row))
    return path
