"""Every statement of attnbank, by name: as text, and the analyses as macros and views of a bank.

The analyses of a user are there, too: `.sql` files with a header, in a folder that the user names.
Help pages import it, so it imports no duckdb.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from attnbank.sql import statements
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.header import OWN, Analysis, HeaderError, parse
from attnbank.sql.messages import did_you_mean
from attnbank.sql.names import literal

# The engines that an analysis's statement can be written for.
DIALECTS = ("duckdb", "spark")

# The version of the schema that this attnbank writes; a bank's is in its table `bank`.
FORMAT = 1

# The titles of the sections of analyses, in the order in which they are listed.
_TITLES = {
    "paper": "The paper's tables and figures",
    "surface": "Surface patterns (section 3)",
    "syntax": "Syntax (section 4.2)",
    "languages": "Many corpora and languages, one model",
    "coreference": "Coreference (section 4.3)",
    "probes": "Probes (section 5)",
    "clusters": "Clusters (section 6)",
    "kovaleva": "Patterns and classes (Kovaleva et al. 2019)",
    "voita": "Functions of heads (Voita et al. 2019)",
    "decoders": "Decoders: sinks and induction (Gu et al. 2025, Olsson et al. 2022)",
    "ablation": "Surprisal, and heads that are turned off",
    OWN: "Your own (--queries)",
}


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
    """The scripts that make the tables, functions and views of an empty bank, in order.

    What stands behind the name of a table, or a column of a table or view, is its comment in the
    bank, too.
    """
    return tuple("\n".join([text, *_comments(text)]) for text in _scripts("schema").values())


def _comments(script: str) -> Iterator[str]:
    for table, column, text in statements.relation_comments(script):
        what = f"table {table}" if column is None else f"column {table}.{column}"
        yield f"comment on {what} is {literal(text)};"


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

# The environment variable that names the folder of the user's own analyses.
QUERIES_VARIABLE = "ATTNBANK_QUERIES"

# The most files in a folder, and the most bytes in a file.
MOST_USER_FILES = 1000
MOST_USER_BYTES = 1_000_000

# The views of the weights of every run that keeps them; and the tables, which have those of some.
_WEIGHTS = frozenset({"attention_weight", "distribution"})
_OF_SOME_RUNS = frozenset({"attention", "attention_top"})
_USER_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")

_EXAMPLE = "For an example of a header: attnbank query best_head --show-sql"


def load_user_analyses(folder: str | Path | None = None) -> None:
    """Add every `NAME.sql` of a folder, by default QUERIES_VARIABLE's, to the user's analyses.

    They come from outside and cannot be trusted: names and headers are checked here, and their
    statements run in the sandbox, like every statement that a user types. The error of an invalid
    file is raised when it is asked for. Raises CallError if the folder cannot be read, or has more
    than MOST_USER_FILES such files.
    """
    named = folder or os.environ.get(QUERIES_VARIABLE)
    if not named:
        return
    folder_path = Path(named).expanduser()
    try:
        paths = sorted(file for file in folder_path.iterdir() if file.suffix == ".sql")
    except OSError as error:
        raise CallError(
            f"The folder of queries {folder_path} cannot be read: {error.strerror}.",
            "Name a folder of .sql files: --queries DIR, or the variable ATTNBANK_QUERIES.",
        ) from error
    if len(paths) > MOST_USER_FILES:
        raise CallError(
            f"The folder of queries {folder_path} has {len(paths):,} .sql files; the maximum is"
            f" {MOST_USER_FILES:,}.",
            "Use a folder that holds only queries.",
        )
    for path in paths:
        try:
            user_analyses[path.stem] = _load_user_analysis(path)
        except AttnbankError as error:
            user_faults[path.stem] = CallError(
                f"{path}: {error.fact.removeprefix(f'{path.name}: ')}", error.remedy or _EXAMPLE
            )


def _load_user_analysis(path: Path) -> Analysis:
    """The analysis in a file. Raises CallError or HeaderError if it holds no valid analysis."""
    if not _USER_NAME.fullmatch(path.stem):
        raise CallError(
            "its name is not valid for an analysis.", "Use lower-case letters, digits and _."
        )
    if path.stem in analyses() | shared():
        raise CallError("attnbank already has an analysis with this name.", "Rename the file.")
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_USER_BYTES:
            raise CallError(
                "it is not a regular file of at most 1 MB.", "Remove it from the folder."
            )
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise CallError(f"it cannot be read: {error}.", "Remove it from the folder.") from error
    analysis = parse(path.stem, OWN, text)
    if len(statements.statements(analysis.body)) != 1:
        raise CallError("there must be exactly one SELECT below the header.", _EXAMPLE)
    _ = analysis.statement  # raises HeaderError where its parameters are not those of the header
    read = statements.sources(analysis.body)
    if analysis.run is not None:
        # Without rows would be the answer of a run without weights, which could be chosen.
        if of_some := read & _OF_SOME_RUNS:
            raise CallError(
                f"it reads {min(of_some)}, which has rows of only some runs (ingest --keep).",
                "Read the view distribution, which has all of them, laid out as in attention.",
            )
        if analysis.run.weights is None and read & _WEIGHTS:
            raise CallError(
                f"it reads {min(read & _WEIGHTS)}, which runs of --keep peaks do not have.",
                "Add: -- weights: true, and chosen_run(..., reads_weights := true); or, if those of"
                " --keep top:8 are enough, -- weights: largest, and reads_largest := true",
            )
    return analysis


def all_analyses() -> dict[str, Analysis]:
    """Every analysis by name, the user's own after those of the package."""
    return analyses() | user_analyses


def analyses_by_section() -> dict[str, list[Analysis]]:
    """The analyses by the title of their section."""
    sections: dict[str, list[Analysis]] = {title: [] for title in _TITLES.values()}
    for analysis in all_analyses().values():
        sections.setdefault(
            _TITLES.get(analysis.section, analysis.section.capitalize()), []
        ).append(analysis)
    return {title: analyses for title, analyses in sections.items() if analyses}


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
    created = [] if temporary else ["create schema if not exists paper"]
    for name in order:
        created += _stubs(known[name], temporary=temporary)
    for name in reversed(order):
        created += _definition(known[name], temporary=temporary)
    return tuple(created)


def macros(analysis: Analysis, *, temporary: bool = False) -> list[str]:
    """The statements that create the macros (and view) of an analysis, with their comments.

    A macro's parameter hides every column of the same name. So the inner macro, which holds the
    statement, has parameters `p_name`, and an outer one the names and defaults that people type.
    With `temporary` they exist for one connection only, and have no comments.
    """
    return [
        *_stubs(analysis, temporary=temporary),
        *_definition(analysis, temporary=temporary),
    ]


def _stubs(analysis: Analysis, *, temporary: bool) -> list[str]:
    """Create both macros, and the view, of a statement that has the columns and reads no table.

    It stands in for the real one while the outer macro is created: DuckDB plans that at once, and
    would refuse a column of the statement that has the name of a parameter.
    """
    create, inner, outer = _names(analysis, temporary=temporary)
    columns = ", ".join(
        f"cast(null as {column.type}) as {column.name}" for column in analysis.columns
    )
    defaults = ", ".join(
        f"{parameter.name} := {parameter.default}" for parameter in analysis.parameters
    )
    checked = ", ".join(parameter.checked for parameter in analysis.parameters)
    guard = ""
    # DuckDB would read the default bank for other.best_head().
    if not temporary and analysis.section != "shared":
        guard = f"\nwhere is_asked_of_its_bank({literal(analysis.name)})"
    created = [
        f"{create} macro {inner}({_inner_parameters(analysis)}) as table\nselect {columns}",
        f"{create} macro {outer}({defaults}) as table\nfrom {inner}({checked}){guard}",
    ]
    return [*created, f"{create} view {outer} as\nfrom {outer}()"] if analysis.is_view else created


def _definition(analysis: Analysis, *, temporary: bool) -> list[str]:
    """Replace the stub of an analysis by its statement, and comment on all that was created."""
    create, inner, outer = _names(analysis, temporary=temporary)
    body = analysis.with_parameters(lambda name: f"p_{name}")
    definition = f"{create} macro {inner}({_inner_parameters(analysis)}) as table\n{body}"
    if temporary:
        return [definition]
    sentences = filter(None, (analysis.title, analysis.paper, analysis.grain))
    comments = {
        f"macro table {inner}": f"The statement of {analysis.name}, with every parameter given.",
        f"macro table {outer}": " ".join(
            f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences
        ),
    }
    if analysis.is_view:
        comments[f"view {outer}"] = comments[f"macro table {outer}"]
        comments |= {f"column {outer}.{column.name}": column.help for column in analysis.columns}
    return [definition, *(f"comment on {of} is {literal(text)}" for of, text in comments.items())]


def _names(analysis: Analysis, *, temporary: bool) -> tuple[str, str, str]:
    """How the macros of an analysis are created, and the names of the inner and the outer one."""
    create = "create or replace temporary" if temporary else "create or replace"
    schema = "paper." if analysis.is_view and not temporary else ""
    return create, f"{schema}_{analysis.name}", f"{schema}{analysis.name}"


def _inner_parameters(analysis: Analysis) -> str:
    return ", ".join(f"p_{parameter.name}" for parameter in analysis.parameters)


@cache
def fingerprint() -> str:
    """SHA-256 of what makes this version's functions, views and analyses; parses no statement."""
    files_of_code = ("header.py", "header.sql", "registry.py", "statements.py")
    code = [_read_resource(name) for name in files_of_code]
    known = (shared() | analyses()).values()
    texts = [
        text
        for analysis in known
        for text in (analysis.section, analysis.name, *analysis.header, analysis.body)
    ]
    scripts = _scripts("schema").values()
    return hashlib.sha256("\0".join([*code, *scripts, *texts]).encode()).hexdigest()
