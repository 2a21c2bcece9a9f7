"""The analyses as macros and views of a bank, for any program that speaks DuckDB."""

from __future__ import annotations

import hashlib
from functools import cache

from attnbank.sql.header import Analysis, HeaderError
from attnbank.sql.quoting import literal
from attnbank.sql.registry import analyses, read_by, root, schema, shared


def macros(analysis: Analysis, *, temporary: bool = False) -> list[str]:
    """The statements that create the macros (and view) of an analysis, with their comments.

    A macro's parameter hides every column of the same name. So the inner macro, which holds the
    statement, calls its parameters `p_name`, and an outer macro carries the names and defaults
    that people type. With `temporary` they exist for one connection only, and have no comments.
    """
    create = "create or replace temporary" if temporary else "create or replace"
    told = filter(None, (analysis.title, analysis.paper, analysis.grain))
    comment = literal(" ".join(f"{each[:1].upper()}{each[1:]}." for each in told))
    schema = "paper." if analysis.is_view and not temporary else ""
    inner_name, outer_name = f"{schema}_{analysis.name}", f"{schema}{analysis.name}"
    inner = ", ".join(f"p_{each.name}" for each in analysis.parameters)
    checked = ", ".join(each.checked for each in analysis.parameters)
    outer = ", ".join(f"{each.name} := {each.default}" for each in analysis.parameters)
    body = analysis.with_parameters(lambda name: f"p_{name}")
    made = [
        f"{create} macro {inner_name}({inner}) as table\n{body}",
        f"{create} macro {outer_name}({outer}) as table\nfrom {inner_name}({checked})",
    ]
    comments = [
        f"comment on macro table {inner_name} is "
        + literal(f"The statement of {analysis.name}, with every parameter given."),
        f"comment on macro table {outer_name} is {comment}",
    ]
    if analysis.is_view:
        made.append(f"{create} view {outer_name} as\nfrom {outer_name}()")
        comments.append(f"comment on view {outer_name} is {comment}")
        comments.extend(
            f"comment on column {outer_name}.{column.name} is {literal(column.help)}"
            for column in analysis.columns
        )
    return made if temporary else made + comments


def stub(analysis: Analysis, *, temporary: bool = False) -> list[str]:
    """The statements that create a macro of the same parameters and columns that reads no table."""
    create = "create or replace temporary" if temporary else "create or replace"
    name = analysis.name if temporary or not analysis.is_view else f"paper.{analysis.name}"
    outer = ", ".join(f"{each.name} := {each.default}" for each in analysis.parameters)
    columns = ", ".join(f"cast(null as {each.type}) as {each.name}" for each in analysis.columns)
    made = [f"{create} macro {name}({outer}) as table\nselect {columns}"]
    if analysis.is_view:
        made.append(f"{create} view {name} as\nfrom {name}()")
    return made


@cache
def install(*, temporary: bool = False) -> tuple[str, ...]:
    """Every statement that puts the analyses into a bank, in the order to run them.

    When a macro is created, DuckDB plans it with everything that it reads, down to the tables. If
    what it reads is only a stub at that moment, this takes a third of the time. So the stubs come
    first, and then each analysis before those that it reads. With `temporary` the macros exist for
    one connection only, where they hide those of the file. Raises HeaderError if analyses read
    each other in a circle.
    """
    known = shared() | analyses()
    order = _order(tuple(known))
    stubs = {name for each in known for name in read_by(each)}
    start = [] if temporary else ["create schema if not exists paper"]
    for name in order:
        start += stub(known[name], temporary=temporary) if name in stubs else []
    made = [text for name in reversed(order) for text in macros(known[name], temporary=temporary)]
    return (*start, *made)


def _order(names: tuple[str, ...]) -> list[str]:
    """The names, each after those that it reads. Raises HeaderError for a circle."""
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise HeaderError(f"The analyses {' and '.join(path)} read each other.")
        if name in order:
            return
        for other in sorted(read_by(name)):
            visit(other, (*path, name))
        order.append(name)

    for name in names:
        visit(name, ())
    return order


@cache
def fingerprint() -> str:
    """SHA-256, in hexadecimal, of what determines this version's functions, views and analyses.

    That is the text of their files and of the code that puts them into a bank. No statement is
    parsed for it, so it is cheap enough for every command.
    """
    code = [
        (root() / name).read_text(encoding="utf-8")
        for name in ("header.py", "macros.py", "reading.py")
    ]
    texts = [
        f"{each.section}/{each.name}\0{each.text}" for each in (shared() | analyses()).values()
    ]
    return hashlib.sha256("\0".join([*code, *schema(), *texts]).encode()).hexdigest()
