"""The cache of answers: valid for the same statement and values while the bank is the same.

Column `changes` of table `bank` says whether it is: every transaction that changes the bank raises
it (`connections.transaction`). Only word frequencies come into a bank without attnbank.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attnbank.sql.header import Analysis
from attnbank.sql.registry import fingerprint

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SCHEMA = "kept"
TABLE = f"{SCHEMA}.result"
_COLUMNS = {
    "question": "varchar not null", "state": "varchar not null", "analysis": "varchar not null",
    "run": "integer", "row_count": "bigint not null", "answer": "blob not null",
    "seconds": "double not null", "code_version": "varchar not null",
    "finished": "timestamp not null",
}  # fmt: skip
CREATE = (
    f"create schema if not exists {SCHEMA}",
    f"create table if not exists {TABLE} ({', '.join(map(' '.join, _COLUMNS.items()))})",
)
# The most bytes of an answer; nothing larger is stored or read.
MOST_BYTES = 64_000_000
_STATE = """
    select concat(bank.changes, ' ', frequencies.n, ' ', frequencies.digest)
    from main.bank
    cross join (select count(*) as n, sum(hash(row)) as digest from main.word_frequency as row)
        as frequencies
"""


@dataclass(frozen=True)
class CachedAnswer:
    """The rows of an analysis as an Arrow stream, and to which question in which state of the bank.

    `run` is None if the answer is not about one run.
    """

    question: str
    state: str
    analysis: str
    run: int | None
    row_count: int
    answer: bytes
    seconds: float
    code_version: str
    finished: datetime


def question(
    connection: DuckDBPyConnection,
    analysis: Analysis,
    arguments: Mapping[str, Any],
    run: int | None,
) -> str:
    """A digest of an analysis, its run, and the values of its parameters. Raises duckdb.Error.

    DuckDB casts the values, so that 0.1 typed, 0.1 in Python and the default are the same.
    """
    parameters = [parameter for parameter in analysis.parameters if parameter.name != "run"]
    casts = [
        f"cast(cast({f'${name}' if (name := parameter.name) in arguments else parameter.default}"
        f" as {parameter.type}) as varchar)"
        for parameter in parameters
    ]
    names = [parameter.name for parameter in parameters]
    bound = {name: value for name, value in arguments.items() if name in names}
    (values,) = connection.execute(f"select [{', '.join(casts)}]::varchar[]", bound).fetchall()[0]
    own = analysis.text if analysis.is_own else ""
    parts = [fingerprint(), own, analysis.name, run, names, values]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def state(connection: DuckDBPyConnection) -> str:
    """What is the same while the current bank is."""
    ((text,),) = connection.execute(_STATE).fetchall()
    return str(text)


def has_cache(connection: DuckDBPyConnection) -> bool:
    """Whether the bank has the table of cached answers, with its own columns.

    A view of that name does not count, nor a table with columns that are computed when it is read.
    """
    own = "database_name = current_database() and schema_name = ? and table_name = 'result'"
    tables = connection.execute(
        f"select count(*) from duckdb_tables() where {own} and not temporary", [SCHEMA]
    ).fetchall()
    if tables != [(1,)]:
        return False
    columns = connection.execute(
        "select column_name, lower(data_type), column_default from duckdb_columns()"
        f" where {own} order by column_index",
        [SCHEMA],
    ).fetchall()
    return columns == [(name, type_.split()[0], None) for name, type_ in _COLUMNS.items()]


def store(connection: DuckDBPyConnection, answers: Sequence[CachedAnswer]) -> None:
    """Store answers, unless the bank has changed since, and delete those before its last change."""
    for statement in CREATE:
        connection.execute(statement)
    current = state(connection)
    connection.execute(f"delete from {TABLE} where state <> ?", [current])
    for answer in answers:
        if answer.state != current:
            continue
        connection.execute(f"delete from {TABLE} where question = ?", [answer.question])
        values = asdict(answer)
        marks = ", ".join("?" * len(values))
        connection.execute(
            f"insert into {TABLE} ({', '.join(values)}) values ({marks})", [*values.values()]
        )
