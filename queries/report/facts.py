"""What was run, as terms and what is to be said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attnbank.sql.outputs.lines import shown

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries.sections.origin import Origin

Facts = list[tuple[str, str]]


def of_runs(origin: Origin) -> list[tuple[str, Facts]]:
    """Return for each run its name, and terms with their values in plain words."""
    return [(shown(row["name"]), list(_run(row, origin))) for row in _rows(origin.runs)]


def of_models(origin: Origin) -> list[tuple[str, Facts]]:
    """Return for each model its name, and terms with their values in plain words."""
    return [(_model_name(row), list(_model(row))) for row in _rows(origin.models)]


def of_corpora(origin: Origin) -> list[tuple[str, Facts]]:
    """Return for each corpus its name, and terms with their values in plain words."""
    return [(row["name"], list(_corpus(row))) for row in _rows(origin.corpora)]


def left_out(origin: Origin) -> list[str]:
    """Return what the runs left out, and why, as a line for each reason."""
    return [
        f"{_number(row['n'])} {row['reason']} "
        f"({row['run'] or 'every run over ' + row['corpus']}); the first: {row['example']}"
        for row in _rows(origin.skipped)
    ]


def departures(origin: Origin) -> list[str]:
    """Return where a source departs from its format without harm, as a line for each reason."""
    return [
        f"{_number(row['n'])} {row['reason']} (corpus {row['corpus']}); the first: {row['example']}"
        for row in _rows(origin.departures)
    ]


def setup(origin: Origin) -> str:
    """Name the models and corpora of the runs, to stand beside what a paper measured on."""
    models = [
        f"{row['name']} ({row['layers']} layers of {row['heads']} heads"
        f"{'' if row['random_seed'] is None else ', random weights'})"
        for row in _rows(origin.models)
    ]
    corpora = [
        f"{row['name']} ({_number(row['sentences'])} sentences, {_number(row['words'])} words)"
        for row in _rows(origin.corpora)
    ]
    return f"{' and '.join(models)} over {' and '.join(corpora)}"


def _number(count: int) -> str:
    return f"{count:,}"


def _rows(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows, with texts as they can be shown: control characters are written out."""
    for row in frame.iter_rows(named=True):
        yield {key: shown(value) if isinstance(value, str) else value for key, value in row.items()}


def _run(row: dict[str, Any], origin: Origin) -> Iterator[tuple[str, str]]:
    yield "model", _model_name({"name": row["model"], "random_seed": row["random_seed"]})
    yield "corpus", row["corpus"]
    yield (
        "inputs",
        f"{_inputs(row)}, at most {row['max_tokens']} tokens each; a position is a {row['unit']}",
    )
    if row["unit"] == "word":
        way = "the mean over its pieces" if row["subword"] == "mean" else "its first piece"
        yield "split words", f"attention from a split word is that of {way}"
    chosen = _chosen(row)
    if chosen:
        yield "options", chosen
    rounded = "" if row["decimals"] is None else f", rounded to {row['decimals']} decimals"
    is_whole = row["keep"] != "peaks"
    held = f"{_number(row['weights'])} weights{rounded}" if is_whole else "only peaks and sums"
    yield (
        "held",
        f"{_number(row['sentences'])} sentences, {_number(row['words'])} words, {held}",
    )
    yield (
        "when",
        f"started {row['started']:%Y-%m-%d %H:%M} UTC, "
        + (
            "not finished: figures are over its first part"
            if row["finished"] is None
            else f"finished {row['finished']:%Y-%m-%d %H:%M} UTC, on {row['device']}"
        ),
    )
    versions = [f"attnbank {row['code_version']}"]
    for each in _rows(origin.versions):
        if each["run"] == row["name"]:
            versions.append(f"{each['library']} {each['version']}")
    yield "versions", ", ".join(versions)


def _inputs(row: dict[str, Any]) -> str:
    kinds = {
        "sentence": "single sentences",
        "document": "whole sentences of a document",
        "pair": "pairs of segments",
    }
    return kinds.get(row["context"], str(row["context"]))


def _chosen(row: dict[str, Any]) -> str:
    told = {
        "shard": "the shard {} of the documents",
        "truncate": "the first input of each document alone",
        "limit": "a sample of {} inputs",
        "seed": "seed {}",
        "gradients": "gradients",
        "ablate": "ablation of {}",
        "replacement": "replaced by {}",
        "mask_seed": "mask seed {}",
    }
    return ", ".join(text.format(row[key]) for key, text in told.items() if row[key] is not None)


def _model_name(row: dict[str, Any]) -> str:
    seed = row["random_seed"]
    return f"{row['name']}{'' if seed is None else f', random weights (seed {seed})'}"


def _model(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield (
        "architecture",
        f"{row['architecture']}, {row['layers']} layers with {row['heads']} heads each",
    )
    if row["revision"]:
        yield "revision", row["revision"]
    yield "tokenizer", row["tokenizer"]
    yield "SHA-256", row["sha256"]


def _corpus(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    silver = f", predicted by {row['annotator']}" if row["annotator"] else ""
    yield "annotation", f"{row['annotation']}{silver}; format {row['format']}"
    yield (
        "extent",
        f"{_number(row['documents'])} documents, {_number(row['sentences'])} sentences,"
        f" {_number(row['words'])} words, {_number(row['mentions'])} mentions",
    )
    yield "SHA-256", row["sha256"]
