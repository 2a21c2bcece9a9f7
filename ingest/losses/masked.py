"""Measures a run on masked inputs: gradients of the loss, and the loss without heads or layers.

This is a measurement of a run whose attention is in the bank: the model reads the same inputs
again, with masks. `ingest --gradients` and `--ablate` do both, and finish the run when both are
done. Rows are committed by whole batches, so that an interrupted measurement resumes with the
inputs that have none.

As in BERT's pre-training (Devlin et al. 2019, section 3.1), 15 % of the tokens of an input are
predicted: the nearest whole number, but at least one. Special tokens count towards the length but
are never chosen. Of the chosen tokens, 80 % are replaced by the mask token and 10 % by a random
token of the vocabulary; 10 % stay. The masks depend only on the seed and on the tokens of the
input, so that neither the order of the batches, nor an interruption, nor other content of the bank
changes them.

Kovaleva et al. (2019, section 4.6) disable a head by giving every token of the input the same
weight, 1/L for L tokens (special tokens included, padding not), so that its output is the mean of
its values, and a layer by disabling all its heads. The other replacement makes the output zero.
The same seeded masks are used for the whole model and every variant. The layers below the disabled
one have the same output as in the whole model, which is cached.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
import torch
from duckdb import DuckDBPyConnection
from torch import Tensor

from attnbank.ingest.attention.merged_maps import RunFacts
from attnbank.ingest.attention.rows import BatchRows, distribution_rows, pad_batch
from attnbank.ingest.candidate_inputs import Input, Query
from attnbank.ingest.models.attend import Call, replace_heads
from attnbank.ingest.models.loading import Model
from attnbank.ingest.models.runtime import malloc_tuned, tell_what_is_saved
from attnbank.ingest.models.tokenizer import Encoded
from attnbank.ingest.options import Ablate, IngestOptions, Replacement
from attnbank.ingest.planning import Batch, Planner
from attnbank.ingest.progress import OnProgress, ProgressCounter
from attnbank.ingest.store.pipeline import Writer, pending_batches, run_batches
from attnbank.ingest.store.writer import delete_matching, matching_rows
from attnbank.sql.errors import AttnbankError
from attnbank.sql.ids import row_id
from attnbank.sql.interrupts import Postponed

SHARE = 0.15
_TO_MASK, _TO_MASK_OR_RANDOM = 0.8, 0.9
# Padded tokens of one backward pass, which holds the outputs of all layers: in BERT 0.6 MB a token.
TOKENS_AT_ONCE = 512


@dataclass(frozen=True)
class InputMask:
    """The masked tokens of one input: their indices, ascending, and two token ids for each."""

    tokens: tuple[int, ...]
    input_ids: tuple[int, ...]  # what the model reads there
    target: tuple[int, ...]  # what it should predict: the id in the text


@dataclass(frozen=True)
class MaskedBatch:
    """Masked inputs padded together, with M masked tokens in all, input by input."""

    ids: Tensor  # [B, T] int64, after masking
    input: Tensor  # [M] int64, index of the input in the batch
    token: Tensor  # [M] int64, index of the token in the input
    target: Tensor  # [M] int64, the id to be predicted


@dataclass(frozen=True)
class Masking:
    """How inputs are masked: the seed, and token ids of the vocabulary."""

    seed: int
    mask_token: int
    never_masked: frozenset[int]  # special tokens, which may also occur in the text as words
    vocabulary: tuple[int, ...]  # the tokens that a random token is drawn from

    @classmethod
    def of_model(cls, model: Model, seed: int) -> Masking:
        """Return how inputs of a model are masked.

        Random tokens are all that are neither special nor unknown.
        """
        tokenizer = model.input_tokenizer
        assert tokenizer.mask_token is not None
        size = tokenizer.tokenizer.get_vocab_size()
        ordinary = set(range(min(tokenizer.embeddings or size, size)))
        ordinary -= {*tokenizer.special, tokenizer.unknown}
        return cls(seed, tokenizer.mask_token, tokenizer.special, tuple(sorted(ordinary)))

    def draw_mask(self, encoded: Encoded) -> InputMask:
        """Return the mask of an input; it is empty if all its tokens are special."""
        candidates = encoded.maskable(self.never_masked)
        # random() is the only method whose numbers Python promises not to change. Its seed is a
        # digest because hash() of a text differs from process to process.
        text = f"{self.seed}:{','.join(map(str, encoded.ids))}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        draw = random.Random(seed).random
        count = min(len(candidates), max(1, round(SHARE * len(encoded.ids))))
        shuffled = sorted((draw(), token) for token in candidates)
        tokens = sorted(token for _, token in shuffled[:count])
        input_ids = []
        for token in tokens:
            # Always two draws, so that one token's outcome does not shift those of the next.
            kind, pick = draw(), draw()
            if kind < _TO_MASK:
                input_ids.append(self.mask_token)
            elif kind < _TO_MASK_OR_RANDOM:
                input_ids.append(self.vocabulary[int(pick * len(self.vocabulary))])
            else:
                input_ids.append(encoded.ids[token])
        return InputMask(
            tuple(tokens), tuple(input_ids), tuple(encoded.ids[token] for token in tokens)
        )


def apply_masks(ids: Tensor, masked: Sequence[InputMask]) -> MaskedBatch:
    """Return a batch with its masks applied to a copy of its padded token ids, [B, T] int64."""
    row = _flat([[at] * len(input_mask.tokens) for at, input_mask in enumerate(masked)])
    token = _flat([input_mask.tokens for input_mask in masked])
    masked_ids = ids.clone()
    masked_ids[row, token] = _flat([input_mask.input_ids for input_mask in masked])
    return MaskedBatch(masked_ids, row, token, _flat([input_mask.target for input_mask in masked]))


def _flat(parts: Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor([value for part in parts for value in part], dtype=torch.int64)


def _masked_losses(
    model: Model, batch: MaskedBatch, mask: Tensor, segments: Tensor, **settings: Any
) -> tuple[Tensor, Any]:
    """Return the cross-entropy of each masked token, [M] float32 in nats, and the output.

    `mask` and `segments` are [B, T] int64; `settings` are passed to the model.
    """
    inputs = model.inputs(batch.ids, mask, segments) | settings
    logits, output = model.logits_at(inputs, batch.input, batch.token)
    target = batch.target.to(model.device)
    return torch.nn.functional.cross_entropy(logits, target, reduction="none"), output


@dataclass(frozen=True)
class MaskedLoss:
    """The results for the B masked inputs of a batch."""

    masked: int  # masked tokens
    gradients: list[np.ndarray] | None  # [B, H, T, T] float32 per layer
    losses: np.ndarray | None  # [variants] float64, in nats, summed over the masked tokens


@dataclass(frozen=True)
class MaskedPasses:
    """Masks inputs and computes gradients and ablation losses, as far as the options say."""

    model: Model
    masking: Masking
    gradients: Gradients | None
    ablation: Ablation | None

    @classmethod
    def of_options(cls, model: Model, options: IngestOptions) -> MaskedPasses | None:
        """Return the masked passes of the options, if they have any.

        Raises AttnbankError if the model's attention cannot be differentiated or replaced.
        """
        if not options.masked:
            return None
        return cls(
            model,
            Masking.of_model(model, options.mask_seed),
            Gradients(model) if options.gradients else None,
            Ablation(model, options.ablate, options.replacement) if options.ablate else None,
        )

    def measure(self, batch: Batch) -> MaskedLoss:
        """Return the results for a batch."""
        masked = [self.masking.draw_mask(model_input.encoded) for model_input in batch.inputs]
        arguments = *pad_batch(batch, self.model.input_tokenizer.padding), masked
        return MaskedLoss(
            sum(len(input_mask.tokens) for input_mask in masked),
            None if self.gradients is None else self.gradients.compute(*arguments),
            None if self.ablation is None else self.ablation.losses(*arguments).sum(1),
        )


def measure_masked(
    connection: DuckDBPyConnection,
    passes: MaskedPasses,
    planner: Planner,
    facts: RunFacts,
    on_progress: OnProgress,
    remedy: str,
) -> None:
    """Measure the inputs of a run whose attention is in the bank, if they are not measured yet.

    Fills the tables gradient and ablation. `remedy` is for a device without memory.
    """
    job = _MaskedBatches(connection, passes, planner, facts, on_progress)
    with tell_what_is_saved(job.saved, remedy), malloc_tuned():
        run_batches(job)


@dataclass
class _MaskedRows(BatchRows):
    """The rows of a batch, and its losses."""

    losses: np.ndarray | None = None  # [variants] float64, summed over the masked tokens
    masked: int = 0  # masked tokens


# A batch of the inputs that were not measured before, and their results.
_MeasuredBatch = tuple[Batch, MaskedLoss | None]


class _MaskedBatches:
    """The masked passes of a run, as a job of `run_batches`."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        passes: MaskedPasses,
        planner: Planner,
        facts: RunFacts,
        on_progress: OnProgress,
    ) -> None:
        self.connection, self.progress = connection, ProgressCounter(on_progress, "masking")
        self._passes, self._planner, self._facts = passes, planner, facts
        # Without the inputs that the run has skipped, because rows of their maps do not sum to 1.
        self._unmeasured = self._sequences("select id from sequence where run = ?")
        self._tally: Tally | None = None
        # Inputs are measured in the order of the plan, so that these tokens tell which are.
        self._measured_tokens = 0
        if passes.ablation is not None:
            ablation = passes.ablation
            self._tally = Tally(connection, facts.run, ablation.variants, ablation.replacement)
            self._measured_tokens = self._tally.tokens
        if passes.gradients is not None:
            self._measured_tokens = 0
            self._unmeasured -= self._sequences(
                "select distinct gradient.sequence from gradient"
                " inner join sequence on sequence.id = gradient.sequence where sequence.run = ?"
            )

    def _sequences(self, query: str) -> set[int]:
        rows = self.connection.execute(query, [self._facts.run]).fetchall()
        return {sequence for (sequence,) in rows}

    def saved(self) -> str:
        """Say what is saved."""
        names = (self._passes.gradients and "gradients", self._passes.ablation and "losses")
        what = " and ".join(name for name in names if name)
        count = self.progress.done  # on an interrupt, the writer commits all that it has counted
        return "the attention of the run is saved" + (
            f", and the {what} of {count:,} sentences" if count else ""
        )

    def batches(self, query: Query, check: Callable[[], None]) -> Iterator[Batch]:
        return pending_batches(
            self._planner, query, self._facts.corpus, self.progress, self._is_measured, check
        )

    def _is_measured(self, batch: Batch) -> bool:
        for model_input in self._inputs_to_measure(batch):
            if not self._measured_tokens:
                break
            mask = self._passes.masking.draw_mask(model_input.encoded)
            self._measured_tokens -= len(mask.tokens)
            self._unmeasured.remove(row_id(self._facts.run, model_input.ordinal))
        return not self._inputs_to_measure(batch)

    def _inputs_to_measure(self, batch: Batch) -> list[Input]:
        return [
            model_input
            for model_input in batch.inputs
            if row_id(self._facts.run, model_input.ordinal) in self._unmeasured
        ]

    def compute(self, batch: Batch, interrupts: Postponed, stop: Event) -> Iterator[_MeasuredBatch]:
        batch, results = replace(batch, inputs=self._inputs_to_measure(batch)), None
        if batch.inputs:
            with interrupts.at_once():
                results = self._passes.measure(batch)
        yield batch, results

    def rows(self, measured: _MeasuredBatch) -> BatchRows:
        """Return the gradients of the inputs as rows, and their losses."""
        batch, results = measured
        rows = _MaskedRows(batch.number, batch.sentence_count, effort=batch.effort)
        if results is not None:
            rows.losses, rows.masked = results.losses, results.masked
            if results.gradients is not None:
                # Only runs with unit token have gradients: a position is a token.
                rows.tables["gradient"] = distribution_rows(
                    "gradients", results.gradients, batch.inputs, self._facts
                )
                rows.weights = sum(layer.size for layer in results.gradients)
        return rows

    def writer(self, turns: AbstractContextManager[object]) -> Writer:
        return _MaskedWriter(self.connection, self._tally, turns)


class _MaskedWriter(Writer):
    """Writes gradients, and with them the mean losses so far."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        tally: Tally | None,
        turns: AbstractContextManager[object],
    ) -> None:
        super().__init__(connection, turns=turns)
        self._tally = tally

    def add_sums(self, rows: BatchRows) -> None:
        if self._tally is not None and isinstance(rows, _MaskedRows) and rows.losses is not None:
            self._tally.add_losses(rows.losses, rows.masked)

    def write_sums(self) -> None:
        if self._tally is not None:
            self._tally.write_losses()


class Gradients:
    """Differentiates the loss of a model by its attention weights (section 3.2 of the paper).

    Each weight is an independent variable (the constraint that they sum to 1 is ignored), without
    dropout. The loss of an input is the mean over its own masked tokens, in nats, so its gradients
    do not depend on the rest of its batch. Raises AttnbankError for a model that returns other
    weights than those it computes with.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        # Here and not where a model is loaded: frozen weights may take other kernels (Jamba).
        model.module_with_head.requires_grad_(False)
        ids, mask, segments = model.tried_input()
        row, token = torch.tensor([0]), torch.tensor([ids.shape[1] - 1])
        name = type(model.module_with_head).__name__
        try:
            self._gradients(MaskedBatch(ids, row, token, ids[row, token]), mask, segments)
        except (RuntimeError, NotImplementedError) as error:
            raise AttnbankError(
                f"The attention weights that {name} returns are not the ones that it computes with:"
                f" {str(error).splitlines()[0]}",
                "Leave --gradients out, or use BERT, RoBERTa, ELECTRA, ...",
            ) from error

    def compute(
        self, ids: Tensor, attention_mask: Tensor, segments: Tensor, masked: list[InputMask]
    ) -> list[np.ndarray]:
        """Return signed gradients, in nats per unit of attention: [B, H, T, T] float32 per layer.

        The padded inputs are [B, T] int64; `masked` has one entry per input. Rows and columns of
        padding have no meaning; an input without masked tokens has zeros.
        """
        size = max(1, TOKENS_AT_ONCE // ids.shape[1])
        parts = []
        for start in range(0, len(ids), size):
            cut = slice(start, start + size)
            batch = apply_masks(ids[cut], masked[cut])
            parts.append(self._gradients(batch, attention_mask[cut], segments[cut]))
        return [np.concatenate(layer) for layer in zip(*parts, strict=True)]

    def _gradients(
        self, batch: MaskedBatch, attention_mask: Tensor, segments: Tensor
    ) -> list[np.ndarray]:
        embeddings = self._model.module_with_head.get_input_embeddings()
        # The parameters are frozen: gradients must begin somewhere below the first layer.
        hook = embeddings.register_forward_hook(lambda module, _, output: output.requires_grad_())
        with torch.enable_grad(), hook:
            losses, output = _masked_losses(
                self._model, batch, attention_mask, segments, output_attentions=True
            )
            counts = torch.bincount(batch.input, minlength=len(attention_mask)).to(losses.device)
            total = (losses / counts[batch.input.to(losses.device)]).sum()
            gradients = torch.autograd.grad(total, output.attentions)
        return [gradient.float().cpu().numpy() for gradient in gradients]


@dataclass(frozen=True)
class Variant:
    """What is disabled: nothing, a head, or all heads of a layer; numbers are 1-based."""

    disabled: str  # none, head or layer
    layer: int | None = None
    head: int | None = None


def list_variants(ablate: Ablate, layers: int, heads: int) -> list[Variant]:
    """Return the variants in the order they are run: the whole model, then each head or layer."""
    layer_numbers = range(1, layers + 1)
    if ablate == "layers":
        return [Variant("none"), *(Variant("layer", layer) for layer in layer_numbers)]
    head_variants = (
        Variant("head", layer, head) for layer in layer_numbers for head in range(1, heads + 1)
    )
    return [Variant("none"), *head_variants]


class Ablation:
    """Measures the loss of a model with each of its heads or layers disabled in turn.

    Raises ModelError for a model whose heads cannot be replaced.
    """

    def __init__(self, model: Model, ablate: Ablate, replacement: Replacement) -> None:
        self.replacement: Replacement = replacement
        self._model = model
        attention = model.attention
        self.variants = list_variants(ablate, len(attention.sites), attention.heads)

    def losses(
        self, ids: Tensor, attention_mask: Tensor, segments: Tensor, masked: list[InputMask]
    ) -> np.ndarray:
        """Return the loss in nats, summed over the masked tokens: [variants, B] float64."""
        batch = apply_masks(ids, masked)
        totals = np.zeros((len(self.variants), len(masked)))
        outputs: list[Any] = []  # of each layer of the whole model
        for sums, variant in zip(totals, self.variants, strict=True):
            below = 0 if variant.layer is None else variant.layer - 1
            disable = partial(self._disable, variant)
            with (
                self._model.attention.watch(after=disable, outputs=outputs, below=below),
                torch.inference_mode(),
            ):
                losses, _ = _masked_losses(self._model, batch, attention_mask, segments)
            np.add.at(sums, batch.input.numpy(), losses.double().cpu().numpy())
        return totals

    def _disable(self, variant: Variant, call: Call) -> None:
        if variant.layer == call.number + 1:
            heads = range(call.heads) if variant.head is None else [variant.head - 1]
            replace_heads(call, heads, self.replacement)


class Tally:
    """The mean losses of a run, updated batch by batch.

    A run that was interrupted and resumed ends with the same bits as one that was not.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        run: int,
        variants: Sequence[Variant],
        replacement: Replacement,
    ) -> None:
        self._connection, self._run = connection, run
        self._variants, self._replacement = variants, replacement
        stored = matching_rows(connection, "ablation", run=run)
        means = {Variant(row["disabled"], row["layer"], row["head"]): row["loss"] for row in stored}
        self._means = np.array([means.get(variant, 0.0) for variant in variants])
        self.tokens: int = stored[0]["tokens"] if stored else 0

    def add_losses(self, sums: np.ndarray, tokens: int) -> None:
        """Add a batch: the loss of each variant, [variants] in nats, summed over its tokens."""
        if tokens:
            self.tokens += tokens
            self._means += (sums - tokens * self._means) / self.tokens

    def write_losses(self) -> None:
        """Replace the means of the run in the bank; the caller commits."""
        delete_matching(self._connection, "ablation", run=self._run)
        if self.tokens:
            self._connection.executemany(
                "insert into ablation (run, disabled, layer, head, replacement, loss, tokens)"
                " values (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        self._run, variant.disabled, variant.layer, variant.head,
                        self._replacement if variant.layer else None, loss, self.tokens,
                    )
                    for variant, loss in zip(self._variants, self._means.tolist(), strict=True)
                ],
            )  # fmt: skip
