"""A bank of several runs, and what to compare of a bank before and after a change."""

from __future__ import annotations

from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

_SAMPLE = Path(__file__).resolve().parents[2] / "ingest" / "corpora" / "sample"
_TEXT = "# text = "

Rows = list[tuple[object, ...]]


def five_runs(path: Path) -> Path:
    """Write a bank of five runs over two texts, with two probes, distances and embeddings.

    The runs are single sentences of both texts, documents, token pairs with gradients and ablation,
    and documents of a control with other random weights.
    """
    path.write_bytes(_five_runs())
    return path


@cache
def _five_runs() -> bytes:
    import tiny_models

    from attnbank.ingest import IngestOptions, ingest
    from attnbank.ingest.derived.computations import compute
    from attnbank.ingest.derived.probes import ProbeOptions, train_probe

    document: dict[str, Any] = {"context": "document", "max_tokens": 48}
    pairs: dict[str, Any] = {"context": "pair", "max_tokens": 40, "unit": "token", "limit": 2}
    # In the folder, so that names in the bank are short, and those of no machine.
    with TemporaryDirectory() as folder, chdir(folder):
        train, test = "train.conllu", "test.conllu"
        text = []
        for source, file, sentences in (("press", train, 5), ("stories", test, 4)):
            blocks = (_SAMPLE / f"{source}.conllu").read_text(encoding="utf-8").split("\n\n")
            Path(file).write_text("\n\n".join(blocks[:sentences]) + "\n\n", encoding="utf-8")
            lines = "\n".join(blocks[:sentences]).splitlines()
            text += [line[len(_TEXT) :] for line in lines if line.startswith(_TEXT)]
        model = str(tiny_models.save("bert", Path("tiny"), text, masked_lm=True))
        bank = Path("bank.duckdb")
        ingest(IngestOptions((train,), bank, model))
        ingest(IngestOptions((test,), bank, model))
        ingest(IngestOptions((test,), bank, model, decimals=5, **document))
        ingest(IngestOptions((test,), bank, model, gradients=True, ablate="heads", **pairs))
        ingest(IngestOptions((test,), bank, model, random_weights=7, decimals=3, **document))
        compute(bank, "head_distance", run=4)
        compute(bank, "head_embedding", run=4)
        train_probe(bank, "attention", 1, 2, ProbeOptions(epochs=2, resamples=10))
        train_probe(bank, "right_branching", None, 2, ProbeOptions(resamples=10))
        return bank.read_bytes()


def columns(path: Path) -> dict[str, list[str]]:
    """The names of the columns of every table of a bank, by table."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            str(table): list(names)
            for table, names in connection.execute(
                "select table_name, list(column_name order by column_index) from duckdb_columns()"
                " where schema_name = 'main' and not internal"
                " and table_name in (select table_name from duckdb_tables())"
                " group by table_name order by table_name"
            ).fetchall()
        }


def rows(path: Path, of: dict[str, list[str]], without: tuple[str, ...] = ()) -> dict[str, Rows]:
    """The rows of a bank's tables as sorted texts, of the columns that `of` names for each."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            table: connection.execute(
                "select "
                + ", ".join(f'cast("{name}" as varchar)' for name in names)
                + f" from {table} order by all"
            ).fetchall()
            for table, names in of.items()
            if table not in without
        }
