"""Mentions of entities: read from the MISC column of CoNLL-U, each with its head word and its kind.

Section 4.3 of the paper asks whether the head word of a mention attends to the head word of an
antecedent, so each mention needs a head word. It is taken from the source if that names it (the
head field of CorefUD), else from the tree, the minspan of GUM, the phrases of a bracketed parse, or
the surface, whichever comes first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from urllib.parse import unquote

from attnbank.ingest.corpora.document import Constituent, Departure, FaultError, Mention, Word
from attnbank.ingest.corpora.limits import MOST_COVERED, MOST_DIGITS
from attnbank.sql import registry, statements
from attnbank.sql.names import without_subtype

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
# The tags of the Penn, Chinese and Arabic treebanks, which OntoNotes has, and of the Dutch CGN. A
# tag stands for a kind, or for a determiner, which alone is a pronoun; any other is nominal.
_PENN = """
    CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB
    VBD VBG VBN VBP VBZ WDT WP WP$ WRB ADD AFX GW HYPH NFP XX $ # . , : `` '' -LRB- -RRB-
"""
_CHINESE = """
    AD AS BA CC CD CS DEC DEG DER DEV DT ETC FW IJ JJ LB LC M MSP NN NR NT OD ON P PN PU SB SP VA VC
    VE VV URL X INF
"""
_TAGS = frozenset((_PENN + _CHINESE).split())
_PRONOUN_TAGS = frozenset({"PRP", "PRP$", "WP", "WP$", "PN"})
_PROPER_TAGS = frozenset({"NNP", "NNPS", "NR"})
_DETERMINER_TAGS = frozenset({"DT", "WDT", "PDT"})
_NOMINAL_TAGS = frozenset({"NN", "NNS", "NT"})
_CGN = re.compile(r"(N|ADJ|WW|TW|VNW|LID|VZ|VG|BW|TSW|SPEC|LET)[\[(](.*)[\])]")
_ARABIC = re.compile(
    r"(?:(?:DET|PREP|CONJ|PART|SUB_CONJ|POSS|DEM|REL|INTERROG|EXCLAM)[+_])*"
    r"(PRON|NOUN|ADJ|ADV|VERB|PV|IV|CV|PREP|CONJ|PART|ABBREV|NUM|DET|INTERJ|PUNC)(?=[_+.0-9]|$).*"
)
_NOUNS = ("noun", "proper", "pronoun")
# Labels of phrases headed by a noun, in the Penn Treebank and in Alpino's trees of Dutch.
_NOMINAL = frozenset({"NP", "N", "MWU", "NML", "NX", "WHNP", "NAC"})
_DEEPEST = 100  # levels of phrases that `_phrase_head` descends
UNKNOWN = "unknown"


@cache
def pronouns() -> frozenset[str]:
    """Return the pronouns, in lower case, of text without tags: those of view english_pronoun."""
    rows = statements.values_rows(registry.script("4_pronouns"))
    return frozenset(form for row in rows if row[-1] for form in str(row[0]).split())


@dataclass(frozen=True, slots=True)
class EntitySpan:
    """A mention as annotated in the source. Indices are 1-based in the sentence, ascending."""

    entity: str
    words: tuple[int, ...]  # without the gaps of a discontinuous mention
    head: tuple[int, ...] = ()  # the words that the source names as its head
    type: str | None = None
    identity: str | None = None
    parts: int = 1
    head_field: str | None = None  # the field that names the head: head or minspan


class Phrases:
    """The phrases of a sentence that have more than one word, by their extent."""

    def __init__(self, constituents: Iterable[Constituent]) -> None:
        self.is_nominal: dict[tuple[int, int], bool] = {}  # by first and last word
        for phrase in constituents:
            if phrase.first == phrase.last:
                continue
            extent = phrase.first, phrase.last
            is_nominal = phrase.label.split("-")[0] in _NOMINAL
            self.is_nominal[extent] = self.is_nominal.get(extent, False) or is_nominal
        self._lasts: dict[int, list[int]] = {}
        for first, last in sorted(self.is_nominal):
            self._lasts.setdefault(first, []).append(last)

    def __bool__(self) -> bool:
        return bool(self.is_nominal)

    def within(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the largest phrases that are a proper part of the words from first to last."""
        extents = []
        at = first
        while at <= last:
            lasts = self._lasts.get(at, [])
            number = bisect_right(lasts, last if at > first else last - 1)
            if number:
                extents.append((at, lasts[number - 1]))
                at = lasts[number - 1]
            at += 1
        return extents


def check_covered(sizes: Sequence[int], line: int) -> None:
    """Raise FaultError (too-many-mentions) if mentions cover more than MOST_COVERED words."""
    if sum(sizes) > MOST_COVERED:
        fact = f"{len(sizes):,} mentions cover {sum(sizes):,} words"
        raise FaultError("too-many-mentions", fact, line)


def mentions_of(
    words: Sequence[Word],
    spans: Sequence[EntitySpan],
    line: int,
    constituents: Sequence[Constituent] = (),
    *,
    strict: bool = False,
) -> tuple[tuple[Mention, ...], tuple[Departure, ...]]:
    """Make the mentions of a sentence, without repeats, as coreference scorers count them.

    A repeated span of an entity is a departure, and so is a mention whose head has an unknown tag.
    If `strict`, raises FaultError for them.
    """
    once: dict[tuple[str, tuple[int, ...]], EntitySpan] = {}
    repeated = []
    for span in spans:
        if once.setdefault((span.entity, span.words), span) is not span:
            repeated.append(span)
    departures: list[Departure] = []
    if repeated:
        first, last = repeated[0].words[0], repeated[0].words[-1]
        where = f"word {first}" if first == last else f"words {first} to {last}"
        fact = f"entity {repeated[0].entity} has {where} for a mention more than once"
        if strict:
            raise FaultError("repeated-mention", fact, line)
        departures.append(Departure("repeated-mention", fact, line))
    phrases = Phrases(constituents)
    mentions = tuple(mention_of(words, span, phrases) for span in once.values())
    for mention in mentions:
        if mention.kind_rule == UNKNOWN:
            head = words[mention.head - 1]
            fact = f"the tag {head.xpos} of {head.form} does not tell what kind of mention it is"
            if strict:
                raise FaultError("unknown-tag", fact, line)
            departures.append(Departure("unknown-tag", fact, line))
    return mentions, tuple(departures)


def mention_of(words: Sequence[Word], span: EntitySpan, phrases: Phrases | None = None) -> Mention:
    """Make a mention of a span of at least one word."""
    first, last = span.words[0], span.words[-1]
    head, rule = head_of(words, span.words, span.head, span.head_field, phrases)
    kind, kind_rule = kind_of(words, span.words, head)
    return Mention(
        span.entity, first, last, head, rule, kind, kind_rule, span.type, span.parts, span.identity
    )


def head_of(
    words: Sequence[Word],
    span: Sequence[int],
    named: Sequence[int] = (),
    field: str | None = None,
    phrases: Phrases | None = None,
) -> tuple[int, str]:
    """Return the head word of a span, as its 1-based index in the sentence, and the rule applied.

    head: the word that this field of the source names; of several (`named`), by the tree rule.
    tree: the word whose head is outside the span, if every word of the span has a head; of several
    such words, the first noun, pronoun or verb that does not modify what follows, else the first
    word that does not.
    minspan: without a tree, the first word that this field of the source names. With a tree it is
    ignored: where several heads are outside the span, it names the last of these words.
    phrase: without either, the last noun or pronoun of the mention that is in no smaller phrase; if
    there is none, the head of its first noun phrase (in Chinese, whose phrases end with their head,
    of the last).
    surface: the last word before the first preposition (by the tag if there is one, else by a list
    of English ones), relative word, comma or the like that is not the span's first word, ignoring
    final punctuation and 's.

    Of the 13,959 mentions of 48 GUM documents, 173 have several heads outside. Of the first hundred
    such mentions in gum-dev and gum-train, checked by hand, the tree rule finds the head of 99 (the
    last word of minspan: 24). Without the tree, minspan agrees with the tree rule for 94 %, and the
    surface rule for 83 % of the 7,551 mentions of more than one word.
    """
    has_tree = all(words[i - 1].head_index is not None for i in span)
    if named and field != "minspan":
        return _syntactic_head(words, named) if has_tree else named[0], field or "head"
    if has_tree:
        return _syntactic_head(words, span), "tree"
    if named:
        return named[0], "minspan"
    if phrases and len(span) > 1:
        return _phrase_head(words, span[0], span[-1], phrases), "phrase"
    return _surface_head(words, span), "surface"


def _syntactic_head(words: Sequence[Word], span: Sequence[int]) -> int:
    """Return the word of a span whose head is outside; of several, the one the span is about."""
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


def _phrase_head(words: Sequence[Word], first: int, last: int, phrases: Phrases) -> int:
    """Return the head of the words from first to last, by the phrases of their sentence."""
    for _ in range(_DEEPEST):
        largest = phrases.within(first, last)
        covered = {at for start, end in largest for at in range(start, end + 1)}
        alone = [at for at in range(first, last + 1) if at not in covered]
        nouns = [at for at in alone if _tag_kind(words[at - 1].xpos) in _NOUNS]
        if nouns:
            return nouns[-1]
        headed = [extent for extent in largest if phrases.is_nominal[extent]]
        spoken = [at for at in alone if any(map(str.isalnum, words[at - 1].form))]
        if headed:
            is_final = any("\u4e00" <= char <= "\u9fff" for char in words[first - 1].form)
            first, last = headed[-1 if is_final else 0]
        elif spoken or not largest:
            return (spoken or alone)[-1]
        else:
            first, last = largest[0]
    return last


def _surface_head(words: Sequence[Word], span: Sequence[int]) -> int:
    forms = [words[i - 1].form for i in span]
    end = next((k for k in range(1, len(span)) if _ends_head(words[span[k] - 1])), len(span))
    while end > 1 and (forms[end - 1] in _TRAILERS or not any(map(str.isalnum, forms[end - 1]))):
        end -= 1
    return span[end - 1]


def _ends_head(word: Word) -> bool:
    """Whether the head of a mention precedes this word: a preposition, relative word or comma."""
    if word.form.lower() in _STOPS - PREPOSITIONS:
        return True
    if word.upos is not None:
        return word.upos == "ADP"
    tag = word.xpos or ""
    if _CGN.fullmatch(tag) or "_" in tag or "+" in tag:
        return tag.startswith(("VZ", "PREP"))
    return word.form.lower() in PREPOSITIONS


def kind_of(words: Sequence[Word], span: Sequence[int], head: int) -> tuple[str, str]:
    """Classify a mention by its head as pronoun, proper or nominal; also return the rule.

    tag: by UPOS, else XPOS. A determiner is a pronoun if it is the whole mention or possessive.
    unknown: nominal, because the tag is in no known set (Penn, the Chinese and Arabic treebanks,
    CGN).
    form (no tags): by a closed list of pronouns, else by capitals, ignoring the sentence's first
    word and sentences all in capitals. Of the mentions described at `head_of`, 96 % have the same
    kind by form as by tag.
    """
    word = words[head - 1]
    alone = len(span) == 1
    if word.upos is not None:
        possessive = "Poss=Yes" in (word.feats or "").split("|")
        if word.upos == "PRON" or (word.upos == "DET" and (alone or possessive)):
            return "pronoun", "tag"
        return ("proper" if word.upos == "PROPN" else "nominal"), "tag"
    if word.xpos is not None:
        kind = _tag_kind(word.xpos)
        if kind is None:
            return "nominal", UNKNOWN
        if kind == "pronoun" or (alone and kind == "determiner"):
            return "pronoun", "tag"
        return ("proper" if kind == "proper" else "nominal"), "tag"
    if word.form.lower() in pronouns() and word.form != "US":  # the country, not the pronoun
        return "pronoun", "form"
    return ("proper" if _is_capitalised(words, head) else "nominal"), "form"


@cache
def _tag_kind(tag: str | None) -> str | None:
    """Return pronoun, proper, noun, determiner or other; None for an unknown tag."""
    if tag is None:
        return None
    if dutch := _CGN.fullmatch(tag):
        if dutch[1] == "VNW":
            return "pronoun"
        if dutch[1] in ("N", "SPEC"):
            is_proper = dutch[2].startswith("eigen" if dutch[1] == "N" else "deeleigen")
            return "proper" if is_proper else "noun"
        return "determiner" if dutch[1] == "LID" else "other"
    if tag not in _TAGS:
        if (arabic := _ARABIC.fullmatch(tag)) is None:
            return None
        if arabic[1] == "NOUN":
            return "proper" if "NOUN_PROP" in tag else "noun"
        return "pronoun" if arabic[1] == "PRON" else "other"
    if tag in _PRONOUN_TAGS:
        return "pronoun"
    if tag in _PROPER_TAGS:
        return "proper"
    if tag in _DETERMINER_TAGS:
        return "determiner"
    return "noun" if tag in _NOMINAL_TAGS else "other"


def _is_capitalised(words: Sequence[Word], head: int) -> bool:
    if head == 1 or not words[head - 1].form[0].isupper():
        return False
    return not all(word.form.isupper() for word in words if word.form[0].isalpha())


# The `Entity=` notation of CorefUD and GUM: `(e1-person-2` opens a mention, `e1)` closes it,
# `(e1-person-1)` is a mention of one word, and `(e5[1/2]-...` the first of two parts of a
# discontinuous mention. `# global.Entity` names the fields between the hyphens. Brackets have the
# entity's id, so mentions may cross. Where no field is an id (Coptic Scriptorium:
# `(place-Alexandria)person)`), they have the first field instead. Older corpora have the id behind
# the type, in both brackets, and not all declare it: `(person-2` and `person-2)` (GUM before 2.8,
# AMALGUM).

# Possessive quantifiers: backtracking over a long value without brackets would take very long.
_CHUNK = re.compile(r"\(([^()]++)(\)?)|([^()]++)\)")
_HEAD_FIELDS = ("head", "minspan")  # of CorefUD and of GUM; if both are declared, head decides
_PART = re.compile(r"(.+)\[([1-9][0-9]{0,3})/([1-9][0-9]{0,3})\]")


@dataclass(frozen=True, slots=True)
class Notation:
    """The order of the fields in an opening bracket: 0-based indices, None if absent."""

    count: int
    entity: int
    type: int | None
    heads: tuple[tuple[str, int], ...]  # the fields that name the head, in order of precedence
    identity: int | None
    is_grouped: bool = True  # whether a field names the entity

    @classmethod
    def parse_declaration(cls, text: str, line: int = 0) -> Notation:
        """Parse the value of `# global.Entity`. Raises FaultError (bad-global-entity)."""
        names = [name.strip() for name in text.split("-")]
        column = {name: at for at, name in enumerate(names)}
        if "" in column or len(column) < len(names):
            fact = f"{text!r} has an empty or repeated field"
            raise FaultError("bad-global-entity", fact, line)
        entity = column.get("eid", column.get("GRP"))
        type = column.get("etype", column.get("entity"))
        heads = tuple((name, column[name]) for name in _HEAD_FIELDS if name in column)
        return cls(len(names), entity or 0, type, heads, column.get("identity"), entity is not None)

    def closed_id(self, text: str) -> str:
        """The id in a closing bracket: all of it, or at its place as in an opening one."""
        values = text.split("-", self.count - 1)
        return values[self.entity] if len(values) > self.entity else values[0]


# The usual order, and that of older corpora.
COREFUD = Notation.parse_declaration("eid-etype-head-other")
TYPE_FIRST = Notation.parse_declaration("etype-eid-other")


def infer_notation(
    cells: Sequence[tuple[int, int, str]],
) -> tuple[Notation, Departure | None] | None:
    """Infer the order of the fields from the first opening bracket of a file that declares none.

    `cells` are as in `entity_spans`. Returns None if they have no bracket of two fields, and with
    the notation a departure if the bracket does not tell which of two fields is the id.
    """
    for _, line, value in cells:
        at = 0
        while chunk := _CHUNK.match(value, at):  # not findall, which searches on behind each "("
            at = chunk.end()
            first, *others = (chunk[1] or "").split("-", 2)
            if not others:
                continue
            opening = chunk[1]
            is_number = others[0].isdecimal()
            if first.isalpha() and is_number:
                return TYPE_FIRST, None
            if first.isalpha() or is_number:
                fact = f"{first[:40]!r} in ({opening[:80]} is taken for the entity"
                fact = f"without # global.Entity, {fact}"
                return COREFUD, Departure("undeclared-entity", fact, line)
            return COREFUD, None
    return None


@dataclass(slots=True)
class _OpenMention:
    """A mention that is being parsed, with the (start, end) of its closed parts, 0-based nodes."""

    entity: str
    values: list[str]
    line: int
    start: int
    parts: int
    parts_opened: int = 1  # parts opened so far
    pieces: list[tuple[int, int]] = field(default_factory=list)

    def field_value(self, index: int | None) -> str | None:
        if index is None or index >= len(self.values) or self.values[index] in ("", "_"):
            return None
        return self.values[index]


class _BracketParser:
    def __init__(self, notation: Notation) -> None:
        self.notation = notation
        self.mentions: list[_OpenMention] = []  # in the order of opening
        self.open: dict[str, list[_OpenMention]] = {}  # by the id as written, with [1/2]
        self.partial: dict[tuple[str, int], list[_OpenMention]] = {}  # between two parts

    def read_cell(self, value: str, node: int, line: int) -> None:
        at = 0
        while chunk := _CHUNK.match(value, at):
            at = chunk.end()
            opening, single, closing = chunk.groups()
            if opening:
                id = self.open_mention(opening, node, line)
                if single:
                    self.close_mention(id, node, line)
            else:
                self.close_mention(self.notation.closed_id(closing), node, line)
        if at != len(value) or not value:
            fact = f"cannot read Entity={value} from {value[at:]!r} on"
            raise FaultError("bad-entity", fact, line)

    def open_mention(self, text: str, node: int, line: int) -> str:
        values = text.split("-", self.notation.count - 1)
        id = values[self.notation.entity] if len(values) > self.notation.entity else ""
        if not id:
            raise FaultError("bad-entity", f"({text} has no entity id", line)
        entity, part, parts = _parse_part(id, line)
        if part == 1:
            mention = _OpenMention(entity, values, line, node, parts)
            self.mentions.append(mention)
        else:
            waiting = self.partial.get((entity, parts), [])
            before = [open_ for open_ in waiting if open_.parts_opened == part - 1]
            if not before:
                fact = f"{id} begins before part {part - 1} has ended"
                raise FaultError("entity-parts", fact, line)
            mention = before[-1]
            waiting.remove(mention)
            mention.parts_opened, mention.start = part, node
        self.open.setdefault(id, []).append(mention)
        return id

    def close_mention(self, id: str, node: int, line: int) -> None:
        mentions = self.open.get(id)
        if not mentions:
            raise FaultError("unbalanced-entity", f"{id}) closes a mention that is not open", line)
        mention = mentions.pop()  # of nested mentions of one entity the inner one ends first
        mention.pieces.append((mention.start, node))
        if mention.parts_opened < mention.parts:
            self.partial.setdefault((mention.entity, mention.parts), []).append(mention)

    def check_closed(self) -> None:
        for mention in chain(*self.open.values()):
            fact = f"the mention of entity {mention.entity} is not closed"
            raise FaultError("unclosed-entity", fact, mention.line)
        for mention in chain(*self.partial.values()):
            fact = f"part {mention.parts_opened + 1} of {mention.parts} of entity {mention.entity}"
            raise FaultError("entity-parts", f"{fact} is missing", mention.line)


def _parse_part(id: str, line: int) -> tuple[str, int, int]:
    """Parse an id such as e5[1/2] into the entity, the part and the number of parts."""
    if "[" not in id:
        return id, 1, 1
    match = _PART.fullmatch(id)
    if not match:
        raise FaultError("entity-parts", f"{id} is not of the form e5[1/2]", line)
    entity, part, parts = match[1], int(match[2]), int(match[3])
    if part > parts:
        raise FaultError("entity-parts", f"part {part} of {parts} of entity {entity}", line)
    return entity, part, parts


def entity_spans(
    cells: Sequence[tuple[int, int, str]], nodes: Sequence[int], notation: Notation
) -> tuple[list[EntitySpan], list[tuple[str, int]]]:
    """Parse the mentions of a sentence, in the order of the text, outer before inner.

    Also returns the entity and the line of each mention of empty nodes alone (dropped pronouns).

    `cells` has, for each node with an Entity, its 0-based index in `nodes`, its line and the value.
    `nodes` has the index of each word in the sentence, and 0 for each empty node, in order. Raises
    FaultError: bad-entity, unbalanced-entity, unclosed-entity, entity-parts, entity-head or
    too-many-mentions.
    """
    if not cells:
        return [], []
    brackets = _BracketParser(notation)
    for node, line, value in cells:
        brackets.read_cell(value, node, line)
    brackets.check_closed()
    sizes = [end + 1 - start for mention in brackets.mentions for start, end in mention.pieces]
    check_covered(sizes, cells[0][1])
    spans = [_entity_span(mention, nodes, notation) for mention in brackets.mentions]
    zeros = [
        (mention.entity, mention.line)
        for mention, span in zip(brackets.mentions, spans, strict=True)
        if not span.words
    ]
    return sorted((s for s in spans if s.words), key=lambda s: (s.words[0], -s.words[-1])), zeros


def cluster_spans(cells: Sequence[tuple[int, int, str]], nodes: Sequence[int]) -> list[EntitySpan]:
    """Parse the mentions of a sentence in the notation of CorefUD 0.x, in the order of the text.

    The head of a mention has `ClusterId=e1|MentionSpan=2-4,6`, that of several mentions
    `ClusterId[1]=...`. `cells` has the 0-based index in `nodes`, the line and MISC of each head;
    `nodes` is as in `entity_spans`. Mentions of empty nodes alone are left out. Raises FaultError
    (bad-entity or too-many-mentions).
    """
    ids: list[str] = []
    word = empty = 0
    for node in nodes:
        word, empty = (node, 0) if node else (word, empty + 1)
        ids.append(f"{word}.{empty}" if empty else str(word))
    places = {id: at for at, id in enumerate(ids)}
    spans: list[EntitySpan] = []
    total = 0
    for node, line, misc in cells:
        values = dict(item.split("=", 1) for item in misc.split("|") if "=" in item)
        for name, entity in values.items():
            attribute, bracket, number = name.partition("[")
            if attribute != "ClusterId":
                continue
            text = values.get(f"MentionSpan{bracket}{number}", ids[node])
            covered: set[int] = set()
            for part in text.split(","):
                first, dash, last = part.partition("-")
                last = last if dash else first
                if not places.get(first, len(ids)) <= places.get(last, -1):
                    fact = f"MentionSpan={text[:100]} names words that the sentence does not have"
                    raise FaultError("bad-entity", fact, line)
                total += places[last] + 1 - places[first]
                if total > MOST_COVERED:
                    fact = f"{len(spans) + 1:,} mentions or more cover {total:,} words"
                    raise FaultError("too-many-mentions", fact, line)
                covered.update(range(places[first], places[last] + 1))
            words = tuple(nodes[at] for at in sorted(covered) if nodes[at])
            if words:
                head = (nodes[node],) if nodes[node] in words else ()
                type = values.get(f"ClusterType{bracket}{number}")
                parts = text.count(",") + 1
                spans.append(EntitySpan(entity, words, head, type, None, parts, "head"))
    return sorted(spans, key=lambda span: (span.words[0], -span.words[-1]))


def _entity_span(mention: _OpenMention, nodes: Sequence[int], notation: Notation) -> EntitySpan:
    covered = [nodes[at] for start, end in mention.pieces for at in range(start, end + 1)]
    words = tuple(index for index in covered if index)
    head, field = _head_words(mention, covered, notation)
    type, identity = mention.field_value(notation.type), mention.field_value(notation.identity)
    identity = unquote(identity) if identity else None
    return EntitySpan(mention.entity, words, head, type, identity, mention.parts, field)


def _head_words(
    mention: _OpenMention, covered: Sequence[int], notation: Notation
) -> tuple[tuple[int, ...], str | None]:
    """Return the words that the source names as the head, and the field that names them.

    The head of CorefUD counts empty nodes, as udapi does. The minspan of GUM counts words alone:
    of "one (10.1 product) or a few products", minspan 5 is `products`.
    """
    for name, column in notation.heads:
        counted = covered if name == "head" else [index for index in covered if index]
        words = set()
        value = mention.field_value(column) if counted else None
        for position in (value or "").split(","):
            is_number = position.isdecimal() and len(position) <= MOST_DIGITS
            if position and not (is_number and 1 <= int(position) <= len(counted)):
                fact = f"{name} {position} in a mention of {len(counted)} words"
                raise FaultError("entity-head", f"{fact} (entity {mention.entity})", mention.line)
            if position and counted[int(position) - 1]:
                words.add(counted[int(position) - 1])
        if words:
            return tuple(sorted(words)), name
    return (), None  # none is named, or an empty node, which is not a word
