"""Rows of `model` and `run`: finds those of an ingest, and inserts new ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from duckdb import DuckDBPyConnection

from attnbank.ingest.models.attention_behaviour import Batching
from attnbank.ingest.models.loading import ModelFacts
from attnbank.ingest.models.tokenizer import READING_VERSION
from attnbank.ingest.options import FirstWord, IngestOptions
from attnbank.ingest.store.deleting import Deletion, delete_run
from attnbank.ingest.store.writer import insert_row, matching_rows, next_id, rows_by_name
from attnbank.sql import provenance
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.matching import unique

_DECISIVE = ("torch", "transformers", "tokenizers")


@dataclass(frozen=True)
class StoredRun:
    """A row of table `run`."""

    id: int
    name: str
    batch_tokens: int
    batches: int
    finished: bool
    device: str
    versions: dict[str, str]  # of attnbank, and of the libraries that figures depend on
    earlier_batch_tokens: tuple[tuple[int, int], ...] = ()  # last batch, and its --batch-tokens


@dataclass(frozen=True)
class RunSpec:
    """The run to ingest; `bos` is the token that the options put before the text."""

    corpus: int
    model_id: int
    facts: ModelFacts
    options: IngestOptions
    max_tokens: int
    device: str
    batching: Batching = "padded"
    first_word: FirstWord | None = None
    bos: str | None = None
    misspelled_words: int | None = None  # 0 at the start of a run with given tokens

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of `run` that identify it: what it is of, and what shapes it."""
        return self.options.shape | {
            "corpus": self.corpus,
            "model": self.model_id,
            "max_tokens": self.max_tokens,
            "reading": READING_VERSION,
            "batching": self.batching,
            "first_word": self.first_word,
            "bos": self.bos,
        }


def find_or_insert_model(connection: DuckDBPyConnection, facts: ModelFacts) -> int:
    """Find or insert the row of a model, and return its id."""
    columns = asdict(facts) | {"layer_numbers": facts.layer_numbers and [*facts.layer_numbers]}
    # These describe a model, but do not identify it.
    descriptive = (
        "architecture", "tokenizer", "max_positions", "kv_heads", "series", "tokens_seen",
    )  # fmt: skip
    identity = {name: value for name, value in columns.items() if name not in descriptive}
    if rows := matching_rows(connection, "model", **identity):
        return int(rows[0]["id"])
    if facts.step is not None and (
        rows := matching_rows(connection, "model", **identity | {"step": None})
    ):
        with transaction(connection):  # it was ingested before, not as a checkpoint of a series
            connection.execute(
                "update model set series = ?, step = ?, tokens_seen = ? where id = ?",
                [facts.series, facts.step, facts.tokens_seen, rows[0]["id"]],
            )
        return int(rows[0]["id"])
    new = next_id(connection, "model")
    with transaction(connection):
        insert_row(connection, "model", id=new, **columns)
    return new


def find_same_run(connection: DuckDBPyConnection, spec: RunSpec) -> StoredRun | None:
    """Find the newest run of the same model over the same corpus with the same options."""
    rows = matching_rows(connection, "run", **spec.columns)
    if not rows:
        return None
    # Only a finished run has several parts, and how batches of one were made does not matter.
    (part,) = rows_by_name(
        connection.execute(
            "select sum(batches)::int as batches, max(batch_tokens) as batch_tokens,"
            " string_agg(distinct device, ' + ' order by device) as device,"
            " any_value(libraries) as libraries,"
            " any_value(earlier_batch_tokens) as earlier_batch_tokens from run_part where run = ?",
            [rows[0]["id"]],
        )
    )
    earlier = part.pop("earlier_batch_tokens") or ()
    return StoredRun(
        id=rows[0]["id"],
        name=rows[0]["name"],
        finished=rows[0]["finished"] is not None,
        versions=_decisive_versions(rows[0]["code_version"], part.pop("libraries")),
        earlier_batch_tokens=tuple(
            (budget["last_batch"], budget["batch_tokens"]) for budget in earlier
        ),
        **part,
    )


def begin_run(
    connection: DuckDBPyConnection, spec: RunSpec, same: StoredRun | None
) -> tuple[StoredRun, Literal["new", "resumed", "unchanged"], Deletion | None]:
    """Resume the run that the bank has (`same`), or start a new one.

    With --replace the one that the bank has is deleted before. Returns the run, its state
    (unchanged: it is finished) and what was deleted. Raises CallError if it cannot be resumed.
    """
    replaced = None
    if same is not None and spec.options.replace:
        replaced, same = delete_run(connection, same.id), None
    if same is None:
        return start_run(connection, spec), "new", replaced
    check_resumable(same, spec.options, spec.device)
    return same, "unchanged" if same.finished else "resumed", None


def reduce_batch_tokens(
    connection: DuckDBPyConnection, run: StoredRun, batch_tokens: int
) -> StoredRun:
    """Reduce the batch size of an unfinished run, from its next batch on.

    The earlier sizes are stored, too, because the plan of the run depends on them.
    """
    if batch_tokens >= run.batch_tokens:
        return run
    earlier = run.earlier_batch_tokens
    if run.batches > (earlier[-1][0] if earlier else 0):
        earlier = (*earlier, (run.batches, run.batch_tokens))
    stored = [{"last_batch": last, "batch_tokens": tokens} for last, tokens in earlier]
    with transaction(connection):
        connection.execute(
            "update run_part set batch_tokens = ?, earlier_batch_tokens = ? where run = ?",
            [batch_tokens, stored or None, run.id],
        )
    return replace(run, batch_tokens=batch_tokens, earlier_batch_tokens=earlier)


def check_resumable(run: StoredRun, options: IngestOptions, device: str) -> None:
    """Raise CallError if a run of the bank cannot be resumed or reused with these options."""
    over = "or start over with --replace"
    if run.batches and not run.finished:
        over += f", which deletes its {run.batches:,} batches"
    if options.batch_tokens > run.batch_tokens or (
        options.batch_tokens < run.batch_tokens and run.finished
    ):
        raise CallError(
            f"The run {run.name} in the bank has batches of {run.batch_tokens} tokens.",
            f"Give --batch-tokens {run.batch_tokens}, {over}.",
        )
    if not _is_same_device(device, run.device) and (options.device != "auto" or not run.finished):
        raise CallError(
            f"The run {run.name} was made on the device {run.device}, but this is {device}.",
            f"Give --device {run.device}, {over}.",
        )
    if run.finished:
        return
    installed = _decisive_versions(provenance.version(), provenance.libraries())
    for name, version in run.versions.items():
        if installed.get(name) != version:
            raise CallError(
                f"The run {run.name} was begun with {name} {version}, but this is"
                f" {installed.get(name, 'none')}.",
                f"Go on with {name} {version}, {over}.",
            )


def _is_same_device(device: str, other_device: str) -> bool:
    """Return whether two names may be of one device: "cuda" is the current card of several."""
    (kind, _, index), (other_kind, _, other_index) = (
        device.partition(":"),
        other_device.partition(":"),
    )
    return kind == other_kind and (not index or not other_index or index == other_index)


def _decisive_versions(code_version: str, libraries: dict[str, str]) -> dict[str, str]:
    """Return the versions that must be the same for all batches of a run."""
    versions = {name: libraries[name] for name in _DECISIVE if name in libraries}
    return {"attnbank": code_version, **versions}


def start_run(connection: DuckDBPyConnection, spec: RunSpec) -> StoredRun:
    """Insert the row of a new run."""
    options, columns = spec.options, spec.columns
    number, name = next_id(connection, "run"), _run_name(connection, spec)
    version, libraries, started = provenance.version(), provenance.libraries(), provenance.now()
    with transaction(connection):
        insert_row(
            connection, "run", **columns, id=number, name=name,
            heads=options.maps_per_layer(spec.facts.heads),
            options=_stored_options(options), code_version=version, started=started,
        )  # fmt: skip
        insert_row(
            connection, "run_part", run=number, shard=columns["shard"], batches=0,
            batch_tokens=options.batch_tokens, device=spec.device, libraries=libraries,
            started=started, unknown_words=0, joined_words=0,
            misspelled_words=spec.misspelled_words,
        )  # fmt: skip
    versions = _decisive_versions(version, libraries)
    return StoredRun(number, name, options.batch_tokens, 0, False, spec.device, versions)


def finish_run(connection: DuckDBPyConnection, run: int) -> None:
    """Store that the last batch of a run is committed."""
    now = provenance.now()
    with transaction(connection):
        connection.execute("update run set finished = ? where id = ?", [now, run])
        connection.execute("update run_part set finished = ? where run = ?", [now, run])


def short_name(model: str) -> str:
    """Return a model's name without its owner on the hub or the path of its folder."""
    return Path(model).name or model


def _run_name(connection: DuckDBPyConnection, spec: RunSpec) -> str:
    """Return corpus/model/..., with each option that is not the default.

    A number is added to a name that is used, for instance by a run of the model before its files
    changed.
    """
    named = "select name from corpus where id = ?"
    ((corpus,),) = connection.execute(named, [spec.corpus]).fetchall()
    parts = [corpus, _model_name(connection, spec), *spec.options.in_name]
    used = connection.execute("select name from run").fetchall()
    return unique("/".join(parts), [name for (name,) in used])


def _model_name(connection: DuckDBPyConnection, spec: RunSpec) -> str:
    """Return the short name of a model, with what distinguishes it in the bank.

    That is its folder or owner if another model has the same name; its revision; its random seed.
    """
    facts = spec.facts
    name = short_name(facts.name)
    if facts.series is not None and spec.options.revision is None:
        name = f"{short_name(facts.series)}@{name}"
    named = "select name from model where id != ?"
    other_models = connection.execute(named, [spec.model_id]).fetchall()
    if any(
        other_name != facts.name and short_name(other_name) == name
        for (other_name,) in other_models
    ):
        name = "/".join(Path(facts.name).parts[-2:])
    if spec.options.revision is not None:
        name += f"@{spec.options.revision}"
    if facts.random_seed is not None:
        name += f"-random-{facts.random_seed}"
    return name


def _stored_options(options: IngestOptions) -> dict[str, str]:
    """Return how a run was asked for, as text, for its column `options`."""
    names = (
        "model", "format", "spacy", "split", "name", "revision", "device", "skip_bad", "strict",
        "trust_remote_code",
    )  # fmt: skip
    values = {name: getattr(options, name) for name in names}
    given_options = {
        name: str(value) for name, value in values.items() if value not in (None, False)
    }
    return given_options | {"corpora": "\n".join(options.paths)}
