"""Kept answers: by what they are found again, and what they were computed from.

A kept answer is given again if the analysis, its parameters and its run are the same, and if
nothing that it was computed from has changed. The rows of a finished run never change. All else
that an analysis may read is small, so a digest of it is kept with the answer and compared. Kept
answers are in a schema of their own, which is made with the first of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from attnbank.sql import reading
from attnbank.sql.header import Analysis
from attnbank.sql.macros import fingerprint
from attnbank.sql.registry import analyses, shared

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SCHEMA = "kept"
TABLE = f"{SCHEMA}.result"
CREATE = (
    f"create schema if not exists {SCHEMA}",
    f"create table if not exists {TABLE} (analysis varchar not null, parameters varchar not null,"
    " run integer, reads varchar not null, row_count bigint not null, answer blob not null,"
    " seconds double not null, code_version varchar not null, finished timestamp not null)",
)
_PROBES = ("probe", "probe_score", "probe_weight")
_STEPS = ("head_distance", "head_embedding", "computation")
_SAVED = ("saved_relation", "saved_pair")
_RUNS = ("run", "preferred_run", "model", "corpus")
_TEXT = ("corpus", "document", "sentence", "word", "mention")
_FREQUENCIES = ("word_frequency",)
_CHOICE = frozenset({"chosen_run", "run_fit"})
"""Macros that read the table `run` only to choose one. The chosen run is one of the things that an
answer is found by, so what these macros read need not be compared."""


def exists(connection: DuckDBPyConnection) -> bool:
    """Whether the bank has the table of kept answers; a view of that name does not count."""
    found = connection.execute(
        "select count(*) from duckdb_tables() where database_name = current_database()"
        " and schema_name = ? and table_name = 'result' and not temporary",
        [SCHEMA],
    ).fetchall()
    return found == [(1,)]


def parameters_text(
    connection: DuckDBPyConnection, analysis: Analysis, given: Mapping[str, Any]
) -> str:
    """The values of all parameters except the run, with defaults, as one JSON text.

    Equal values give equal texts. `given` are values that fit the header. Raises duckdb.Error if
    DuckDB cannot read the default of a parameter as its type.
    """
    asked = [each for each in analysis.parameters if each.name != "run"]
    if not asked:
        return "{}"
    values = ", ".join(
        f"cast(cast({f'${each.name}' if each.name in given else each.default} as {each.type})"
        " as varchar)"
        for each in asked
    )
    names = {each.name for each in asked}
    bound = {name: value for name, value in given.items() if name in names}
    (row,) = connection.execute(f"select {values}", bound).fetchall()
    told = dict(zip((each.name for each in asked), row, strict=True))
    return json.dumps(told, sort_keys=True, ensure_ascii=False)


def reads(connection: DuckDBPyConnection, analysis: Analysis, given: Mapping[str, Any]) -> str:
    """A digest (SHA-256) of what an answer depends on besides its run and parameters.

    That is the text of every analysis, and the contents of those small tables that the analysis
    reads and that may change while a run does not: the runs, if it looks for another one; probes;
    results of `compute`; saved relations, if a relation is asked for; frequencies of words.
    """
    tables: set[str] = set()
    words = _words(analysis.name, analysis.body)
    for group in (_PROBES, _STEPS, _FREQUENCIES):
        if words & set(group) or analysis.is_own:
            tables |= set(group)
    if given.get("relation") is not None or analysis.is_own:
        tables |= set(_SAVED)
    names_another = any(each.names_run and each.name != "run" for each in analysis.parameters)
    if analysis.run is None or names_another or words & {*_RUNS, "run_fit"}:
        tables |= set(_RUNS)
    if analysis.run is None:
        tables |= set(_TEXT)
    told = [_contents(connection, table) for table in sorted(tables)]
    parts = [fingerprint(), analysis.text if analysis.is_own else "", *told]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _contents(connection: DuckDBPyConnection, table: str) -> str:
    """What is in a table, whatever the order of its rows.

    Of the large tables of a corpus's text it is only the number of rows: a text does not change
    once it is in the bank, and the rows of `corpus` are compared in full.
    """
    if table in _TEXT and table != "corpus":
        select = f"select count(*) from main.{table}"
    else:
        select = f"select count(*), bit_xor(hash(each)), sum(hash(each)) from main.{table} as each"
    (row,) = connection.execute(select).fetchall()
    return f"{table} {row}"


@cache
def _words(name: str, body: str) -> frozenset[str]:
    """The names after FROM and JOIN in an analysis and all that it reads, except in `_CHOICE`."""
    known = shared() | analyses()
    found = set(reading.sources(body))
    for other in reading.relations(body, known) - {name}:
        if other not in _CHOICE:
            found |= _words(other, known[other].body)
    return frozenset(found)
