"""Names and texts within a statement: what stands in a bank is data, however it is spelt."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name of a table, a column or a macro as an identifier: `my table` is "my table"."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a literal of SQL: it's is 'it''s'."""
    return "'" + text.replace("'", "''") + "'"
