"""Probes of a causal model: a first word that is set apart is a word with a head as others have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import ProbeOptions, train_probe
from attnbank.sql.bank.opening import open_to_read


def test_a_first_word_is_judged_as_every_word(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    """Unlike special tokens: a probe finds a tree, which has a head for each of its words."""
    path = tmp_path / "bank.duckdb"
    corpus = (str(sample / "stories.conllu"),)
    ingest(IngestOptions(corpus, path, str(tiny_model("gpt2")), limit=8))
    with open_to_read(path) as connection:
        kinds = connection.execute("select distinct kind from position order by kind").fetchall()
        ((words,),) = connection.execute(
            "select count(*) from position inner join word on word.id = position.word"
            " where word.deprel <> 'punct'"
        ).fetchall()
        ((name,),) = connection.execute("select name from run").fetchall()
    assert kinds == [("first",), ("word",)]
    report = train_probe(path, "right_branching", None, name, ProbeOptions(resamples=1))
    assert report.scores["n"][0] == words
