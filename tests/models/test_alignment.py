"""Words and the pieces that tokenizers make of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import transformers
from encoding import encoded
from fixture_types import Models
from tokenizers import processors

from attnbank.ingest.models.loading import describe
from attnbank.ingest.models.tokenizer import Encoded, InputTokenizer, Unalignable

WORDS = ["Do", "n't", "worry", ",", "Maria", "'s", "train", "leaves", "at", "nine", "."]
AFTER = [False, True, False, True, False, True, True, True, True, False, True]


def _layout(folder: Path) -> InputTokenizer:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return InputTokenizer.from_transformers(tokenizer)


def _encode(input_tokenizer: InputTokenizer, words: list[str], after: list[bool]) -> Encoded:
    (found,) = encoded(input_tokenizer, [(words, after)], "word")
    assert isinstance(found, Encoded)
    return found


def test_wordpiece_keeps_every_word_apart(tiny_model: Models) -> None:
    found = _encode(_layout(tiny_model("bert")), WORDS, AFTER)
    kinds = [position.kind for position in found.positions]
    assert kinds == ["cls", *["word"] * len(WORDS), "sep"]
    assert [position.text for position in found.positions[1:-1]] == WORDS
    joined = ["".join(found.pieces[one.start : one.end]) for one in found.positions[1:-1]]
    assert [each.replace("##", "") for each in joined] == [word.lower() for word in WORDS]
    assert [one.end for one in found.positions[:-1]] == [one.start for one in found.positions[1:]]


def test_byte_level_pieces_spell_the_text_with_its_spaces(
    tiny_model: Models,
) -> None:
    """The model reads "Don't worry, Maria's ...", and not a space before every word."""
    text = "Don't worry, Maria's train leaves at nine."
    for kind in ("roberta", "gpt2"):
        input_tokenizer = _layout(tiny_model(kind))
        found = _encode(input_tokenizer, WORDS, AFTER)
        assert input_tokenizer.tokenizer.decode(list(found.ids)) == text
        words = [position for position in found.positions if position.kind == "word"]
        assert [word.text for word in words] == WORDS
    assert {position.kind for position in found.positions} == {"word"}  # GPT-2 adds none


def test_one_token_before_and_after_a_text_opens_and_closes_it(
    tiny_model: Models,
) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model("gpt2"))
    name, id = tokenizer.eos_token, tokenizer.eos_token_id
    assert name == tokenizer.bos_token
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{name} $A {name}", special_tokens=[(name, id)]
    )
    found = _encode(InputTokenizer.from_transformers(tokenizer), WORDS, AFTER)
    assert [place.kind for place in found.positions] == ["cls", *["word"] * len(WORDS), "sep"]
    assert found.ids[0] == found.ids[-1] == id


def test_words_stand_at_their_own_index_where_there_is_a_cls(
    tiny_model: Models,
) -> None:
    for kind in ("bert", "roberta", "electra"):
        found = _encode(_layout(tiny_model(kind)), WORDS, AFTER)
        assert found.positions[0].kind == "cls" and found.positions[-1].kind == "sep"
        assert [one.word for one in found.positions[1:-1]] == list(range(len(WORDS)))


@pytest.mark.slow
def test_a_word_without_pieces_is_reported() -> None:
    input_tokenizer = describe("minilm").input_tokenizer
    after = [True, True, True]
    found = encoded(
        input_tokenizer,
        [(["a", "\u200b", "b"], after), (["a", "b", "\u00ad"], after), (["a", "b", "c"], after)],
        "word",
    )
    assert [isinstance(each, Unalignable) for each in found] == [True, True, False]
    assert "word 2" in str(found[0]) and "word 3" in str(found[1])


def test_token_positions_know_their_word(tiny_model: Models) -> None:
    input_tokenizer = _layout(tiny_model("bert"))
    (found,) = encoded(input_tokenizer, [(WORDS, AFTER)], "token")
    assert isinstance(found, Encoded)
    assert len(found.positions) == len(found.ids)
    assert all(one.end - one.start == 1 for one in found.positions)
    owners = [one.word for one in found.positions if one.kind == "token"]
    assert sorted(set(owners), key=lambda each: each or 0) == list(range(len(WORDS)))
    assert owners == sorted(owners, key=lambda each: each or 0)


def test_padding_and_truncation_of_the_tokenizer_file_are_off() -> None:
    """minilm's tokenizer.json pads to 128 tokens and cuts there: a bank must not."""
    input_tokenizer = describe("minilm").input_tokenizer
    long = ["word"] * 300
    short = _encode(input_tokenizer, ["one"], [True])
    assert len(short.ids) == 3
    assert len(_encode(input_tokenizer, long, [True] * 300).ids) == 302


def test_a_mark_of_the_vocabulary_in_the_text_is_a_word() -> None:
    found = _encode(describe("minilm").input_tokenizer, ["see", "[SEP]", "there"], [True] * 3)
    assert [one.kind for one in found.positions] == ["cls", "word", "word", "word", "sep"]


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "electra", "llama"])
def test_the_same_text_gives_the_same_tokens_alone_or_in_a_batch(
    tiny_model: Models, kind: str
) -> None:
    input_tokenizer = _layout(tiny_model(kind))
    alone = _encode(input_tokenizer, WORDS, AFTER)
    batch = encoded(input_tokenizer, [(["Yes", "."], [False, True]), (WORDS, AFTER)], "word")
    assert batch[1] == alone


def test_the_users_tokenizer_is_left_as_it_was(tiny_model: Models) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model("roberta"))
    before = tokenizer.backend_tokenizer.to_str()
    InputTokenizer.from_transformers(tokenizer)
    assert tokenizer.backend_tokenizer.to_str() == before
