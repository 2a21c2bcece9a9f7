"""Enhanced edges and constituents are stored, merged, exported and deleted with sentences."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from fixture_types import Options

from attnbank.ingest import ingest
from attnbank.ingest.merge.merging import merge_banks
from attnbank.ingest.store.deleting import delete
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankError
from attnbank.sql.export_format import export

EDGES = """# newdoc id = d0
# sent_id = s0
1\tShe\t_\t_\t_\t_\t2\tnsubj\t2:nsubj|3:nsubj\t_
2\tsang\t_\t_\t_\t_\t0\troot\t0:root\t_
3\tslept\t_\t_\t_\t_\t2\tconj\t2:conj\t_

"""
PHRASES = """#begin document (d0); part 0
d0 0 0 She PRP (S(NP*) - - - - * -
d0 0 1 slept VBD (VP*)) - - - - * -

#end document
"""
TABLES: dict[str, tuple[str, str, list[tuple[Any, ...]]]] = {
    "enhanced_dependency": (
        EDGES,
        "dependent_index, head_index, relation",
        [(1, 2, "nsubj"), (1, 3, "nsubj"), (2, 0, "root"), (3, 2, "conj")],
    ),
    "constituent": (
        PHRASES,
        "label, first_index, last_index, parent",
        [("S", 1, 2, None), ("NP", 1, 1, 1), ("VP", 2, 2, 1)],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_annotation_follows_its_sentences(
    tmp_path: Path, table: str, bank_of: BankFactory, options_for: Options
) -> None:
    text, columns, rows = TABLES[table]
    corpus = tmp_path / "c"
    corpus.write_text("".join(text.replace("d0", f"d{at}") for at in range(4)))
    every = Counter((f"d{at}", *row) for at in range(4) for row in rows)

    def stored(bank: Path, source: str = table) -> list[tuple[Any, ...]]:
        return query_bank(
            bank,
            f"select document.name, {columns} from {source} as annotation"
            " inner join sentence on sentence.id = annotation.sentence"
            " inner join document on document.id = sentence.document",
        )

    shards = [
        bank_of(corpus, shard=f"{number}/2", to=tmp_path / f"{number}.duckdb") for number in (1, 2)
    ]
    assert set(stored(shards[0])) == {row for row in every if row[0] in ("d0", "d2")}
    merged = tmp_path / "merged.duckdb"
    merge_banks(merged, shards)
    assert Counter(stored(merged)) == every

    ingest(options_for(merged, corpus, name="other"))
    assert len(stored(merged)) == 2 * len(every)
    with open_bank(merged) as opened:
        (first, _) = opened.runs()["name"]
        export(opened.path, tmp_path / "out", run=first)
    assert Counter(stored(merged, f"'{tmp_path / 'out' / table}.parquet'")) == every
    delete(merged, [first], ["c"])
    assert Counter(stored(merged)) == every

    change_bank(shards[1], f"insert into {table} select * replace (999 as sentence) from {table}")
    with pytest.raises(AttnbankError, match=f"{table} has rows that belong to no sentence"):
        merge_banks(tmp_path / "damaged.duckdb", shards)
