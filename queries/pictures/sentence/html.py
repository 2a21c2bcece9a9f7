"""A page with one picture: one file that reads nothing else and needs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attnbank.queries.pictures.sentence.palette import palette
from attnbank.queries.pictures.sentence.panel import ELSEWHERE, Facts, Panel
from attnbank.queries.pictures.sentence.svg import draw


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
        f"body{{margin:0;background:{palette(theme).ground}}}"
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
