"""Coreference in the MISC column of CoNLL-U: the `Entity=` notation of CorefUD and GUM.

`(e1-person-2` opens a mention, `e1)` closes it, `(e1-person-1)` is a mention of one word, and
`(e5[1/2]-...` the first of two parts of a discontinuous mention. `# global.Entity` names the
fields between the hyphens. Brackets carry the entity's id, so mentions may cross.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from attnbank.ingest.corpora.bounds import MOST_DIGITS, check_covered
from attnbank.ingest.corpora.faults import SentenceError
from attnbank.ingest.corpora.mentions import EntitySpan

# Possessive, and matched from a place on: a long value without brackets would take for ever.
_CHUNK = re.compile(r"\(([^()]++)(\)?)|([^()]++)\)")
_HEAD_FIELDS = ("head", "minspan")  # CorefUD's and GUM's; of both, the one that means the head
_PART = re.compile(r"(.+)\[([1-9][0-9]{0,3})/([1-9][0-9]{0,3})\]")


@dataclass(frozen=True, slots=True)
class Notation:
    """Where the fields of an opening bracket stand: 0-based places, None if absent."""

    count: int
    entity: int
    type: int | None
    heads: tuple[tuple[str, int], ...]  # the fields that name the head, first the one that decides
    identity: int | None

    @classmethod
    def declared(cls, text: str) -> Notation:
        """Read the value of `# global.Entity`. Raises SentenceError: bad-global-entity."""
        names = [name.strip() for name in text.split("-")]
        place = {name: at for at, name in enumerate(names)}
        entity = place.get("eid", place.get("GRP"))
        if "" in place or len(place) < len(names):
            raise SentenceError("bad-global-entity", f"{text!r} has an empty or a repeated field")
        if entity is None:
            raise SentenceError("bad-global-entity", f"{text!r} names neither eid nor GRP")
        type = place.get("etype", place.get("entity"))
        heads = tuple((name, place[name]) for name in _HEAD_FIELDS if name in place)
        return cls(len(names), entity, type, heads, place.get("identity"))


COREFUD = Notation.declared("eid-etype-head-other")  # where no global.Entity is declared


@dataclass(slots=True)
class _Open:
    """A mention on its way: the pieces (start, end) of it that are closed, 0-based nodes."""

    entity: str
    values: list[str]
    line: int
    order: int  # of opening, among the brackets of the sentence
    start: int
    parts: int = 1
    begun: int = 1  # parts opened so far
    pieces: list[tuple[int, int]] = field(default_factory=list)


class _Brackets:
    """Follows the brackets of one sentence."""

    def __init__(self, notation: Notation) -> None:
        self.notation = notation
        self.open: dict[str, list[_Open]] = {}  # by the id as written, with [1/2]
        self.partial: dict[tuple[str, int], list[_Open]] = {}  # between two parts
        self.done: list[_Open] = []
        self.opened = 0

    def read(self, value: str, node: int, line: int) -> None:
        at = 0
        while chunk := _CHUNK.match(value, at):
            at = chunk.end()
            opening, single, closing = chunk.groups()
            if opening:
                id = self.begin(opening, node, line)
                if single:
                    self.end(id, node, line)
            else:
                self.end(closing.partition("-")[0], node, line)
        if at != len(value) or not value:
            raise SentenceError(
                "bad-entity", f"Entity={value} cannot be read at {value[at:]!r}", line
            )

    def begin(self, text: str, node: int, line: int) -> str:
        values = text.split("-", self.notation.count - 1)
        id = values[self.notation.entity] if len(values) > self.notation.entity else ""
        if not id:
            raise SentenceError("bad-entity", f"({text} has no entity id", line)
        self.opened += 1
        if "[" not in id:
            mention = _Open(id, values, line, self.opened, node)
        else:
            mention = self.begin_part(id, values, node, line)
        self.open.setdefault(id, []).append(mention)
        return id

    def begin_part(self, id: str, values: list[str], node: int, line: int) -> _Open:
        match = _PART.fullmatch(id)
        if not match:
            raise SentenceError("entity-parts", f"{id} is not of the shape e5[1/2]", line)
        entity, part, parts = match[1], int(match[2]), int(match[3])
        if part > parts:
            raise SentenceError("entity-parts", f"part {part} of {parts} of entity {entity}", line)
        if part == 1:
            return _Open(entity, values, line, self.opened, node, parts)
        waiting = self.partial.get((entity, parts), [])
        for mention in reversed(waiting):
            if mention.begun == part - 1:
                waiting.remove(mention)
                mention.begun, mention.start = part, node
                return mention
        raise SentenceError("entity-parts", f"{id} begins, but part {part - 1} has not ended", line)

    def end(self, id: str, node: int, line: int) -> None:
        mentions = self.open.get(id)
        if not mentions:
            raise SentenceError(
                "unbalanced-entity", f"{id}) closes a mention that is not open", line
            )
        mention = mentions.pop()  # of nested mentions of one entity the inner one ends first
        mention.pieces.append((mention.start, node))
        if mention.begun == mention.parts:
            self.done.append(mention)
        else:
            self.partial.setdefault((mention.entity, mention.parts), []).append(mention)

    def finish(self) -> list[_Open]:
        for mentions in self.open.values():
            for mention in mentions:
                fact = f"the mention of entity {mention.entity} is not closed"
                raise SentenceError("unclosed-entity", fact, mention.line)
        for mentions in self.partial.values():
            for mention in mentions:
                fact = f"entity {mention.entity} lacks part {mention.begun + 1} of {mention.parts}"
                raise SentenceError("entity-parts", fact, mention.line)
        return sorted(self.done, key=lambda mention: mention.order)


def entity_spans(
    cells: Sequence[tuple[int, int, str]], nodes: Sequence[int], notation: Notation
) -> list[EntitySpan]:
    """Read the mentions of a sentence, outer before inner, in the order of the text.

    Args:
        cells: for each node with an Entity its 0-based place in `nodes`, its line and the value.
        nodes: for each word its index in the sentence and for each empty node 0, as they stand.
        notation: the fields, from `# global.Entity`.

    Raises:
        SentenceError: bad-entity, unbalanced-entity, unclosed-entity, entity-parts, entity-head or
            too-many-mentions.

    Mentions of empty nodes alone (dropped pronouns) are left out: no word stands for them.

    """
    brackets = _Brackets(notation)
    for node, line, value in cells:
        brackets.read(value, node, line)
    mentions = brackets.finish()
    sizes = [end + 1 - start for mention in mentions for start, end in mention.pieces]
    check_covered(sizes, cells[0][1] if cells else 0)
    spans = [_span(mention, nodes, notation) for mention in mentions]
    return sorted((s for s in spans if s.words), key=lambda s: (s.words[0], -s.words[-1]))


def _span(mention: _Open, nodes: Sequence[int], notation: Notation) -> EntitySpan:
    covered = [nodes[at] for start, end in mention.pieces for at in range(start, end + 1)]
    head, field = _head(mention, covered, notation)
    identity = _value(mention, notation.identity)
    return EntitySpan(
        entity=mention.entity,
        words=tuple(index for index in covered if index),
        head=head,
        head_field=field,
        type=_value(mention, notation.type),
        identity=unquote(identity) if identity else None,
        parts=mention.parts,
    )


def _head(
    mention: _Open, covered: Sequence[int], notation: Notation
) -> tuple[tuple[int, ...], str | None]:
    """The words that the source names as the head, and the field that names them.

    The head of CorefUD counts empty nodes, as udapi does. The minspan of GUM counts words alone:
    of "one (10.1 product) or a few products", minspan 5 is `products`.
    """
    for name, place in notation.heads:
        counted = covered if name == "head" else [index for index in covered if index]
        words = []
        value = _value(mention, place) if counted else None
        for position in (value or "").split(","):
            is_number = position.isdecimal() and len(position) <= MOST_DIGITS
            if position and not (is_number and 1 <= int(position) <= len(counted)):
                fact = f"{name} {position} in a mention of {len(counted)} words"
                raise SentenceError(
                    "entity-head", f"{fact} (entity {mention.entity})", mention.line
                )
            if position and counted[int(position) - 1]:
                words.append(counted[int(position) - 1])
        if words:
            return tuple(sorted(set(words))), name
    return (), None  # none is named, or an empty node, which is no word


def _value(mention: _Open, place: int | None) -> str | None:
    if place is None or place >= len(mention.values):
        return None
    value = mention.values[place]
    return None if value in ("", "_") else value
