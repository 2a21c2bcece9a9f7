"""Finds a request in plain data by trying one word after another.

    hits(request, corpus) -> [Hit(sentence, {node: (sentence, index)}, {edge: label})]

It is slow and obvious: each name of a block is bound in turn to every word that it could be, and an
item is checked as soon as all its names are bound. Grew's rules leave open what follows:

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

from collections.abc import Iterator
from dataclasses import dataclass

from patterns import items
from patterns.attention import check_ends
from patterns.binding import Binding, Place
from patterns.corpus import Corpus
from patterns.facts import Facts
from patterns.items import SPECIAL, STAR, SURPRISAL, Attribute, Block, Edge, Heads, Item, Request
from patterns.parser import parse
from patterns.regexes import RequestError


@dataclass(frozen=True)
class Hit:
    """A binding of nodes and named edges; places are sent_id and index, 0 the anchor."""

    sentence: str
    nodes: tuple[tuple[str, tuple[str, int]], ...]
    edges: tuple[tuple[str, str], ...]


def hits(text: str, corpus: Corpus, within: str = "sentence") -> list[Hit]:
    """Every hit of a request in a corpus, in the order of the text.

    `within` is sentence or document. Raises RequestError for what is not in the language, and for a
    head that the maps lack.
    """
    request = parse(text)
    check(request)
    facts = Facts(corpus, within == "document")
    blocks = [request.pattern, *request.filters]
    edges = [item for block in blocks for item in block.items if isinstance(item, Edge)]
    heads = [item.how for item in edges if isinstance(item.how, Heads)]
    for each in heads:
        facts.attention.check(each)
    usable = facts.attention.read() if heads else list(range(len(corpus.sentences)))
    if SURPRISAL in text:
        usable = [each for each in usable if each in corpus.measured]
    search = _Search(facts, request)
    found = []
    for at in usable:
        spots = [at]
        if facts.wide:
            spots = [each for each in facts.document(at) if each in usable]
        found += [_hit(facts, at, binding) for binding in search.of(at, spots)]
    return sorted(set(found), key=lambda hit: [at for _, at in hit.nodes])


def _hit(facts: Facts, at: int, binding: Binding) -> Hit:
    names = facts.corpus.sentences
    nodes = {n: (names[p[0]].name, p[1]) for n, p in binding.nodes.items()}
    edges = {name: edge.label for name, edge in binding.edges.items()}
    return Hit(names[at].name, tuple(sorted(nodes.items())), tuple(sorted(edges.items())))


# What a request declares and needs.


def _nodes(item: Item) -> list[str]:
    """The nodes that an item declares."""
    if isinstance(item, items.Node):
        return [item.name]
    if isinstance(item, items.Corefer):
        return [each for each in (item.one, item.other) if each != STAR]
    if isinstance(item, Edge):
        ends = [each for each in (item.source, item.target) if not _is_free(item, each)]
        return [] if STAR in (item.source, item.target) else ends
    return []


def _is_free(edge: Edge, end: str) -> bool:
    return end == STAR or (isinstance(edge.how, Heads) and end in SPECIAL)


def _declared(block: Block) -> tuple[list[str], list[str]]:
    """The nodes and the edges that a block names, in order."""
    nodes = dict.fromkeys(name for item in block.items for name in _nodes(item))
    named = [each.name for each in block.items if isinstance(each, Edge) and each.name]
    if len(set(named)) < len(named):
        raise RequestError("two edges of one name")
    return list(nodes), named


def needs(item: Item) -> list[str]:
    """The names that must be bound before an item can be checked."""
    if isinstance(item, items.Node):
        return [item.name]
    if isinstance(item, Edge):
        return [each for each in (item.source, item.target) if not _is_free(item, each)]
    if isinstance(item, items.Corefer):
        return [each for each in (item.one, item.other) if each != STAR]
    if isinstance(item, items.Order):
        return [item.one, item.other]
    if isinstance(item, items.Comparison):
        sides = (item.left, item.right)
        sums = [each.parts for each in sides if isinstance(each, items.Sum)]
        every = [*sides, *(part for parts in sums for _, part in parts)]
        terms = [each for each in every if isinstance(each, Attribute)]
        return [name for each in terms for name in (each.owner, each.other) if name]
    return []


def check(request: Request) -> None:
    """Raise RequestError for a name that is not declared, and for two edges of the same name."""
    nodes, edges = _declared(request.pattern)
    for block in [request.pattern, *request.filters]:
        own_nodes, own_edges = _declared(block)
        if block is not request.pattern and set(own_edges) & set(edges):
            raise RequestError("an edge of the pattern has this name")
        for item in block.items:
            if isinstance(item, Edge):
                check_ends(item)
            known = {*nodes, *own_nodes}
            if not isinstance(item, items.Node | Edge | items.Corefer):
                known |= {*edges, *own_edges}
            for name in needs(item):
                if name not in known:
                    raise RequestError(f"nothing declares {name}")


class _Search:
    """The search for one request in the facts of a corpus."""

    def __init__(self, facts: Facts, request: Request) -> None:
        self.facts = facts
        self.request = request
        self.loose = request.pattern.loose

    def of(self, at: int, spots: list[int]) -> Iterator[Binding]:
        """The hits whose first node is in sentence `at`, and the other nodes in `spots`."""
        empty = Binding({}, {})
        if not self.about(self.request.pattern, at):
            return
        for binding in self.extend(self.request.pattern, empty, at, spots, set()):
            if all(self.passes(each, binding, at, spots) for each in self.request.filters):
                yield binding

    def about(self, block: Block, at: int) -> bool:
        """Whether what a block says about the sentence as a whole holds."""
        return all(
            self.facts.said(at, item)
            for item in block.items
            if isinstance(item, items.Meta | items.Flag)
        )

    def passes(self, block: Block, binding: Binding, at: int, spots: list[int]) -> bool:
        if block.kind == "global":
            return self.about(block, at)
        holds = self.about(block, at) and any(
            True for _ in self.extend(block, binding, at, spots, self.loose)
        )
        return holds == (block.kind == "with")

    def extend(
        self, block: Block, binding: Binding, at: int, spots: list[int], loose: set[str]
    ) -> Iterator[Binding]:
        """The bindings that extend `binding` so that a block holds."""
        nodes, _ = _declared(block)
        new = [name for name in nodes if name not in binding.nodes]
        tied = self.tied(block, list(binding.nodes), new)
        left: list[Item] = [
            item for item in block.items if not isinstance(item, items.Meta | items.Flag)
        ]
        yield from self.bind(new, left, binding, at, spots, loose | block.loose, tied)

    def bind(
        self,
        new: list[str],
        waiting: list[Item],
        binding: Binding,
        at: int,
        spots: list[int],
        loose: set[str],
        tied: set[str],
    ) -> Iterator[Binding]:
        # First bind named edges whose ends are bound, then check what can be checked, then bind a
        # node.
        for item in waiting:
            if isinstance(item, Edge) and item.name and binding.has_nodes(needs(item)):
                left = [each for each in waiting if each is not item]
                for edge in self.facts.edges(item, binding):
                    more = binding.with_edge(item.name, edge)
                    yield from self.bind(new, left, more, at, spots, loose, tied)
                return
        named = {item.name for item in waiting if isinstance(item, Edge) and item.name}
        left = []
        for item in waiting:
            if binding.has(needs(item), named | set(new)):
                if not self.facts.holds(item, binding):
                    return
            else:
                left.append(item)
        if not new:
            if left:
                raise AssertionError(f"nothing binds what {left} needs")
            yield binding
            return
        name, guide = self.next(new, left, binding)
        taken = {place for each, place in binding.nodes.items() if each not in loose}
        for place in self.candidates(name, guide, binding, at, spots, tied):
            if name in loose or place not in taken:
                more = binding.with_node(name, place)
                rest = [each for each in new if each != name]
                yield from self.bind(rest, left, more, at, spots, loose, tied)

    def next(
        self, new: list[str], waiting: list[Item], binding: Binding
    ) -> tuple[str, items.Join | None]:
        """The node to bind next: one at the other end of an edge, of a dependency if possible."""
        ways = []
        for item in waiting:
            if isinstance(item, items.Join) and len(needs(item)) == 2:
                one, other = needs(item)
                if (one in binding.nodes) != (other in binding.nodes):
                    joined = isinstance(item, Edge) and isinstance(item.how, items.Label)
                    ways.append((not joined, other if one in binding.nodes else one, item))
        if ways:
            _, name, guide = min(ways, key=lambda way: way[0])
            return name, guide
        tested = {item.name for item in waiting if isinstance(item, items.Node)}
        return next((name for name in new if name in tested), new[0]), None

    def candidates(
        self,
        name: str,
        guide: items.Join | None,
        binding: Binding,
        at: int,
        spots: list[int],
        tied: set[str],
    ) -> list[Place]:
        """The words that a node could be."""
        allowed = [at] if name in tied else spots
        if guide is None:
            return [place for spot in allowed for place in self.facts.words(spot)]
        one, other = needs(guide)
        forward = one in binding.nodes
        found = self.facts.across(guide, binding.nodes[one if forward else other], forward)
        return [place for place in found if place[0] in allowed]

    def tied(self, block: Block, bound: list[str], new: list[str]) -> set[str]:
        """The new nodes that must be in the first node's sentence.

        Of each group of new nodes that edges, `~` and attention join to each other, but to no bound
        node, it is the first.
        """
        joined = {name: {name} for name in [*bound, *new]}
        for item in block.items:
            ends = needs(item)
            if isinstance(item, items.Join) and len(ends) == 2:
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
