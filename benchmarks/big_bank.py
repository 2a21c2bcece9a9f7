"""Makes a bank of any size from one text.

    python benchmarks/big_bank.py CORPUS BANK [--weights 1e9] [--context pair] [--unit token]

The text is ingested once with the packaged model, or a sample of it if it has more weights than
--weights. Then all rows are copied with new ids (documents, sentences, words and mentions as well
as inputs, attention and peaks), until the bank has about that many weights. The result is what an
ingest of that many copies of the text would give, but made at the speed of the disk.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest import IngestOptions, estimate, ingest
from attnbank.sql.bank.opening import open_to_write

IDS = {
    "document": {"id": "document"},
    "sentence": {"id": "sentence", "document": "document"},
    "word": {"id": "word", "sentence": "sentence"},
    "mention": {
        "id": "mention",
        "document": "document",
        "entity": "entity",
        "first_word": "word",
        "last_word": "word",
        "head_word": "word",
    },
    "sequence": {"id": "sequence", "document": "document", "sentence": "sentence"},
    "position": {"sequence": "sequence", "word": "word"},
    "attention": {"sequence": "sequence"},
    "attention_map": {"sequence": "sequence"},
    "peak": {"sequence": "sequence"},
    "gradient": {"sequence": "sequence"},
}
"""The columns of each table that are ids, and of what; a copy of a row gets new ones."""


def make(corpus: str, bank: Path, weights: int, context: str, unit: str) -> int:
    """Fill a new bank with about `weights` weights; returns how many it has."""
    shape: dict[str, Any] = {"context": context, "unit": unit}
    whole = estimate(IngestOptions((corpus,), bank, "minilm", **shape))
    if whole.weights > weights:  # inputs are drawn at random, and differ in length
        shape["limit"] = max(1, math.ceil(whole.inputs * weights / whole.weights))
    done = ingest(IngestOptions((corpus,), bank, "minilm", **shape))
    copies = max(1, round(weights / done.weights))
    connection = open_to_write(bank, "benchmark", {"memory_limit": "1GB"})
    try:
        copy(connection, copies)
    finally:
        connection.close()
    return done.weights * copies


def copy(connection: DuckDBPyConnection, copies: int) -> None:
    """Insert the rows of a bank again, until each is there `copies` times.

    Copies differ only in their ids, which continue those of the first.
    """
    last = {
        "entity": _last(connection, "mention", "entity"),
        **{name: _last(connection, name, "id") for name in ("document", "sentence", "word")},
        **{name: _last(connection, name, "id") for name in ("mention", "sequence")},
    }
    for number in range(1, copies):
        connection.execute("begin")
        for table, columns in IDS.items():
            first = "sequence" if "sequence" in columns else "id"
            replaced = ", ".join(
                f"cast({column} + {number * last[of]} as integer) as {column}"
                for column, of in columns.items()
            )
            connection.execute(
                f"insert into {table} select * replace ({replaced}) from {table}"
                f" where {first} <= {last[columns[first]]}"
            )
        connection.execute("commit")
        connection.execute("checkpoint")


def _last(connection: DuckDBPyConnection, table: str, column: str) -> int:
    found = connection.execute(f"select coalesce(max({column}), 0) from {table}").fetchone()
    assert found is not None
    return int(found[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("bank", type=Path)
    parser.add_argument("--weights", type=float, default=1e9)
    parser.add_argument("--context", default="pair")
    parser.add_argument("--unit", default="token")
    arguments = parser.parse_args()
    weights = make(
        arguments.corpus,
        arguments.bank,
        round(arguments.weights),
        arguments.context,
        arguments.unit,
    )
    size = arguments.bank.stat().st_size
    print(f"{arguments.bank}: {weights:,} weights, {size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
