"""CoNLL-U with its multiword tokens, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_PUNCTUATION = ("punct", "p")


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
class Corpus:
    """All words in order; the units and the multiword tokens of each sentence."""

    words: list[Word] = field(default_factory=list)
    sentences: list[list[Unit]] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)  # of each sentence
    clusters: list[int] = field(default_factory=list)  # from 1: of a marked document, or a sentence
    files: list[str] = field(default_factory=list)  # of each sentence
    tokens: list[list[Token]] = field(default_factory=list)
    space_after: list[bool] = field(default_factory=list)  # of each sentence

    def units_of(self, document: int) -> list[tuple[Unit, bool]]:
        """The units of a document, and whether white space stands before each of them."""
        of_document: list[tuple[Unit, bool]] = []
        space = False  # nothing stands before the first
        for own, units, after in zip(self.documents, self.sentences, self.space_after, strict=True):
            if own == document:
                for at, unit in enumerate(units):
                    of_document.append((unit, unit.space_before if at else space))
                space = after
        return of_document


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
    for row in rows:
        space = "SpaceAfter=No" not in row[9].split("|")
        if "-" in row[0]:
            one, other = row[0].split("-")
            ranges.append((int(one) - 1, int(other), row[1], space))
        elif "." not in row[0]:  # that would be an empty node
            place, index = len(corpus.words), int(row[0])
            assert place == start + index - 1
            governor = -1 if row[6] == "_" else None if row[6] == "0" else start + int(row[6]) - 1
            feats = dict(pair.split("=", 1) for pair in row[5].split("|") if "=" in pair)
            upos, xpos, relation = (None if row[at] == "_" else row[at] for at in (3, 4, 7))
            corpus.words.append(
                Word(place, number, index, row[1], upos, xpos, feats, governor, relation)
            )
            after.append(space)
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
