"""The sample corpus that ships with the package is sound gold annotation."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from pathlib import Path

from attnbank.ingest.corpora.document import Problem, Sentence, Word
from attnbank.ingest.corpora.formats.conllu import read_conllu

FILES = sorted((Path(__file__).parents[2] / "ingest" / "corpora" / "sample").glob("*.conllu"))
TEXT = "".join(path.read_text(encoding="utf-8") for path in FILES)
# What the reader finds in it: its faults and departures are refused (strict).
ITEMS = list(read_conllu(TEXT.encode().splitlines(keepends=True), strict=True))
SENTENCES = [item for item in ITEMS if isinstance(item, Sentence)]
WORDS = [(sentence, word) for sentence in SENTENCES for word in sentence.words]
STARTS = [sentence.document for sentence in SENTENCES if sentence.document]

RELATIONS = """
    acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
    punct reparandum root vocative xcomp
"""
ENTITY_TYPES = "abstract animal event object organization person place plant substance time"
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
MISC = r"_|SpaceAfter=No|Entity=(\(\S+-\d+-(new|giv))*(\(\S+\))*([^()]+\))*(\|SpaceAfter=No)?"
"""Opening brackets go before mentions of one word, and these before closing brackets."""


def test_size() -> None:
    assert len(STARTS) >= 8
    assert len(SENTENCES) >= 80
    assert sum(word.upos != "PUNCT" for _, word in WORDS) >= 900


def test_the_reader_has_nothing_against_it() -> None:
    """Trees, tags, texts and brackets are sound, and mentions nest."""
    assert [str(item) for item in ITEMS if isinstance(item, Problem)] == []
    assert not any(sentence.departures or sentence.empty_nodes for sentence in SENTENCES)
    assert all(sentence.text and "  " not in sentence.text for sentence in SENTENCES)


def test_documents_are_declared_once_and_hold_together() -> None:
    assert len({start.name for start in STARTS}) == len(STARTS)
    assert all(start.is_marked for start in STARTS)
    assert TEXT.count("# global.Entity = eid-etype-head-other\n") == len(STARTS)
    name, number = "", 0
    for sentence in SENTENCES:
        if sentence.document:
            name, number = sentence.document.name, 0
            assert sentence.paragraph == 1
        number += 1
        assert sentence.name == f"{name}-{number}"


def test_files_are_plain() -> None:
    for path in FILES:
        raw = path.read_bytes()
        assert raw.endswith(b"\n\n") and not raw.endswith(b"\n\n\n")
        assert raw.isascii() and b"\r" not in raw


def test_trees_are_projective_and_their_roots_are_no_punctuation() -> None:
    for sentence in SENTENCES:
        heads = [(index, word.head_index or 0) for index, word in enumerate(sentence.words, 1)]
        arcs = [(min(arc), max(arc)) for arc in heads if arc[1]]
        for left, right in arcs:
            crossing = [arc for arc in arcs if left < arc[0] < right < arc[1]]
            assert not crossing, f"{sentence.name}: {left}-{right}"
    roots = [word for _, word in WORDS if word.head_index == 0]
    assert all(word.deprel == "root" and word.upos != "PUNCT" for word in roots)


def test_columns() -> None:
    rows = [line.split("\t") for line in TEXT.splitlines() if re.match(r"\d+\t", line)]
    assert len(rows) == len(WORDS)
    for _, _, lemma, _, xpos, _, _, deprel, deps, misc in rows:
        assert "_" not in (lemma, xpos) and deps == "_"
        assert re.fullmatch(r"[a-z]+(:[a-z]+)?", deprel) and relation(deprel) in RELATIONS.split()
        assert re.fullmatch(MISC, misc), misc
    for _, word in WORDS:
        names = [feature.partition("=")[0] for feature in (word.feats or "").split("|")]
        assert names == sorted(set(names), key=str.lower), word.feats
        assert re.fullmatch(r"(\|?[A-Z][A-Za-z]*=[A-Z0-9][A-Za-z0-9]*)*", word.feats or "")


def test_functions_have_their_tags() -> None:
    for sentence, word in WORDS:
        function, feats = relation(word.deprel), word.feats or ""
        head = sentence.words[word.head_index - 1] if word.head_index else word
        if function in TAGS_OF_FUNCTIONS and "ExtPos=" not in feats:
            assert word.upos in TAGS_OF_FUNCTIONS[function], f"{word.form} {word.upos}"
        if word.upos == "PUNCT":
            assert word.deprel == "punct" and not children(sentence, word)
        if word.upos == "AUX":
            assert function in {"aux", "cop"}
        if word.deprel == "compound:prt":
            assert (word.upos, word.xpos, head.upos) == ("ADP", "RP", "VERB")
        if word.deprel in {"nsubj:pass", "aux:pass", "obl:agent"}:
            assert "Voice=Pass" in (head.feats or "")
        if word.upos == "VERB":
            assert "VerbForm=" in feats
        if word.deprel == "conj" or function in {"flat", "fixed", "appos"}:
            assert (word.head_index or 0) < index_of(sentence, word)


def test_multiword_tokens() -> None:
    rest = "(_\t){7}(_|SpaceAfter=No)"
    assert re.findall(rf"\n\d+-\d+\t\S+\t(?!{rest}\n).*", TEXT) == []
    for sentence in SENTENCES:
        for start, words in groupby(sentence.words, lambda word: word.token_start):
            parts = list(words)
            assert not start or "".join(word.form for word in parts) == parts[0].surface
    for sentence, word in WORDS:
        if word.form in {"'s", "'", "n't", "'ll", "'ve", "'m", "'re", "'d"}:
            is_inside = word.token_start and word.token_start < index_of(sentence, word)
            assert is_inside or word.upos == "PUNCT", f"{sentence.name}: {word.form}"


def test_mentions_have_one_head_and_no_punctuation_at_their_ends() -> None:
    for sentence in SENTENCES:
        spans = [(mention.first, mention.last) for mention in sentence.mentions]
        assert len(spans) == len(set(spans))
        for mention in sentence.mentions:
            span = range(mention.first, mention.last + 1)
            outside = [at for at in span if sentence.words[at - 1].head_index not in span]
            assert outside == [mention.head] and mention.head_rule == "head"
            assert sentence.words[mention.first - 1].upos != "PUNCT"
            assert sentence.words[mention.last - 1].upos != "PUNCT"
            assert all(last in span for first, last in spans if first in span[1:]), "they cross"


def test_entities_are_new_once_and_have_one_type_and_document() -> None:
    entities: dict[str, tuple[str, int]] = {}
    brackets = re.findall(r"newdoc id|\((e[1-9][0-9]*)-([a-z]+)-\d+-(new|giv)\b", TEXT)
    documents = 0
    for entity, type, status in brackets:
        documents += not entity
        if entity:
            assert status == ("giv" if entity in entities else "new"), entity
            assert entities.setdefault(entity, (type, documents)) == (type, documents)
    assert sum(bool(entity) for entity, _, _ in brackets) == TEXT.count("-new") + TEXT.count("-giv")
    assert " ".join(sorted({type for type, _ in entities.values()})) == ENTITY_TYPES


def test_pronouns_that_refer_are_mentions() -> None:
    for sentence in SENTENCES:
        heads = {mention.head for mention in sentence.mentions}
        for index, word in enumerate(sentence.words, 1):
            if word.upos == "PRON" and "PronType=Prs" in (word.feats or ""):
                assert (word.deprel == "expl") != (index in heads), word.form


def test_every_document_has_chains() -> None:
    sizes, nested = Counter[tuple[str, str]](), Counter[str]()
    name = ""
    for sentence in SENTENCES:
        name = sentence.document.name if sentence.document else name
        sizes.update((name, mention.entity) for mention in sentence.mentions)
        nested[name] += sum(
            inner != outer and outer.first <= inner.first and inner.last <= outer.last
            for inner in sentence.mentions
            for outer in sentence.mentions
        )
    for start in STARTS:
        counts = [size for (document, _), size in sizes.items() if document == start.name]
        assert sum(size >= 2 for size in counts) >= 3, start.name
        assert counts.count(1) >= 2 and nested[start.name] >= 1, start.name


SUPPLY = """
    obj 60 iobj 6 nsubj:pass 20 aux:pass 20 obl:agent 8 compound:prt 25 acl:relcl 25 conj 40 cc 35
    ccomp 15 xcomp 10 csubj 1 advcl 12 acl 2 aux 35 cop 25 mark 20 nmod 15 nmod:poss 50 appos 4
    amod 25 nummod 12 obl 50 obl:unmarked 8 compound 8 flat 4 fixed 4 expl 2 vocative 3
    discourse 5 parataxis 1
"""
"""The relations, each with how many words have it at least."""


def test_relations_are_in_good_supply() -> None:
    relations = Counter(word.deprel for _, word in WORDS)
    for deprel, least in re.findall(r"(\S+) (\d+)", SUPPLY):
        assert relations[deprel] >= int(least), deprel


def test_possessives_and_contractions_are_in_good_supply() -> None:
    possessors = [word for sentence, word in WORDS if is_possessor(sentence, word)]
    assert len(possessors) >= 20
    assert sum(word.xpos == "PRP$" for _, word in WORDS) >= 20
    assert sum(word.form == "n't" and word.lemma == "not" for _, word in WORDS) >= 12
    assert len(re.findall(r"\n\d+-\d+\t", TEXT)) >= 45
    assert TEXT.count("# newpar") >= 25
    assert sum("speaker" in sentence.metadata for sentence in SENTENCES) >= 20


def relation(deprel: str | None) -> str:
    return (deprel or "").partition(":")[0]


def index_of(sentence: Sentence, word: Word) -> int:
    return next(index for index, other in enumerate(sentence.words, 1) if other is word)


def children(sentence: Sentence, word: Word) -> list[Word]:
    return [other for other in sentence.words if other.head_index == index_of(sentence, word)]


def is_possessor(sentence: Sentence, word: Word) -> bool:
    return word.deprel == "nmod:poss" and any(
        child.xpos == "POS" and child.deprel == "case"
        for child in children(sentence, word)
        if index_of(sentence, child) > index_of(sentence, word)
    )
