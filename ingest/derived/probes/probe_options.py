"""The options of a probe, its progress, and its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnbank.ingest.options import TRUST_HELP
from attnbank.ingest.progress import Progress
from attnbank.sql.errors import CallError
from attnbank.sql.messages import did_you_mean, html_table
from attnbank.sql.option_fields import check_values, option

if TYPE_CHECKING:
    import polars as pl

KINDS = ("right_branching", "attention", "attention_words", "distance_words")
WITH_WORDS = frozenset({"attention_words", "distance_words"})
WITH_ATTENTION = frozenset({"attention", "attention_words"})
HIDDEN = 256  # units of the hidden layer of distance_words, as in the published code
ROOT_AT = ("root", "published")


@dataclass(frozen=True)
class ProbeOptions:
    """The options of a probe besides its kind and runs; each is an option of the command."""

    train_split: str | None = option(
        None, "Train only on documents of this split.", metavar="SPLIT"
    )
    test_split: str | None = option(None, "Score only on documents of this split.", metavar="SPLIT")
    embeddings: str = option(
        "model",
        "Word vectors: model (the model's own input embeddings), a GloVe or word2vec text file, or"
        " a spaCy pipeline.",
        metavar="SOURCE",
    )
    model: str | None = option(
        None,
        "Model for --embeddings model: a folder, a hub name or minilm. Default: the name in the"
        " bank, unless that is a folder: attnbank does not open a folder because a bank names it.",
        short="-m",
        metavar="NAME",
    )
    trust_remote_code: bool = option(False, TRUST_HELP)
    root_at: str = option(
        "root",
        "Where to put the zero vector of ROOT: at the root, or as published, after the last word.",
        choices=ROOT_AT,
    )
    seed: int = option(0, "Seed of everything random.", least=0)
    epochs: int = option(100, "Largest number of epochs.", least=1)
    patience: int = option(5, "Stop after this many epochs without a lower held-out loss.", least=1)
    learning_rate: float = option(0.002, "Learning rate of Adam.", above=0)
    batch_sentences: int = option(16, "Sentences in a batch.", least=1)
    held_out: float = option(
        0.1,
        "Share of the training sentences, in whole documents, held out to decide when to stop.",
        least=0,
        below=1,
    )
    # With 1,000 the ends of an interval are exact to a tenth of its width.
    resamples: int = option(1000, "Bootstrap resamples of the intervals.", least=1, most=100_000)
    device: str = option("auto", "Device to train on: auto, cpu, cuda.", metavar="DEVICE")
    memory: int = option(
        2_000_000_000,
        "Memory for attention between epochs; what does not fit is read from the bank in each.",
        least=0,
        most=10**15,
        is_bytes=True,
        metavar="SIZE",
    )


@dataclass(frozen=True)
class Epoch(Progress):
    """The result of epoch `done`: mean losses in nats per word, and its time."""

    loss: float
    held_out_loss: float | None  # None if nothing is held out
    seconds: float


OnEpoch = Callable[[Epoch], None]


@dataclass(frozen=True)
class ProbeReport:
    """A probe that was trained, or (`is_new` false) that the bank had."""

    probe: int
    kind: str
    train_run: str | None
    test_run: str
    epochs: int
    best_epoch: int
    seconds: float  # for training and scoring
    scores: pl.DataFrame  # its rows of `probe_score`
    is_new: bool = True

    def _repr_html_(self) -> str:
        return html_table(self.scores, f"Probe {self.probe}, {self.kind}, on {self.test_run}")


def check_options(kind: str, train_run: str | None, options: ProbeOptions) -> None:
    """Raise CallError for an unknown kind, a missing training run, or an invalid option."""
    if kind not in KINDS:
        raise CallError(
            f"There is no kind of probe called {kind}.",
            f"{did_you_mean(kind, KINDS)} Use one of: {', '.join(KINDS)}.".strip(),
        )
    if train_run is None and kind != "right_branching":
        raise CallError(
            f"A probe of kind {kind} needs a run to train on.",
            "Give one: --train-run RUN (train_run=).",
        )
    check_values(options)
