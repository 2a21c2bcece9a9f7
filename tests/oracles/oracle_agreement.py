"""Agreeing subjects and verbs of a CoNLL-U file, and what the verb would be for the other number.

Plain Python on the file's own lines: from each verb to its subjects, and through all verbs of the
file again for each form that is looked for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

OTHER = {"Sing": "Plur", "Plur": "Sing"}


@dataclass
class Word:
    """A line of a sentence; `joined`: a word, not punctuation, stands right before it."""

    index: int
    form: str
    lemma: str
    upos: str
    feats: dict[str, str]
    head: int
    deprel: str
    space: bool
    is_written: bool = True
    joined: bool = False

    @property
    def relation(self) -> str:
        return self.deprel.split(":")[0]

    @property
    def number(self) -> str | None:
        found = self.feats.get("Number")
        return "Plur" if found == "Ptan" else found

    @property
    def is_finite(self) -> bool:
        if self.upos not in ("VERB", "AUX"):
            return False
        return self.feats.get("VerbForm", "Fin" if "Tense" in self.feats else "") == "Fin"

    @property
    def is_inflected(self) -> bool:
        """Whether it is a form of one number that can be swapped."""
        return (
            self.is_finite
            and self.number in OTHER
            and self.feats.get("Mood", "Ind") == "Ind"
            and self.feats.get("Typo") != "Yes"
            and self.is_written
            and not self.joined
        )


@dataclass
class Sentence:
    """Its words, and what a tokenizer is given of it: each text with the word that it is."""

    name: str
    words: list[Word] = field(default_factory=list)
    texts: list[tuple[str, int | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Site:
    """A verb by its sentence and its place there, as a pair of texts."""

    sentence: str
    index: int
    relation: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    at: int
    attractors: int
    distance: int
    is_inverted: bool


def sites(path: Path) -> list[Site]:
    """All of a file, in the order of the verbs."""
    every = read(path)
    verbs = [word for each in every for word in each.words if word.is_inflected]
    found = []
    for sentence in every:
        for verb in sentence.words:
            subject = subject_of(sentence, verb)
            if subject is None or not agree(sentence, subject, verb):
                continue
            other = other_form(verb, verbs)
            if other is not None:
                found.append(site(sentence, subject, verb, other))
    return found


def read(path: Path) -> list[Sentence]:
    """The sentences of a file."""
    found = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [each.split("\t") for each in block.split("\n")]
        named = [cells[0] for cells in lines if cells[0].startswith("# sent_id = ")]
        sentence = Sentence(named[0].removeprefix("# sent_id = ") if named else "")
        tokens = [cells for cells in lines if len(cells) == 10 and "-" in cells[0]]
        for cells in lines:
            if len(cells) == 10 and cells[0].isdigit():
                sentence.words.append(_word(cells))
        if sentence.words:
            for cells in tokens:
                _apply(sentence, cells)
            _finish(sentence, tokens)
            found.append(sentence)
    return found


def _word(cells: list[str]) -> Word:
    index, form, lemma, upos, _, feats, head, deprel, _, misc = cells
    pairs = [] if feats == "_" else [each.split("=") for each in feats.split("|")]
    space = "SpaceAfter=No" not in misc.split("|")
    return Word(int(index), form, lemma, upos, dict(pairs), int(head), deprel, space)


def _apply(sentence: Sentence, token: list[str]) -> None:
    start, end = map(int, token[0].split("-"))
    words = sentence.words[start - 1 : end]
    is_spelled = "".join(each.form for each in words) == token[1]
    for word in words:
        word.is_written = is_spelled
        word.space = word is words[-1] and "SpaceAfter=No" not in token[9].split("|")


def _finish(sentence: Sentence, tokens: list[list[str]]) -> None:
    for before, word in zip(sentence.words, sentence.words[1:], strict=False):
        word.joined = not before.space and before.upos not in ("PUNCT", "SYM")
    surfaces = {int(cells[0].split("-")[0]): cells[1] for cells in tokens}
    for word in sentence.words:
        if word.is_written:
            sentence.texts.append((word.form, word.index))
        elif word.index in surfaces:
            sentence.texts.append((surfaces[word.index], None))


def subject_of(sentence: Sentence, verb: Word) -> Word | None:
    """The subject that a verb agrees with, if there is exactly one."""
    found = [
        word
        for word in sentence.words
        if word.relation in ("nsubj", "csubj") and agreeing(sentence, word) is verb
    ]
    if len(found) != 1 or found[0].relation == "csubj":
        return None
    return found[0]


def agreeing(sentence: Sentence, subject: Word) -> Word | None:
    """The verb of a subject: its head, or else the first finite word that helps it."""
    if subject.head == 0:
        return None
    head = sentence.words[subject.head - 1]
    if head.is_finite:
        return head
    for word in sentence.words:
        if word.head == head.index and word.relation in ("aux", "cop") and word.is_finite:
            return word
    return None


def agree(sentence: Sentence, subject: Word, verb: Word) -> bool:
    """Whether the two are annotated as agreeing, and no other word tells the verb's number."""
    if subject.upos not in ("NOUN", "PROPN", "PRON") or not verb.is_inflected:
        return False
    if subject.number != verb.number:
        return False
    persons = {each.feats["Person"] for each in (subject, verb) if "Person" in each.feats}
    if len(persons) > 1:
        return False
    for word in sentence.words:
        if word.head == subject.index and word.relation == "conj":
            return False
        if word.head == subject.head and word.deprel in ("expl", "expl:subj"):
            return False
    return True


def other_form(verb: Word, verbs: list[Word]) -> str | None:
    """The usual form for the other number; None where there is none, or it is the same."""

    def genders(word: Word) -> set[str]:
        return set(word.feats.get("Gender", "").split(","))

    def usual(forms: Counter[str]) -> str | None:
        return min(forms, key=lambda form: (-forms[form], form)) if forms else None

    own, others = Counter[str](), Counter[str]()
    for each in verbs:
        if each.lemma != verb.lemma or _traits(each) != _traits(verb):
            continue
        if each.number == verb.number and genders(each) == genders(verb):
            own[each.form.lower()] += 1
        if each.number != verb.number and (
            "" in genders(each) | genders(verb) or genders(each) & genders(verb)
        ):
            others[each.form.lower()] += 1
    found = usual(others)
    form = verb.form.lower()
    if found is None or found == form or usual(own) != form:
        return None
    if verb.form.isupper() and len(verb.form) > 1:
        return found.upper()
    return found[0].upper() + found[1:] if verb.form[0].isupper() else found


def _traits(word: Word) -> dict[str, str]:
    left_out = ("Number", "Gender", "Animacy")
    return {name: value for name, value in word.feats.items() if name not in left_out}


def site(sentence: Sentence, subject: Word, verb: Word, other: str) -> Site:
    """The pair of texts, and what stands between the two words."""
    first, last = sorted((subject.index, verb.index))
    between = sentence.words[first : last - 1]
    attractors = sum(
        each.upos in ("NOUN", "PROPN") and each.number == OTHER[str(verb.number)]
        for each in between
    )
    good = [text for text, _ in sentence.texts]
    at = [index for _, index in sentence.texts].index(verb.index)
    bad = [*good[:at], other, *good[at + 1 :]]
    return Site(
        sentence.name, verb.index, subject.deprel, tuple(good), tuple(bad), at, attractors,
        last - first, subject.index > verb.index,
    )  # fmt: skip
