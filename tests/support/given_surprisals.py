"""Surprisals that were made up, for runs of models that cannot be asked for any."""

from __future__ import annotations

from pathlib import Path

import duckdb


def give(bank: Path, left_out: int = 0) -> None:
    """Give each word of a bank's runs a surprisal below 20 that is a multiple of a quarter.

    Some words have the same; first words, and one of eleven others, have none. One of `left_out`
    sentences has no rows, as if the measurement had been stopped before it; 0 leaves out none.
    """
    with duckdb.connect(str(bank)) as connection:
        connection.execute(
            "insert into surprisal select sequence.run, word.id,"
            " case when word.index > 1 and word.id * 7 % 11 > 0"
            " then (word.id % 79) * (word.id % 79) % 79 / 4 end, null, 1 from sequence"
            " inner join position on position.sequence = sequence.id"
            " inner join word on word.id = position.word"
            " where $left_out = 0 or word.sentence % $left_out > 0",
            {"left_out": left_out},
        )
