"""Antecedent selection the slow, obvious way: its own reading of files, loops over mentions.

It was written apart from the package. It shares only the closed word lists by which mentions
without tags get their head and kind, and takes from a bank only which words went through the model
together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bounds
import numpy as np
import oracle_reference as slow

from attnbank.ingest.corpora.mentions import PREPOSITIONS, RELATIVES, pronouns

Taking = tuple[str, tuple[int, int, str], int, int]
"""What a head chooses among (mentions or words), the key of a mention, layer and head."""


def _forms(text: str) -> set[str]:
    return set(text.split())


FIRST = _forms("i me my mine myself we us our ours ourselves 's \u2019s")
SECOND = _forms("you your yours yourself yourselves thou thee thy thine thyself ye")
MALE = _forms("he him his himself")
FEMALE = _forms("she her hers herself")
NEUTRAL = _forms("it its itself")
THEY = _forms("they them their theirs themselves themself em 'em \u2019em")
OTHER = {"this", "that", "another", "one", "one's", "one\u2019s", "oneself"}
INDEFINITE = {a + b for a in ("every", "some", "any", "no") for b in ("body", "thing")}
INDEFINITE |= {a + "one" for a in ("every", "some", "any")}
SEVERAL = {"these", "those", "both"}
PLURAL = (
    {"we", "us", "our", "ours", "ourselves", "'s", "\u2019s", "yourselves", "ye"} | THEY | SEVERAL
)
UNNUMBERED = {"you", "your", "yours"}
THIRD = MALE | FEMALE | NEUTRAL | THEY | OTHER | INDEFINITE | SEVERAL


@dataclass
class Word:
    form: str
    space_before: bool
    upos: str | None = None
    feats: dict[str, str] = field(default_factory=dict)
    parent: int | None = None  # place in the corpus; -1 for a root; None without trees
    relation: str | None = None


@dataclass(frozen=True)
class Mention:
    document: int
    entity: str
    first: int  # places in the corpus
    last: int
    head: int
    kind: str

    @property
    def key(self) -> tuple[int, int, str]:
        return self.first, self.last, self.entity


@dataclass
class Corpus:
    words: list[Word] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    causal: bool = False  # read by a model that sees only what stands before


@dataclass
class Judged:
    """A mention with an antecedent in its input, and the earlier mentions, nearest first."""

    mention: Mention
    candidates: list[Mention]

    @property
    def antecedents(self) -> list[Mention]:
        return [each for each in self.candidates if each.entity == self.mention.entity]

    @property
    def right_words(self) -> set[int]:
        return {each.head for each in self.antecedents}


def conllu(paths: Iterable[Path]) -> Corpus:
    """Words and mentions of CoNLL-U files with `Entity=`."""
    corpus = Corpus()
    document = -1
    for path in paths:
        fields = ["eid", "etype", "head", "other"]
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = block.splitlines()
            document += any(line.startswith("# newdoc") for line in lines)
            for line in lines:
                if line.startswith("# global.Entity = "):
                    fields = line.removeprefix("# global.Entity = ").split("-")
            rows = [line.split("\t") for line in lines if line and line[0] != "#"]
            if rows:
                _conllu_sentence(corpus, document, rows, fields)
    return corpus


def _conllu_sentence(
    corpus: Corpus, document: int, rows: list[list[str]], fields: list[str]
) -> None:
    start = len(corpus.words)
    open_: dict[str, list[tuple[int, dict[str, str]]]] = {}
    spans: list[tuple[int, int, str, dict[str, str]]] = []
    space, inside_until, space_after_range = True, 0, True
    for row in rows:
        if "-" in row[0]:
            inside_until = int(row[0].split("-")[1])
            space_after_range = "SpaceAfter=No" not in row[9]
            continue
        if "." in row[0]:  # an empty node
            assert "Entity=" not in row[9]
            continue
        place = start + int(row[0]) - 1
        feats = dict(each.split("=") for each in row[5].split("|") if each != "_")
        parent = start + int(row[6]) - 1 if int(row[6]) else -1
        corpus.words.append(Word(row[1], space, row[3], feats, parent, row[7]))
        if int(row[0]) < inside_until:
            space = False
        elif int(row[0]) == inside_until:
            space = space_after_range
        else:
            space = "SpaceAfter=No" not in row[9].split("|")
        for value in re.findall(r"(?:^|\|)Entity=([^|]*)", row[9]):
            for part in re.findall(r"\([^()]*\)|\([^()]*|[^()]+\)", value):
                values = part.strip("()").split("-")
                entity = values[0]
                assert "[" not in entity
                if part.startswith("("):
                    said = dict(zip(fields, values, strict=False))
                    open_.setdefault(entity, []).append((place, said))
                if part.endswith(")"):
                    first, said = open_[entity].pop()
                    spans.append((first, place, entity, said))
    for first, last, entity, said in spans:
        named = said.get("head") or ""
        among = [first + int(each) - 1 for each in named.split(",") if each.isdigit()]
        among = among or list(range(first, last + 1))
        tops = [at for at in among if _parent(corpus, at) not in among]
        head = _chosen(tops, [(corpus.words[at].upos, corpus.words[at].relation) for at in tops])
        word = corpus.words[head]
        kind = "nominal"
        if word.upos == "PROPN":
            kind = "proper"
        elif word.upos == "PRON" or (
            word.upos == "DET" and (first == last or word.feats.get("Poss") == "Yes")
        ):
            kind = "pronoun"
        corpus.mentions.append(Mention(document, entity, first, last, head, kind))


def _parent(corpus: Corpus, at: int) -> int:
    parent = corpus.words[at].parent
    assert parent is not None
    return parent


def _chosen(tops: list[int], tags: list[tuple[str | None, str | None]]) -> int:
    """Of the words of a mention whose heads are outside, the one that it is about."""
    for is_fit in (
        lambda upos: upos in ("NOUN", "PROPN", "PRON", "VERB"),
        lambda upos: upos != "PUNCT",
        lambda upos: True,
    ):
        fit = [(top, name) for top, (upos, name) in zip(tops, tags, strict=True) if is_fit(upos)]
        for top, name in fit:
            if name is None or name.split(":")[0] not in (
                "advmod", "amod", "case", "cc", "compound", "det", "mark", "nummod", "punct",
            ):  # fmt: skip
                return top
        if fit:
            return fit[-1][0]
    raise AssertionError


def litbank(paths: Iterable[Path]) -> Corpus:
    """Words and mentions of LitBank's files: columns, no tags, no trees."""
    corpus = Corpus()
    for document, path in enumerate(paths):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split("\t") for line in block.splitlines() if line[:1] not in ("#", "")]
            start = len(corpus.words)
            corpus.words += [Word(row[3], True) for row in rows]
            forms = [row[3] for row in rows]
            open_: dict[str, list[int]] = {}
            for at, row in enumerate(rows):
                for part in row[-1].strip().split("|"):
                    entity = part.strip("()")
                    if part.startswith("("):
                        open_.setdefault(entity, []).append(at)
                    if part.endswith(")"):
                        first = open_[entity].pop()
                        head = _surface_head(forms, first, at)
                        kind = _surface_kind(forms, head)
                        corpus.mentions.append(
                            Mention(document, entity, start + first, start + at, start + head, kind)
                        )
    return corpus


def _surface_head(forms: list[str], first: int, last: int) -> int:
    stops = PREPOSITIONS | RELATIVES | {",", ";", ":", "(", "-lrb-", "--", "\u2013", "\u2014"}
    end = first
    while end < last and forms[end + 1].lower() not in stops:
        end += 1
    while end > first and (
        forms[end] in ("'s", "\u2019s") or not any(letter.isalnum() for letter in forms[end])
    ):
        end -= 1
    return end


def _surface_kind(forms: list[str], head: int) -> str:
    form = forms[head]
    if form.lower() in pronouns() and form != "US":
        return "pronoun"
    shouted = all(each.upper() == each for each in forms if each[0].isalpha())
    return "proper" if head and form[0].isupper() and not shouted else "nominal"


def inputs(connection: Any) -> list[list[list[int]]]:
    """The batches of a bank's only run: of each input, the places of its words in the corpus."""
    rows = connection.execute(
        "select sequence.batch, sequence.id, position.word - (select min(word.id) from word)"
        " from sequence inner join position on position.sequence = sequence.id"
        " where position.kind = 'word' order by sequence.id, position.position"
    ).fetchall()
    batches: dict[int, dict[int, list[int]]] = {}
    for batch, sequence, word in rows:
        batches.setdefault(batch, {}).setdefault(sequence, []).append(word)
    return [list(batch.values()) for _, batch in sorted(batches.items())]


def judged(corpus: Corpus, words: Sequence[int], singletons: bool = True) -> list[Judged]:
    """The mentions with an antecedent in one input; `words` are places in the corpus."""
    sizes: dict[tuple[int, str], int] = {}
    for each in corpus.mentions:
        sizes[each.document, each.entity] = sizes.get((each.document, each.entity), 0) + 1
    inside = [each for each in corpus.mentions if each.head in set(words)]
    found = []
    for mention in inside:
        candidates = [
            each
            for each in inside
            if each.first < mention.first
            and each.head != mention.head
            and (each.head < mention.head or not corpus.causal)
            and (singletons or sizes[each.document, each.entity] > 1)
        ]
        candidates.sort(key=lambda each: (each.first, each.last), reverse=True)
        if any(each.entity == mention.entity for each in candidates):
            found.append(Judged(mention, candidates))
    return found


def baselines(corpus: Corpus, each: Judged) -> dict[str, Mention | None]:
    """The mention that each baseline takes, or None."""
    mention, candidates = each.mention, each.candidates
    text = _text(corpus, mention)
    same_text = [c for c in candidates if _text(corpus, c) == text]
    head = corpus.words[mention.head].form.lower()
    same_head = [c for c in candidates if corpus.words[c.head].form.lower() == head]
    agreeing = [c for c in candidates if _agree(_traits(corpus, c), _traits(corpus, mention))]
    sieves = [same_text, same_head, agreeing, candidates]
    return {
        "nearest": candidates[0],
        "head_match": same_head[0] if same_head else None,
        "rule_based": next(sieve[0] for sieve in sieves if sieve),
    }


def _text(corpus: Corpus, mention: Mention) -> list[str]:
    return [word.form.lower() for word in corpus.words[mention.first : mention.last + 1]]


def _agree(one: Sequence[str | None], other: Sequence[str | None]) -> bool:
    return not any(a and b and a != b for a, b in zip(one, other, strict=True))


def _traits(corpus: Corpus, mention: Mention) -> tuple[str | None, str | None, str | None]:
    """Number, gender and person; None if unknown."""
    word = corpus.words[mention.head]
    feats = {} if word.upos in ("VERB", "AUX") else word.feats
    number, gender, person = feats.get("Number"), feats.get("Gender"), feats.get("Person")
    if number == "Ptan":
        number = "Plur"
    if mention.kind != "pronoun":
        return number, gender, "3"
    form = word.form.lower()
    if form in FIRST | SECOND | THIRD:
        if number is None and form not in UNNUMBERED:
            number = "Plur" if form in PLURAL else "Sing"
        if person is None:
            person = "1" if form in FIRST else "2" if form in SECOND else "3"
    for name, forms in (("Masc", MALE), ("Fem", FEMALE), ("Neut", NEUTRAL)):
        if gender is None and form in forms:
            gender = name
    return number, gender, person


def predictions(
    corpus: Corpus,
    batches: Sequence[Sequence[Sequence[int]]],
    tokenizer: Any,
    model: Any,
    *,
    singletons: bool = True,
    byte_level: bool = False,
) -> tuple[dict[Taking, int | None], dict[Taking, set[int]]]:
    """The word that each head takes, by (candidates, key of the mention, layer, head).

    The second value has the words that it may take instead because rounding decides: see
    bounds.NEAR_TIE.
    """
    found: dict[Taking, int | None] = {}
    near: dict[Taking, set[int]] = {}
    for batch in batches:
        texts = [
            slow.Tree(
                [corpus.words[at].form for at in words],
                [bool(place) and corpus.words[at].space_before for place, at in enumerate(words)],
            )
            for words in batch
        ]
        runs = slow._run(texts, tokenizer, model, byte_level)
        for words, (_, groups, maps) in zip(batch, runs, strict=True):
            sought = []
            for each in judged(corpus, words, singletons):
                own = words.index(each.mention.head)
                heads = sorted({words.index(c.head) for c in each.candidates})
                others = [place for place in range(len(words)) if place != own]
                sought.append((each.mention.key, own, {"mentions": heads, "words": others}))
            for layer in range(maps.shape[0]):
                for head in range(maps.shape[1]):
                    weights = slow.fast_word_attention(maps[layer, head], groups, "mean")
                    for mention, own, choices in sought:
                        for name, places in choices.items():
                            at = _largest(weights[own], places)
                            key = (name, mention, layer + 1, head + 1)
                            found[key] = None if at is None else words[at]
                            if at is not None:
                                row = weights[own, places]
                                ties = np.flatnonzero(row >= row.max() * (1 - bounds.NEAR_TIE))
                                if len(ties) > 1:
                                    near[key] = {words[places[each]] for each in ties}
    return found, near


def _largest(row: np.ndarray, places: list[int]) -> int | None:
    at = int(np.argmax(row[places]))  # the first of equals
    return places[at] if row[places[at]] > 0 else None


def counts(
    corpus: Corpus,
    batches: Sequence[Sequence[Sequence[int]]],
    found: dict[Taking, int | None],
    candidates: str,
    singletons: bool = True,
) -> dict[tuple[int, int, str], tuple[int, int]]:
    """(correct, n) of every (layer, head, kind)."""
    right = {
        each.mention.key: (each.mention.kind, each.right_words)
        for batch in batches
        for words in batch
        for each in judged(corpus, words, singletons)
    }
    counted: dict[tuple[int, int, str], tuple[int, int]] = {}
    for (name, key, layer, head), word in found.items():
        if name == candidates:
            kind, words_right = right[key]
            for of in (kind, "all"):
                correct, n = counted.get((layer, head, of), (0, 0))
                counted[layer, head, of] = (correct + (word in words_right), n + 1)
    return counted
