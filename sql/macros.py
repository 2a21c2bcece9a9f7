"""The analyses as macros and views of a bank, for any program that speaks DuckDB."""

from __future__ import annotations

import hashlib
from functools import cache
from graphlib import CycleError, TopologicalSorter

from attnbank.sql.header import Analysis, HeaderError
from attnbank.sql.quoting import literal
from attnbank.sql.registry import analyses, read_by, root, schema_scripts, shared


def macros(analysis: Analysis, *, temporary: bool = False) -> list[str]:
    """The statements that create the macros (and view) of an analysis, with their comments.

    A macro's parameter hides every column of the same name. So the inner macro, which holds the
    statement, has parameters `p_name`, and an outer one the names and defaults that people type.
    With `temporary` they exist for one connection only, and have no comments.
    """
    create, schema = _create_statements(analysis, temporary=temporary)
    inner_name, outer_name = f"{schema}_{analysis.name}", f"{schema}{analysis.name}"
    inner = ", ".join(f"p_{parameter.name}" for parameter in analysis.parameters)
    checked = ", ".join(parameter.checked for parameter in analysis.parameters)
    body = analysis.with_parameters(lambda name: f"p_{name}")
    created = [
        f"{create} macro {inner_name}({inner}) as table\n{body}",
        *_outer(analysis, f"from {inner_name}({checked})", temporary=temporary),
    ]
    if temporary:
        return created
    sentences = filter(None, (analysis.title, analysis.paper, analysis.grain))
    comments = {
        f"macro table {inner_name}": f"The statement of {analysis.name}, with every parameter"
        " given.",
        f"macro table {outer_name}": " ".join(
            f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences
        ),
    }
    if analysis.is_view:
        comments[f"view {outer_name}"] = comments[f"macro table {outer_name}"]
        comments |= {
            f"column {outer_name}.{column.name}": column.help for column in analysis.columns
        }
    return [*created, *(f"comment on {of} is {literal(text)}" for of, text in comments.items())]


def stub(analysis: Analysis, *, temporary: bool = False) -> list[str]:
    """The statements that create a macro of the same parameters and columns that reads no table."""
    columns = ", ".join(
        f"cast(null as {column.type}) as {column.name}" for column in analysis.columns
    )
    return _outer(analysis, f"select {columns}", temporary=temporary)


def _outer(analysis: Analysis, body: str, *, temporary: bool) -> list[str]:
    create, schema = _create_statements(analysis, temporary=temporary)
    name = f"{schema}{analysis.name}"
    defaults = ", ".join(
        f"{parameter.name} := {parameter.default}" for parameter in analysis.parameters
    )
    created = [f"{create} macro {name}({defaults}) as table\n{body}"]
    return [*created, f"{create} view {name} as\nfrom {name}()"] if analysis.is_view else created


def _create_statements(analysis: Analysis, *, temporary: bool) -> tuple[str, str]:
    if temporary:
        return "create or replace temporary", ""
    return "create or replace", "paper." if analysis.is_view else ""


@cache
def install(*, temporary: bool = False) -> tuple[str, ...]:
    """Every statement that puts the analyses into a bank, in the order to run them.

    DuckDB plans a macro with everything that it reads, which takes a third of the time if that is
    only a stub. So the stubs come first, then each analysis before those that it reads. With
    `temporary` the macros exist for one connection, where they hide the file's. Raises HeaderError
    if analyses read each other in a circle.
    """
    known = shared() | analyses()
    try:
        order = [*TopologicalSorter({name: sorted(read_by(name)) for name in known}).static_order()]
    except CycleError as error:
        raise HeaderError(f"The analyses {' and '.join(error.args[1])} read each other.") from None
    stubs = {name for known_name in known for name in read_by(known_name)}
    start = [] if temporary else ["create schema if not exists paper"]
    for name in order:
        start += stub(known[name], temporary=temporary) if name in stubs else []
    created = [
        text for name in reversed(order) for text in macros(known[name], temporary=temporary)
    ]
    return (*start, *created)


@cache
def fingerprint() -> str:
    """SHA-256 of what makes this version's functions, views and analyses; parses no statement."""
    files = ("header.py", "header.sql", "macros.py", "statements.py")
    code = [(root() / name).read_text(encoding="utf-8") for name in files]
    known = (shared() | analyses()).values()
    texts = [
        text
        for analysis in known
        for text in (analysis.section, analysis.name, *analysis.header, analysis.body)
    ]
    return hashlib.sha256("\0".join([*code, *schema_scripts(), *texts]).encode()).hexdigest()
