"""Names in a bank, for the shell completion of what a person types."""

from __future__ import annotations

from pathlib import Path

from attnbank.sql.registry import analyses, statement

_SECONDS = 1.0
"""The time limit of a query; a person who has pressed the tab key is waiting for it."""

_STATEMENTS = {
    "corpus": "select corpus.name from corpus order by corpus.id",
    "run": "select run.name from run order by run.id desc",
    "relation": (
        "select distinct word.deprel from word where word.head_index > 0 order by word.deprel"
    ),
    "table": f"select concat(case when schema = 'main' then '' else schema || '.' end, name)"
    f" from ({statement('contents/relation_names').rstrip().rstrip(';')})"
    " where kind in ('table', 'view')",
}


def suggestions(path: Path, kind: str) -> list[str]:
    """Names of one kind (run, corpus, relation or table) in a bank; none if it cannot be read.

    Relations are listed with and without their subtypes, and with `all`, as analyses take them.
    Nothing is raised, and no bank is created.
    """
    try:
        found = _read(path, _STATEMENTS[kind])
    except Exception:  # missing, locked, no bank, another version: then there is nothing to suggest
        found = []
    if kind == "relation" and found:
        found = sorted({"all", *found, *(name.split(":")[0] for name in found)})
    if kind == "table":
        found += analyses()
    return [name for name in found if name.isprintable()]


def _read(path: Path, select: str) -> list[str]:
    from attnbank.sql.bank.opening import open_to_read

    limit = f"set max_execution_time = {round(1000 * _SECONDS)}"
    with open_to_read(path, (limit,), spills=False) as connection:
        return [row[0] for row in connection.execute(select).fetchall() if row[0]]
