"""A sentence that a user types: the model reads it, and nothing of it is stored."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnbank.cli.viewer import records
from attnbank.cli.viewer.request import RequestContext, notify
from attnbank.queries import open_bank
from attnbank.queries.sentences.choosing import choose_run_over_corpus
from attnbank.queries.sentences.showing import Shown
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.models.loading import Model

# The longest sentence, in characters.
_LONGEST = 1000
# Mask tokens of common models.
_MASKS = ("[MASK]", "<mask>")
_reading = threading.Lock()  # two threads in one model would mix up their attention maps


def read_typed(
    context: RequestContext, choice: ModelChoice, text: str, heads: list[str], *, mean: bool
) -> tuple[Shown, dict[str, Any]]:
    """Run a model on a text: what heads attend to, and the record that pages draw.

    Raises CallError if it is too long, and what `_load_model` raises.
    """
    if len(text) > _LONGEST:
        raise CallError(f"The text has {len(text):,} characters.", f"Give at most {_LONGEST:,}.")
    model = _load_model(context, choice)
    mask = model.input_tokenizer.mask
    for other_mask in _MASKS:
        if other_mask in text and other_mask != mask:
            has = "no mask" if mask is None else f"{mask} for a mask"
            notify(f"The model has {has}: {other_mask} was read as text.")
    key = ("typed", text, ",".join(heads), mean, choice)
    return context.handle.compute_once(key, lambda: _run_model_on_text(text, heads, mean, model))


class ModelChoice(NamedTuple):
    """The model to load: the run's, or that of --model."""

    name: str
    random_seed: int | None
    revision: str | None
    sha256: str
    run: str
    requested: str | None

    @property
    def label(self) -> str:
        """The name of the model to show."""
        name = self.requested or self.name
        return name if self.seed is None else f"{name} (random weights, seed {self.seed})"

    @property
    def seed(self) -> int | None:
        """The seed of the run's weights; None if another model is requested."""
        return self.random_seed if self.requested in (None, self.name) else None


def choose_model(context: RequestContext) -> ModelChoice:
    """The model of the run in the address, or that of --model."""
    run = choose_run_over_corpus(context.bank.backend, context.run_name, None, None)
    name, seed, revision, sha256 = context.bank.connection.execute(
        "select model.name, model.random_seed, model.revision, model.sha256 from run"
        " inner join model on model.id = run.model where run.id = $run",
        {"run": run.id},
    ).fetchall()[0]
    return ModelChoice(name, seed, revision, sha256, run.name, context.cache.model)


def _load_model(context: RequestContext, choice: ModelChoice) -> Model:
    """Load the model; it is cached until another is requested.

    Raises ModelError if it is not on this machine; CallError for a folder named by the bank, or
    if the model of that name has different weights.
    """
    import attnbank.ingest as ingesting  # late: imports torch

    ingesting.wait_passively()
    from attnbank.ingest.models.files import model_of_run
    from attnbank.ingest.models.loading import load
    from attnbank.ingest.options import MINILM

    name = model_of_run(choice.requested, choice.run, choice.name)
    revision = None if name == MINILM or choice.requested is not None else choice.revision
    handle, key = context.handle, ("typed by", choice)
    for cached_key in [*handle.answers]:
        if cached_key[0] == key[0] and cached_key != key:
            handle.forget(cached_key)

    def loaded() -> Model:
        model = load(name, random_seed=choice.seed, revision=revision)
        model.input_tokenizer.recognise_special_tokens()  # so that a typed mask is a mask
        return model

    loaded_model = handle.compute_once(key, loaded)
    if loaded_model.facts.sha256 != choice.sha256:
        differs = (
            f"The model {name} is not the one that the run {choice.run} read: its weights differ."
        )
        if choice.requested is None:
            raise CallError(differs, "Name the right one: attnbank explore --model FOLDER.")
        notify(differs)
    return loaded_model


def _run_model_on_text(
    text: str, heads: list[str], mean: bool, model: Model
) -> tuple[Shown, dict[str, Any]]:
    """Run the model on a text, in which a mask may hide a word.

    Words are split at white space: the reader of plain text would split `[MASK]` into three.
    """
    from attnbank.ingest import IngestOptions, ingest

    rows = [
        f"{number}\t{word}" + "\t_" * 7 + ("\t_" if is_last else "\tSpaceAfter=No")
        for number, (word, is_last) in enumerate(
            _split_words(text, model.input_tokenizer.mask), start=1
        )
    ]
    with tempfile.TemporaryDirectory(prefix="attnbank-typed-") as folder, _reading:
        corpus, bank = Path(folder) / "typed.conllu", Path(folder) / "typed.duckdb"
        corpus.write_text("\n".join([*rows, "", ""]), encoding="utf-8")
        ingest(IngestOptions((str(corpus),), bank, model.facts.name, unit="token"), loaded=model)
        with open_bank(bank) as opened:
            # Name the run: one with random weights is never the default.
            view = opened.show(1, heads, mean=mean, run=1)
            return view, records.shown_record(opened, view, wants_tree=False)


def _split_words(text: str, mask: str | None) -> Iterator[tuple[str, bool]]:
    """Yield the words between white space, masks split off, and whether white space follows."""
    for word in text.split():
        parts = [word] if mask is None else re.split(f"({re.escape(mask)})", word)
        parts = [part for part in parts if part]
        for at, part in enumerate(parts, start=1):
            yield part, at == len(parts)
