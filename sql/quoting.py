"""The one way in which a name or a text becomes part of a statement.

Names of tables and columns in a bank that somebody else made are data, like the rows.
"""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name of a table, column, schema or database as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def place(schema: str, name: str) -> str:
    """A table or view of a schema as SQL has it."""
    return f"{quoted(schema)}.{quoted(name)}"


def literal(text: str | None) -> str:
    """A text as SQL has it; null for None."""
    return "null" if text is None else "'" + text.replace("'", "''") + "'"
