"""Requests on which the package is compared with the slow matcher: hand-written and random ones.

Heads are those of a model with six layers of twelve heads. SENTENCE are requests within sentences,
DOCUMENT within documents.
"""

from __future__ import annotations

import random
import re

from patterns.binding import Place
from patterns.corpus import Corpus, Word
from patterns.facts import Facts

SENTENCE = (
    # An edge that begins one word before another is not within it.
    "pattern { e: A -[amod]-> B; f: A -[det]-> D } without { f << e }",
    "pattern { e: A -[advmod]-> B; f: A -[obj]-> C; e << f }",
    "pattern { e: A -[nsubj]-> B; f: A -[aux]-> C; f << e }",
    "pattern { e: A -[nsubj]-> B; f: A -[obj]-> C; e <> f }",
    # What a word looks at most, from either end of a dependency.
    "pattern { V -[obj]-> O; O =[3-1]=> V }",
    "pattern { V -[nsubj]-> S; V =[2-4]=> S }",
    "pattern { N -[det]-> D; D =[4-11]=> N; D < N }",
    "pattern { A =[3-1]=> B; A -> B }",
    "pattern { A =[3-1]=> B; B =[3-1]=> A; A.__id__ < B.__id__ }",
    "pattern { A =[1-1]=> B; B =[1-1]=> C }",
    'pattern { A [upos=ADJ]; A =[5-3]=> B; B [form=re"[a-m].*"] }',
    "pattern { A =[2-2]=> B; A.upos = B.upos }",
    "pattern { A =[2-2]=> B; delta(A, B) = -1; A [upos=PUNCT] }",
    "pattern { A =[6-12]=> B; length(A, B) > 6 }",
    # Where it looks elsewhere.
    "pattern { V -[obj]-> O } without { O =[3-1]=> V }",
    "pattern { V -[obj]-> O; O =[3-1]=> X } without { O =[3-1]=> V }",
    "pattern { V -[nsubj]-> S; S =[4-2]=> X$ } without { V -[punct]-> X$ }",
    "pattern { V -[obj]-> O } with { O =[3-*]=> V } without { O =[*-1]=> V }",
    "pattern { N [upos=NOUN] } without { X =[1-2]=> N }",
    "pattern { N [upos=NOUN] } without { * =[1-2]=> N }",
    "pattern { N [upos=NOUN]; N =[1-2]=> * } without { N -> * }",
    # Weights, and heads of a layer, of a place, of all.
    "pattern { A =[3-1 > 0.5]=> B }",
    "pattern { A =[3-1 >= 0.05]=> B; A << B; A -> B }",
    "pattern { V -[obj]-> O; V =[3-1 < 0.001]=> O }",
    "pattern { V -[obj]-> O; O =[4-4 <= 0.05]=> V; O =[4-5 > 0.05]=> V }",
    "pattern { A =[2-* > 0.9]=> B }",
    "pattern { A =[*-7 > 0.75]=> B; A [upos=DET] }",
    "pattern { V -[iobj]-> I; V =[*]=> I }",
    "pattern { V -[xcomp]-> X; X =[* > 0.6]=> V }",
    # Named edges.
    "pattern { V -[nsubj]-> S; e: S =[3-*]=> V }",
    "pattern { V -[obj]-> O; e: O =[*]=> V; e.weight > 0.4 }",
    'pattern { N -[amod]-> A; e: A =[*-2]=> N; e.label = "3-2" }',
    "pattern { N -[amod]-> A; e: A =[5-*]=> N; f: N =[5-*]=> A; e.label = f.label }",
    "pattern { d: N -[case]-> P; e: P =[6-*]=> N; d.length > 2 } without { e.weight < 0.1 }",
    "pattern { d: V -[advmod]-> A; e: X =[1-3]=> Y$; X << d; Y$ [upos=VERB] }",
    # Special tokens.
    "pattern { V -[obj]-> O; O =[2-9 > 0.15]=> SEP }",
    "pattern { X [upos=VERB]; X =[6-1 < 0.2]=> SEP; X =[6-1 < 0.2]=> CLS }",
    "pattern { P [upos=PUNCT]; SEP =[5-5 > 0.12]=> P }",
    "pattern { X [upos=ADV] } without { X =[1-9 > 0.3]=> CLS }",
    # Coreference.
    "pattern { A ~ B; A << B }",
    "pattern { P [mention=pronoun]; P ~ N; N [upos=PROPN|NOUN] }",
    "pattern { A ~ B; A =[5-4]=> B }",
    "pattern { V -[nsubj]-> S; O ~ S; O -> P }",
    "pattern { P [upos=PRON] } without { P ~ * }",
    "pattern { M [mention=nominal]; V -[obj]-> M } without { M ~ X; X << M }",
    "pattern { M [entity_type=person]; V -[1=nsubj]-> M }",
    "pattern { M [entity_type<>person, mention=proper] }",
    "pattern { M [!mention, upos=PRON] }",
    "pattern { A ~ B; A.form <> B.form; A.__id__ < B.__id__ } with { V -[nsubj]-> A }",
    "pattern { A ~ B; B ~ C; A << B; B << C }",
    "pattern { V -[nsubj]-> S; S ~ O } without { V ->> O }",
    # A word without a feature has no other value of it.
    "pattern { A [Tense<>Past]; A -[obj]-> B }",
    # A path may be empty where a dollar allows it.
    "pattern { A [upos=ADV]; A ->> B$; B$ [upos=ADV] }",
    # With metadata, and with what is around.
    'global { text = re".*[?]" } pattern { A =[3-1]=> B; B [lemma="?"] }',
    "pattern { meta.speaker; A ~ B; A =[2-1 < 0.1]=> B }",
    "pattern { A -> B; A =[3-3]=> B; B -> C; B =[3-3]=> C }",
)

SURPRISAL = (
    # Bounds, with numbers that words have and that they have not.
    "pattern { V [upos=VERB]; V.surprisal > 8 }",
    "pattern { V [upos=VERB]; V.surprisal >= 8.25 }",
    "pattern { V [upos=VERB]; V.surprisal < 1.5 }",
    "pattern { V [upos=VERB]; V.surprisal <= 1.5 }",
    "pattern { V [upos=VERB]; V.surprisal = 8 }",
    "pattern { V [upos=VERB]; V.surprisal <> 8 }",
    'pattern { V [upos=VERB]; V.surprisal > "8" }',
    "pattern { V [upos=VERB]; V.surprisal > -1 }",
    "pattern { V [upos=VERB]; V.surprisal > 3; V.surprisal < 4.01 }",
    # Two words.
    "pattern { V -[obj]-> O; V.surprisal > O.surprisal }",
    "pattern { A [upos=NOUN]; B [upos=NOUN]; A.surprisal = B.surprisal; A << B }",
    "pattern { A -> B; A.surprisal <> B.surprisal; B < A }",
    "pattern { A -> B; A.surprisal - B.surprisal > 12 }",
    "pattern { A -> B; A.surprisal + B.surprisal < 6.5; B [upos=NOUN] }",
    "pattern { A -[amod]-> B; A.surprisal > B.__id__ }",
    # Words that have none, and that have one.
    "pattern { V [!surprisal, upos=VERB] }",
    "pattern { V [surprisal, upos=VERB] }",
    "pattern { V [upos=VERB]; !V.surprisal }",
    "pattern { V [upos=VERB]; V.surprisal = * }",
    "pattern { V [surprisal, upos=VERB]|[!surprisal, upos=PRON] }",
    "pattern { A [!surprisal] }",
    "pattern { A [!surprisal]; A -[root]-> B }",
    # Other blocks, of a node of the pattern and of one of their own.
    "pattern { V [upos=VERB] } without { V.surprisal > 8 }",
    "pattern { V [upos=VERB] } with { V.surprisal > 8 }",
    "pattern { V -> O; V [upos=VERB] } without { V -> X; X.surprisal > V.surprisal }",
    "pattern { V [upos=VERB] } without { V [surprisal] }",
    "pattern { V -[obj]-> O } with { O -> X; X.surprisal < 2 }",
    "pattern { N [upos=NOUN] } without { X -> N; X.surprisal < N.surprisal }",
    "without { X [upos=VERB]; X.surprisal > 15 }",
    # Paths, coreference, attention, metadata.
    "pattern { V ->> P; P [surprisal, upos=PRON]; V [upos=VERB] }",
    "pattern { V [upos=VERB]; V ->> P; P [upos=NOUN]; V.surprisal > 15; P.surprisal > 15 }",
    "pattern { A ~ B; A << B; A.surprisal > B.surprisal }",
    "pattern { V -[obj]-> O; O =[3-1]=> V; O.surprisal > 8 }",
    "pattern { A =[3-1 > 0.5]=> B } without { B.surprisal > 4 }",
    "pattern { e: A =[*-2]=> B; e.weight > 0.6; A.surprisal > 15 }",
    'global { text = re".*[?]" } pattern { V [upos=VERB]; V.surprisal > 8 }',
)
"""Of a bank in which surprisals are multiples of a quarter below 20, and some words have none."""

DOCUMENT = (
    "pattern { A =[3-1]=> B; A [upos=PRON] }",
    "pattern { P [mention=pronoun]; P ~ N; N [mention=proper] }",
    "pattern { V -[nsubj]-> S; S [mention=pronoun]; S ~ N; W -[obj]-> N }",
    "pattern { P [upos=PRON]; P ~ N; P =[5-4]=> N }",
    "pattern { P [upos=PRON]; e: P =[*]=> N; P ~ N; N [upos=PROPN] }",
    "pattern { A ~ B; A << B }",
    "pattern { A ~ B; A =[2-* > 0.2]=> B } without { B -[det]-> D }",
    "pattern { P [mention=pronoun] } without { P ~ N; N [mention=proper] }",
    "pattern { P [mention=pronoun] } without { P ~ * }",
    "pattern { A [upos=VERB]; A =[4-6 > 0.1]=> B; B [upos=VERB] } without { A ->> B }",
    "pattern { A =[1-2]=> B; B.lemma = A.lemma }",
    "pattern { V -[obj]-> O; O =[2-9 < 0.01]=> SEP; V [Tense=Past] }",
)

PASTED = (
    "pattern { A []; A ->> A }",
    "pattern { A [upos=VERB]; A ->> A }",
    "pattern { A [upos=VERB]; A ->> B$; B$ [upos=VERB|NOUN] }",
    'pattern { A []; A ->> B$; B$ [form="__0__"] }',
    "pattern { A [upos=NOUN] } without { V [upos=VERB]; X$ []; V ->> X$; X$ -> A }",
    "global { sent_id = * } pattern { A [upos=NUM] }",
    "global { nosuch = * } pattern { A [upos=NUM] }",
    "pattern { meta.text = *; A [upos=INTJ|ADV] }",
    "pattern { A [Number=Plur/upos=ADV] }",
    "pattern { A [Tense=Past/Number=Plur|Sing/upos=ADV, upos<>PRON] }",
    'pattern { A [nosuch=x/form="__0__"] }',
    "pattern { V -[nsubj]-> S; V.Tense = * }",
    "pattern { V -[nsubj]-> S } without { V.Tense = * }",
    "pattern { A -> B; A.Tense/upos = ADJ }",
    "pattern { A -> B; B -> C; delta(A, B) + delta(B, C) = 3 }",
    "pattern { A -> B; B -> C; delta(A, C) > length(A, B) + length(B, C) - 1 }",
    "pattern { A -> B; proj_size(A) - proj_size(B) > 6 }",
    "pattern { A -> B; A.__id__ - B.__id__ - 2 = 0 }",
    "pattern { A -> B; A.Person + B.Person > 3 }",
    "pattern { e: A -> B; e.length + 2 < length(A, B) + B.__id__ - 3 }",
)
"""What people paste from Grew-match, each with hits in the sample or, of missing names, without."""

ENHANCED = (
    "pattern { X -[E:obj]-> Y }",
    "pattern { X -[E:obj]-> Y } without { X -[obj]-> Y }",
    "pattern { X -[E:nsubj|E:nsubj:pass]-> Y; X [upos=VERB] }",
    "pattern { X -[enhanced=yes]-> Y; Y [upos=NUM] }",
    "pattern { e: X -[enhanced=yes]-> Y; Y [upos=PRON] }",
    "pattern { X -[1=conj, 2=and, enhanced=yes]-> Y }",
    "pattern { X -[1=conj, 2<>and, enhanced=yes]-> Y }",
    "pattern { X -[1=obj, !enhanced]-> Y }",
    'pattern { X -[re"E:n.*"]-> Y; Y [upos=PRON] }',
    "pattern { e: X -[E:nsubj]-> Y; e.length > 9 }",
    "pattern { e: X -[1=conj, enhanced=yes]-> Y; e.2 = or; e.enhanced = yes }",
    "pattern { X -[E:nsubj]-> Y; Z -[E:nsubj]-> Y; X << Z }",
    "pattern { X [upos=VERB] } without { X -[E:nsubj]-> Y }",
    "pattern { X [upos=VERB]; X -[E:nsubj]-> * } without { X -[nsubj]-> * }",
    "pattern { * -[E:root]-> X; X [upos=ADJ] }",
    "pattern { A -[E:root]-> X; X [upos=ADJ] }",
    "pattern { e: X -[E:obj]-> Y; f: X -[E:nsubj]-> Y }",
    "pattern { e: V -[E:nsubj:xsubj]-> S; f: W -[nsubj]-> S; e.label <> f.label }",
)
"""Requests on the enhanced graph, for GUM."""

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_]*[A-Za-z0-9]")
_WORDY = re.compile(r"[A-Za-z]{2,12}")
_FEATURES = ("upos", "xpos", "lemma", "form")


def draw(seed: int, corpus: Corpus) -> str:
    """A random request whose pattern is true for some words of a corpus.

    It may have filters, which may or may not be true. It uses attention only if the corpus has
    inputs, and coreference only if there are mentions.
    """
    return _Drawer(random.Random(seed), corpus).request()


class _Drawer:
    def __init__(self, rng: random.Random, corpus: Corpus) -> None:
        self.rng = rng
        self.facts = Facts(corpus)
        long = [at for at, each in enumerate(corpus.sentences) if len(each.words) > 5]
        self.at = rng.choice(long)
        self.sentence = corpus.sentences[self.at]
        self.nodes: dict[str, Place] = {}
        self.edges: list[str] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def word(self, place: Place) -> Word:
        return self.facts.word(place)

    def request(self) -> str:
        lines = [self.pattern()]
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            lines.append(self.filter())
        if self.chance(0.1):
            lines.insert(0, self.about())
        if self.chance(0.1):
            self.rng.shuffle(lines)
        return " ".join(lines)

    def pattern(self) -> str:
        first = (self.at, self.rng.randrange(1, len(self.sentence.words)))
        self.nodes["A"] = first
        said = [self.node("A")]
        for name in "BCD"[: self.rng.choice((0, 1, 1, 1, 2, 2, 3))]:
            said += self.joined(name)
        said += self.extra()
        self.rng.shuffle(said)
        return "pattern { " + "; ".join(said) + (" }" if self.chance(0.8) else "; }")

    def joined(self, name: str) -> list[str]:
        """A new node, joined to an existing one by something that is true."""
        old = self.rng.choice(list(self.nodes))
        place = self.nodes[old]
        ways = [self.above, self.below, self.below, self.beside]
        if self.facts.corpus.inputs:
            ways += [self.looked, self.looked, self.looked]
        if self.word(place).mentions:
            ways += [self.coreferent, self.coreferent]
        for way in self.rng.sample(ways, len(ways)):
            said = way(name, old, place)
            if said:
                break
        if self.chance(0.3) and name in self.nodes:
            said.append(self.node(name))
        return said

    def free(self, places: list[Place]) -> list[Place]:
        return [place for place in places if place not in self.nodes.values()]

    def above(self, name: str, old: str, place: Place) -> list[str]:
        for each in self.free(self.facts.governors(place)):
            self.nodes[name] = each
            return [self.dependency(name, old, self.word(place).deprel or "")]
        return []

    def below(self, name: str, old: str, place: Place) -> list[str]:
        found = self.free(self.facts.dependents(place))
        if not found:
            return []
        self.nodes[name] = self.rng.choice(found)
        return [self.dependency(old, name, self.word(self.nodes[name]).deprel or "")]

    def beside(self, name: str, old: str, place: Place) -> list[str]:
        after = (self.at, place[1] + 1)
        found = self.free([each for each in self.facts.words(self.at) if each == after])
        if not found:
            return []
        self.nodes[name] = found[0]
        order = f"{old} < {name}" if self.chance(0.6) else f"{name} > {old}"
        return [self.node(name), order]

    def looked(self, name: str, old: str, place: Place) -> list[str]:
        attention = self.facts.attention
        positions = attention.positions.get(place, [])
        if not positions:
            return []
        at, position = positions[0]
        given = attention.inputs[at]
        layer, head = (self.rng.randrange(count) for count in given.weights.shape[:2])
        peak = int(given.peaks[layer, head, position])
        found = self.free([attention.place(at, peak)] if peak >= 0 else [])
        if not found or found[0][0] != self.at:
            return []
        self.nodes[name] = found[0]
        weight = float(given.weights[layer, head, position, peak])
        heads = self.rng.choice((f"{layer + 1}-{head + 1}",) * 3 + (f"{layer + 1}-*",))
        bound = ""
        if self.chance(0.35):
            bound = self.rng.choice((f" > {weight * 0.9:.4f}", f" >= {weight * 0.8:.4f}"))
        edge = f"{old} =[{heads}{bound}]=> {name}"
        return [self.named(edge, f"{layer + 1}-{head + 1}", True), self.node(name)]

    def coreferent(self, name: str, old: str, place: Place) -> list[str]:
        entities = {each.entity for each in self.word(place).mentions}
        found = [
            each
            for each in self.free(self.facts.words(self.at))
            if entities & {mention.entity for mention in self.word(each).mentions}
        ]
        if not found:
            return []
        self.nodes[name] = self.rng.choice(found)
        return [f"{old} ~ {name}" if self.chance(0.5) else f"{name} ~ {old}"]

    # What is said of an edge.

    def dependency(self, source: str, target: str, relation: str) -> str:
        if self.chance(0.2):
            return self.named(f"{source} -> {target}", relation, False)
        return self.named(f"{source} -[{self.label(relation)}]-> {target}", relation, False)

    def label(self, relation: str) -> str:
        first, colon, second = relation.partition(":")
        ways = [relation, f"1={first}", f"{relation}|punct", f're"{first}.*"', "^punct|det"]
        ways += [f"1={first}, 2={second}", "2=*"] if colon else [f"1={first}, !2"]
        ways += ["1<>punct|det", f'"{relation}"']
        return self.rng.choice(ways)

    def named(self, edge: str, label: str, attention: bool) -> str:
        if not self.chance(0.3):
            return edge
        name = f"e{len(self.edges) + 1}"
        self.edges.append(name)
        ways = [f"{name}.length < 9", f"{name}.delta <> 5", f'{name}.label = "{label}"']
        ways += [f"{name}.weight > 0.05"] if attention else [f"{name}.label <> foo"]
        return f"{name}: {edge}" + (f"; {self.rng.choice(ways)}" if self.chance(0.6) else "")

    # What is said of a node.

    def node(self, name: str) -> str:
        tests = [self.test(self.nodes[name]) for _ in range(self.rng.choice((1, 1, 1, 2)))]
        said = ", ".join(dict.fromkeys(tests))
        other = f"|[upos={self.rng.choice(('NOUN', 'PROPN', 'SYM'))}]" if self.chance(0.1) else ""
        return f"{name} [{said}]{other}"

    def test(self, place: Place) -> str:
        word = self.word(place)
        key, value = self.feature(word)
        if word.mentions and self.chance(0.3):
            kind = word.mentions[0].kind
            return self.rng.choice((f"mention={kind}", "mention", f"mention=proper|{kind}"))
        ways = [f"{key}={_written(value)}"] * 5 + [key, f"{key}={_written(value)}|foo"]
        ways += [f"{key}<>foo|bar", "!NoSuchFeature", f"{key}=*"]
        if _WORDY.fullmatch(value):
            ways += [f'{key}=re"{value[0]}.*"', f'{key}=re".*{value[-2:]}\\|foo"']
            ways += [f"{key}=/.*{value[-1]}/", f"{key}=/{value.upper()}/i", f'{key}<>re"q.*"']
        return self.rng.choice(ways)

    def feature(self, word: Word) -> tuple[str, str]:
        """A feature that a word has, and its value.

        SpaceAfter is left out, because for the parts of a multiword token it is that of the source.
        """
        keys = [each for each in word.features if each in _FEATURES or each[0].isupper()]
        keys = [each for each in keys if each not in ("Entity", "SpaceAfter")]
        common = [each for each in keys if each in ("upos", "lemma")]
        key = self.rng.choice(common * 3 + sorted(keys))
        return key, word.features[key]

    # What is said of several, and in other blocks.

    def extra(self) -> list[str]:
        said = []
        names = list(self.nodes)
        if len(names) > 1 and self.chance(0.5):
            one, other = self.rng.sample(names, 2)
            (_, i), (_, j) = self.nodes[one], self.nodes[other]
            left, right = (one, other) if i < j else (other, one)
            ways = [f"{left} << {right}", f"{right} >> {left}", f"{one}.upos <> {other}.lemma"]
            ways += [
                f"delta({one}, {other}) = {j - i}",
                f"length({one}, {other}) < {abs(i - j) + 2}",
            ]
            ways += [f"{left}.__id__ < {right}.__id__"]
            if self.word(self.nodes[one]).features.get("upos"):
                same = self.word(self.nodes[one]).features["upos"]
                equal = same == self.word(self.nodes[other]).features.get("upos")
                ways.append(f"{one}.upos {'=' if equal else '<>'} {other}.upos")
            said.append(self.rng.choice(ways))
        if self.chance(0.15):
            name = self.rng.choice(names)
            said.append(self.rng.choice((f"{name} -[^punct]-> *", f"* -> {name}")))
        if len(self.edges) > 1 and self.chance(0.5):
            one, other = self.edges[:2]
            said.append(self.rng.choice((f"{one}.label <> {other}.label", f"{one} << {other}")))
        return said

    def filter(self) -> str:
        name = self.rng.choice(list(self.nodes))
        place = self.nodes[name]
        relation = self.rng.choice(("nsubj", "obj", "det", "case", "1=advmod", "conj", "punct"))
        ways = [
            f"{name} -[{relation}]-> X",
            f"X -[{relation}]-> {name}",
            f"{name} -[{relation}]-> X; X << {name}",
            f"{name} [{self.test(place)}]",
            f"{name} [upos=VERB|AUX]",
            f"{name} -[{relation}]-> X; X -> Y",
            f"X [upos=ADV]; X < {name}",
            f"{name} ->> X; X [upos=NUM]",
            f"{name}.Number = Sing",
            f"{name} -[{relation}]-> *",
        ]
        if self.facts.corpus.inputs:
            layers, heads = self.facts.corpus.inputs[0].weights.shape[:2]
            which = f"{self.rng.randrange(layers) + 1}-{self.rng.randrange(heads) + 1}"
            ways += [
                f"{name} =[{which}]=> X; X [upos=NOUN|PUNCT]",
                f"{name} =[{which} > 0.3]=> X",
                f"{name} =[{which}]=> X; X -> {name}",
                f"{name} =[{which} > 0.4]=> SEP",
                f"X =[{which}]=> {name}; X << {name}",
            ]
        nats = self.word(place).surprisal
        if nats is not None:
            ways += [f"{name}.surprisal > {nats:g}", f"{name}.surprisal <= {nats:g}"]
            ways += [f"{name} -> X; X.surprisal > {name}.surprisal", "X [upos=ADV, surprisal]"]
        if self.word(place).mentions:
            ways += [f"{name} ~ X", f"{name} ~ X; X << {name}", f"{name} ~ X; X [mention=pronoun]"]
        said = self.rng.choice(ways)
        return f"{self.rng.choice(('without', 'without', 'with'))} {{ {said} }}"

    def about(self) -> str:
        keys = [each for each in self.sentence.metadata if _BARE.fullmatch(each)]
        key = self.rng.choice(sorted({*keys, "text"}))
        value = self.sentence.metadata.get(key, "")
        ways = ["global { is_projective }", "global { is_tree }", f"global {{ !{key}x }}"]
        if '"' not in value and "\\" not in value:
            ways.append(f'global {{ {key} = "{value}" }}')
        if key == "text":
            ways += ['global { text = re".*the.*" }', 'global { text <> "x"|y }']
        return self.rng.choice(ways)


def _written(value: str) -> str:
    if _BARE.fullmatch(value) and value not in ("with", "from", "If", "match", "file", "include"):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
