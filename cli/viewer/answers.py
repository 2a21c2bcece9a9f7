"""Files that a published page shows without querying the bank: analyses, heads, pictures.

They are records of cli/viewer/records.py; pictures are those of `attnbank plot`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from attnbank.cli.viewer import records
from attnbank.cli.viewer.bank_cache import BankCache, BankHandle, collecting_warnings
from attnbank.queries import Bank
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
    `ANALYSIS.dark.svg`, `profile.json`, `nearest.json` and `map.json`; the folder `any` has the
    analyses that read no single run.
    """
    with cache.open() as handle:
        for number, run in runs.items():
            for name, analysis in analyses().items():
                if _takes_run(analysis):
                    yield f"{name} of {run.name}"
                    _write_answer(folder / str(number), handle, analysis, {"run": run.name})
            yield f"heads of {run.name}"
            _write_records(folder / str(number), handle.bank, run)
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
            reason = {"error": records.fault_record(error, bank, bank.path.name)}
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


def _write_records(folder: Path, bank: Bank, run: Run) -> None:
    """Write what views show of all heads of a run, or why there is nothing."""

    def heads_map() -> dict[str, Any]:
        return records.map_record(bank.query("figure_6", run=run.name))

    for name, make in (
        ("profile", partial(records.profile_record, bank, run)),
        ("nearest", partial(records.nearest_record, bank, run)),
        ("map", heads_map),
    ):
        with collecting_warnings():
            try:
                record = make()
            except AttnbankError as error:
                record = {"error": records.fault_record(error, bank, bank.path.name)}
        write_json(folder / f"{name}.json", record)


def write_contents(file: Path, bank: Bank) -> None:
    """Write the contents of the bank."""
    write_json(file, records.contents_record(bank))


def write_json(file: Path, value: Any) -> None:
    """Write a value as JSON; create missing folders."""
    write_text(file, records.json_text(value))


def write_text(file: Path, text: str) -> None:
    """Write a text in UTF-8; create missing folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
