"""What holds in a corpus: for words, dependencies, order, mentions and attention."""

from __future__ import annotations

from patterns import items
from patterns.attention import OPS, Attention
from patterns.binding import Binding, Found, Place, Spot
from patterns.corpus import Corpus, Word
from patterns.items import STAR, SURPRISAL, Attribute, Comparison, Edge, Item, Label
from patterns.regexes import Regex, RequestError, plain

Value = str | float


class Facts:
    """Looks things up in the plain data of a corpus.

    With `wide`, nodes may be in different sentences of a document.
    """

    def __init__(self, corpus: Corpus, wide: bool = False) -> None:
        self.corpus = corpus
        self.wide = wide
        self.attention = Attention(corpus, wide)

    def word(self, place: Place) -> Word:
        return self.corpus.sentences[place[0]].words[place[1]]

    def words(self, at: Spot) -> list[Place]:
        return [(at, index) for index in range(len(self.corpus.sentences[at].words))]

    def dependents(self, place: Place) -> list[Place]:
        return self.corpus.children.get(place, [])

    def governors(self, place: Place) -> list[Place]:
        head = self.word(place).head
        return [] if head is None else [(place[0], head)]

    def across(self, item: items.Join, place: Place, forward: bool) -> list[Place]:
        """The words that one end of an edge could be, if the other end is bound to `place`."""
        if isinstance(item, items.Corefer):
            entities = dict.fromkeys(each.entity for each in self.word(place).mentions)
            found = [each for name in entities for each in self.corpus.referring[name]]
            return list(dict.fromkeys(found))
        if isinstance(item.how, items.Heads):
            return self.attention.others(place, item.how, forward)
        if item.how.enhanced:
            edges = self.corpus.sentences[place[0]].enhanced
            ends = [edge[:2] if forward else (edge[1], edge[0]) for edge in edges]
            return list(dict.fromkeys((place[0], to) for at, to in ends if at == place[1]))
        return self.dependents(place) if forward else self.governors(place)

    def document(self, at: Spot) -> list[Spot]:
        """All sentences of the document that a sentence is in."""
        sentences = self.corpus.sentences
        name = sentences[at].document
        return [each for each in range(len(sentences)) if sentences[each].document == name]

    # Items.

    def holds(self, item: Item, binding: Binding) -> bool:
        """Whether an item holds; all its names must be bound."""
        if isinstance(item, items.Node):
            place = binding.nodes[item.name]
            return any(all(self.fits(place, test) for test in tests) for tests in item.alternatives)
        if isinstance(item, Edge):
            return bool(self.edges(item, binding))
        if isinstance(item, items.Corefer):
            return self.corefer(item, binding)
        if isinstance(item, items.Order):
            return self.ordered(item, binding)
        if isinstance(item, Comparison):
            return self.compared(item, binding)
        raise AssertionError(item)

    def fits(self, place: Place, test: items.Test) -> bool:
        """Whether a test of a word holds."""
        if test.key == SURPRISAL:
            return (self.word(place).surprisal is not None) == (test.op == "some")
        found = self.values(place, test.key)
        if not found and test.otherwise is not None:
            return self.fits(place, test.otherwise)
        return test.holds(found)

    def said(self, at: Spot, item: items.Meta | items.Flag) -> bool:
        """Whether something holds of a sentence itself."""
        sentence = self.corpus.sentences[at]
        if isinstance(item, items.Meta):
            value = sentence.metadata.get(item.test.key)
            return item.test.holds([] if value is None else [value])
        return self.flag(at, item.name) == item.wanted

    def flag(self, at: Spot, name: str) -> bool:
        words = self.corpus.sentences[at].words
        spans = [
            (min(index, word.head), max(index, word.head))
            for index, word in enumerate(words)
            if word.head is not None
        ]
        if name == "is_projective":
            return not any(a < c < b < d for a, b in spans for c, d in spans)
        reached, todo = {0}, [0]
        while todo:
            for _, index in self.dependents((at, todo.pop())):
                if index not in reached:
                    reached.add(index)
                    todo.append(index)
        is_tree = len(reached) == len(words)
        governed = {place[1] for each in self.words(at) for place in self.dependents(each)}
        is_cyclic = not governed <= reached
        return {"is_tree": is_tree, "is_forest": not is_cyclic, "is_cyclic": is_cyclic}[name]

    def values(self, place: Place, key: str) -> list[str]:
        """The values of a feature: none if it is missing, several for several mentions."""
        if "/" in key:
            every = [self.values(place, each) for each in key.split("/")]
            return next((each for each in every if each), [])
        word = self.word(place)
        if key == "__id__":
            return [str(place[1])]
        if key == "mention":
            return [each.kind for each in word.mentions]
        if key == "entity_type":
            return [each.type for each in word.mentions if each.type is not None]
        return [word.features[key]] if key in word.features else []

    def corefer(self, item: items.Corefer, binding: Binding) -> bool:
        ends = []
        for name in (item.one, item.other):
            if name == STAR:
                at = binding.nodes[item.other if item.one == STAR else item.one][0]
                spots = self.document(at) if self.wide else [at]
                ends.append([place for each in spots for place in self.words(each)])
            else:
                ends.append([binding.nodes[name]])
        return any(
            m is not n and m.entity == n.entity
            for one in ends[0]
            for other in ends[1]
            for m in self.word(one).mentions
            for n in self.word(other).mentions
        )

    def ordered(self, item: items.Order, binding: Binding) -> bool:
        one, other = binding.nodes.get(item.one), binding.nodes.get(item.other)
        if one is not None and other is not None:
            if item.op not in ("<", "<<", "->>"):
                raise RequestError(f"{item.op} is of edges")
            if one[0] != other[0]:
                return False
            if item.op == "->>":
                return self.dominates(one, other)
            return one[1] + 1 == other[1] if item.op == "<" else one[1] < other[1]
        if other is not None or item.op in ("<", "->>"):
            raise RequestError(f"{item.op} is of two nodes")
        edge = binding.edges[item.other]
        if one is not None:
            if item.op != "<<":
                raise RequestError(f"{item.op} is of two edges")
            left, right = _span(edge)
            return one[0] == edge.source[0] == edge.target[0] and left < one[1] < right
        (a, b), (c, d) = _span(binding.edges[item.one]), _span(edge)
        first = binding.edges[item.one]
        if len({first.source[0], first.target[0], edge.source[0], edge.target[0]}) > 1:
            return False
        apart = b <= c or d <= a
        if item.op == "<>":
            return apart
        if apart or item.op not in ("<<", "><"):
            return False
        if item.op == "<<":
            return c <= a and b <= d and (a, b) != (c, d)
        return a < c < b < d or c < a < d < b

    def dominates(self, one: Place, other: Place) -> bool:
        """Whether a word is above another one, or is this word itself."""
        if one == other:
            return True
        above = self.governors(other)
        for _ in self.corpus.sentences[other[0]].words:
            if not above:
                return False
            if above[0] == one:
                return True
            above = self.governors(above[0])
        return False

    def compared(self, item: Comparison, binding: Binding) -> bool:
        left = self.term(item.left, binding)
        if item.op in ("some", "none"):
            return bool(left) == (item.op == "some")
        if isinstance(item.right, Regex):
            return items.Test("", item.op, (), item.right).holds([_text(each) for each in left])
        assert item.right is not None
        right = self.term(item.right, binding)
        if item.op in ("=", "<>"):
            same = [_same(one, other) for one in left for other in right]
            return any(each == (item.op == "=") for each in same)
        return any(OPS[item.op](_number(a), _number(b)) for a in left for b in right)

    def term(self, term: items.Term, binding: Binding) -> list[Value]:
        """The values of one side of a comparison; none if it is missing."""
        if isinstance(term, str | float):
            return [term]
        if isinstance(term, items.Sum):
            totals = [0.0]
            for sign, part in term.parts:
                found = [value for each in self.term(part, binding) for value in _numeric(each)]
                totals = [total + sign * value for total in totals for value in found]
            return [*totals]
        assert isinstance(term, Attribute)
        place = binding.nodes.get(term.owner)
        if term.key == "proj_size" and term.other is None and place is not None:
            below = [each for each in self.words(place[0]) if self.dominates(place, each)]
            words = [self.word(each) for each in below]
            return [float(sum(each.features.get("upos") != "PUNCT" for each in words))]
        if term.other is not None:
            if place is None or term.other not in binding.nodes:
                raise RequestError(f"{term.key} is of two nodes")
            return _distance(place, binding.nodes[term.other], term.key)
        if place is not None and term.key == SURPRISAL:
            nats = self.word(place).surprisal
            return [] if nats is None else [nats]
        if place is not None:
            return [*self.values(place, term.key)]
        edge = binding.edges[term.owner]
        if term.key in ("length", "delta"):
            return _distance(edge.source, edge.target, term.key)
        if term.key == "label":
            return [edge.label]
        if edge.weight is not None:
            return [edge.weight] if term.key == "weight" else []
        if term.key == "enhanced":
            return ["yes"] if edge.label.startswith("E:") else []
        return [*_part(edge.label.removeprefix("E:"), term.key)]

    # Edges.

    def edges(self, item: Edge, binding: Binding) -> list[Found]:
        """The edges that an item can be, given its ends; one end may be a star."""
        if isinstance(item.how, items.Heads):
            return self.attention.edges(item, item.how, binding)
        if item.how.enhanced:
            return self.enhanced(item, item.how, binding)
        if item.source == STAR:
            targets = [binding.nodes[item.target]]
        elif item.target == STAR:
            targets = self.dependents(binding.nodes[item.source])
        else:
            source = binding.nodes[item.source]
            target = binding.nodes[item.target]
            targets = [target] if self.governors(target) == [source] else []
        found = []
        for target in targets:
            relation = self.word(target).deprel
            if relation is not None and _fits(item.how, relation):
                found += [Found(each, target, relation) for each in self.governors(target)]
        return found

    def enhanced(self, item: Edge, how: Label, binding: Binding) -> list[Found]:
        """The edges of the enhanced graph that an item can be."""
        bound = [binding.nodes.get(each) for each in (item.source, item.target)]
        at = next(each[0] for each in bound if each is not None)
        found = []
        for head, dependent, relation in dict.fromkeys(self.corpus.sentences[at].enhanced):
            ends = ((at, head), (at, dependent))
            if any(each not in (None, end) for each, end in zip(bound, ends, strict=True)):
                continue
            parts = [each for each in how.parts if each.key != "enhanced"]
            if how.whole is not None or how.regex is not None:
                fits = _fits(how, f"E:{relation}")
            else:
                fits = all(test.holds(_part(relation, test.key)) for test in parts)
            if fits:
                found.append(Found(*ends, f"E:{relation}"))
        return found


def _numeric(value: Value) -> list[float]:
    try:
        return [float(value)]
    except ValueError:
        return []


def _span(edge: Found) -> tuple[int, int]:
    return min(edge.source[1], edge.target[1]), max(edge.source[1], edge.target[1])


def _distance(one: Place, other: Place, key: str) -> list[Value]:
    if one[0] != other[0]:
        return []
    delta = float(other[1] - one[1])
    return [abs(delta) if key == "length" else delta]


def _fits(how: Label, relation: str) -> bool:
    if how.regex is not None:
        return how.regex.fits(relation)
    if how.whole is not None:
        return (relation in how.whole) != how.negated
    return all(test.holds(_part(relation, test.key)) for test in how.parts)


def _part(relation: str, key: str) -> list[str]:
    """The part of a label that is called 1 or 2, as a list; empty if it has none."""
    first, colon, second = relation.partition(":")
    return {"1": [first], "2": [second] if colon else []}.get(key, [])


def _text(value: Value) -> str:
    return plain(value) if isinstance(value, float) else value


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other
    return _text(one) == _text(other)


def _number(value: Value) -> float:
    try:
        return float(value)
    except ValueError:
        raise RequestError(f"{value!r} is no number") from None
