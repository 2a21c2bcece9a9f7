"""From the text of a request to the statement that a bank runs, and why it may find nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import polars as pl
from sqlglot import exp

from attnbank.queries.dialects import for_spark
from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import Checked, check
from attnbank.queries.patterns.language.reading import read, read_keys
from attnbank.queries.patterns.select import sentences, values
from attnbank.queries.patterns.select.attention import check_heads
from attnbank.queries.patterns.select.building import (
    Choice,
    Columns,
    columns_of,
    counts_of,
    select_of,
)
from attnbank.sql import header
from attnbank.sql.errors import CallError
from attnbank.sql.header import Analysis
from attnbank.sql.registry import DIALECTS
from attnbank.sql.runs import Asked, Run, choose_run
from attnbank.sql.suggest import did_you_mean, listed

_HEADER = """-- title: What a request with attention reads
-- paper: after Clark et al. 2019
-- grain: one row per hit
-- run: unit=word contexts=sentence,document usual=sentence
-- param run varchar = null: name or id of the run
-- column sent_id varchar: name of the sentence
select 1 as sent_id
"""
SECONDS = 30.0
"""How long a request may take by default."""
MOST_LIMIT = 2**31 - 1
"""The most hits that a limit or a sample can ask for."""


_EVERY = Choice()


@dataclass(frozen=True)
class Question:
    """A request that is ready to run: its statement, and what its columns are."""

    checked: Checked
    columns: Columns
    statement: str

    def in_order(self, found: pl.DataFrame, choice: Choice) -> pl.DataFrame:
        """A sample, sorted in the order of the text.

        A sample has the column `sentence` for this; it is dropped if `choice` did not ask for it.
        """
        nodes = self.columns.nodes
        found = found.sort("sentence", *nodes)
        return found if choice.keys else found.drop("sentence")


@lru_cache(maxsize=256)
def question(
    request: str,
    *,
    columns: str = "",
    sort: str = "",
    choice: Choice = _EVERY,
    counts: bool = False,
) -> Question:
    """The statement of a request.

    `columns` names further columns (`V.lemma, delta(V, O)`), `sort` what the hits are sorted by.
    With `counts` the hits are counted by these columns instead. Raises RequestError for a request
    that cannot be read or is not supported. Raises CallError for a number of hits out of range, for
    a sample with a sort order or a limit, and for attention without a run.
    """
    checked, made = _select(request, columns, sort, choice, counts)
    return Question(checked, columns_of(checked), made.sql("duckdb"))


def statement(
    request: str, *, columns: str = "", sort: str = "", choice: Choice = _EVERY,
    dialect: str = "duckdb", counts: bool = False,
) -> str:  # fmt: skip
    """The SELECT of a request, formatted for people, in one of the dialects of the analyses.

    Raises as `question` does, and CallError for an unknown dialect.
    """
    if dialect not in DIALECTS:
        raise CallError(
            f"There is no dialect {dialect}.",
            f"{did_you_mean(dialect, DIALECTS)} It is one of: {', '.join(DIALECTS)}.".strip(),
        )
    _, made = _select(request, columns, sort, choice, counts)
    tree_: exp.Expr = made
    if dialect == "spark":
        tree_ = made.transform(for_spark)
    elif dialect != "duckdb":
        for each in made.find_all(exp.CTE):
            each.set("materialized", None)  # a hint for DuckDB, which others do not have
    return tree_.sql(dialect=dialect, pretty=True, normalize_functions="lower")


def _select(
    request: str, columns: str, sort: str, choice: Choice, counts: bool
) -> tuple[Checked, exp.Select]:
    """The checked request and its SELECT. Raises as `question` does."""
    for number in (choice.limit, choice.sample):
        if number is not None and not 0 <= number <= MOST_LIMIT:
            raise CallError(f"{number} is no number of hits.", f"Give 0 to {MOST_LIMIT:,}.")
    if choice.sample is not None and (sort.strip() or choice.limit is not None):
        raise CallError(
            "A sample is in the order of the text, and as large as it is asked for.",
            "Leave out --sort and --limit, or --sample.",
        )
    keys, order = _keys(columns), _keys(sort)
    checked = check(read(request), keys, order)
    if checked.attends:
        if choice.run is None:
            raise CallError(
                "The request asks about attention, and no run is chosen.",
                "Give a bank with a run (attnbank -b BANK find ...).",
            )
        check_heads(checked, choice.run)
    return checked, (counts_of if counts else select_of)(checked, choice)


def is_document(within: str) -> bool:
    """Whether `within` lets a hit span several sentences.

    Raises CallError unless it is sentence or document.
    """
    if within not in ("sentence", "document"):
        raise CallError(f"Hits are not within a {within}.", "Say sentence or document.")
    return within == "document"


def asks_about_attention(request: str, columns: str = "") -> bool:
    """Whether a request, or a column that describes its hits, is about attention.

    Raises RequestError for what cannot be read.
    """
    return described(request, columns).attends


def described(request: str, columns: str = "") -> Checked:
    """A request and the columns that describe its hits, with every name resolved.

    Raises RequestError for what cannot be read.
    """
    return check(read(request), _keys(columns))


def choose(
    connection: Asked, path: Path, asked: str | None, *, reads: bool, is_wide: bool,
    weights: bool = False,
) -> Run | None:  # fmt: skip
    """The run that a request reads; None unless it `reads` attention.

    It is chosen as for an analysis of words, in whole documents if `is_wide`; a request that reads
    `weights` needs a run that kept them all. Raises as `choose_run` does, and CallError if a run is
    named and the request reads none.
    """
    if reads:
        analysis = _as_analysis(is_wide, weights)
        return choose_run(connection, path, analysis, {"run": asked})
    if asked is not None:
        raise CallError(
            "The request asks about no attention, and so reads no run.",
            "Leave the run out, or ask: A =[3-1]=> B.",
        )
    return None


def _keys(text: str) -> tuple[tree.Key, ...]:
    """The keys in a text that lists them, each once; none for an empty text."""
    text = text.strip().strip(",").strip()
    return tuple(dict.fromkeys(read_keys(text))) if text else ()


@cache
def _as_analysis(is_wide: bool, weights: bool) -> Analysis:
    """An analysis that stands for a request, only so that `choose_run` can choose its run."""
    usual = "document" if is_wide else "sentence"
    made = header.parse("find", "patterns", _HEADER)
    assert made.run is not None
    choice = replace(made.run, usual=usual, weights="true" if weights else None)
    return replace(made, run=choice)


def left_out(connection: Asked, run: int) -> int:
    """How many sentences of its corpus a run left out, wholly or in part."""
    rows = connection.execute(
        "select count(distinct skipped.sentence) from skipped where skipped.run = $run"
        " and skipped.sentence is not null", {"run": run}
    ).fetchall()  # fmt: skip
    return int(rows[0][0])


def listing(request: str, by: str, values: Sequence[Any]) -> str:
    """The request for the hits that one row of `counts` has counted.

    `by` are the keys of the counts, `values` those of the row. Raises CallError for a weight, which
    no request can ask for exactly.
    """
    parts = [request]
    for key, value in zip(_keys(by), values, strict=True):
        if isinstance(key, tree.Nested):
            parts.append(f"{'with' if value else 'without'} {key}")
        elif isinstance(key, tree.Looks):
            parts.append(_listing_looks(key, value))
        elif value is None:
            parts.append(f"with {{ !{key} }}")
        elif isinstance(value, str):
            parts.append(f"with {{ {key} = {_quoted(value)} }}")
        else:
            parts.append(f"with {{ {key} = {value} }}")
    return " ".join(parts)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _listing_looks(key: tree.Looks, value: Any) -> str:
    """The block of a request that is true if a key has a value. Raises CallError for a weight."""
    if key.feature == "weight":
        raise CallError(
            f"No request says that {key} is just {value}.", "Leave out --show, or that key."
        )
    looks = f"{key.source} =[{key.head}]=> looked_at"
    if value is None:
        return f"without {{ {looks}; looked_at.{key.feature} }}"
    if key.feature == "deprel":
        return f"with {{ {looks}; * -[{_quoted(value)}]-> looked_at }}"
    return f"with {{ {looks}; looked_at.{key.feature} = {_quoted(str(value))} }}"


def head_keys(request: str, heads: str, source: str | None, target: str | None) -> str:
    """The keys that say what some heads, "3-1,5-2", look at from one node of a request.

    For each head these are the weight from `source` to `target`, the word that it looks at most
    from `source`, and the weight of that. Without names, `source` and `target` are the dependent
    and the head of the request's first edge of the tree, or the ends of its first edge of
    attention; in a request of one node that node is the source, and there is no target. Raises
    RequestError as `question` does, and CallError if no source can be found in this way.
    """
    scope = check(read(request)).pattern
    if source is None and target is None:
        pairs = [(edge.target, edge.source) for edge in scope.edges]
        pairs += [(each.source, each.target) for each in scope.attends]
        found = [(one.text, other.text) for one, other in pairs if one and other]
        if found:
            source, target = found[0]
        elif len(scope.nodes) == 1:
            source = scope.nodes[0]
    if source is None:
        raise CallError(
            "The request does not say from which word the head looks.",
            f"Give --from and --to: two of {listed(scope.nodes)}.",
        )
    keys = []
    for head in (each.strip() for each in heads.split(",")):
        if target is not None:
            keys.append(f"weight({head}, {source}, {target})")
        keys += [f"looks_at({head}, {source})", f"looks_at({head}, {source}).weight"]
    return ", ".join(keys)


def check_corpus(connection: Asked, name: str) -> None:
    """Raise CallError if the bank has no corpus with that name."""
    known = [row[0] for row in connection.execute("select name from corpus order by id").fetchall()]
    if name not in known:
        raise CallError(
            f"The bank has no corpus {name}.",
            f"{did_you_mean(name, known)} It has: {listed(known)}.".strip(),
        )


def unknown_names(connection: Asked, checked: Checked) -> Iterator[str]:
    """Why a request may have found nothing: relations, features and metadata that nothing has."""
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
    yield from _without_metadata(connection, checked)


def _without_metadata(connection: Asked, checked: Checked) -> Iterator[str]:
    """A warning for each key of metadata that is asked for and no sentence or document has."""
    tests = [each.feature for each in checked.sentence_tests]
    references = [
        each.feature
        for scope in checked.scopes()
        for each in scope.references()
        if scope.is_metadata(each)
    ]
    keys = [
        each
        for each in dict.fromkeys([*tests, *references])
        if each not in sentences.COLUMNS and not each.startswith("is_")
    ]
    if not keys:
        return
    rows = connection.execute(
        "select distinct unnest(map_keys(metadata)) from sentence union"
        " select distinct unnest(map_keys(metadata)) from document"
    ).fetchall()
    known = {row[0] for row in rows}
    kept = connection.execute(
        "select exists(select 1 from sentence where metadata is not null)"
    ).fetchall()[0][0]
    for name in keys:
        if name not in known:
            hint = did_you_mean(name, known)
            if not kept:
                hint = (
                    f"{hint} The bank keeps no metadata of sentences: the source has none, or"
                    " attnbank read it before it kept them. Ingest it again, into a new bank."
                ).strip()
            yield f"No sentence or document has the metadata {name}. {hint}".strip()


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
    columns = (
        values.COLUMNS | values.MENTIONS.keys() | {"textform", "wordform", "SpaceAfter", "__id__"}
    )
    for groups in checked.pattern.tests.values():
        for group in groups:
            for alternative in group:
                for test in alternative:
                    if test.feature not in columns and test.kind in ("equal", "present"):
                        yield test.feature
