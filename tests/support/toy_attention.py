"""Makes a bank of random sentences and attention, in which a head can be made to look somewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import new_banks
import numpy as np
import polars as pl

from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.ids import row_id

LAYERS = HEADS = 2
RELATIONS = ("nsubj", "obj", "punct")

Look = Callable[[np.ndarray, list[int]], None]
"""Changes the maps [K, n + 2, n + 2] of a sentence, given the heads of its words."""


def random_tree(count: int, rng: np.random.Generator) -> list[int]:
    """The heads of a random tree over words 1 to `count`: each depends on an earlier drawn one."""
    order = (rng.permutation(count) + 1).tolist()
    heads = [0] * count
    for at, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[rng.integers(at)]
    return heads


def follow_heads(maps: np.ndarray, heads: list[int]) -> None:
    """Head 2-1 looks at the syntactic head of each word, and at [CLS] from the root."""
    for word, head in enumerate(heads, start=1):
        maps[2, word] = 0.1 / maps.shape[1]
        maps[2, word, head] += 0.9


def as_drawn(maps: np.ndarray, heads: list[int]) -> None:
    """Leave the maps as they were drawn, so that heads look anywhere."""


def make_bank(
    path: Path,
    sizes: dict[str, int],
    look: Look = as_drawn,
    *,
    seed: int = 0,
    has_trees: bool = True,
    splits: tuple[str, ...] = (),
) -> Path:
    """A bank with one run per name in `sizes`, of that many sentences in documents of five.

    Sentences have 1 to 9 words from a vocabulary of 20. Weights are random, except for what `look`
    changes. Positions are [CLS], the words and [SEP]. `splits` are given to the documents in turn.
    """
    rng = np.random.default_rng(seed)
    tables: dict[str, list[dict[str, object]]] = {}

    def add(table: str, **row: object) -> None:
        tables.setdefault(table, []).append(row)

    add("model", id=1, name="./toy", sha256="aa" * 32, architecture="Toy", layers=LAYERS,
        heads=HEADS, tokenizer="Toy")  # fmt: skip
    documents = 0
    for number, (name, size) in enumerate(sizes.items(), start=1):
        # The corpus and the run have the same number, and so have a sentence and its input.
        word = sentence = document = row_id(number, 0)
        add("corpus", id=number, name=name, format="text", path=name, sha256="bb" * 32,
            annotation="gold")  # fmt: skip
        add(
            "run", id=number, name=name, model=1, corpus=number, context="sentence", unit="word",
            subword="mean", max_tokens=512, code_version="0",
            started="2020-01-01 00:00:00", finished="2020-01-01 00:00:01",
        )  # fmt: skip
        add("run_part", run=number, batch_tokens=2048, device="cpu", libraries={}, batches=1,
            started="2020-01-01 00:00:00", finished="2020-01-01 00:00:01")  # fmt: skip
        for at in range(size):
            if at % 5 == 0:
                document += 1
                documents += 1
                split = splits[at // 5 % len(splits)] if splits else None
                add("document", id=document, corpus=number, index=at // 5 + 1,
                    name=f"d{documents}", marked=True, split=split)  # fmt: skip
            sentence += 1
            count = int(rng.integers(1, 10))
            heads = random_tree(count, rng)
            add("sentence", id=sentence, document=document, index=at % 5 + 1, words=count,
                empty_nodes=0)  # fmt: skip
            add("sequence", id=sentence, run=number, batch=1, document=document,
                sentence=sentence, positions=count + 2, tokens=count + 2)  # fmt: skip
            here = {"sequence": sentence, "segment": 0}
            add("position", **here, position=0, kind="cls", text="[CLS]", pieces=["[CLS]"])
            for index, head in enumerate(heads, start=1):
                word += 1
                form = f"w{rng.integers(20)}"
                relation = "root" if head == 0 else RELATIONS[int(rng.integers(3))]
                add("word", id=word, sentence=sentence, index=index, form=form, space_after=True,
                    head_index=head if has_trees else None,
                    deprel=relation if has_trees else None)  # fmt: skip
                add("position", **here, position=index, kind="word", word=word, text=form,
                    pieces=[form])  # fmt: skip
            last = count + 1
            add("position", **here, position=last, kind="sep", text="[SEP]", pieces=["[SEP]"])
            maps = rng.dirichlet(np.ones(count + 2), size=(LAYERS * HEADS, count + 2))
            look(maps, heads)
            for k, weights in enumerate(maps):
                for place, row in enumerate(weights):
                    add("attention", sequence=sentence, layer=k // HEADS + 1, head=k % HEADS + 1,
                        from_position=place, weights=row.tolist())  # fmt: skip
    with open_to_write(new_banks.put(path), "test") as connection:
        connection.execute("begin")
        for table, rows in tables.items():
            if table in ("attention", "position", "word"):
                connection.register("arriving", pl.DataFrame(rows).to_arrow())
                connection.execute(f"insert into {table} by name select * from arriving")
                connection.unregister("arriving")
                continue
            for each in rows:
                places = ", ".join("?" for _ in each)
                columns = ", ".join(each)
                connection.execute(
                    f"insert into {table} ({columns}) values ({places})", list(each.values())
                )
        connection.execute("commit")
    return path
