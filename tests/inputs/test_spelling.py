"""Given tokens must spell their words: those of real tokenizers do, and shifted ones do not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import real_models
import transformers
from bank_factory import BankFactory
from tokenizers import decoders

from attnbank.ingest import IngestOptions, add_run, add_text
from attnbank.ingest.models.files import locate_model
from attnbank.ingest.models.tokenizer import BYTES, misplaced, misspelled, spells
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankWarning, CallError

CORPORA = ("gum", "fr", "zh", "he", "tr")


def _tokenizer(name: str) -> Any:
    folder = locate_model("minilm")[0] if name == "minilm" else real_models.get(name)
    if folder is None:
        pytest.skip(f"the model {name} cannot be had here")
    return transformers.AutoTokenizer.from_pretrained(folder)


def _even(size: int) -> Any:
    return np.full((1, 1, size, size), 1 / size, np.float32)


@pytest.fixture(scope="session")
def texts(corpora: Path, bank_of: BankFactory) -> Callable[[str], Path]:
    """A function to a bank with the text of a treebank, which every tokenizer reads."""

    return lambda name: bank_of(corpora / f"{name}-dev.conllu", "none", language="en")


@pytest.mark.slow
@pytest.mark.few("minilm-he", "mpnet-tr", "smollm2-zh", "mistral_tokenizer-he")
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", ["minilm", "mpnet", "smollm2", "mistral_tokenizer"])
def test_real_tokenizers_pass_and_a_shift_is_refused(
    name: str, corpus: str, texts: Callable[[str], Path]
) -> None:
    tokenizer, bank = _tokenizer(name), texts(corpus)
    shifted = unknown = 0
    with add_run(bank, f"{corpus}-dev", name, layers=1, heads=1, over=True) as run:
        for sentence in run.sentences():
            read = tokenizer(list(sentence.words), is_split_into_words=True)
            tokens, owners = read.tokens(), read.word_ids()
            for wrong in _shifts(tokens, owners, len(sentence.words)):
                with pytest.raises(CallError, match=r"are not those of its words: word [0-9]+, "):
                    run.add(sentence, *wrong, _even(len(wrong[0])))
                shifted += 1
            run.add(sentence, tokens, owners, _even(len(tokens)))
            marked = zip(tokens, owners, strict=True)
            unknown += len({word for token, word in marked if token in ("[UNK]", "<unk>")} - {None})
    with open_bank(bank) as opened:
        rows = opened.sql(
            "select unknown_words, misspelled_words from run_part"
            " inner join run on run.id = run_part.run"
            f" where name = '{run.name}'"
        )
    assert rows.rows() == [(unknown, 0)]
    assert shifted > 380


def _shifts(
    tokens: list[str], owners: list[int | None], words: int
) -> Iterator[tuple[list[str], list[int | None]]]:
    """The same tokens at the next word, at the word before, and at the next with the first twice.

    Where a special token stands before or after them it is the first or the last word's then;
    where none does, or there is one word, or all are alike, nothing is shifted.
    """
    for by, edge in ((1, 0), (-1, words - 1)):
        moved = [
            None if owner is None or not 0 <= owner + by < words else owner + by for owner in owners
        ]
        inside = [at for at, each in enumerate(owners) if each is not None]
        at = inside[0] - 1 if by == 1 else inside[-1] + 1
        if 0 <= at < len(tokens):
            moved[at] = edge
            yield tokens, moved
    pairs = [(t, w) for t, w in zip(tokens, owners, strict=True) if w is not None]
    spelled = {"".join(t for t, w in pairs if w == at) for at in range(words)}
    if len(spelled) > 1:
        again = [pair for pair in pairs if pair[1] == 0]
        rest = [(t, w + 1) for t, w in pairs if w < words - 1]
        own, of = zip(*again, *rest, strict=True)
        yield [*own], [*of]


def test_the_byte_level_alphabet_is_that_of_tokenizers() -> None:
    for text in ("naïve café", "שלום", "汉字", "İstanbul", "½ …", "\t\u00a0", "😀", "ĠĊ"):
        alphabet = {byte: sign for sign, byte in BYTES.items()}
        token = "".join(alphabet[each] for each in text.encode())
        assert decoders.ByteLevel().decode([token]) == text
        assert spells((token,), text)
        cut = [*accumulate([1] * len(token))]
        assert spells(tuple(token[at - 1 : at] for at in cut), text)
    assert len(BYTES) == len({*BYTES.values()}) == 256


@pytest.mark.parametrize(
    ("tokens", "word", "expected"),
    [
        (["un", "##believ", "##able"], "Unbelievable", True),
        (["Ġun", "believable"], "unbelievable", True),
        (["▁un", "bel", "ievable"], "unbelievable", True),
        (["un@@", "believ@@", "able"], "unbelievable", True),
        (["un", "believable</w>"], "unbelievable", True),
        (["<0xE2>", "<0x82>", "<0xAC>"], "€", True),
        (["âĤ¬"], "€", True),
        (["Ċ", "rain"], "rain", True),
        (["cafe"], "Café", True),
        (["strasse"], "Straße", True),
        (["..."], "…", True),
        (["istanbul"], "İstanbul", True),
        (["\uff12\uff10"], "20", True),
        (["[UNK]"], "☃", True),
        (["un", "<unk>", "able"], "unbelievable", True),
        (["un", "<unk>", "ible"], "unbelievable", False),
        (["##", "##"], "##", True),
        (["C", "#"], "C#", True),
        (["rain"], "rains", False),
        (["[CLS]"], "rain", False),
        ([""], "rain", False),
        (["'"], '"', False),
    ],
)
def test_marks(tokens: list[str], word: str, expected: bool) -> None:
    assert spells(tuple(tokens), word) is expected


def _add(bank: Path, *given: tuple[Sequence[str], Sequence[Any]], **more: Any) -> Any:
    with add_run(bank, "rain", "m", layers=1, heads=1, over=True, **more) as run:
        for sentence, (tokens, words) in zip(run.sentences(), given, strict=True):
            run.add(sentence, tokens, words, _even(len(tokens)))
    with open_bank(bank) as opened:
        return opened.sql("select unknown_words, misspelled_words from run_part").row(0)


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    words = pl.DataFrame({"form": ["The", "rain", "``", "stopped", "''"]}).with_columns(sentence=1)
    add_text(IngestOptions((words,), tmp_path / "rain.duckdb", name="rain"))
    return tmp_path / "rain.duckdb"


@pytest.mark.slow
def test_single_words_that_are_spelled_otherwise_are_counted_and_told(rain: Path) -> None:
    tokens = ["<s>", "The", "[UNK]", '"', "stopped", '"']
    with pytest.warns(
        AttnbankWarning, match=r"tokens of 2 words of rain/m do not match the words' text, as '\"'"
    ):
        assert _add(rain, (tokens, [None, 0, 1, 2, 3, 4])) == (1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _add(rain, (["a", "b", "c", "d", "e"], range(5)), spelled=False) == (0, None)


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("tokens", "words", "shown"),
    [
        (
            ["The", "rain", "``", "stopped", "''"],
            [None, 0, 1, 2, (3, 4)],
            "word 0, 'The', has 'rain'",
        ),
        (["The", "ra", "in``", "stopped", "''"], range(5), "word 1, 'rain', has 'ra'"),
        (["<s>", "The", "rain", "``", "stopped''"], range(5), "word 0, 'The', has '<s>'"),
        (["der", "Regen", '"', "endete", '"'], range(5), "word 0, 'The', has 'der'"),
    ],
)
def test_tokens_of_other_words_are_refused(
    tokens: list[str], words: Sequence[Any], shown: str, rain: Path
) -> None:
    with pytest.raises(CallError) as error:
        _add(rain, (tokens, words))
    assert shown in str(error.value) and "sentence" in str(error.value)


@pytest.mark.parametrize(("tokens", "at"), [(["the", "snow"], None), (["der", "snow"], 0)])
def test_more_than_half_of_the_words_are_spelled_otherwise(
    tokens: list[str], at: int | None
) -> None:
    words, pieces = ["the", "rain"], [(token,) for token in tokens]
    wrong = misspelled(words, pieces)
    assert misplaced(words, pieces, wrong, [(None, None)] * 2) == at
