"""Names in a request that the bank does not have: values, relations, features, metadata.

A test of such a name matches nothing, or within a `without` excludes nothing. So each is reported,
with the nearest existing names. Each column is read once, whatever the number of tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from attnbank.queries.patterns import expressions, syntax
from attnbank.queries.patterns.resolver import ResolvedRequest, Scope
from attnbank.sql.errors import CallError
from attnbank.sql.messages import did_you_mean, join_names
from attnbank.sql.names import PARTS, literal, relation_part
from attnbank.sql.run_choice import SupportsExecute

# Features that every word can have, whatever is in FEATS and MISC.
_BUILT_IN_FEATURES = {
    *expressions.COLUMNS,
    "textform",
    "wordform",
    "SpaceAfter",
    "__id__",
    syntax.SURPRISAL,
}

_EDGE_FEATURES = ("label", *PARTS, "length", "delta", "weight", "enhanced")
_PART_NAMES = {
    "1": "the relation ", "2": "a relation with the subtype ",
    "subsem": "a relation with $", "deep": "a relation with @",
}  # fmt: skip

# Longer lists of forms or lemmas are not checked.
_MAX_TEXTS = 100

# For longer names no near name is suggested.
_MAX_LENGTH = 40

# Among more names the search for a near one would take seconds, and is skipped.
_MAX_CANDIDATES = 5_000

# If no name is near, all are listed if they are this few.
_MAX_LISTED = 20

_NO_METADATA = (
    " The bank has no metadata of sentences: the source has none, or it was ingested before"
    " attnbank stored them. Ingest it again, into a new bank."
)

# The values of each test of one name.
Tests = list[tuple[str, ...]]


def check_enhanced(connection: SupportsExecute, request: ResolvedRequest) -> None:
    """Raise CallError if a request reads the enhanced graph, and the bank has none."""
    statement = "select 1 from enhanced_dependency limit 1"
    if any(s.enhanced for s in request.scopes()) and not connection.execute(statement).fetchall():
        raise CallError(
            "The bank has no enhanced edges (E:obj).",
            "Use the tree (-[obj]->), or ingest a corpus with a DEPS column into a new bank.",
        )


def messages_of_unmatched_names(
    connection: SupportsExecute, request: ResolvedRequest, corpus: str | None = None
) -> Iterator[str]:
    """A message for each name and value in a request that the bank (or corpus) does not have."""
    tests_by_kind: dict[str, dict[str, Tests]] = defaultdict(lambda: defaultdict(list))
    for kind, name, wanted in _names_in_request(request):
        tests_by_kind[kind][name].append(tuple(value for value in wanted if isinstance(value, str)))
    nodes, bank = tests_by_kind["node"], _NameLookup(connection, corpus)
    mentions = {name: nodes[name] for name in expressions.MENTIONS if name in nodes}
    if mentions or any(scope.clauses_of_kind(syntax.Corefers) for scope in request.scopes()):
        yield from bank.mentions(mentions)
    for name in ("upos", "xpos"):
        if any(nodes.get(name, ())):
            yield from bank.tags(name, nodes[name])
    for name in ("form", "lemma"):
        tests = [test for test in nodes.get(name, ()) if 0 < len(test) <= _MAX_TEXTS]
        if tests:
            yield from bank.unmatched_texts(name, tests)
    features = {
        name: tests
        for name, tests in nodes.items()
        if name not in _BUILT_IN_FEATURES | mentions.keys()
    }
    if features:
        yield from bank.features(features)
    yield from bank.labels(tests_by_kind["edge"], "word", "deprel")
    yield from bank.labels(
        tests_by_kind["enhanced"], "enhanced_dependency", "relation", syntax.ENHANCED
    )
    yield from bank.metadata(tests_by_kind["metadata"])


def _names_in_request(
    request: ResolvedRequest,
) -> Iterator[tuple[str, str, Iterable[syntax.Value]]]:
    """The names in a request: kind (node, edge, enhanced, metadata), name, values tested for."""
    for test in request.sentence_tests:
        yield "metadata", test.feature, test.values
    for scope in request.scopes():
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
    for reference in request.keys_of(syntax.Reference):
        yield from _names_of_reference(request.pattern, reference, ())
    for key in request.keys_of(syntax.AttentionKey):
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
    for feature in (reference.feature, *reference.others):
        yield kind, feature, wanted if not reference.others else ()


class _NameLookup:
    """Looks up names in a bank, or in one corpus of it."""

    def __init__(self, connection: SupportsExecute, corpus: str | None) -> None:
        self._connection = connection
        self._corpus = corpus

    def _select_column(self, select: str) -> list[Any]:
        return [row[0] for row in self._connection.execute(f"select {select}").fetchall()]

    def _where(self, sentence: str, *conditions: str) -> str:
        """A `where` for the column `sentence`: in the corpus, and the conditions hold."""
        if self._corpus is not None:
            conditions += (
                f"{sentence} in (select sentence.id from sentence"
                " inner join document on document.id = sentence.document"
                " inner join corpus on corpus.id = document.corpus"
                f" where corpus.name = {literal(self._corpus)})",
            )
        return f" where {' and '.join(conditions)}" if conditions else ""

    def mentions(self, tests_by_name: dict[str, Tests]) -> Iterator[str]:
        if not self._select_column("1 from mention limit 1"):
            fact = "No word has a mention in this bank, so ~ and mention match nothing."
            yield f"{fact} Ingest a corpus with coreference."
            return
        for name, tests in tests_by_name.items():
            known = self._select_column(
                f"distinct mention.{expressions.MENTIONS[name]} from mention"
            )
            yield from _unmatched(f"{name}=", tests, known)

    def tags(self, name: str, tests: Tests) -> Iterator[str]:
        known = self._select_column(f"distinct word.{name} from word{self._where('word.sentence')}")
        yield from _unmatched(f"the {name} ", tests, known)

    def unmatched_texts(self, name: str, tests: Tests) -> Iterator[str]:
        """Report a test of forms or lemmas only if no word has any of its values.

        `[lemma=be|bee]` lists alternatives, of which some are expected to be absent.
        """
        column, select = f"word.{name}", f"distinct word.{name} from word"
        within = self._where("word.sentence", f"{column} in ({_literals(tests)})")
        texts = set(self._select_column(select + within))
        for test in tests:
            if expressions.ANCHOR in test or texts & set(test):
                continue
            # Suggestions have the edit distance 2 at most, so lengths differ by 2 at most.
            candidates, text = [], test[0]
            if len(test) == 1 and len(text) <= _MAX_LENGTH:
                size = f"length({column}) between {len(text) - 2} and {len(text) + 2}"
                close = f"levenshtein(lower({column}), {literal(text.lower())}) <= 2"
                within = self._where("word.sentence", size, close)
                candidates = self._select_column(f"{select}{within} limit 1000")
            yield _message(f"the {name} {join_names(test, 3)}", text, candidates)

    def features(self, tests_by_name: dict[str, Tests]) -> Iterator[str]:
        sources = " union ".join(
            f"select distinct word.{column} as source from word"
            + self._where("word.sentence", f"word.{column} is not null")
            for column in ("feats", "misc")
        )
        pairs = f"(select distinct unnest(string_split(source, '|')) as pair from ({sources}) as s)"
        written = ", ".join(literal(expressions.conllu_name(name)) for name in tests_by_name)
        values = defaultdict(set)
        for pair in self._select_column(
            f"pair from {pairs} as pairs where split_part(pair, '=', 1) in ({written})"
        ):
            name, _, value = pair.partition("=")
            values[name].add(value)
        for name, tests in tests_by_name.items():
            known = values.get(expressions.conllu_name(name))
            if known is not None:
                yield from _unmatched(f"{name}=", tests, known)
                continue
            names = self._select_column(f"distinct split_part(pair, '=', 1) from {pairs} as pairs")
            in_request = [known_name.replace("[", "__").rstrip("]") for known_name in names]
            yield _message(
                f"the feature {name}",
                name,
                [*_BUILT_IN_FEATURES, *expressions.MENTIONS, *in_request],
            )

    def labels(
        self, tests_by_name: dict[str, Tests], table: str, column: str, mark: str = ""
    ) -> Iterator[str]:
        """Report relations of the tree or the enhanced graph, and parts of relations."""
        for name in tests_by_name:
            if name not in _EDGE_FEATURES:
                yield _message(f"an edge with the feature {name}", name, _EDGE_FEATURES)
        labels = tests_by_name.get("label", [])
        of_parts = [tests_by_name.get(kind, []) for kind in PARTS]
        if not any([*labels, *chain(*of_parts)]):
            return
        within = self._where(f"{table}.sentence", f"{table}.{column} is not null")
        relations = self._select_column(f"distinct {table}.{column} from {table}{within}")
        marked = [tuple(mark + label.removeprefix(mark) for label in test) for test in labels]
        yield from _unmatched("the relation ", marked, [mark + relation for relation in relations])
        for name, tests in zip(PARTS, of_parts, strict=True):
            yield from _unmatched(
                _PART_NAMES[name], tests, [relation_part(relation, name) for relation in relations]
            )

    def metadata(self, tests_by_name: dict[str, Tests]) -> Iterator[str]:
        for name, tests in tests_by_name.items():
            value = expressions.metadata_value(name)
            literals = _literals(tests)
            is_column = name in expressions.SENTENCE_COLUMNS
            if name.startswith("is_") or (is_column and not literals):
                continue
            wanted = [f"{value} in ({literals})"] if is_column else []
            values = self._select_column(
                f"distinct {value} from sentence as {expressions.SENTENCE}"
                f" inner join document on document.id = {expressions.SENTENCE}.document"
                + self._where(f"{expressions.SENTENCE}.id", *wanted)
            )
            if is_column or any(values):
                yield from _unmatched(f"{name}=", tests, values, "sentence or document")
                continue
            known = self._select_column(
                "distinct unnest(map_keys(metadata)) from sentence"
                " union select distinct unnest(map_keys(metadata)) from document"
            )
            has_any = self._select_column("1 from sentence where metadata is not null limit 1")
            message = _message(f"the metadata {name}", name, sorted(known), "sentence or document")
            yield message + ("" if has_any else _NO_METADATA)


def _literals(tests: Tests) -> str:
    return ", ".join(map(literal, dict.fromkeys(chain.from_iterable(tests))))


def _unmatched(what: str, tests: Tests, known: Iterable[str], who: str = "word") -> Iterator[str]:
    existing = {value for value in known if value}
    for value in dict.fromkeys(chain.from_iterable(tests)):
        if value not in existing:
            yield _message(f"{what}{value}", value, sorted(existing), who)


def _message(what: str, name: str, known: Sequence[str], who: str = "word") -> str:
    hint = ""
    if len(name) <= _MAX_LENGTH and len(known) <= _MAX_CANDIDATES:
        hint = did_you_mean(name, known)
        if not hint and 0 < len(known) <= _MAX_LISTED:
            hint = f"There is: {join_names(known)}."
    subject = what if len(what) <= 2 * _MAX_LENGTH else f"{what[: 2 * _MAX_LENGTH]} …"
    return f"No {who} has {subject}. {hint}".strip()
