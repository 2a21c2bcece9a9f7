"""What every picture looks like: its colours, its letters and its lines, on white and on black."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The converter brings the first, so a PDF embeds it and a PNG looks alike on every machine. An SVG
keeps its text as text: Arial has the same widths, where a viewer does not have the first."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")


@dataclass(frozen=True)
class Theme:
    """Colours of a picture.

    `palette` is for kinds of things: the colours of Okabe and Ito, which colour-blind people can
    tell apart. `sequence` and `diverging` are for amounts; both also differ in how light they are,
    so that they survive a print without colour. `missing` is where there is no value.
    """

    background: str
    ink: str
    faint: str
    missing: str
    palette: tuple[str, ...]
    sequence: tuple[str, ...]
    diverging: tuple[str, str, str]


THEMES = {
    "light": Theme(
        background="#ffffff",
        ink="#1a1a1a",
        faint="#d9d9d9",
        missing="#e3e3e3",
        palette=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
        # The dark end is the high one: ink on paper.
        sequence=("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"),
        diverging=("#b35806", "#f7f7f7", "#0b4f8a"),
    ),
    "dark": Theme(
        background="#14161a",
        ink="#ececec",
        faint="#3a3e46",
        missing="#2c2f36",
        palette=("#56b4e9", "#e69f00", "#1fc39a", "#e495c2", "#f0e442", "#ff8a5c"),
        sequence=("#2d2b62", "#3f6fa8", "#2a9d8f", "#7fd35a", "#fdf06a"),
        diverging=("#f1a340", "#23262c", "#6ab7f2"),
    ),
}
"""The themes by name."""


def config(theme: Theme) -> dict[str, Any]:
    """Return the part of a specification of Vega-Lite that says how everything is drawn."""
    words = {"labelColor": theme.ink, "titleColor": theme.ink}
    return {
        "font": FONT,
        "background": theme.background,
        "view": {"stroke": None},
        "title": {"color": theme.ink, "subtitleColor": theme.ink},
        "axis": {
            **words,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "domainColor": theme.ink,
            "tickColor": theme.ink,
            "gridColor": theme.faint,
            "labelLimit": 0,
        },
        "legend": {
            **words,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titleLimit": 0,
            "labelLimit": 0,
            "symbolLimit": 60,
            "gradientStrokeColor": theme.faint,
        },
        "text": {"color": theme.ink},
    }


def categorical(theme: Theme, values: list[str]) -> tuple[list[str], list[str]]:
    """A colour and a shape for each value; together no two are alike. The rest, `other`, is grey.

    The shapes say the same as the colours, for prints without colour. One shape more than colours
    lets both run round without meeting again for forty-two values.
    """
    colors, shapes = [], []
    at = 0
    for each in values:
        if each == "other":
            colors.append("#8a8a8a")
            shapes.append("circle")
            continue
        colors.append(theme.palette[at % len(theme.palette)])
        shapes.append(SHAPES[at % len(SHAPES)])
        at += 1
    return colors, shapes
