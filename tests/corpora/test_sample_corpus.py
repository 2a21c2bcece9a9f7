"""The sample corpus that ships with the package is sound gold annotation.

The small parser below is this file's own, so that the corpus is judged independently of the
project's reader.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "ingest" / "corpora" / "sample"


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


UPOS = names("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X")
RELATIONS = names(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse "
    "dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan "
    "parataxis punct reparandum root vocative xcomp"
)
ENTITY_TYPES = names("person place object organization animal time event abstract substance plant")
TAGS_OF_FUNCTIONS = {
    "aux": {"AUX"},
    "cop": {"AUX"},
    "case": {"ADP", "PART"},
    "cc": {"CCONJ"},
    "det": {"DET"},
    "mark": {"SCONJ", "PART"},
    "nummod": {"NUM"},
    "punct": {"PUNCT"},
    "expl": {"PRON"},
    "amod": {"ADJ"},
    "advmod": {"ADV", "PART"},
}
FEATURE = re.compile(r"[A-Z][A-Za-z]*=[A-Z0-9][A-Za-z0-9]*")
PIECE = re.compile(r"\([^()]+\)|\([^()]+|[^()]+\)")


@dataclass(frozen=True)
class Word:
    index: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str
    deps: str
    misc: str

    @property
    def relation(self) -> str:
        return self.deprel.partition(":")[0]

    def value(self, key: str) -> str | None:
        return attributes(self.misc).get(key)

    def features(self) -> dict[str, str]:
        return attributes(self.feats)


@dataclass(frozen=True)
class Range:
    """A multiword token."""

    first: int
    last: int
    form: str
    rest: tuple[str, ...]
    misc: str


@dataclass(frozen=True)
class Mention:
    entity: str
    type: str
    first: int
    last: int
    head: int  # within the mention, 1-based
    other: str


@dataclass
class Sentence:
    document: str
    comments: dict[str, str] = field(default_factory=dict)
    words: list[Word] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.comments["sent_id"]

    def word(self, index: int) -> Word:
        return self.words[index - 1]

    def children(self, index: int) -> list[Word]:
        return [word for word in self.words if word.head == index]


def attributes(column: str) -> dict[str, str]:
    if column == "_":
        return {}
    pairs = (item.partition("=") for item in column.split("|"))
    return {key: value for key, _, value in pairs}


def parse(path: Path) -> list[Sentence]:
    sentences: list[Sentence] = []
    document = ""
    for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        sentence = Sentence(document)
        for line in block.split("\n"):
            if line.startswith("#"):
                key, _, value = line[1:].partition("=")
                assert key.strip() not in sentence.comments, f"{path.name}: {line}"
                sentence.comments[key.strip()] = value.strip()
                continue
            columns = line.split("\t")
            assert len(columns) == 10, f"{path.name}: {line!r} has {len(columns)} columns"
            assert all(column and column == column.strip() for column in columns), line
            if "-" in columns[0]:
                first, _, last = columns[0].partition("-")
                rest = tuple(columns[2:9])
                found = Range(int(first), int(last), columns[1], rest, columns[9])
                sentence.ranges.append(found)
                assert found.first == len(sentence.words) + 1, f"{path.name}: {line!r} is misplaced"
            else:
                index, form, lemma, upos, xpos, feats, head, deprel, deps, misc = columns
                sentence.words.append(
                    Word(int(index), form, lemma, upos, xpos, feats, int(head), deprel, deps, misc)
                )
        document = sentence.comments.get("newdoc id", document)
        sentence.document = document
        sentences.append(sentence)
    return sentences


def pieces(sentence: Sentence) -> list[tuple[Word, str]]:
    """The brackets of a sentence in their order, each with the word that carries it."""
    found: list[tuple[Word, str]] = []
    for word in sentence.words:
        value = word.value("Entity")
        if value is not None:
            parts = PIECE.findall(value)
            assert "".join(parts) == value, f"{sentence.id}: {value}"
            found.extend((word, part) for part in parts)
    return found


def mentions(sentence: Sentence) -> list[Mention]:
    """The mentions of a sentence; brackets that do not nest are an error."""
    done: list[Mention] = []
    stack: list[tuple[str, str, int, int, str]] = []
    for word, part in pieces(sentence):
        if part.startswith("("):
            names = part.strip("()").split("-")
            assert len(names) == 4, f"{sentence.id}: {part}"
            stack.append((names[0], names[1], word.index, int(names[2]), names[3]))
        if part.endswith(")"):
            assert stack, f"{sentence.id}: {part} closes nothing"
            entity, type_, first, head, other = stack.pop()
            if not part.startswith("("):
                assert part == f"{entity})", f"{sentence.id}: {part} closes {entity}"
            done.append(Mention(entity, type_, first, word.index, head, other))
    assert not stack, f"{sentence.id}: {stack} not closed"
    return done


def surface(sentence: Sentence) -> str:
    text = ""
    ranges = {found.first: found for found in sentence.ranges}
    index = 1
    while index <= len(sentence.words):
        token: Range | Word = ranges.get(index, sentence.word(index))
        text += token.form
        if attributes(token.misc).get("SpaceAfter") != "No":
            text += " "
        index = token.last + 1 if isinstance(token, Range) else index + 1
    return text.rstrip(" ")


FILES = sorted(SAMPLE.glob("*.conllu"))
SENTENCES = [sentence for path in FILES for sentence in parse(path)]
WORDS = [(sentence, word) for sentence in SENTENCES for word in sentence.words]

DOCUMENTS = list(dict.fromkeys(sentence.document for sentence in SENTENCES))

each_document = pytest.mark.parametrize("document", DOCUMENTS)


def of(document: str) -> list[Sentence]:
    return [sentence for sentence in SENTENCES if sentence.document == document]


def test_size() -> None:
    assert len({sentence.document for sentence in SENTENCES}) >= 8
    assert len(SENTENCES) >= 80
    assert sum(word.upos != "PUNCT" for _, word in WORDS) >= 900


def test_documents_are_declared_once_and_hold_together() -> None:
    starts = [s.comments["newdoc id"] for s in SENTENCES if "newdoc id" in s.comments]
    assert len(starts) == len(set(starts))
    for sentence in SENTENCES:
        assert sentence.document
        if "newdoc id" in sentence.comments:
            assert sentence.comments["global.Entity"] == "eid-etype-head-other"
            assert "newpar" in sentence.comments
    for name in starts:
        numbers = [s.id for s in SENTENCES if s.document == name]
        assert numbers == [f"{name}-{number}" for number in range(1, len(numbers) + 1)]


def test_sentence_ids_are_unique() -> None:
    assert max(Counter(sentence.id for sentence in SENTENCES).values()) == 1


def test_files_are_plain() -> None:
    for path in FILES:
        raw = path.read_bytes()
        assert raw.endswith(b"\n\n")
        assert not raw.endswith(b"\n\n\n")
        assert b"\r" not in raw
        assert raw.isascii()


@each_document
def test_tree(document: str) -> None:
    for sentence in of(document):
        assert [word.index for word in sentence.words] == list(range(1, len(sentence.words) + 1))
        roots = [word for word in sentence.words if word.head == 0]
        assert [word.deprel for word in roots] == ["root"]
        assert [word for word in sentence.words if word.deprel == "root"] == roots
        assert roots[0].upos != "PUNCT"
        for word in sentence.words:
            assert 0 <= word.head <= len(sentence.words)
            path = [word.index]
            while path[-1]:
                path.append(sentence.word(path[-1]).head)
                assert len(path) == len(set(path)), f"cycle at {word.form}"


@each_document
def test_projective(document: str) -> None:
    for sentence in of(document):
        arcs = [(min(w.index, w.head), max(w.index, w.head)) for w in sentence.words if w.head]
        for left, right in arcs:
            for other, far in arcs:
                assert not left < other < right < far, (
                    f"{sentence.id}: {left}-{right}, {other}-{far}"
                )


@each_document
def test_columns(document: str) -> None:
    for sentence in of(document):
        for word in sentence.words:
            assert word.upos in UPOS
            assert word.relation in RELATIONS
            assert re.fullmatch(r"[a-z]+(:[a-z]+)?", word.deprel)
            assert word.lemma != "_"
            assert word.xpos != "_"
            assert word.deps == "_"
            if word.feats != "_":
                items = word.feats.split("|")
                assert all(FEATURE.fullmatch(item) for item in items), word.feats
                keys = [item.partition("=")[0] for item in items]
                assert keys == sorted(set(keys), key=str.lower), word.feats
            keys = [item.partition("=")[0] for item in word.misc.split("|")]
            assert keys in (["_"], ["Entity"], ["SpaceAfter"], ["Entity", "SpaceAfter"]), word.misc
            assert word.value("SpaceAfter") in (None, "No")


@each_document
def test_functions_have_their_tags(document: str) -> None:
    for sentence in of(document):
        for word in sentence.words:
            if word.relation in TAGS_OF_FUNCTIONS and "ExtPos" not in word.features():
                assert word.upos in TAGS_OF_FUNCTIONS[word.relation], (
                    f"{word.form} {word.upos} {word.deprel}"
                )
            if word.upos == "PUNCT":
                assert word.deprel == "punct"
                assert not sentence.children(word.index)
            if word.upos == "AUX":
                assert word.relation in {"aux", "cop"}
            if word.deprel == "compound:prt":
                assert (word.upos, word.xpos) == ("ADP", "RP")
                assert sentence.word(word.head).upos == "VERB"
            if word.deprel in {"nsubj:pass", "aux:pass", "obl:agent"}:
                assert sentence.word(word.head).features().get("Voice") == "Pass"
            if word.upos == "VERB":
                assert "VerbForm" in word.features()
            if word.deprel == "conj":
                assert word.head < word.index
            if word.relation in {"flat", "fixed", "appos"}:
                assert word.head < word.index


@each_document
def test_text_is_the_surface(document: str) -> None:
    for sentence in of(document):
        assert surface(sentence) == sentence.comments["text"]
        assert "  " not in sentence.comments["text"]


@each_document
def test_multiword_tokens(document: str) -> None:
    for sentence in of(document):
        last = 0
        for found in sentence.ranges:
            assert last < found.first < found.last <= len(sentence.words)
            assert found.rest == ("_",) * 7
            assert found.misc in {"_", "SpaceAfter=No"}
            parts = sentence.words[found.first - 1 : found.last]
            assert "".join(word.form for word in parts) == found.form
            assert all(word.value("SpaceAfter") is None for word in parts)
            last = found.last
        inside = {i for found in sentence.ranges for i in range(found.first + 1, found.last + 1)}
        clitics = {"'s", "'", "n't", "'ll", "'ve", "'m", "'re", "'d"}
        for word in sentence.words:
            if word.form in clitics and word.upos != "PUNCT":
                assert word.index in inside, word.form


@each_document
def test_entity_brackets(document: str) -> None:
    for sentence in of(document):
        spans = [(mention.first, mention.last) for mention in mentions(sentence)]
        assert len(spans) == len(set(spans))
        for word in sentence.words:
            value = word.value("Entity")
            if value is not None:
                # opening brackets, then one-word mentions, then closing brackets
                kinds = [(part[0] == "(") - (part[-1] == ")") for part in PIECE.findall(value)]
                assert kinds == sorted(kinds, reverse=True), value


@each_document
def test_mention_heads(document: str) -> None:
    for sentence in of(document):
        for mention in mentions(sentence):
            span = range(mention.first, mention.last + 1)
            outside = [i for i in span if sentence.word(i).head not in span]
            assert 1 <= mention.head <= len(span)
            assert outside == [mention.first + mention.head - 1], f"{mention}"
            assert sentence.word(mention.first).upos != "PUNCT"
            assert sentence.word(mention.last).upos != "PUNCT"


def test_entities() -> None:
    types: dict[str, set[str]] = defaultdict(set)
    documents: dict[str, set[str]] = defaultdict(set)
    seen: set[str] = set()
    for sentence in SENTENCES:
        found = mentions(sentence)
        # an entity is new at its first mention: the leftmost, and of these the longest
        for mention in sorted(found, key=lambda one: (one.first, -one.last)):
            assert re.fullmatch(r"e[1-9][0-9]*", mention.entity)
            assert mention.type in ENTITY_TYPES
            assert mention.other == ("giv" if mention.entity in seen else "new"), f"{mention}"
            seen.add(mention.entity)
            types[mention.entity].add(mention.type)
            documents[mention.entity].add(sentence.document)
    assert all(len(found) == 1 for found in types.values())
    assert all(len(found) == 1 for found in documents.values())
    assert {one for found in types.values() for one in found} == ENTITY_TYPES


@each_document
def test_pronouns_that_refer_are_mentions(document: str) -> None:
    for sentence in of(document):
        heads = {mention.first + mention.head - 1 for mention in mentions(sentence)}
        for word in sentence.words:
            if word.upos == "PRON" and word.features().get("PronType") == "Prs":
                assert (word.deprel == "expl") != (word.index in heads), word.form


def test_every_document_has_chains() -> None:
    sizes: dict[str, Counter[str]] = defaultdict(Counter)
    nested: Counter[str] = Counter()
    for sentence in SENTENCES:
        found = mentions(sentence)
        sizes[sentence.document].update(mention.entity for mention in found)
        nested[sentence.document] += sum(
            one != two and two.first <= one.first and one.last <= two.last
            for one in found
            for two in found
        )
    for name, counts in sizes.items():
        assert sum(size >= 2 for size in counts.values()) >= 3, name
        assert sum(size == 1 for size in counts.values()) >= 2, name
        assert nested[name] >= 1, name


def is_possessor(sentence: Sentence, word: Word) -> bool:
    return word.deprel == "nmod:poss" and any(
        child.xpos == "POS" and child.deprel == "case" and child.index > word.index
        for child in sentence.children(word.index)
    )


RELATION_MINIMUMS = {
    "obj": 60,
    "iobj": 6,
    "nsubj:pass": 20,
    "aux:pass": 20,
    "obl:agent": 8,
    "compound:prt": 25,
    "acl:relcl": 25,
    "conj": 40,
    "cc": 35,
    "ccomp": 15,
    "xcomp": 10,
    "csubj": 1,
    "advcl": 12,
    "acl": 2,
    "aux": 35,
    "cop": 25,
    "mark": 20,
    "nmod": 15,
    "nmod:poss": 50,
    "appos": 4,
    "amod": 25,
    "nummod": 12,
    "obl": 50,
    "obl:unmarked": 8,
    "compound": 8,
    "flat": 4,
    "fixed": 4,
    "expl": 2,
    "vocative": 3,
    "discourse": 5,
    "parataxis": 1,
}


@pytest.mark.parametrize("deprel", RELATION_MINIMUMS)
def test_relation_is_in_good_supply(deprel: str) -> None:
    assert sum(word.deprel == deprel for _, word in WORDS) >= RELATION_MINIMUMS[deprel]


def test_possessives_and_contractions_are_in_good_supply() -> None:
    assert sum(is_possessor(sentence, word) for sentence, word in WORDS) >= 20
    assert sum(word.xpos == "PRP$" for _, word in WORDS) >= 20
    assert sum(word.form == "n't" and word.lemma == "not" for _, word in WORDS) >= 12
    assert sum(len(sentence.ranges) for sentence in SENTENCES) >= 45
    assert sum("newpar" in sentence.comments for sentence in SENTENCES) >= 25
    assert sum("speaker" in sentence.comments for sentence in SENTENCES) >= 20
