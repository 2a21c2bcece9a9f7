"""No piece is lost or shifted, whatever is written: accents, joiners, white space inside."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from fixture_types import Models
from multiword_cases import Case, Make
from tokenizers import Tokenizer, decoders

from attnbank.ingest.models.files import locate_model
from attnbank.ingest.options import MINILM

WORDS = {
    "French, composed": unicodedata.normalize("NFC", "forêt"),
    "French, decomposed": unicodedata.normalize("NFD", "forêt"),
    "French, a number": "20 000",
    "French, no-break space": "20\u202f000",
    "Vietnamese": unicodedata.normalize("NFC", "thành phố"),
    "Vietnamese, decomposed": unicodedata.normalize("NFD", "thành phố"),
    "Persian, non-joiner": "می\u200cخو\u0627\u0647م",
    "Hindi, joiner": "क्\u200dषमा",
    "Greek, polytonic": unicodedata.normalize("NFD", "ἄνθρωπος"),
    "Hebrew, niqqud": "שָׁלוֹם",
    "Arabic, harakat": "كِتَابٌ",
    "Thai": "ภาษาไทย",
    "Chinese": "北京大学",
    "a family": "👩\u200d👩\u200d👧",
    "Turkish": "İstanbul'un",
    "German": "Straße",
}


def _text() -> str:
    """Each word alone, and as a token of two words that do not spell it; with and without space."""
    blocks = []
    for name, written in WORDS.items():
        for space in ("_", "SpaceAfter=No"):
            rows = [
                f"1\tx\tx\tX\t_\t_\t0\troot\t_\t{space}",
                f"2\t{written}\tx\tX\t_\t_\t1\tdep\t_\t{space}",
                f"3-4\t{written}\t_\t_\t_\t_\t_\t_\t_\t{space}",
                "3\tq\tq\tX\t_\t_\t1\tdep\t_\t_",
                "4\tr\tr\tX\t_\t_\t1\tdep\t_\t_",
                "5\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_",
            ]
            blocks.append("\n".join([f"# sent_id = {name}, {space}", *rows]))
    return "\n\n".join(blocks) + "\n\n"


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scripts") / "scripts.conllu"
    path.write_text(_text(), encoding="utf-8")
    return path


def _positions(case: Case) -> list[tuple[str, list[str], bool]]:
    """Text, pieces and whether white space stands before, of every word position in order."""
    rows = case.rows(
        "select text, pieces, last_word is not null from position where kind = 'word' order by word"
    )
    words = [each for each in WORDS.values() for _ in range(2)]
    expected = [
        row for word in words for row in (("x", False), (word, False), (word, True), (".", False))
    ]
    assert [(text, is_shared) for text, _, is_shared in rows] == expected
    units = [unit for sentence in case.corpus.sentences for unit in sentence]
    return [
        (text, pieces, unit.space_before)
        for (text, pieces, _), unit in zip(rows, units, strict=True)
    ]


def _fits(pieces: list[str], unknown: str, text: str) -> bool:
    """Whether the pieces put together are the text; an unknown piece stands for some of it."""
    pattern = "".join(".+" if piece == unknown else re.escape(piece) for piece in pieces)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


@pytest.mark.slow
def test_unigram(read: Make, written: Path, multilingual_model: Path) -> None:
    """The first word of a text and those after white space begin with `▁`, all others do not."""
    case = read(written, multilingual_model)
    own = [
        position.pieces
        for input in case.inputs
        for position in input.positions
        if position.kind == "word"
    ]
    for at, ((text, pieces, space), slow) in enumerate(zip(_positions(case), own, strict=True)):
        before = "▁" if space or at % 4 == 0 else ""
        assert _fits(pieces, "<unk>", before + "▁".join(text.split())), (text, pieces)
        assert pieces == slow


@pytest.mark.slow
def test_wordpiece(read: Make, written: Path) -> None:
    """What the normalizer makes of a word is what its pieces are put together."""
    folder = Path(locate_model(MINILM)[0])
    normalizer = Tokenizer.from_file(str(folder / "tokenizer.json")).normalizer
    for text, pieces, _ in _positions(read(written, folder)):
        plain = "".join(normalizer.normalize_str(text).split())
        assert _fits([piece.removeprefix("##") for piece in pieces], "[UNK]", plain), (text, pieces)


@pytest.mark.slow
def test_bytes(read: Make, written: Path, tiny_model: Models) -> None:
    """Bytes lose nothing: the pieces are the text, with a space where one stands before it."""
    decoder = decoders.ByteLevel()
    how = ("written", "sentence", "--first-word", "word")
    for text, pieces, space in _positions(read(written, tiny_model("gpt2"), *how)):
        assert decoder.decode(pieces) == (" " if space else "") + text
