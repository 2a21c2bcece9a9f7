"""Names in a bank, for the shell completion of what a person types."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from attnbank.sql.names import without_subtype
from attnbank.sql.registry import analyses, internal_statement

# The time limit of a query: a person who has pressed the tab key is waiting.
_SECONDS = 1.0

_STATEMENTS = {
    "corpus": "select corpus.name from corpus order by corpus.id",
    "run": "select run.name from run order by run.id desc",
    "relation": (
        "select distinct word.deprel from word where word.head_index > 0 order by word.deprel"
    ),
    "table": f"select concat(case when schema = 'main' then '' else schema || '.' end, name)"
    f" from ({internal_statement('contents/relation_names').rstrip().rstrip(';')})"
    " where kind in ('table', 'view')",
}


def suggestions(path: Path, kind: str) -> list[str]:
    """Names of one kind (run, corpus, relation or table) in a bank; none if it cannot be read."""
    from attnbank.sql.bank.opening import open_to_read

    limit = f"set max_execution_time = {round(1000 * _SECONDS)}"
    names: list[str] = []
    # Missing, locked, not a bank, another version: then there is nothing to suggest.
    with suppress(Exception), open_to_read(path, (limit,), spills=False) as connection:
        rows = connection.execute(_STATEMENTS[kind]).fetchall()
        names = [row[0] for row in rows if row[0]]
    if kind == "relation" and names:
        names = sorted({"all", *names, *(without_subtype(name) for name in names)})
    if kind == "table":
        names += analyses()
    return [name for name in names if name.isprintable()]
