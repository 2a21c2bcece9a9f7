"""The runs that a probe learns from and is scored on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duckdb import DuckDBPyConnection

from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.suggest import did_you_mean, listed


@dataclass(frozen=True)
class ProbeRun:
    """A finished run of single sentences at word level, and its model."""

    id: int
    name: str
    corpus: str
    model: str
    revision: str | None
    sha256: str
    random_seed: int | None
    layers: int
    heads: int
    trained_sha256: str | None = None  # of the trained weights of that model; None if not known
    has_weights: bool = True  # whether it keeps every weight, and not only peaks and sums

    @property
    def maps(self) -> int:
        """The number of attention maps of a sentence: layers times heads."""
        return self.layers * self.heads


def find_run(connection: DuckDBPyConnection, asked: str) -> ProbeRun:
    """The run with this name or id.

    Raises CallError if there is none or it is not of single sentences at word level, QueryError if
    it is not finished.
    """
    rows = connection.execute(
        "select run.id, run.name, corpus.name, model.name, model.revision, model.sha256,"
        " model.random_seed, model.layers, model.heads,"
        " case when model.random_seed is null then model.sha256 else trained.sha256 end,"
        " run.unit, run.context,"
        " run.finished is not null, run.keep"
        " from run"
        " inner join model on model.id = run.model"
        " inner join corpus on corpus.id = run.corpus"
        # For a control, the trained model of the same name, if the bank has exactly one.
        " left join (select name, revision, min(sha256) as sha256 from model"
        " where random_seed is null group by name, revision"
        " having count(distinct sha256) = 1) as trained on trained.name = model.name"
        " and trained.revision is not distinct from model.revision"
        " order by run.id"
    ).fetchall()
    fitting = [row[1] for row in rows if row[10:13] == ("word", "sentence", True)]
    found = next((row for row in rows if asked in (row[1], str(row[0]))), None)
    if found is None:
        raise CallError(
            f"The bank has no run {asked}.",
            f"{did_you_mean(asked, [row[1] for row in rows])} {_these(fitting)}".strip(),
        )
    unit, context, is_finished, keep = found[10:]
    if (unit, context) != ("word", "sentence"):
        raise CallError(
            f"The run {found[1]} has unit {unit} and context {context}; a probe needs unit word"
            " and context sentence.",
            _these(fitting),
        )
    if not is_finished:
        raise QueryError(
            f"The run {found[1]} is not finished.", "Type the same ingest again: it goes on."
        )
    run = ProbeRun(*found[:10])
    return replace(run, has_weights=keep != "peaks")


def check_not_learnt_from(
    train: ProbeRun, test: ProbeRun, train_split: str | None, test_split: str | None
) -> None:
    """Raise CallError if a probe would be scored on sentences that it learnt from."""
    if train.id != test.id:
        return
    if train_split is None or test_split is None or train_split == test_split:
        raise CallError(
            f"The run {test.name} would be scored on the sentences that the probe learnt from.",
            "Give a run over another corpus, or different splits (train_split, test_split).",
        )


def check_weights(run: ProbeRun) -> None:
    """Raise QueryError if a probe of attention would read a run that keeps no weights."""
    if not run.has_weights:
        raise QueryError(
            f"A probe of attention cannot read the run {run.name}: only its peaks and sums are"
            " kept.",
            "Ingest the corpus with --keep weights.",
        )


def check_same_model(train: ProbeRun, test: ProbeRun) -> None:
    """Raise CallError if the two runs are of models with different weights."""
    if train.sha256 != test.sha256:
        raise CallError(
            f"The runs are of different models: {train.name} of {_model(train)}, {test.name} of"
            f" {_model(test)}.",
            "Weights that a probe learns for the heads of one model mean nothing for another's:"
            " give two runs of one model.",
        )


def _model(run: ProbeRun) -> str:
    if run.random_seed is not None:
        return f"{run.model} with random weights (seed {run.random_seed})"
    return f"{run.model} (weights {run.sha256[:8]})"


def _these(fitting: list[str]) -> str:
    if not fitting:
        return "Make one: attnbank ingest CORPUS (unit word, context sentence)."
    return f"Runs that a probe can use: {listed(fitting)}."
