"""The one way in which a name or a text becomes part of a statement.

Names of tables and columns in a bank that somebody else made are data, like the rows.
"""

from __future__ import annotations

from typing import Any


def quoted(name: str) -> str:
    """A name of a table, column, schema or database as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def place(schema: str, name: str) -> str:
    """A table or view of a schema as SQL has it."""
    return f"{quoted(schema)}.{quoted(name)}"


def literal(text: str | None) -> str:
    """A text as SQL has it; null for None."""
    return "null" if text is None else "'" + text.replace("'", "''") + "'"


def value(given: Any) -> str:
    """A value as it stands in a statement."""
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
