"""The tokenizer's own pieces: what it reads across the edges of words, counted and shared."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import new_banks
import pytest
import real_models
from bank_factory import BankFactory
from command_line import Cli
from multiword import text
from multiword.passes import joined
from tokenizers import Tokenizer

from attnbank.ingest.candidate_inputs import Input, cursor_query
from attnbank.ingest.models.files import locate_model
from attnbank.ingest.models.loading import describe
from attnbank.ingest.options import MINILM, IngestOptions
from attnbank.ingest.planning import Planner
from attnbank.queries import open_bank
from attnbank.sql.bank.opening import open_to_write

SENTENCES = 100
CORPORA = ("gum", "fr", "he", "zh")
TOKENIZERS = (MINILM, "smollm2", "mistral_tokenizer")
READ = [
    ("own", MINILM),
    *(
        pytest.param(*pair, marks=pytest.mark.slow)
        for pair in itertools.product(CORPORA, TOKENIZERS)
    ),
]


def _folder(name: str) -> str:
    if name == MINILM:
        return locate_model(MINILM)[0]
    folder = real_models.get(name)
    if folder is None:
        pytest.skip(f"{name} is not here")
    return str(folder)


@pytest.fixture(scope="module")
def texts(
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
    own_text: Path,
    bank_of: BankFactory,
) -> Callable[[str], tuple[Path, Path]]:
    """A function from a language to its first sentences, and a bank of them without a run.

    `own` is the own text.
    """
    made: dict[str, tuple[Path, Path]] = {}

    def make(name: str) -> tuple[Path, Path]:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            if name == "own":
                content = "".join(path.read_text("utf-8") for path in sorted(own_text.iterdir()))
            else:
                corpora = request.getfixturevalue("corpora")
                whole = (corpora / f"{name}-dev.conllu").read_text("utf-8").split("\n\n")
                content = "\n\n".join(whole[:SENTENCES]) + "\n\n"
            file = folder / "text.conllu"
            file.write_text(content, encoding="utf-8")
            made[name] = file, bank_of(file, "none", to=folder)
        return made[name]

    return make


def _inputs(bank: Path, folder: str, context: str, **how: Any) -> list[Input]:
    own = describe(folder).input_tokenizer
    with open_to_write(bank, "test") as connection:
        options = IngestOptions((), bank, context=context, **how)
        plan = Planner(own, options, 1000).plan(cursor_query(connection), 1)
        found = [input for batch in plan.batches for input in batch.inputs]
    return sorted(found, key=lambda each: each.spans[0].first)


def _positions(input: Input) -> list[tuple[int, int, str, list[str]]]:
    """First and last word, text and pieces of each position."""
    spans, pieces = input.spans, input.encoded.pieces
    return [
        (
            spans[position.word].first,
            spans[position.word].last,
            position.text,
            [*pieces[position.start : position.end]],
        )
        for position in input.encoded.positions
        if position.word is not None
    ]


@pytest.mark.parametrize(("name", "model"), READ)
@pytest.mark.few("own-*", "he-smollm2", "fr-mistral*")
def test_the_pieces_are_those_of_the_text(
    name: str, model: str, texts: Callable[[str], tuple[Path, Path]]
) -> None:
    file, bank = texts(name)
    folder = _folder(model)
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    corpus = text.read(file, written=True)
    cut: dict[int, list[str]] = {}  # the pieces of each unit by itself, by its first word
    alone = _inputs(bank, folder, "sentence")
    for each in alone:
        cut |= {first: own for first, _, _, own in _positions(each)}
    inputs = _inputs(bank, folder, "sentence", edges="share")
    told = 0
    for input, units in zip(inputs, corpus.sentences, strict=True):
        expected = joined(tokenizer, [(each, each.space_before) for each in units])
        assert _positions(input) == [
            (min(unit.words) + 1, max(unit.words) + 1, unit.text, pieces)
            for unit, pieces in expected
        ]
        first_words = {unit.words[0]: unit.words for unit in units}
        joint = 0
        for unit, pieces in expected:
            inside = [first for first in first_words if first in unit.words]
            if len(inside) > 1 or cut[unit.words[0] + 1] != pieces:
                joint += len(inside)
        assert input.joined_words == joint
        told += joint
    assert sum(each.joined_words for each in alone) == told
    assert told > 0 or name == "zh" or (name, model) == ("fr", MINILM)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("own", MINILM),
        *(pytest.param("gum", model, marks=pytest.mark.slow) for model in TOKENIZERS),
    ],
)
def test_the_pieces_of_documents_are_those_of_their_text(
    name: str, model: str, texts: Callable[[str], tuple[Path, Path]]
) -> None:
    file, bank = texts(name)
    folder = _folder(model)
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    corpus = text.read(file, written=True)
    sentence_of = [word.sentence for word in corpus.words]
    compared = 0
    for input in _inputs(bank, folder, "document", edges="share"):
        held = {sentence_of[word - 1] for word in input.words}
        units = [
            (unit, unit.space_before if at else corpus.space_after[number - 1])
            for number in sorted(held)
            for at, unit in enumerate(corpus.sentences[number])
        ]
        expected = joined(tokenizer, units)
        if any(len({sentence_of[word] for word in unit.words}) > 1 for unit, _ in expected):
            continue  # an edge of sentences is always cut
        compared += len(held)
        assert _positions(input) == [
            (min(unit.words) + 1, max(unit.words) + 1, unit.text, pieces)
            for unit, pieces in expected
        ]
    assert compared > len(corpus.sentences) / 2


ROWS = """1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
3\tpain\tpain\tNOUN\t_\t_\t0\troot\t_\t_
4-5\tcannot\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
4\tcan\tcan\tAUX\t_\t_\t3\tdep\t_\t_
5\tnot\tnot\tPART\t_\t_\t4\tadvmod\t_\t_

"""


@pytest.mark.slow
@pytest.mark.parametrize("model", ["smollm2", "mistral_tokenizer"])
def test_parts_are_words_with_spaces(model: str, tmp_path: Path, bank_of: BankFactory) -> None:
    """De le, not dele; what the parts spell stays together: cannot."""
    bank = bank_of({"text.conllu": ROWS}, "none", to=tmp_path)
    folder = _folder(model)
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    (input,) = _inputs(bank, folder, "sentence", multiword="parts")
    read = [piece for _, _, _, pieces in _positions(input) for piece in pieces]
    whole = tokenizer.encode("de le pain can", add_special_tokens=False).tokens
    assert read == [*whole, "not"]
    (input,) = _inputs(bank, folder, "sentence", multiword="parts", edges="share")
    whole = tokenizer.encode("de le pain cannot", add_special_tokens=False).tokens
    assert [piece for _, _, _, pieces in _positions(input) for piece in pieces] == whole
    assert [position[2] for position in _positions(input)] == ["de", "le", "pain", "cannot"]


@pytest.mark.slow
def test_the_run_says_so(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "c.conllu"
    file.write_text(ROWS)
    bank = new_banks.put(tmp_path / "bank.duckdb")
    ingest = ["-b", str(bank), "ingest", str(file), "--model", "minilm"]
    told = cli(*ingest).err
    assert "2 of 5 words (40.0 %) are tokenized differently in the text (see --edges share)" in told
    told = cli(*ingest, "--edges", "share").err
    assert "Run c/minilm/share is finished" in told
    assert "2 of 5 words (40.0 %) share a piece with a neighbour" in told
    assert "1 dependency is between words that share a position" in told
    info = cli("-b", bank, "info").out
    assert (
        "2 of 5 words (40.0 %) share a piece with a neighbour" in info and "--edges share" in info
    )
    assert "nothing was added" in cli(*ingest, "--edges", "share").err
    with open_bank(bank) as opened:
        rows = opened.sql(
            "select name, edges, joined_words from run inner join run_part on run = id order by id"
        ).rows()
        assert rows == [("c/minilm", "cut", 2), ("c/minilm/share", "share", 2)]
        rows = opened.sql(
            "select text, last_word - word from position where kind = 'word'"
            " and sequence = (select max(id) from sequence) order by position"
        ).rows()
        assert rows == [("du", 1), ("pain", None), ("cannot", 1)]
