"""A request as one SELECT, built as a tree of sqlglot, in which text of the user is only a literal.

The nodes of the pattern are joined on their sentence and on `head_index`; `with` and `without`
become `exists` and `not exists`. By construction a hit is one row, so no `distinct` is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import Checked
from attnbank.queries.patterns.select import attention, clauses, looks, sentences, terms
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
    """The columns of a result that are nodes and that are named edges, in order."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]


def columns_of(checked: Checked) -> Columns:
    """The nodes and the named edges of a request, which are columns of its result."""
    return Columns(tuple(checked.pattern.nodes), tuple(checked.pattern.named))


@dataclass(frozen=True)
class Choice:
    """Which hits are returned, and how.

    They are of one `corpus`, or of all if it is None; at most `limit`; or a random `sample` of that
    many, the same for the same `seed`. With `keys` there is also a column `sentence` with the id of
    the sentence, before the nodes. With `is_wide`, nodes that only attention or coreference
    connects may be in different sentences, and a column `N.sent_id` names that of each. `run` is
    the run whose attention is read.
    """

    corpus: str | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    keys: bool = False
    is_wide: bool = False
    run: RunFacts | None = None


def select_of(checked: Checked, choice: Choice | None = None) -> exp.Select:
    """The SELECT of a request: `sent_id`, the index of each node, the label of each named edge."""
    return _Builder(checked, choice or Choice()).select()


def counts_of(checked: Checked, choice: Choice) -> exp.Select:
    """The SELECT that counts a request's hits by its keys.

    Its columns are the keys, `n`, and `share` in [0, 1], then `run` if one is read.
    """
    hits = _Builder(checked, replace(choice, limit=None)).select()
    hits.set("order", None)
    with_ = hits.args.get("with_") or exp.With(expressions=[])
    hits.set("with_", None)
    with_.append(
        "expressions", exp.CTE(this=hits, alias=exp.TableAlias(this=terms.identifier("hit")))
    )
    names = list(dict.fromkeys(map(str, checked.keys)))
    keys = [exp.Column(this=exp.Identifier(this=name, quoted=True), table=terms.identifier("hit"))
            for name in names]  # fmt: skip
    count = exp.Count(this=exp.Star(), big_int=True)
    total = exp.Window(this=exp.Sum(this=count.copy()))
    every = exp.Nullif(this=total, expression=terms.number(0))
    share = exp.Div(this=terms.plain_double(count.copy()), expression=every)
    made = exp.Select(
        expressions=[
            *keys,
            terms.named(count, "n"),
            terms.named(share, "share"),
        ],
        from_=exp.From(this=terms.table("hit")),
        with_=with_,
    )
    if choice.run is not None:
        made.append("expressions", terms.named(terms.text(choice.run.name), "run"))
    if keys:
        made.set("group", exp.Group(expressions=[each.copy() for each in keys]))
    # By its name: Spark does not sort by an aggregate beside a window.
    order = [exp.Ordered(this=exp.column(terms.identifier("n")), desc=True)]
    made.set("order", exp.Order(expressions=order + [exp.Ordered(this=k.copy()) for k in keys]))
    if choice.limit is not None:
        made.set("limit", exp.Limit(expression=terms.number(choice.limit)))
    return made


class _Builder:
    """Builds one SELECT.

    `_with` are its common table expressions; `_words` is the one that has the words and the nodes
    before the first word, if a node needs it; `_of_group` has, for each sentence that a hit is in,
    the alias of a row in that sentence.
    """

    def __init__(self, checked: Checked, choice: Choice) -> None:
        self._checked = checked
        self._choice = choice
        self._aliases = Aliases()
        self._with: list[exp.CTE] = []
        self._words: str | None = None
        self._of_group: dict[int, str] = {}

    def select(self) -> exp.Select:
        checked, choice = self._checked, self._choice
        pattern = plan(checked, checked.pattern, None, self._aliases, is_wide=choice.is_wide)
        self._add_clauses(pattern)
        conditions = [each.expression for each in self._loose(pattern)]
        self._place(pattern)
        for scope in checked.blocks:
            block = plan(checked, scope, pattern, self._aliases, is_wide=choice.is_wide)
            self._add_clauses(block)
            found = self._exists(block)
            conditions.append(found if scope.kind == "with" else terms.never(found))
        conditions += sentences.conditions(checked.sentence_tests)
        if checked.attends:
            assert choice.run is not None
            for group in self._of_group:
                read = exp.Subquery(this=attention.read_sentences(choice.run))
                conditions.append(exp.In(this=self._sentence(group), query=read))
        if choice.corpus is not None:
            conditions.append(terms.equal(column("corpus", "name"), terms.text(choice.corpus)))
        joins, _ = self._joins(pattern, {})
        joins += self._sentence_joins(has_base=bool(pattern.sources))
        made = exp.Select(expressions=self._columns(pattern))
        if not pattern.sources:
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
        self._with += attention.add(
            planned, self._aliases, self._choice.run, is_wide=self._choice.is_wide
        )
        self._with += clauses.add(planned, self._aliases)
        planned.sources.sort(key=lambda source: not source.has_sentence)

    def _place(self, pattern: Planned) -> None:
        """Remember one row of each sentence that the nodes of the pattern are in."""
        for source in pattern.sources:
            if source.has_sentence:
                self._of_group.setdefault(pattern.row_group[source.alias], source.alias)
        if not pattern.sources:
            self._of_group[0] = TABLE

    def _sentence(self, group: int) -> exp.Expr:
        """The id of the sentence that has this number in the pattern."""
        row = self._of_group[group]
        return column(row, "id" if row == TABLE else "sentence")

    def _columns(self, pattern: Planned) -> list[exp.Expr]:
        """The columns of the result, in order."""
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
            terms.named(self._key_value(pattern, key), str(key)) for key in self._checked.keys
        ]
        if self._choice.is_wide:
            found += [
                terms.named(column(_table(pattern.group[name]), "name"), f"{name}.sent_id")
                for name in self._checked.pattern.nodes
            ]
        if self._choice.is_wide and self._choice.keys:
            found += [
                terms.named(column(_table(pattern.group[name]), "id"), f"{name}.sentence")
                for name in self._checked.pattern.nodes
            ]
        if self._choice.run is not None:
            found.append(terms.named(terms.text(self._choice.run.name), "run"))
        return found

    def _key_value(self, pattern: Planned, key: tree.Key) -> exp.Expr:
        """The value of a key: a feature, a distance, or whether a nested pattern holds."""
        if isinstance(key, tree.Looks):
            assert self._choice.run is not None
            return looks.key_value(pattern, key, self._choice.run)
        if not isinstance(key, tree.Nested):
            return clauses.key_value(pattern, key)
        scope = self._checked.nested[key]
        block = plan(self._checked, scope, pattern, self._aliases, is_wide=self._choice.is_wide)
        self._add_clauses(block)
        return exp.Coalesce(this=self._exists(block), expressions=[exp.false()])

    def _order(self, pattern: Planned) -> list[exp.Expr]:
        """The sort keys of the result: those asked for, then the order of the text.

        A sample is sorted by a digest of the seed and the hit, which is as good as random.
        """
        keys: list[exp.Expr] = [column(_table(group), "id") for group in self._of_group]
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
            keys = [self._key_value(pattern, key) for key in self._checked.sort] + keys
        return [exp.Ordered(this=each) for each in keys]

    def _source(self, source: Source) -> exp.Table:
        if not source.may_be_anchor:
            return terms.table(source.table, source.alias)
        if self._words is None:
            self._words = self._aliases.new("word_or_anchor")
            self._with.insert(0, _words_and_anchors(self._words))
        return terms.table(self._words, source.alias)

    def _joins(
        self, planned: Planned, around: dict[int, exp.Expr]
    ) -> tuple[list[exp.Join], list[exp.Expr]]:
        """The joins of all rows after the first, each joined to an earlier row that it is tied to.

        So no join is a cross product, if the request connects its nodes. `around` has the sentences
        of the pattern around a block; the second value ties the first row of each sentence to them.
        """
        ties = [each for each in planned.conditions if each.is_tie]
        waiting = list(planned.sources)
        placed: list[str] = []
        joins, outward = [], []
        while waiting:
            source = next(
                (each for each in waiting if _tied_to(each.alias, placed, ties)), waiting[0]
            )
            waiting.remove(source)
            on = []
            if source.has_sentence:
                group = planned.row_group[source.alias]
                same = [each for each in placed if planned.row_group.get(each) == group]
                near = _tied_to(source.alias, same, ties) or next(iter(same), None)
                own = column(source.alias, "sentence")
                if near is not None:
                    on.append(terms.equal(own, column(near, "sentence")))
                elif group in around:
                    outward.append(terms.equal(own, around[group].copy()))
            placed.append(source.alias)
            for tie in ties:
                if source.alias in tie.rows and tie.rows <= set(placed) and len(tie.rows) > 1:
                    on.append(tie.expression)
            if len(placed) > 1:
                table = self._source(source)
                joins.append(exp.Join(this=table, kind="INNER", on=terms.every(on)))
        return joins, outward

    def _loose(self, planned: Planned) -> list[Condition]:
        """The conditions of the `where`: all except ties between rows of this scope."""
        own = {each.alias for each in planned.sources}
        return [
            each
            for each in planned.conditions
            if not (each.is_tie and each.rows <= own and len(each.rows) > 1)
        ]

    def _exists(self, block: Planned) -> exp.Expr:
        """That a block holds: an `exists` over its rows, or only its conditions if it has none."""
        conditions = [each.expression for each in self._loose(block)]
        if not block.sources:
            return exp.Paren(this=terms.every(conditions))
        joins, outward = self._joins(
            block, {group: self._sentence(group) for group in self._of_group}
        )
        select = exp.Select(
            expressions=[terms.number(1)],
            from_=exp.From(this=self._source(block.sources[0])),
            where=exp.Where(this=terms.every([*outward, *conditions])),
        )
        if joins:
            select.set("joins", joins)
        return exp.Exists(this=select)

    def _sentence_joins(self, *, has_base: bool) -> list[exp.Join]:
        """The joins of the tables above the words: sentence, document and corpus."""
        joins = []
        has_corpus = self._choice.corpus is not None
        if has_base:
            for group in self._of_group:
                name = _table(group)
                on = terms.equal(column(name, "id"), self._sentence(group))
                joins.append(_join("sentence", on, name))
        if has_corpus or sentences.read_document(self._checked):
            on = terms.equal(column("document", "id"), column(TABLE, "document"))
            joins.append(_join("document", on))
        if has_corpus:
            on = terms.equal(column("corpus", "id"), column("document", "corpus"))
            joins.append(_join("corpus", on))
        return joins


def _table(group: int) -> str:
    """The alias of table `sentence` for one of the sentences of a hit."""
    return TABLE if group == 0 else f"{TABLE}_{group + 1}"


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
    """The words, and for each sentence the node before its first word, which has only a form."""
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
    # Otherwise DuckDB would materialize all words before it applies any condition.
    return exp.CTE(this=union, alias=alias, materialized=False)
