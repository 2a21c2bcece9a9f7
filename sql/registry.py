"""Every statement of attnbank, as text, by name. Help pages import it, so it imports no duckdb."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from attnbank.sql import statements
from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis, HeaderError, parse
from attnbank.sql.messages import did_you_mean

# The engines that an analysis's statement can be written for.
DIALECTS = ("duckdb", "spark")

# The version of the schema that this attnbank writes; a bank's is in its table `bank`.
FORMAT = 1


def root() -> Traversable:
    """The folder that holds the statements: the installed package `attnbank.sql`."""
    return files("attnbank.sql")


def _read_resource(*names: str) -> str:
    return root().joinpath(*names).read_text(encoding="utf-8")


def _scripts(*names: str) -> dict[str, str]:
    names_of_files = [
        file.name for file in root().joinpath(*names).iterdir() if file.name.endswith(".sql")
    ]
    return {
        name.removesuffix(".sql"): _read_resource(*names, name) for name in sorted(names_of_files)
    }


@cache
def schema_scripts() -> tuple[str, ...]:
    """The scripts that make the tables, functions and views of an empty bank, in order."""
    return tuple(_scripts("schema").values())


def script(name: str) -> str:
    """A script of the schema, `schema/<name>.sql`."""
    return _read_resource("schema", f"{name}.sql")


@cache
def tables() -> dict[str, str]:
    """The statements of the schema that make tables, by the name of the table."""
    parts = (part for text in schema_scripts() for part in statements.statements(text))
    return {part.words[2]: part.text for part in parts if part.words[:2] == ("create", "table")}


@cache
def replaceable(*, temporary: bool = False) -> tuple[str, ...]:
    """The statements of the schema but those of tables; `temporary` ones for one connection."""
    parts = [part for text in schema_scripts() for part in statements.statements(text)]
    if not temporary:
        return tuple(part.text for part in parts if part.words[:2] != ("create", "table"))
    return tuple(
        f"create or replace temporary {part.text.split(maxsplit=3)[3]}"
        for part in parts
        if part.words == ("create", "or", "replace")
    )


@cache
def internal_statement(name: str) -> str:
    """A statement that only the package itself runs, `internal/<name>.sql`."""
    return _read_resource("internal", f"{name}.sql")


@cache
def analyses() -> dict[str, Analysis]:
    """Every analysis of the package by name, in the order of section and name; or HeaderError."""
    analyses_by_name: dict[str, Analysis] = {}
    for section in sorted(section.name for section in (root() / "analyses").iterdir()):
        for name, text in _scripts("analyses", section).items():
            if name in analyses_by_name:
                raise HeaderError(f"Two analyses are called {name}.", "Rename one of the files.")
            analyses_by_name[name] = parse(name, section, text)
    return analyses_by_name


@cache
def shared() -> dict[str, Analysis]:
    """The macros that several analyses read, by name; they have a header as analyses do."""
    return {name: parse(name, "shared", text) for name, text in _scripts("shared").items()}


# The user's own analyses in this process, and the errors of the invalid files, by name.
user_analyses: dict[str, Analysis] = {}
user_faults: dict[str, CallError] = {}


def all_analyses() -> dict[str, Analysis]:
    """Every analysis by name, the user's own after those of the package."""
    return analyses() | user_analyses


def faults() -> dict[str, CallError]:
    """The error of each of the user's files that holds no valid analysis, by name."""
    return dict(user_faults)


def find_analysis(name: str) -> Analysis:
    """The analysis of a name; `paper.table_1` and `table_1` are the same. Raises CallError."""
    known = all_analyses()
    if name in user_faults and name not in known:
        raise user_faults[name]
    plain = name.removeprefix("paper.").replace("-", "_")
    if plain not in known or (name.startswith("paper.") and not known[plain].is_view):
        raise CallError(
            f"There is no analysis {name}.",
            f"{did_you_mean(plain, known)} attnbank queries lists all.".strip(),
        )
    return known[plain]


@cache
def read_by(name: str) -> frozenset[str]:
    """The names of the analyses and shared macros that the statement of an analysis calls."""
    known = shared() | analyses()
    return statements.relations_read(known[name].body, known) - {name}
