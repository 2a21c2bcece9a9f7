"""Rows of `model` and `run`: finds those of an ingest, and inserts new ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from duckdb import DuckDBPyConnection

from attnbank.ingest.attention.measures import LAYER_MEASURES
from attnbank.ingest.models.attention_behaviour import Batching
from attnbank.ingest.models.loading import ModelFacts
from attnbank.ingest.models.tokenizer import READING_VERSION
from attnbank.ingest.options import FirstWord, IngestOptions
from attnbank.ingest.store.deleting import Deletion, delete_run
from attnbank.ingest.store.writer import insert_row, next_id, rows_by_name
from attnbank.sql import provenance
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.ids import read_shards
from attnbank.sql.matching import unique

_DECISIVE = ("torch", "transformers", "tokenizers")
# How an option appears in the name of a run if it is not the default.
_NAME_PARTS = {
    "context": "{}", "unit": "{}", "subword": "{}", "multiword": "{}", "edges": "{}",
    "max_tokens": "max{}", "measure": "{}", "decimals": "{}d", "keep": "{}",
    "first_word": "first-word", "bos": "{}", "shard": "{}", "truncate": "truncated",
    "limit": "limit{}", "seed": "seed{}", "gradients": "gradients", "ablate": "ablate-{}",
    "replacement": "{}", "mask_seed": "mask{}",
}  # fmt: skip


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
        """The columns of `run` that identify it, besides some options (`_shaping_options`)."""
        named = (
            "context", "unit", "subword", "multiword", "edges", "decimals", "keep", "measure",
        )  # fmt: skip
        return {name: getattr(self.options, name) for name in named} | {
            "corpus": self.corpus,
            "model": self.model_id,
            "max_tokens": self.max_tokens,
            "reading": READING_VERSION,
            "batching": self.batching,
            "first_word": self.first_word,
            "bos": self.bos,
            "heads": 1 if self.options.measure in LAYER_MEASURES else self.facts.heads,
        }


def find_or_insert_model(connection: DuckDBPyConnection, facts: ModelFacts) -> int:
    """Find or insert the row of a model, and return its id."""
    columns = asdict(facts) | {"layer_numbers": facts.layer_numbers and [*facts.layer_numbers]}
    # These describe a model, but do not identify it.
    descriptive = (
        "architecture", "tokenizer", "max_positions", "kv_heads", "series", "tokens_seen",
    )  # fmt: skip
    identity = {name: value for name, value in columns.items() if name not in descriptive}
    if rows := _matching_rows(connection, "model", identity):
        return int(rows[0]["id"])
    if facts.step is not None and (
        rows := _matching_rows(connection, "model", identity | {"step": None})
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
    shape = _shaping_options(spec.options)
    for row in _matching_rows(connection, "run", spec.columns):
        options = row["options"] or {}
        # Options without effect are None here, and missing in the row.
        if any(options.get(name) != value for name, value in shape.items()):
            continue
        # "7:1024 9:512" is 1024 up to batch 7, then 512.
        budgets = (budget.split(":") for budget in options.get("earlier_batch_tokens", "").split())
        # Only a finished run has several parts, and the versions of one do not matter.
        (part,) = rows_by_name(
            connection.execute(
                "select sum(batches)::int as batches, max(batch_tokens) as batch_tokens,"
                " string_agg(distinct device, ' + ' order by device) as device,"
                " any_value(libraries) as libraries from run_part where run = ?",
                [row["id"]],
            )
        )
        return StoredRun(
            id=row["id"],
            name=row["name"],
            batch_tokens=part["batch_tokens"],
            batches=part["batches"],
            device=part["device"],
            finished=row["finished"] is not None,
            versions=_decisive_versions(row["code_version"], part["libraries"]),
            earlier_batch_tokens=tuple((int(last), int(tokens)) for last, tokens in budgets),
        )
    return None


def _matching_rows(
    connection: DuckDBPyConnection, table: str, columns: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of a table in which columns have these values, the newest first."""
    same = " and ".join(f"{name} is not distinct from ?" for name in columns)
    statement = f"select * from {table} where {same} order by id desc"
    return rows_by_name(connection.execute(statement, [*columns.values()]))


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

    The earlier sizes are stored in `run.options`, because the plan of the run depends on them.
    """
    if batch_tokens >= run.batch_tokens:
        return run
    earlier = run.earlier_batch_tokens
    if run.batches > (earlier[-1][0] if earlier else 0):
        earlier = (*earlier, (run.batches, run.batch_tokens))
    text = " ".join(f"{last}:{tokens}" for last, tokens in earlier)
    with transaction(connection):
        connection.execute(
            "update run_part set batch_tokens = ? where run = ?", [batch_tokens, run.id]
        )
        if text:
            connection.execute(
                "update run set options = map_concat(options, map {'earlier_batch_tokens': ?})"
                " where id = ?",
                [text, run.id],
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
    options = spec.options
    number, started = next_id(connection, "run"), provenance.now()
    with transaction(connection):
        insert_row(
            connection, "run", **spec.columns, id=number, name=_run_name(connection, spec),
            options=_stored_options(options), code_version=provenance.version(), started=started,
        )  # fmt: skip
        insert_row(
            connection, "run_part", run=number, shard=read_shards(options.shard).text, batches=0,
            batch_tokens=options.batch_tokens, device=spec.device,
            libraries=provenance.libraries(), started=started, unknown_words=0,
            joined_words=0, misspelled_words=spec.misspelled_words,
        )  # fmt: skip
    run = find_same_run(connection, spec)
    assert run is not None
    return run


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
    options = spec.options
    named = "select name from corpus where id = ?"
    ((corpus,),) = connection.execute(named, [spec.corpus]).fetchall()
    values = vars(options) | {
        "shard": read_shards(options.shard).label,
        "bos": options.bos and "bos",
    }
    if options.bos_token is not None:
        values["bos"] = "bos-" + re.sub(r"[^\w.-]+", "", options.bos_token)
    parts = [corpus, _model_name(connection, spec)]
    parts += [
        pattern.format(values[name])
        for name, pattern in _NAME_PARTS.items()
        if values[name] != getattr(IngestOptions, name)  # the default
    ]
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
    """Return the options that are not columns of `run`, as text, for its column `options`."""
    names = (
        "model", "format", "spacy", "split", "name", "revision", "device", "skip_bad", "strict",
        "trust_remote_code",
    )  # fmt: skip
    values = {name: getattr(options, name) for name in names}
    given_options = {
        name: str(value) for name, value in values.items() if value not in (None, False)
    }
    shape = {name: value for name, value in _shaping_options(options).items() if value is not None}
    return given_options | shape | {"corpora": "\n".join(options.paths)}


def _shaping_options(options: IngestOptions) -> dict[str, str | None]:
    """Return the options besides columns of `run` that change its rows; None if without effect."""
    is_drawn = options.context == "pair" or options.limit is not None
    shape = {
        "shard": read_shards(options.shard).text,
        "truncate": "true" if options.truncate else None,
        "limit": options.limit,
        "seed": options.seed if is_drawn else None,
        "gradients": "true" if options.gradients else None,
        "ablate": options.ablate,
        "replacement": options.replacement if options.ablate else None,
        "mask_seed": options.mask_seed if options.masked else None,
    }
    return {name: None if value is None else str(value) for name, value in shape.items()}
