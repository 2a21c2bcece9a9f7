"""Files that a published page shows without querying the bank: analyses, heads, pictures.

Rows are those of `Bank.query`, in full precision; heads and the map are the template variables of
the explorer's views, and pictures those of `attnbank plot`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import polars as pl

from attnbank.cli.explorer import head, heads, table_pages
from attnbank.cli.explorer.bank_cache import BankCache, BankHandle, collecting_warnings
from attnbank.cli.explorer.request import RequestContext
from attnbank.cli.viewer import records
from attnbank.queries.pictures import SCREENS
from attnbank.sql.errors import AttnbankError
from attnbank.sql.header import Analysis
from attnbank.sql.registry import analyses
from attnbank.sql.run_choice import Run

# The largest files of rows and of pictures, in bytes; for larger ones the page queries the bank.
MOST_BYTES = 1_500_000
MOST_PICTURE = 1_500_000


def write_answers(folder: Path, cache: BankCache, runs: Mapping[int, Run]) -> Iterator[str]:
    """Write the rows of all analyses, for each run; yield the name of each step.

    In `folder`, each run has a folder with `ANALYSIS.json`, `ANALYSIS.light.svg`,
    `ANALYSIS.dark.svg`, `heads/3-1.json`, `profile.json`, `map.json` and `overview.json`; the
    folder `any` has the analyses that read no single run.
    """
    with cache.open() as handle:
        for number, run in runs.items():
            for name, analysis in analyses().items():
                if _takes_run(analysis):
                    yield f"{name} of {run.name}"
                    _write_answer(folder / str(number), handle, analysis, {"run": run.name})
            _write_profile(folder / str(number), handle, run)
            yield f"heads of {run.name}"
            _write_heads(folder / str(number), cache, handle, run)
        for name, analysis in analyses().items():
            if not _takes_run(analysis):
                yield name
                _write_answer(folder / "any", handle, analysis, {})


def _takes_run(analysis: Analysis) -> bool:
    return any(parameter.name == "run" for parameter in analysis.parameters)


def _write_answer(
    folder: Path, handle: BankHandle, analysis: Analysis, arguments: dict[str, Any]
) -> None:
    """Write the rows of an analysis, or why there are none, and its pictures."""
    bank = handle.bank
    with collecting_warnings() as notes:
        try:
            frame = bank.query(analysis.name, **arguments)
        except AttnbankError as error:
            reason = {"error": {"fact": error.fact, "remedy": error.remedy}}
            write_json(folder / f"{analysis.name}.json", reason)
            return
    text = records.json_text(records.frame_record(frame) | {"notes": notes})
    if len(text) > MOST_BYTES:
        return
    write_text(folder / f"{analysis.name}.json", text)
    if analysis.plot is None or not frame.height:
        return
    for theme in SCREENS:
        try:
            picture = bank.picture(analysis.name, theme=theme, **arguments)
        except AttnbankError:  # mostly too many rows for one picture; the page shows the table
            return
        svg = picture.as_bytes(".svg")
        if len(svg) <= MOST_PICTURE:
            (folder / f"{analysis.name}.{theme}.svg").write_bytes(svg)


def _write_profile(folder: Path, handle: BankHandle, run: Run) -> None:
    """Write what the atlas shows of each head, or why there is nothing."""
    try:
        record = records.profile_record(handle.bank, run)
    except AttnbankError as error:
        record = {"error": {"fact": error.fact, "remedy": error.remedy}}
    write_json(folder / "profile.json", record)


def _write_heads(folder: Path, cache: BankCache, handle: BankHandle, run: Run) -> None:
    parameters = {"run": run.name}
    for layer in run.numbers:
        for number in range(1, run.heads + 1):
            name = f"{layer}-{number}"
            context = RequestContext(
                cache, handle, parameters, {"head": name}, f"/head/{name}", False
            )
            _write_view(folder / "heads" / f"{name}.json", head.head_view, context)
    for name, view in (("map", heads.view_map), ("overview", heads.overview)):
        context = RequestContext(cache, handle, parameters, {}, f"/{name}", False)
        _write_view(folder / f"{name}.json", view, context)


def write_contents(file: Path, cache: BankCache) -> None:
    """Write the template variables of the explorer's page on the contents."""
    with cache.open() as handle:
        _write_view(
            file, table_pages.contents, RequestContext(cache, handle, {}, {}, "/bank", False)
        )


def _write_view(file: Path, view: Any, context: RequestContext) -> None:
    """Write the template variables of a view of the explorer, without functions."""
    variables: dict[str, Any] = {}
    with collecting_warnings() as notes:
        try:
            view(context, variables)
        except AttnbankError as error:
            variables["error"] = {"fact": error.fact, "remedy": error.remedy}
    for name in (
        "command",
        "plot_command",
    ):  # they name the local file; the page makes its own, with its address
        variables.pop(name, None)
    write_json(file, _to_json_value(variables) | {"notes": notes})


def _to_json_value(value: Any) -> Any:
    """Convert a template variable to JSON, without functions and frames."""
    if isinstance(value, Mapping):
        return {
            str(name): _to_json_value(item)
            for name, item in value.items()
            if not isinstance(item, pl.DataFrame) and not callable(item)
        }
    if isinstance(value, (list, tuple)):
        return [_to_json_value(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _to_json_value({name: getattr(value, name) for name in asdict(value)})
    return value


def write_json(file: Path, value: Any) -> None:
    """Write a value as JSON; create missing folders."""
    write_text(file, records.json_text(value))


def write_text(file: Path, text: str) -> None:
    """Write a text in UTF-8; create missing folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
