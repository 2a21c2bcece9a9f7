"""The sentences of a published bank as files: their positions, words, mentions and trees.

The page reads the attention of heads from the bank itself, and draws it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnbank.cli.viewer.answers import write_json
from attnbank.cli.viewer.records import tree_record, words_record
from attnbank.queries import Bank
from attnbank.queries.options import ShowOptions
from attnbank.queries.sentences.attention import SentenceRecords, sentence_records
from attnbank.queries.sentences.choosing import ChosenSentence
from attnbank.sql.run_choice import Run

# Sentences in a file; its name is their number divided by this.
IN_A_FILE = 4


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
    record = words_record(records, chosen, words)
    if records.mentions.height:
        record["mentions"] = records.mentions.rows()
    if records.tree is not None:
        record["tree"] = tree_record(f"The tree of {chosen.name}", records.tree)
    return record
