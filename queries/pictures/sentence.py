"""One sentence as SVG: two columns of words, joined by lines as strong as the weights.

Every line has the numbers that it stands for in its attributes. All words come from corpora of
other people: they are escaped, and control characters written out.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import polars as pl

from attnbank.queries.directions import is_right_to_left
from attnbank.queries.pictures.theme import Palette, theme_of
from attnbank.sql.extras import need
from attnbank.sql.suggest import shown

ELSEWHERE = -1
"""Stands for a position, in `weights`, where the input holds more than is shown."""


@dataclass(frozen=True)
class Panel:
    """One head over one sentence.

    The frames: `words` (position, text, index, is_special, is_matched) is a row a position that is
    shown, in order; `weights` (from_position, to_position, weight) a row a line, with ELSEWHERE for
    all that is not shown, and null for a weight that is not kept; `gold` (from_position,
    to_position, is_found) a row a gold arc that is asked for; `mentions` (entity, first, last,
    head), in positions, a row a mention of an entity that is mentioned more than once, the entities
    numbered from 0.
    """

    sentence: str
    layer: int
    head: int
    words: pl.DataFrame
    weights: pl.DataFrame
    gold: pl.DataFrame
    mentions: pl.DataFrame

    @property
    def name(self) -> str:
        """Return the head as the paper writes it: 3-1."""
        return f"{self.layer}-{self.head}"

    def largest(self, measure: str) -> float:
        """Return what is drawn as strongest: 1, or the largest there is where norms are drawn."""
        found = self.weights["weight"].max() if measure.endswith("norms") else None
        return float(found) if isinstance(found, float) and found > 0 else 1.0


@dataclass(frozen=True)
class Tree:
    """The words in order, and the place of each one's head (None: the root, or not here).

    Of a tree that was decoded, `wrong` has the places of the words whose arc joins two that no gold
    dependency joins: it is dashed.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int | None, ...]
    relations: tuple[str | None, ...]
    wrong: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Facts:
    """What the titles say: `notes` are sentences, `least` is the smallest weight drawn.

    It is a share of the largest one where norms are drawn (`measure`, as table `run` has it). The
    `trees` have a title each.
    """

    run: str
    model: str
    corpus: str
    measure: str = "weights"
    relation: str | None = None
    direction: str = "dependent_to_head"
    coreference: bool = False
    least: float = 0.01
    notes: tuple[str, ...] = ()
    trees: dict[str, Tree] = field(default_factory=dict)

    @property
    def figure(self) -> str:
        """Return what a figure of the measure is called."""
        if self.measure.endswith("norms"):
            return "norm"
        return "weight" if self.measure == "weights" else "share"


FONT = (
    "'Liberation Sans', Arial, Helvetica, 'Noto Sans', 'Noto Sans Hebrew', 'Noto Sans Arabic',"
    " 'Noto Sans CJK SC', sans-serif"
)
"""The first is the one that vl-convert brings; the others are for what it has no letters of."""
_LONGEST = 40
_ISOLATE, _END = "\u2067", "\u2069"
_SHARES = {
    sign: share
    for share, signs in (
        (0.23, "ijl'|"), (0.28, "ft.,:;!I /[]\\"), (0.35, "r()-`\"*"), (0.5, "ckszvxyJ"),
        (0.56, "abdeghnopqu0123456789L?_#$+=<>~"), (0.62, "FTZ"), (0.67, "ABEKPSVXY&"),
        (0.73, "CDHNRUw"), (0.79, "GOQ"), (0.84, "mM"), (0.95, "W%"), (1.02, "@"),
    )
    for sign in signs
}  # fmt: skip
"""How wide signs are beside the height of their font, in the first of FONT."""


def width(text: str, size: float) -> float:
    """About how wide a text is in a font of that size, in pixels: never much less than it is."""
    return size * sum(map(_share, text))


def _share(sign: str) -> float:
    known = _SHARES.get(sign)
    if known is not None:
        return known
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Cf", "Me", "Mn"):
        return 0.0
    return 1.02 if unicodedata.east_asian_width(sign) in "WF" else 0.65


def isolated(text: str) -> str:
    """A text that runs from right to left, isolated from what stands beside it; others as they are.

    Attribute direction would turn the text's anchor in browsers, and vl-convert does not know it.
    """
    return f"{_ISOLATE}{text}{_END}" if is_right_to_left(text) else text


def written(text: str, longest: int = _LONGEST) -> str:
    """A text as it is drawn: cut if it is very long, control characters written out."""
    told = shown(text)
    return told if len(told) <= longest else f"{told[: longest - 1]}…"


def wrapped(text: str, room: float, size: float) -> Iterator[str]:
    """A text in lines no wider than there is room; a word that is longer has a line of its own."""
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and width(longer, size) > room:
            yield line
            longer = word
        line = longer
    if line:
        yield line


MARGIN = 16.0
GUTTER = 28.0
"""Between two panels."""
LANE = 14.0
"""For the bar of a mention, of which one that stands in another has a lane of its own."""
_WIDEST = 1240.0
ELSEWHERE_TEXT = "elsewhere in the input"


@dataclass(frozen=True)
class Scale:
    """The sizes of a panel: of its letters, from row to row, and from column to column."""

    font: float
    row: float
    across: float
    title: float


LARGE = Scale(font=14.0, row=21.0, across=120.0, title=15.0)
SMALL = Scale(font=9.0, row=12.5, across=58.0, title=11.0)


@dataclass(frozen=True)
class Place:
    """Where a panel stands, and what stands where in it.

    `left` and `right` are the x of the inner edges of the columns, `column` their width, `rows` the
    y of the middle of each position (ELSEWHERE below them), `lanes` those of mentions at a column.
    """

    panel: Panel
    scale: Scale
    width: float
    height: float
    left: float
    right: float
    column: float
    rows: dict[int, float]
    lanes: int
    x: float = 0.0
    y: float = 0.0


def lanes_of(panel: Panel) -> list[int]:
    """The lane of each mention: the first in which no other one stands at the same place."""
    ends: list[list[tuple[int, int]]] = []
    found = []
    for _, first, last, _ in panel.mentions.rows():
        lane = next(
            (at for at, taken in enumerate(ends) if all(last < a or b < first for a, b in taken)),
            len(ends),
        )
        if lane == len(ends):
            ends.append([])
        ends[lane].append((first, last))
        found.append(lane)
    return found


def places(panels: Sequence[Panel], top: float) -> list[Place]:
    """The panels in rows, a sentence's together; over four of one, or six, they are small."""
    sentences = list(dict.fromkeys(each.sentence for each in panels))
    of_each = max(sum(each.sentence == name for each in panels) for name in sentences)
    scale = SMALL if of_each > 4 or len(panels) > 6 else LARGE
    sized = [_sized(each, scale, is_titled=len(panels) > 1) for each in panels]
    found: list[Place] = []
    y = top
    for row in _rows(sized, breaks=of_each > 1):
        x = MARGIN
        for each in row:
            found.append(replace(each, x=x, y=y))
            x += each.width + GUTTER
        y += max(each.height for each in row) + GUTTER * 0.8
    return found


def _rows(sized: Sequence[Place], *, breaks: bool) -> Iterator[Sequence[Place]]:
    """Rows of panels that fit, about as many in each; with `breaks` a sentence begins one."""
    groups: dict[str, list[Place]] = {}
    for each in sized:
        groups.setdefault(each.panel.sentence if breaks else "", []).append(each)
    for group in groups.values():
        fit = 1
        for count in range(1, len(group) + 1):
            parts = [group[at : at + count] for at in range(0, len(group), count)]
            if all(sum(each.width + GUTTER for each in row) <= _WIDEST for row in parts):
                fit = count
        count = math.ceil(len(group) / math.ceil(len(group) / fit))
        yield from (group[at : at + count] for at in range(0, len(group), count))


def _sized(panel: Panel, scale: Scale, *, is_titled: bool, has_rest: bool = False) -> Place:
    texts = [written(text) for text in panel.words["text"]]
    column = max((width(text, scale.font) for text in texts), default=0.0) + 8
    has_rest = has_rest or ELSEWHERE in panel.weights["to_position"]
    beyond = max(column, width(ELSEWHERE_TEXT, scale.font) + 8) if has_rest else column
    lanes = max(lanes_of(panel), default=-1) + 1
    room = lanes * LANE
    head = scale.title * 1.8 if is_titled else 0.0
    rows = {
        position: head + (at + 0.5) * scale.row
        for at, position in enumerate(panel.words["position"])
    }
    if has_rest:
        rows[ELSEWHERE] = head + (len(texts) + 0.9) * scale.row
    return Place(
        panel=panel,
        scale=scale,
        width=room + column + scale.across + max(beyond, column + room),
        height=head + (len(texts) + (1.4 if has_rest else 0)) * scale.row,
        left=room + column,
        right=room + column + scale.across,
        column=column,
        rows=rows,
        lanes=lanes,
    )


_TITLE = 17.0
_NOTE = 12.0
_NARROWEST = 520.0
_DASHED = "5 3"
_LONGEST_NAME = 80
_FAINTEST = 0.45
"""How strong a line of a gold arc or to an antecedent is at least, so that misses are seen."""


def draw(panels: Sequence[Panel], facts: Facts, theme: str = "light") -> str:
    """Draw the panels as one SVG document. Raises CallError for an unknown theme."""
    colours = theme_of(theme).sentence
    wide = max(place.x + place.width for place in places(panels, 0.0)) + MARGIN
    trees = [tree_width(tree) + 2 * MARGIN for tree in facts.trees.values()]
    wide = max(wide, _NARROWEST, *trees)
    title = _title(panels)
    parts, y = [], MARGIN
    for line in wrapped(title, wide - 2 * MARGIN, _TITLE):
        y += _TITLE * 1.25
        parts.append(_text(line, MARGIN, y, _TITLE, colours.text, bold=True))
    y += 4
    for note in notes(panels, facts):
        for line in wrapped(note, wide - 2 * MARGIN, _NOTE):
            y += _NOTE * 1.4
            parts.append(_text(line, MARGIN, y, _NOTE, colours.faint))
    if facts.relation is not None:
        legend, y = _legend(facts, y, wide - 2 * MARGIN, colours)
        parts += legend
    y += GUTTER * 0.6
    for name, tree in facts.trees.items():
        if len(facts.trees) > 1:
            for line in wrapped(shown(name), wide - 2 * MARGIN, _NOTE):
                y += _NOTE * 1.4
                parts.append(_text(line, MARGIN, y, _NOTE, colours.faint))
            y += _NOTE * 0.5
        drawn, height = drawn_tree(tree, MARGIN, y, wide - 2 * MARGIN, colours)
        parts.append(drawn)
        y += height + GUTTER * 0.5
    placed = places(panels, y)
    for number, (place, name) in enumerate(zip(placed, _panel_titles(panels), strict=True)):
        parts.append(_panel(place, number, name, facts, colours))
    high = max(place.y + place.height for place in placed) + MARGIN
    told = " ".join(notes(panels, facts))
    drawn = _element(
        "svg",
        _element("title", _plain(title)),
        _element("desc", _plain(told)),
        _element("rect", width="100%", height="100%", fill=colours.ground),
        *parts,
        xmlns="http://www.w3.org/2000/svg", width=f"{wide:.0f}", height=f"{high:.0f}",
        viewBox=f"0 0 {wide:.0f} {high:.0f}", font_family=escape(FONT), role="img",
    )  # fmt: skip
    return f"{drawn}\n"


def frame(panel: Panel, *, has_rest: bool = False, theme: str = "light") -> str:
    """A panel alone as SVG, without title and notes, for a page that draws its lines.

    With `has_rest` there is a place for what is looked at elsewhere in the input. Raises CallError
    for an unknown theme.
    """
    colours = theme_of(theme).sentence
    place = replace(_sized(panel, LARGE, is_titled=False, has_rest=has_rest), x=MARGIN, y=MARGIN)
    wide, high = place.width + 2 * MARGIN, place.height + 2 * MARGIN
    return _element(
        "svg",
        _element("rect", width="100%", height="100%", fill=colours.ground),
        _panel(place, 0, "", Facts("", "", ""), colours),
        xmlns="http://www.w3.org/2000/svg", width=f"{wide:.0f}", height=f"{high:.0f}",
        viewBox=f"0 0 {wide:.0f} {high:.0f}", font_family=escape(FONT), role="img",
    )  # fmt: skip


def _element(name: str, /, *content: str, **attributes: Any) -> str:
    """An element of SVG from escaped texts; a float is in pixels, None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="'
        f'{f"{value:.1f}" if isinstance(value, float) else value}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(content)}</{name}>" if content else f"<{name}{given}/>"


def notes(panels: Sequence[Panel], facts: Facts) -> Iterator[str]:
    """Return the lines below the title: whose attention it is, and what is drawn how."""
    yield f"Run {facts.run}: model {facts.model}, corpus {facts.corpus}."
    what = facts.figure
    drawn = f"The stronger a line, the larger the {what}, from the left word to the right one"
    least = f"{facts.least:g}{' of the largest' if what == 'norm' else ''}"
    yield f"{drawn}; {what}s under {least} are not drawn." if facts.least else f"{drawn}."
    if facts.measure != "weights":
        yield f"The measure is {facts.measure}, not attention weights."
    if facts.relation is not None:
        yield f"Gold arcs are drawn whatever their {what} is."
    if facts.coreference:
        if any(each.mentions.height for each in panels):
            yield (
                "Bars of one colour and letter are mentions of one entity. Lines from a mention to"
                " one before it have its colour, and are drawn whatever their weight is."
            )
        else:
            yield "No entity is mentioned twice here."
    if any(panel.words["is_matched"].any() for panel in panels):
        yield "The words that the request matched have a coloured ground."
    yield from facts.notes


def _title(panels: Sequence[Panel]) -> str:
    heads = list(dict.fromkeys(each.name for each in panels))
    sentences = list(dict.fromkeys(each.sentence for each in panels))
    layers = {each.layer for each in panels}
    if len(heads) == 1:
        those = f"Head {heads[0]}"
    elif len(heads) > 4 and len(layers) == 1:
        those = f"The {len(heads)} heads of layer {layers.pop()}"
    else:
        those = f"Heads {', '.join(heads)}"
    where = sentences[0] if len(sentences) == 1 else f"{len(sentences)} sentences"
    where = f"sentence {where}" if where.isdecimal() else where
    return f"{those} on {written(where, _LONGEST_NAME)}"


def _legend(facts: Facts, top: float, room: float, colours: Palette) -> tuple[list[str], float]:
    arcs = "Gold arc" if facts.relation == "all" else f"Gold {written(facts.relation or '')}"
    way = facts.direction.replace("_", " ")
    parts, x, y = [], 0.0, top + _NOTE * 1.7
    for dash, told in (
        (None, f"{arcs}, {way}: the word that is looked at most"),
        (_DASHED, "another word is looked at more"),
    ):
        taken = 32 + width(told, _NOTE)
        if x and x + taken > room:
            x, y = 0.0, y + _NOTE * 1.5
        parts.append(
            _element("line", x1=MARGIN + x, y1=y - 4, x2=MARGIN + x + 26, y2=y - 4,
                     stroke=colours.gold, stroke_width="2.5", stroke_dasharray=dash)
        )  # fmt: skip
        parts.append(_text(told, MARGIN + x + 32, y, _NOTE, colours.faint))
        x += taken + 18
    return parts, y


def _panel(place: Place, number: int, title: str, facts: Facts, colours: Palette) -> str:
    panel, scale = place.panel, place.scale
    parts = []
    if title:
        middle = place.left + scale.across / 2
        parts.append(
            _text(title, middle, scale.title, scale.title, colours.text, anchor="middle", bold=True)
        )
    parts += _mentions(place, colours)
    lines = _lines(place, facts, colours)
    for position, text, index, is_special, is_matched in panel.words.rows():
        colour = colours.faint if is_special else colours.text
        shared = (written(text), place.rows[position], scale.font, colour)
        ground = colours.mark if is_matched else None
        at = {"data_position": position, "data_index": index}
        left = _word(*shared, place.left - 5, "end", ground)
        parts.append(_element("g", *lines.get(position, []), left, class_="from", **at))
        parts.append(_word(*shared, place.right + 5, "start", ground, class_="to", **at))
    if ELSEWHERE in place.rows:
        parts.append(
            _word(ELSEWHERE_TEXT, place.rows[ELSEWHERE], scale.font, colours.faint,
                  place.right + 5, "start", None, class_="to", data_position="elsewhere")
        )  # fmt: skip
    return _element(
        "g", *parts, id=f"panel{number}", class_="panel",
        transform=f"translate({place.x:.1f} {place.y:.1f})",
        data_sentence=_plain(panel.sentence), data_layer=panel.layer, data_head=panel.head,
    )  # fmt: skip


def _lines(place: Place, facts: Facts, colours: Palette) -> dict[int, list[str]]:
    """The lines of a panel by where they begin, as strong and thick as their weights."""
    panel = place.panel
    gold = {(a, b): found for a, b, found in panel.gold.rows()}
    heads = panel.mentions.select("entity", "head").rows()
    # The entity of each pair of head words: of a mention, and of one before it.
    entity = {(a, b): one for one, a in heads for other, b in heads if one == other and b < a}
    special = set(panel.words.filter(panel.words["is_special"])["position"]) | {ELSEWHERE}
    lines: dict[int, list[str]] = {}
    largest = panel.largest(facts.measure)
    for start, end, kept in panel.weights.rows():
        weight = kept or 0.0  # null where it is not kept
        arc = gold.get((start, end))
        is_marked = arc is not None or (start, end) in entity
        if weight / largest < facts.least and not is_marked:
            continue
        colour = colours.faint_line if start in special or end in special else colours.line
        if (start, end) in entity:
            colour = colours.entity(entity[start, end])
        if arc is not None:
            colour = colours.gold
        strength = max(min(weight / largest, 1.0), _FAINTEST if is_marked else 0.0)
        thick = (0.5 + 2.5 * strength) * (place.scale.font / 14) ** 0.5
        line = _element(
            "line", class_="line", x1=place.left, y1=place.rows[start], x2=place.right,
            y2=place.rows[end], stroke=colour, stroke_opacity=f"{strength:.3f}",
            stroke_width=f"{thick:.2f}", stroke_linecap="round",
            stroke_dasharray=_DASHED if arc is False else None,
            data_from=start, data_to="elsewhere" if end == ELSEWHERE else end,
            data_weight=None if kept is None else f"{weight:.9g}",
            data_gold=None if arc is None else "found" if arc else "missed",
        )  # fmt: skip
        lines.setdefault(start, []).append(line)
    return lines


def _panel_titles(panels: Sequence[Panel]) -> list[str]:
    has_heads = len({each.name for each in panels}) > 1
    has_sentences = len({each.sentence for each in panels}) > 1
    return [
        "  ".join([each.name] * has_heads + [written(each.sentence)] * has_sentences)
        for each in panels
    ]


def letter(number: int) -> str:
    """The letter of an entity, for those who see no colours: A to Z, then A1 and on."""
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")


def _mentions(place: Place, colours: Palette) -> Iterator[str]:
    scale = place.scale
    for (entity, first, last, head), lane in zip(
        place.panel.mentions.rows(), lanes_of(place.panel), strict=True
    ):
        colour = colours.entity(entity)
        top = place.rows[first] - scale.row * 0.4
        bottom = place.rows[last] + scale.row * 0.4
        aside = LANE * (lane + 0.5)
        for x in (place.lanes * LANE - aside, place.right + place.column + aside - 4):
            yield _element(
                "rect", class_="mention", x=x - 1.5, y=top, width=3, height=bottom - top, rx="1.5",
                fill=colour, data_entity=entity, data_first=first, data_last=last, data_head=head,
            )  # fmt: skip
            yield _text(letter(entity), x + 2.5, place.rows[head] + scale.font * 0.3,
                        scale.font * 0.72, colour, bold=True)  # fmt: skip


def _word(
    text: str, y: float, size: float, colour: str, x: float, anchor: str, ground: str | None,
    **attributes: Any,
) -> str:  # fmt: skip
    """A word beside its column, `anchor` the end that stands at x, whatever way it runs."""
    box = ""
    if ground is not None:
        wide = width(text, size) + 4
        left = x - wide + 2 if anchor == "end" else x - 2
        box = _element("rect", x=left, y=y - size * 0.68, width=wide, height=size * 1.36, rx=2,
                       fill=ground)  # fmt: skip
    return box + _text(text, x, y + size * 0.35, size, colour, anchor=anchor, **attributes)


def _text(
    text: str, x: float, y: float, size: float, colour: str, *, anchor: str = "start",
    bold: bool = False, **attributes: Any,
) -> str:  # fmt: skip
    return _element(
        "text", escape(isolated(text)), x=x, y=y, font_size=f"{size:g}", fill=colour,
        text_anchor=None if anchor == "start" else anchor, font_weight="bold" if bold else None,
        **{"xml:space": "preserve"}, **attributes,
    )  # fmt: skip


def _plain(text: str) -> str:
    """A text for an attribute or a title: escaped, and without what XML does not have."""
    return escape("".join(each if each.isprintable() else " " for each in text))


_ARC, _LINE = '<g class="displacy-arrow">', '<path class="displacy-arc"'
LEAST = 0.55
"""A tree is made no smaller than this share of displaCy's size, so that it can be read."""


def tree_width(tree: Tree) -> float:
    """Return how many pixels wide a picture must be for a tree, margins left out."""
    start, distance = _tree_sizes(tree)
    return LEAST * (start + len(tree.words) * distance)


def _tree_sizes(tree: Tree) -> tuple[int, int]:
    longest = max((len(written(word)) for word in tree.words), default=1)
    return max(60, 6 * longest), min(190, max(95, 11 * longest))


def drawn_tree(tree: Tree, x: float, y: float, room: float, colours: Palette) -> tuple[str, float]:
    """The tree as SVG within the room, and its height in pixels. Raises MissingPackageError."""
    need("A tree", "spacy", "spacy")
    from spacy import displacy

    arcs, drawn_words = [], []
    for at, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True)):
        if head is not None and head != at:
            way = "left" if at < head else "right"
            label = escape(written(relation or ""))
            arcs.append({"start": min(at, head), "end": max(at, head), "label": label, "dir": way})
            drawn_words.append(at)
    start, distance = _tree_sizes(tree)
    options: dict[str, Any] = {
        "compact": True, "distance": distance, "word_spacing": 34,
        "arrow_spacing": 12, "offset_x": start,
        "color": colours.text, "bg": colours.ground,
        "font": "Liberation Sans, Arial, sans-serif",
    }  # fmt: skip
    words = [
        {"text": isolated(written(word)), "tag": escape(written(tag))}
        for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    drawn = displacy.render(
        {"words": words, "arcs": arcs}, style="dep", manual=True, jupyter=False, options=options
    )
    drawn = re.sub(r"[0-9a-f]{32}(?=-)", f"tree{y:.0f}", drawn)  # the same picture every time
    drawn = _dashed(drawn, [at in tree.wrong for at in drawn_words], colours)
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', drawn)
    assert size is not None, "displaCy gives an SVG with its size"
    wide, bottom = float(size[1]), float(size[2])
    heights = re.findall(r'd="M[\d.-]+,([\d.-]+) L?[\d.-]+,([\d.-]+)', drawn)
    top = min((float(each) for pair in heights for each in pair), default=bottom - 100) - 12
    scale = min(1.0, room / wide)
    high = bottom - top
    element = drawn.replace(
        size[0],
        f'x="{x:.1f}" y="{y:.1f}" width="{wide * scale:.1f}" height="{high * scale:.1f}"'
        f' viewBox="0 {top:.0f} {wide:.0f} {high:.0f}"',
        1,
    )
    return element, high * scale


def _dashed(drawn: str, wrong: Sequence[bool], colours: Palette) -> str:
    """What displaCy drew, with the wrong ones of its arcs, which are in order, faint and dashed."""
    before, *arcs = drawn.split(_ARC)
    marked = [
        each.replace(_LINE, f'{_LINE} stroke-dasharray="{_DASHED}"').replace(
            "currentColor", colours.faint
        )
        if is_wrong
        else each
        for each, is_wrong in zip(arcs, wrong, strict=True)
    ]
    return _ARC.join([before, *marked])


def page(panels: Sequence[Panel], facts: Facts, theme: str = "light") -> str:
    """Draw the panels as an HTML document. Raises CallError for an unknown theme."""
    drawn = draw(panels, facts, theme)
    title = drawn[drawn.index("<title>") + len("<title>") : drawn.index("</title>")]
    rules = "".join(_rules(panels))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>"
        f"body{{margin:0;background:{theme_of(theme).sentence.ground}}}"
        "svg{display:block;max-width:100%;height:auto}"
        ".from text,.to{cursor:default}"
        f"{rules}</style></head><body>\n{drawn}</body></html>\n"
    )


def _rules(panels: Sequence[Panel]) -> Iterator[str]:
    """Which lines go when a word is pointed at: those that do not begin, or do not end, there."""
    yield ".panel:has(.from>text:hover) .from:not(:hover) .line{visibility:hidden}"
    ends = {place for panel in panels for place in panel.weights["to_position"]}
    for place in sorted(ends):
        to = "elsewhere" if place == ELSEWHERE else str(place)
        yield (
            f'.panel:has(.to[data-position="{to}"]:hover) .line:not([data-to="{to}"])'
            "{visibility:hidden}"
        )
