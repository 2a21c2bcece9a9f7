"""Coreference in the MISC column of CoNLL-U: the `Entity=` notation of CorefUD and GUM.

`(e1-person-2` opens a mention, `e1)` closes it, `(e1-person-1)` is a mention of one word, and
`(e5[1/2]-...` the first of two parts of a discontinuous mention. `# global.Entity` names the
fields between the hyphens. Brackets have the entity's id, so mentions may cross. Where no field is
an id (Coptic Scriptorium: `(place-Alexandria)person)`), they have the first field instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from urllib.parse import unquote

from attnbank.ingest.corpora.bounds import MOST_DIGITS
from attnbank.ingest.corpora.document import FaultError
from attnbank.ingest.corpora.mentions import EntitySpan, check_covered

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


COREFUD = Notation.parse_declaration("eid-etype-head-other")  # where no global.Entity is declared


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
                self.close_mention(closing.partition("-")[0], node, line)
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
    brackets = _BracketParser(notation)
    for node, line, value in cells:
        brackets.read_cell(value, node, line)
    brackets.check_closed()
    sizes = [end + 1 - start for mention in brackets.mentions for start, end in mention.pieces]
    check_covered(sizes, cells[0][1] if cells else 0)
    spans = [_entity_span(mention, nodes, notation) for mention in brackets.mentions]
    zeros = [
        (mention.entity, mention.line)
        for mention, span in zip(brackets.mentions, spans, strict=True)
        if not span.words
    ]
    return sorted((s for s in spans if s.words), key=lambda s: (s.words[0], -s.words[-1])), zeros


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
