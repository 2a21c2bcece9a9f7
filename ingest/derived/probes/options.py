"""The options of a probe, its progress while it learns, and the report at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnbank.ingest.progress import Progress
from attnbank.sql.errors import CallError
from attnbank.sql.suggest import did_you_mean

if TYPE_CHECKING:
    import polars as pl

KINDS = ("right_branching", "attention", "attention_words", "distance_words")
WITH_WORDS = frozenset({"attention_words", "distance_words"})
WITH_ATTENTION = frozenset({"attention", "attention_words"})
ROOT_AT = ("root", "published")
MOST = 2**31 - 1
"""The largest count and the largest seed: their columns are INTEGER."""
MOST_RESAMPLES = 100_000
"""The most resamples for an interval; with 1,000 its ends are exact to a tenth of its width."""


@dataclass(frozen=True)
class ProbeOptions:
    """Everything that shapes a probe besides its kind and its runs.

    embeddings       model (input embeddings of the trained model, mean over a word's pieces), the
                     path of a GloVe or word2vec text file, or a spaCy pipeline (name or folder)
    model            where the model for embeddings `model` is: a folder, a hub name or minilm; by
                     default the name in the bank, unless that is a folder
    trust_remote_code  run the Python code that some models come with, in order to load them
    root_at          root, or published: the zero vector of ROOT comes after the last word, as in
                     the published code
    train_split      learn only from the documents of this split
    test_split       score only on the documents of this split
    seed             seed of the held-out documents, the order of batches, the first weights and
                     the resamples
    epochs           the most epochs
    patience         stop after this many epochs without a lower held-out loss
    learning_rate    learning rate of Adam
    batch_sentences  sentences in a batch
    held_out         share of the training sentences that decide when to stop, in [0, 1)
    resamples        bootstrap resamples of the intervals
    device           auto, cpu, cuda, ...
    memory           megabytes of attention to keep between epochs; the rest is read from the bank
                     again in every epoch
    """

    embeddings: str = "model"
    root_at: str = "root"
    train_split: str | None = None
    test_split: str | None = None
    seed: int = 0
    epochs: int = 100
    patience: int = 5
    learning_rate: float = 0.002
    batch_sentences: int = 16
    held_out: float = 0.1
    resamples: int = 1000
    device: str = "auto"
    memory: int = 2000
    model: str | None = None
    trust_remote_code: bool = False


@dataclass(frozen=True)
class Epoch(Progress):
    """The result of an epoch: mean negative log-likelihoods of the gold head, in nats per word.

    `done` is the number of the epoch, from 1, and `total` the most that there can be.
    `held_out_loss` is None if nothing is held out.
    """

    loss: float
    held_out_loss: float | None
    seconds: float


OnEpoch = Callable[[Epoch], None]


@dataclass(frozen=True)
class ProbeReport:
    """A probe that was trained or found in the bank.

    `scores` are its rows of `probe_score`, the row `all` first; `seconds` is the time that training
    and scoring took. `is_new` is false if the bank had the same probe already, and nothing was
    trained.
    """

    probe: int
    kind: str
    train_run: str | None
    test_run: str
    epochs: int
    best_epoch: int
    seconds: float
    scores: pl.DataFrame
    is_new: bool = True

    def _repr_html_(self) -> str:
        from attnbank.sql.html import of_frame

        return of_frame(self.scores, f"Probe {self.probe}, {self.kind}, on {self.test_run}")


def check_options(kind: str, train_run: str | None, options: ProbeOptions) -> None:
    """Raise CallError for an unknown kind, a missing run to learn from, or an invalid option."""
    if kind not in KINDS:
        raise CallError(
            f"There is no probe {kind}.",
            f"{did_you_mean(kind, KINDS)} Use one of: {', '.join(KINDS)}.".strip(),
        )
    if train_run is None and kind != "right_branching":
        raise CallError(f"A probe {kind} needs a run to learn from.", "Give one (train_run).")
    if options.root_at not in ROOT_AT:
        raise CallError(
            f"ROOT cannot stand at {options.root_at}.", f"Use one of: {', '.join(ROOT_AT)}."
        )
    for name, least, most in (
        ("seed", 0, MOST),
        ("epochs", 1, MOST),
        ("patience", 1, MOST),
        ("batch_sentences", 1, MOST),
        ("resamples", 1, MOST_RESAMPLES),
        ("memory", 0, MOST),
    ):
        if getattr(options, name) < least:
            raise CallError(f"{name} must be at least {least}.", "Leave it out for the default.")
        if getattr(options, name) > most:
            raise CallError(f"{name} must be at most {most:,}.", "Leave it out for the default.")
    if not 0 <= options.held_out < 1:
        raise CallError(
            "held_out must be at least 0 and less than 1.", "Leave it out for the default, 0.1."
        )
    if not 0 < options.learning_rate < math.inf:
        raise CallError("learning_rate must be positive.", "Leave it out for the default, 0.002.")
