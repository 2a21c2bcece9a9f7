"""What the readers hand over: sentences of annotated words, in the order of the text.

Indices are 1-based within a sentence, as in CoNLL-U. A reader yields a stream of
`Sentence` and `Problem`, so that a corpus of any length passes through in little memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from attnbank.sql.errors import AttnbankError


@dataclass(frozen=True, slots=True)
class Word:
    """A syntactic word. `None` stands for what the source does not annotate."""

    form: str
    lemma: str | None = None
    upos: str | None = None
    xpos: str | None = None
    feats: str | None = None
    head_index: int | None = None  # 0 is the root
    deprel: str | None = None
    deps: str | None = None  # the enhanced graph, as the file writes it
    space_after: bool = True
    surface: str | None = None  # the form of the multiword token it is a part of
    misc: str | None = None
    token_start: int | None = None  # index of the first word of that token


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an entity. `entity` is the source's own name for it, unique in a document."""

    entity: str
    first: int  # index of its first word
    last: int  # index of its last word (of the hull, if it is discontinuous)
    head: int  # index of its head word
    head_rule: str  # head or minspan (a field of the source), tree or surface: how it was found
    kind: str  # pronoun, proper or nominal
    kind_rule: str  # tag (from UPOS or XPOS) or form (no tags: pronoun list and capitals)
    type: str | None = None  # the source's entity type: person, place, ...
    parts: int = 1  # more than 1: discontinuous
    identity: str | None = None  # a name in the world: GUM links to Wikipedia


@dataclass(frozen=True, slots=True)
class DocumentStart:
    """The document that begins with a sentence."""

    name: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    file: str = ""  # as the user named it
    split: str | None = None  # train, dev or test
    index: int | None = None  # 1-based in the corpus, where that is not all read; else counted


@dataclass(frozen=True, slots=True)
class Departure:
    """Where a source departs from its format in what no figure depends on: it is read all the same.

    `id` is that of a fault of the catalogue, which --strict makes of it.
    """

    id: str
    fact: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `document` is set on the first sentence of each document."""

    words: tuple[Word, ...]
    name: str | None = None  # sent_id
    text: str | None = None
    paragraph: int | None = None  # 1-based within the document
    mentions: tuple[Mention, ...] = ()
    document: DocumentStart | None = None
    empty_nodes: int = 0  # nodes of the enhanced graph alone, which are no words
    file: str = ""
    line: int = 0  # 1-based line where the sentence starts
    departures: tuple[Departure, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)  # beside its name and its text


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a sentence cannot be read. `id` is stable; the rest is for people."""

    id: str
    fact: str
    remedy: str
    file: str = ""
    line: int = 0
    sentence: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = f" (sentence {self.sentence})" if self.sentence else ""
        return f"{place}: {self.id}: {self.fact}{where}. {self.remedy}"


class CorpusError(AttnbankError):
    """The corpus cannot be read as it is. `problems` says where and why."""

    def __init__(self, problems: list[Problem], remedy: str = "") -> None:
        super().__init__("\n".join(str(problem) for problem in problems), remedy)
        self.problems = problems
