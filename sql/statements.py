"""Reading SQL with sqlglot, imported late, which never takes a comment or a string for SQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import Token

DIALECT = "duckdb"


@dataclass(frozen=True)
class Statement:
    """One statement of a script: its text, and its first three words in lower case."""

    text: str
    words: tuple[str, ...]


def parameter_references(statement: str) -> Iterator[tuple[int, int, str]]:
    """Each parameter `$name` of a statement as (start, end, name), in characters, in order."""
    import sqlglot

    for sign, name in pairwise(_tokens(statement)):
        if sign.token_type is sqlglot.TokenType.PARAMETER and name.start == sign.end + 1:
            yield sign.start, name.end + 1, name.text


def with_references(statement: str, replaced: Callable[[str], str]) -> str:
    """The statement with each parameter `$name` replaced by `replaced(name)`."""
    parts, at = [], 0
    for start, end, name in parameter_references(statement):
        parts += [statement[at:start], replaced(name)]
        at = end
    return "".join([*parts, statement[at:]])


def relations_read(statement: str, known: Collection[str]) -> frozenset[str]:
    """Which of the `known` table functions and views of the schema `paper` a statement reads.

    It looks at the tokens only, since parsing takes longer than most commands. A name before
    parentheses is a call, unless they hold the columns of a common table expression:
    `with entropy (a) as (...)`. Raises sqlglot.TokenError as `_tokens` does.
    """
    import sqlglot

    opens, closes = sqlglot.TokenType.L_PAREN, sqlglot.TokenType.R_PAREN
    tokens = _tokens(statement)
    closed_by: dict[int, int] = {}
    open_at: list[int] = []
    for at, token in enumerate(tokens):
        if token.token_type is opens:
            open_at.append(at)
        elif token.token_type is closes and open_at:
            closed_by[open_at.pop()] = at
    words = [token.text.lower() for token in tokens] + ["", "", ""]
    called = {
        words[at - 1] for at, end in closed_by.items() if words[end + 1 : end + 3] != ["as", "("]
    }
    return frozenset((called | {name.lower() for name in analyses_named(statement)}) & set(known))


def sources(statement: str) -> frozenset[str]:
    """The names after FROM and JOIN in a statement, without their schema, in lower case."""
    words = [token.text.lower() for token in _tokens(statement)] + ["", ""]
    names = set()
    for at, word in enumerate(words):
        if word in ("from", "join"):
            names.add(words[at + 3] if words[at + 2 : at + 3] == ["."] else words[at + 1])
    return frozenset(names)


@lru_cache(maxsize=128)
def _tokens(statement: str) -> tuple[Token, ...]:
    """The tokens of a statement. Raises sqlglot.TokenError for text that is no SQL at all."""
    import sqlglot

    return tuple(sqlglot.tokenize(statement, read=DIALECT))


def analyses_named(statement: str) -> list[str]:
    """The names after `paper.` in a statement; none if sqlglot, and so DuckDB, cannot read it."""
    import sqlglot

    try:
        words = [token.text for token in _tokens(statement)]
    except sqlglot.TokenError:
        return []
    return [
        name
        for schema, dot, name in zip(words, words[1:], words[2:], strict=False)
        if (schema.lower(), dot) == ("paper", ".")
    ]


def values_rows(script: str) -> list[tuple[str | bool | None, ...]]:
    """The rows of the first VALUES in a script: a list that both SQL and Python need."""
    import sqlglot

    (tree, *_) = sqlglot.parse(script, dialect=DIALECT)
    values = tree.find(sqlglot.exp.Values) if tree is not None else None
    assert values is not None, "the script has no VALUES"
    return [tuple(value.to_py() for value in row.expressions) for row in values.expressions]


def statements(script: str) -> list[Statement]:
    """The statements of a script, in order, without the comments before them."""
    import sqlglot

    statements, tokens = [], []
    for token in sqlglot.tokenize(f"{script};", read=DIALECT):
        if token.token_type is not sqlglot.TokenType.SEMICOLON:
            tokens.append(token)
        elif tokens:
            text = script[tokens[0].start : tokens[-1].end + 1]
            statements.append(Statement(text, tuple(token.text.lower() for token in tokens[:3])))
            tokens = []
    return statements


def relation_comments(script: str) -> Iterator[tuple[str, str | None, str]]:
    """The comments behind tables, and behind columns of tables and views, as (name, column, text).

    The column is None for the comment of the table: create table word (  -- A word.
    """
    for statement in statements(script):
        tokens = _tokens(statement.text)
        is_table = statement.words[:2] == ("create", "table")
        if not is_table and [token.text for token in tokens[3:4]] != ["view"]:
            continue
        depths = accumulate({"(": 1, ")": -1}.get(token.text, 0) for token in tokens)
        own = [token for token, depth in zip(tokens, depths, strict=True) if depth == is_table]
        if is_table:
            name, bracket, listed = tokens[2].text, tokens[3], own[1:]
            yield from ((name, None, text.strip()) for text in bracket.comments)
        else:
            words = [token.text for token in own]
            name, listed = tokens[4].text, own[words.index("select") + 1 : words.index("from")]
        # A comment is behind the comma that ends its column; the last column has none.
        columns: list[list[Token]] = [[]]
        for token in listed:
            columns[-1].append(token)
            if token.text == ",":
                columns.append([])
        for column in columns:
            named = column[0] if is_table else [token for token in column if token.text != ","][-1]
            yield from ((name, named.text, text.strip()) for text in column[-1].comments)
