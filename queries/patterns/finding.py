"""From the text of a request to the statement that a bank runs, and why it may find nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from duckdb import DuckDBPyConnection
from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import Checked, check
from attnbank.queries.patterns.language.reading import read, read_keys
from attnbank.queries.patterns.select import values
from attnbank.queries.patterns.select.building import Columns, columns_of, select_of
from attnbank.sql.errors import CallError
from attnbank.sql.registry import DIALECTS
from attnbank.sql.suggest import did_you_mean, listed

SECONDS = 30.0
"""How long a request may take, where nothing else is said."""
MOST_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Question:
    """A request that is ready to be asked: its statement, and what its columns are."""

    checked: Checked
    columns: Columns
    statement: str


@lru_cache(maxsize=256)
def question(
    request: str,
    *,
    keys: str = "",
    corpus: str | None = None,
    limit: int | None = None,
    with_sentence: bool = False,
) -> Question:
    """The statement of a request.

    `keys` names further columns (`V.lemma, delta(V, O)`); `with_sentence` adds `sentence`, the
    sentence's id. Raises RequestError for a request that cannot be read or is not supported, and
    CallError for a limit that is none.
    """
    if limit is not None and not 0 <= limit <= MOST_LIMIT:
        raise CallError(f"A limit of {limit} rows is none.", "Give 0 or more.")
    checked = check(read(request), read_keys(keys) if keys.strip() else ())
    made = select_of(checked, corpus=corpus, limit=limit, keys=with_sentence)
    return Question(checked, columns_of(checked), made.sql("duckdb"))


def statement(
    request: str, *, keys: str = "", corpus: str | None = None, limit: int | None = None,
    dialect: str = "duckdb",
) -> str:  # fmt: skip
    """The SELECT of a request as people read it, in any dialect of sqlglot that analyses have.

    Raises as `question` does, and CallError for an unknown dialect.
    """
    if dialect not in DIALECTS:
        raise CallError(
            f"There is no dialect {dialect}.",
            f"{did_you_mean(dialect, DIALECTS)} It is one of: {', '.join(DIALECTS)}.".strip(),
        )
    checked = check(read(request), read_keys(keys) if keys.strip() else ())
    made: exp.Expr = select_of(checked, corpus=corpus, limit=limit)
    if dialect != "duckdb":
        for each in made.find_all(exp.CTE):
            each.set("materialized", None)  # advice to DuckDB, which others have no word for
    return made.sql(dialect=dialect, pretty=True, normalize_functions="lower")


def check_corpus(connection: DuckDBPyConnection, name: str) -> None:
    """Raise CallError where the bank has no corpus of that name."""
    known = [row[0] for row in connection.execute("select name from corpus order by id").fetchall()]
    if name not in known:
        raise CallError(
            f"The bank has no corpus {name}.",
            f"{did_you_mean(name, known)} It has: {listed(known)}.".strip(),
        )


def unknown_names(connection: DuckDBPyConnection, checked: Checked) -> Iterator[str]:
    """Why a request may have found nothing: relations and features that no word has."""
    labels = dict.fromkeys(_labels(checked))
    if labels:
        rows = connection.execute("select distinct deprel from word where deprel is not null")
        whole = {row[0] for row in rows.fetchall()}
        known = whole | {each.split(":")[0] for each in whole}
        for name in labels:
            if name not in known:
                yield f"No word has the relation {name}. {did_you_mean(name, known)}".strip()
    features = dict.fromkeys(_features(checked))
    if features:
        rows = connection.execute(
            "select distinct split_part(each, '=', 1) from (select unnest(string_split(source,"
            " '|')) as each from (select distinct feats as source from word union select distinct"
            " misc from word) where source is not null)"
        )
        known = {row[0].replace("[", "__").rstrip("]") for row in rows.fetchall()}
        for name in features:
            if name not in known:
                yield f"No word has the feature {name}. {did_you_mean(name, known)}".strip()


def _labels(checked: Checked) -> Iterator[str]:
    """The relations that the pattern asks for."""
    for edge in checked.pattern.edges:
        if isinstance(edge.label, tree.WholeLabel) and not edge.label.is_negated:
            yield from edge.label.names
        elif isinstance(edge.label, tree.PartLabel):
            for test in edge.label.tests:
                if test.feature == "1" and test.kind == "equal":
                    yield from (each for each in test.values if isinstance(each, str))


def _features(checked: Checked) -> Iterator[str]:
    """The features in FEATS and MISC that the pattern asks for."""
    columns = values.COLUMNS | {"textform", "wordform", "SpaceAfter", "__id__"}
    for groups in checked.pattern.tests.values():
        for group in groups:
            for alternative in group:
                for test in alternative:
                    if test.feature not in columns and test.kind in ("equal", "present"):
                        yield test.feature
