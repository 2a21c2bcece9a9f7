"""The output of the corpus readers: sentences of annotated words, and what is wrong with a corpus.

Indices are 1-based within a sentence, as in CoNLL-U. A reader yields a stream of `Sentence` and
`Problem`, in the order of the text, so that a corpus of any length needs little memory.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from attnbank.sql.errors import AttnbankError

NO_HEAD = -1  # in a list of heads: the source has no head for the word
TEXT, LINES = "text", "lines"  # formats without annotation: any plain text; a sentence on each line
ANY = "any"  # in the catalogue of faults: those of the file itself, whatever its format
_LONGEST_FACT = 300  # characters: a fact may quote what a file holds


@dataclass(frozen=True, slots=True)
class Word:
    """A syntactic word. None: not annotated in the source."""

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

    @property
    def edges(self) -> list[tuple[int, str]]:
        """The head (0: root) and relation of each enhanced dependency on a word, without repeats.

        Those on empty nodes are left out.
        """
        if self.deps is None:
            return []
        parts = (edge.partition(":") for edge in self.deps.split("|"))
        return list(dict.fromkeys((int(head), name) for head, _, name in parts if "." not in head))


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an entity. `entity` is the source's id of it, unique in a document."""

    entity: str
    first: int  # index of its first word
    last: int  # index of its last word (of the hull, if it is discontinuous)
    head: int  # index of its head word
    head_rule: str  # head, tree, minspan, phrase or surface: how it was found
    kind: str  # pronoun, proper or nominal
    kind_rule: str  # tag (UPOS or XPOS), form (no tags: pronoun list and capitals) or unknown
    type: str | None = None  # the source's entity type: person, place, ...
    parts: int = 1  # more than 1: discontinuous
    identity: str | None = None  # a name in the world: GUM links to Wikipedia


@dataclass(frozen=True, slots=True)
class Constituent:
    """A phrase of a bracketed tree; its number is its 1-based index in `Sentence.constituents`."""

    label: str
    first: int  # index of its first word
    last: int  # index of its last word
    parent: int | None = None  # number of the constituent that it is a part of; None for a root


@dataclass(frozen=True, slots=True)
class DocumentStart:
    """The document that begins with a sentence."""

    name: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    file: str = ""  # as the user named it
    split: str | None = None  # train, dev or test
    is_marked: bool = True  # by the source; False for what a file has outside any document


ZERO_MENTION = "zero-mention"
# Ids of what is valid in a source but not stored in a bank; not an error with --strict.
LEFT_OUT = frozenset({ZERO_MENTION})


@dataclass(frozen=True, slots=True)
class Departure:
    """A violation of the format that does not prevent reading, or content that no bank stores.

    `id` is that of a fault of the catalogue, which it becomes with --strict, or one of LEFT_OUT.
    """

    id: str
    fact: str
    line: int = 0
    file: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `document` is set on the first sentence of each document."""

    words: tuple[Word, ...]
    name: str | None = None  # sent_id
    text: str | None = None
    paragraph: int | None = None  # 1-based within the document
    mentions: tuple[Mention, ...] = ()
    document: DocumentStart | None = None
    empty_nodes: int = 0  # nodes of the enhanced graph alone, which are not words
    line: int = 0  # 1-based line where the sentence starts
    departures: tuple[Departure, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)  # beside its name and its text
    constituents: tuple[Constituent, ...] = ()  # in the order of their opening brackets

    @property
    def full_text(self) -> str:
        """Its text; by default its words, and the white space after them."""
        parts = (word.form + (" " if word.space_after else "") for word in self.words)
        return self.text or "".join(parts).rstrip()


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: its id, the formats that it occurs in, its meaning and its remedy.

    A fault that `is_mended` is an error only with --strict; by default it is a `Departure`.
    """

    id: str
    formats: tuple[str, ...]
    meaning: str
    remedy: str
    is_mended: bool = False


# Messages, docs and tests refer to a fault by its id, which is stable.
_CATALOGUE = files("attnbank.ingest.corpora").joinpath("faults.toml").read_text(encoding="utf-8")
FAULTS = {
    id: FaultKind(id, tuple(entry.pop("formats")), **entry)
    for id, entry in tomllib.loads(_CATALOGUE).items()
}


@dataclass(frozen=True)
class Departures:
    """How often a corpus departs from its format in one way, without an error.

    Or, if `is_left_out`, how often a valid corpus has something that a bank does not store. `id` is
    that of the fault, or of what is not stored; `fact` and `place` (file:line) describe the first.
    """

    id: str
    count: int
    fact: str
    place: str

    @property
    def is_left_out(self) -> bool:
        """Whether it is valid, but not stored in a bank: --strict accepts it."""
        return self.id in LEFT_OUT


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a sentence or a file cannot be read. `id` is that of a fault in the catalogue."""

    id: str
    fact: str
    line: int = 0
    sentence: str | None = None
    file: str = ""

    def __post_init__(self) -> None:
        if len(self.fact) > _LONGEST_FACT:
            object.__setattr__(self, "fact", self.fact[: _LONGEST_FACT - 3] + "...")

    @property
    def remedy(self) -> str:
        """What the user can do about it."""
        return FAULTS[self.id].remedy

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}" if self.line else self.file
        where = f" (sentence {self.sentence})" if self.sentence else ""
        return f"{location}: {self.id}: {self.fact}{where}. {self.remedy}"


class FaultError(AttnbankError):
    """A fault of a file or sentence. Readers catch it and yield its `problem`."""

    def __init__(self, id: str, fact: str, line: int = 0) -> None:
        super().__init__(fact, FAULTS[id].remedy)
        self.problem = Problem(id, fact, line)


class CorpusError(AttnbankError):
    """The corpus cannot be read. `problems` says where and why."""

    def __init__(self, problems: list[Problem], remedy: str = "") -> None:
        super().__init__("\n".join(str(problem) for problem in problems), remedy)
        self.problems = problems


def check_tree(heads: Sequence[int], line_of: Callable[[int], int] = lambda word: 0) -> None:
    """Raise FaultError (the first fault) unless the heads of a sentence form a tree.

    `heads` are 1-based, 0 for the root. Words with NO_HEAD are ignored: the others must form a part
    of a tree. `line_of` returns the line of a word, by its 1-based index, for the error.
    """
    count = len(heads)
    if max(heads) > count:
        word, head = next(pair for pair in enumerate(heads, start=1) if pair[1] > count)
        fact = f"head {head} in a sentence of {count} words"
        raise FaultError("head-out-of-range", fact, line_of(word))
    for word, head in enumerate(heads, start=1):
        if word == head:
            raise FaultError("head-self", f"word {word} is its own head", line_of(word))
    roots = [word for word, head in enumerate(heads, start=1) if head == 0]
    is_partial = NO_HEAD in heads
    if not roots and not is_partial:
        raise FaultError("no-root", "no word has head 0", line_of(1))
    if len(roots) > 1:
        fact = f"words {', '.join(map(str, roots))} all have head 0"
        raise FaultError("two-roots", fact, line_of(roots[1]))
    # Climb from each word until the root or a word of an earlier climb: every word is met once.
    above = [max(head, 0) for head in heads] if is_partial else heads
    climb = [-1, *[0] * count]
    for start in range(1, count + 1):
        word = start
        while not climb[word]:
            climb[word] = start
            word = above[word - 1]
        if climb[word] == start:
            cycle = [word, heads[word - 1]]
            while cycle[-1] != word:
                cycle.append(heads[cycle[-1] - 1])
            fact = f"the heads of word {word} form a cycle: {' -> '.join(map(str, cycle))}"
            raise FaultError("cycle", fact, line_of(word))
