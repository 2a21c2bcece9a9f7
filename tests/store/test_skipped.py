"""What an ingest leaves out is in `skipped`, with its reason; nothing goes in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import new_banks
import pytest
import safetensors.torch
import tokenizers
import torch
from bank_rows import query_bank

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.corpora.document import CorpusError

GOOD = """\
# sent_id = good
1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_

"""
NO_PIECES = """\
# sent_id = invisible
1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_
3\t\u200b\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""
CYCLE = """\
# sent_id = cycle
1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t1\tdep\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_

"""


@pytest.fixture
def model(tiny_model: Callable[[str], Path]) -> str:
    return str(tiny_model("bert"))


def _long(words: int) -> str:
    rows = [f"{at}\tso\tso\tADV\t_\t_\t{at - 1}\tadvmod\t_\t_" for at in range(2, words + 1)]
    return "\n".join(["# sent_id = long", "1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_", *rows, "", ""])


def _corpus(path: Path, *sentences: str) -> Path:
    path.write_text("".join(sentences), encoding="utf-8")
    return path


@pytest.mark.slow
def test_too_long_and_no_pieces(tmp_path: Path) -> None:
    corpus = _corpus(tmp_path / "c.conllu", GOOD, _long(600), NO_PIECES, GOOD.replace("good", "b"))
    bank = new_banks.put(tmp_path / "bank.duckdb")
    report = ingest(IngestOptions((str(corpus),), bank, "minilm"))
    assert report.sentences == 2
    assert report.skipped == {"no-pieces": 1, "too-long": 1}
    rows = query_bank(
        bank,
        "select skipped.name, reason, detail, place, sentence.name from skipped"
        " inner join sentence on sentence.id = skipped.sentence order by reason",
    )
    assert [row[:2] for row in rows] == [("invisible", "no-pieces"), ("long", "too-long")]
    assert "word 3" in rows[0][2] and "602 tokens, more than 512" in rows[1][2]
    assert all(row[0] == row[4] for row in rows)
    assert rows[1][3].endswith("c.conllu:5")
    # every accuracy is over what was kept
    counted = query_bank(bank, "select distinct n from head_accuracy(relation := 'all')")
    assert counted == [(4,)]


@pytest.mark.slow
def test_max_tokens_counts_the_special_tokens(tmp_path: Path) -> None:
    corpus = _corpus(tmp_path / "c.conllu", GOOD, _long(3))
    kept = ingest(
        IngestOptions((str(corpus),), new_banks.put(tmp_path / "a.duckdb"), "minilm", max_tokens=5)
    )
    cut = ingest(
        IngestOptions((str(corpus),), new_banks.put(tmp_path / "b.duckdb"), "minilm", max_tokens=4)
    )
    assert (kept.sentences, kept.skipped) == (2, {})
    assert (cut.sentences, cut.skipped) == (1, {"too-long": 1})


def test_unreadable_sentences_are_listed_and_skipped_on_request(tmp_path: Path, model: str) -> None:
    corpus = _corpus(tmp_path / "c.conllu", GOOD, CYCLE, _long(3))
    bank = tmp_path / "bank.duckdb"
    with pytest.raises(CorpusError) as caught:
        ingest(IngestOptions((str(corpus),), bank, model))
    assert [each.id for each in caught.value.problems] == ["cycle"]
    assert not bank.exists()  # the bank is not touched
    report = ingest(IngestOptions((str(corpus),), bank, model, skip_bad=True))
    assert [each.sentence for each in report.problems] == ["cycle"]
    assert (report.sentences, report.skipped) == (2, {"cycle": 1})
    rows = query_bank(bank, "select run, name, reason, place from skipped")
    assert rows == [(None, "cycle", "cycle", f"{corpus}:6")]


def test_a_corpus_of_nothing_but_faults_is_refused(tmp_path: Path, model: str) -> None:
    corpus = _corpus(tmp_path / "c.conllu", CYCLE)
    with pytest.raises(CorpusError, match="cycle"):
        ingest(IngestOptions((str(corpus),), tmp_path / "b.duckdb", model, skip_bad=True))
    assert not (tmp_path / "b.duckdb").exists()


@pytest.mark.slow
def test_attention_that_does_not_sum_to_one(
    tmp_path: Path, tiny_model: Callable[[str], Path]
) -> None:
    """A damaged checkpoint: one embedding is infinite, so the softmax of its sentence is NaN."""
    folder = tmp_path / "model"
    folder.mkdir()
    for file in tiny_model("bert").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    tokenizer = (folder / "tokenizer.json").read_text()
    vocabulary = weights["embeddings.word_embeddings.weight"]
    odd = tokenizers.Tokenizer.from_str(tokenizer).token_to_id("z")
    assert odd is not None
    vocabulary[odd] = torch.inf
    safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    bad = GOOD.replace("good", "bad").replace("Dogs", "z")
    corpus = _corpus(tmp_path / "c.conllu", GOOD, bad)
    report = ingest(
        IngestOptions((str(corpus),), new_banks.put(tmp_path / "b.duckdb"), str(folder))
    )
    assert (report.sentences, report.skipped) == (1, {"not-normalised": 1})
    assert query_bank(tmp_path / "b.duckdb", "select name, batch from skipped") == [("bad", 1)]
    assert query_bank(tmp_path / "b.duckdb", "select count(*) from sequence")[0] == (1,)
    again = ingest(IngestOptions((str(corpus),), tmp_path / "b.duckdb", str(folder)))
    assert (again.state, again.skipped) == ("unchanged", {"not-normalised": 1})
