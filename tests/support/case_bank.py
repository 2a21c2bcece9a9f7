"""Makes a bank of a few rows that are given as CSV text; what is not given gets a neutral value."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import new_banks
import numpy as np
import polars as pl

from attnbank.ingest.attention.merged_maps import TOTALS, PositionKinds, map_sums
from attnbank.ingest.models.tokenizer import Position
from attnbank.sql.names import sql_literal as literal

ALWAYS = ("corpus", "document", "sentence", "model", "run")
"""Tables that get one row, with id 1, if a case does not give them."""

_NEUTRAL = {
    "corpus.annotation": "gold",
    "model.layers": "1",
    "model.heads": "1",
    "run.context": "sentence",
    "run.unit": "word",
    "run.subword": "mean",
    "run.finished": "2020-01-02 03:04:05",
    "position.kind": "word",
}
_COLUMNS: dict[str, list[tuple[str, str, bool]]] = {}
"""The columns of each table: name, type and whether it may be null. Filled at the first insert."""
_BY_TYPE = {"VARCHAR": "x", "BOOLEAN": "true", "TIMESTAMP": "2020-01-02 03:04:05"}


def make_bank(path: Path, given: Mapping[str, str]) -> Path:
    """Make a bank with the rows of `given`, which has a CSV text per table.

    A run without parts gets one. The sums of attention maps are computed as an ingest does, where
    the maps are whole: where the case says how many positions its sequences have.
    """
    path.write_bytes(_empty_bank())
    with _attached(path) as connection:
        insert_rows(connection, given)
    return path


def insert_rows(connection: duckdb.DuckDBPyConnection, given: Mapping[str, str]) -> None:
    """Insert the rows of `given` into a bank without any, as `make_bank` does."""
    connection.execute("begin")  # one transaction, since a commit takes as long as all the rows
    for table in ALWAYS:
        if table not in given:
            _insert(connection, table, [{}])
    for table, text in given.items():
        _insert(connection, table, read_rows(text))
    connection.execute(
        "insert into run_part by name select id as run, 1 as batches, 1 as batch_tokens,"
        " 'x' as device, map() as libraries, started, finished from run"
        " where id not in (select run from run_part)"
    )
    if "attention" in given and "positions" in given["sequence"]:
        _insert_sums(connection)
    connection.execute("commit")


def delete_rows(connection: duckdb.DuckDBPyConnection, given: Mapping[str, str]) -> None:
    """Delete what `insert_rows` has inserted."""
    for table in {*ALWAYS, *given, "run_part", "attention_map"}:
        connection.execute(f"delete from {table}")


@contextmanager
def _attached(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a new bank, which needs no check.

    Of a database in memory that stays, since to make one and end it takes as long as all the rows.
    """
    connection = _memory()
    connection.execute(f"attach {literal(str(path))} as case_bank")
    try:
        connection.execute("use case_bank")
        yield connection
    except BaseException:
        connection.rollback()
        raise
    finally:
        connection.execute("use memory")
        connection.execute("detach case_bank")


@cache
def _empty_bank() -> bytes:
    with TemporaryDirectory() as folder:
        return new_banks.put(Path(folder, "empty.duckdb")).read_bytes()


@cache
def _memory() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _insert_sums(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill table attention_map from the weights."""
    positions: dict[int, list[Position]] = {}
    for sequence, *position in connection.execute(
        "select sequence, kind, word, text, position, position + 1, segment from position"
        " order by sequence, position"
    ).fetchall():
        positions.setdefault(sequence, []).append(Position(*position))
    rows = []
    for sequence, layer, head, weights in connection.execute(
        "select sequence, layer, head, list(weights order by from_position) from attention"
        " group by sequence, layer, head"
    ).fetchall():
        if sequence not in positions:  # a case need not have what its analysis does not read
            continue
        kinds = PositionKinds.from_positions(positions[sequence])
        sums = map_sums(np.array([weights], np.float32), kinds)
        totals = dict(zip(TOTALS, sums.totals[0].tolist(), strict=True))
        if not kinds.cls.any():
            totals["entropy_from_cls"] = None
        lists = {
            name: getattr(sums, name)[0].tolist()
            for name in ("offsets", "received", "given", "largest_positions", "largest_weights")
        }
        for place in kinds.sep.nonzero()[0]:
            lists["largest_positions"][place] = lists["largest_weights"][place] = None
        rows.append({"sequence": sequence, "layer": layer, "head": head, **totals, **lists})
    connection.register("sums", pl.DataFrame(rows, infer_schema_length=None).to_arrow())
    connection.execute("insert into attention_map by name from sums")


def read_rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text; the separator is ; if the header has one."""
    lines = text.strip("\n")
    separator = ";" if ";" in lines.split("\n", 1)[0] else ","
    reader = csv.DictReader(io.StringIO(lines), delimiter=separator, skipinitialspace=True)
    rows = list(reader)
    for row in rows:
        assert None not in row and None not in row.values(), f"ragged row: {row}"
    return rows


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, str]]) -> None:
    if not _COLUMNS:  # kept for all banks, since this takes longer than inserting the rows
        for name, *column in connection.execute(
            "select table_name, column_name, data_type, is_nullable from duckdb_columns()"
            " where schema_name = 'main' and database_name = current_database()"
            " order by table_name, column_index"
        ).fetchall():
            _COLUMNS.setdefault(name, []).append(tuple(column))
    assert table in _COLUMNS, f"there is no table {table}"
    columns = _COLUMNS[table]
    known = {name for name, _, _ in columns}
    every = []
    for row in rows:
        assert row.keys() <= known, f"{table} has no column {row.keys() - known}"
        every.append([
            (row[name] or None) if name in row else _neutral(table, name, type_, nullable)
            for name, type_, nullable in columns
        ])  # fmt: skip
    if every:  # as one statement: of a prepared one each row takes as long as this
        values = ", ".join(f"({', '.join(map(_literal, row))})" for row in every)
        connection.execute(f"insert into {table} values {values}")


def _literal(cell: str | None) -> str:
    return "null" if cell is None else literal(cell)


def _neutral(table: str, column: str, type_: str, is_nullable: bool) -> str | None:
    if f"{table}.{column}" in _NEUTRAL:
        return _NEUTRAL[f"{table}.{column}"]
    if is_nullable:
        return None
    if type_.endswith("[]"):
        return "[]"
    if type_.startswith("MAP"):
        return "{}"
    return _BY_TYPE.get(type_, "1")
