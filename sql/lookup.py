"""The run or the corpus that a user names."""

from __future__ import annotations

from pathlib import Path

from attnbank.sql.run_choice import SupportsExecute
from attnbank.sql.suggest import unknown_name


def find_run(connection: SupportsExecute, bank: str | Path, named: str | int) -> tuple[int, str]:
    """The id and the name of the run with this name, or else this id; CallError if none has it."""
    runs: list[tuple[int, str]] = connection.execute(
        "select id, name from run order by id"
    ).fetchall()
    text = str(named)
    same = [run for run in runs if run[1] == text] or [run for run in runs if str(run[0]) == text]
    if not same:
        raise unknown_name("run", text, bank, [name for _, name in runs])
    return same[0]


def find_corpus(
    connection: SupportsExecute, bank: str | Path, named: str, more: str = ""
) -> tuple[int, str]:
    """The id and the name of the corpus with this name; CallError if none has it.

    `more` ends what the error says.
    """
    corpora: dict[str, int] = dict(
        connection.execute("select name, id from corpus order by id").fetchall()
    )
    if named not in corpora:
        raise unknown_name("corpus", named, bank, corpora, more)
    return corpora[named], named
