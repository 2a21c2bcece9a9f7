"""What a request names that the bank does not have: values, relations, features, metadata.

A name that nothing has finds nothing, or within a `without` keeps everything. So it is told, with
the nearest that there is. Each column is read once, whatever the number of tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from attnbank.queries.patterns.compiler import expressions
from attnbank.queries.patterns.language import syntax
from attnbank.queries.patterns.language.resolver import ResolvedRequest, Scope
from attnbank.sql.errors import CallError
from attnbank.sql.quoting import literal
from attnbank.sql.run_choice import SupportsExecute
from attnbank.sql.subtypes import PARTS, part
from attnbank.sql.suggest import did_you_mean, join_names

_PLAIN = {*expressions.COLUMNS, "textform", "wordform", "SpaceAfter", "__id__", syntax.SURPRISAL}
"""Features that every word can have, whatever is in FEATS and MISC."""
_OF_EDGES = ("label", *PARTS, "length", "delta", "weight", "enhanced")
_PARTS = {
    "1": "the relation ", "2": "a relation with the subtype ",
    "subsem": "a relation with $", "deep": "a relation with @",
}  # fmt: skip
_MOST = 100
"""Of a longer list of forms or lemmas it is not told that no word has any."""
_LONGEST = 40
"""For a longer text no near one is looked for."""
_MOST_KNOWN = 5_000
"""Among more names no near one is looked for, which would take seconds."""
_FEW = 20
"""So few values are listed if none is near."""
_NO_METADATA = (
    " The bank has no metadata of sentences: the source has none, or it was read before attnbank"
    " kept them. Ingest it again, into a new bank."
)

Tests = list[tuple[str, ...]]
"""The values of each test of one name."""


def check_enhanced(connection: SupportsExecute, checked: ResolvedRequest) -> None:
    """Raise CallError if a request asks the enhanced graph, and the bank has none."""
    found = "select 1 from enhanced_dependency limit 1"
    if any(s.enhanced for s in checked.scopes()) and not connection.execute(found).fetchall():
        raise CallError(
            "The bank has no enhanced edges (E:obj).",
            "Ask the tree (-[obj]->), or ingest a corpus with a DEPS column into a new bank.",
        )


def unknown_names(
    connection: SupportsExecute, checked: ResolvedRequest, corpus: str | None = None
) -> Iterator[str]:
    """Each value and name of a request that nothing in the bank, or in one corpus of it, has."""
    named: dict[str, dict[str, Tests]] = defaultdict(lambda: defaultdict(list))
    for kind, name, wanted in _names_in_request(checked):
        named[kind][name].append(tuple(each for each in wanted if isinstance(each, str)))
    nodes, bank = named["node"], _Bank(connection, corpus)
    mentions = {name: nodes[name] for name in expressions.MENTIONS if name in nodes}
    if mentions or any(scope.clauses_of_kind(syntax.Corefers) for scope in checked.scopes()):
        yield from bank.mentions(mentions)
    for name in ("upos", "xpos"):
        if any(nodes.get(name, ())):
            yield from bank.tags(name, nodes[name])
    for name in ("form", "lemma"):
        tests = [each for each in nodes.get(name, ()) if 0 < len(each) <= _MOST]
        if tests:
            yield from bank.unmatched_texts(name, tests)
    features = {name: each for name, each in nodes.items() if name not in _PLAIN | mentions.keys()}
    if features:
        yield from bank.features(features)
    yield from bank.labels(named["edge"], "word", "deprel")
    yield from bank.labels(named["enhanced"], "enhanced_dependency", "relation", syntax.ENHANCED)
    yield from bank.metadata(named["metadata"])


def _names_in_request(
    checked: ResolvedRequest,
) -> Iterator[tuple[str, str, Iterable[syntax.Value]]]:
    """What a request names: kind (node, edge, enhanced, metadata), name, values asked for."""
    for test in checked.sentence_tests:
        yield "metadata", test.feature, test.values
    for scope in checked.scopes():
        for test in syntax.parts(syntax.Test, *scope.tests.values()):
            yield "node", test.feature, test.values
        for edge in scope.clauses_of_kind(syntax.Edge):
            for test in edge.label:
                kind = "enhanced" if edge.is_enhanced else "edge"
                yield kind, test.feature or "label", test.values
        for reference in scope.feature_references():
            yield from _names_of_reference(scope, reference, ())
        for comparison in scope.clauses_of_kind(syntax.Comparison):
            left, right = comparison.left, comparison.right
            if isinstance(left, syntax.Reference) and isinstance(right, syntax.Constant):
                is_text = comparison.operator in ("=", "<>")
                yield from _names_of_reference(scope, left, (right.value,) if is_text else ())
    for reference in checked.keys_of(syntax.Reference):
        yield from _names_of_reference(checked.pattern, reference, ())
    for key in checked.keys_of(syntax.AttentionKey):
        if key.feature not in ("weight", "deprel"):
            yield "node", key.feature, ()


def _names_of_reference(
    scope: Scope, reference: syntax.Reference, wanted: tuple[syntax.Value, ...]
) -> Iterator[tuple[str, str, tuple[syntax.Value, ...]]]:
    edge = scope.edge(reference.owner)
    if scope.is_metadata(reference):
        kind = "metadata"
    elif scope.has_node(reference.owner):
        kind = "node"
    elif isinstance(edge, syntax.Edge):
        kind = "enhanced" if edge.is_enhanced else "edge"
    else:
        return  # of attention, whose features are checked where they are compared
    for each in (reference.feature, *reference.others):
        yield kind, each, wanted if not reference.others else ()


class _Bank:
    """A bank, or one corpus of it, in which names are looked up."""

    def __init__(self, connection: SupportsExecute, corpus: str | None) -> None:
        self._connection = connection
        self._corpus = corpus

    def _select_column(self, select: str) -> list[Any]:
        return [row[0] for row in self._connection.execute(f"select {select}").fetchall()]

    def _where(self, sentence: str, *conditions: str) -> str:
        """The `where` of rows whose `sentence` is in the corpus, and for which more holds."""
        if self._corpus is not None:
            conditions += (
                f"{sentence} in (select sentence.id from sentence"
                " inner join document on document.id = sentence.document"
                " inner join corpus on corpus.id = document.corpus"
                f" where corpus.name = {literal(self._corpus)})",
            )
        return f" where {' and '.join(conditions)}" if conditions else ""

    def mentions(self, asked: dict[str, Tests]) -> Iterator[str]:
        if not self._select_column("1 from mention limit 1"):
            fact = "No word has a mention in this bank, so ~ and mention find nothing."
            yield f"{fact} Ingest a corpus with coreference."
            return
        for name, tests in asked.items():
            known = self._select_column(
                f"distinct mention.{expressions.MENTIONS[name]} from mention"
            )
            yield from _absent(f"{name}=", tests, known)

    def tags(self, name: str, tests: Tests) -> Iterator[str]:
        known = self._select_column(f"distinct word.{name} from word{self._where('word.sentence')}")
        yield from _absent(f"the {name} ", tests, known)

    def unmatched_texts(self, name: str, tests: Tests) -> Iterator[str]:
        """Of the forms or lemmas: only where no word has any of a test."""
        column, select = f"word.{name}", f"distinct word.{name} from word"
        within = self._where("word.sentence", f"{column} in ({_literal_tests(tests)})")
        found = set(self._select_column(select + within))
        for test in tests:
            if expressions.ANCHOR in test or found & set(test):
                continue
            near, asked = [], test[0]
            if len(test) == 1 and len(asked) <= _LONGEST:
                size = f"length({column}) between {len(asked) - 2} and {len(asked) + 2}"
                close = f"levenshtein(lower({column}), {literal(asked.lower())}) <= 2"
                within = self._where("word.sentence", size, close)
                near = self._select_column(f"{select}{within} limit 1000")
            yield _message(f"the {name} {join_names(test, 3)}", asked, near)

    def features(self, asked: dict[str, Tests]) -> Iterator[str]:
        sources = " union ".join(
            f"select distinct word.{each} as source from word"
            + self._where("word.sentence", f"word.{each} is not null")
            for each in ("feats", "misc")
        )
        pairs = f"(select distinct unnest(string_split(source, '|')) as pair from ({sources}) as s)"
        written = ", ".join(literal(expressions.in_source(name)) for name in asked)
        found = defaultdict(set)
        for pair in self._select_column(
            f"pair from {pairs} as each where split_part(pair, '=', 1) in ({written})"
        ):
            name, _, value = pair.partition("=")
            found[name].add(value)
        for name, tests in asked.items():
            known = found.get(expressions.in_source(name))
            if known is not None:
                yield from _absent(f"{name}=", tests, known)
                continue
            names = self._select_column(f"distinct split_part(pair, '=', 1) from {pairs} as each")
            in_request = [each.replace("[", "__").rstrip("]") for each in names]
            yield _message(
                f"the feature {name}", name, [*_PLAIN, *expressions.MENTIONS, *in_request]
            )

    def labels(
        self, asked: dict[str, Tests], table: str, column: str, mark: str = ""
    ) -> Iterator[str]:
        """The relations of the tree or the enhanced graph, whole, and in its parts."""
        for name in asked:
            if name not in _OF_EDGES:
                yield _message(f"an edge with the feature {name}", name, _OF_EDGES)
        labels = asked.get("label", [])
        of_parts = [asked.get(each, []) for each in PARTS]
        if not any([*labels, *chain(*of_parts)]):
            return
        within = self._where(f"{table}.sentence", f"{table}.{column} is not null")
        whole = self._select_column(f"distinct {table}.{column} from {table}{within}")
        marked = [tuple(mark + each.removeprefix(mark) for each in test) for test in labels]
        yield from _absent("the relation ", marked, [mark + each for each in whole])
        for name, tests in zip(PARTS, of_parts, strict=True):
            yield from _absent(_PARTS[name], tests, [part(each, name) for each in whole])

    def metadata(self, asked: dict[str, Tests]) -> Iterator[str]:
        for name, tests in asked.items():
            value = expressions.metadata(name)
            every = _literal_tests(tests)
            is_column = name in expressions.SENTENCE_COLUMNS
            if name.startswith("is_") or (is_column and not every):
                continue
            wanted = [f"{value} in ({every})"] if is_column else []
            found = self._select_column(
                f"distinct {value} from sentence as {expressions.SENTENCE}"
                f" inner join document on document.id = {expressions.SENTENCE}.document"
                + self._where(f"{expressions.SENTENCE}.id", *wanted)
            )
            if is_column or any(found):
                yield from _absent(f"{name}=", tests, found, "sentence or document")
                continue
            known = self._select_column(
                "distinct unnest(map_keys(metadata)) from sentence"
                " union select distinct unnest(map_keys(metadata)) from document"
            )
            has_any = self._select_column("1 from sentence where metadata is not null limit 1")
            told = _message(f"the metadata {name}", name, sorted(known), "sentence or document")
            yield told + ("" if has_any else _NO_METADATA)


def _literal_tests(tests: Tests) -> str:
    return ", ".join(map(literal, dict.fromkeys(chain.from_iterable(tests))))


def _absent(what: str, tests: Tests, known: Iterable[str], who: str = "word") -> Iterator[str]:
    every = {each for each in known if each}
    for value in dict.fromkeys(chain.from_iterable(tests)):
        if value not in every:
            yield _message(f"{what}{value}", value, sorted(every), who)


def _message(what: str, name: str, known: Sequence[str], who: str = "word") -> str:
    hint = ""
    if len(name) <= _LONGEST and len(known) <= _MOST_KNOWN:
        hint = did_you_mean(name, known)
        if not hint and 0 < len(known) <= _FEW:
            hint = f"There is: {join_names(known)}."
    shown = what if len(what) <= 2 * _LONGEST else f"{what[: 2 * _LONGEST]} …"
    return f"No {who} has {shown}. {hint}".strip()
