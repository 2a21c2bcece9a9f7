"""A request as one SELECT, built as a tree of sqlglot: user text arrives as a literal alone.

The pattern's nodes are joined on their sentence and on who is whose head; `with` and `without`
become `exists` and `not exists`. A hit is one row by construction, so nothing has to be made
distinct.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import Checked
from attnbank.queries.patterns.select import attention, clauses, sentences, terms
from attnbank.queries.patterns.select.attention import RunFacts
from attnbank.queries.patterns.select.scopes import Aliases, Condition, Planned, Source, plan
from attnbank.queries.patterns.select.sentences import TABLE
from attnbank.queries.patterns.select.terms import column

_WORD_OR_ANCHOR = (
    "id", "sentence", "index", "form", "lemma", "upos", "xpos", "feats", "surface", "misc",
    "space_after", "head_index", "deprel",
)  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """What a SELECT gives: the columns of nodes and of named edges, in order."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]


def columns_of(checked: Checked) -> Columns:
    """The nodes and the named edges of a request, each a column of its result."""
    return Columns(tuple(checked.pattern.nodes), tuple(checked.pattern.named))


@dataclass(frozen=True)
class Choice:
    """Which hits are given, and how: of one corpus alone, so many, or a random sample.

    With `keys` there is also the column `sentence`, the id of the sentence, before the nodes.
    """

    corpus: str | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    keys: bool = False
    run: RunFacts | None = None


def select_of(checked: Checked, choice: Choice | None = None) -> exp.Select:
    """The SELECT of a request: `sent_id`, the index of each node, the label of each named edge."""
    return _Builder(checked, choice or Choice()).select()


class _Builder:
    """Builds one SELECT."""

    def __init__(self, checked: Checked, choice: Choice) -> None:
        self._checked = checked
        self._choice = choice
        self._aliases = Aliases()
        self._with: list[exp.CTE] = []
        self._words: str | None = None

    def select(self) -> exp.Select:
        checked, choice = self._checked, self._choice
        pattern = plan(checked, checked.pattern, None, self._aliases)
        self._add_clauses(pattern)
        conditions = [each.expression for each in self._loose(pattern)]
        base = column(pattern.sources[0].alias, "sentence") if pattern.sources else None
        for scope in checked.blocks:
            block = plan(checked, scope, pattern, self._aliases)
            self._add_clauses(block)
            found = self._exists(block, base)
            conditions.append(found if scope.kind == "with" else terms.never(found))
        conditions += sentences.conditions(checked.sentence_tests)
        if checked.attends:
            assert choice.run is not None
            within = column(TABLE, "id") if base is None else base.copy()
            read = exp.Subquery(this=attention.read_sentences(choice.run))
            conditions.append(exp.In(this=within, query=read))
        if choice.corpus is not None:
            conditions.append(terms.equal(column("corpus", "name"), terms.text(choice.corpus)))
        joins = [*self._joins(pattern), *self._sentence_joins(base)]
        made = exp.Select(expressions=self._columns(pattern))
        if base is None:
            made.set("from_", exp.From(this=terms.table("sentence", TABLE)))
        else:
            made.set("from_", exp.From(this=self._source(pattern.sources[0])))
        if joins:
            made.set("joins", joins)
        if conditions:
            made.set("where", exp.Where(this=terms.every(conditions)))
        made.set("order", exp.Order(expressions=self._order(pattern)))
        limit = choice.limit if choice.sample is None else choice.sample
        if limit is not None:
            made.set("limit", exp.Limit(expression=terms.number(limit)))
        if self._with:
            is_recursive = any(isinstance(each.this, exp.Union) for each in self._with)
            made.set("with_", exp.With(expressions=self._with, recursive=is_recursive))
        return made

    def _add_clauses(self, planned: Planned) -> None:
        self._with += attention.add(planned, self._aliases, self._choice.run)
        self._with += clauses.add(planned, self._aliases)
        planned.sources.sort(key=lambda source: not source.has_sentence)

    def _columns(self, pattern: Planned) -> list[exp.Expr]:
        found = [terms.named(column(TABLE, "name"), "sent_id")]
        if self._choice.keys or self._choice.sample is not None:
            found.append(terms.named(column(TABLE, "id"), "sentence"))
        found += [
            terms.named(pattern.bound[name].index(), name) for name in self._checked.pattern.nodes
        ]
        found += [
            terms.named(clauses.label_of(pattern, name), name)
            for name in self._checked.pattern.named
        ]
        found += [
            terms.named(clauses.key_value(pattern, key), str(key)) for key in self._checked.keys
        ]
        if self._choice.run is not None:
            found.append(terms.named(terms.text(self._choice.run.name), "run"))
        return found

    def _order(self, pattern: Planned) -> list[exp.Expr]:
        keys: list[exp.Expr] = [column(TABLE, "id")]
        keys += [pattern.bound[name].index() for name in self._checked.pattern.nodes]
        keys += [column(alias, "index") for alias in pattern.hidden]
        keys += [
            clauses.label_of(pattern, name)
            for name, edge in self._checked.pattern.named.items()
            if isinstance(edge, tree.Attends)
        ]
        if self._choice.sample is not None:
            parts = [exp.Cast(this=each, to=exp.DataType(this=exp.DType.VARCHAR)) for each in keys]
            seeded = [terms.text(f"{self._choice.seed}"), *parts]
            joined = exp.ConcatWs(expressions=[terms.text(" "), *seeded])
            keys = [exp.MD5(this=joined), *(each.copy() for each in keys)]
        else:
            keys = [clauses.key_value(pattern, key) for key in self._checked.sort] + keys
        return [exp.Ordered(this=each) for each in keys]

    def _source(self, source: Source) -> exp.Table:
        if not source.may_be_anchor:
            return terms.table(source.table, source.alias)
        if self._words is None:
            self._words = self._aliases.new("word_or_anchor")
            self._with.insert(0, _words_and_anchors(self._words))
        return terms.table(self._words, source.alias)

    def _joins(self, planned: Planned) -> list[exp.Join]:
        """The rows after the first, each joined to one before it that it is tied to."""
        if not planned.sources:
            return []
        first, *waiting = planned.sources
        placed = [first.alias]
        with_sentence = [first.alias]  # a row that has none comes after all that have one
        ties = [each for each in planned.conditions if each.is_tie]
        joins = []
        while waiting:
            source = next(
                (each for each in waiting if _tied_to(each.alias, placed, ties)), waiting[0]
            )
            waiting.remove(source)
            on = []
            if source.has_sentence:
                near = _tied_to(source.alias, with_sentence, ties) or with_sentence[0]
                same = terms.equal(column(source.alias, "sentence"), column(near, "sentence"))
                on.append(same)
                with_sentence.append(source.alias)
            placed.append(source.alias)
            for tie in ties:
                if source.alias in tie.rows and tie.rows <= set(placed):
                    on.append(tie.expression)
            joins.append(exp.Join(this=self._source(source), kind="INNER", on=terms.every(on)))
        return joins

    def _loose(self, planned: Planned) -> list[Condition]:
        """The conditions that stand in the `where`: all but the ties of rows of this scope."""
        own = {each.alias for each in planned.sources}
        return [
            each
            for each in planned.conditions
            if not (each.is_tie and each.rows <= own and len(each.rows) > 1)
        ]

    def _exists(self, block: Planned, base: exp.Expr | None) -> exp.Expr:
        conditions = [each.expression for each in self._loose(block)]
        if not block.sources:
            return exp.Paren(this=terms.every(conditions))
        sentence = column(TABLE, "id") if base is None else base.copy()
        if block.sources[0].has_sentence:
            first = block.sources[0].alias
            conditions.insert(0, terms.equal(column(first, "sentence"), sentence))
        joins = self._joins(block)
        select = exp.Select(
            expressions=[terms.number(1)],
            from_=exp.From(this=self._source(block.sources[0])),
            where=exp.Where(this=terms.every(conditions)),
        )
        if joins:
            select.set("joins", joins)
        return exp.Exists(this=select)

    def _sentence_joins(self, base: exp.Expr | None) -> list[exp.Join]:
        joins = []
        has_corpus = self._choice.corpus is not None
        if base is not None:
            joins.append(_join("sentence", terms.equal(column(TABLE, "id"), base.copy()), TABLE))
        if has_corpus or sentences.read_document(self._checked):
            on = terms.equal(column("document", "id"), column(TABLE, "document"))
            joins.append(_join("document", on))
        if has_corpus:
            on = terms.equal(column("corpus", "id"), column("document", "corpus"))
            joins.append(_join("corpus", on))
        return joins


def _join(table: str, on: exp.Expr, alias: str | None = None) -> exp.Join:
    return exp.Join(this=terms.table(table, alias), kind="INNER", on=on)


def _tied_to(alias: str, placed: list[str], ties: list[Condition]) -> str | None:
    for tie in ties:
        if alias in tie.rows:
            for other in placed:
                if other in tie.rows and other != alias:
                    return other
    return None


def _words_and_anchors(name: str) -> exp.CTE:
    """The words, and a node before the first word of each sentence that has but a form."""
    own = {
        "sentence": column("sentence", "id"),
        "index": terms.small(0),
        "form": terms.text("__0__"),
        "space_after": exp.true(),
    }
    words = exp.Select(
        expressions=[column("word", each) for each in _WORD_OR_ANCHOR],
        from_=exp.From(this=terms.table("word")),
    )
    anchors = exp.Select(
        expressions=[terms.named(own.get(each, exp.Null()), each) for each in _WORD_OR_ANCHOR],
        from_=exp.From(this=terms.table("sentence")),
    )
    union = exp.Union(this=words, expression=anchors, distinct=False)
    alias = exp.TableAlias(this=terms.identifier(name))
    # Left to itself DuckDB writes down all words before it looks at a condition.
    return exp.CTE(this=union, alias=alias, materialized=False)
