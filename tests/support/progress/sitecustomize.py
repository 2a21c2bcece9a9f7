"""With this folder on PYTHONPATH, DuckDB draws the progress of every statement at once.

So it does with those that take over two seconds, where Python runs no file. Each connection adds a
line to the file that CONNECTIONS names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb

_usual = duckdb.connect


def _connect(*args: Any, **kwargs: Any) -> duckdb.DuckDBPyConnection:
    with Path(os.environ["CONNECTIONS"]).open("a", encoding="utf-8") as file:
        file.write("one\n")
    connection = _usual(*args, **kwargs)
    connection.execute("set progress_bar_time = 0")
    return connection


duckdb.connect = _connect
