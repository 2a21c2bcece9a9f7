"""Several exports as one: which corpora, models and runs of theirs are the same.

The rows of these tables are few, so that all of it is decided here, in plain Python, before Spark
reads a table of text or of attention. Whatever is in two exports counts once, from the export that
is named first; the shards of one run are that run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from attnbank.sql.bank.shards import Parts, read_parts
from attnbank.sql.errors import CallError
from attnbank.sql.suggest import listed

Row = dict[str, Any]

_CORPUS = ("name", "format", "sha256", "annotation", "annotator", "annotator_sha256", "language")
"""What makes two corpora the same; their paths may differ from machine to machine."""
_MODEL = (
    "name", "revision", "sha256", "architecture", "layers", "heads", "random_seed", "tokenizer",
    "max_positions", "tokenizer_sha256",
)  # fmt: skip
_RUN = ("context", "unit", "subword", "max_tokens", "decimals", "reading", "multiword", "keep")
_SHAPE = ("truncate", "limit", "seed", "gradients", "ablate", "replacement", "mask_seed")
"""The options that shape the rows of a run, beside its columns and its shard."""
_ONE_BY_ONE = "Ask them one by one"


@dataclass(frozen=True)
class Held:
    """What one export holds: the rows of its tables `corpus`, `model` and `run`."""

    folder: str
    corpora: Sequence[Row]
    models: Sequence[Row]
    runs: Sequence[Row]


@dataclass(frozen=True)
class RunPart:
    """A run of one export, and the run of all exports that it is, or is a shard of.

    `export` is the place of the export among all, from 0; `first_sequence` is its own.
    """

    export: int
    id: int
    joined: int
    is_whole: bool
    first_sequence: int
    batches: int


@dataclass
class Joined:
    """The corpora, models and runs of all exports, with new ids.

    `corpus_ids` has, for each export, the new id of each of its corpora. `texts` are the corpora
    (the place of the export, the old id) whose text is read; of the others it is the same.
    """

    corpora: list[Row] = field(default_factory=list)
    models: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    corpus_ids: list[dict[int, int]] = field(default_factory=list)
    texts: list[tuple[int, int]] = field(default_factory=list)
    parts: list[RunPart] = field(default_factory=list)


def join(exports: Sequence[Held]) -> Joined:
    """The exports as one. Raises CallError for what cannot be one: see the messages.

    New ids are given in the order in which the corpora, models and runs first appear.
    """
    joined = Joined()
    model_ids = _join_models(exports, joined)
    _join_corpora(exports, joined)
    _join_runs(exports, model_ids, joined)
    return joined


def _join_models(exports: Sequence[Held], joined: Joined) -> list[dict[int, int]]:
    known: dict[tuple[Any, ...], int] = {}
    found = []
    for export in exports:
        ids = {}
        for row in export.models:
            key = tuple(row[name] for name in _MODEL)
            if key not in known:
                known[key] = len(known) + 1
                joined.models.append(row | {"id": known[key]})
            ids[row["id"]] = known[key]
        found.append(ids)
    return found


def _join_corpora(exports: Sequence[Held], joined: Joined) -> None:
    first: dict[str, tuple[int, Row]] = {}
    shards: dict[str, dict[str | None, tuple[int, int]]] = {}
    for place, export in enumerate(exports):
        ids = {}
        for row in export.corpora:
            name = row["name"]
            at, other = first.setdefault(name, (place, row))
            for column in _CORPUS:
                if row[column] != other[column]:
                    raise CallError(
                        f"The corpora {name} of {exports[at].folder} and of {export.folder} are"
                        f" not the same: {_difference(column, other[column], row[column])}.",
                        f"{_ONE_BY_ONE}, or ingest one of them under another name (--name).",
                    )
            ids[row["id"]] = list(first).index(name) + 1
            shards.setdefault(name, {}).setdefault(row["shard"], (place, row["id"]))
        joined.corpus_ids.append(ids)
    for number, (name, (_, row)) in enumerate(first.items(), start=1):
        shard = _joined_shard(f"corpus {name}", [*shards[name]])
        joined.corpora.append(row | {"id": number, "shard": shard})
        joined.texts += shards[name].values()


def _join_runs(
    exports: Sequence[Held], model_ids: Sequence[Mapping[int, int]], joined: Joined
) -> None:
    known: dict[str, dict[str | None, tuple[int, Row]]] = {}
    keys: dict[str, tuple[str, Row]] = {}
    for place, export in enumerate(exports):
        for row in export.runs:
            shard = (row["options"] or {}).get("shard")
            name = _without_shard(row["name"], shard)
            key = _key(row, joined.corpus_ids[place], model_ids[place])
            folder, other = keys.setdefault(name, (export.folder, key))
            for column, value in key.items():
                if value != other[column]:
                    raise CallError(
                        f"The runs {name} of {folder} and of {export.folder} are not one run:"
                        f" {_difference(column, other[column], value)}.",
                        f"{_ONE_BY_ONE}, or ingest one of them again as the other.",
                    )
            known.setdefault(name, {}).setdefault(shard, (place, row))
    for number, (name, parts) in enumerate(known.items(), start=1):
        shard = _joined_shard(f"run {name}", [*parts])
        rows = [row for _, row in parts.values()]
        joined.runs.append(
            _joined_run(rows) | {"id": number, "model": keys[name][1]["model"]}
            | {"corpus": keys[name][1]["corpus"]}
            | ({} if shard else {"name": name, "options": _options_without_shard(rows[0])})
        )  # fmt: skip
        joined.parts += [
            RunPart(place, row["id"], number, len(rows) == 1, row["first_sequence"], row["batches"])
            for place, row in sorted(parts.values(), key=lambda each: _number(each[1]))
        ]


def _key(row: Row, corpora: Mapping[int, int], models: Mapping[int, int]) -> Row:
    """What makes two runs the same, or shards of the same. Raises CallError for a damaged row."""
    try:
        key = {"corpus": corpora[row["corpus"]], "model": models[row["model"]]}
    except KeyError as error:
        raise CallError(
            f"The run {row['name']} and its corpus and model do not belong together.",
            "Export the bank again: attnbank export.",
        ) from error
    options = row["options"] or {}
    return key | {each: row[each] for each in _RUN} | {each: options.get(each) for each in _SHAPE}


def _joined_run(rows: Sequence[Row]) -> Row:
    """The row of a run from those of its shards, which count and end together."""

    def total(column: str) -> int | None:
        found = [row[column] for row in rows]
        return None if None in found else sum(found)

    ends: list[datetime | None] = [row["finished"] for row in rows]
    done = [each for each in ends if each is not None]
    return rows[0] | {
        "batches": total("batches"),
        "unknown_words": total("unknown_words"),
        "started": min(row["started"] for row in rows),
        "finished": max(done) if len(done) == len(ends) else None,
    }


def _joined_shard(what: str, shards: Sequence[str | None]) -> str | None:
    """The shard that several shards together are: None for all of it.

    Raises CallError if one is missing, if they are of several divisions, or if two have a part in
    common.
    """
    if len(shards) == 1:
        return shards[0]
    found = [_parts(what, each) for each in shards]
    together = found[0]
    for each in found[1:]:
        if each.count != together.count or each.meets(together):
            told = listed([shard or "all of it" for shard in shards])
            raise CallError(
                f"The exports hold parts of the {what} that overlap: {told}.",
                "Name the exports of one division, or the one with all of it.",
            )
        together = together.with_(each)
    if not together.is_whole:
        raise CallError(
            f"Of the {what} the exports hold {len(together.numbers)} shards, without"
            f" {together.missing}.",
            "Name its export too (--data DIR).",
        )
    return None


def _parts(what: str, shard: str | None) -> Parts:
    try:
        return read_parts(shard)
    except ValueError as error:
        raise CallError(
            f"The {what} says that it is the shard {str(shard)[:40]!r}, which is none.",
            "Export its bank again: attnbank export.",
        ) from error


def _without_shard(name: str, shard: str | None) -> str:
    return name if shard is None else name.replace(f"/shard{shard.replace('/', 'of')}", "")


def _options_without_shard(row: Row) -> dict[str, str]:
    return {name: value for name, value in (row["options"] or {}).items() if name != "shard"}


def _number(row: Row) -> int:
    """The place of a run among the shards of it: the number of the first that it has."""
    return min(_parts(f"run {row['name']}", (row["options"] or {}).get("shard")).numbers)


def _difference(column: str, one: Any, other: Any) -> str:
    said = ["none" if each is None else str(each)[:80] for each in (one, other)]
    return f"{column.replace('_', ' ')} is {said[0]} and {said[1]}"
