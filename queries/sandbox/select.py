"""A sandbox for the SELECT of anyone on a bank.

A read-only connection can still be made to overwrite the file that it reads (`COPY ... TO`), even
in a common table expression. So the statement runs in an in-memory database that has the bank
attached, where no file system, network, extension or setting can be reached any more.

DuckDB checks the time only between parts of its work, and does not count all memory. What must end
whatever the statement does runs in a separate process (isolated.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb import DuckDBPyConnection

from attnbank.queries.connections.cursors import Cursors
from attnbank.queries.results import (
    ROWS_AT_ONCE,
    as_frames_have_it,
    frame_of_arrow,
    is_interrupt,
    query_error,
    wide_columns,
)
from attnbank.sql.bank.explaining import damaged, is_damage
from attnbank.sql.bank.formats import check_carried
from attnbank.sql.bank.opening import install_beside, open_to_ask
from attnbank.sql.errors import QueryError
from attnbank.sql.reading import of_paper

SECONDS = 300.0
"""How long a statement may take."""
MEMORY = 2_000_000_000
"""How many bytes a statement may take; its result may take as many again."""

_READS = frozenset({"SELECT", "MULTI"})  # a PIVOT is several statements


class Sandbox:
    """A bank that untrusted statements may read, from any thread."""

    def __init__(
        self,
        path: Path,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        opened: tuple[Cursors, bool] | None = None,
    ) -> None:
        """Open the bank, unless it is `opened` with these limits already.

        `seconds` and `memory` (in bytes) are the limits of each statement. `opened` also says
        whether another version wrote the bank's analyses. Raises BankError if the bank cannot be
        opened.
        """
        self.seconds = seconds
        self.memory = memory
        self._path = path
        self._cursors, self._is_other_version = opened or _open(path, seconds, memory)

    def close(self) -> None:
        """Close the bank."""
        self._cursors.close()

    def run(
        self, statement: str, params: Mapping[str, Any] | Sequence[Any] | None = None
    ) -> pl.DataFrame:
        """The result of one SELECT.

        Raises QueryError if it is not a single SELECT or is wrong, or if it or its result exceeds
        the limits; BankError if the bank is damaged or closed.
        """
        frames, size = [], 0.0
        for frame in self.frames(statement, params):
            size += frame.estimated_size()
            if size > self.memory:
                raise too_big(self.memory)
            frames.append(frame)
        return pl.concat(frames, rechunk=True) if frames else pl.DataFrame()

    def frames(
        self, statement: str, params: Mapping[str, Any] | Sequence[Any] | None = None
    ) -> Iterator[pl.DataFrame]:
        """The result of one SELECT in parts: at least one, so that its columns are known.

        DuckDB computes a part only when it is asked for. Raises as `run` does.
        """
        connection = self._cursors.own()
        with self._cursors.answering(), self._explaining():
            _check(connection, connection.extract_statements(statement))
            if self._is_other_version:
                _check_views(connection, self._path, statement)
            found = connection.query(statement, params=params)
            if found is None:
                return
            wide = wide_columns(found)
            reader = as_frames_have_it(found).to_arrow_reader(ROWS_AT_ONCE)
            try:
                is_empty = True
                for batch in reader:
                    is_empty = False
                    yield frame_of_arrow(batch, wide)
                if is_empty:
                    yield frame_of_arrow(reader.schema.empty_table(), wide)
            finally:
                reader.close()

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Within, an error of DuckDB becomes one that says what to do."""
        try:
            yield
        except (MemoryError, duckdb.OutOfMemoryException) as error:
            raise out_of_memory(self.memory) from error
        except duckdb.InterruptException as error:
            raise out_of_time(self.seconds) from error
        except duckdb.PermissionException as error:
            raise QueryError(
                "The statement reaches for a file, the network or an extension.",
                "Only the bank can be read here; for anything else: attnbank shell.",
            ) from error
        except (duckdb.Error, RuntimeError, ValueError, TypeError, OSError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            if "INTERRUPT" in str(error):  # an Arrow reader passes on the error only as a text
                raise out_of_time(self.seconds) from error
            if "Out of Memory" in str(error):
                raise out_of_memory(self.memory) from error
            if is_damage(error):
                raise damaged(self._path, error) from error
            raise query_error(error) from error


def open_within(path: Path, seconds: float, memory: int) -> tuple[DuckDBPyConnection, bool]:
    """Open a bank for statements with these limits; and whether another version wrote its analyses.

    Raises BankError if it cannot be opened, QueryError if there is no time even for that.
    """
    settings = (f"set memory_limit = '{memory} bytes'", f"set threads = {os.cpu_count() or 1}")
    try:
        return open_to_ask(path, settings, spills=False, seconds=seconds)
    except duckdb.InterruptException as error:
        raise out_of_time(seconds) from error


def _open(path: Path, seconds: float, memory: int) -> tuple[Cursors, bool]:
    """The cursors of a newly opened bank, and whether another version wrote its analyses."""
    connection, is_old = open_within(path, seconds, memory)
    return Cursors(
        connection, path, lambda cursor: install_beside(cursor, path) if is_old else None
    ), is_old


def out_of_time(seconds: float) -> QueryError:
    """The error for a statement that did not end in time."""
    return QueryError(
        f"The statement took longer than {seconds:g} seconds.",
        "Make it smaller, or give it more time (--timeout, seconds=).",
    )


def out_of_memory(memory: int) -> QueryError:
    """The error for a statement that needs more than `memory` bytes."""
    return QueryError(
        f"The statement needs more memory than it may take ({memory / 1e9:g} GB).",
        "Filter by sequence, layer or head first, or give it more (--memory, memory=).",
    )


def too_big(memory: int) -> QueryError:
    """The error for a result that is larger than `memory` bytes."""
    return QueryError(
        f"The result is larger than the memory that it may take ({memory / 1e9:g} GB).",
        "Filter it or count in SQL, give it more (memory=), or write it to a file (attnbank sql"
        " -o FILE.parquet).",
    )


def _check_views(connection: duckdb.DuckDBPyConnection, path: Path, statement: str) -> None:
    """Raise BankError if a statement reads from the schema `paper` what another version wrote.

    This version's macros, made in memory, hide those of the file, but its views cannot.
    """
    for name in of_paper(statement):
        check_carried(connection, path, f"paper.{name}")


def _check(connection: duckdb.DuckDBPyConnection, parts: Sequence[Any]) -> None:
    if len(parts) != 1:
        raise QueryError(
            "There is no statement." if not parts else f"These are {len(parts)} statements.",
            "Give one SELECT.",
        )
    kind = parts[0].type.name
    if kind == "EXPLAIN":  # EXPLAIN ANALYZE runs what it explains
        inner = connection.extract_statements(_explained(parts[0].query))
        kind = inner[0].type.name if len(inner) == 1 else "EXPLAIN"
    if kind not in _READS:
        raise QueryError(f"Only statements that read run here, not {kind}.", "Give one SELECT.")


def _explained(statement: str) -> str:
    """The statement after EXPLAIN or EXPLAIN ANALYZE, as DuckDB itself reads the words.

    Raises QueryError for EXPLAIN with options in brackets, since only DuckDB's parser knows where
    those end.
    """
    text = statement.encode()
    found = duckdb.tokenize(statement)
    ends = [at for at, _ in found[1:]] + [len(text)]
    tokens = [
        (at, text[at:end].strip().lower())
        for (at, kind), end in zip(found, ends, strict=True)
        if kind.name != "comment"
    ]
    words = [word for _, word in tokens[:2]]
    rest = [at for at, _ in tokens[2 if words[1:] == [b"analyze"] else 1 :]]
    if words[:1] != [b"explain"] or not rest or text[rest[0] : rest[0] + 1] == b"(":
        raise QueryError(
            "This form of EXPLAIN does not run here.",
            "Write explain or explain analyze, and the SELECT.",
        )
    return text[rest[0] :].decode()
