"""The cache of answers: valid for the same analysis, parameters and run if nothing has changed.

The rows of a finished run never change. All else that an analysis may read is small: a digest of it
is stored with the answer and compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from attnbank.sql import statements
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
_STEPS = (
    "head_distance", "head_embedding", "tree_ensemble", "attention_tree", "attention_span",
    "computation",
)  # fmt: skip
_MEASURED = (
    "surprisal", "ablation_set", "ablated_head", "ablated_surprisal", "minimal_pair",
    "ablated_pair",
)  # fmt: skip
_SAVED = ("saved_relation", "saved_pair")
_RUNS = ("run", "preferred_run", "model", "corpus")
_TEXT = (
    "corpus", "document", "sentence", "word", "enhanced_dependency", "constituent", "mention",
)  # fmt: skip
_LARGE = ("attention_tree", "attention_span")
_FREQUENCIES = ("word_frequency",)

# Macros that read only which run is chosen, and its facts: an answer is found by that run.
_OF_THE_RUN = frozenset({"chosen_run", "run_candidate", "run_causality"})


def has_cache(connection: DuckDBPyConnection) -> bool:
    """Whether the bank has the table of cached answers; a view of that name does not count."""
    row = connection.execute(
        "select count(*) from duckdb_tables() where database_name = current_database()"
        " and schema_name = ? and table_name = 'result' and not temporary",
        [SCHEMA],
    ).fetchall()
    return row == [(1,)]


def parameters_text(
    connection: DuckDBPyConnection, analysis: Analysis, arguments: Mapping[str, Any]
) -> str:
    """The values of all parameters except the run, with defaults, as JSON. Raises duckdb.Error.

    DuckDB casts them, so that 0.1 typed, 0.1 in Python and the default are one key.
    """
    parameters = {
        parameter.name: parameter for parameter in analysis.parameters if parameter.name != "run"
    }
    if not parameters:
        return "{}"
    values = ", ".join(
        f"cast(cast({f'${name}' if name in arguments else parameter.default} as {parameter.type})"
        " as varchar)"
        for name, parameter in parameters.items()
    )
    bound = {name: value for name, value in arguments.items() if name in parameters}
    (row,) = connection.execute(f"select {values}", bound).fetchall()
    return json.dumps(dict(zip(parameters, row, strict=True)), sort_keys=True, ensure_ascii=False)


def dependency_digest(
    connection: DuckDBPyConnection, analysis: Analysis, arguments: Mapping[str, Any]
) -> str:
    """A digest (SHA-256) of what an answer depends on besides its run and parameters.

    That is the text of every analysis, and of those small tables that may change while a run does
    not: the runs, if it looks for another one; probes; results of `compute`; surprisals and
    ablations; saved relations, if a relation is requested; word frequencies.
    """
    tables: set[str] = set()
    words = _relations_read(analysis.name, analysis.body)
    for group in (_PROBES, _STEPS, _MEASURED, _FREQUENCIES):
        if words & set(group) or analysis.is_own:
            tables |= set(group)
    if arguments.get("relation") is not None or analysis.is_own:
        tables |= set(_SAVED)
    names_another = any(
        parameter.names_run and parameter.name != "run" for parameter in analysis.parameters
    )
    if analysis.run is None or names_another or words & {*_RUNS, "run_candidate"}:
        tables |= set(_RUNS)
    if analysis.run is None:
        tables |= set(_TEXT)
    digests = [_contents(connection, table) for table in sorted(tables)]
    parts = [fingerprint(), analysis.text if analysis.is_own else "", *digests]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _contents(connection: DuckDBPyConnection, table: str) -> str:
    """What is in a table, whatever the order of its rows.

    A text does not change once it is in the bank, and table computation says when decoded trees
    were: so of these large tables only the rows are counted.
    """
    if table in (*_TEXT, *_LARGE) and table != "corpus":
        select = f"select count(*) from main.{table}"
    else:
        # Two sums that no order of the rows changes; one alone would miss rows that cancel out.
        select = f"select count(*), bit_xor(hash(row)), sum(hash(row)) from main.{table} as row"
    (row,) = connection.execute(select).fetchall()
    return f"{table} {row}"


@cache
def _relations_read(name: str, body: str) -> frozenset[str]:
    """The names after FROM and JOIN in an analysis and what it reads, but for `_OF_THE_RUN`."""
    known = shared() | analyses()
    names = set(statements.sources(body))
    for other in statements.relations_read(body, known) - {name}:
        if other not in _OF_THE_RUN:
            names |= _relations_read(other, known[other].body)
    return frozenset(names)
