"""Turns spaCy Docs into sentences. spaCy itself is imported by those who have Docs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.bounds import MOST_WORDS, check_covered
from attnbank.ingest.corpora.document import DocumentStart, Problem, Sentence, Word
from attnbank.ingest.corpora.faults import SentenceError, problem
from attnbank.ingest.corpora.mentions import EntitySpan, mention_of
from attnbank.ingest.corpora.tree import tree_fault

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_CLUSTER = "coref_clusters_"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def is_space(token: Token) -> bool:
    """Tell whether a token is spaces alone; Token.is_space needs a language's vocabulary."""
    text: str = token.text
    return text.isspace()


def doc_sentences(
    doc: Doc,
    start: DocumentStart | None,
    file: str,
    line_at: Callable[[int], int] = lambda offset: 0,
    paragraph: int | None = None,
) -> Iterator[Sentence | Problem]:
    """Yield the sentences of a Doc; a Doc without sentence boundaries is one sentence.

    Args:
        doc: tokens that are spaces are no words: they are left out, and a word whose head is one
            takes the head of that head. Span groups `coref_clusters_1`, ... are entities.
        start: the document that the first sound sentence begins, if any.
        file: the file's name, for messages.
        line_at: gives the line of a character offset, 0 if there are no lines.
        paragraph: 1-based, the paragraph of all its sentences.

    """
    mentions = _mentions(doc)
    where = f" of document {start.name}" if start else ""
    starts = [span.start for _, span in mentions]
    for number, span in enumerate(_spans(doc), start=1):
        tokens = [token for token in span if not is_space(token)]
        if not tokens:
            continue
        line = line_at(tokens[0].idx)
        own = mentions[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        try:
            if len(tokens) > MOST_WORDS:
                raise SentenceError("too-many-words", f"the sentence has {len(tokens):,} words")
            words = _words(tokens)
            found = _in_sentence(own, span, {t.i: k for k, t in enumerate(tokens, start=1)})
        except SentenceError as fault:
            yield problem(fault.id, fault.fact, file, line, f"{number}{where}")
            continue
        yield Sentence(
            words=words,
            text=" ".join(span.text.split()),
            paragraph=paragraph,
            mentions=tuple(mention_of(words, entity) for entity in found),
            document=start,
            file=file,
            line=line,
        )
        start = None


def _spans(doc: Doc) -> Iterator[Span]:
    if doc.has_annotation("SENT_START"):
        yield from doc.sents
    elif len(doc):
        yield doc[:]


def _words(tokens: Sequence[Token]) -> tuple[Word, ...]:
    heads: list[int | None] = [None] * len(tokens)
    if all(token.has_dep() for token in tokens):
        numbers = _heads(tokens)
        if fault := tree_fault(numbers):
            raise SentenceError(fault[0], fault[2])
        heads = list(numbers)
    words = []
    for token, head in zip(tokens, heads, strict=True):
        if control := _CONTROL.search(token.text):
            raise SentenceError("control-character", f"character U+{ord(control[0]):04X} in a word")
        last = token.i + 1 == len(token.doc)
        words.append(
            Word(
                form=token.text,
                lemma=token.lemma_ or None,
                upos=token.pos_ or None,
                xpos=token.tag_ or None,
                feats=str(token.morph) or None,
                head_index=head,
                deprel=token.dep_ or None,
                space_after=last or bool(token.whitespace_) or is_space(token.nbor()),
            )
        )
    return tuple(words)


def _heads(tokens: Sequence[Token]) -> list[int]:
    """Give the 1-based head of each word, 0 for the root, past the spaces that are left out."""
    index = {token.i: k for k, token in enumerate(tokens, start=1)}
    promoted: dict[int, int] = {}  # a space that is the root: the first word below it replaces it
    known: dict[int, Token] = {}
    heads = []
    for number, token in enumerate(tokens, start=1):
        head = _past_spaces(token, known)
        if is_space(head):
            first = promoted.setdefault(head.i, number)
            heads.append(0 if first == number else first)
        elif head.i == token.i:
            heads.append(0)
        elif head.i not in index:
            fact = f"the head of word {number}, {token.text!r}, is in another sentence; spaCy "
            fact += "splits a Doc wrongly where arcs cross: store each sentence as a Doc"
            raise SentenceError("head-out-of-range", fact)
        else:
            heads.append(index[head.i])
    return heads


def _past_spaces(token: Token, known: dict[int, Token]) -> Token:
    """The head of a word, or of the spaces that it hangs from; a space where they end in one.

    `known` keeps what was found for each space, so that none is climbed over twice.
    """
    head = token.head
    climbed: dict[int, None] = {}
    while is_space(head) and head.i not in climbed:
        if head.i in known:
            head = known[head.i]
            break
        climbed[head.i] = None
        head = head.head
    for each in climbed:
        known[each] = head
    return head


def _mentions(doc: Doc) -> list[tuple[str, Span]]:
    found = [
        (key[len(_CLUSTER) :], span)
        for key in doc.spans
        if key.startswith(_CLUSTER)
        for span in doc.spans[key]
    ]
    return sorted(found, key=lambda item: (item[1].start, -item[1].end))


def _in_sentence(
    mentions: Sequence[tuple[str, Span]], sentence: Span, index: dict[int, int]
) -> list[EntitySpan]:
    found = []
    check_covered([span.end - span.start for _, span in mentions], 0)
    for entity, span in mentions:
        if span.end > sentence.end:
            fact = f"the mention {span.text[:50]!r} of entity {entity} goes on in the next sentence"
            raise SentenceError("mention-across-sentences", fact)
        words = tuple(index[token.i] for token in span if token.i in index)
        if words:
            found.append(EntitySpan(entity, words, type=span.label_ or None))
    return found
