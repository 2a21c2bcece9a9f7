"""Rows of `corpus`, `model` and `run`: finding what is there, starting what is not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.corpora.shards import read_shard
from attnbank.ingest.models import reading
from attnbank.ingest.models.loading import ModelFacts
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.store.corpus_rows import next_ids
from attnbank.sql import provenance, registry
from attnbank.sql.errors import CallError

_DECISIVE = ("torch", "transformers", "tokenizers")
_LIBRARIES = ("duckdb", "torch", "transformers", "tokenizers", "numpy", "pyarrow", "spacy")


@dataclass(frozen=True)
class Run:
    """A run as table `run` has it."""

    id: int
    name: str
    first_sequence: int
    batch_tokens: int
    batches: int
    finished: bool
    device: str
    versions: dict[str, str]  # of attnbank, and of the libraries that figures depend on


def model_id(connection: DuckDBPyConnection, facts: ModelFacts) -> int:
    """The row of a model, made where there is none.

    A row from before tokenizers had digests (its digest is null) is never taken: its tokenizer may
    be another one.
    """
    found = connection.execute(
        "select id from model where name = ? and sha256 = ?"
        " and random_seed is not distinct from ? and revision is not distinct from ?"
        " and tokenizer_sha256 = ? and layers = ? and heads = ?",
        [facts.name, facts.sha256, facts.random_seed, facts.revision, facts.tokenizer_sha256,
         facts.layers, facts.heads],
    ).fetchone()  # fmt: skip
    if found is not None:
        return int(found[0])
    new = next_ids(connection)["model"]
    connection.execute(
        "insert into model (id, name, revision, sha256, architecture, layers, heads, random_seed,"
        " tokenizer, max_positions, tokenizer_sha256) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [new, facts.name, facts.revision, facts.sha256, facts.architecture, facts.layers,
         facts.heads, facts.random_seed, facts.tokenizer, facts.max_positions,
         facts.tokenizer_sha256],
    )  # fmt: skip
    return new


def find_run(
    connection: DuckDBPyConnection,
    corpus: int,
    model: int,
    options: IngestOptions,
    max_tokens: int,
) -> Run | None:
    """The run of the same model over the same corpus with the same options, or None."""
    shape = _shape(options)
    others = "".join(
        f" and map_extract_value(options, '{name}') is not distinct from ?" for name in shape
    )
    found = connection.execute(
        "select id, name, first_sequence, batch_tokens, batches, finished is not null, device,"
        " code_version, libraries from run"
        " where corpus = ? and model = ? and context = ? and unit = ? and subword = ?"
        f" and max_tokens = ? and decimals is not distinct from ? and reading = ?{others}"
        " and (multiword = ? or (multiword is null and ?)) and keep = ?"
        " order by id desc",
        [corpus, model, options.context, options.unit, options.subword, max_tokens,
         options.decimals, reading.VERSION, *shape.values(),
         options.multiword, _is_as_before(connection, corpus, options), options.keep],
    ).fetchone()  # fmt: skip
    if found is None:
        return None
    *columns, code_version, libraries = found
    return Run(*(*columns, _decisive(code_version, libraries)))


def _is_as_before(connection: DuckDBPyConnection, corpus: int, options: IngestOptions) -> bool:
    """Whether a run of before there was --multiword, which reads parts, is what is asked for."""
    if options.multiword == "parts":
        return True
    rows = connection.execute(
        registry.statement("ingest/unspelled_tokens"), {"corpus": corpus}
    ).fetchall()
    return not rows


def check_same(run: Run, options: IngestOptions, device: str) -> None:
    """Raise CallError where going on with a run, or leaving it, would not be what was asked for.

    Such options change figures by rounding alone, so that they do not make a run of their own.
    """
    if options.batch_tokens != run.batch_tokens:
        raise CallError(
            f"The run {run.name} is in the bank, with batches of {run.batch_tokens} tokens.",
            f"Give --batch-tokens {run.batch_tokens}, or start it over with --replace.",
        )
    if device != run.device and (options.device != "auto" or not run.finished):
        raise CallError(
            f"The run {run.name} is in the bank, made on the device {run.device}, and this is"
            f" {device}.",
            f"Give --device {run.device}, or start it over with --replace.",
        )
    if run.finished:
        return
    here = _decisive(provenance.version(), provenance.libraries(*_LIBRARIES))
    for name, other in run.versions.items():
        if here.get(name) != other:
            raise CallError(
                f"The run {run.name} was begun with {name} {other}, and this is"
                f" {here.get(name, 'none')}.",
                f"Go on with {name} {other}, or start it over with --replace.",
            )


def _decisive(code_version: str, libraries: dict[str, str]) -> dict[str, str]:
    """The versions that a run may not change under way: half of it would be another run's."""
    kept = {name: libraries[name] for name in _DECISIVE if name in libraries}
    return {"attnbank": code_version, **kept}


def start_run(
    connection: DuckDBPyConnection,
    corpus: int,
    model: int,
    facts: ModelFacts,
    options: IngestOptions,
    max_tokens: int,
    device: str,
) -> Run:
    """Write the row of a new run, unfinished."""
    ids = next_ids(connection)
    corpus_name = _one(connection, "select name from corpus where id = ?", corpus)
    run = Run(
        id=ids["run"],
        name=_run_name(connection, corpus_name, model, facts, options),
        first_sequence=ids["sequence"],
        batch_tokens=options.batch_tokens,
        batches=0,
        finished=False,
        device=device,
        versions=_decisive(provenance.version(), provenance.libraries(*_LIBRARIES)),
    )
    connection.execute(
        "insert into run (id, name, model, corpus, context, unit, subword, max_tokens, decimals,"
        " batch_tokens, options, device, code_version, libraries, first_sequence, batches, started,"
        " reading, unknown_words, multiword, keep)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [run.id, run.name, model, corpus, options.context, options.unit, options.subword,
         max_tokens, options.decimals, run.batch_tokens, _options(options), device,
         provenance.version(), provenance.libraries(*_LIBRARIES), run.first_sequence, 0,
         provenance.now(), reading.VERSION, 0, options.multiword, options.keep],
    )  # fmt: skip
    return run


def finish_run(connection: DuckDBPyConnection, run: int) -> None:
    """Say that the last batch of a run is committed."""
    connection.execute("update run set finished = ? where id = ?", [provenance.now(), run])


def short_name(model: str) -> str:
    """A model's name without the hub's owner or the folder's path."""
    return Path(model).name or model


def _run_name(
    connection: DuckDBPyConnection,
    corpus: str,
    model: int,
    facts: ModelFacts,
    options: IngestOptions,
) -> str:
    """corpus/model, and every option that makes the run's rows other than the default ones.

    The database holds each name once: a number tells apart what differs in no option, such as
    runs before and after the files of a model changed.
    """
    parts = [corpus, _model_name(connection, model, facts, options)]
    if options.context != "sentence":
        parts.append(options.context)
    if options.unit != "word":
        parts.append(options.unit)
    if options.subword != "mean":
        parts.append(options.subword)
    if options.multiword != "written":
        parts.append(options.multiword)
    if options.max_tokens is not None:
        parts.append(f"max{options.max_tokens}")
    if options.decimals is not None:
        parts.append(f"{options.decimals}d")
    if options.keep != "weights":
        parts.append(options.keep)
    choice = _shape(options)
    if choice["shard"] is not None:
        parts.append(f"shard{choice['shard'].replace('/', 'of')}")
    if options.truncate:
        parts.append("truncated")
    if choice["limit"] is not None:
        parts.append(f"limit{choice['limit']}")
    if choice["seed"] not in (None, "0"):
        parts.append(f"seed{choice['seed']}")
    if options.gradients:
        parts.append("gradients")
    if options.ablate is not None:
        parts.append(f"ablate-{options.ablate}")
        if options.replacement != "uniform":
            parts.append(options.replacement)
    if options.mask_seed:
        parts.append(f"mask{options.mask_seed}")
    name = "/".join(parts)
    taken = {row[0] for row in connection.execute("select name from run").fetchall()}
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


def _model_name(
    connection: DuckDBPyConnection, model: int, facts: ModelFacts, options: IngestOptions
) -> str:
    """The model's short name; with what tells it from other models of the bank.

    The folder or owner before it, where another model of the bank is called the same without; the
    revision that was asked for; the seed of random weights.
    """
    name = short_name(facts.name)
    others = connection.execute("select name from model where id != ?", [model]).fetchall()
    if any(other != facts.name and short_name(other) == name for (other,) in others):
        name = "/".join(Path(facts.name).parts[-2:])
    if options.revision is not None:
        name += f"@{options.revision}"
    if facts.random_seed is not None:
        name += f"-random-{facts.random_seed}"
    return name


def _options(options: IngestOptions) -> dict[str, str]:
    """What was asked for, as text, beyond the columns of `run`."""
    kept = (
        "model", "format", "spacy", "split", "name", "revision", "device", "skip_bad", "strict",
        "trust_remote_code",
    )  # fmt: skip
    found = {name: getattr(options, name) for name in kept}
    asked = {name: str(value) for name, value in found.items() if value not in (None, False)}
    shape = {name: value for name, value in _shape(options).items() if value is not None}
    return asked | shape | {"corpora": "\n".join(options.corpora)}


def _shape(options: IngestOptions) -> dict[str, str | None]:
    """The options that shape the rows beyond the columns of `run`, as `run.options` has them.

    None where they do not: a seed that nothing is drawn with has no effect.
    """
    shard = read_shard(options.shard)
    drawn = options.context == "pair" or options.limit is not None
    return {
        "shard": None if shard is None else str(shard),
        "truncate": "true" if options.truncate else None,
        "limit": None if options.limit is None else str(options.limit),
        "seed": str(options.seed) if drawn else None,
        "gradients": "true" if options.gradients else None,
        "ablate": options.ablate,
        "replacement": None if options.ablate is None else options.replacement,
        "mask_seed": str(options.mask_seed) if options.masked else None,
    }


def _one(connection: DuckDBPyConnection, statement: str, *values: Any) -> Any:
    found = connection.execute(statement, list(values)).fetchone()
    assert found is not None
    return found[0]
