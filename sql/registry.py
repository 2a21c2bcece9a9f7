"""Every statement of attnbank, as text, found by its name.

Nothing here imports duckdb, because help pages need the texts and should not wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from attnbank.sql import reading
from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis, HeaderError, parse
from attnbank.sql.suggest import did_you_mean

DIALECTS = ("duckdb", "spark")
"""The engines that an analysis's statement can be written for."""

FORMAT = 5
"""The version of the schema that this attnbank writes; a bank's is in its table `bank`."""


def root() -> Traversable:
    """The folder that holds the statements: the installed package `attnbank.sql`."""
    return files("attnbank.sql")


@cache
def schema() -> tuple[str, ...]:
    """The scripts that make the tables, functions and views of an empty bank, in order."""
    parts = sorted(_sql_files(root() / "schema"), key=lambda part: part.name)
    return tuple(part.read_text(encoding="utf-8") for part in parts)


def script(name: str) -> str:
    """A script of the schema, `schema/<name>.sql`."""
    return (root() / "schema" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def functions(*, temporary: bool = False) -> tuple[str, ...]:
    """The scripts of the schema that make only functions and views, so that they may run again.

    With `temporary` it is one statement per function or view, without comments, which creates it
    for one connection only.
    """
    read = [(text, reading.statements(text)) for text in schema()]
    found = [
        (text, parts)
        for text, parts in read
        if all(part.words[:2] != ("create", "table") for part in parts)
    ]
    if not temporary:
        return tuple(text for text, _ in found)
    return tuple(
        f"{part.text[: part.ends[2]]} temporary{part.text[part.ends[2] :]}"
        for _, parts in found
        for part in parts
        if part.words == ("create", "or", "replace")
    )


@cache
def statement(name: str) -> str:
    """A statement that only the package itself runs, `internal/<name>.sql`."""
    return (root() / "internal" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def migration(format_: int) -> str:
    """The statements that bring a bank from the format before `format_` to `format_`."""
    return (root() / "schema" / "migrations" / f"{format_}.sql").read_text(encoding="utf-8")


@cache
def analyses() -> dict[str, Analysis]:
    """Every analysis of the package by name, in the order of section and name.

    Raises HeaderError if a header cannot be read, or if two files have the same name.
    """
    found = {}
    for folder in sorted((root() / "analyses").iterdir(), key=lambda item: item.name):
        for part in sorted(_sql_files(folder), key=lambda item: item.name):
            name = part.name.removesuffix(".sql")
            if name in found:
                raise HeaderError(f"Two analyses are called {name}.", "Rename one of the files.")
            found[name] = parse(name, folder.name, part.read_text(encoding="utf-8"))
    return found


@cache
def shared() -> dict[str, Analysis]:
    """The macros that several analyses read, by name; they have a header but are no analyses."""
    return {
        part.name.removesuffix(".sql"): parse(
            part.name.removesuffix(".sql"), "shared", part.read_text(encoding="utf-8")
        )
        for part in sorted(_sql_files(root() / "shared"), key=lambda item: item.name)
    }


_joined: dict[str, Analysis] = {}
_faults: dict[str, CallError] = {}


def join(found: Mapping[str, Analysis], faults: Mapping[str, CallError]) -> None:
    """Add a user's own analyses to the package's, for this process.

    `faults` are the errors of those files of the user that hold no valid analysis, by name.
    """
    _joined.update(found)
    _faults.update(faults)


def leave(names: Collection[str]) -> None:
    """Remove these analyses of the user again, and all faults of the user's files."""
    for name in names:
        del _joined[name]
    _faults.clear()


def every() -> dict[str, Analysis]:
    """Every analysis by name, the user's own after those of the package."""
    return analyses() | _joined


def faults() -> dict[str, CallError]:
    """The error of each of the user's files that holds no valid analysis, by name."""
    return dict(_faults)


def find(name: str) -> Analysis:
    """The analysis with that name; `paper.table_1` and `table_1` are the same.

    Raises CallError for an unknown name, with the nearest known ones, and for the name of a user's
    file that holds no valid analysis.
    """
    known = every()
    if name in _faults and name not in known:
        raise _faults[name]
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
    return reading.relations(known[name].body, known) - {name}


def _sql_files(folder: Traversable) -> list[Traversable]:
    return [item for item in folder.iterdir() if item.name.endswith(".sql")]
