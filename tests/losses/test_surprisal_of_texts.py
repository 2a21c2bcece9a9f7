"""The surprisal of words, checked from the text on: pieces, positions and nats, found slowly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import oracle_words
import pytest
from bank_factory import BankFactory
from bank_rows import model_of, query_bank
from command_line import Cli
from fixture_types import Models
from oracle_words import Nats

from attnbank.cli.app import run_command_line
from attnbank.ingest.models.loading import load

CAUSAL = ("gpt2", "llama")
MASKED = ("bert", "distilbert", "mpnet")
FRENCH = """\
# sent_id = a
# text = Le chat du voisin dort.
1	Le	le	DET	_	_	2	det	_	_
2	chat	chat	NOUN	_	_	6	nsubj	_	_
3-4	du	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	voisin	voisin	NOUN	_	_	2	nmod	_	_
6	dort	dormir	VERB	_	_	0	root	_	SpaceAfter=No
7	.	.	PUNCT	_	_	6	punct	_	_

# sent_id = b
# text = Au matin il parle.
1-2	Au	_	_	_	_	_	_	_	_
1	À	à	ADP	_	_	3	case	_	_
2	le	le	DET	_	_	3	det	_	_
3	matin	matin	NOUN	_	_	5	obl	_	_
4	il	il	PRON	_	_	5	nsubj	_	_
5	parle	parler	VERB	_	_	0	root	_	SpaceAfter=No
6	.	.	PUNCT	_	_	5	punct	_	_

"""


@pytest.fixture(scope="session")
def headed(tiny_causal_lm: Models, tiny_masked_lm: Models) -> Models:
    """A function from a kind to the folder of a tiny random model with its head."""
    return lambda kind: (tiny_masked_lm if kind in MASKED else tiny_causal_lm)(kind)


def _measured(bank: Path, *args: str) -> Nats:
    assert run_command_line(["-b", str(bank), "surprisal", "--model", model_of(bank), *args]) == 0
    return _nats(bank)


def _nats(bank: Path) -> Nats:
    rows = query_bank(bank, "select word, nats from surprisal")
    assert len(rows) == len(dict(rows))
    return dict(rows)


def _check(found: Nats, expected: Nats) -> None:
    """The same words with the same nats. float32 against float64: sums of some 10 nats a piece."""
    assert found.keys() == expected.keys()
    nulls = {word for word, nats in expected.items() if nats is None}
    assert {word for word, nats in found.items() if nats is None} == nulls
    known = [(nats, expected[word]) for word, nats in found.items() if nats is not None]
    assert known
    for nats, wanted in known:
        assert nats == pytest.approx(wanted, abs=1e-4, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*CAUSAL, *MASKED])
def test_sentences(
    kind: str, headed: Models, bank_of: BankFactory, few: Path, tmp_path: Path
) -> None:
    surprisals = _measured(bank_of(few, headed(kind), to=tmp_path))
    _check(surprisals, oracle_words.read(few, headed(kind)).nats())
    assert any(nats is None for nats in surprisals.values()) == (kind in CAUSAL)  # the first words
    assert min(nats for nats in surprisals.values() if nats is not None) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_documents(
    kind: str, headed: Models, bank_of: BankFactory, few: Path, tmp_path: Path
) -> None:
    surprisals = _measured(bank_of(few, headed(kind), context="document", to=tmp_path))
    _check(surprisals, oracle_words.read(few, headed(kind), "document").nats())
    nulls = sum(nats is None for nats in surprisals.values())
    assert nulls == (2 if kind == "llama" else 0)  # a document each


@pytest.mark.slow
def test_a_token_before_the_text_gives_the_first_word_a_surprisal(
    headed: Models, bank_of: BankFactory, few: Path, tmp_path: Path
) -> None:
    surprisals = _measured(bank_of(few, headed("gpt2"), bos=True, to=tmp_path))
    _check(surprisals, oracle_words.read(few, headed("gpt2"), bos="<|endoftext|>").nats())
    assert None not in surprisals.values()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_runs_of_tokens_have_words_too(
    kind: str, headed: Models, bank_of: BankFactory, few: Path, tmp_path: Path
) -> None:
    surprisals = _measured(bank_of(few, headed(kind), unit="token", to=tmp_path))
    assert surprisals == pytest.approx(
        _measured(bank_of(few, headed(kind), to=tmp_path)), nan_ok=True
    )


@pytest.mark.slow
def test_a_sample_has_the_words_of_its_inputs(
    headed: Models, bank_of: BankFactory, few: Path, tmp_path: Path
) -> None:
    bank = bank_of(few, headed("gpt2"), limit=2, seed=4, to=tmp_path)
    surprisals = _measured(bank)
    read = query_bank(bank, "select word from position where word is not null")
    assert surprisals.keys() == {word for (word,) in read} and len(surprisals) < 50
    expected = oracle_words.read(few, headed("gpt2")).only(surprisals).nats()
    _check(surprisals, expected)


@pytest.mark.usual("gpt2")
@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_the_words_of_a_multiword_token_share_the_surprisal_of_the_first(
    kind: str, headed: Models, bank_of: BankFactory, tmp_path: Path
) -> None:
    corpus = tmp_path / "fr.conllu"
    corpus.write_text(FRENCH, encoding="utf-8")
    bank = bank_of(corpus, headed(kind), to=tmp_path)
    surprisals = _measured(bank)
    _check(surprisals, oracle_words.read(corpus, headed(kind)).nats())
    rows = query_bank(
        bank,
        "select word.form, surprisal.words, surprisal.nats is null from surprisal"
        " inner join word on word.id = surprisal.word order by word.id",
    )
    is_first = kind == "gpt2"
    assert rows == [
        ("Le", 1, is_first), ("chat", 1, False), ("de", 2, False), ("le", 2, True),
        ("voisin", 1, False), ("dort", 1, False), (".", 1, False),
        ("À", 2, is_first), ("le", 2, True), ("matin", 1, False), ("il", 1, False),
        ("parle", 1, False), (".", 1, False),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_the_parts_of_a_multiword_token_have_a_surprisal_each(
    kind: str, headed: Models, bank_of: BankFactory, tmp_path: Path
) -> None:
    corpus = tmp_path / "fr.conllu"
    corpus.write_text(FRENCH, encoding="utf-8")
    as_parts = _measured(bank_of(corpus, headed(kind), multiword="parts", to=tmp_path))
    _check(as_parts, oracle_words.read(corpus, headed(kind), written=False).nats())


@pytest.mark.slow
def test_words_that_a_piece_joins_share_a_surprisal(
    headed: Models, bank_of: BankFactory, sample: Path, tmp_path: Path
) -> None:
    corpus = sample / "conversations.conllu"
    bank = bank_of(corpus, headed("gpt2"), edges="share", to=tmp_path)
    surprisals = _measured(bank)
    _check(surprisals, oracle_words.read(corpus, headed("gpt2"), shares=True).nats())
    ((joint, without),) = query_bank(
        bank, "select count(*), count(*) - count(nats) from surprisal where words = 2"
    )
    assert joint == 6 and without >= 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_random_weights_are_those_of_the_run(
    kind: str, headed: Models, bank_of: BankFactory, few: Path, tmp_path: Path
) -> None:
    """The encoder that is drawn together with a head is the one that was drawn alone."""
    bank = bank_of(few, headed(kind), random_weights=3, to=tmp_path)
    drawn = load(str(headed(kind)), random_seed=3, head="own").module_with_head
    _check(_measured(bank, "1"), oracle_words.read(few, headed(kind), model=drawn).nats())


def test_a_changed_tokenizer_is_not_the_run_s(
    headed: Models, bank_of: BankFactory, few: Path, tmp_path: Path, cli: Cli
) -> None:
    folder = Path(shutil.copytree(headed("gpt2"), tmp_path / "model"))
    bank = bank_of(few, folder, to=tmp_path)
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    tokenizer["pre_tokenizer"]["add_prefix_space"] = True
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    error = cli("-b", bank, "surprisal", "--model", folder, status=2).err
    assert "does not have the tokenizer of the run" in error
    assert not _nats(bank)
