"""Surprisal: measured once, by the model of the run and no other."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import oracle_ablation
import pytest
import tiny_models
import transformers
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from command_line import Cli
from fixture_types import Models

from attnbank.cli.app import run_command_line
from attnbank.ingest import LossOptions, surprisal
from attnbank.ingest.progress import Progress
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankError, CallError, QueryError

JOINED = """\
# text = I don't know.
1	I	I	PRON	_	_	4	nsubj	_	_
2	do	do	AUX	_	_	4	aux	_	SpaceAfter=No
3	n't	not	PART	_	_	4	advmod	_	_
4	know	know	VERB	_	_	0	root	_	SpaceAfter=No
5	.	.	PUNCT	_	_	4	punct	_	_

# text = You don't.
1	You	you	PRON	_	_	2	nsubj	_	_
2	do	do	VERB	_	_	0	root	_	SpaceAfter=No
3	n't	not	PART	_	_	2	advmod	_	SpaceAfter=No
4	.	.	PUNCT	_	_	2	punct	_	_

"""
"""In don't the tokenizer of the tiny GPT-2 has a piece over the edge of two words."""
QUOTED = """\
# text = The "{0}"{1} old.
1	The	the	DET	_	_	3	det	_	_
2	"	"	PUNCT	_	_	3	punct	_	SpaceAfter=No
3	{0}	dog	NOUN	_	Number={2}	6	nsubj	_	SpaceAfter=No
4	"	"	PUNCT	_	_	3	punct	_	SpaceAfter=No
5	{1}	be	AUX	_	Mood=Ind|Number={2}|Person=3|Tense=Pres|VerbForm=Fin	6	cop	_	_
6	old	old	ADJ	_	_	0	root	_	SpaceAfter=No
7	.	.	PUNCT	_	_	6	punct	_	_

"""
"""The closing quotation mark and the apostrophe of the verb can be one piece."""


def _measured(bank: Path, number: int = 1) -> dict[int, tuple[float | None, int]]:
    rows = query_bank(bank, f"select word, nats, words from surprisal where run = {number}")
    assert len({word for word, *_ in rows}) == len(rows)
    return {word: (nats, words) for word, nats, words in rows}


@pytest.fixture
def causal(tiny_model: Models) -> Path:
    """A tiny GPT-2; its head is its embeddings."""
    return tiny_model("gpt2")


def test_the_pieces_of_a_masked_word_are_masked_with_those_before_them(
    tiny_masked_lm: Models, tmp_path: Path, bank_of: BankFactory
) -> None:
    """Each piece by the logits of the model, with the later pieces of its word masked, too."""
    folder, corpus = tiny_masked_lm("bert"), tmp_path / "c.txt"
    corpus.write_text("Rain unbelievably stopped\nIt fell on the lighthouse again\n")
    bank = bank_of(corpus, folder, format="lines", to=tmp_path / "bank.duckdb")
    surprisal(bank, options=LossOptions(model=str(folder)))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts: list[oracle_ablation.Text] = []
    for line in corpus.read_text().splitlines():
        read = tokenizer(line.split(), is_split_into_words=True)
        owners = read.word_ids()
        starts = [owners.index(word) for word in range(len(line.split()))]
        spans = tuple((start, start + owners.count(owners[start])) for start in starts)
        assert max(end - start for start, end in spans) > 2
        texts.append((tuple(read["input_ids"]), (0,) * len(owners), spans))
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval().double()
    expected = oracle_ablation.masked(model, texts, tokenizer.mask_token_id)
    found = [nats for _, (nats, _) in sorted(_measured(bank).items())]
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_again_nothing_is_measured_unless_anew(
    causal: Path, sample: Path, tmp_path: Path, cli: Cli, bank_of: BankFactory
) -> None:
    bank = bank_of(sample / "press.conllu", causal, limit=3, to=tmp_path / "bank.duckdb")
    command = ["-b", str(bank), "surprisal", "--model", str(causal)]
    assert "Measured press/tiny-gpt2" in cli(*command).err
    before = _measured(bank)
    change_bank(bank, "update surprisal set nats_of_pieces = 1")
    assert "nothing was measured" in cli(*command).err
    assert query_bank(bank, "select distinct nats_of_pieces from surprisal") == [(1,)]
    with duckdb.connect(str(bank)) as connection:  # as if it had been stopped
        connection.execute("delete from surprisal where word > 10")
    cli(*command)
    assert _measured(bank).keys() == before.keys()
    cli(*command, "--replace")
    assert {word: each[1] for word, each in _measured(bank).items()} == {
        word: each[1] for word, each in before.items()
    }
    for word, (nats, _) in _measured(bank).items():
        # Other inputs in a batch, and so another order of sums.
        assert nats == (before[word][0] and pytest.approx(before[word][0], abs=1e-5))


@pytest.mark.slow
def test_losses_of_an_ingest_are_those_of_the_command(
    causal: Path, sample: Path, tmp_path: Path, cli: Cli
) -> None:
    corpus = str(sample / "press.conllu")
    one, other = tmp_path / "one.duckdb", tmp_path / "other.duckdb"
    given = ["ingest", corpus, "--model", str(causal), "--limit", "3"]
    cli("-b", one, *given, "--losses")
    cli("-b", other, *given)
    cli("-b", other, "surprisal", "-q", "--model", causal)
    assert _measured(one) == _measured(other)
    for flags in (["--dry-run"], ["--context", "pair", "--unit", "token"]):
        assert "--losses" in cli("-b", one, *given, "--losses", *flags, status=2).err


@pytest.mark.slow
def test_what_cannot_be_asked_is_told(
    causal: Path, tiny_model: Models, sample: Path, tmp_path: Path, bank_of: BankFactory
) -> None:
    corpus = sample / "press.conllu"
    headless = bank_of(corpus, tiny_model("bert"), limit=2, to=tmp_path / "headless.duckdb")
    bert = LossOptions(model=str(tiny_model("bert")))
    with pytest.raises(AttnbankError, match="not a complete masked language model"):
        surprisal(headless, options=bert)
    pairs = bank_of(corpus, causal, context="pair", unit="token", to=tmp_path / "pairs.duckdb")
    with pytest.raises(QueryError, match="its inputs are pairs"):
        surprisal(pairs)
    with pytest.raises(CallError, match="There is no run 7"):
        surprisal(pairs, run=7)
    assert _measured(headless) == {}


@pytest.mark.slow
def test_the_model_must_be_that_of_the_run(
    causal: Path, sample: Path, sample_text: list[str], tmp_path: Path, bank_of: BankFactory
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    shutil.copytree(causal, here)
    bank = bank_of(sample / "press.conllu", here, limit=3, to=tmp_path / "bank.duckdb")
    with pytest.raises(CallError, match="A folder that a bank names is not opened"):
        surprisal(bank)
    here.rename(there)
    assert surprisal(bank, options=LossOptions(model=str(there))).is_new
    transformers.set_seed(9)
    other = tiny_models.save("gpt2", tmp_path / "other", sample_text)
    changed = transformers.AutoModelForCausalLM.from_pretrained(other)
    changed.transformer.h[0].attn.c_attn.weight.data += 1
    changed.save_pretrained(other)
    with pytest.raises(CallError, match=r"does not have the .* of the run"):
        surprisal(bank, options=LossOptions(model=str(other)), replace=True)


def test_verbs_that_a_piece_joins_to_the_word_before_have_pairs(
    tmp_path: Path, bank_of: BankFactory
) -> None:
    """Pairs are read word by word in every run, so that their results do not differ."""
    corpus, texts = tmp_path / "dogs.conllu", ['The "dog"\'s old.', 'The "dogs"\'re old.']
    corpus.write_text(QUOTED.format("dog", "'s", "Sing") + QUOTED.format("dogs", "'re", "Plur"))
    model = tiny_models.save("gpt2", tmp_path / "tiny", texts * 30)
    pairs = []
    for edges in ("cut", "share"):
        bank = bank_of(corpus, model, edges=edges, to=tmp_path / f"{edges}.duckdb")
        surprisal(bank, options=LossOptions(model=str(model), agreement=True))
        joined = query_bank(bank, "select count(last_word) from position")
        assert joined == [(2 if edges == "share" else 0,)]
        pairs.append(query_bank(bank, "from minimal_pair order by number"))
    assert [pair[4:7] for pair in pairs[0]] == [("'s", "'re", 5), ("'re", "'s", 12)]
    assert pairs[0] == pairs[1] and None not in [pair[-1] for pair in pairs[0]]


def test_words_without_a_surprisal_are_told(
    causal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], bank_of: BankFactory
) -> None:
    """First words have none, and of two words that share a position one."""
    corpus = tmp_path / "conversations.conllu"
    corpus.write_text(JOINED, encoding="utf-8")
    bank = bank_of(corpus, causal, edges="share", to=tmp_path / "b.duckdb")
    capsys.readouterr()
    assert run_command_line(["-b", str(bank), "surprisal", "--model", str(causal)]) == 0
    measured = [words for _, words in _measured(bank).values()]
    known = sum(nats is not None for nats, _ in _measured(bank).values())
    first = sum(nats is None and words == 1 for nats, words in _measured(bank).values())
    sharing = len(measured) - known - first
    assert (known, first, sharing) == (5, 2, 2)
    printed = capsys.readouterr().err
    assert f"Measured conversations/tiny-gpt2/share: {known:,} words\n" in printed
    assert "tokens that end a text: <|endoftext|>\n" in printed
    lines = (
        f"{first} words have no surprisal: no token precedes the first word of an input",
        f"{sharing} words have no surprisal: only one of the words that share a position has it",
    )
    assert all(f"{line}\n" in printed for line in lines)
    assert run_command_line(["-b", str(bank), "info"]) == 0
    printed = capsys.readouterr().out
    assert f"surprisal of {known:,} words\n" in printed and all(line in printed for line in lines)
    with open_bank(bank) as opened:
        (row,) = opened.query("surprisal_by_class", classification="all").to_dicts()
    assert (row["n"], row["missing"]) == (known, first + sharing)


@pytest.mark.slow
def test_surprisals_of_another_version_are_not_set_beside_an_ablation(
    causal: Path, sample: Path, tmp_path: Path, cli: Cli, bank_of: BankFactory
) -> None:
    bank = bank_of(sample / "press.conllu", causal, limit=3, to=tmp_path / "b.duckdb")
    model = ["--model", str(causal)]
    command = ["-b", str(bank), "ablate", "a", "--heads", "1-1", "--controls", "0", *model]
    cli(*command)
    change_bank(bank, "update surprisal set nats = nats + 0.5 where word % 3 = 0")
    error = cli(*command[:3], "b", *command[4:], status=2).err
    assert "are from another version of attnbank" in error and "--replace" in error
    error = cli("-b", bank, "surprisal", "--replace", *model).err
    assert "warning: a was compared with earlier surprisals of the words" in error
    assert "warning" not in cli("-b", bank, "surprisal", "--replace", *model).err
    cli(*command[:3], "b", *command[4:])


def test_resumed_it_begins_with_what_is_done(
    causal: Path, few: Path, tmp_path: Path, bank_of: BankFactory
) -> None:
    """As an ingest does: neither its progress nor the estimate counts what is not measured again.

    An input of which a word is missing is measured, as a whole.
    """
    bank = bank_of(few, causal, batch_tokens=1, to=tmp_path / "bank.duckdb")
    options = LossOptions(model=str(causal), batch_tokens=32)
    surprisal(bank, options=options)
    before = _measured(bank)
    change_bank(
        bank,
        "delete from surprisal where word = (select max(word) from position"
        " where sequence = (select id from sequence order by batch desc, id limit 1))",
    )
    progress: list[Progress] = []
    estimates: list[tuple[int, int]] = []
    surprisal(
        bank, options=options, on_progress=progress.append,
        on_estimate=lambda seconds, sets, sentences: estimates.append((sets, sentences)),
    )  # fmt: skip
    (total,) = {step.total for step in progress}
    assert total is not None and 0 < progress[0].done < progress[-1].done == total
    assert estimates == [(0, total - progress[0].done)]
    assert _measured(bank) == before
