"""What `compute` keeps of trees: the options, what is kept side by side, and what is refused."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from bank_rows import query_bank

from attnbank.ingest.derived.computations import compute
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError, QueryError

pytest.importorskip("ufal.chu_liu_edmonds")


@pytest.fixture(scope="session")
def filled(bank_of: BankFactory) -> Path:
    """A bank with runs of an encoder, a decoder, and of tokens, over the sample's press texts."""
    encoder = bank_of("press", limit=12)
    return bank_of(
        "press", after=bank_of("press", "gpt2", after=encoder, limit=12), unit="token", limit=1
    )


@pytest.fixture
def bank(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path / "bank.duckdb"))


def _asked(path: Path, statement: str) -> list[tuple[object, ...]]:
    return query_bank(path, statement)


@pytest.mark.slow
def test_several_ways_are_kept_side_by_side(bank: Path) -> None:
    ways: tuple[dict[str, Any], ...] = ({}, {"root": "gold"}, {"decoder": "projective"})
    for options in ways:
        first = compute(bank, "attention_tree", 1, **options)
        assert first.is_new and first.rows["attention_tree"] == 12 * (3 * (12 + 3 + 1) + 1)
        assert not compute(bank, "attention_tree", 1, **options).is_new
    kept = "select distinct root, decoder from main.attention_tree order by all"
    assert _asked(bank, kept) == [
        ("gold", "spanning"), ("none", "projective"), ("none", "spanning")
    ]  # fmt: skip
    gold = (
        "select count(*) from main.attention_tree as tree"
        " join position on position.sequence = tree.sequence"
        " join word on word.id = position.word and word.sentence = tree.sentence"
        " where tree.root = 'gold' and word.head_index = 0"
        " and tree.heads[position.position - tree.first_position + 1] is not null"
    )
    assert _asked(bank, gold) == [(0,)]
    with open_bank(bank) as opened:
        found = {
            root: opened.query("best_tree", run=1, root=root)["uas"][0] for root in ("none", "gold")
        }
    assert found["none"] != found["gold"]


def test_another_ensemble_leaves_no_trees_of_the_one_before(bank: Path) -> None:
    compute(bank, "attention_tree", 1)
    compute(bank, "attention_tree", 1, root="gold")
    done = compute(bank, "attention_tree", 1, ensemble=1)
    assert set(done.rows) == {"tree_ensemble", "attention_tree"}
    assert _asked(bank, "select max(rank) from main.tree_ensemble") == [(1,)]
    assert _asked(bank, "select distinct root from main.attention_tree") == [("none",)]
    steps = "select step, map_extract_value(options, 'ensemble') from computation order by step"
    assert _asked(bank, steps) == [("attention_tree", "1"), ("tree_ensemble", "1")]


def test_a_decoder_has_one_direction_and_leaves_its_first_word_out(bank: Path) -> None:
    compute(bank, "attention_tree", 2)
    directions = "select distinct source, direction from main.attention_tree order by source"
    assert _asked(bank, directions) == [
        (source, "later_to_earlier") for source in ("all", "ensemble", "head", "layer")
    ]
    first = "select min(first_position), min(len(heads)) from main.attention_tree"
    assert _asked(bank, first)[0][0] == 1


def test_trees_of_a_decoder_have_the_gold_root(bank: Path) -> None:
    """Of a causal run a root is judged in no direction, and is known to its tree."""
    compute(bank, "attention_tree", 2, root="gold")
    roots = _asked(
        bank,
        "select position.kind, tree.heads[position.position - tree.first_position + 1] is null"
        " from main.attention_tree as tree"
        " join position on position.sequence = tree.sequence"
        " join word on word.id = position.word and word.sentence = tree.sentence"
        " where word.head_index = 0 and position.kind = 'word'",
    )
    assert len(roots) > 3 * (12 + 3 + 1) and set(roots) == {("word", True)}


@pytest.mark.parametrize(
    ("step", "options", "fact"),
    [
        ("attention_tree", {"root": "silver"}, "root cannot be silver."),
        ("attention_tree", {"decoder": "kruskal"}, "decoder cannot be kruskal."),
        ("attention_tree", {"seed": 1}, "attention_tree has no option seed."),
        ("attention_span", {"distance": "cosine"}, "distance cannot be cosine."),
        ("attention_tree", {"run": 3}, "its positions are tokens"),
    ],
)
def test_what_does_not_fit_is_refused(bank: Path, step: str, options: Any, fact: str) -> None:
    before = bank.read_bytes()
    with pytest.raises((CallError, QueryError), match=fact):
        compute(bank, step, **options)
    assert bank.read_bytes() == before


def test_what_a_corpus_lacks_is_told(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QueryError, match="its corpus has no bracketed trees"):
        compute(bank, "attention_span")
    with open_bank(bank) as opened, pytest.raises(QueryError) as told:
        opened.query("tree_accuracy")
    assert "no trees were decoded from it" in str(told.value)
    assert "compute attention_tree --run RUN" in str(told.value)
    monkeypatch.setitem(sys.modules, "ufal.chu_liu_edmonds", None)
    with pytest.raises(
        CallError, match=r"needs ufal.chu_liu_edmonds, which is not installed"
    ) as no:
        compute(bank, "attention_tree", 1)
    assert no.value.remedy == "In a clone of attnbank, type: pip install '.[trees]'"
