"""`add_run`: maps that the caller computed are written as those that `ingest` computes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import real_models
import torch
import transformers
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from crashes import run_on_disk
from fixture_types import Models

from attnbank.ingest import IngestOptions, add_run, add_text, ingest
from attnbank.ingest.precomputed import PrecomputedRun, PrecomputedSentence
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankWarning, BankError, CallError

TABLES = ("position", "attention", "attention_map", "peak")
Read = tuple[list[str], list[int | None], list[Any]]


class Ours:
    """A model outside of attnbank, and its own tokenizer."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
        self.model.eval()

    def read(self, sentence: PrecomputedSentence) -> Read:
        """The tokens of a sentence, their words, and the maps."""
        read = self.tokenizer(list(sentence.words), is_split_into_words=True, return_tensors="pt")
        with torch.inference_mode():
            maps = self.model(**read, output_attentions=True).attentions
        return read.tokens(), read.word_ids(), list(maps)


class OursByWord(Ours):
    """The same, for decoders: each word is read with the white space before it, nothing around."""

    def read(self, sentence: PrecomputedSentence) -> Read:
        before = ["", *(" " * space for space in sentence.spaces)]
        pieces = [self.tokenizer.backend_tokenizer.encode(space + word).ids
                  for space, word in zip(before, sentence.words, strict=False)]  # fmt: skip
        ids = [id for word in pieces for id in word]
        owners: list[int | None] = [at for at, word in enumerate(pieces) for _ in word]
        with torch.inference_mode():
            maps = self.model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
        return self.tokenizer.convert_ids_to_tokens(ids), owners, list(maps)


@pytest.fixture
def stories(few: Path) -> str:
    return str(few / "stories.conllu")


@pytest.fixture(scope="module")
def text(few: Path, bank_of: BankFactory) -> Path:
    """A bank with the text alone (do not write into it)."""
    return bank_of(few / "stories.conllu", "none")


@pytest.fixture
def bank(text: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(text, tmp_path))


def _select(table: str) -> str:
    """The rows of a table with the sentences of their inputs, whose order is another."""
    return (
        "select sequence.sentence, sequence.document, sequence.positions, sequence.tokens,"
        f" own.* exclude (sequence) from {table} as own"
        " inner join sequence on sequence.id = own.sequence order by all"
    )


def _rows(bank: Path, table: str) -> list[tuple[Any, ...]]:
    return query_bank(bank, _select(table))


def _even(sentence: PrecomputedSentence) -> np.ndarray:
    """The maps of 2 layers of 3 heads in which every word attends to all words alike."""
    size = len(sentence.words)
    return np.full((2, 3, size, size), 1 / size, np.float32)


def _add_even(run: PrecomputedRun) -> Iterator[PrecomputedSentence]:
    for sentence in run.sentences():
        run.add(sentence, sentence.words, range(len(sentence.words)), _even(sentence))
        yield sentence


def _only_run(bank: Path) -> dict[str, Any]:
    with open_bank(bank) as opened:
        (row,) = opened.info().runs.rows(named=True)
    return row


def _check_same_bank(
    ours: Ours, layers: int, heads: int, corpus: str, folder: Path, tmp_path: Path, **more: Any
) -> Path:
    """Both ways give the same rows of every table of a run, and the same numbers in its own."""
    bank, other = tmp_path / "ours.duckdb", tmp_path / "ingested.duckdb"
    name = add_text(IngestOptions((corpus,), bank))
    ingest(IngestOptions((corpus,), other, model=str(folder), batch_tokens=1, **more))
    more |= {"digest": "weights of mine", "causal": isinstance(ours, OursByWord)}
    with add_run(bank, name, "mine", layers=layers, heads=heads, **more) as run:
        for sentence in run.sentences():
            run.add(sentence, *ours.read(sentence))
    facts = ("select unit, subword, multiword, keep, decimals, measure, heads, first_word,"
             " unknown_words from run, run_part")  # fmt: skip
    with (
        duckdb.connect(str(bank), read_only=True) as mine,
        duckdb.connect(str(other), read_only=True) as theirs,
    ):
        for select in (facts, *map(_select, TABLES)):
            rows = mine.execute(select).fetchall()
            assert rows == theirs.execute(select).fetchall(), select
        assert mine.execute("select misspelled_words from run_part").fetchall() == [(0,)]
    return bank


@pytest.mark.usual("plain")
@pytest.mark.parametrize(
    "more",
    [{}, {"unit": "token"}, {"subword": "first"}, {"keep": "peaks"}, {"decimals": 5}],
    ids=lambda more: "-".join(map(str, more.values())) or "plain",
)
def test_the_same_model_gives_the_same_bank(
    more: dict[str, Any], stories: str, tiny_model: Models, tmp_path: Path
) -> None:
    folder = tiny_model("bert")
    bank = _check_same_bank(Ours(folder), 3, 4, stories, folder, tmp_path, **more)
    with open_bank(bank) as mine:
        assert mine.info().models.row(0, named=True)["architecture"] == "given"
        assert mine.info().runs.row(0, named=True)["device"] == "given"


@pytest.mark.usual("gpt2-{}")
@pytest.mark.few("gpt2-*", "smollm2-{}")
@pytest.mark.parametrize("more", [{}, {"unit": "token"}, {"keep": "peaks"}], ids=str)
@pytest.mark.parametrize("model", ["gpt2", "smollm2"])
def test_the_same_decoder_gives_the_same_bank(
    model: str, more: dict[str, Any], stories: str, tiny_model: Models,
    tmp_path: Path,
) -> None:  # fmt: skip
    folder = real_models.get(model) if model == "smollm2" else tiny_model(model)
    if folder is None:
        pytest.skip("SmolLM2 cannot be had here")
    layers, heads = (30, 9) if model == "smollm2" else (3, 4)
    _check_same_bank(OursByWord(folder), layers, heads, stories, folder, tmp_path, **more)


@pytest.mark.slow
@pytest.mark.parametrize("multiword", ["written", "parts"])
def test_multiword_tokens_are_those_of_ingest(
    multiword: Any, tiny_model: Models, tmp_path: Path
) -> None:
    corpus, folder = tmp_path / "du.conllu", tiny_model("bert")
    rows = ["1\tRain\t_\tNOUN\t_\t_\t0\troot\t_\t_", "2-3\tdu\t_\t_\t_\t_\t_\t_\t_\t_",
            "2\tde\t_\tADP\t_\t_\t4\tcase\t_\t_", "3\tle\t_\tDET\t_\t_\t4\tdet\t_\t_",
            "4\tsoir\t_\tNOUN\t_\t_\t1\tnmod\t_\t_"]  # fmt: skip
    corpus.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    bank = _check_same_bank(Ours(folder), 3, 4, str(corpus), folder, tmp_path, multiword=multiword)
    with open_bank(bank) as opened:
        words = opened.sql("select text from position where kind = 'word' order by position")
    assert ("du" in words["text"].to_list()) == (multiword == "written")


@pytest.mark.slow
def test_added_norms_are_those_of_ingest(stories: str, tiny_model: Models, tmp_path: Path) -> None:
    """Norms of tokens, computed here from the model's own matrices, to float32's last digits."""
    folder = tiny_model("bert")
    ours, bank, other = Ours(folder), tmp_path / "ours.duckdb", tmp_path / "ingested.duckdb"
    shared: dict[str, Any] = {"unit": "token", "measure": "norms"}
    add_text(IngestOptions((stories,), bank))
    ingest(IngestOptions((stories,), other, model=str(folder), batch_tokens=1, **shared))
    with add_run(bank, "stories", "mine", layers=3, heads=4, **shared) as run:
        for sentence in run.sentences():
            tokens, words, maps = ours.read(sentence)
            read = ours.tokenizer(
                list(sentence.words), is_split_into_words=True, return_tensors="pt"
            )
            with torch.inference_mode():
                hidden = ours.model(**read, output_hidden_states=True).hidden_states
                norms = []
                for layer, weights in enumerate(maps):
                    attention = ours.model.encoder.layer[layer].attention
                    values = attention.self.value(hidden[layer])[0].reshape(len(tokens), 4, -1)
                    out = attention.output.dense.weight.T.reshape(4, values.shape[-1], -1)
                    moved = torch.einsum("thd,hde->hte", values, out).norm(dim=-1)
                    norms.append(weights[0] * moved[:, None, :])
            run.add(sentence, tokens, words, norms)
    mine, theirs = _rows(bank, "attention"), _rows(other, "attention")
    assert len(mine) == len(theirs) > 0
    for one, two in zip(mine, theirs, strict=True):
        assert one[:-1] == two[:-1] and one[-1] == pytest.approx(two[-1], rel=1e-5, abs=1e-7)
    peaks = [[row[:3] + row[4:8] for row in _rows(path, "peak")] for path in (bank, other)]
    assert peaks[0] == peaks[1]


STOPPED = """
import os
import numpy as np
import attnbank.ingest.precomputed as precomputed
from attnbank.ingest import add_run
from attnbank.sql.errors import BankError

precomputed._TOKENS_AT_ONCE = 20
precomputed.Writer.commit_if_due = precomputed.Writer.commit
try:
    with add_run(sys.argv[1], "stories", "mine", layers=12, heads=12) as run:
        for number, sentence in enumerate(run.sentences()):
            size = len(sentence.words)
            drawn = np.random.default_rng(size).random((12, 12, size, size))
            run.add(sentence, sentence.words, range(size), drawn / drawn.sum(-1, keepdims=True))
            if number == 2 and sys.argv[2] == "killed":
                os.kill(os.getpid(), 9)
            if number == 2 and sys.argv[2] == "failed":
                raise RuntimeError("a hook of the user's")
except BankError as error:
    sys.exit(str(error))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "status"), [("failed", 1), ("killed", -9), ("full disk", 1)], ids=lambda stop: stop
)
def test_a_run_that_was_stopped_resumes(stop: str, status: int, bank: Path) -> None:
    room = 850_000 if stop == "full disk" else 100_000_000
    done = run_on_disk(bank.stat().st_size + room, bank, stop, program=STOPPED)
    assert done.returncode == status
    if stop == "full disk":
        assert done.stderr.count("\n") <= 2 and "full" in done.stderr
    before = _only_run(bank)
    assert before["finished"] is None and 0 < before["sentences"] < 4
    with add_run(bank, "stories", "mine", layers=12, heads=12) as run:
        sentences = [*run.sentences()]
        assert len(sentences) == 4 - before["sentences"]
        for sentence in sentences:
            even = np.repeat(_even(sentence)[:1, :1], 12, axis=0).repeat(12, axis=1)
            run.add(sentence, sentence.words, range(len(sentence.words)), even)
    after = _only_run(bank)
    assert after["sentences"] == 4 and after["finished"] is not None


def test_a_finished_run_starts_over_on_request(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        assert len([*_add_even(run)]) == 4
    with (
        pytest.raises(CallError, match="is finished"),
        add_run(bank, "stories", "mine", layers=2, heads=3),
    ):
        pass
    with add_run(bank, "stories", "mine", layers=2, heads=3, over=True) as run:
        next(_add_even(run))
    again = _only_run(bank)
    assert (again["sentences"], again["skipped"]) == (1, 3)


def test_the_first_word_of_a_causal_model_has_a_kind_of_its_own(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3, causal=True) as run:
        for sentence in run.sentences():
            maps = np.tril(_even(sentence))
            maps /= maps.sum(-1, keepdims=True)
            run.add(sentence, sentence.words, range(len(sentence.words)), maps)
    with open_bank(bank) as opened:
        kinds = opened.sql("select distinct kind from position where position = 0")["kind"]
        assert kinds.to_list() == ["first"]
        assert opened.query("special_tokens")["cls"].null_count() == 6


class ByDlpack:
    """An array that says nothing of NumPy."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


Arrays = Callable[[np.ndarray], Any]
WAYS: list[Arrays] = [
    lambda even: even, ByDlpack, lambda even: even[None],
    lambda even: list(torch.from_numpy(even)),
    lambda even: [layer[None] for layer in torch.from_numpy(even)],
    lambda even: even.astype(np.float64), lambda even: even.astype(np.float16),
    lambda even: np.asfortranarray(even), lambda even: np.repeat(even, 2, axis=3)[..., ::2],
    lambda even: torch.from_numpy(even).half(), lambda even: torch.from_numpy(even).bfloat16(),
    lambda even: torch.from_numpy(even).requires_grad_(), lambda even: even.tolist(),
    lambda even: tuple(torch.from_numpy(even).double().transpose(2, 3)),
    lambda even: torch.eye(even.shape[2], dtype=torch.int64).expand(even.shape),
    lambda even: np.broadcast_to(np.eye(even.shape[2], dtype=bool), even.shape),
]  # fmt: skip


def test_arrays_of_any_kind_type_and_layout(tmp_path: Path) -> None:
    path = tmp_path / "bank.duckdb"
    words = pl.DataFrame(
        {"sentence": [at for at in range(len(WAYS)) for _ in range(1 + at % 8)], "form": "rain"}
    )
    add_text(IngestOptions((words,), path, name="rain"))
    with add_run(path, "rain", "mine", layers=2, heads=3) as run:
        for sentence, way in zip(run.sentences(), WAYS, strict=True):
            # Of bfloat16 a row sums to 1 only where its length is a power of two.
            size = 8
            maps = np.full((2, 3, size, size), 1 / size, np.float32)
            padding = size - len(sentence.words)
            owners = [*range(len(sentence.words)), *[None] * padding]
            run.add(sentence, [*sentence.words, *[""] * padding], owners, way(maps))
            maps[:] = 7  # the memory is the caller's, who may use it again
    assert len({row[0] for row in _rows(path, "position")}) == len(WAYS)
    assert max(max(row[-1]) for row in _rows(path, "attention")) <= 1


class Raising:
    """An array whose memory cannot be had."""

    def __array__(self, *types: Any, **options: Any) -> Any:
        raise KeyError("no memory\nat all")


NO_MAPS: list[tuple[Arrays, str]] = [
    (lambda even: np.full_like(even, np.inf), "not finite"),
    (lambda even: even * np.nan, "not finite"),
    (lambda even: even.astype(np.float64) * 1e300, "not finite"),
    (lambda even: even * 2, "sums from 2 to 2"),
    (lambda even: -even, "sums from -1 to -1"),
    (lambda even: even.astype(complex), "not an array of numbers: they are of type complex"),
    (lambda even: torch.from_numpy(even).to(torch.complex64), "not an array of numbers"),
    (lambda even: even.astype(str), "not an array of numbers: they are of type"),
    (lambda even: even.astype(object), "not an array of numbers: they are of type object"),
    (lambda even: torch.from_numpy(even).to_sparse(), "not an array of numbers"),
    (lambda even: torch.from_numpy(even).to("meta"), "not an array of numbers"),
    (lambda even: Raising(), "not an array of numbers: 'no memory"),
    (lambda even: None, "not an array of numbers"),
    (lambda even: [["a"]], "not an array of numbers"),
    (lambda even: [], "have the shape"),
    (lambda even: np.ones((2, 3, 4, 4)), r"have the shape \(2, 3, 4, 4\); expected \(2, 3, "),
    (lambda even: even[:, :, :0, :0], "have the shape"),
    (lambda even: [even[0], even[1][:, 1:]], "have the shape"),
    (lambda even: 1.0, "have the shape"),
]


def test_what_is_no_map_is_refused_and_loses_nothing(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        for number, sentence in enumerate(run.sentences()):
            words = range(len(sentence.words))
            for make, fact in NO_MAPS if number == 1 else ():
                with pytest.raises(CallError, match=fact) as error:
                    run.add(sentence, sentence.words, words, make(_even(sentence)))
                assert str(error.value).count("\n") <= 1
            run.add(sentence, sentence.words, words, _even(sentence))
    row = _only_run(bank)
    assert (row["sentences"], row["skipped"]) == (4, 0)


def test_invalid_tokens_and_words_are_refused(bank: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tokens": [1, 2]}, "are not text"),
        ({"tokens": ["\ud800"]}, "are not text"),
        ({"words": ["a"]}, "are not numbers"),
        ({"words": [(0, 1, 2)]}, "are not numbers"),
        ({"words": [0.0]}, "are not numbers"),
        ({"words": [0]}, "do not cover its"),
        ({"words": [None, *range(1, 15)]}, "tokens of sentence .* do not cover its"),
        ({"tokens": [], "words": []}, "the shape"),
        ({"kinds": ["cls", "end"]}, "cannot have the kinds"),
    ]
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        sentence = next(run.sentences())
        assert len(sentence.words) == 15
        valid = {"tokens": sentence.words, "words": range(15), "maps": _even(sentence)}
        for change, fact in wrong:
            with pytest.raises(CallError, match=fact):
                run.add(sentence, **valid | change)


def test_a_misspelled_word_may_stand_beside_its_like(tmp_path: Path, bank_of: BankFactory) -> None:
    """The token of the next word spells it too, which is not a special token."""
    text = "1\tHo\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tho\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    path = bank_of({"two.conllu": text}, "none", to=tmp_path)
    with (
        pytest.warns(AttnbankWarning, match="tokens of 1 words .* 'Hi' for 'Ho'"),
        add_run(path, "two", "mine", layers=2, heads=3) as run,
    ):
        (sentence,) = run.sentences()
        run.add(sentence, ["Hi", "ho"], [0, 1], _even(sentence))
    assert query_bank(path, "select misspelled_words from run_part") == [(1,)]


def test_a_causal_model_does_not_attend_ahead(bank: Path) -> None:
    """Not even to the next word."""
    with (
        pytest.raises(CallError, match="attends to a later one"),
        add_run(bank, "stories", "mine", layers=2, heads=3, causal=True) as run,
    ):
        sentence = next(run.sentences())
        maps = np.tril(_even(sentence), 1)
        maps /= maps.sum(-1, keepdims=True)
        run.add(sentence, sentence.words, range(len(sentence.words)), maps)


def test_a_sentence_is_added_once_and_to_its_own_run(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        sentence = next(_add_even(run))
        maps = (sentence.words, range(len(sentence.words)), _even(sentence))
        with pytest.raises(CallError, match="The run already has the maps of sentence"):
            run.add(sentence, *maps)
    with pytest.raises(CallError, match="is not open"):
        run.add(sentence, *maps)
    with (
        add_run(bank, "stories", "other", layers=2, heads=3) as other,
        pytest.raises(CallError, match="is not open"),
    ):
        other.add(sentence, *maps)


def test_a_bank_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.duckdb"
    with (
        pytest.raises(BankError, match="There is no bank"),
        add_run(path, "stories", "mine", layers=1, heads=1),
    ):
        pass
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ("--dry-run", "without a run"),
        ("--measure norms", "but --measure is about a run"),
        ("--unit token", "but --unit is about a run"),
        ("--engine spark --to x", "without a run"),
    ],
)
def test_options_of_a_run_without_a_model(
    more: str, fact: str, stories: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "text.duckdb"
    assert (
        f"--model none writes the text alone, {fact}"
        in cli("-b", path, "ingest", stories, "--model", "none", *more.split(), status=2).err
    )
    assert not path.exists()


def test_the_text_alone(stories: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "text.duckdb"
    assert (
        "The bank has the text of stories; no model was run."
        in cli("-b", path, "ingest", stories, "--model", "none").err
    )
    assert query_bank(path, "select count(*) from run") == [(0,)]
    assert query_bank(path, "select count(*) from word") == [(54,)]
