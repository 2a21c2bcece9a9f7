"""Antecedent selection the slow, obvious way: its own reading of files, loops over mentions.

It was written apart from the package: it takes from a bank only which words went through the model
together, and the weights between them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from oracle_maps import maps_of

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
        return [other for other in self.candidates if other.entity == self.mention.entity]

    @property
    def right_words(self) -> set[int]:
        return {mention.head for mention in self.antecedents}


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
        feats = dict(pair.split("=") for pair in row[5].split("|") if pair != "_")
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
                    fields_of = dict(zip(fields, values, strict=False))
                    open_.setdefault(entity, []).append((place, fields_of))
                if part.endswith(")"):
                    first, fields_of = open_[entity].pop()
                    spans.append((first, place, entity, fields_of))
    for first, last, entity, fields_of in spans:
        named = fields_of.get("head") or ""
        among = [first + int(index) - 1 for index in named.split(",") if index.isdigit()]
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


@dataclass
class Input:
    """The words of an input, as places in the corpus, and their maps [L, H, n, n]."""

    words: list[int]
    maps: np.ndarray


def inputs(connection: Any) -> list[Input]:
    """The inputs of a bank's only run, with the weights that it holds."""
    ((zero,),) = connection.execute("select min(id) from word").fetchall()
    read = []
    for (sequence,) in connection.execute("select id from sequence order by id").fetchall():
        places, words = connection.execute(
            "select list(position order by position), list(word - $zero order by position)"
            " from position where sequence = $sequence and kind = 'word'",
            {"zero": zero, "sequence": sequence},
        ).fetchall()[0]
        maps = maps_of(connection, sequence)
        read.append(Input(words, maps[:, :, places][:, :, :, places]))
    return read


def judged(corpus: Corpus, words: Sequence[int], singletons: bool = True) -> list[Judged]:
    """The mentions with an antecedent in one input; `words` are places in the corpus."""
    sizes: dict[tuple[int, str], int] = {}
    for mention in corpus.mentions:
        entity = mention.document, mention.entity
        sizes[entity] = sizes.get(entity, 0) + 1
    inside = [mention for mention in corpus.mentions if mention.head in set(words)]
    rows = []
    for mention in inside:
        candidates = [
            other
            for other in inside
            if other.first < mention.first
            and other.head != mention.head
            and (other.head < mention.head or not corpus.causal)
            and (singletons or sizes[other.document, other.entity] > 1)
        ]
        candidates.sort(key=lambda other: (other.first, other.last), reverse=True)
        if any(other.entity == mention.entity for other in candidates):
            rows.append(Judged(mention, candidates))
    return rows


def baselines(corpus: Corpus, judged: Judged) -> dict[str, Mention | None]:
    """The mention that each baseline takes, or None."""
    mention, candidates = judged.mention, judged.candidates
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
    corpus: Corpus, inputs: Iterable[Input], *, singletons: bool = True
) -> dict[Taking, int | None]:
    """The word that each head takes, the first of equals, or None if it looks at none."""
    taken: dict[Taking, int | None] = {}
    for input in inputs:
        for row in judged(corpus, input.words, singletons):
            own = input.words.index(row.mention.head)
            heads = sorted({input.words.index(other.head) for other in row.candidates})
            others = [place for place in range(len(input.words)) if place != own]
            for name, places in (("mentions", heads), ("words", others)):
                weights = input.maps[:, :, own, places]
                for (layer, head), at in np.ndenumerate(weights.argmax(-1)):
                    word = input.words[places[at]] if weights[layer, head, at] > 0 else None
                    taken[name, row.mention.key, layer + 1, head + 1] = word
    return taken


def counts(
    judged: Mapping[tuple[int, int, str], Judged], taken: Mapping[Taking, int | None], among: str
) -> dict[tuple[int, int, str], tuple[int, int]]:
    """(correct, n) of every (layer, head, kind), of mentions by their key."""
    right: Counter[tuple[int, int, str]] = Counter()
    total: Counter[tuple[int, int, str]] = Counter()
    for (name, key, layer, head), word in taken.items():
        if name == among and key in judged:
            for kind in (judged[key].mention.kind, "all"):
                total[layer, head, kind] += 1
                right[layer, head, kind] += word in judged[key].right_words
    return {key: (right[key], n) for key, n in total.items()}
