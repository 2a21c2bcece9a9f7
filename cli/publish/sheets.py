"""The sentences of a published bank as files: words, trees, and the panels for attention lines.

The code of `attnbank show` draws all but the lines; the page queries these for each head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from attnbank.cli.publish.answers import write_json
from attnbank.cli.viewer.records import words_record
from attnbank.queries import Bank
from attnbank.queries.options import ShowOptions
from attnbank.queries.pictures import sentence as pictures
from attnbank.queries.pictures.rendering import element
from attnbank.queries.pictures.sentence import Panel
from attnbank.queries.pictures.theme import THEMES
from attnbank.queries.pictures.tree import draw_tree
from attnbank.queries.sentences.attention import SentenceRecords, sentence_records
from attnbank.queries.sentences.choosing import ChosenSentence
from attnbank.sql.run_choice import Run

# Sentences in a file; its name is their number divided by this.
IN_A_FILE = 4
_NO_LINES = pl.DataFrame(schema={"from_position": pl.Int64, "to_position": pl.Int64,
                                 "weight": pl.Float64})  # fmt: skip
_NO_ARCS = pl.DataFrame(schema={"from_position": pl.Int64, "to_position": pl.Int64,
                                "is_found": pl.Boolean})  # fmt: skip


def write_sheets(folder: Path, bank: Bank, run: Run) -> Iterator[int]:
    """Write the sentences of a run, `IN_A_FILE` in a file; yield the number written so far.

    `names.json` has the number and name of each, in the order of the text.
    """
    with bank.backend.answering():
        rows = bank.backend.internal("sentences/of_run", run=run.id).rows()
    write_json(folder / "names.json", [[number, name] for number, name in rows])
    file: dict[str, Any] = {}
    for at, (number, name) in enumerate(rows, 1):
        chosen = ChosenSentence(number, name, run.corpus, run.corpus_name)
        with bank.backend.answering():
            options = ShowOptions(number, coreference=True)
            records = sentence_records(bank.backend, run, chosen, options)
            words = bank.backend.internal("sentences/words", sentence=number).rows()
        file[str(number)] = _sentence_record(records, chosen, words)
        if at == len(rows) or rows[at][0] // IN_A_FILE != number // IN_A_FILE:
            write_json(folder / f"{number // IN_A_FILE}.json", file)
            file = {}
            yield at


def _sentence_record(
    records: SentenceRecords, chosen: ChosenSentence, words: list[Any]
) -> dict[str, Any]:
    shown_positions = set(records.shown_positions["position"])
    word_positions = records.positions.filter(pl.col("kind").is_in(("word", "token")))["position"]
    has_rest = not shown_positions.issuperset(word_positions)
    panel = Panel(chosen.name, 0, 0, records.words, _NO_LINES, _NO_ARCS, records.mentions)
    bare = replace(panel, mentions=records.mentions.clear())
    record = words_record(records, chosen, words)
    record["panel"] = pictures.panel_svg(bare, has_elsewhere=has_rest)
    if records.mentions.height:
        record["mentions"] = records.mentions.rows()
        record["panel_with_mentions"] = pictures.panel_svg(panel, has_elsewhere=has_rest)
    tree = _tree(records)
    return record if tree is None else record | {"tree": tree}


def _tree(records: SentenceRecords) -> str | None:
    if records.tree is None:
        return None
    colours = THEMES["light"].sentence
    svg, height = draw_tree(records.tree, 0.0, 0.0, _ROOM, colours)
    return element(
        "svg", svg, xmlns="http://www.w3.org/2000/svg", width=f"{_ROOM:.0f}",
        height=f"{height:.0f}", viewBox=f"0 0 {_ROOM:.0f} {height:.0f}",
    )  # fmt: skip


# Width of a tree in pixels.
_ROOM = 1208.0
