"""Quoting. The only way in which an untrusted name or text becomes part of a statement."""

from __future__ import annotations

from typing import Any


def quoted(name: str) -> str:
    """The name of a table, column, schema or database, quoted for SQL whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def qualified_name(schema: str, name: str) -> str:
    """The qualified name of a table or view, `"schema"."name"`."""
    return f"{quoted(schema)}.{quoted(name)}"


def literal(text: str | None) -> str:
    """A text as an SQL literal; the word null for None."""
    return "null" if text is None else "'" + text.replace("'", "''") + "'"


def sql_literal(value: Any) -> str:
    """A Python value as an SQL literal; a float is cast from its text, since 0.1 is a DECIMAL."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"cast('{value!r}' as double)"
    if isinstance(value, list | tuple):
        return f"[{', '.join(sql_literal(item) for item in value)}]"
    return literal(str(value))
