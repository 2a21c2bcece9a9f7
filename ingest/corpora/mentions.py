"""The head word and the kind of a mention.

Section 4.3 of the paper asks whether the head word of a mention attends to the head word of an
antecedent, so each mention needs one. Where the source names it (the head field of CorefUD), that
is it; else the tree decides, without a tree the minspan of GUM, else the surface.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

from attnbank.ingest.corpora.bounds import MOST_COVERED
from attnbank.ingest.corpora.document import Departure, FaultError, Mention, Word
from attnbank.sql import reading, registry
from attnbank.sql.relations import without_subtype

# Closed lists, lower case. The surface rule stops at prepositions and relative words.
_PREPOSITIONS = """
    aboard about above across after against along amid among amongst around as at atop before
    behind below beneath beside besides between beyond by concerning despite down during except
    for from in inside into like near of off on onto opposite out outside over past per regarding
    since than through throughout till to toward towards under underneath until unto up upon
    versus via with within without
"""
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
RELATIVES = frozenset({"that", "which", "who", "whom", "whose", "where", "when", "why"})
_STOPS = PREPOSITIONS | RELATIVES | {",", ";", ":", "(", "-LRB-", "-lrb-", "--", "\u2013", "\u2014"}
_TRAILERS = frozenset({"'s", "\u2019s", "'", "\u2019"})  # the genitive, which is never a head
_CONTENT = frozenset({"NOUN", "PROPN", "PRON", "VERB"})
_MODIFIERS = frozenset(
    {"advmod", "amod", "case", "cc", "compound", "det", "mark", "nummod", "punct"}
)
_PRONOUN_XPOS = frozenset({"PRP", "PRP$", "WP", "WP$"})
_PROPER_XPOS = frozenset({"NNP", "NNPS"})
_DETERMINER_XPOS = frozenset({"DT", "WDT", "PDT"})


@cache
def pronouns() -> frozenset[str]:
    """The forms, in lower case, that are pronouns in text without tags: view english_pronoun."""
    rows = reading.listed(registry.script("4_pronouns"))
    return frozenset(form for row in rows if row[-1] for form in str(row[0]).split())


@dataclass(frozen=True, slots=True)
class EntitySpan:
    """What a source says of a mention. Indices are 1-based within the sentence, ascending."""

    entity: str
    words: tuple[int, ...]  # without the gaps of a discontinuous mention
    head: tuple[int, ...] = ()  # the words that the source names as its head
    type: str | None = None
    identity: str | None = None
    parts: int = 1
    head_field: str | None = None  # the field that names the head: head or minspan


def check_covered(sizes: Sequence[int], line: int) -> None:
    """Raise FaultError (too-many-mentions) where they cover over MOST_COVERED words."""
    if sum(sizes) > MOST_COVERED:
        fact = f"{len(sizes):,} mentions cover {sum(sizes):,} words"
        raise FaultError("too-many-mentions", fact, line)


def mentions_of(
    words: Sequence[Word], spans: Sequence[EntitySpan], line: int, *, strict: bool = False
) -> tuple[tuple[Mention, ...], tuple[Departure, ...]]:
    """Make the mentions of a sentence, each once, as scorers of coreference count them.

    Where spans repeat one of the same entity that is a departure; if it is `strict`, a FaultError.
    """
    once: dict[tuple[str, tuple[int, ...]], EntitySpan] = {}
    repeated = []
    for span in spans:
        if once.setdefault((span.entity, span.words), span) is not span:
            repeated.append(span)
    departures: tuple[Departure, ...] = ()
    if repeated:
        first, last = repeated[0].words[0], repeated[0].words[-1]
        where = f"word {first}" if first == last else f"words {first} to {last}"
        fact = f"entity {repeated[0].entity} has {where} for a mention more than once"
        if strict:
            raise FaultError("repeated-mention", fact, line)
        departures = (Departure("repeated-mention", fact, line),)
    return tuple(mention_of(words, span) for span in once.values()), departures


def mention_of(words: Sequence[Word], span: EntitySpan) -> Mention:
    """Make the mention of a span (of one word at least) of a sentence's words."""
    first, last = span.words[0], span.words[-1]
    head, rule = head_of(words, span.words, span.head, span.head_field)
    kind, kind_rule = kind_of(words, span.words, head)
    return Mention(
        span.entity, first, last, head, rule, kind, kind_rule, span.type, span.parts, span.identity
    )


def head_of(
    words: Sequence[Word], span: Sequence[int], named: Sequence[int] = (), field: str | None = None
) -> tuple[int, str]:
    """Find the head word of a span: its 1-based index in the sentence, and the rule that found it.

    head: the word that this field of the source names; of several words (`named`) as by the tree.
    tree: the word whose own head lies outside the span, where every word of it has one; of several
    the first noun, pronoun or verb that does not modify what follows it, else the first word of
    which the same is true.
    minspan: without a tree, the first word that this field of the source names. With one it is not
    asked: where several heads lie outside, it names the last of these words.
    surface: the last word before the first preposition, relative word, comma or the like (the
    span's first word aside); closing punctuation and 's do not count.

    Of the 13,959 mentions of 48 GUM documents 173 have several heads outside. Of the first hundred
    of such mentions in gum-dev and gum-train, read by people, the tree finds the head of 99 (the
    last of the words that minspan names: 24). With the tree hidden, minspan is the tree's head for
    94 % and, for the 7,551 mentions of more than one word, the surface finds it for 83 %.
    """
    has_tree = all(words[i - 1].head_index is not None for i in span)
    if named and field != "minspan":
        return _top(words, named) if has_tree else named[0], field or "head"
    if has_tree:
        return _top(words, span), "tree"
    return (named[0], "minspan") if named else (_surface_head(words, span), "surface")


def _top(words: Sequence[Word], span: Sequence[int]) -> int:
    """The word of a span whose head lies outside of it; of several that which it is about."""
    if len(span) == 1:
        return span[0]
    inside: Collection[int] = (
        set(span) if span[-1] - span[0] >= len(span) else range(span[0], span[-1] + 1)
    )
    tops = [i for i in span if words[i - 1].head_index not in inside]
    likely = (
        [i for i in tops if words[i - 1].upos in _CONTENT]
        or [i for i in tops if words[i - 1].upos != "PUNCT"]
        or tops
    )
    relations = ((i, without_subtype(words[i - 1].deprel or "")) for i in likely)
    return next((i for i, relation in relations if relation not in _MODIFIERS), likely[-1])


def _surface_head(words: Sequence[Word], span: Sequence[int]) -> int:
    forms = [words[i - 1].form for i in span]
    end = next((k for k in range(1, len(span)) if forms[k].lower() in _STOPS), len(span))
    while end > 1 and (forms[end - 1] in _TRAILERS or not any(map(str.isalnum, forms[end - 1]))):
        end -= 1
    return span[end - 1]


def kind_of(words: Sequence[Word], span: Sequence[int], head: int) -> tuple[str, str]:
    """Classify a mention by its head: pronoun, proper or nominal, and the rule: tag or form.

    tag: by UPOS, else XPOS. A determiner is a pronoun if it is the whole mention or possessive.
    form (no tags): by a closed list of pronouns, else by capitals; the capital of a sentence's
    first word and of words in a sentence all in capitals says nothing. On the mentions named at
    `head_of`, with trees and tags hidden, 96 % have the kind that tag gives.
    """
    word = words[head - 1]
    alone = len(span) == 1
    if word.upos is not None:
        possessive = "Poss=Yes" in (word.feats or "").split("|")
        if word.upos == "PRON" or (word.upos == "DET" and (alone or possessive)):
            return "pronoun", "tag"
        return ("proper" if word.upos == "PROPN" else "nominal"), "tag"
    if word.xpos is not None:
        if word.xpos in _PRONOUN_XPOS or (alone and word.xpos in _DETERMINER_XPOS):
            return "pronoun", "tag"
        return ("proper" if word.xpos in _PROPER_XPOS else "nominal"), "tag"
    if word.form.lower() in pronouns() and word.form != "US":
        return "pronoun", "form"
    return ("proper" if _capital_tells(words, head) else "nominal"), "form"


def _capital_tells(words: Sequence[Word], head: int) -> bool:
    if head == 1 or not words[head - 1].form[0].isupper():
        return False
    return not all(word.form.isupper() for word in words if word.form[0].isalpha())
