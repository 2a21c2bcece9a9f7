"""A second command that differs in one thing: it is used, or named and refused; never passed over.

Every option of an ingest stands in CHANGES, and the inputs that change behind an option.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest
from bank_rows import change_bank, query_bank
from command_line import Cli
from crashes import ingest_part
from fixture_types import Models
from pipelines import other_pipeline

from attnbank.ingest import IngestOptions, estimate, ingest, merge_banks
from attnbank.ingest.corpora.document import CorpusError
from attnbank.sql.errors import AttnbankError, CallError

CONLLU = """# newdoc id = {name}-1
# sent_id = a
# text = The dogs barked.
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tdogs\tdog\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\tbarked\tbark\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

# sent_id = b
# text = Rain fell.
1\tRain\train\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tfell\tfall\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# newdoc id = {name}-2
# sent_id = c
# text = It stopped.
1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tstopped\tstop\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""
BAD = CONLLU + "1\tBad\tbad\tADJ\t_\t_\t7\tdep\t_\t_\n\n"
MISSPELLED = CONLLU + "# text = It rained .\n1\tSnow\tsnow\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
TEXT = "The dogs barked.\n\nRain fell.\n"

RUN = "a run of its own"
CORPUS = "a corpus and a run of its own"
SAME = "nothing to add"
OVER = "the run, started over"
ELSEWHERE = "another bank"


@dataclass(frozen=True)
class Change:
    """What a second command gives otherwise than the first, and what becomes of it.

    `becomes` is one of the above, or what the refusal says. Values that begin with @ are files and
    folders of the test.
    """

    first: Any
    second: Any
    becomes: str
    also: dict[str, Any] = field(default_factory=dict)  # what both commands give


TOKENS = {"unit": "token", "model": "@masked"}
DOCUMENTS = {"context": "document", "max_tokens": 12}
CHANGES: dict[str, list[Change]] = {
    "corpora": [
        Change(("@rain.conllu",), ("@other.conllu",), CORPUS),
        Change(("@rain.conllu",), ("@elsewhere/rain.conllu",), "its content differs"),
        Change(("@copies",), ("@copies/a.conllu", "@copies/b.conllu"), CORPUS),
        Change(("@rain.conllu",), ("@copies/rain-2.conllu",), "its documents are from rain.conllu",
               {"name": "rain"}),
    ],
    "bank": [Change("@bank.duckdb", "@another.duckdb", ELSEWHERE)],
    "model": [
        Change("@bert", "@electra", RUN),
        Change("@bert", "@copies/bert", RUN),
    ],
    "format": [
        Change(None, "lines", "it was read as conllu, and this one is read as lines"),
        Change(None, "conllu", SAME),
    ],
    "spacy": [
        Change("@pipeline", "@other_pipeline", "it was annotated by another en_pipeline 0.0.0",
               {"corpora": ("@rain.txt",)}),
        Change(None, "@pipeline", "it was read as lines, and this one is read as text",
               {"corpora": ("@rain.txt",)}),
        Change("@pipeline", "@copies/pipeline", SAME, {"corpora": ("@rain.txt",)}),
    ],
    "split": [
        Change(None, "dev", "its split is none, and this one's dev"),
        Change("dev", "test", "its split is dev, and this one's test"),
        Change("dev", None, "its split is dev, and this one's none"),
        Change(None, "train", SAME, {"corpora": ("@train.conllu",)}),
    ],
    "name": [Change(None, "weather", CORPUS), Change(None, "rain", SAME)],
    "context": [Change("sentence", "document", RUN)],
    "unit": [Change("word", "token", RUN)],
    "subword": [
        Change("mean", "first", RUN),
        Change("mean", "first", "--subword merges", {"unit": "token"}),
    ],
    "max_tokens": [
        Change(None, 12, RUN),
        Change(None, 96, SAME),  # what the model takes
    ],
    "multiword": [Change("written", "parts", RUN)],
    "edges": [Change("cut", "share", RUN)],
    "bos": [Change(False, True, RUN, {"model": "@gpt2"}), Change(False, True, "--bos")],
    "bos_token": [Change(None, ".", RUN, {"model": "@gpt2"})],
    "first_word": [Change("special", "word", RUN, {"model": "@gpt2"})],
    "shard": [
        Change("1/2", "2/2", "The corpus copies in the bank is shard 1/2",
               {"corpora": ("@copies",)}),
        Change("1/1", None, SAME),
    ],
    "repeat": [Change(5, 6, CORPUS, {"corpora": (), "limit": 3})],
    "language": [
        Change("fr", "FR", SAME),
        Change("fr", None, SAME),
        Change("fr", "de", "its language is fr, and --language is de"),
    ],
    "licence": [Change(None, "CC BY 4.0", SAME), Change("CC BY 4.0", None, SAME)],
    "citation": [Change(None, "Zeldes 2017", SAME)],
    "truncate": [Change(False, True, RUN, DOCUMENTS)],
    "limit": [Change(None, 2, RUN), Change(2, 1, RUN)],
    "seed": [
        Change(0, 3, RUN, {"limit": 2}),
        Change(0, 3, RUN, {"context": "pair", "unit": "token"}),
        Change(0, 3, "nothing is drawn"),
    ],
    "decimals": [Change(None, 3, RUN), Change(3, 4, RUN)],
    "random_weights": [Change(None, 0, RUN), Change(0, 1, RUN)],
    "revision": [Change(None, "main", "--revision is for models of the hub")],
    "series": [Change(None, "step*", "--series makes several runs")],
    "device": [Change("auto", "cpu", SAME), Change("cpu", "auto", SAME)],
    "trust_remote_code": [Change(False, True, SAME), Change(True, False, SAME)],
    "batch_tokens": [Change(32, 64, "in the bank has batches of 32 tokens")],
    "skip_bad": [
        Change(False, True, SAME),
        Change(True, False, SAME),
        Change(True, False, "head-out-of-range", {"corpora": ("@bad.conllu",)}),
        Change(True, True, SAME, {"corpora": ("@bad.conllu",)}),
    ],
    "strict": [
        Change(False, True, SAME),
        Change(False, True, "text-mismatch", {"corpora": ("@misspelled.conllu",)}),
        Change(False, True, "it was read without --strict, with 1 departures",
               {"corpora": ("@misspelled.conllu",), "skip_bad": True}),
        Change(True, False, "it skipped 1 sentences, as --strict does",
               {"corpora": ("@misspelled.conllu",), "skip_bad": True}),
        Change(True, True, SAME, {"corpora": ("@misspelled.conllu",), "skip_bad": True}),
    ],
    "replace": [Change(False, True, OVER)],
    "gradients": [Change(False, True, RUN, TOKENS)],
    "keep": [Change("weights", "peaks", RUN, {})],
    "measure": [Change("weights", "norms", RUN, {})],
    "ablate": [Change(None, "heads", RUN, TOKENS), Change("heads", "layers", RUN, TOKENS)],
    "replacement": [
        Change("uniform", "zero", RUN, TOKENS | {"ablate": "layers"}),
        Change("uniform", "zero", "--replacement says how"),
    ],
    "mask_seed": [
        Change(0, 1, RUN, TOKENS | {"ablate": "layers"}),
        Change(0, 1, "--mask-seed says which"),
    ],
}  # fmt: skip
EVERY = [  # once each after a run that is finished, and one of each option after half a run
    pytest.param(name, change, is_half, id=f"{name}-{number}-{'half' if is_half else 'finished'}")
    for name, changes in CHANGES.items()
    for number, change in enumerate(changes, start=1)
    for is_half in ([False, True] if number == 1 else [False])
]


@pytest.fixture
def folder(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    tiny_model: Models,
    tiny_masked_lm: Models,
) -> Callable[[str], str]:
    """A function from a name to the file or folder of that name, which the test may change."""
    copies = tmp_path / "copies"
    elsewhere = tmp_path / "elsewhere"
    for each in (copies, elsewhere):
        each.mkdir()
    for name in ("rain", "other", "train", "copies/a", "copies/b"):
        text = CONLLU.format(name=Path(name).name)
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    (copies / "rain-2.conllu").write_bytes((tmp_path / "rain.conllu").read_bytes())
    (elsewhere / "rain.conllu").write_text(CONLLU.format(name="else"), encoding="utf-8")
    (tmp_path / "bad.conllu").write_text(BAD.format(name="bad"), encoding="utf-8")
    (tmp_path / "misspelled.conllu").write_text(MISSPELLED.format(name="no"), encoding="utf-8")
    (tmp_path / "rain.txt").write_text(TEXT, encoding="utf-8")

    def get(name: str) -> str:
        path = tmp_path / name
        if path.exists() or path.suffix == ".duckdb":
            return str(path)
        if path.name in ("pipeline", "other_pipeline"):
            pytest.importorskip("spacy")
            original: Path = request.getfixturevalue("tiny_pipeline")
            if path.name == "other_pipeline":
                return str(other_pipeline(original, path))
            return str(shutil.copytree(original, path))
        model = tiny_masked_lm("bert") if path.name == "masked" else tiny_model(path.name)
        return str(shutil.copytree(model, path))

    return get


def _asked(get: Callable[[str], str], **values: Any) -> IngestOptions:
    base: dict[str, Any] = {
        "corpora": ("@rain.conllu",), "bank": "@bank.duckdb", "model": "@bert", "batch_tokens": 32
    }  # fmt: skip

    def made(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(made(each) for each in value)
        return get(value[1:]) if isinstance(value, str) and value[:1] == "@" else value

    result = {name: made(value) for name, value in (base | values).items()}
    return IngestOptions(**result | {"bank": Path(result["bank"])})


def test_every_option_is_here() -> None:
    assert set(CHANGES) == {each.name for each in fields(IngestOptions)}


@pytest.mark.few("*-1-finished", "limit-1-half", "corpora-1-half")
@pytest.mark.usual("limit-1-f*")
@pytest.mark.parametrize(("name", "change", "is_interrupted"), EVERY)
def test_an_option_that_differs_is_used_or_refused(
    folder: Callable[[str], str],
    name: str,
    change: Change,
    is_interrupted: bool,
    cli: Cli,
) -> None:
    """Where it is used and changes the rows, it shows in the run's name and in `info`."""
    first = _asked(folder, **change.also | {name: change.first})
    second = _asked(folder, **change.also | {name: change.second})
    if is_interrupted:
        ingest_part(first)
    else:
        ingest(first)
    before = query_bank(first.bank, "select id, name, corpus from run")
    if change.becomes not in (RUN, CORPUS, SAME, OVER, ELSEWHERE):
        with pytest.raises((CallError, CorpusError)) as caught:
            ingest(second)
        assert change.becomes in str(caught.value) and caught.value.remedy
        assert query_bank(first.bank, "select id, name, corpus from run") == before
        return
    report = ingest(second)
    state = {SAME: "resumed" if is_interrupted else "unchanged"}.get(change.becomes, "new")
    assert report.state == state
    runs = query_bank(second.bank, "select id, name, corpus from run order by id")
    assert report.run == runs[-1][1]
    assert len(runs) == (2 if change.becomes in (RUN, CORPUS) else 1)
    assert len({corpus for _, _, corpus in runs}) == (2 if change.becomes == CORPUS else 1)
    assert (second.bank != first.bank) == (change.becomes == ELSEWHERE)
    if change.becomes in (RUN, CORPUS):
        _check_told(second, cli)


def _check_told(options: IngestOptions, cli: Cli) -> None:
    """The names of both runs differ in more than a number at the end, and so does their `info`."""
    names = [name for (name,) in query_bank(options.bank, "select name from run order by id")]
    assert names[1] not in (names[0], f"{names[0]}-2")
    message = [
        [line for line in block.splitlines()[1:] if "weights, about" not in line]
        for block in cli("-b", options.bank, "info").out.split("\n\n")
        if block.startswith("run ")
    ]
    assert len(message) == 2
    same = [[line for line in each if "started" not in line] for each in message]
    assert same[0] != same[1]


@pytest.mark.slow
def test_the_names_of_options_do_not_collide(folder: Callable[[str], str]) -> None:
    """Truncated documents, and the first piece of each word, both ended in `first`."""
    names = [
        ingest(_asked(folder, **DOCUMENTS, **more)).run
        for more in ({}, {"truncate": True}, {"subword": "first"})
    ]
    assert names == [
        "rain/bert/document/max12",
        "rain/bert/document/max12/truncated",
        "rain/bert/document/first/max12",
    ]


@pytest.mark.slow
def test_a_truncated_run_is_told_from_a_whole_one(folder: Callable[[str], str], cli: Cli) -> None:
    options = _asked(folder, **DOCUMENTS, truncate=True, limit=2, seed=3)
    ingest(options)
    assert "only the first input of each document, a sample of 2 inputs, seed 3" in (
        cli("-b", options.bank, "info").out
    )


@pytest.mark.slow
def test_a_pipeline_that_changes_in_place(folder: Callable[[str], str]) -> None:
    options = _asked(folder, corpora=("@rain.txt",), spacy="@pipeline")
    ingest(options)
    assert ingest(options).state == "unchanged"
    other_pipeline(Path(options.spacy or ""), Path(options.spacy or ""))
    with pytest.raises(CallError, match="whose files differ"):
        ingest(options)
    named = _asked(folder, corpora=("@rain.txt",), spacy="@pipeline", name="again")
    assert ingest(named).state == "new"
    lemmas = query_bank(
        options.bank,
        "select document.corpus, list(distinct word.lemma) from word"
        " inner join sentence on sentence.id = word.sentence"
        " inner join document on document.id = sentence.document"
        " where word.form = 'Rain' group by document.corpus order by document.corpus",
    )
    assert lemmas[0][1] != ["other"] and lemmas[1][1] == ["other"]


@pytest.mark.slow
def test_weights_that_change_in_place_are_another_model(folder: Callable[[str], str]) -> None:
    import transformers

    options = _asked(folder)
    ingest(options)
    model = transformers.BertModel.from_pretrained(options.model)
    model.embeddings.word_embeddings.weight.data.mul_(2)
    model.save_pretrained(options.model)
    assert ingest(options).state == "new"
    assert len(query_bank(options.bank, "select distinct sha256 from model")) == 2


@pytest.mark.slow
def test_a_model_that_becomes_a_decoder_in_place_is_another_model(
    folder: Callable[[str], str],
) -> None:
    """Its weights are the same, and what its heads look at is not."""
    options = _asked(folder)
    ingest(options)
    shutil.copy(options.bank, f"{options.bank}.before.duckdb")
    config = Path(options.model, "config.json")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"is_decoder": True}))
    assert ingest(options).state == "new"
    models = "select count(distinct sha256), list(causal order by id) from model"
    assert query_bank(options.bank, models) == [(1, [False, True])]
    other = options.bank.with_name("decoder.duckdb")
    ingest(replace(options, bank=other))
    merged = options.bank.with_name("merged.duckdb")
    done = merge_banks(merged, [f"{options.bank}.before.duckdb", other])
    assert len(done.notes) == 1 and "is called" in done.notes[0]
    sums = (
        "select sum(weights[1]) from attention inner join sequence on sequence.id ="
        " attention.sequence group by run order by run"
    )
    assert query_bank(merged, models) == [(1, [False, True])]
    assert query_bank(merged, sums) == query_bank(options.bank, sums)


@pytest.mark.slow
def test_a_run_of_another_device_is_named(folder: Callable[[str], str]) -> None:
    """As of a bank that came from another machine."""
    options = _asked(folder)
    ingest(options)
    change_bank(options.bank, "update run_part set device = 'cuda:0'")
    assert ingest(options).state == "unchanged"  # a finished run, and no device was asked for
    with pytest.raises(CallError, match="made on the device cuda:0, but this is cpu"):
        ingest(_asked(folder, device="cpu"))
    assert ingest(_asked(folder, device="cpu", replace=True)).state == "new"


def test_half_a_run_is_not_finished_by_other_means(folder: Callable[[str], str]) -> None:
    """Other devices and versions: tests/store/test_smaller_batches.py."""
    options = _asked(folder)
    ingest_part(options)
    libraries = "map_concat(libraries, map {'transformers': '4'})"
    change_bank(options.bank, f"update run_part set libraries = {libraries}")
    with pytest.raises(CallError, match="transformers 4") as caught:
        ingest(options)
    assert "--replace" in caught.value.remedy
    assert ingest(_asked(folder, replace=True)).state == "new"


def test_an_estimate_changes_nothing(folder: Callable[[str], str]) -> None:
    options = _asked(folder)
    with pytest.raises(AttnbankError):
        estimate(_asked(folder, corpora=("@bad.conllu",)))
    assert estimate(options).sentences == 3
    assert not options.bank.exists()
