"""Panels as SVG. Every line has the numbers that it stands for in its attributes.

All words come from corpora of other people: they are escaped, and control characters written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from attnbank.queries.pictures.sentence.layout import (
    ELSEWHERE_TEXT,
    GUTTER,
    LANE,
    MARGIN,
    Place,
    lanes_of,
    places,
)
from attnbank.queries.pictures.sentence.palette import Palette, letter, palette
from attnbank.queries.pictures.sentence.panel import ELSEWHERE, Facts, Panel
from attnbank.queries.pictures.sentence.text import (
    FONT,
    isolated,
    width,
    wrapped,
    written,
)
from attnbank.queries.pictures.sentence.tree import drawn_tree, tree_width

_TITLE = 17.0
_NOTE = 12.0
_NARROWEST = 520.0
_LONGEST_NAME = 80
_FAINTEST = 0.45
"""How strong a line of a gold arc or to an antecedent is at least, so that misses are seen."""


def draw(panels: Sequence[Panel], facts: Facts, theme: str = "light") -> str:
    """Draw the panels as one SVG document. Raises CallError for an unknown theme."""
    colours = palette(theme)
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
            y += _NOTE
            parts.append(_text(f"The tree of {written(name)}", MARGIN, y, _NOTE, colours.faint))
            y += _NOTE * 0.5
        drawn, height = drawn_tree(tree, MARGIN, y, wide - 2 * MARGIN, colours)
        parts.append(drawn)
        y += height + GUTTER * 0.5
    placed = places(panels, y)
    for number, (place, name) in enumerate(zip(placed, _panel_titles(panels), strict=True)):
        parts += _panel(place, number, name, facts, colours)
    high = max(place.y + place.height for place in placed) + MARGIN
    told = " ".join([*notes(panels, facts)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}"'
        f' viewBox="0 0 {wide:.0f} {high:.0f}" font-family="{escape(FONT)}" role="img">'
        f"<title>{_plain(title)}</title><desc>{_plain(told)}</desc>"
        f'<rect width="100%" height="100%" fill="{colours.ground}"/>' + "".join(parts) + "</svg>\n"
    )


def notes(panels: Sequence[Panel], facts: Facts) -> Iterator[str]:
    """Return the lines below the title: whose attention it is, and what is drawn how."""
    yield f"Run {facts.run}: model {facts.model}, corpus {facts.corpus}."
    drawn = "The stronger a line, the larger the weight, from the left word to the right one"
    yield f"{drawn}; weights under {facts.least:g} are not drawn." if facts.least else f"{drawn}."
    if facts.relation is not None:
        yield "Gold arcs are drawn whatever their weight is."
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
    """The two kinds of gold arcs, found by the head and missed; and where they end below."""
    arcs = "Gold arc" if facts.relation == "all" else f"Gold {written(facts.relation or '')}"
    way = "head to dependent" if facts.direction == "head_to_dependent" else "dependent to head"
    parts, x, y = [], 0.0, top + _NOTE * 1.7
    for dash, told in (
        ("", f"{arcs}, {way}: the word that is looked at most"),
        (' stroke-dasharray="5 3"', "another word is looked at more"),
    ):
        taken = 32 + width(told, _NOTE)
        if x and x + taken > room:
            x, y = 0.0, y + _NOTE * 1.5
        parts.append(
            f'<line x1="{MARGIN + x:.1f}" y1="{y - 4:.1f}" x2="{MARGIN + x + 26:.1f}"'
            f' y2="{y - 4:.1f}" stroke="{colours.gold}" stroke-width="2.5"{dash}/>'
        )
        parts.append(_text(told, MARGIN + x + 32, y, _NOTE, colours.faint))
        x += taken + 18
    return parts, y


def _panel(place: Place, number: int, title: str, facts: Facts, colours: Palette) -> Iterator[str]:
    panel, scale = place.panel, place.scale
    yield (
        f'<g id="panel{number}" class="panel" transform="translate({place.x:.1f} {place.y:.1f})"'
        f' data-sentence="{_plain(panel.sentence)}" data-layer="{panel.layer}"'
        f' data-head="{panel.head}">'
    )
    if title:
        middle = place.left + scale.across / 2
        yield _text(title, middle, scale.title, scale.title, colours.text, anchor="middle",
                    bold=True)  # fmt: skip
    yield from _mentions(place, colours)
    gold = {(a, b): found for a, b, found in panel.gold.rows()}
    entity = _entity_lines(panel)
    special = set(panel.words.filter(panel.words["is_special"])["position"]) | {ELSEWHERE}
    lines: dict[int, list[str]] = {}
    for start, end, weight in panel.weights.rows():
        arc = gold.get((start, end))
        is_marked = arc is not None or (start, end) in entity
        if weight < facts.least and not is_marked:
            continue
        is_faint = start in special or end in special
        colour = colours.faint_line if is_faint else colours.line
        if (start, end) in entity:
            colour = colours.entity(entity[start, end])
        if arc is not None:
            colour = colours.gold
        lines.setdefault(start, []).append(
            _line(place, start, end, weight, arc, colour, is_marked=is_marked)
        )
    for position, text, index, is_special, is_matched in panel.words.rows():
        colour = colours.faint if is_special else colours.text
        shared = (written(text), place.rows[position], scale.font, colour)
        ground = colours.mark if is_matched else None
        at = f' data-position="{position}"' + ("" if index is None else f' data-index="{index}"')
        yield f'<g class="from"{at}>'
        yield from lines.get(position, [])
        yield _word(*shared, place.left - 5, "end", ground, "")
        yield "</g>"
        yield _word(*shared, place.right + 5, "start", ground, f' class="to"{at}')
    if ELSEWHERE in place.rows:
        yield _word(ELSEWHERE_TEXT, place.rows[ELSEWHERE], scale.font, colours.faint,
                    place.right + 5, "start", None,
                    ' class="to" data-position="elsewhere"')  # fmt: skip
    yield "</g>"


def _panel_titles(panels: Sequence[Panel]) -> list[str]:
    """What tells each panel from the others: its head, its sentence, or both; nothing for one."""
    has_heads = len({each.name for each in panels}) > 1
    has_sentences = len({each.sentence for each in panels}) > 1
    return [
        "  ".join(
            part
            for part, is_told in ((each.name, has_heads), (written(each.sentence), has_sentences))
            if is_told
        )
        for each in panels
    ]


def _line(
    place: Place,
    start: int,
    end: int,
    weight: float,
    arc: bool | None,
    colour: str,
    *,
    is_marked: bool,
) -> str:
    """One line: as strong as its weight, and thicker where the weight is larger."""
    strength = max(min(weight, 1.0), _FAINTEST if is_marked else 0.0)
    thick = (0.5 + 2.5 * strength) * (place.scale.font / 14) ** 0.5
    marks = "" if arc is None else f' data-gold="{"found" if arc else "missed"}"'
    dash = ' stroke-dasharray="5 3"' if arc is False else ""
    to = "elsewhere" if end == ELSEWHERE else str(end)
    return (
        f'<line class="line" x1="{place.left:.1f}" y1="{place.rows[start]:.1f}"'
        f' x2="{place.right:.1f}" y2="{place.rows[end]:.1f}" stroke="{colour}"'
        f' stroke-opacity="{strength:.3f}" stroke-width="{thick:.2f}" stroke-linecap="round"{dash}'
        f' data-from="{start}" data-to="{to}" data-weight="{weight:.9g}"{marks}/>'
    )


def _entity_lines(panel: Panel) -> dict[tuple[int, int], int]:
    """The entity of each pair of head words: of a mention, and of one before it."""
    rows = panel.mentions.select("entity", "head").rows()
    return {(a, b): one for one, a in rows for other, b in rows if one == other and b < a}


def _mentions(place: Place, colours: Palette) -> Iterator[str]:
    """A bar beside the words of each mention, on both sides, with the letter of its entity."""
    scale = place.scale
    for (entity, first, last, head), lane in zip(
        place.panel.mentions.rows(), lanes_of(place.panel), strict=True
    ):
        colour = colours.entity(entity)
        top = place.rows[first] - scale.row * 0.4
        bottom = place.rows[last] + scale.row * 0.4
        aside = LANE * (lane + 0.5)
        for x in (place.lanes * LANE - aside, place.right + place.column + aside - 4):
            yield (
                f'<rect class="mention" x="{x - 1.5:.1f}" y="{top:.1f}" width="3"'
                f' height="{bottom - top:.1f}" rx="1.5" fill="{colour}" data-entity="{entity}"'
                f' data-first="{first}" data-last="{last}" data-head="{head}"/>'
            )
            yield _text(letter(entity), x + 2.5, place.rows[head] + scale.font * 0.3,
                        scale.font * 0.72, colour, bold=True)  # fmt: skip


def _word(
    text: str, y: float, size: float, colour: str, x: float, anchor: str, ground: str | None,
    attributes: str,
) -> str:  # fmt: skip
    """A word beside its column, `anchor` the end that stands at x, whatever way it runs."""
    box = ""
    if ground is not None:
        wide = width(text, size) + 4
        left = x - wide + 2 if anchor == "end" else x - 2
        box = (
            f'<rect x="{left:.1f}" y="{y - size * 0.68:.1f}" width="{wide:.1f}"'
            f' height="{size * 1.36:.1f}" rx="2" fill="{ground}"/>'
        )
    drawn = _text(text, x, y + size * 0.35, size, colour, anchor=anchor, attributes=attributes)
    return box + drawn


def _text(
    text: str, x: float, y: float, size: float, colour: str, *, anchor: str = "start",
    bold: bool = False, attributes: str = "",
) -> str:  # fmt: skip
    weight = ' font-weight="bold"' if bold else ""
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{at}{weight}'
        f' xml:space="preserve"{attributes}>{escape(isolated(text))}</text>'
    )


def _plain(text: str) -> str:
    """A text for an attribute or a title: escaped, and without what XML does not have."""
    return escape("".join(each if each.isprintable() else " " for each in text))
