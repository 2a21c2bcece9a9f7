"""Enhanced dependencies: the DEPS column becomes the table enhanced_dependency."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import new_banks
import pytest

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.corpora.formats.conllu import read_conllu
from attnbank.ingest.merge.merging import merge_banks
from attnbank.ingest.store.deleting import delete
from attnbank.queries import open_bank
from attnbank.queries.export import export

# Two conjuncts share a subject, once told twice; an empty node stands for what is left out.
ROWS = """1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t2:nsubj|4:nsubj|4:nsubj\t_
2\tsang\tsing\tVERB\t_\t_\t0\troot\t0:root\t_
3\tand\tand\tCCONJ\t_\t_\t4\tcc\t4:cc\t_
4\tdanced\tdance\tVERB\t_\t_\t2\tconj\t0:root|2:conj:and\t_
4.1\tsang\tsing\tVERB\t_\t_\t_\t_\t2:conj\t_
5\twell\twell\tADV\t_\t_\t4\tadvmod\t4.1:advmod|4:advmod\t_
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_
"""
EDGES = [
    (1, 2, "nsubj"), (1, 4, "nsubj"), (2, 0, "root"), (3, 4, "cc"), (4, 0, "root"),
    (4, 2, "conj:and"), (5, 4, "advmod"),
]  # fmt: skip
DOCUMENTS = "".join(f"# newdoc id = d{at}\n# sent_id = s{at}\n{ROWS}\n" for at in range(4))
ASKED = (
    "select sentence.name, dependent_index, head_index, relation from enhanced_dependency"
    " inner join sentence on sentence.id = sentence order by all"
)


def _asked(bank: Path, statement: str = ASKED) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(bank), read_only=True) as connection:
        return connection.execute(statement).fetchall()


def _filled(bank: Path, corpus: Path, model: Path, **options: Any) -> Path:
    ingest(IngestOptions((str(corpus),), new_banks.put(bank), str(model), **options))
    return bank


@pytest.mark.slow
def test_edges_are_stored_merged_exported_and_deleted(
    tmp_path: Path, tiny_model: Callable[[str], Path]
) -> None:
    corpus = tmp_path / "c.conllu"
    corpus.write_text(DOCUMENTS)
    model = tiny_model("bert")
    every = [(f"s{at}", *edge) for at in range(4) for edge in EDGES]
    shards = [_filled(tmp_path / f"{at}.duckdb", corpus, model, shard=f"{at}/2") for at in (1, 2)]
    assert _asked(shards[0]) == [row for row in every if row[0] in ("s0", "s2")]
    merged = tmp_path / "merged.duckdb"
    merge_banks(merged, shards)
    assert _asked(merged) == every

    ingest(IngestOptions((str(corpus),), merged, str(model), name="other"))
    assert len(_asked(merged)) == 2 * len(every)
    with open_bank(merged) as opened:
        export(opened, tmp_path / "out", run=f"c/{model.name}")
    (of_run,) = _asked(
        merged, f"select count(*) from '{tmp_path / 'out' / 'enhanced_dependency.parquet'}'"
    )
    assert of_run == (len(every),)
    delete(merged, [f"c/{model.name}"], ["c"])
    assert _asked(merged) == every


@pytest.mark.parametrize(
    "deps",
    ["2", "2:", ":nsubj", "2:nsubj|", "-1:nsubj", "7:nsubj", "02:nsubj", "2:n subj", "4.2:nsubj",
     "1.1:nsubj", "2.0:nsubj", "9999999999:nsubj", "\u0663:nsubj"],
)  # fmt: skip
def test_what_is_no_edge_is_told(deps: str) -> None:
    rows = ROWS.replace("2:nsubj|4:nsubj|4:nsubj", deps)
    (found,) = read_conllu(rows.encode().splitlines(keepends=True))
    assert isinstance(found, Problem) and (found.id, found.line) == ("bad-deps", 1)
    assert repr(deps.partition("|")[0] or deps) in found.fact or "''" in found.fact


@pytest.mark.parametrize("name", ["gum-dev.conllu", "ewt-dev.conllu"])
def test_the_edges_of_real_text(name: str, corpora: Path) -> None:
    """Against a reading of the column line by line."""
    path = corpora / name
    wanted: list[tuple[str, str, str]] = []
    for line in path.read_text("utf-8").splitlines():
        cells = line.split("\t")
        if len(cells) == 10 and cells[0].isdigit() and cells[8] != "_":
            for edge in cells[8].split("|"):
                head, _, relation = edge.partition(":")
                if head.isdigit():
                    wanted.append((cells[0], head, relation))
    found: list[tuple[str, str, str]] = []
    with path.open("rb") as lines:
        for sentence in read_conllu(lines):
            assert isinstance(sentence, Sentence)
            for at, word in enumerate(sentence.words, 1):
                found += [(str(at), str(head), relation) for head, relation in word.edges]
    assert len(found) > 10_000 and found == wanted
