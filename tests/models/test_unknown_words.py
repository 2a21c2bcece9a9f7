"""What share of the words a tokenizer does not know: counted, kept, told, and warned of."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import new_banks
import oracle_reference as slow
import pytest
import tokenizers
import transformers
from bank_rows import change_bank, query_bank
from case_bank import make_bank
from command_line import Cli
from crashes import ingest_part
from encoding import encoded
from fixture_types import Models, Options

from attnbank.cli.commands import info
from attnbank.cli.output import unknown_lines
from attnbank.ingest import IngestOptions, estimate, ingest
from attnbank.ingest.models.files import locate_model
from attnbank.ingest.models.tokenizer import (
    READING_VERSION,
    Encoded,
    InputTokenizer,
    Unalignable,
)
from attnbank.ingest.store import pipeline
from attnbank.queries import open_bank

_WORDS = ["Rain", "☃", "fell", "日本", ".", "☃☃"]


def _corpus(path: Path, sentences: int = 40) -> Path:
    """Sentences of the words above, of which the tiny tokenizers do not know three."""
    rows = [
        f"{at}\t{word}\t_\tX\t_\t_\t{at - 1}\t{'dep' if at > 1 else 'root'}\t_\t_"
        for at, word in enumerate(_WORDS, start=1)
    ]
    text = "\n".join([f"# text = {' '.join(_WORDS)}", *rows])
    blocks = [f"# sent_id = {number}\n{text}\n" for number in range(1, sentences + 1)]
    path.write_text("# newdoc id = one\n" + "\n".join(blocks) + "\n", encoding="utf-8")
    return path


def _slow_count(bank: Path, unknown: str) -> int:
    """Words with the unknown piece, from every position of the bank."""
    rows = query_bank(bank, "select word, pieces from position where word is not null")
    return len({word for word, pieces in rows if unknown in pieces})


@pytest.mark.usual("document-gemma")
@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        pytest.param(shape, kind, id=f"{'-'.join(shape.values()) or 'default'}-{kind}")
        for shape, kind in (
            ({}, "bert"),
            ({"context": "document"}, "gemma"),
            ({"context": "document"}, "xlm-roberta"),
            ({"unit": "token"}, "xlm-roberta"),
            ({"context": "pair", "unit": "token"}, "bert"),
            ({"context": "pair", "unit": "token"}, "gemma"),
        )
    ],
)
def test_the_count_of_a_run(
    tmp_path: Path,
    tiny_model: Models,
    kind: str,
    shape: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    options_for: Options,
) -> None:
    """Its batches are of several transactions."""
    monkeypatch.setattr(pipeline, "WEIGHTS_AT_ONCE", 1)
    bank = tmp_path / "b.duckdb"
    corpus = _corpus(tmp_path / "snow.conllu", 12 if shape.get("context") == "pair" else 4)
    options = options_for(bank, corpus, kind, max_tokens=40, batch_tokens=40, **shape)
    report = ingest(options)
    assert report.batches > 1
    unknown = transformers.AutoTokenizer.from_pretrained(tiny_model(kind)).unk_token
    assert report.unknown_words == _slow_count(bank, unknown) > 0.4 * report.words
    assert estimate(options).unknown_words == report.unknown_words
    assert ingest(options).unknown_words == report.unknown_words
    with open_bank(bank) as opened:
        assert opened.runs()["unknown_words"].to_list() == [report.unknown_words]


@pytest.mark.slow
def test_a_resumed_run_ends_with_the_same_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options_for: Options
) -> None:
    monkeypatch.setattr(pipeline, "WEIGHTS_AT_ONCE", 1)
    corpus = _corpus(tmp_path / "snow.conllu")
    options = options_for(tmp_path / "b.duckdb", corpus, batch_tokens=64)
    whole = ingest(replace(options, bank=tmp_path / "whole.duckdb"))
    assert whole.batches > 4
    ingest_part(options, 20)
    with open_bank(options.bank) as opened:
        part = opened.runs().row(0, named=True)
    assert part["finished"] is None and 0 < part["unknown_words"] == part["words"] / 2
    report = ingest(options)
    assert (report.state, report.unknown_words) == ("resumed", whole.unknown_words)


def _unigram() -> InputTokenizer:
    """A SentencePiece model of a few pieces, with `▁` for white space as XLM-R has it."""
    pieces = ["<unk>", "▁", "a", "▁a", "b", "▁b", "0"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.Unigram([(each, -float(at)) for at, each in enumerate(pieces)], unk_id=0)
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    return InputTokenizer.from_transformers(
        transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")
    )


def test_unknown_pieces_of_unigram_are_the_unknown_token() -> None:
    """Unigram itself gives the text that it does not know; then no bank could count it."""
    own = _unigram()
    raw = own.tokenizer.encode("a☃", add_special_tokens=False)
    assert raw.ids[-1] == own.unknown == 0 and raw.tokens[-1] == "☃"
    words = ["a", "☃", "b☃"]
    after = [True, False, False]
    (pieces,) = own.pieces([(words, after)])
    assert not isinstance(pieces, Unalignable)
    expected = [("▁a", 0), ("▁", 1), ("<unk>", 1), ("b", 2), ("<unk>", 2)]
    assert [(each.text, each.word) for each in pieces] == expected
    (inside,) = own.pieces([(["a", "0 ☃"], [False, False])])  # white space within a word
    assert not isinstance(inside, Unalignable)
    assert [each.text for each in inside if each.word] == ["0", "▁", "<unk>"]
    (whole,) = own.pieces_in_text([(words, after)], [own.split_rules.start])
    assert "☃" not in "".join(each.text for each in whole.pieces)
    unknown = [piece.text for piece in whole.pieces if piece.id == 0]
    assert unknown == ["<unk>", "<unk>"]


def test_a_word_with_several_unknown_pieces_is_one_word() -> None:
    for unit in ("word", "token"):
        (found,) = encoded(_unigram(), [(["☃a☃", "b", "☃"], [True] * 3)], unit)
        assert isinstance(found, Encoded)
        assert found.ids.count(0) == 3 and found.count_words_with(0) == 2
        assert found.count_words_with(None) == found.count_words_with(99) == 0


@pytest.mark.slow
def test_byte_level_tokenizers_know_every_word(
    tmp_path: Path, tiny_model: Models, cli: Cli
) -> None:
    corpus = _corpus(tmp_path / "snow.conllu", 3)
    bank = str(new_banks.put(tmp_path / "b.duckdb"))
    err = cli("-b", bank, "ingest", corpus, "--model", tiny_model("roberta")).err
    assert "does not know" not in err
    assert "0 of 18 words (0.0 %) contain a piece" in cli("-b", bank, "info").out


@pytest.mark.slow
def test_ingest_and_info_tell_and_warn(tmp_path: Path, tiny_model: Models, cli: Cli) -> None:
    corpus = _corpus(tmp_path / "snow.conllu", 3)
    bank = str(new_banks.put(tmp_path / "b.duckdb"))
    command = ["-b", bank, "ingest", str(corpus), "--model", str(tiny_model("bert"))]
    told = "9 of 18 words (50.0 %) contain a piece that the tokenizer does not know"
    dry, report = cli(*command, "--dry-run").out, cli(*command).err
    for text in (dry, report, cli("-b", bank, "info").out):
        assert told in text and "warning: the model reads the unknown token" in text


def test_the_warning_begins_at_five_per_cent() -> None:
    assert len(unknown_lines(1000, 49)) == 1
    assert len(unknown_lines(1000, 50)) == 2
    assert unknown_lines(0, 0) == unknown_lines(0, 0)[:1]


@pytest.mark.slow
def test_minilm_on_chinese(tmp_path: Path, corpora: Path) -> None:
    """minilm's vocabulary lacks most Chinese characters."""
    corpus = corpora / "zh-dev.conllu"
    found = estimate(IngestOptions((str(corpus),), tmp_path / "b.duckdb", "minilm"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(locate_model("minilm")[0])
    words = [word for tree in slow.trees([corpus]) for word in tree.words]
    unknown = [word for word in words if "[UNK]" in tokenizer.tokenize(word)]
    assert (found.words, found.unknown_words) == (len(words), len(unknown))
    assert 0.6 < found.unknown_words / found.words < 0.65


def test_info_tells_runs_of_before_apart(tmp_path: Path, cli: Cli) -> None:
    runs = "id,name,model,corpus,reading\n1,old,1,1,\n2,new,1,1,2\n3,one,1,1,1\n"
    parts = "run,unknown_words\n1,\n2,0\n3,0\n"
    rows = {"run": runs, "run_part": parts, "corpus": "id,name\n1,text\n"}
    bank = make_bank(tmp_path / "b.duckdb", rows)
    blocks = cli("-b", bank, "info").out.split("\n\n")
    (old,), (new,), (one,) = (
        [block for block in blocks if block.startswith(f"run {number} ")] for number in (1, 2, 3)
    )
    assert "ingested by an older attnbank" in old and "were not counted" in old
    assert "ingested by an older attnbank" in one
    assert "older attnbank" not in new
    assert (info.READING, READING_VERSION) == (2, 3)  # what info says of each is known


# Another tokenizer is another model.


@pytest.mark.slow
def test_another_tokenizer_of_the_same_weights_is_another_model(
    tmp_path: Path, few: Path, tiny_model: Models, options_for: Options
) -> None:
    folder, bank = tmp_path / "model", tmp_path / "b.duckdb"
    shutil.copytree(tiny_model("bert"), folder)
    options = options_for(bank, few, folder)
    first = ingest(options)
    assert ingest(options).state == "unchanged"
    path = folder / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"##ing"', '"##ing-not"'), "utf-8")
    second = ingest(options)
    assert (second.state, second.run != first.run) == ("new", True)
    models = query_bank(bank, "select sha256, tokenizer_sha256 from model")
    runs = query_bank(
        bank,
        "select distinct run from position inner join sequence on sequence.id = sequence"
        " where list_contains(pieces, '##ing')",
    )
    assert len({weights for weights, _ in models}) == 1
    assert len({tokenizer for _, tokenizer in models}) == 2
    assert runs == [(1,)]


@pytest.mark.slow
def test_rows_of_before_tokenizers_had_digests_are_not_taken_for_new_ones(
    tmp_path: Path, few: Path, options_for: Options
) -> None:
    bank = tmp_path / "b.duckdb"
    options = options_for(bank, few / "press.conllu")
    ingest(options)
    change_bank(bank, "update model set tokenizer_sha256 = null", "update run set reading = null")
    assert ingest(options).state == "new"
    change_bank(bank, "update run set reading = null")
    assert ingest(options).state == "new"
    assert ingest(options).state == "unchanged"
