"""The only way in which a name or a text, which may be untrusted, becomes part of a statement."""

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


def sql_literal(given: Any) -> str:
    """A Python value as an SQL literal; a float is cast from its text, since 0.1 is a DECIMAL."""
    if given is None:
        return "null"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int):
        return str(given)
    if isinstance(given, float):
        return f"cast('{given!r}' as double)"
    if isinstance(given, list | tuple):
        return f"[{', '.join(sql_literal(item) for item in given)}]"
    return literal(str(given))
