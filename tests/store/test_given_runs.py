"""`add_run`: maps that the caller computed are written as those that `ingest` computes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import real_models
import torch
import transformers
from bank_rows import query_bank

from attnbank.cli.app import run_command_line as command
from attnbank.ingest import IngestOptions, add_run, add_text, ingest
from attnbank.ingest.precomputed import PrecomputedRun, PrecomputedSentence
from attnbank.queries import open_bank
from attnbank.sql.errors import BankError, CallError

TABLES = ("position", "attention", "attention_map", "peak")


class Ours:
    """A model outside of attnbank, and its own tokenizer."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
        self.model.eval()

    def read(self, sentence: PrecomputedSentence) -> tuple[list[str], list[int | None], list[Any]]:
        found = self.tokenizer(list(sentence.words), is_split_into_words=True, return_tensors="pt")
        with torch.inference_mode():
            maps = self.model(**found, output_attentions=True).attentions
        return found.tokens(), found.word_ids(), list(maps)


@pytest.fixture
def stories(sample: Path) -> str:
    return str(sample / "stories.conllu")


@pytest.fixture
def bank(tmp_path: Path, stories: str) -> Path:
    path = tmp_path / "given.duckdb"
    assert add_text(IngestOptions((stories,), path)) == "stories"
    return path


def _rows(bank: Path, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table with the sentences of their inputs, whose order is another."""
    return query_bank(
        bank,
        "select sequence.sentence, sequence.document, sequence.positions, sequence.tokens,"
        f" own.* exclude (sequence) from {table} as own"
        " inner join sequence on sequence.id = own.sequence order by all",
    )


def _uniform(run: PrecomputedRun, *, causal: bool = False) -> Iterator[PrecomputedSentence]:
    for sentence in run.sentences():
        size = len(sentence.words) + (not causal) * 2
        maps = np.tril(np.ones((2, 3, size, size))) if causal else np.ones((2, 3, size, size))
        maps /= maps.sum(-1, keepdims=True)
        words = [*range(len(sentence.words))]
        given = words if causal else [None, *words, None]
        tokens = list(sentence.words) if causal else ["[CLS]", *sentence.words, "[SEP]"]
        run.add(sentence, tokens, given, maps)
        yield sentence


class OursByWord(Ours):
    """The same, for decoders: each word is read with the white space before it, nothing around."""

    def read(self, sentence: PrecomputedSentence) -> tuple[list[str], list[int | None], list[Any]]:
        before = ["", *(" " * each for each in sentence.spaces)]
        own = [self.tokenizer.backend_tokenizer.encode(space + word).ids
               for space, word in zip(before, sentence.words, strict=False)]  # fmt: skip
        ids = [each for word in own for each in word]
        owners: list[int | None] = [at for at, word in enumerate(own) for _ in word]
        with torch.inference_mode():
            maps = self.model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
        return self.tokenizer.convert_ids_to_tokens(ids), owners, list(maps)


def _assert_same_bank(
    ours: Ours, layers: int, heads: int, corpus: str, folder: Path, tmp_path: Path, **more: Any
) -> Path:
    """Both ways give the same rows of every table of a run, and the same numbers in its own."""
    bank, other = tmp_path / "ours.duckdb", tmp_path / "ingested.duckdb"
    causal = more.pop("causal", False)
    name = add_text(IngestOptions((corpus,), bank))
    ingest(IngestOptions((corpus,), other, model=str(folder), batch_tokens=1, **more))
    with add_run(
        bank,
        name,
        "mine",
        layers=layers,
        heads=heads,
        digest="weights of mine",
        causal=causal,
        **more,
    ) as run:
        for sentence in run.sentences():
            run.add(sentence, *ours.read(sentence))
    for table in TABLES:
        assert _rows(bank, table) == _rows(other, table), table
    with open_bank(bank) as mine, open_bank(other) as theirs:
        columns = ("unit", "subword", "multiword", "keep", "decimals", "measure", "heads",
                   "first_word", "unknown_words")  # fmt: skip
        asked = f"select {', '.join(columns)} from run, run_part"
        assert mine.sql(asked).rows() == theirs.sql(asked).rows()
        assert mine.sql("select misspelled_words from run_part").rows() == [(0,)]
    return bank


@pytest.mark.usual("plain")
@pytest.mark.parametrize(
    "more",
    [{}, {"unit": "token"}, {"subword": "first"}, {"keep": "peaks"}, {"decimals": 5}],
    ids=lambda more: "-".join(map(str, more.values())) or "plain",
)
def test_the_same_model_gives_the_same_bank(
    more: dict[str, Any], stories: str, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_model("bert")
    bank = _assert_same_bank(Ours(folder), 3, 4, stories, folder, tmp_path, **more)
    with open_bank(bank) as mine, open_bank(tmp_path / "ingested.duckdb") as theirs:
        if more.get("unit") != "token":
            found = mine.query("best_head").drop("run")
            assert found.height and found.equals(theirs.query("best_head").drop("run"))
        assert mine.info().models.row(0, named=True)["architecture"] == "given"
        assert mine.info().runs.row(0, named=True)["device"] == "given"


@pytest.mark.parametrize("more", [{}, {"unit": "token"}, {"keep": "peaks"}], ids=str)
@pytest.mark.usual("{}")
def test_the_same_decoder_gives_the_same_bank(
    more: dict[str, Any], stories: str, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_model("gpt2")
    _assert_same_bank(OursByWord(folder), 3, 4, stories, folder, tmp_path, causal=True, **more)


@pytest.mark.slow
@pytest.mark.parametrize("multiword", ["written", "parts"])
def test_multiword_tokens_are_given_as_ingest_reads_them(
    multiword: Any, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    corpus, folder = tmp_path / "du.conllu", tiny_model("bert")
    rows = ["1\tRain\t_\tNOUN\t_\t_\t0\troot\t_\t_", "2-3\tdu\t_\t_\t_\t_\t_\t_\t_\t_",
            "2\tde\t_\tADP\t_\t_\t4\tcase\t_\t_", "3\tle\t_\tDET\t_\t_\t4\tdet\t_\t_",
            "4\tsoir\t_\tNOUN\t_\t_\t1\tnmod\t_\t_"]  # fmt: skip
    corpus.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    bank = _assert_same_bank(Ours(folder), 3, 4, str(corpus), folder, tmp_path, multiword=multiword)
    with open_bank(bank) as opened:
        found = opened.sql("select text from position where kind = 'word' order by position")
    assert ("du" in found["text"].to_list()) == (multiword == "written")


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"unit": "token"}, {"keep": "peaks"}], ids=str)
@pytest.mark.few("{}")
def test_smollm2_gives_the_same_bank(more: dict[str, Any], stories: str, tmp_path: Path) -> None:
    folder = real_models.get("smollm2")
    if folder is None:
        pytest.skip("SmolLM2 cannot be had here")
    _assert_same_bank(OursByWord(folder), 30, 9, stories, folder, tmp_path, causal=True, **more)


@pytest.mark.slow
def test_norms_that_are_given_are_those_of_ingest(
    stories: str, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
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
    found = [
        [row[:3] + row[4:7] + row[7:8] for row in _rows(each, "peak")] for each in (bank, other)
    ]
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnbank.ingest.precomputed._TOKENS_AT_ONCE", 60)
    given = 0
    with (
        pytest.raises(RuntimeError, match="hook"),
        add_run(bank, "stories", "mine", layers=2, heads=3) as run,
    ):
        for _ in _uniform(run):
            given += 1
            if given == 10:
                raise RuntimeError("a hook of the user's")
    with open_bank(bank) as opened:
        (before,) = opened.info().runs.rows(named=True)
        assert before["finished"] is None and 5 < before["sentences"] < 10
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        rest = len([*_uniform(run)])
    assert rest == 24 - before["sentences"]
    with open_bank(bank) as opened:
        (after,) = opened.info().runs.rows(named=True)
        assert after["sentences"] == 24 and after["finished"] is not None
    with (
        pytest.raises(CallError, match="is finished"),
        add_run(bank, "stories", "mine", layers=2, heads=3),
    ):
        pass
    with add_run(bank, "stories", "mine", layers=2, heads=3, over=True) as run:
        next(_uniform(run))
    with open_bank(bank) as opened:
        (again,) = opened.info().runs.rows(named=True)
        assert (again["sentences"], again["skipped"]) == (1, 23)


def test_a_causal_model_rests_on_its_first_word(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3, causal=True) as run:
        for _ in _uniform(run, causal=True):
            pass
    with open_bank(bank) as opened:
        kinds = opened.sql("select distinct kind from position where position = 0")["kind"]
        assert kinds.to_list() == ["first"]
        assert opened.query("special_tokens")["cls"].null_count() == 6


def test_arrays_of_any_kind(bank: Path) -> None:
    class ByDlpack:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **asked: Any) -> Any:
            return self.array.__dlpack__(**asked)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        for number, sentence in enumerate(run.sentences()):
            size = len(sentence.words)
            even = np.full((2, 3, size, size), 1 / size, np.float32)
            ways = [even, torch.from_numpy(even), ByDlpack(even), list(torch.from_numpy(even)),
                    [each[None] for each in torch.from_numpy(even)], even[None]]  # fmt: skip
            run.add(sentence, sentence.words, range(size), ways[number % len(ways)])
    assert len({row[0] for row in _rows(bank, "position")}) == 24


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"maps": np.ones((2, 3, 4, 4))}, r"have the shape \(2, 3, 4, 4\); expected \(2, 3, "),
        ({"scale": 2.0}, "sums from 2 to 2"),
        ({"scale": float("nan")}, "not finite"),
        ({"scale": -1.0}, "sums from -1 to -1"),
        ({"maps": [["a"]]}, "are not an array of numbers"),
        ({"drop": True}, "tokens of sentence .* do not cover its"),
        ({"words": [0]}, "do not cover its"),
        ({"kinds": ["cls", "end"]}, "cannot have the kinds"),
    ],
)
def test_what_does_not_fit_is_refused(bank: Path, change: dict[str, Any], fact: str) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        sentence = next(run.sentences())
        size = len(sentence.words) + 2
        even = np.full((2, 3, size, size), change.get("scale", 1.0) / size)
        words = [None, *range(size - 2), None]
        words = [None, *words[2:], None] if change.get("drop") else change.get("words", words)
        tokens = ["[CLS]", *sentence.words, "[SEP]"]
        with pytest.raises(CallError, match=fact):
            run.add(sentence, tokens, words, change.get("maps", even), change.get("kinds"))


def test_a_causal_model_does_not_look_ahead(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=1, heads=1, causal=True) as run:
        sentence = next(run.sentences())
        size = len(sentence.words)
        with pytest.raises(CallError, match="attends to a later one"):
            run.add(sentence, sentence.words, range(size), np.full((1, 1, size, size), 1 / size))


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
        (["--dry-run"], "--model none writes the text alone, without a run"),
        (
            ["--measure", "norms"],
            "--model none writes the text alone, but --measure is about a run",
        ),
        (["--unit", "token"], "--model none writes the text alone, but --unit is about a run"),
        (["--engine", "spark", "--to", "x"], "--model none writes the text alone, without a run"),
    ],
)
def test_options_of_a_run_without_a_model(
    more: list[str], fact: str, stories: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.duckdb"
    assert command(["-b", str(path), "ingest", stories, "--model", "none", *more]) == 2
    assert fact in capsys.readouterr().err
    assert not path.exists()


def test_the_text_alone(stories: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text.duckdb"
    assert command(["-b", str(path), "ingest", stories, "--model", "none"]) == 0
    assert "The bank has the text of stories; no model was run." in capsys.readouterr().err
    with open_bank(path) as opened:
        assert not opened.info().runs.height
        assert opened.sql("select count(*) as n from word")["n"][0] == 338
    with (
        pytest.raises(CallError, match="There is no corpus storys in") as told,
        add_run(path, "storys", "mine", layers=1, heads=1),
    ):
        pass
    assert "stories" in str(told.value.remedy)


class Raising:
    """An array whose memory cannot be had."""

    def __array__(self, *asked: Any, **more: Any) -> Any:
        raise KeyError("no memory\nat all")


def test_numbers_of_any_type_and_layout(bank: Path) -> None:
    ways: list[Callable[[np.ndarray], Any]] = [
        lambda even: even.astype(np.float64), lambda even: even.astype(np.float16),
        lambda even: np.asfortranarray(even), lambda even: np.repeat(even, 2, axis=3)[..., ::2],
        lambda even: torch.from_numpy(even).half(), lambda even: torch.from_numpy(even).bfloat16(),
        lambda even: torch.from_numpy(even).requires_grad_(), lambda even: even.tolist(),
        lambda even: tuple(torch.from_numpy(even).double().transpose(2, 3)),
        lambda even: torch.eye(even.shape[2], dtype=torch.int64).expand(even.shape),
        lambda even: np.broadcast_to(np.eye(even.shape[2], dtype=bool), even.shape),
    ]  # fmt: skip
    given = np.empty(0, np.float32)
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        for number, sentence in enumerate(run.sentences()):
            size = len(sentence.words)
            size = 8 if size < 8 else size
            given = np.full((2, 3, size, size), 1 / size, np.float32)
            tokens = [*sentence.words, *[""] * (size - len(sentence.words))]
            owners = [*range(len(sentence.words)), *[None] * (size - len(sentence.words))]
            # Of bfloat16 a row sums to 1 only where its length is a power of two.
            if number % len(ways) == 5 and size & (size - 1):
                given[:] = np.eye(size)
            run.add(sentence, tokens, owners, ways[number % len(ways)](given))
            given[:] = 7  # the memory is the caller's, who may use it again
    assert len({row[0] for row in _rows(bank, "position")}) == 24
    assert max(max(row[-1]) for row in _rows(bank, "attention")) <= 1


@pytest.mark.parametrize(
    ("maps", "fact"),
    [
        (lambda even: np.full_like(even, np.inf), "not finite"),
        (lambda even: even.astype(np.float64) * 1e300, "not finite"),
        (lambda even: np.where(even > 2, even, -even), "sums from -1 to -1"),
        (lambda even: even.astype(complex), "not an array of numbers: they are of type complex"),
        (lambda even: torch.from_numpy(even).to(torch.complex64), "not an array of numbers"),
        (lambda even: even.astype(str), "not an array of numbers: they are of type"),
        (lambda even: even.astype(object), "not an array of numbers: they are of type object"),
        (lambda even: torch.from_numpy(even).to_sparse(), "not an array of numbers"),
        (lambda even: torch.from_numpy(even).to("meta"), "not an array of numbers"),
        (lambda even: Raising(), "not an array of numbers: 'no memory"),
        (lambda even: None, "not an array of numbers"),
        (lambda even: [], "have the shape"),
        (lambda even: even[:, :, :0, :0], "have the shape"),
        (lambda even: [even[0], even[1][:, 1:]], "have the shape"),
        (lambda even: 1.0, "have the shape"),
    ],
)
@pytest.mark.usual("*not finite0", "*sum to*", "*type complex*", "*shape2", "*no memory*")
def test_what_is_not_a_map_loses_nothing(
    maps: Callable[[np.ndarray], Any], fact: str, bank: Path
) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        for sentence in run.sentences():
            size = len(sentence.words)
            even = np.full((2, 3, size, size), 1 / size, np.float32)
            with pytest.raises(CallError, match=fact) as told:
                run.add(sentence, sentence.words, range(size), maps(even))
            assert str(told.value).count("\n") <= 1
            run.add(sentence, sentence.words, range(size), even)
    with open_bank(bank) as opened:
        (row,) = opened.info().runs.rows(named=True)
    assert (row["sentences"], row["skipped"]) == (24, 0)


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("tokens", "words", "fact"),
    [
        ([1, 2], None, "are not text"),
        (["\ud800"], None, "are not text"),
        (None, ["a"], "are not numbers"),
        (None, [(0, 1, 2)], "are not numbers"),
        (None, [0.0], "are not numbers"),
        ([], [], "the shape"),
    ],
)
def test_tokens_and_words_that_are_none(tokens: Any, words: Any, fact: str, bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=1, heads=1) as run:
        sentence = next(run.sentences())
        size = len(sentence.words)
        tokens = sentence.words if tokens is None else tokens
        words = range(size) if words is None else words
        even = np.full((1, 1, len(tokens) or 1, len(tokens) or 1), 1 / size)
        with pytest.raises(CallError, match=fact):
            run.add(sentence, tokens, words, even)


def test_a_sentence_is_given_once_and_to_its_own_run(bank: Path) -> None:
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        sentence = next(_uniform(run))
        size = len(sentence.words)
        even = np.full((2, 3, size, size), 1 / size)
        with pytest.raises(CallError, match="The run already has the maps of sentence"):
            run.add(sentence, sentence.words, range(size), even)
    with pytest.raises(CallError, match="is not open"):
        run.add(sentence, sentence.words, range(size), even)
    with (
        add_run(bank, "stories", "other", layers=2, heads=3) as other,
        pytest.raises(CallError, match="is not open"),
    ):
        other.add(sentence, sentence.words, range(size), even)


_KILLED = """
import os, sys
import numpy as np
import attnbank.ingest.precomputed as given
from attnbank.ingest import add_run

given._TOKENS_AT_ONCE = 60
given.Writer.commit_if_due = given.Writer.commit
with add_run(sys.argv[1], "stories", "mine", layers=2, heads=3) as run:
    for number, sentence in enumerate(run.sentences()):
        size = len(sentence.words)
        even = np.full((2, 3, size, size), 1 / size)
        run.add(sentence, sentence.words, range(size), even)
        if number == 12:
            os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(bank: Path) -> None:
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / ".src")}
    found = subprocess.run([sys.executable, "-c", _KILLED, str(bank)], env=path, check=False)
    assert found.returncode == -9
    with open_bank(bank) as opened:
        (before,) = opened.info().runs.rows(named=True)
    assert 5 < before["sentences"] <= 13 and before["finished"] is None
    with add_run(bank, "stories", "mine", layers=2, heads=3) as run:
        rest = len([*_uniform(run)])
    assert rest == 24 - before["sentences"]
    with open_bank(bank) as opened:
        (after,) = opened.info().runs.rows(named=True)
    assert after["sentences"] == 24 and after["finished"] is not None


_FULL = """
import os, resource, signal, sys
import numpy as np
from attnbank.ingest import add_run
from attnbank.sql.errors import BankError
import attnbank.ingest.precomputed as given

given._TOKENS_AT_ONCE = 60
given.Writer.commit_if_due = given.Writer.commit
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = os.path.getsize(sys.argv[1]) + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    with add_run(sys.argv[1], "stories", "mine", layers=12, heads=12) as run:
        for sentence in run.sentences():
            size = len(sentence.words)
            drawn = np.random.default_rng(size).random((12, 12, size, size))
            run.add(sentence, sentence.words, range(size), drawn / drawn.sum(-1, keepdims=True))
except BankError as error:
    print(error)
    sys.exit(3)
"""


@pytest.mark.slow
def test_a_full_disk(bank: Path) -> None:
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / ".src")}
    command = [sys.executable, "-c", _FULL, str(bank)]
    found = subprocess.run(
        [*command, "1500000"], env=path, check=False, capture_output=True, text=True
    )
    assert (found.returncode, found.stderr) == (3, "")
    assert found.stdout.count("\n") <= 2 and "full" in found.stdout
    with open_bank(bank) as opened:
        (before,) = opened.info().runs.rows(named=True)
    assert 0 < before["sentences"] < 24 and before["finished"] is None
    subprocess.run([*command, "100000000"], env=path, check=True)
    with open_bank(bank) as opened:
        (after,) = opened.info().runs.rows(named=True)
    assert after["sentences"] == 24 and after["finished"] is not None
