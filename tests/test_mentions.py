"""The head word of a mention and its kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attnbank.ingest.conllu import read_conllu
from attnbank.ingest.document import Sentence, Word
from attnbank.ingest.mentions import EntitySpan, head_of, kind_of, mention_of


def plain(text: str) -> list[Word]:
    return [Word(form) for form in text.split()]


def tree(text: str, heads: list[int]) -> list[Word]:
    return [replace(word, head_index=h) for word, h in zip(plain(text), heads, strict=True)]


def test_the_tree_decides_first() -> None:
    words = tree("the mayor of the town slept", [2, 6, 5, 5, 2, 0])
    assert head_of(words, [1, 2, 3, 4, 5], minspan=[5]) == (2, "tree")
    assert head_of(words, [4, 5]) == (5, "tree")
    assert head_of(words, [6]) == (6, "tree")


def test_of_several_tops_the_one_nearest_the_root() -> None:
    # 2 and 3 have their heads outside of the span 2-3: 2 is two arcs from the root, 3 is one.
    words = tree("a b c d", [4, 1, 4, 0])
    assert head_of(words, [2, 3]) == (3, "tree")
    assert head_of(tree("a b c", [3, 3, 0]), [1, 2]) == (1, "tree")


def test_the_gap_of_a_discontinuous_mention_is_outside() -> None:
    words = tree("a b c d", [2, 0, 2, 3])
    assert head_of(words, [1, 3, 4]) == (1, "tree")
    assert head_of(words, [1, 2, 3, 4]) == (2, "tree")


def test_without_a_tree_the_minspan() -> None:
    assert head_of(plain("the mayor of town"), [1, 2, 3, 4], minspan=[4]) == (4, "minspan")
    assert head_of(plain("the mayor of town"), [1, 2, 3, 4], minspan=[2, 4]) == (2, "minspan")


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
    mention = mention_of(words, EntitySpan("e1", (1, 2), (2,), "person", "Ann_Lee"))
    assert (mention.entity, mention.first, mention.last, mention.head) == ("e1", 1, 2, 2)
    assert (mention.head_rule, mention.kind, mention.kind_rule) == ("tree", "nominal", "form")
    assert (mention.type, mention.parts, mention.identity) == ("person", 1, "Ann_Lee")


@pytest.mark.parametrize("name", ["gum-dev", "gum-train"])
def test_heads_in_gum(corpora: Path, name: str) -> None:
    """Compare each head with a search that walks from the root, level by level."""
    checked = 0
    with (corpora / f"{name}.conllu").open("rb") as file:
        for sentence in read_conllu(file):
            assert isinstance(sentence, Sentence)
            below: dict[int, list[int]] = {}
            for index, word in enumerate(sentence.words, start=1):
                assert word.head_index is not None
                below.setdefault(word.head_index, []).append(index)
            for mention in sentence.mentions:
                level = below[0]
                while not [i for i in level if mention.first <= i <= mention.last]:
                    level = [i for parent in level for i in below.get(parent, [])]
                first = min(i for i in level if mention.first <= i <= mention.last)
                assert (mention.head, mention.head_rule) == (first, "tree")
                checked += 1
    assert checked > 1000


def hide(line: bytes, columns: set[int]) -> bytes:
    cells = line.split(b"\t")
    return b"\t".join(b"_" if at in columns else cell for at, cell in enumerate(cells))


def test_rules_agree_mostly_in_gum(corpora: Path) -> None:
    """The shares that the docstrings of head_of and kind_of tell."""
    lines = (corpora / "gum-train.conllu").read_bytes().splitlines(keepends=True)
    trees, without_trees, bare = (
        [s for s in read_conllu(hide(line, columns) for line in lines) if isinstance(s, Sentence)]
        for columns in (set[int](), {6, 7}, {2, 3, 4, 5, 6, 7})
    )
    minspan, surface, kinds = [0, 0], [0, 0], [0, 0]  # wrong and right
    for gold, no_tree, forms in zip(trees, without_trees, bare, strict=True):
        for mention, by_minspan, by_form in zip(
            gold.mentions, no_tree.mentions, forms.mentions, strict=True
        ):
            span = range(mention.first, mention.last + 1)
            head, rule = head_of(forms.words, span)
            assert (rule, by_minspan.head_rule, by_form.kind_rule) == ("surface", "minspan", "form")
            minspan[by_minspan.head == mention.head] += 1
            if len(span) > 1:
                surface[head == mention.head] += 1
            kinds[kind_of(forms.words, span, head)[0] == mention.kind] += 1
    assert [round(100 * right / (wrong + right)) for wrong, right in (minspan, surface, kinds)] == [
        94,
        83,
        96,
    ]
