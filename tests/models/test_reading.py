"""Every tokenizer reads the text as it is written: a word carries the white space before it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import duckdb
import oracle_reference as slow
import planning
import pytest
import real_models
import spaced_tokenizers
import transformers
from fixture_types import Models
from oracle_pieces import SPACE, SlowPieces
from tokenizers import AddedToken, Tokenizer

from attnbank.ingest.candidate_inputs import Input
from attnbank.ingest.models.tokenizer import InputTokenizer, Unalignable

Pieces = list[list[str]]


def _layout(tokenizer: Tokenizer) -> InputTokenizer:
    return InputTokenizer.from_transformers(
        transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    )


def _own(input_tokenizer: InputTokenizer, words: list[str], after: list[bool]) -> Pieces:
    """The pieces of each word as a bank has them."""
    (found,) = input_tokenizer.pieces([(words, after)])
    assert not isinstance(found, Unalignable)
    own: Pieces = [[] for _ in words]
    for piece in found:
        own[piece.word].append(piece.text)
    return own


def _of_the_text(
    tokenizer: Tokenizer, words: list[str], space_before: list[bool]
) -> list[list[str] | None]:
    """The pieces of each word in the sentence as one string; None where one lies over its edge.

    A piece of white space alone is the word's that stands after it.
    """
    text, spans = "", []
    for word, space in zip(words, space_before, strict=True):
        text += " " if space else ""
        spans.append((len(text), len(text) + len(word)))
        text += word
    encoding = tokenizer.encode(text, add_special_tokens=False)
    own: Pieces = [[] for _ in words]
    over = set()
    for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
        touched = [at for at, span in enumerate(spans) if start < span[1] and span[0] < end]
        touched = touched or [at for at, span in enumerate(spans) if span[0] >= end][:1]
        goes_on = token.startswith("##") and not own[touched[0]]
        over |= {touched[0], touched[0] - 1} if goes_on else set()
        over |= set(touched) if len(touched) > 1 else set()
        for at in touched:
            own[at].append(token)
    return [None if at in over else pieces for at, pieces in enumerate(own)]


def _compare(tokenizer: Tokenizer, files: list[Path]) -> tuple[int, int, int]:
    """Words, words that no piece lies over the edge of, and those of them with other pieces."""
    input_tokenizer = _layout(tokenizer)
    words = comparable = different = 0
    for tree in slow.trees(files):
        after = [*tree.space_before[1:], True]
        expected = _of_the_text(input_tokenizer.tokenizer, tree.words, tree.space_before)
        found = _own(input_tokenizer, tree.words, after)
        words += len(found)
        pairs = [(pieces, own) for pieces, own in zip(expected, found, strict=True) if pieces]
        comparable += len(pairs)
        different += sum(pieces != own for pieces, own in pairs)
    return words, comparable, different


@pytest.fixture(scope="module")
def gum_train(corpora: Path) -> list[str]:
    lines = (corpora / "gum-train.conllu").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]


@pytest.mark.usual("wordpiece-sample", "byte_level-sample", "prepend_*-sample")
@pytest.mark.few("*-sample", "byte_level-gum", "metaspace_first-gum")
@pytest.mark.parametrize("text", ["sample", "gum"])
@pytest.mark.parametrize("kind", spaced_tokenizers.KINDS)
def test_pieces_are_those_of_the_text_as_written(
    text: str, kind: str, few: Path, sample_text: list[str], request: pytest.FixtureRequest
) -> None:
    if text == "sample":
        tokenizer = spaced_tokenizers.train(kind, sample_text, 400)
        words, comparable, different = _compare(tokenizer, [*few.glob("*.conllu")])
    else:
        gum = request.getfixturevalue("corpora") / "gum-dev.conllu"
        tokenizer = spaced_tokenizers.train(kind, request.getfixturevalue("gum_train"))
        words, comparable, different = _compare(tokenizer, [gum])
        assert words > 14_000
    assert comparable > 0.7 * words and different <= words / 1000


@pytest.fixture(scope="module")
def mistral() -> Path:
    """The folder of Mistral's own tokenizer."""
    folder = real_models.get("mistral_tokenizer")
    if folder is None:
        pytest.skip("Mistral's tokenizer cannot be had here")
    return folder


@pytest.mark.slow
def test_pieces_of_mistral_are_those_of_gum_as_written(corpora: Path, mistral: Path) -> None:
    tokenizer = Tokenizer.from_file(str(mistral / "tokenizer.json"))
    words, comparable, different = _compare(tokenizer, [corpora / "gum-dev.conllu"])
    assert words > 14_000 and comparable > 0.97 * words
    assert different <= words / 1000


@pytest.mark.slow
def test_mistral_reads_no_space_that_nobody_wrote(mistral: Path) -> None:
    input_tokenizer = _layout(Tokenizer.from_file(str(mistral / "tokenizer.json")))
    words = ["Maria", "'s", "train", ",", "which", "did", "n't", "stop", "."]
    after = [False, True, False, True, True, False, True, False, True]
    assert _own(input_tokenizer, words, after) == [
        ["▁Maria"], ["'", "s"], ["▁train"], [","], ["▁which"], ["▁did"], ["n", "'", "t"],
        ["▁stop"], ["."],
    ]  # fmt: skip


_JOINED = """# newdoc id = one
# sent_id = 1
# text = So it did.
1	So	_	_	_	_	0	root	_	_
2	it	_	_	_	_	1	dep	_	_
3	did	_	_	_	_	1	dep	_	SpaceAfter=No
4	.	_	_	_	_	1	dep	_	SpaceAfter=No

# sent_id = 2
# text = Not I
1	Not	_	_	_	_	0	root	_	_
2	I	_	_	_	_	1	dep	_	_

# sent_id = 3
# text = Yes
1	Yes	_	_	_	_	0	root	_	_

"""
_SENTENCES = [["So", "it", "did", "."], ["Not", "I"], ["Yes"]]
_SPACES = [[False, True, True, False], [False, True], [True]]  # as the document has them
_SENTENCEPIECE = {
    "xlm-roberta": SPACE, "t5": SPACE, "mistral": SPACE, "llama-2": SPACE, "gemma": "",
}  # fmt: skip


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The text of one document whose second sentence follows the first without white space."""
    corpus = tmp_path / "joined.conllu"
    corpus.write_text(_JOINED, encoding="utf-8")
    with planning.text_bank(tmp_path / "text.duckdb", corpus) as connection:
        yield connection


def _text_ids(one: Input) -> list[int]:
    """The ids of an input without its special tokens."""
    places = [position for position in one.encoded.positions if position.word is not None]
    return [id for place in places for id in one.encoded.ids[place.start : place.end]]


@pytest.mark.usual(4)
@pytest.mark.parametrize("kind", list(_SENTENCEPIECE))
@pytest.mark.parametrize("unit", ["word", "token"])
def test_a_sentence_within_a_document_begins_as_the_text_goes_on(
    joined: duckdb.DuckDBPyConnection, tiny_model: Models, kind: str, unit: str
) -> None:
    split = SlowPieces(tiny_model(kind), before_text=_SENTENCEPIECE[kind])
    model = str(tiny_model(kind))
    (batch,) = planning.plan(joined, model, unit=unit, context="document", max_tokens=96)
    (document,) = batch.inputs
    expected = split(list(chain(*_SENTENCES)), list(chain(*_SPACES)))
    assert _text_ids(document) == list(chain(*expected))
    (batch,) = planning.plan(joined, model, unit=unit, context="sentence", max_tokens=96)
    alone = {one.sentences[0].index: _text_ids(one) for one in batch.inputs}
    for at, (words, spaces) in enumerate(zip(_SENTENCES, _SPACES, strict=True), start=1):
        assert alone[at] == list(chain(*split(words, spaces)))


@pytest.mark.usual("xlm-roberta", "llama-2")
@pytest.mark.parametrize("kind", list(_SENTENCEPIECE))
def test_a_second_segment_begins_a_text_where_a_special_token_parts_it(
    joined: duckdb.DuckDBPyConnection, tiny_model: Models, kind: str
) -> None:
    split = SlowPieces(tiny_model(kind), before_text=_SENTENCEPIECE[kind])
    (batch,) = planning.plan(joined, str(tiny_model(kind)), context="pair", max_tokens=96)
    (pair,) = batch.inputs
    (first,) = {at for at in (1, 2) if _parts_after(pair, at)}
    before, after = range(first), range(first, 3)
    words = [list(chain(*(_SENTENCES[at] for at in part))) for part in (before, after)]
    spaces = [list(chain(*(_SPACES[at] for at in part))) for part in (before, after)]
    if kind in ("xlm-roberta", "t5"):
        expected = split(words[0], spaces[0]) + split(words[1], spaces[1])
    else:  # nothing stands between the segments: one text
        expected = split(list(chain(*words)), list(chain(*spaces)))
    assert _text_ids(pair) == list(chain(*expected))


def _parts_after(pair: Input, sentences: int) -> bool:
    """Whether segment A holds this many sentences."""
    words = {position.word for position in pair.encoded.positions if position.segment == 0} - {None}
    return len(words) == sum(map(len, _SENTENCES[:sentences]))


def test_every_kind_pads_and_cuts_nothing(sample_text: list[str]) -> None:
    for kind in spaced_tokenizers.KINDS:
        tokenizer = spaced_tokenizers.train(kind, sample_text, 400)
        tokenizer.add_special_tokens([AddedToken("[PAD]")])
        tokenizer.enable_padding(length=128)
        tokenizer.enable_truncation(16)
        input_tokenizer = _layout(tokenizer)
        own = _own(input_tokenizer, ["a", "b"] * 100, [True, False] * 100)
        assert len(own) == 200 and all(own)
        assert "[PAD]" not in {piece for pieces in own for piece in pieces}


@pytest.mark.parametrize("kind", spaced_tokenizers.KINDS)
def test_what_is_written_like_a_special_token_is_text(sample_text: list[str], kind: str) -> None:
    """As for transformers' `split_special_tokens`, which nobody has to know of here."""
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=spaced_tokenizers.train(kind, sample_text, 400)
    )
    special = {"additional_special_tokens": ["<note>"], "mask_token": "[MASK]", "sep_token": "</s>"}
    theirs.add_special_tokens(special)
    words = ["The", "<note>", "says", "[MASK]", "here", ",", "not", "</s>", "."]
    own = InputTokenizer.from_transformers(theirs)
    (found,) = own.pieces([(words, [True] * len(words))])
    assert not isinstance(found, Unalignable)
    ids = [piece.id for piece in found]
    text = " ".join(words)
    assert ids == theirs(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    (shared,) = own.pieces_in_text([(words, [True] * len(words))], [own.split_rules.start])
    assert [piece.id for piece in shared.pieces] == ids
    named = set(theirs.convert_tokens_to_ids(["<note>", "[MASK]", "</s>"]))
    assert not named & set(ids) and theirs(text)["input_ids"] != ids
    own.recognise_special_tokens()
    (read,) = own.pieces([(words, [True] * len(words))])
    assert not isinstance(read, Unalignable)
    assert named <= {piece.id for piece in read}
