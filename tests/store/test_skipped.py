"""What an ingest leaves out is in `skipped`, with its reason; a run that keeps nothing fails."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import tokenizers
import torch
from bank_rows import change_bank, query_bank
from command_line import Cli
from fixture_types import Models, Options

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.corpora.document import CorpusError
from attnbank.sql.errors import AttnbankError

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
Corpus = Options


def _long(words: int) -> str:
    rows = [f"{at}\tso\tso\tADV\t_\t_\t{at - 1}\tadvmod\t_\t_" for at in range(2, words + 1)]
    return "\n".join(["# sent_id = long", "1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_", *rows, "", ""])


@pytest.fixture
def corpus_of(tmp_path: Path, options_for: Options) -> Corpus:
    """A function from sentences to the options of an ingest of them."""

    def write(*sentences: str, model: Path | str = "bert") -> IngestOptions:
        path = tmp_path / "c.conllu"
        path.write_text("".join(sentences), encoding="utf-8")
        return options_for(tmp_path / "bank.duckdb", path, model)

    return write


@pytest.mark.slow
def test_too_long_and_no_pieces(corpus_of: Corpus) -> None:
    sentences = (GOOD, _long(600), NO_PIECES, GOOD.replace("good", "b"))
    options = corpus_of(*sentences, model="minilm")
    report = ingest(options)
    assert report.sentences == 2
    assert report.skipped == {"no-pieces": 1, "too-long": 1}
    rows = query_bank(
        options.bank,
        "select skipped.name, reason, detail, place, sentence.name from skipped"
        " inner join sentence on sentence.id = skipped.sentence order by reason",
    )
    assert [row[:2] for row in rows] == [("invisible", "no-pieces"), ("long", "too-long")]
    assert "word 3" in rows[0][2] and "602 tokens, more than 512" in rows[1][2]
    assert all(row[0] == row[4] for row in rows)
    assert rows[1][3].endswith("c.conllu:5")
    # every accuracy is over what was kept
    counts = "select distinct n from head_accuracy(relation := 'all')"
    assert query_bank(options.bank, counts) == [(4,)]


@pytest.mark.slow
def test_max_tokens_counts_the_special_tokens(corpus_of: Corpus, tmp_path: Path) -> None:
    options = corpus_of(GOOD, _long(3), model="minilm")
    for limit, sentences, skipped in ((5, 2, {}), (4, 1, {"too-long": 1})):
        report = ingest(replace(options, bank=tmp_path / f"{limit}.duckdb", max_tokens=limit))
        assert (report.sentences, report.skipped) == (sentences, skipped)


def test_unreadable_sentences_are_listed_and_skipped_on_request(corpus_of: Corpus) -> None:
    options = corpus_of(GOOD, CYCLE, _long(3))
    with pytest.raises(CorpusError) as caught:
        ingest(options)
    assert [problem.id for problem in caught.value.problems] == ["cycle"]
    assert not options.bank.exists()  # the bank is not touched
    report = ingest(replace(options, skip_bad=True))
    assert [problem.sentence for problem in report.problems] == ["cycle"]
    assert (report.sentences, report.skipped) == (2, {"cycle": 1})
    rows = query_bank(options.bank, "select run, name, reason, place from skipped")
    assert rows == [(None, "cycle", "cycle", f"{options.corpora[0]}:6")]


def test_a_corpus_of_nothing_but_faults_is_refused(corpus_of: Corpus) -> None:
    options = replace(corpus_of(CYCLE), skip_bad=True)
    with pytest.raises(CorpusError, match="cycle"):
        ingest(options)
    assert not options.bank.exists()


@pytest.mark.slow
def test_attention_that_does_not_sum_to_one(
    corpus_of: Corpus, tmp_path: Path, tiny_model: Models
) -> None:
    """A damaged checkpoint: one embedding is infinite, so the softmax of its sentence is NaN."""
    model = Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))
    weights = safetensors.torch.load_file(model / "model.safetensors")
    tokenizer = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    weights["embeddings.word_embeddings.weight"][tokenizer.token_to_id("z")] = torch.inf
    safetensors.torch.save_file(weights, model / "model.safetensors", {"format": "pt"})
    bad = GOOD.replace("good", "bad").replace("Dogs", "z")
    options = corpus_of(GOOD, bad, model=model)
    report = ingest(options)
    assert (report.sentences, report.skipped) == (1, {"not-normalised": 1})
    assert query_bank(options.bank, "select name, batch from skipped") == [("bad", 1)]
    assert query_bank(options.bank, "select count(*) from sequence") == [(1,)]
    again = ingest(options)
    assert (again.state, again.skipped) == ("unchanged", {"not-normalised": 1})


@pytest.mark.slow
def test_a_run_that_would_keep_nothing_is_refused(corpus_of: Corpus) -> None:
    options = corpus_of(_long(5), _long(6).replace("long", "longer"))
    whole = ingest(options)
    assert whole.sentences == 2
    for _ in range(2):  # typed again it is the same
        with pytest.raises(
            AttnbankError, match=r"No input of c could be used.*2 too-long"
        ) as error:
            ingest(replace(options, max_tokens=4))
        assert "--max-tokens" in error.value.remedy
        assert error.value.status == 1
    assert query_bank(options.bank, "select name from run") == [(whole.run,)]
    assert query_bank(options.bank, "select count(*) from skipped") == [(0,)]
    # A bank of an older version, whose runs that kept nothing are finished.
    change_bank(options.bank, "delete from sequence")
    with pytest.raises(AttnbankError, match="No input of c could be used"):
        ingest(options)
    assert ingest(options).sentences == 2


def test_the_command_ends_where_nothing_is_kept(corpus_of: Corpus, cli: Cli) -> None:
    options = corpus_of(_long(5))
    command = ["-b", str(options.bank), "ingest", *options.corpora, "-m", options.model]
    error = cli(*command, "--max-tokens", "4", status=1).err
    assert "No input of c could be used" in error and "Next:" not in error
