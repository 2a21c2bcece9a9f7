"""What holds in a corpus: for words, dependencies, order, mentions and attention."""

from __future__ import annotations

from attnbank.queries.patterns import syntax
from attnbank.queries.patterns.syntax import SURPRISAL, WHOLE, Clause, Edge, Test, Tie
from patterns.attention import OPS, Attention
from patterns.binding import Binding, BoundEdge, Place, Spot
from patterns.corpus import Corpus, Word
from patterns.regexes import fits

Value = str | float
SENTENCE_OWNERS = ("meta", "global")


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

    def across(self, tie: Tie, place: Place, forward: bool) -> list[Place]:
        """The words that one end of a tie could be, if the other end is bound to `place`."""
        if isinstance(tie, syntax.Corefers):
            entities = dict.fromkeys(mention.entity for mention in self.word(place).mentions)
            heads = [head for entity in entities for head in self.corpus.referring[entity]]
            return list(dict.fromkeys(heads))
        if isinstance(tie, syntax.AttentionEdge):
            return self.attention.others(place, tie, forward)
        assert isinstance(tie, Edge)
        if tie.is_enhanced:
            edges = self.corpus.sentences[place[0]].enhanced
            ends = [edge[:2] if forward else (edge[1], edge[0]) for edge in edges]
            return list(dict.fromkeys((place[0], to) for at, to in ends if at == place[1]))
        return self.dependents(place) if forward else self.governors(place)

    def document(self, at: Spot) -> list[Spot]:
        """All sentences of the document that a sentence is in."""
        sentences = self.corpus.sentences
        name = sentences[at].document
        return [spot for spot in range(len(sentences)) if sentences[spot].document == name]

    # Clauses.

    def holds(self, clause: Clause, binding: Binding) -> bool:
        """Whether a clause holds; all its names must be bound."""
        if isinstance(clause, syntax.Node):
            place = binding.nodes[clause.name]
            return any(
                all(self.passes(place, test) for test in tests) for tests in clause.alternatives
            )
        if isinstance(clause, Edge | syntax.AttentionEdge):
            return bool(self.edges(clause, binding))
        if isinstance(clause, syntax.Corefers):
            return self.corefer(clause, binding)
        if isinstance(clause, syntax.Path):
            return self.dominates(binding.nodes[clause.source], binding.nodes[clause.target])
        if isinstance(clause, syntax.Order):
            return self.ordered(clause, binding)
        if isinstance(clause, syntax.Presence):
            return bool(self.term(clause.reference, binding)) == clause.is_present
        return self.compared(clause, binding)

    def passes(self, place: Place, test: Test) -> bool:
        """Whether a test of a word holds."""
        if test.feature == SURPRISAL:
            return (self.word(place).surprisal is not None) == (test.kind == "present")
        values = self.values(place, test.feature)
        if not values and test.fallback is not None:
            return self.passes(place, test.fallback)
        return holds_of(test, values)

    def said(self, at: Spot, clause: Clause | Test) -> bool:
        """Whether something holds of a sentence itself."""
        if isinstance(clause, syntax.Presence):
            key, wanted, test = clause.reference.feature, clause.is_present, None
        elif isinstance(clause, syntax.Comparison):
            assert isinstance(clause.left, syntax.Reference)
            assert isinstance(clause.right, syntax.Constant)
            kind: syntax.Kind = "equal" if clause.operator == "=" else "different"
            key, wanted = clause.left.feature, True
            test = Test(key, kind, (clause.right.value,), clause.left.position)
        else:
            assert isinstance(clause, Test)
            key, wanted, test = clause.feature, True, clause
        if key.startswith("is_"):
            return self.flag(at, key.replace("is_not_", "is_")) == ("_not_" not in key)
        value = self.corpus.sentences[at].metadata.get(key)
        if test is None:
            return (value is not None) == wanted
        return holds_of(test, [] if value is None else [value])

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
        governed = {place[1] for word in self.words(at) for place in self.dependents(word)}
        is_cyclic = not governed <= reached
        return {"is_tree": is_tree, "is_forest": not is_cyclic, "is_cyclic": is_cyclic}[name]

    def values(self, place: Place, key: str) -> list[str]:
        """The values of a feature of a word: none, one, or several of its mentions."""
        word = self.word(place)
        if key == "__id__":
            return [str(place[1])]
        if key == "mention":
            return [mention.kind for mention in word.mentions]
        if key == "entity_type":
            return [mention.type for mention in word.mentions if mention.type is not None]
        return [word.features[key]] if key in word.features else []

    def corefer(self, tie: syntax.Corefers, binding: Binding) -> bool:
        ends = []
        for name in (tie.source, tie.target):
            if name is None:
                (at, _) = binding.nodes[tie.ends[0]]
                spots = self.document(at) if self.wide else [at]
                ends.append([place for spot in spots for place in self.words(spot)])
            else:
                ends.append([binding.nodes[name]])
        return any(
            m is not n and m.entity == n.entity
            for one in ends[0]
            for other in ends[1]
            for m in self.word(one).mentions
            for n in self.word(other).mentions
        )

    def ordered(self, order: syntax.Order, binding: Binding) -> bool:
        one, other = binding.nodes.get(order.left), binding.nodes.get(order.right)
        if one is not None and other is not None:
            near = one[1] + 1 == other[1] if order.sign == "<" else one[1] < other[1]
            return one[0] == other[0] and near
        edge = binding.edges[order.right]
        if one is not None:
            left, right = _span(edge)
            return one[0] == edge.source[0] == edge.target[0] and left < one[1] < right
        first = binding.edges[order.left]
        (a, b), (c, d) = _span(first), _span(edge)
        if len({first.source[0], first.target[0], edge.source[0], edge.target[0]}) > 1:
            return False
        apart = b <= c or d <= a
        if order.sign == "<>":
            return apart
        if apart:
            return False
        if order.sign == "<<":
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

    def compared(self, comparison: syntax.Comparison, binding: Binding) -> bool:
        left, right = self.term(comparison.left, binding), comparison.right
        is_equality = comparison.operator in ("=", "<>")
        if not isinstance(right, syntax.Constant):
            others = self.term(right, binding)
        elif isinstance(right.value, syntax.Regex):
            same = [fits(right.value, str(value)) for value in left]
            return any(fitting == (comparison.operator == "=") for fitting in same)
        else:
            others = [right.value] if is_equality else [float(right.written)]
        pairs = [(one, other) for one in left for other in others]
        if is_equality:
            return any(_same(*pair) == (comparison.operator == "=") for pair in pairs)
        return any(OPS[comparison.operator](float(one), float(other)) for one, other in pairs)

    def term(self, term: syntax.Term | syntax.Constant, binding: Binding) -> list[Value]:
        """The values of one side of a comparison; none if it is missing."""
        if isinstance(term, syntax.Constant):
            return [float(term.written)]
        if isinstance(term, syntax.Sum):
            totals = [0.0]
            for sign, part in term.parts:
                values = [number for value in self.term(part, binding) for number in _number(value)]
                times = 1 if sign == "+" else -1
                totals = [total + times * value for total in totals for value in values]
            return [*totals]
        if isinstance(term, syntax.NodeFunction):
            one, other = binding.nodes[term.first], binding.nodes[term.second]
            if term.kind != "proj_size":
                return _distance(one, other, term.kind)
            below = [place for place in self.words(one[0]) if self.dominates(one, place)]
            return [float(sum(self.values(place, "upos") != ["PUNCT"] for place in below))]
        place = binding.nodes.get(term.owner)
        if place is not None and term.feature == SURPRISAL:
            nats = self.word(place).surprisal
            return [] if nats is None else [nats]
        if place is not None:
            features = [self.values(place, key) for key in (term.feature, *term.others)]
            return [*next((values for values in features if values), [])]
        edge = binding.edges[term.owner]
        if term.feature in ("length", "delta"):
            return _distance(edge.source, edge.target, term.feature)
        if term.feature == "label":
            return [edge.label]
        if edge.weight is not None:
            return [edge.weight] if term.feature == "weight" else []
        if term.feature == "enhanced":
            return ["yes"] if edge.label.startswith("E:") else []
        return [*_part(edge.label.removeprefix("E:"), term.feature)]

    # Edges.

    def edges(self, edge: Edge | syntax.AttentionEdge, binding: Binding) -> list[BoundEdge]:
        """The edges that a clause can be, given its ends; one end may be a star."""
        if isinstance(edge, syntax.AttentionEdge):
            return self.attention.edges(edge, binding)
        source, target = (
            None if name is None else binding.nodes[name] for name in (edge.source, edge.target)
        )
        (at, _) = source or target or (0, 0)
        if edge.is_enhanced:
            triples = list(dict.fromkeys(self.corpus.sentences[at].enhanced))
        else:
            places = [target] if target is not None else self.dependents(source or (at, 0))
            words = [(index, self.word((at, index))) for _, index in places]
            triples = [
                (word.head, index, word.deprel)
                for index, word in words
                if word.head is not None and word.deprel is not None
            ]
        bound = []
        for head, dependent, relation in triples:
            ends = ((at, head), (at, dependent))
            label = f"E:{relation}" if edge.is_enhanced else relation
            is_bound = source in (None, ends[0]) and target in (None, ends[1])
            if is_bound and all(_label_passes(test, relation, label) for test in edge.label):
                bound.append(BoundEdge(*ends, label))
        return bound


def holds_of(test: Test, values: list[str]) -> bool:
    """Whether a test holds for these values; there are none if the feature is missing."""
    if test.kind in ("present", "absent"):
        return bool(values) == (test.kind == "present")
    fitting = [
        any(
            fits(wanted, value) if isinstance(wanted, syntax.Regex) else wanted == value
            for wanted in test.values
        )
        for value in values
    ]
    return any(is_fit == (test.kind == "equal") for is_fit in fitting)


def _label_passes(test: Test, relation: str, label: str) -> bool:
    if test.feature != WHOLE:
        return holds_of(test, _part(relation, test.feature))
    is_regex = any(isinstance(value, syntax.Regex) for value in test.values)
    return holds_of(test, [label if is_regex else relation])


def _number(value: Value) -> list[float]:
    try:
        return [float(value)]
    except ValueError:
        return []


def _span(edge: BoundEdge) -> tuple[int, int]:
    return min(edge.source[1], edge.target[1]), max(edge.source[1], edge.target[1])


def _distance(one: Place, other: Place, kind: str) -> list[Value]:
    if one[0] != other[0]:
        return []
    delta = float(other[1] - one[1])
    return [abs(delta) if kind == "length" else delta]


def _part(relation: str, key: str) -> list[str]:
    """The part of a label that is called 1 or 2, as a list; empty if it has none."""
    first, colon, second = relation.partition(":")
    return {"1": [first], "2": [second] if colon else []}.get(key, [])


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return _number(one) == _number(other) != []
    return one == other
