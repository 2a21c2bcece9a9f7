"""Probes of a causal model: a first word that is set apart is a word with a head as others have."""

from __future__ import annotations

from pathlib import Path

from bank_factory import BankFactory
from bank_rows import query_bank

from attnbank.ingest.derived.probes import ProbeOptions, train_probe


def test_a_first_word_is_judged_as_every_word(tmp_path: Path, bank_of: BankFactory) -> None:
    """Unlike special tokens: a probe finds a tree, which has a head for each of its words."""
    path = bank_of("stories", "gpt2", limit=8, to=tmp_path)
    kinds = query_bank(path, "select distinct kind from position order by kind")
    ((words,),) = query_bank(
        path,
        "select count(*) from position inner join word on word.id = position.word"
        " where word.deprel <> 'punct'",
    )
    ((name,),) = query_bank(path, "select name from run")
    assert kinds == [("first",), ("word",)]
    report = train_probe(path, "right_branching", None, name, ProbeOptions(resamples=1))
    assert report.scores["n"][0] == words
