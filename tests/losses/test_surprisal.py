"""The surprisal of the words of a run: what the run read, asked for one prediction at a time."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import oracle_ablation
import pytest
import tiny_models
import transformers

from attnbank.cli.app import run
from attnbank.ingest import IngestOptions, LossOptions, ingest, surprisal
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankError, CallError, QueryError

DU = """\
# sent_id = du
# text = Il parle du chat.
1\tIl\til\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tparle\tparler\tVERB\t_\t_\t0\troot\t_\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\t_\t_\t5\tcase\t_\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t_\t_
5\tchat\tchat\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


def _rows(bank: Path, statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(bank), read_only=True) as connection:
        return connection.execute(statement).fetchall()


def _expected(bank: Path, folder: Path, number: int = 1) -> dict[int, float]:
    """Surprisals by word.id, of the pieces that the run noted, by a model that is loaded apart."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = _rows(
        bank,
        "select sequence, pieces, segment, word from position inner join sequence"
        f" on sequence.id = sequence where run = {number} order by sequence, position",
    )
    texts: dict[int, tuple[list[int], list[int], list[tuple[int, int]], list[int]]] = {}
    for sequence, pieces, segment, word in rows:
        ids, segments, spans, words = texts.setdefault(sequence, ([], [], [], []))
        start = len(ids)
        ids += tokenizer.convert_tokens_to_ids(pieces)
        segments += [segment] * len(pieces)
        if word is not None and words and words[-1] == word:  # a token of the same word
            spans[-1] = (spans[-1][0], len(ids))
        elif word is not None:
            spans.append((start, len(ids)))
            words.append(word)
    plain: list[oracle_ablation.Text] = [
        (tuple(ids), tuple(segments), tuple(spans)) for ids, segments, spans, _ in texts.values()
    ]
    if tokenizer.mask_token_id is None:
        whole = transformers.AutoModelForCausalLM.from_pretrained(folder).eval().double()
        pieces_of = {id: piece for piece, id in tokenizer.get_vocab().items()}

        def begins(id: int) -> bool:
            return pieces_of[id][0] in "ĠĊĉč" or pieces_of[id] == "<|endoftext|>"

        found = oracle_ablation.causal(whole, plain, begins)
    else:
        whole = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval().double()
        found = oracle_ablation.masked(whole, plain, tokenizer.mask_token_id)
    return dict(zip((word for *_, words in texts.values() for word in words), found, strict=True))


def _measured(bank: Path, number: int = 1) -> dict[int, tuple[float | None, int]]:
    rows = _rows(bank, f"select word, nats, words from surprisal where run = {number}")
    assert len({word for word, *_ in rows}) == len(rows)
    return {word: (nats, words) for word, nats, words in rows}


def _check(bank: Path, folder: Path, number: int = 1) -> None:
    found, expected = _measured(bank, number), _expected(bank, folder, number)
    assert {word for word, (_, words) in found.items() if words == 1} <= expected.keys()
    for word, nats in expected.items():
        own = found[word][0]
        if math.isnan(nats):
            assert own is None
        else:  # float32 against float64, over a few pieces of some 6 nats
            assert own == pytest.approx(nats, abs=1e-4)


@pytest.fixture
def causal(tiny_model: Callable[[str], Path]) -> Path:
    """A tiny GPT-2; its head is its embeddings."""
    return tiny_model("gpt2")


@pytest.fixture
def masked(tiny_masked_lm: Callable[[str], Path]) -> Path:
    """A tiny BERT with its head."""
    return tiny_masked_lm("bert")


def _fill(bank: Path, corpus: Path, folder: Path, **options: Any) -> Path:
    ingest(IngestOptions((str(corpus),), bank, str(folder), **options))
    return bank


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"context": "document", "max_tokens": 60},
        {"unit": "token", "limit": 5, "seed": 3},
        {"bos": True, "limit": 5},
    ],
    ids=["sentences", "documents", "tokens", "bos"],
)
def test_of_a_causal_model(
    options: dict[str, Any], causal: Path, sample: Path, tmp_path: Path
) -> None:
    bank = _fill(tmp_path / "bank.duckdb", sample / "press.conllu", causal, **options)
    done = surprisal(bank)
    assert done.words == len(_measured(bank)) > 40 and done.is_new
    _check(bank, causal)
    ((first,),) = _rows(bank, "select count(*) from sequence")
    without = sum(nats is None for nats, _ in _measured(bank).values())
    assert without == (0 if "bos" in options else first)


@pytest.mark.parametrize(
    "options", [{"limit": 6}, {"context": "document", "limit": 2, "max_tokens": 40}], ids=str
)
def test_of_a_masked_model(
    options: dict[str, Any], masked: Path, sample: Path, tmp_path: Path
) -> None:
    bank = _fill(tmp_path / "bank.duckdb", sample / "press.conllu", masked, **options)
    surprisal(bank)
    _check(bank, masked)
    assert None not in {nats for nats, _ in _measured(bank).values()}


def test_words_that_share_a_position_have_one(causal: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "du.conllu"
    corpus.write_text(DU, encoding="utf-8")
    bank = _fill(tmp_path / "bank.duckdb", corpus, causal, bos=True)
    surprisal(bank)
    forms = _rows(
        bank,
        "select form, nats is null, surprisal.words from surprisal inner join word on"
        " word.id = word order by word.id",
    )
    assert forms == [
        ("Il", False, 1), ("parle", False, 1), ("de", False, 2), ("le", True, 2),
        ("chat", False, 1), (".", False, 1),
    ]  # fmt: skip
    _check(bank, causal)
    parts = _fill(tmp_path / "parts.duckdb", corpus, causal, bos=True, multiword="parts")
    surprisal(parts)
    assert {words for _, words in _measured(parts).values()} == {1}


def test_of_a_control_with_random_weights(causal: Path, sample: Path, tmp_path: Path) -> None:
    """The weights that a seed gives are those of the run, with a head as without one."""
    corpus = sample / "press.conllu"
    bank = _fill(tmp_path / "bank.duckdb", corpus, causal, random_weights=3, limit=4)
    done = surprisal(bank, run=1)
    assert done.words > 10
    trained = _fill(tmp_path / "trained.duckdb", corpus, causal, limit=4)
    surprisal(trained)
    own, other = _measured(bank), _measured(trained)
    assert own.keys() == other.keys() and own != other


def test_again_nothing_is_measured_unless_anew(
    causal: Path, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = _fill(tmp_path / "bank.duckdb", sample / "press.conllu", causal, limit=3)
    command = ["-b", str(bank), "surprisal"]
    assert run(command) == 0
    assert "Measured press/tiny-gpt2" in capsys.readouterr().err
    before = _measured(bank)
    with duckdb.connect(str(bank)) as connection:
        connection.execute("update surprisal set nats = 1")
    assert run(command) == 0
    assert "nothing was measured" in capsys.readouterr().err
    assert {nats for nats, _ in _measured(bank).values()} == {1}
    with duckdb.connect(str(bank)) as connection:  # as if it had been stopped
        connection.execute("delete from surprisal where word > 10")
    assert run(command) == 0
    assert _measured(bank).keys() == before.keys()
    assert run([*command, "--replace"]) == 0
    assert {word: each[1] for word, each in _measured(bank).items()} == {
        word: each[1] for word, each in before.items()
    }
    for word, (nats, _) in _measured(bank).items():
        # Other inputs in a batch, and so another order of sums.
        assert nats == (before[word][0] and pytest.approx(before[word][0], abs=1e-5))


def test_losses_of_an_ingest_are_those_of_the_command(
    causal: Path, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = str(sample / "press.conllu")
    one, other = tmp_path / "one.duckdb", tmp_path / "other.duckdb"
    given = ["ingest", corpus, "--model", str(causal), "--limit", "3"]
    assert run(["-b", str(one), *given, "--losses"]) == 0
    assert run(["-b", str(other), *given]) == 0
    assert run(["-b", str(other), "surprisal", "-q"]) == 0
    assert _measured(one) == _measured(other)
    capsys.readouterr()
    for flags in (["--dry-run"], ["--context", "pair", "--unit", "token"]):
        assert run(["-b", str(one), *given, "--losses", *flags]) == 2
        assert "--losses" in capsys.readouterr().err


def test_what_cannot_be_asked_is_told(
    causal: Path, tiny_model: Callable[[str], Path], sample: Path, tmp_path: Path
) -> None:
    corpus = sample / "press.conllu"
    headless = _fill(tmp_path / "headless.duckdb", corpus, tiny_model("bert"), limit=2)
    with pytest.raises(AttnbankError, match="not a complete masked language model"):
        surprisal(headless)
    pairs = _fill(tmp_path / "pairs.duckdb", corpus, causal, context="pair", unit="token")
    with pytest.raises(QueryError, match="its inputs are pairs"):
        surprisal(pairs)
    with pytest.raises(CallError, match="There is no run 7"):
        surprisal(pairs, run=7)
    assert _measured(headless) == {}


def test_the_model_must_be_that_of_the_run(
    causal: Path, sample: Path, sample_text: list[str], tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    shutil.copytree(causal, here)
    bank = _fill(tmp_path / "bank.duckdb", sample / "press.conllu", here, limit=3)
    here.rename(there)
    with pytest.raises(AttnbankError):
        surprisal(bank)
    assert surprisal(bank, options=LossOptions(model=str(there))).is_new
    transformers.set_seed(9)
    other = tiny_models.save("gpt2", tmp_path / "other", sample_text)
    changed = transformers.AutoModelForCausalLM.from_pretrained(other)
    changed.transformer.h[0].attn.c_attn.weight.data += 1
    changed.save_pretrained(other)
    with pytest.raises(CallError, match="are not those of the run"):
        surprisal(bank, options=LossOptions(model=str(other)), replace=True)


def test_classes_are_means_of_words(causal: Path, sample: Path, tmp_path: Path) -> None:
    bank = _fill(tmp_path / "bank.duckdb", sample / "press.conllu", causal)
    surprisal(bank)
    with open_bank(bank) as opened:
        found = opened.query("surprisal_by_class", classification="upos")
    by_class: dict[str, list[float]] = {}
    for upos, nats in _rows(bank, "select upos, nats from surprisal join word on word.id = word"):
        by_class.setdefault(upos, []).extend([] if nats is None else [nats])
    for row in found.to_dicts():
        own = by_class[row["class"]]
        assert row["n"] == len(own)
        if own:
            assert row["surprisal"] == pytest.approx(sum(own) / len(own))
