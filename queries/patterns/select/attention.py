"""The ties between nodes other than the tree: attention in a run, and mentions of one entity.

Each becomes a common table expression of pairs of words (two columns of `word.id`), to which the
nodes are joined. A star is a word that is joined too, but is no column of the result. A tie that
can hold in several ways (by any head of a layer) must not multiply the hits, unless it has a name.
So without a name it becomes an `exists` in the pattern; within a `with` or `without`, which are
`exists` themselves, it makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from attnbank.queries.patterns.language import tree
from attnbank.queries.patterns.language.checking import SPECIAL, Checked
from attnbank.queries.patterns.language.faults import RequestError
from attnbank.queries.patterns.select import terms
from attnbank.queries.patterns.select.scopes import Aliases, Bound, Planned, Source
from attnbank.queries.patterns.select.terms import column
from attnbank.sql.runs import Run


@dataclass(frozen=True)
class RunFacts:
    """The run whose attention is read: its id, its name, and how many heads its model has."""

    id: int
    name: str
    layers: int
    heads: int
    is_finished: bool = True

    @classmethod
    def of(cls, run: Run) -> RunFacts:
        """What is needed of a run of a bank."""
        return cls(run.id, run.name, run.layers, run.heads, run.is_finished)


def check_heads(checked: Checked, run: RunFacts) -> None:
    """Raise RequestError for a head that the model of the run does not have."""
    asked: list[tree.Attends | tree.Looks] = [
        each for scope in checked.scopes() for each in scope.attends
    ]
    for each in [*asked, *checked.looks()]:
        layer, head = each.head.layer, each.head.head
        if not (
            (layer is None or 1 <= layer <= run.layers) and (head is None or 1 <= head <= run.heads)
        ):
            raise RequestError(
                each.place, f"the model of the run {run.name} has no head {each.head}.",
                f"It has {run.layers} layers of {run.heads} heads: 1-1 to"
                f" {run.layers}-{run.heads}.",
            )  # fmt: skip


def add(
    planned: Planned, aliases: Aliases, run: RunFacts | None, *, is_wide: bool
) -> list[exp.CTE]:
    """Add the ties of attention and of coreference of a scope to `planned`.

    Returns the common table expressions that they read. With `is_wide` a star may be in another
    sentence. Raises RequestError for a special token without a threshold, since the words that are
    attended to most are found among words only.
    """
    made = []
    for attends in planned.scope.attends:
        assert run is not None  # finding.py refuses a request about attention without a run
        name = aliases.new("looks")
        special = {
            end: _special(planned, attends, node)
            for end, node in (("looking", attends.source), ("looked_at", attends.target))
            if node is not None and not planned.scope.has_node(node.text)
        }
        made.append(_as(name, _looks(attends, run, special)))
        tie = {"looking": attends.source, "looked_at": attends.target}
        tie = {end: node for end, node in tie.items() if end not in special}
        is_one = attends.head.layer is not None and attends.head.head is not None
        is_one = is_one and not special
        _join(planned, aliases, name, tie, attends.name, is_one=is_one, is_wide=is_wide)
    for pair in planned.scope.corefers:
        name = aliases.new("coreferent")
        made.append(_as(name, _coreferent()))
        tie = {"one": pair.one, "other": pair.other}
        _join(planned, aliases, name, tie, None, is_one=True, is_wide=is_wide)
    return made


def _special(planned: Planned, attends: tree.Attends, token: tree.Name) -> str:
    """The kind of the special token at an end. Raises RequestError if no weight is asked for."""
    if attends.sign is None:
        source, target = attends.source or "*", attends.target or "*"
        raise RequestError(
            token.place,
            f"{token} is a special token: none looks at a word most, and none is looked at so.",
            f"Ask for a weight: {source} =[{attends.head} > 0.5]=> {target}.",
        )
    return SPECIAL[token.text]


def _join(
    planned: Planned, aliases: Aliases, pairs: str, ties: dict[str, tree.Name | None],
    name: tree.Name | None, *, is_one: bool, is_wide: bool,
) -> None:  # fmt: skip
    """Tie nodes to the rows of a table of pairs.

    `ties` has the node of each column of the pairs; None is a star: any word, of the same sentence
    unless `is_wide`. `is_one` says that two given words are in one row of the pairs at most.
    """
    alias = aliases.new(f"{pairs}_row")
    bound = {end: planned.bound[node.text] for end, node in ties.items() if node is not None}
    near = next(iter(bound.values()))
    star = next((end for end, node in ties.items() if node is None), None)
    if star is not None:
        is_one = False
        bound[star] = Bound(aliases.new("star"))
    found = [terms.equal(column(alias, end), column(each.row, "id")) for end, each in bound.items()]
    if name is None and not is_one and planned.scope.outer is None:
        joins = []
        if star is not None:
            on = [found.pop()]
            if not is_wide:
                on.append(terms.equal(bound[star].sentence(), near.sentence()))
            joins.append(_inner("word", bound[star].row, on))
        select = exp.Select(
            expressions=[terms.number(1)],
            from_=exp.From(this=terms.table(pairs, alias)),
            joins=joins,
            where=exp.Where(this=terms.every(found)),
        )
        nodes = [each.row for end, each in bound.items() if end != star]
        planned.add(exp.Exists(this=select), *nodes)
        return
    if star is not None:
        planned.sources.append(Source(bound[star].row, has_sentence=not is_wide))
        planned.hidden.append(bound[star].row)
        if not is_wide:
            planned.row_group[bound[star].row] = planned.row_group[near.row]
    planned.sources.append(Source(alias, table=pairs, has_sentence=False))
    for each, end in zip(found, bound.values(), strict=True):
        planned.add(each, alias, end.row, is_tie=True)
    if name is not None:
        planned.edges[name.text] = alias
        is_between_words = len(bound) == len(("looking", "looked_at"))
        planned.ends[name.text] = (
            (bound["looking"], bound["looked_at"]) if is_between_words else None
        )


def _as(name: str, select: exp.Expr) -> exp.CTE:
    return exp.CTE(
        this=select, alias=exp.TableAlias(this=terms.identifier(name)), materialized=False
    )


def _looks(attends: tree.Attends, run: RunFacts, special: dict[str, str]) -> exp.Expr:
    """The pairs of words of which one attends to the other, with columns `label` and `weight`.

    Without a sign these are the pairs of table `peak` (the most attended word); with a sign, those
    whose weight meets the threshold. `special` has the kind of special token that an end must be.
    Words that share a position attend, and are attended to, alike, but not to each other.
    """
    if attends.sign is None:
        table, place = "peak", "position"
        weight = terms.plain_double(column(table, "most_attended_weight"))
        reaches: list[exp.Expr] = [
            terms.equal(column("target", "position"), column(table, "most_attended"))
        ]
    else:
        table, place = "attention", "from_position"
        at = exp.Add(this=column("target", "position"), expression=terms.number(1))
        weight = terms.plain_double(
            exp.Anonymous(this="list_extract", expressions=[column(table, "weights"), at])
        )
        threshold = terms.double(repr(attends.threshold))
        reaches = [terms.compared(attends.sign, weight.copy(), threshold)]
    wanted = [
        terms.equal(column("sequence", "run"), terms.number(run.id)),
        *(
            terms.equal(column(table, name), terms.number(value))
            for name, value in (("layer", attends.head.layer), ("head", attends.head.head))
            if value is not None
        ),
    ]
    for end, kind in special.items():
        position = "source" if end == "looking" else "target"
        wanted.append(terms.equal(column(position, "kind"), terms.text(kind)))
    if not special and attends.sign is not None:
        wanted.append(
            exp.Or(
                this=terms.unequal(column("target", "position"), column("source", "position")),
                expression=terms.equal(column("target", "word"), column("source", "word")),
            )
        )
    joins = [
        _inner(table, None, [terms.equal(column(table, "sequence"), column("sequence", "id"))]),
        _inner(
            "position" if "looking" in special else "word_position",
            "source",
            [
                terms.equal(column("source", "sequence"), column(table, "sequence")),
                terms.equal(column("source", "position"), column(table, place)),
            ],
        ),
        _inner(
            "position" if "looked_at" in special else "word_position",
            "target",
            [terms.equal(column("target", "sequence"), column(table, "sequence")), *reaches],
        ),
    ]
    return exp.Select(
        expressions=[
            terms.named(column("source", "word"), "looking"),
            terms.named(column("target", "word"), "looked_at"),
            terms.named(_head_name(table), "label"),
            terms.named(weight, "weight"),
        ],
        from_=exp.From(this=terms.table("sequence")),
        joins=joins,
        where=exp.Where(this=terms.every(wanted)),
    )


def _head_name(table: str) -> exp.Expr:
    varchar = exp.DataType(this=exp.DType.VARCHAR)
    return terms.joined(
        exp.Cast(this=column(table, "layer"), to=varchar.copy()),
        terms.text("-"),
        exp.Cast(this=column(table, "head"), to=varchar),
    )


def _inner(table: str, alias: str | None, on: list[exp.Expr]) -> exp.Join:
    return exp.Join(this=terms.table(table, alias), kind="INNER", on=terms.every(on))


def _coreferent() -> exp.Expr:
    """The pairs of head words of two mentions of the same entity, each ordered pair once."""
    same = terms.equal(column("other_mention", "entity"), column("one_mention", "entity"))
    another = terms.unequal(column("other_mention", "id"), column("one_mention", "id"))
    return exp.Select(
        distinct=exp.Distinct(),
        expressions=[
            terms.named(column("one_mention", "head_word"), "one"),
            terms.named(column("other_mention", "head_word"), "other"),
        ],
        from_=exp.From(this=terms.table("mention", "one_mention")),
        joins=[_inner("mention", "other_mention", [same, another])],
    )


def read_sentences(run: RunFacts) -> exp.Expr:
    """The ids of the sentences that the run has read, even in part."""
    return exp.Select(
        distinct=exp.Distinct(),
        expressions=[column("word", "sentence")],
        from_=exp.From(this=terms.table("sequence")),
        joins=[
            _inner(
                "position",
                None,
                [terms.equal(column("position", "sequence"), column("sequence", "id"))],
            ),
            _inner("word", None, [terms.equal(column("word", "id"), column("position", "word"))]),
        ],
        where=exp.Where(this=terms.equal(column("sequence", "run"), terms.number(run.id))),
    )
