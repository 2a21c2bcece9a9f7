"""Every statement of attnbank, as text, found by its name.

Nothing here imports duckdb: a statement is text until someone runs it.
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

FORMAT = 4
"""Version of the schema that a bank is written with (table `bank`)."""


def root() -> Traversable:
    """The folder of the statements."""
    return files("attnbank.sql")


@cache
def schema() -> tuple[str, ...]:
    """The scripts that make an empty bank's tables and views, in order."""
    parts = sorted(_sql_files(root() / "schema"), key=lambda part: part.name)
    return tuple(part.read_text(encoding="utf-8") for part in parts)


def script(name: str) -> str:
    """A script of the schema, `schema/<name>.sql`."""
    return (root() / "schema" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def functions(*, temporary: bool = False) -> tuple[str, ...]:
    """The scripts of the schema that make functions and views alone, and may run again.

    `temporary` makes them for one connection, without comments.
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
    """A statement of the package's own, `internal/<name>.sql`."""
    return (root() / "internal" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def migration(format_: int) -> str:
    """The statements that bring a bank of the format before to this one."""
    return (root() / "schema" / "migrations" / f"{format_}.sql").read_text(encoding="utf-8")


@cache
def analyses() -> dict[str, Analysis]:
    """Every analysis by name, in the order of section and name."""
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
    """What several analyses read, by name: macros with a header that are no analyses."""
    return {
        part.name.removesuffix(".sql"): parse(
            part.name.removesuffix(".sql"), "shared", part.read_text(encoding="utf-8")
        )
        for part in sorted(_sql_files(root() / "shared"), key=lambda item: item.name)
    }


_joined: dict[str, Analysis] = {}
_faults: dict[str, CallError] = {}


def join(found: Mapping[str, Analysis], faults: Mapping[str, CallError]) -> None:
    """Add a user's own analyses to the package's, in this process; `faults` are those of files."""
    _joined.update(found)
    _faults.update(faults)


def leave(names: Collection[str]) -> None:
    """Remove the user's own analyses again, and the faults of their files."""
    for name in names:
        del _joined[name]
    _faults.clear()


def every() -> dict[str, Analysis]:
    """Every analysis by name, the user's own after those of the package."""
    return analyses() | _joined


def faults() -> dict[str, CallError]:
    """For each of the user's files that is no analysis, by name, the reason."""
    return dict(_faults)


def find(name: str) -> Analysis:
    """The analysis of a name; `paper.table_1` and `table_1` are the same.

    Raises CallError for an unknown name, with the nearest known ones, and for a file of the user's
    that is no analysis.
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
    """The names of the analyses, and of what they share, that an analysis reads."""
    known = shared() | analyses()
    return reading.relations(known[name].body, known) - {name}


def _sql_files(folder: Traversable) -> list[Traversable]:
    return [item for item in folder.iterdir() if item.name.endswith(".sql")]
