"""The rows of a batch as a function of the batch, for engines that run it on other machines.

There is nothing of Spark in this file. Whatever can call a Python function on another machine can
call `rows_of_batch`: a task of Spark does (`spark`), and one of Ray could.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from attnbank.ingest.attention.forward import run_model
from attnbank.ingest.attention.rows import BatchRows, RunFacts, rows_of
from attnbank.ingest.inputs.plan import Batch
from attnbank.ingest.masked.passes import MaskedPasses, masked_passes
from attnbank.ingest.models import loading
from attnbank.ingest.models.loading import Model, ModelFacts
from attnbank.ingest.options import IngestOptions
from attnbank.sql.errors import AttnbankError


@dataclass(frozen=True)
class Work:
    """What the batches of a run share: the options, the model, and what its rows have in common.

    It can be pickled and sent elsewhere, where the model must have the same name. `device` is that
    of the machine that planned the run.
    """

    options: IngestOptions
    facts: RunFacts
    model: ModelFacts
    device: str


def rows_of_batch(work: Work, batch: Batch) -> BatchRows:
    """Run the model over a batch: the rows of its tables.

    The model is loaded by the first call of a process, and kept for the others. Raises what loading
    a model raises, and AttnbankError if it is not the one that the run was planned with.
    """
    model, masked = _loaded(work)
    attentions, measured = run_model(model, batch, masked)
    return rows_of(batch, attentions, work.facts, measured)


@lru_cache(maxsize=1)
def _loaded(work: Work) -> tuple[Model, MaskedPasses | None]:
    options = work.options
    model = loading.load(
        options.model,
        random_seed=options.random_weights,
        revision=options.revision,
        device=work.device,
        masked_lm=options.masked,
        trust_remote_code=options.trust_remote_code,
    )
    for name in ("sha256", "tokenizer_sha256"):
        if getattr(model.facts, name) != getattr(work.model, name):
            what = "tokenizer" if name.startswith("tokenizer") else "weights"
            raise AttnbankError(
                f"The model {options.model} has other {what} on a machine of the cluster than"
                " here.",
                "Put the same files there, or name a commit of the hub (--revision).",
            )
    return model, masked_passes(model.masked_lm, options)
