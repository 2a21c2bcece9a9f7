"""Names in SQL: those of tables and columns, quoted; and those of relations and their directions.

Quoting is the only way in which an untrusted name or text becomes part of a statement.
"""

from __future__ import annotations

import re
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


# The directions in which a head can find a relation, as the macro directions() of banks lists them.
# A bidirectional model has the first two, a causal one all.
DIRECTIONS = ("dependent_to_head", "head_to_dependent", "later_to_earlier")
TO_HEAD, TO_DEPENDENT, TO_EARLIER = DIRECTIONS

# What extracts each part of a relation, in any dialect of regular expressions.
#
# The parts are `1:2$subsem@deep`, as Grew calls them; UD has the first two, SUD all.
PARTS = {
    "1": r"^([^:$@]*)",
    "2": r"^[^:$@]*:([^$@]*)",
    "subsem": r"^[^$@]*[$]([^@]*)",
    "deep": r"^[^@]*@(.*)$",
}


def without_subtype(relation: str) -> str:
    """The relation without its subtype, as the SQL macro of this name gives it."""
    return relation_part(relation, "1")


def relation_part(relation: str, name: str) -> str:
    """A part of a relation, empty where it is not there."""
    match = re.match(PARTS[name], relation)
    return match[1] if match else ""
