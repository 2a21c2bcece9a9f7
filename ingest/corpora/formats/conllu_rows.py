"""The word lines of a CoNLL-U sentence: ten columns, checked and made into words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from attnbank.ingest.corpora.bounds import MOST_DIGITS
from attnbank.ingest.corpora.document import Word
from attnbank.ingest.corpora.faults import SentenceError
from attnbank.ingest.corpora.tree import tree_fault

_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
UPOS = frozenset(_TAGS.split())
_COLUMNS = 10
_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_WORD = re.compile(r"[1-9][0-9]{0,8}")
# Most sentences are shorter than this, and a look-up is faster than str() and int().
_ID = [str(i) for i in range(512)]
_HEAD = {id: i for i, id in enumerate(_ID)}
_NO_HEAD = -1
_NO_MISC: tuple[bool, str | None] = (True, None)


@dataclass(slots=True)
class Rows:
    """What the word lines of a sentence hold."""

    words: list[Word] = field(default_factory=list)
    spelled: list[str] = field(default_factory=list)  # surface forms, each range once
    spaced: list[bool] = field(default_factory=list)  # whether white space follows each
    nodes: list[int] = field(default_factory=list)  # word indices, 0 for an empty node
    entities: list[tuple[int, int, str]] = field(default_factory=list)  # node, line, value
    empty_nodes: int = 0
    new_paragraph: int | None = None  # 0-based node with NewPar=Yes

    @property
    def text(self) -> str:
        """The text as the words spell it, a multiword token as it is written."""
        parts = zip(self.spelled, self.spaced, strict=True)
        return "".join(form + " " * space for form, space in parts).rstrip()


@dataclass(slots=True)
class _Range:
    """The multiword token that the words at hand belong to."""

    first: int = 0
    last: int = 0
    surface: str | None = None
    space_after: bool = True


def read_rows(rows: Sequence[str], line: int, final: bool = False) -> Rows:
    """Read the word lines of a sentence, the first of which is line `line` of its file.

    Args:
        rows: the lines, without line ends; at least one.
        line: 1-based.
        final: the last row ends the file without a line end, so it may be cut short.

    Raises:
        SentenceError: the first fault, with its line.

    """
    read = Rows()
    words, nodes = read.words, read.nodes
    heads: list[int] = []
    token = _Range()
    index = 0
    empty = 0  # empty nodes since the last word
    for at, row in enumerate(rows, start=line):
        cells = row.split("\t")
        if len(cells) != _COLUMNS:
            raise _column_fault(cells, at, final and at == line + len(rows) - 1)
        id, form, lemma, upos, xpos, feats, head, deprel, deps, misc = cells
        if "" in cells or form.isspace():
            raise _empty_fault(cells, at)
        expected = _ID[index + 1] if index < 511 else str(index + 1)
        if id != expected:
            if _RANGE.fullmatch(id):
                token = _range(id, form, misc, index, token, at)
                read.spelled.append(form)
                read.spaced.append(token.space_after)
                continue
            if not _EMPTY.fullmatch(id):
                raise _id_fault(id, index, at)
            if id != f"{index}.{empty + 1}":
                fact = f"empty node {id} where {index}.{empty + 1} is due"
                raise SentenceError("empty-node-id", fact, at)
            empty += 1
            read.empty_nodes += 1
            if "Entity=" in misc:
                _misc(misc, read, at)
            nodes.append(0)
            continue
        index += 1
        empty = 0
        if upos not in UPOS and upos != "_":
            raise SentenceError("bad-upos", f"UPOS is {upos!r} for {form!r}", at)
        if deprel.split() != [deprel]:
            raise SentenceError("bad-deprel", f"DEPREL is {deprel!r} for {form!r}", at)
        if feats != "_" and (wrong := _kept(feats)):
            raise SentenceError("bad-feats", f"{wrong} for {form!r}", at)
        if (head_index := _HEAD.get(head, _NO_HEAD)) == _NO_HEAD and head != "_":
            head_index = _head(head, at)
        heads.append(head_index)
        if head_index == 0 or deprel[0] in "rR_":
            _check_deprel(deprel, head_index, at)
        space_after, kept = _NO_MISC if misc == "_" else _misc(misc, read, at)
        surface = token_start = None
        if index <= token.last:
            surface, token_start = token.surface, token.first
            space_after = token.space_after and index == token.last
        else:
            read.spelled.append(form)
            read.spaced.append(space_after)
        nodes.append(index)
        words.append(
            Word(
                form,
                None if lemma == "_" and form != "_" else lemma,
                None if upos == "_" else upos,
                None if xpos == "_" else xpos,
                None if feats == "_" else feats,
                None if head_index == _NO_HEAD else head_index,
                None if deprel == "_" else deprel,
                None if deps == "_" else deps,
                space_after,
                surface,
                kept,
                token_start,
            )
        )
    _check_sentence(rows, line, heads, token)
    return read


def _check_sentence(rows: Sequence[str], line: int, heads: list[int], token: _Range) -> None:
    if not heads:
        raise SentenceError(
            "no-words", "the sentence has multiword tokens or empty nodes alone", line
        )
    if token.last > len(heads):
        at = line + max(i for i, row in enumerate(rows) if "-" in row.partition("\t")[0])
        fact = f"multiword token {token.surface!r} ends at {token.last} of {len(heads)} words"
        raise SentenceError("range-past-end", fact, at)
    if _NO_HEAD in heads:
        if any(head != _NO_HEAD for head in heads):
            word = heads.index(_NO_HEAD) + 1
            fact = f"word {word} has no head, but others have"
            raise SentenceError("head-not-integer", fact, _line_of(word, rows, line))
        return
    if fault := tree_fault(heads):
        id, word, fact = fault
        raise SentenceError(id, fact, _line_of(word, rows, line))


def _line_of(word: int, rows: Sequence[str], line: int) -> int:
    return next(at for at, row in enumerate(rows, line) if row.startswith(f"{word}\t"))


def _misc(misc: str, read: Rows, line: int) -> tuple[bool, str | None]:
    """Split MISC into whether a space follows and what is kept; note Entity and NewPar."""
    if misc == "SpaceAfter=No":
        return False, None
    space_after = True
    kept = []
    for item in misc.split("|"):
        if item.startswith("Entity="):
            read.entities.append((len(read.nodes), line, item[7:]))
        elif item == "SpaceAfter=No":
            space_after = False
        elif item:
            kept.append(item)
            if item == "NewPar=Yes":
                read.new_paragraph = len(read.nodes)
    return space_after, "|".join(kept) or None


def _kept(feats: str) -> str | None:
    """What is wrong with FEATS; what is short is looked at once."""
    return _feats_fact(feats) if len(feats) < 1000 else _feats_fact.__wrapped__(feats)


@lru_cache(maxsize=1 << 16)
def _feats_fact(feats: str) -> str | None:
    names = set()
    for pair in feats.split("|"):
        name, equals, value = pair.partition("=")
        if not (name and equals and value) or "=" in value or " " in pair:
            return f"{pair!r} in FEATS is not Name=Value"
        if name in names:
            return f"FEATS names {name} twice"
        names.add(name)
    return None


def _head(head: str, line: int) -> int:
    if not (head.isascii() and head.isdigit()):
        raise SentenceError("head-not-integer", f"HEAD is {head!r}", line)
    if len(head) > MOST_DIGITS:
        raise SentenceError("head-out-of-range", f"HEAD is a number of {len(head):,} digits", line)
    return int(head)


def _check_deprel(deprel: str, head: int, line: int) -> None:
    if deprel == "_":
        if head != _NO_HEAD:
            raise SentenceError("empty-deprel", f"HEAD is {head} but DEPREL is _", line)
        return
    if (deprel.partition(":")[0].lower() == "root") != (head == 0) and head != _NO_HEAD:
        raise SentenceError("root-deprel", f"HEAD is {head} but DEPREL is {deprel!r}", line)


def _range(id: str, form: str, misc: str, index: int, before: _Range, line: int) -> _Range:
    start, last = (int(end) for end in id.split("-"))
    if start <= before.last:
        fact = f"multiword tokens {id} and {before.surface!r} share word {start}"
        raise SentenceError("range-overlap", fact, line)
    if start != index + 1 or last <= start:
        raise SentenceError("range-order", f"multiword token {id} above word {index + 1}", line)
    return _Range(start, last, form, "SpaceAfter=No" not in misc.split("|"))


def _column_fault(cells: list[str], line: int, last: bool) -> SentenceError:
    if last and len(cells) < _COLUMNS:
        return SentenceError("cut-short", f"the last line has {len(cells)} of 10 columns", line)
    fact = f"{len(cells)} columns where 10 are due"
    if len(cells) == 1 and len(cells[0].split()) >= _COLUMNS:
        fact += " (there are spaces where tabs should be)"
    return SentenceError("column-count", fact, line)


def _empty_fault(cells: list[str], line: int) -> SentenceError:
    if not cells[1].strip():
        return SentenceError("empty-form", f"word {cells[0]} has no form", line)
    name = _NAMES[cells.index("")]
    if name == "DEPREL":
        return SentenceError("empty-deprel", f"DEPREL is empty for {cells[1]!r}", line)
    return SentenceError("empty-column", f"{name} is empty for {cells[1]!r}", line)


def _id_fault(id: str, index: int, line: int) -> SentenceError:
    if not _WORD.fullmatch(id):
        return SentenceError("bad-id", f"the id {id!r} is no id", line)
    if id == "1":
        return SentenceError("missing-blank-line", f"the ids begin again after word {index}", line)
    return SentenceError("id-order", f"the id is {id} where {index + 1} is due", line)
