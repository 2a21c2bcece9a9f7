"""Finds a request in plain data by trying one word after another.

    hits(request, corpus) -> [Hit(sentence, {node: (sentence, index)}, {edge: label})]

It is slow and obvious: each name of a block is bound in turn to every word that it could be, and a
clause is checked as soon as all its names are bound. Grew's rules leave open what follows:

- SEP and CLS mean any such token of the input that has the other end; they are not bound.
- `A ~ B` are heads of two different mentions of one entity, so `A ~ *` needs another mention.
- A word that heads several mentions has several values of `mention` and `entity_type`; it is enough
  that a test holds for one of them.
- Within a document, two nodes may be in two sentences if a path of edges, `~` and attention leads
  from one to the other. A node that nothing joins to the first one is in its sentence, and metadata
  is that of this sentence.
- A request with attention finds nothing in sentences that the run left out.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from attnbank.queries.patterns import syntax
from attnbank.queries.patterns.parser import parse_request
from attnbank.queries.patterns.syntax import SURPRISAL, AttentionEdge, Block, Clause, Edge, Tie
from patterns.attention import SPECIAL
from patterns.binding import Binding, Place
from patterns.corpus import Corpus
from patterns.facts import SENTENCE_OWNERS, Facts


@dataclass(frozen=True)
class Hit:
    """A binding of nodes and named edges; places are sent_id and index, 0 the anchor."""

    sentence: str
    nodes: tuple[tuple[str, tuple[str, int]], ...]
    edges: tuple[tuple[str, str], ...]


def hits(
    text: str, corpus: Corpus, within: str = "sentence", places: Container[int] | None = None
) -> list[Hit]:
    """Every hit of a request in a corpus, in the order of the text.

    `within` is sentence or document; `places` are those of the sentences to look at, None for all.
    """
    blocks = [
        replace(block, clauses=tuple(map(_with_references, block.clauses)))
        for block in parse_request(text)
    ]
    facts = Facts(corpus, within == "document")
    reads_maps = any(syntax.parts(AttentionEdge, blocks))
    spots = facts.attention.sentences() if reads_maps else list(range(len(corpus.sentences)))
    if SURPRISAL in text:
        spots = [spot for spot in spots if spot in corpus.measured]
    if places is not None:
        spots = [spot for spot in spots if spot in places]
    search = _Search(facts, blocks)
    bindings = [
        (at, binding)
        for at in spots
        for binding in search.of(
            at, [spot for spot in facts.document(at) if spot in spots] if facts.wide else [at]
        )
    ]
    return sorted(
        {_hit(facts, at, binding) for at, binding in bindings},
        key=lambda hit: [place for _, place in hit.nodes],
    )


def _hit(facts: Facts, at: int, binding: Binding) -> Hit:
    sentences = facts.corpus.sentences
    nodes = {
        str(name): (sentences[spot].name, index) for name, (spot, index) in binding.nodes.items()
    }
    edges = {str(name): edge.label for name, edge in binding.edges.items()}
    return Hit(sentences[at].name, tuple(sorted(nodes.items())), tuple(sorted(edges.items())))


def _with_references(clause: Clause) -> Clause:
    """A comparison with N.f on the right, which the parser reads as a text, as a reference."""
    if not isinstance(clause, syntax.Comparison):
        return clause
    if isinstance(clause.right, syntax.Sum):
        parts = tuple((sign, _operand(part)) for sign, part in clause.right.parts)
        return replace(clause, right=syntax.Sum(parts))
    return replace(clause, right=_operand(clause.right))


def _operand(part: Any) -> Any:
    if not isinstance(part, syntax.Constant) or part.is_quoted:
        return part
    reference = re.fullmatch(r"([^\W\d][^.]*)\.(\w+)", part.written)
    if reference is None:
        return part
    return syntax.Reference(syntax.Name(reference[1], part.position), reference[2])


# What a clause declares and needs.


def _ends(tie: Tie) -> list[str]:
    """The nodes at the ends of a tie, without stars and special tokens."""
    return [end for end in tie.ends if not (isinstance(tie, AttentionEdge) and str(end) in SPECIAL)]


def _declared(clauses: Sequence[Clause]) -> list[str]:
    """The nodes that clauses declare, in order: in brackets, and at the ends of an edge."""
    nodes: dict[str, None] = {}
    for clause in clauses:
        if isinstance(clause, syntax.Node):
            nodes[clause.name] = None
        elif isinstance(clause, syntax.LooseTie) or (
            isinstance(clause, Edge) and len(clause.ends) == 2
        ):
            nodes |= dict.fromkeys(_ends(clause))
    return list(nodes)


@cache
def needs(clause: Clause) -> list[str]:
    """The names that must be bound before a clause can be checked."""
    if isinstance(clause, syntax.Node):
        return [clause.name]
    if isinstance(clause, Tie):
        return _ends(clause)
    if isinstance(clause, syntax.Order):
        return [clause.left, clause.right]
    owners: list[str] = [reference.owner for reference in syntax.parts(syntax.Reference, clause)]
    for function in syntax.parts(syntax.NodeFunction, clause):
        owners += [function.first, function.second]
    return owners


def _is_about_sentence(clause: Clause) -> bool:
    return isinstance(clause, syntax.Comparison | syntax.Presence) and any(
        owner in SENTENCE_OWNERS for owner in needs(clause)
    )


class _Search:
    """The search for one request in the facts of a corpus."""

    def __init__(self, facts: Facts, blocks: Sequence[Block]) -> None:
        self.facts = facts
        patterns = [block.clauses for block in blocks if block.kind == "pattern"]
        self.pattern = Block("pattern", tuple(clause for own in patterns for clause in own))
        self.filters = [block for block in blocks if block.kind != "pattern"]

    def of(self, at: int, spots: list[int]) -> Iterator[Binding]:
        """The hits whose first node is in sentence `at`, and the other nodes in `spots`."""
        if not self.about(self.pattern, at):
            return
        for binding in self.extend(self.pattern, Binding({}, {}), at, spots):
            if all(self.passes(block, binding, at, spots) for block in self.filters):
                yield binding

    def about(self, block: Block, at: int) -> bool:
        """Whether what a block says about the sentence as a whole holds."""
        clauses = [clause for clause in block.clauses if _is_about_sentence(clause)]
        return all(self.facts.said(at, said) for said in (*clauses, *block.tests))

    def passes(self, block: Block, binding: Binding, at: int, spots: list[int]) -> bool:
        if block.kind == "global":
            return self.about(block, at)
        holds = self.about(block, at) and any(True for _ in self.extend(block, binding, at, spots))
        return holds == (block.kind == "with")

    def extend(
        self, block: Block, binding: Binding, at: int, spots: list[int]
    ) -> Iterator[Binding]:
        """The bindings that extend `binding` so that a block holds."""
        new = [name for name in _declared(block.clauses) if name not in binding.nodes]
        tied = self.tied(block, list(binding.nodes), new)
        clauses = [clause for clause in block.clauses if not _is_about_sentence(clause)]
        yield from self.bind(new, clauses, binding, at, spots, tied)

    def bind(
        self,
        new: list[str],
        waiting: list[Clause],
        binding: Binding,
        at: int,
        spots: list[int],
        tied: set[str],
    ) -> Iterator[Binding]:
        # First bind named edges whose ends are bound, then check what can be checked, then bind a
        # node.
        named = [
            clause for clause in waiting
            if isinstance(clause, Edge | AttentionEdge) and clause.name is not None
        ]  # fmt: skip
        for edge_clause in named:
            ends = _ends(edge_clause)
            if edge_clause.name is not None and all(end in binding.nodes for end in ends):
                left: list[Clause] = [other for other in waiting if other is not edge_clause]
                for edge in self.facts.edges(edge_clause, binding):
                    more = binding.with_edge(edge_clause.name, edge)
                    yield from self.bind(new, left, more, at, spots, tied)
                return
        coming = {*new, *(clause.name for clause in named)}
        left = []
        for clause in waiting:
            names = needs(clause)
            if coming.isdisjoint(names) and binding.has(names):
                if not self.facts.holds(clause, binding):
                    return
            else:
                left.append(clause)
        if not new:
            assert not left, f"nothing binds what {left} needs"
            yield binding
            return
        name, guide = self.next(new, left, binding)
        taken = {place for node, place in binding.nodes.items() if not node.endswith("$")}
        for place in self.candidates(name, guide, binding, at, spots, tied):
            if name.endswith("$") or place not in taken:
                more = binding.with_node(name, place)
                rest = [other for other in new if other != name]
                yield from self.bind(rest, left, more, at, spots, tied)

    def next(
        self, new: list[str], waiting: list[Clause], binding: Binding
    ) -> tuple[str, Tie | None]:
        """The node to bind next: one at the other end of an edge, of a dependency if possible."""
        ways = []
        for clause in waiting:
            if isinstance(clause, Tie) and not isinstance(clause, syntax.Path):
                ends = _ends(clause)
                free = [end for end in ends if end not in binding.nodes]
                if len(ends) == 2 and len(free) == 1:
                    ways.append((not isinstance(clause, Edge), free[0], clause))
        if ways:
            _, name, guide = min(ways, key=lambda way: way[0])
            return name, guide
        tested = {clause.name for clause in waiting if isinstance(clause, syntax.Node)}
        return next((name for name in new if name in tested), new[0]), None

    def candidates(
        self,
        name: str,
        guide: Tie | None,
        binding: Binding,
        at: int,
        spots: list[int],
        tied: set[str],
    ) -> list[Place]:
        """The words that a node could be."""
        allowed = [at] if name in tied else spots
        if guide is None:
            return [place for spot in allowed for place in self.facts.words(spot)]
        one, other = _ends(guide)
        forward = one in binding.nodes
        places = self.facts.across(guide, binding.nodes[one if forward else other], forward)
        return [place for place in places if place[0] in allowed]

    def tied(self, block: Block, bound: list[str], new: list[str]) -> set[str]:
        """The new nodes that must be in the first node's sentence.

        Of each group of new nodes that edges, `~` and attention join to each other, but to no bound
        node, it is the first.
        """
        joined = {name: {name} for name in [*bound, *new]}
        for clause in block.clauses:
            if isinstance(clause, Tie) and not isinstance(clause, syntax.Path):
                ends = _ends(clause)
                if len(ends) == 2:
                    union = joined[ends[0]] | joined[ends[1]]
                    for name in union:
                        joined[name] = union
        return {
            name
            for name in new
            if not joined[name] & set(bound) and name == next(n for n in new if n in joined[name])
        }


def grew_hits(text: str, corpus: Corpus) -> list[tuple[str, dict[str, str]]]:
    """Hits in the form that Grew prints: the sentence, and the index of each node as text."""
    return [
        (hit.sentence, {name: str(at) for name, (_, at) in hit.nodes}) for hit in hits(text, corpus)
    ]
