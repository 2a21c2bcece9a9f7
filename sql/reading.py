"""What stands in a statement, read by sqlglot: words in comments and in strings are none of it.

sqlglot is imported when the first statement is read: help pages, and opening a bank that this
version wrote, read none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

DIALECT = "duckdb"


@dataclass(frozen=True)
class Part:
    """One statement of a script: its text, its first three words in lower case, where these end."""

    text: str
    words: tuple[str, ...]
    ends: tuple[int, ...]


def references(statement: str) -> Iterator[tuple[int, int, str]]:
    """Where each parameter `$name` of a statement begins and ends, and its name."""
    import sqlglot

    tokens = sqlglot.tokenize(statement, read=DIALECT)
    for sign, name in pairwise(tokens):
        if sign.token_type is sqlglot.TokenType.PARAMETER and name.start == sign.end + 1:
            yield sign.start, name.end + 1, name.text


def with_references(statement: str, replaced: Callable[[str], str]) -> str:
    """The statement with each parameter `$name` replaced."""
    parts, at = [], 0
    for start, end, name in references(statement):
        parts += [statement[at:start], replaced(name)]
        at = end
    return "".join([*parts, statement[at:]])


def relations(statement: str) -> frozenset[str]:
    """The names, in lower case, of the table functions and the views in `paper` that it reads."""
    import sqlglot
    from sqlglot import exp

    found = set()
    for table in sqlglot.parse_one(statement, dialect=DIALECT).find_all(exp.Table):
        if isinstance(table.this, exp.Func):
            call = table.this
            found.add(call.name if isinstance(call, exp.Anonymous) else call.sql_name())
        elif table.db.lower() == "paper":
            found.add(table.name)
    return frozenset(name.lower() for name in found)


def of_paper(statement: str) -> list[str]:
    """The names that stand after `paper.` in it, in order: views, macros, or columns of an alias.

    Empty where sqlglot cannot read the statement, which DuckDB cannot either.
    """
    import sqlglot

    try:
        words = [token.text for token in sqlglot.tokenize(statement, read=DIALECT)]
    except sqlglot.TokenError:
        return []
    return [
        name
        for schema, dot, name in zip(words, words[1:], words[2:], strict=False)
        if (schema.lower(), dot) == ("paper", ".")
    ]


def statements(script: str) -> list[Part]:
    """The statements of a script, in order, without the comments before them."""
    import sqlglot

    found, tokens = [], []
    for token in sqlglot.tokenize(f"{script};", read=DIALECT):
        if token.token_type is not sqlglot.TokenType.SEMICOLON:
            tokens.append(token)
        elif tokens:
            start = tokens[0].start
            found.append(
                Part(
                    text=script[start : tokens[-1].end + 1],
                    words=tuple(each.text.lower() for each in tokens[:3]),
                    ends=tuple(each.end + 1 - start for each in tokens[:3]),
                )
            )
            tokens = []
    return found
