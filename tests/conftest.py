"""What several test files share: the real corpora and a tiny spaCy pipeline."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

# One thread a process: the models are tiny, and on a busy machine teams of threads spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import real_text
from bank_factory import BankFactory
from command_line import Cli, Printed
from forked import Forked
from hypothesis import settings
from once import Once

pytest_plugins = ["costs", "selection"]

# The same examples on every machine, however slow, and no folder left behind.
settings.register_profile("attnbank", derandomize=True, deadline=None, database=None)
settings.load_profile("attnbank")

# A few sentences with their trees: enough for a parser that finds sentences.
_TRAINING = (
    ("Rain fell .", "NOUN VERB PUNCT", (1, 1, 1), "nsubj ROOT punct"),
    ("The dogs barked .", "DET NOUN VERB PUNCT", (1, 2, 2, 2), "det nsubj ROOT punct"),
    ("A door closed .", "DET NOUN VERB PUNCT", (1, 2, 2, 2), "det nsubj ROOT punct"),
    ("It stopped .", "PRON VERB PUNCT", (1, 1, 1), "nsubj ROOT punct"),
    ("She saw him .", "PRON VERB PRON PUNCT", (1, 1, 1, 1), "nsubj ROOT dobj punct"),
    (
        "They saw the rain .",
        "PRON VERB DET NOUN PUNCT",
        (1, 1, 3, 1, 1),
        "nsubj ROOT det dobj punct",
    ),
)


def pytest_collection() -> None:
    gc.disable()  # nothing of what is imported now is garbage, and looking through it takes long


def pytest_collection_finish() -> None:
    gc.freeze()  # and it never becomes any
    gc.enable()
    gc.set_threshold(20_000, 20, 20)  # what the tests make is soon gone, and mostly by itself
    # Or bindings complain at the end of what is still there. Not before pytest's own collections,
    # which would look through all that was imported.
    atexit.register(gc.unfreeze)


@pytest.fixture(scope="session")
def soak_seed(request: pytest.FixtureRequest) -> int:
    """The seed that `make soak` was given or drew, and printed."""
    return int(request.config.getoption("--soak"))


@pytest.fixture(scope="session", autouse=True)
def cache_folder(once: Once) -> Iterator[Path]:
    """The folder of attnbank's cache, for all processes of this run of the tests."""
    folder = once.top.parent / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNBANK_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def sample() -> Path:
    """The folder of the sample corpus that ships in the package."""
    return Path(__file__).resolve().parents[1] / "ingest" / "corpora" / "sample"


@pytest.fixture(scope="session")
def sample_text(sample: Path) -> list[str]:
    """The sentences of the sample corpus, for tokenizers to learn from."""
    return [
        line.removeprefix("# text = ")
        for path in sorted(sample.glob("*.conllu"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("# text = ")
    ]


@pytest.fixture(scope="session")
def few(once: Once, sample: Path) -> Path:
    """A folder of the files of the sample, with the first two sentences of each document."""

    def write(folder: Path) -> None:
        for path in sample.glob("*.conllu"):
            _, *documents = path.read_text(encoding="utf-8").split("# newdoc ")
            blocks = ["\n\n".join(text.split("\n\n")[:2]) for text in documents]
            text = "".join(f"# newdoc {block}\n\n" for block in blocks)
            (folder / path.name).write_text(text, encoding="utf-8")

    return once("few", write)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """What makes a folder once for all processes of this run of the tests."""
    top = tmp_path_factory.getbasetemp()
    return Once((top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) / "once")


def _tiny(once: Once, text: list[str], **head: bool) -> Callable[[str], Path]:
    import tiny_models  # with torch, which the process that only hands out tests need not load

    name = "-".join(["tiny-{}", *head])

    @cache
    def make(kind: str) -> Path:
        return once(name.format(kind), lambda folder: tiny_models.save(kind, folder, text, **head))

    return make


@pytest.fixture(scope="session")
def tiny_model(once: Once, sample_text: list[str]) -> Callable[[str], Path]:
    """A function from a kind (bert, gpt2, ...) to the folder of a tiny random model of it."""
    return _tiny(once, sample_text)


@pytest.fixture(scope="session")
def tiny_masked_lm(once: Once, sample_text: list[str]) -> Callable[[str], Path]:
    """The same with the masked-language-model head, which is random too."""
    return _tiny(once, sample_text, masked_lm=True)


@pytest.fixture(scope="session")
def tiny_causal_lm(once: Once, sample_text: list[str]) -> Callable[[str], Path]:
    """The same with the head of a causal language model, also random."""
    return _tiny(once, sample_text, causal_lm=True)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command in this process (see command_line.py)."""
    from attnbank.cli.app import run_command_line

    def run(*args: object, status: int = 0) -> Printed:
        capfd.readouterr()
        ended = run_command_line([*map(str, args)])
        printed = Printed(*capfd.readouterr())
        assert ended == status, printed.err
        return printed

    return run


@pytest.fixture(scope="session")
def options_for(sample: Path, tiny_model: Callable[[str], Path]) -> Callable[..., Any]:
    """A function from a bank to the options of an ingest into it.

    `corpus` is a file or folder, or the name of a file of the sample ("sample" is all of it);
    `model` is a folder, minilm, or the kind of a tiny model. All else is as in IngestOptions.
    """
    from attnbank.ingest import IngestOptions

    def make(
        bank: Path, corpus: Path | str = "stories", model: Path | str = "bert", **more: Any
    ) -> IngestOptions:
        if corpus == "sample":
            corpus = sample
        elif isinstance(corpus, str):
            corpus = sample / f"{corpus}.conllu"
        is_kind = isinstance(model, str) and model not in ("minilm", "none")
        return IngestOptions(
            (str(corpus),), bank, str(tiny_model(str(model)) if is_kind else model), **more
        )

    return make


@pytest.fixture(scope="session")
def bank_of(once: Once, options_for: Callable[..., Any]) -> BankFactory:
    """The factory of banks (see bank_factory.py)."""
    return BankFactory(once, options_for)


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """A process that starts others in milliseconds, once it is there itself."""
    with Forked() as made:
        yield made


@pytest.fixture
def one_thread() -> Iterator[None]:
    """One thread for torch: tiny models gain nothing by more, and lose a lot on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Corpora(type(Path())):  # type: ignore[misc]
    """The folder of real corpora. A test skips where it asks for one that is not there."""

    def __truediv__(self, name: str | os.PathLike[str]) -> Path:
        path = Path(os.path.join(self, name))  # noqa: PTH118 (which would come back here)
        if not path.exists():
            pytest.skip(f"{name} is not among the real corpora (make corpora)")
        return path


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora, as real_text.py finds it; a test skips where there is none."""
    folder = real_text.find()
    if folder is None:
        pytest.skip("the real corpora are not here (make corpora)")
    return Corpora(folder)


TOKENS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "sample": ("stories", "minilm", {}),
    "wiki": ("wiki-text.txt", "minilm", {"context": "pair", "max_tokens": 64, "limit": 6}),
    "bert": ("stories", "bert", {"context": "pair", "max_tokens": 48}),
    "roberta": ("stories", "roberta", {}),
}


@pytest.fixture(scope="session")
def token_bank(request: pytest.FixtureRequest, bank_of: BankFactory) -> Callable[[str], Path]:
    """A function from a name of TOKENS to a bank of tokens (do not write into it)."""

    def make(name: str) -> Path:
        corpus, model, options = TOKENS[name]
        text = request.getfixturevalue("corpora") / corpus if name == "wiki" else corpus
        return bank_of(text, model, unit="token", **options)

    return make


@pytest.fixture(scope="session")
def tiny_pipeline(once: Once) -> Path:
    """The folder of a spaCy pipeline with a tagger and a parser, trained here in seconds."""
    pytest.importorskip("spacy")
    return once("pipeline", _train_pipeline)


def _train_pipeline(folder: Path) -> None:
    import spacy
    from spacy.training import Example

    spacy.util.fix_random_seed(0)
    pipeline = spacy.blank("en")
    examples = []
    for text, tags, heads, deps in _TRAINING:
        gold = {"words": text.split(), "tags": tags.split(), "heads": list(heads)}
        examples.append(Example.from_dict(pipeline.make_doc(text), gold | {"deps": deps.split()}))
    for first, second in permutations(_TRAINING, 2):  # so that the parser learns to split
        words = first[0].split()
        gold = {
            "words": words + second[0].split(),
            "tags": f"{first[1]} {second[1]}".split(),
            "heads": [*first[2], *(head + len(words) for head in second[2])],
            "deps": f"{first[3]} {second[3]}".split(),
        }
        doc = pipeline.make_doc(f"{first[0]} {second[0]}")
        examples.append(Example.from_dict(doc, gold))
    pipeline.add_pipe("tagger")
    pipeline.add_pipe("parser", config={"min_action_freq": 1})
    optimizer = pipeline.initialize(lambda: examples)
    for _ in range(14):
        pipeline.update(examples, sgd=optimizer)
    pipeline.to_disk(folder)


@pytest.fixture(scope="session")
def sample_bank(bank_of: BankFactory) -> Path:
    """A bank of the sample corpus and the packaged model, not to be written to."""
    return bank_of("sample", "minilm")


@pytest.fixture(scope="session")
def control_bank(bank_of: BankFactory, sample_bank: Path) -> Path:
    """The sample read by the packaged model, trained and random, not to be written to."""
    return bank_of("sample", "minilm", after=sample_bank, random_weights=1)


@pytest.fixture(scope="session")
def full_bank(once: Once, sample: Path, sample_text: list[str]) -> Path:
    """A bank in which every analysis has something to say, not to be written to.

    A tiny random model over the sample: sentences, documents, and token pairs with gradients,
    ablation and what is computed from them, and with norms; trees and phrases that are decoded; a
    probe; heads that are disabled.
    """
    return once("full", lambda folder: _fill_full(folder, sample, sample_text)) / "full.duckdb"


def _equip(bank: Path) -> None:
    """Give every sentence of more than two words a phrase of the first two; the model a step."""
    import duckdb

    with duckdb.connect(str(bank)) as connection:
        connection.execute("update model set series = 'tiny', step = 10")
        for number, label, last in ((1, "TOP", "words"), (2, "NP", "2")):
            connection.execute(
                f"insert into constituent select id, {number}, nullif({number} - 1, 0), '{label}',"
                f" 1, {last} from sentence where words > 2"
            )


def _fill_full(folder: Path, sample: Path, text: list[str]) -> None:
    import tiny_models

    from attnbank.ingest import AblateOptions, HeadSet, IngestOptions, ablate, ingest
    from attnbank.ingest.derived.computations import compute
    from attnbank.ingest.derived.probes import ProbeOptions, train_probe

    model = str(tiny_models.save("bert", folder / "tiny", text, masked_lm=True))
    bank = folder / "full.duckdb"
    pairs: dict[str, Any] = {"unit": "token", "limit": 12, "gradients": True, "ablate": "heads"}
    ingest(IngestOptions((str(sample / "press.conllu"),), bank, model))
    ingest(IngestOptions((str(sample),), bank, model, subword="first"))
    ingest(IngestOptions((str(sample),), bank, model))
    ingest(IngestOptions((str(sample),), bank, model, context="document", decimals=5))
    ingest(IngestOptions((str(sample),), bank, model, context="pair", **pairs))
    normed: dict[str, Any] = {"unit": "token", "limit": 12, "measure": "norms"}
    ingest(IngestOptions((str(sample),), bank, model, context="pair", **normed))
    compute(bank, "head_embedding", starts=1)
    _equip(bank)
    for run in (1, 3):
        compute(bank, "attention_tree", run)
        compute(bank, "attention_tree", run, root="gold")
        compute(bank, "attention_span", run)
        compute(bank, "attention_span", run, distance="hellinger")
    train_probe(bank, "attention", 1, 3, ProbeOptions(epochs=2, resamples=10))
    options = AblateOptions(controls=2, agreement=True, model=model)
    ablate(bank, "two heads", [HeadSet("chosen", ((1, 1), (2, 3)), "hand")], 1, options)
