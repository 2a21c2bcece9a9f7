"""CoNLL-U with its multiword tokens and its mentions, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_PUNCTUATION = ("punct", "p")
_MODIFIERS = ("advmod", "amod", "case", "cc", "compound", "det", "mark", "nummod", "punct")


@dataclass
class Word:
    """A syntactic word. `governor` is the place of its head: None for a root, -1 without a tree."""

    place: int
    sentence: int
    index: int
    form: str
    upos: str | None
    xpos: str | None
    feats: dict[str, str]
    governor: int | None
    relation: str | None

    @property
    def folded(self) -> str | None:
        """Its relation without the subtype."""
        return None if self.relation is None else self.relation.split(":")[0]

    @property
    def is_punctuation(self) -> bool:
        return self.folded in _PUNCTUATION


@dataclass
class Unit:
    """Words that are read as one text; `space_before` is of the text in its own sentence."""

    words: list[int]
    text: str
    space_before: bool


@dataclass
class Token:
    """A multiword token of the source: the places of its words, and whether they spell it."""

    words: list[int]
    form: str
    is_spelled: bool


@dataclass
class Mention:
    document: int
    entity: str
    first: int
    last: int
    head: int
    kind: str

    @property
    def key(self) -> tuple[int, int, str]:
        return self.first, self.last, self.entity


@dataclass
class Corpus:
    """All words in order; the units and the multiword tokens of each sentence."""

    words: list[Word] = field(default_factory=list)
    sentences: list[list[Unit]] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)  # of each sentence
    clusters: list[int] = field(default_factory=list)  # from 1: of a marked document, or a sentence
    files: list[str] = field(default_factory=list)  # of each sentence
    tokens: list[list[Token]] = field(default_factory=list)
    space_after: list[bool] = field(default_factory=list)  # of each sentence
    mentions: list[Mention] = field(default_factory=list)
    empty_nodes: int = 0

    def units_of(self, document: int) -> list[tuple[Unit, bool]]:
        """The units of a document, and whether white space stands before each of them."""
        found: list[tuple[Unit, bool]] = []
        space = False  # nothing stands before the first
        for own, units, after in zip(self.documents, self.sentences, self.space_after, strict=True):
            if own == document:
                for at, unit in enumerate(units):
                    found.append((unit, unit.space_before if at else space))
                space = after
        return found


def read(source: Path, *, written: bool) -> Corpus:
    """Read a file or the files of a folder; `written`: tokens not spelled by parts are units."""
    corpus = Corpus()
    for path in sorted(source.iterdir()) if source.is_dir() else [source]:
        _file(corpus, path, written=written)
    return corpus


def _file(corpus: Corpus, path: Path, *, written: bool) -> None:
    document = corpus.documents[-1] + 1 if corpus.documents else 0
    begins, is_marked = len(corpus.sentences), False
    for block in re.split(r"\n(?:[ \t]*\n)+", path.read_text(encoding="utf-8").strip("\n")):
        lines = block.split("\n")
        is_new = any(line.startswith("# newdoc") for line in lines)
        is_marked = is_marked or is_new
        document += is_new and len(corpus.sentences) > begins
        rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
        if rows:
            corpus.clusters.append(
                (corpus.clusters[-1] if corpus.clusters else 0) + (is_new or not is_marked)
            )
            corpus.documents.append(document)
            corpus.files.append(path.name)
            _sentence(corpus, rows, written=written)


def _sentence(corpus: Corpus, rows: list[list[str]], *, written: bool) -> None:
    start = len(corpus.words)
    number = len(corpus.sentences)
    after: list[bool] = []  # of each word, whether white space follows it
    ranges: list[tuple[int, int, str, bool]] = []  # from 0, the end excluded
    entities: list[str] = []
    for row in rows:
        space = "SpaceAfter=No" not in row[9].split("|")
        if "-" in row[0]:
            one, other = row[0].split("-")
            ranges.append((int(one) - 1, int(other), row[1], space))
        elif "." in row[0]:
            corpus.empty_nodes += 1
        else:
            place, index = len(corpus.words), int(row[0])
            assert place == start + index - 1
            governor = -1 if row[6] == "_" else None if row[6] == "0" else start + int(row[6]) - 1
            feats = dict(each.split("=", 1) for each in row[5].split("|") if "=" in each)
            upos, xpos, relation = (_told(row[column]) for column in (3, 4, 7))
            corpus.words.append(
                Word(place, number, index, row[1], upos, xpos, feats, governor, relation)
            )
            after.append(space)
            said = [each[7:] for each in row[9].split("|") if each.startswith("Entity=")]
            entities.append("".join(said))
    words = corpus.words[start:]
    tokens = []
    whole: dict[int, Token] = {}  # units that begin at a word
    for first, end, form, space in ranges:
        is_spelled = "".join(word.form for word in words[first:end]) == form
        token = Token([start + at for at in range(first, end)], form, is_spelled)
        tokens.append(token)
        for at in range(first, end):
            # The parts of what they do not spell are words of their own.
            after[at] = space if at == end - 1 else not (written or is_spelled)
        if written and not is_spelled:
            whole[first] = token
    units: list[Unit] = []
    at = 0
    space_before = False  # nothing stands before a sentence that is an input
    while at < len(words):
        if at in whole:
            units.append(Unit(whole[at].words, whole[at].form, space_before))
        else:
            units.append(Unit([start + at], words[at].form, space_before))
        at += len(units[-1].words)
        space_before = after[at - 1]
    corpus.space_after.append(space_before)
    corpus.sentences.append(units)
    corpus.tokens.append(tokens)
    _mentions(corpus, start, entities)


def lowered(text: str) -> str:
    """A text in lower case, each character for itself: of the Turkish I with a dot an i."""
    return "".join(each.lower()[0] for each in text)


def _told(cell: str) -> str | None:
    return None if cell == "_" else cell


def _mentions(corpus: Corpus, start: int, entities: list[str]) -> None:
    """The mentions of a sentence from what its words say in `Entity=`."""
    opened: dict[str, list[int]] = {}
    spans = []
    for at, value in enumerate(entities):
        for part in re.findall(r"\([^()]*\)?|[^()]+\)", value):
            said = part.strip("()").split("-")
            if part.startswith("("):
                opened.setdefault(said[0], []).append(at)
            if part.endswith(")"):
                spans.append((opened[said[0]].pop(), at, said[0]))
    for first, last, entity in spans:
        places = [start + each for each in range(first, last + 1)]
        tops = [place for place in places if corpus.words[place].governor not in places]
        head = _chosen([corpus.words[place] for place in tops])
        kind = _kind(corpus.words[head], alone=first == last)
        corpus.mentions.append(
            Mention(corpus.documents[-1], entity, start + first, start + last, head, kind)
        )


def _chosen(tops: list[Word]) -> int:
    """Of words whose heads are all outside of a mention, the place of the one that it is about."""
    content = [word for word in tops if word.upos in ("NOUN", "PROPN", "PRON", "VERB")]
    likely = content or [word for word in tops if word.upos != "PUNCT"] or tops
    own = [word for word in likely if word.folded not in _MODIFIERS]
    return (own[0] if own else likely[-1]).place


def _kind(word: Word, *, alone: bool) -> str:
    if word.upos == "PROPN":
        return "proper"
    is_possessive = word.feats.get("Poss") == "Yes"
    if word.upos == "PRON" or (word.upos == "DET" and (alone or is_possessive)):
        return "pronoun"
    return "nominal"
