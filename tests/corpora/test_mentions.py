"""The head word of a mention and its kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import oracle_coreference
import pytest
from corpus_text import read_problem, read_sentence, read_sentences

from attnbank.ingest.corpora.document import Constituent, Word
from attnbank.ingest.corpora.formats.conll2012 import read_conll2012
from attnbank.ingest.corpora.mentions import (
    EntitySpan,
    Phrases,
    head_of,
    kind_of,
    mention_of,
    mentions_of,
)


def plain(text: str) -> list[Word]:
    return [Word(form) for form in text.split()]


def tree(text: str, heads: list[int]) -> list[Word]:
    return [replace(word, head_index=h) for word, h in zip(plain(text), heads, strict=True)]


def test_what_the_source_names_goes_before_the_tree() -> None:
    """But the minspan only where there is none: of several tops it names the last."""
    words = tree("the mayor of the town slept", [2, 6, 5, 5, 2, 0])
    assert head_of(words, [1, 2, 3, 4, 5], [5], "head") == (5, "head")
    assert head_of(words, [1, 2, 3, 4, 5], [5], "minspan") == (2, "tree")
    assert head_of(words, [1, 2, 3, 4, 5]) == (2, "tree")
    assert head_of(words, [4, 5]) == (5, "tree")
    assert head_of(words, [6]) == (6, "tree")
    assert head_of(words, [1, 2, 3, 4, 5], [4, 5], "head") == (5, "head")


def test_the_head_of_a_file_is_that_of_its_field() -> None:
    """The field decides in the whole way from a file to a mention, its kind included."""
    rows = (
        "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\tEntity=(e1-person-3\n"
        "2\tauthor\tauthor\tNOUN\t_\t_\t4\tnsubj\t_\t_\n"
        "3\tWoolf\tWoolf\tPROPN\t_\t_\t2\tappos\t_\tEntity=e1)\n"
        "4\twrote\twrite\tVERB\t_\t_\t0\troot\t_\t_\n"
    )
    heads = {}
    for declared in ("eid-etype-head-other", "eid-etype-minspan-other", "eid-etype-other-head"):
        (mention,) = read_sentence(f"# global.Entity = {declared}\n{rows}\n").mentions
        heads[declared] = (mention.head, mention.head_rule, mention.kind)
    assert heads == {
        "eid-etype-head-other": (3, "head", "proper"),
        "eid-etype-minspan-other": (2, "tree", "nominal"),
        "eid-etype-other-head": (2, "tree", "nominal"),
    }


@pytest.mark.parametrize(
    ("text", "head"),
    [  # the words whose heads are outside, each with its tag and its relation
        ("bias/NOUN/obj in the workplace/NOUN/obl", "bias"),
        ("Melvin/PROPN/nsubj Dobson arriving/VERB/acl", "Melvin"),
        ("one prior study/NOUN/obj ,/PUNCT/punct however/ADV/advmod ,/PUNCT/punct", "study"),
        ("New/PROPN/compound England town/NOUN/compound", "town"),
        ("about/ADV/advmod twenty - four/NUM/reparandum", "four"),
        ("the/DET/det anti-establishment/ADJ/amod", "anti-establishment"),
        ("-/PUNCT/punct '/PUNCT/punct", "'"),
        ("one/NUM/obl of our -/PUNCT/punct", "one"),
    ],
)
def test_of_several_tops_the_one_that_it_is_about(text: str, head: str) -> None:
    words, above = [], text.count(" ") + 2
    for tagged in text.split():
        form, upos, deprel = [*tagged.split("/"), "X", "dep"][:3]
        words.append(Word(form, upos=upos, deprel=deprel, head_index=above if "/" in tagged else 1))
    words.append(Word("said", upos="VERB", head_index=0, deprel="root"))
    index, rule = head_of(words, range(1, above))
    assert (words[index - 1].form, rule) == (head, "tree")


def test_a_span_is_one_mention_of_an_entity() -> None:
    """As scorers count: the same words of another entity, or other words of it, are others."""
    rows = ["she  PRP  -  (7)|(7)|(8)", "saw  VBD  -  -", "her  PRP$  -  (9|(7)", "dog  NN  -  9)"]
    text = "".join(f"d  0  {at}  {row}\n" for at, row in enumerate(rows))
    text = f"#begin document (d);\n{text}\n#end document\n"
    read = read_sentence(text, read_conll2012)
    assert [(mention.entity, mention.first, mention.last) for mention in read.mentions] == [
        ("7", 1, 1), ("8", 1, 1), ("9", 3, 4), ("7", 3, 3)
    ]  # fmt: skip
    (departure,) = read.departures
    assert departure.id == "repeated-mention"
    assert departure.fact == "entity 7 has word 1 for a mention more than once"
    assert read_problem(text, read_conll2012, strict=True).id == "repeated-mention"


def test_the_gap_of_a_discontinuous_mention_is_outside() -> None:
    words = tree("a b c d", [2, 0, 2, 3])
    assert head_of(words, [1, 3, 4]) == (1, "tree")
    assert head_of(words, [1, 2, 3, 4]) == (2, "tree")


def test_without_a_tree_the_first_named_word() -> None:
    assert head_of(plain("the mayor of town"), [1, 2, 3, 4], [4], "minspan") == (4, "minspan")
    assert head_of(plain("the mayor of town"), [1, 2, 3, 4], [2, 4], "minspan") == (2, "minspan")


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("the old mayor", "mayor"),
        ("the mayor of the town", "mayor"),
        ("the woman who sang", "woman"),
        ("Ann Lee , the mayor", "Lee"),
        ("that of the town", "that"),
        ("who", "who"),
        ("the mayor 's", "mayor"),
        ("the king 's old hat", "hat"),
        ("a fine day .", "day"),
        (", .", ","),
        ("the mayor -LRB- retired -RRB-", "mayor"),
        ("inside the house", "house"),
    ],
)
def test_without_either_the_surface(text: str, head: str) -> None:
    words = plain(text)
    index, rule = head_of(words, range(1, len(words) + 1))
    assert (words[index - 1].form, rule) == (head, "surface")


@pytest.mark.parametrize(
    ("word", "count", "kind"),
    [
        (Word("she", upos="PRON", xpos="NN"), 1, "pronoun"),
        (Word("those", upos="PRON"), 3, "pronoun"),
        (Word("this", upos="DET"), 1, "pronoun"),
        (Word("this", upos="DET"), 2, "nominal"),
        (Word("our", upos="DET", feats="Number=Plur|Poss=Yes"), 2, "pronoun"),
        (Word("Ann", upos="PROPN"), 1, "proper"),
        (Word("Ann", upos="NOUN", xpos="NNP"), 1, "nominal"),
        (Word("she", xpos="PRP"), 1, "pronoun"),
        (Word("her", xpos="PRP$"), 1, "pronoun"),
        (Word("who", xpos="WP"), 1, "pronoun"),
        (Word("this", xpos="DT"), 1, "pronoun"),
        (Word("this", xpos="DT"), 2, "nominal"),
        (Word("Lees", xpos="NNPS"), 2, "proper"),
        (Word("hats", xpos="NNS"), 2, "nominal"),
    ],
)
def test_kind_by_tag(word: Word, count: int, kind: str) -> None:
    words = [word, *plain("x y")]
    assert kind_of(words, range(1, count + 1), 1) == (kind, "tag")


@pytest.mark.parametrize(
    ("text", "span", "kind"),
    [
        ("then She left", [2], "pronoun"),
        ("something odd", [1, 2], "pronoun"),  # its head is the first word
        ("in the US", [3], "proper"),
        ("give us bread", [2], "pronoun"),
        ("then Ann left", [2], "proper"),
        ("the mayor left", [1, 2], "nominal"),
        ("Dogs bark", [1], "nominal"),  # the capital of a first word says nothing
        ("THE OLD MAYOR", [1, 2, 3], "nominal"),  # nor do capitals throughout
        ("in 1984", [2], "nominal"),
    ],
)
def test_kind_by_form(text: str, span: list[int], kind: str) -> None:
    head = 1 if text.startswith("something") else span[-1]
    assert kind_of(plain(text), span, head) == (kind, "form")


def test_a_mention() -> None:
    words = tree("the mayor slept", [2, 3, 0])
    mention = mention_of(
        words, EntitySpan("e1", (1, 2), (2,), "person", "Ann_Lee", head_field="head")
    )
    assert (mention.entity, mention.first, mention.last, mention.head) == ("e1", 1, 2, 2)
    assert (mention.head_rule, mention.kind, mention.kind_rule) == ("head", "nominal", "form")
    assert (mention.type, mention.parts, mention.identity) == ("person", 1, "Ann_Lee")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gum-dev", "gum-train"])
def test_mentions_of_gum(corpora: Path, name: str) -> None:
    """Against another reading of the file."""
    slow = oracle_coreference.conllu([corpora / f"{name}.conllu"])
    read = []
    before = -1  # the words of earlier sentences, and the index of a first word is 1
    for sentence in read_sentences((corpora / f"{name}.conllu").read_bytes()):
        for mention in sentence.mentions:
            assert mention.head_rule == "tree"
            places = (before + at for at in (mention.first, mention.last, mention.head))
            read.append((*places, mention.kind, mention.entity))
        before += len(sentence.words)
    assert sorted(read) == sorted(
        (mention.first, mention.last, mention.head, mention.kind, mention.entity)
        for mention in slow.mentions
    )
    assert len(read) > 1000


def hide(line: bytes, columns: set[int]) -> bytes:
    cells = line.split(b"\t")
    return b"\t".join(b"_" if at in columns else cell for at, cell in enumerate(cells))


@pytest.mark.slow
def test_rules_agree_mostly_in_gum(corpora: Path) -> None:
    """The shares that the docstrings of head_of and kind_of tell."""
    lines = (corpora / "gum-train.conllu").read_bytes().splitlines(keepends=True)
    trees, without_trees, bare = (
        read_sentences(b"".join(hide(line, columns) for line in lines))
        for columns in (set[int](), {6, 7}, {2, 3, 4, 5, 6, 7})
    )
    minspan, surface, kinds = [0, 0], [0, 0], [0, 0]  # wrong and right
    several = 0
    for gold, no_tree, forms in zip(trees, without_trees, bare, strict=True):
        for mention, by_minspan, by_form in zip(
            gold.mentions, no_tree.mentions, forms.mentions, strict=True
        ):
            span = range(mention.first, mention.last + 1)
            several += sum(gold.words[at - 1].head_index not in span for at in span) > 1
            head, rule = head_of(forms.words, span)
            assert (rule, by_minspan.head_rule, by_form.kind_rule) == ("surface", "minspan", "form")
            minspan[by_minspan.head == mention.head] += 1
            if len(span) > 1:
                surface[head == mention.head] += 1
            kinds[kind_of(forms.words, span, head)[0] == mention.kind] += 1
    shares = [round(100 * right / (wrong + right)) for wrong, right in (minspan, surface, kinds)]
    assert (several, shares) == (173, [94, 83, 96])


PARSED = (
    ("The/DT book/NN of/IN the/DT boys/NNS", "NP:1-5 NP:1-2 PP:3-5 NP:4-5", 2),
    ("Mary/NNP 's/POS big/JJ dog/NN", "NP:1-4 NP:1-2", 4),
    ("the/DT man/NN who/WP saw/VBD us/PRP", "NP:1-5 NP:1-2 SBAR:3-5 VP:4-5", 2),
    ("the/DT poor/JJ", "NP:1-2", 2),
    ("De/LID[bep] vrouw/N[soort,ev] van/VZ[init] de/LID[bep] dokter/N[soort,ev]",
     "NP:1-5 PP:3-5 NP:4-5", 2),
    ("burgemeester/N(soort,ev) van/SPEC(deeleigen) der/SPEC(deeleigen) Laan/SPEC(deeleigen)",
     "NP:1-4 MWU:2-4", 1),
    ("中国/NR 的/DEG 新/JJ 政府/NN", "NP:1-4 DNP:1-2 NP:3-4", 4),
    ("上海/NR 浦东/NR 开发/NN 区/NN", "NP:1-4 NP:1-2 NP:3-4", 4),
    ("ra}iys/NOUN+CASE_DEF_NOM Al/DET+NOUN+CASE_DEF_GEN jumhuwr/DET+NOUN", "NP:1-3 NP:2-3", 1),
)  # fmt: skip
"""Words with tags, the phrases of a parse, and the head of the whole."""


@pytest.mark.parametrize(("tagged", "parse", "head"), PARSED)
def test_the_head_of_a_mention_by_the_phrases_of_a_parse(
    tagged: str, parse: str, head: int
) -> None:
    pairs = [word.rsplit("/", 1) for word in tagged.split()]
    words = [Word(form, xpos=tag) for form, tag in pairs]
    constituents = []
    for phrase in parse.split():
        label, extent = phrase.split(":")
        first, last = map(int, extent.split("-"))
        constituents.append(Constituent(label, first, last, None))
    span = range(1, len(words) + 1)
    assert head_of(words, span, phrases=Phrases(constituents)) == (head, "phrase")
    assert head_of(words, span)[1] == "surface"


def test_prepositions_of_other_languages_are_told_by_their_tags() -> None:
    dutch = [
        Word("de", xpos="LID[bep]"), Word("over", xpos="ADJ[nom]"), Word("man", xpos="N[soort,ev]"),
        Word("uit", xpos="VZ[init]"), Word("Gent", xpos="N[eigen,ev]"),
    ]  # fmt: skip
    assert head_of(dutch, range(1, 6)) == (3, "surface")
    universal = [replace(word, xpos=None, upos="X") for word in dutch]
    universal[3] = replace(universal[3], upos="ADP")
    assert head_of(universal, range(1, 6)) == (3, "surface")
    assert head_of(plain("the man over there"), range(1, 5)) == (2, "surface")


KINDS = {
    "pronoun": "PRP PRP$ WP PN VNW[pers,pron] VNW(bez,det) PRON_3MS POSS_PRON_3MP DEM_PRON_F",
    "proper": "NNP NNPS NR N[eigen,ev] SPEC(deeleigen) NOUN_PROP DET+NOUN_PROP+CASE_DEF_GEN",
    "nominal": "NN NNS NT N(soort,mv) WW[pv] VV NOUN+NSUFF_FEM_SG DET+ADJ IN CD XX",
}


def test_tags_of_the_sets_that_are_known_tell_the_kind() -> None:
    for kind, tags in KINDS.items():
        for tag in tags.split():
            assert kind_of([Word("x", xpos=tag)], [1], 1) == (kind, "tag"), tag
    for tag in ("PPER", "NE", "noun", "VNW", "N[", "Nombre"):
        assert kind_of([Word("x", xpos=tag)], [1], 1) == ("nominal", "unknown"), tag
    assert kind_of([Word("dit", xpos="LID[bep]"), Word("x")], [1], 1) == ("pronoun", "tag")


def test_a_deep_parse_takes_no_time() -> None:
    """Of mentions in 1,000 nested phrases, each is looked at to a bounded depth."""
    words = [Word("a", xpos="IN")] * 1000
    constituents = [Constituent("NP", 1, last, None) for last in range(2, 1001)]
    spans = [EntitySpan(str(last), tuple(range(1, last + 1))) for last in range(800, 804)]
    mentions, _ = mentions_of(words, spans, 1, constituents)
    assert [mention.head for mention in mentions] == [last - 100 for last in range(800, 804)]
