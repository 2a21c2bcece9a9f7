"""Compile a request to one SELECT, in which text of the user is only a literal or a quoted name.

The nodes of the pattern are joined on their sentence and on `head_index`; `with` and `without`
become `exists` and `not exists`. By construction a hit is one row, so no `distinct` is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from attnbank.queries.patterns import clauses, expressions, syntax
from attnbank.queries.patterns.expressions import SENTENCE, all_of
from attnbank.queries.patterns.resolver import ResolvedRequest, Scope
from attnbank.queries.patterns.scopes import (
    Aliases,
    Condition,
    FromItem,
    ScopePlan,
    plan_scope,
)
from attnbank.sql.errors import CallError
from attnbank.sql.messages import did_you_mean, join_names
from attnbank.sql.names import literal, quoted
from attnbank.sql.run_choice import Run


@dataclass(frozen=True)
class HitOptions:
    """Which hits are returned: of one `corpus`, at most `limit`, or a random `sample` by `seed`.

    `keys` adds a column `sentence` with sentence.id. `cross_sentence` lets nodes that only
    attention or coreference connects be in different sentences, and adds a column `N.sent_id` for
    each node N. `run` is the run whose attention and surprisal are read.
    """

    corpus: str | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    keys: bool = False
    cross_sentence: bool = False
    run: Run | None = None


def compile_hits(request: ResolvedRequest, options: HitOptions) -> str:
    """Compile a request to its hits: `sent_id`, the index of each node, the label of each edge."""
    builder = _Builder(request, options)
    select = f"{builder.select_hits()} order by {', '.join(builder.order())}"
    limit = options.limit if options.sample is None else options.sample
    return builder.with_expressions() + select + _limit_clause(limit)


def compile_counts(request: ResolvedRequest, options: HitOptions) -> str:
    """Compile a request to counts: its keys, `n`, `share` in [0, 1], and `run` if one is read."""
    builder = _Builder(request, options)
    hits = builder.select_hits()
    keys = [f"hit.{quoted(key)}" for key in dict.fromkeys(map(str, request.keys))]
    share = "cast(count(*) as double) / nullif(sum(count(*)) over (), 0) as share"
    columns = [*keys, "count(*) as n", share]
    if options.run is not None:
        columns.append(f"{literal(options.run.name)} as run")
    grouped = f" group by {', '.join(keys)}" if keys else ""
    # By its alias: Spark cannot sort by an aggregate beside a window.
    order = ", ".join(["n desc", *keys])
    return (
        f"{builder.with_expressions(f'hit as ({hits})')}select {', '.join(columns)}"
        f" from hit{grouped} order by {order}{_limit_clause(options.limit)}"
    )


def compile_pairs(
    request: ResolvedRequest, options: HitOptions, dependent: str, head: str, apart: int = 1
) -> str:
    """Compile a request to pairs of two nodes: word, head_word (both word.id), and the keys.

    The words are at least `apart` apart (neighbours are 1 apart), and neither is the node before
    the first word. `options.keys` must be set.
    """
    builder = _Builder(request, options)
    hits = builder.select_hits()
    keys = "".join(f", hit.{quoted(str(key))}" for key in request.keys)
    rows = f"({builder.with_expressions()}{hits}) as hit"
    for alias, node in (("dependent_word", dependent), ("governing_word", head)):
        sentence = quoted(f"{node}.sentence" if options.cross_sentence else "sentence")
        rows += f" inner join word as {alias} on {alias}.sentence = hit.{sentence}"
        rows += f" and {alias}.index = hit.{quoted(node)}"
    # word.id follows the order of the text, across sentences too
    distance = f" where abs(dependent_word.id - governing_word.id) >= {apart}" if apart > 1 else ""
    columns = f"dependent_word.id as word, governing_word.id as head_word{keys}"
    return f"select distinct {columns} from {rows}{distance}"


def check_ends(nodes: Collection[str], dependent: str, head: str) -> None:
    """Raise CallError unless two nodes of a request are named."""
    for name in (dependent, head):
        if name not in nodes:
            hint = f"{did_you_mean(name, nodes)} Its nodes: {', '.join(nodes) or 'none'}."
            raise CallError(f"The request has no node {name}.", hint.strip())
    if dependent == head:
        raise CallError("--from and --to name the same node.", f"Give two of: {join_names(nodes)}.")


def _limit_clause(limit: int | None) -> str:
    return "" if limit is None else f" limit {limit}"


# The columns of table `word` that a request can read.
_COLUMNS = (
    "id", "sentence", "index", "form", "lemma", "upos", "xpos", "feats", "surface", "misc",
    "space_after", "head_index", "deprel",
)  # fmt: skip


# All words, and for each sentence the node before its first word, which has only a form.
_WORDS_AND_ANCHORS = """
select
    word.id, word.sentence, word.index, word.form, word.lemma, word.upos, word.xpos, word.feats,
    word.surface, word.misc, word.space_after, word.head_index, word.deprel
from word
union all
select
    null as id, sentence.id as sentence, cast(0 as smallint) as index, '__0__' as form,
    null as lemma, null as upos, null as xpos, null as feats, null as surface, null as misc,
    true as space_after, null as head_index, null as deprel
from sentence
"""


class _Builder:
    def __init__(self, request: ResolvedRequest, options: HitOptions) -> None:
        self._request = request
        self._options = options
        self._aliases = Aliases()
        self._with: list[str] = []  # the common table expressions
        self._words_table: str | None = None  # of words and anchors, if a node needs it
        self._surprisal_tables: dict[str, str] = {}  # tables with surprisal, by their base table
        self._row_of_group: dict[int, str] = {}  # the alias of a row in each sentence of a hit
        self._pattern = self._plan(request.pattern, None)

    def with_expressions(self, *more: str) -> str:
        """The `with` of the hits, with `more` expressions."""
        ctes = ", ".join([*self._with, *more])
        paths = (
            path for scope in self._request.scopes() for path in scope.clauses_of_kind(syntax.Path)
        )
        is_recursive = any(path.source != path.target for path in paths)
        return f"with {'recursive ' * is_recursive}{ctes} " if ctes else ""

    def select_hits(self) -> str:
        """The SELECT of the hits, unsorted."""
        request, options, pattern = self._request, self._options, self._pattern
        conditions = [condition.expression for condition in _where_conditions(pattern)]
        for source in pattern.sources:
            if source.has_sentence:
                self._row_of_group.setdefault(pattern.row_group[source.alias], source.alias)
        if not pattern.sources:
            self._row_of_group[0] = SENTENCE
        for scope in request.blocks:
            is_with = scope.kind == "with"
            holds = self._block_condition(scope, is_filter=is_with)
            conditions.append(holds if is_with else f"not {holds}")
        conditions += map(expressions.metadata_test, request.sentence_tests)
        if request.reads_run():
            assert options.run is not None
            # Otherwise a `without` would hold in every sentence that the run has not read.
            readable = [clauses.read_sentences(options.run)] if request.attention() else []
            if request.reads_surprisal():
                readable.append(clauses.measured_sentences(options.run))
            conditions += [
                f"{self._sentence_id(group)} in ({sentences})"
                for sentences in readable
                for group in self._row_of_group
            ]
        if options.corpus is not None:
            conditions.append(f"corpus.name = {literal(options.corpus)}")
        rows = [f"sentence as {SENTENCE}"]
        if pattern.sources:
            rows = self._join_rows(pattern, {})[0]
            for group in self._row_of_group:
                name = _sentence_of_group(group)
                rows.append(f"sentence as {name} on {name}.id = {self._sentence_id(group)}")
        if options.corpus is not None or expressions.reads_document(request):
            rows.append(f"document on document.id = {SENTENCE}.document")
        if options.corpus is not None:
            rows.append("corpus on corpus.id = document.corpus")
        select = f"select {', '.join(self._columns())} from {' inner join '.join(rows)}"
        return f"{select} where {all_of(conditions)}" if conditions else select

    def _plan(self, scope: Scope, outer: ScopePlan | None) -> ScopePlan:
        options = self._options
        planned = plan_scope(
            self._request, scope, outer, self._aliases, cross_sentence=options.cross_sentence
        )
        self._with += clauses.add_clauses(planned, options.run)
        # Words first: pairs of words have no column sentence, and are joined to the words.
        planned.sources.sort(key=lambda source: not source.has_sentence)
        return planned

    def _sentence_id(self, group: int) -> str:
        row = self._row_of_group[group]
        return f"{row}.{'id' if row == SENTENCE else 'sentence'}"

    def _columns(self) -> list[str]:
        request, options, pattern = self._request, self._options, self._pattern
        columns = [f"{SENTENCE}.name as sent_id"]
        if options.keys or options.sample is not None:
            columns.append(f"{SENTENCE}.id as sentence")
        values = {name: pattern.bound[name].index for name in pattern.scope.nodes}
        values |= {name: clauses.label_of(pattern, name) for name in pattern.scope.named}
        columns += [f"{value} as {quoted(name)}" for name, value in values.items()]
        columns += [f"{self._key_value(key)} as {quoted(str(key))}" for key in request.keys]
        suffixes = {"name": "sent_id", "id": "sentence"} if options.keys else {"name": "sent_id"}
        for column, suffix in suffixes.items() if options.cross_sentence else ():
            for name in pattern.scope.nodes:
                alias = _sentence_of_group(pattern.group[name])
                columns.append(f"{alias}.{column} as {quoted(f'{name}.{suffix}')}")
        if options.run is not None:
            columns.append(f"{literal(options.run.name)} as run")
        return columns

    def _key_value(self, key: syntax.Key) -> str:
        if isinstance(key, syntax.Nested):
            return self._block_condition(self._request.nested[key])
        return clauses.key_value(self._pattern, key, self._options.run)

    def order(self) -> list[str]:
        """The sort keys, then the order of the text; a sample is sorted by a hash of seed and hit.

        The hash makes the same sample in DuckDB and Spark, whatever the order of the rows.
        """
        pattern, options = self._pattern, self._options
        keys = [f"{_sentence_of_group(group)}.id" for group in self._row_of_group]
        keys += [pattern.bound[name].index for name in pattern.scope.nodes]
        keys += [f"{alias}.index" for alias in pattern.hidden]
        keys += [
            clauses.label_of(pattern, name)
            for name, edge in pattern.scope.named.items()
            if isinstance(edge, syntax.AttentionEdge) or edge.is_enhanced
        ]
        if options.sample is None:
            return [*map(self._key_value, self._request.sort), *keys]
        parts = [literal(str(options.seed)), *(f"cast({key} as varchar)" for key in keys)]
        return [f"md5(concat_ws(' ', {', '.join(parts)}))", *keys]

    def _from_clause(self, source: FromItem) -> str:
        table = source.table
        if source.may_be_anchor:
            if self._words_table is None:
                self._words_table = self._aliases.new("word_or_anchor")
                # First, because tables with surprisal read it.
                self._with.insert(
                    0, f"{self._words_table} as not materialized ({_WORDS_AND_ANCHORS})"
                )
            table = self._words_table
        if source.has_surprisal:
            table = self._with_surprisal(table)
        return f"{table} as {source.alias}"

    def _with_surprisal(self, table: str) -> str:
        """A table of words with the column surprisal; null for a word that has none."""
        if table not in self._surprisal_tables:
            assert self._options.run is not None
            name = self._surprisal_tables[table] = self._aliases.new(f"{table}_and_surprisal")
            columns = ", ".join(f"{table}.{column}" for column in _COLUMNS)
            self._with.append(
                f"{name} as not materialized (select {columns}, surprisal.nats as surprisal"
                f" from {table} left join surprisal on surprisal.word = {table}.id"
                f" and surprisal.run = {self._options.run.id})"
            )
        return self._surprisal_tables[table]

    def _join_rows(self, planned: ScopePlan, around: dict[int, str]) -> tuple[list[str], list[str]]:
        """The joins of a scope, and conditions that tie a block to the pattern around it.

        Each row is joined to an earlier one that it is tied to, if any, so that DuckDB need not
        build a cross product. `around` has the sentence of each group of the pattern.
        """
        ties = [condition for condition in planned.conditions if condition.is_tie]
        waiting = list(planned.sources)
        placed: list[str] = []
        rows: list[str] = []
        outward: list[str] = []
        while waiting:
            source = next(
                (item for item in waiting if _first_tied(item.alias, placed, ties)), waiting[0]
            )
            waiting.remove(source)
            on: list[str] = []
            if source.has_sentence:
                group = planned.row_group[source.alias]
                same = [alias for alias in placed if planned.row_group.get(alias) == group]
                neighbour = _first_tied(source.alias, same, ties) or next(iter(same), None)
                if neighbour is not None:
                    on.append(f"{source.alias}.sentence = {neighbour}.sentence")
                elif group in around:
                    outward.append(f"{source.alias}.sentence = {around[group]}")
            placed.append(source.alias)
            on += [
                tie.expression for tie in ties
                if source.alias in tie.rows and tie.rows <= set(placed) and len(tie.rows) > 1
            ]  # fmt: skip
            table = self._from_clause(source)
            rows.append(f"{table} on {all_of(on)}" if rows else table)
        return rows, outward

    def _block_condition(self, scope: Scope, *, is_filter: bool = False) -> str:
        """The condition that a block holds; it may be null for false only if it `is_filter`."""
        block = self._plan(scope, self._pattern)
        conditions = [condition.expression for condition in _where_conditions(block)]
        if not block.sources:
            return all_of(conditions) if is_filter else f"coalesce({all_of(conditions)}, false)"
        around = {group: self._sentence_id(group) for group in self._row_of_group}
        rows, outward = self._join_rows(block, around)
        where = all_of([*outward, *conditions])
        return f"exists(select 1 from {' inner join '.join(rows)} where {where})"


def _sentence_of_group(group: int) -> str:
    return SENTENCE if group == 0 else f"{SENTENCE}_{group + 1}"


def _where_conditions(planned: ScopePlan) -> list[Condition]:
    """The conditions of the `where`: all except the join conditions between rows of this scope."""
    aliases = {source.alias for source in planned.sources}
    return [
        condition for condition in planned.conditions
        if not (condition.is_tie and condition.rows <= aliases and len(condition.rows) > 1)
    ]  # fmt: skip


def _first_tied(alias: str, placed: Iterable[str], ties: list[Condition]) -> str | None:
    """The first placed row that a tie connects with a row; None if no tie does."""
    neighbours = (
        row for tie in ties if alias in tie.rows
        for row in placed if row in tie.rows and row != alias
    )  # fmt: skip
    return next(neighbours, None)
