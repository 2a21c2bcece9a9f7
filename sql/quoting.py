"""The one way in which a name or a text becomes part of a statement.

Names of tables and columns in a bank that somebody else made are data, like the rows.
"""

from __future__ import annotations

from typing import Any


def quoted(name: str) -> str:
    """The name of a table, column, schema or database, quoted for SQL whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def place(schema: str, name: str) -> str:
    """A table or view of a schema as SQL names it, both parts quoted."""
    return f"{quoted(schema)}.{quoted(name)}"


def literal(text: str | None) -> str:
    """A text as an SQL literal; the word null for None."""
    return "null" if text is None else "'" + text.replace("'", "''") + "'"


def value(given: Any) -> str:
    """A value of Python as an SQL literal."""
    if given is None:
        return "null"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int):
        return str(given)
    if isinstance(given, float):
        return f"cast('{given!r}' as double)"
    if isinstance(given, list):
        return f"[{', '.join(value(each) for each in given)}]"
    return literal(str(given))
