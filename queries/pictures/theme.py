"""How pictures look: themes, fonts and the options of a picture."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from attnbank.sql.errors import CallError

# vl-convert bundles Liberation Sans; in a viewer without it, Arial has the same widths.
CHART_FONTS = "Liberation Sans, Arial, Helvetica, sans-serif"

# vl-convert bundles Liberation Sans; the other fonts have letters that it lacks.
SENTENCE_FONTS = (
    "'Liberation Sans', Arial, Helvetica, 'Noto Sans', 'Noto Sans Hebrew', 'Noto Sans Arabic',"
    " 'Noto Sans CJK SC', sans-serif"
)

# Font families for scripts, by the first words of their letters' Unicode names. By default,
# vl-convert takes the machine's first font that has a letter, perhaps a bold or a Japanese one.
FONTS_BY_SCRIPT = (
    (("HIRAGANA", "KATAKANA"), "Noto Sans CJK JP, Hiragino Sans, Yu Gothic, MS Gothic"),
    (("HANGUL",), "Noto Sans CJK KR, Apple SD Gothic Neo, Malgun Gothic"),
    (
        ("CJK", "IDEOGRAPHIC", "FULLWIDTH"),
        "Noto Sans CJK SC, PingFang SC, Microsoft YaHei, SimHei, WenQuanYi Zen Hei",
    ),
    (("HEBREW",), "Noto Sans Hebrew, DejaVu Sans, Arial"),
    (("ARABIC",), "Noto Sans Arabic, DejaVu Sans, Arial"),
    (("DEVANAGARI",), "Noto Sans Devanagari, Kohinoor Devanagari, Mangal"),
    (("THAI",), "Noto Sans Thai, Thonburi, Leelawadee UI"),
)  # fmt: skip


def font_family(text: str) -> str | None:
    """The fonts for a text whose letters CHART_FONTS lack; None for other text."""
    names = {
        unicodedata.name(character, "").partition(" ")[0].partition("-")[0] for character in text
    }
    for scripts, families in FONTS_BY_SCRIPT:
        if not names.isdisjoint(scripts):
            return f"{families}, {CHART_FONTS}"
    return None


@dataclass(frozen=True)
class Palette:
    """The colours of a picture of a sentence: background (`ground`), words, lines and marks.

    `faint_line` is for attention to and from special tokens, which would cover all else.
    """

    ground: str
    text: str
    faint: str
    line: str
    faint_line: str
    gold: str
    mark: str
    entities: tuple[str, ...]

    def entity(self, number: int) -> str:
        """The colour of an entity. Many entities share colours; their letters tell them apart."""
        return self.entities[number % len(self.entities)]


@dataclass(frozen=True)
class Theme:
    """The colours of a picture.

    `palette` is for categories, `other` for the rest: any two differ by 12 in lightness (CIE L*),
    so that colour-blind people, and everybody in greyscale, can tell them apart. `sequence` and
    `diverging` are for amounts, and differ in lightness too. `missing` is for null.
    """

    background: str
    ink: str
    faint: str
    missing: str
    palette: tuple[str, ...]
    other: str
    sequence: tuple[str, ...]
    diverging: tuple[str, str, str]
    sentence: Palette

    @property
    def bar(self) -> str:
        """The colour of bars: the first of the palette, lighter, so that marks on them are seen."""
        return _between(self.palette[0], self.background, 0.45)


def _between(start: str, end: str, share: float) -> str:
    """Mix two colours; a share of 0 is the first, 1 the second."""
    parts = [
        round(int(start[at : at + 2], 16) * (1 - share) + int(end[at : at + 2], 16) * share)
        for at in (1, 3, 5)
    ]
    return "#{:02x}{:02x}{:02x}".format(*parts)


_LIGHT = Theme(
    background="#ffffff",
    ink="#1a1a1a",
    faint="#d9d9d9",
    missing="#e3e3e3",
    palette=("#0068aa", "#dd5b1c", "#81007b", "#0fb2dd", "#003121"),
    other="#c6c6c6",
    # The dark end is the high one: ink on paper.
    sequence=("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"),
    diverging=("#b35806", "#f7f7f7", "#0b4f8a"),
    sentence=Palette(
        ground="#ffffff", text="#1b1b1b", faint="#767676", line="#303030", faint_line="#cfcfcf",
        gold="#0072b2", mark="#fbe3a6",
        entities=("#d55e00", "#009e73", "#b8579a", "#b07800", "#3a9bd9"),
    ),
)  # fmt: skip

THEMES = {
    "light": _LIGHT,
    "dark": Theme(
        background="#14161a",
        ink="#ececec",
        faint="#3a3e46",
        missing="#2c2f36",
        palette=("#00b9ec", "#ee5537", "#9b3cb9", "#e7ce30", "#bdffdd"),
        other="#4a4a4a",
        sequence=("#2d2b62", "#3f6fa8", "#2a9d8f", "#7fd35a", "#fdf06a"),
        diverging=("#f1a340", "#23262c", "#6ab7f2"),
        sentence=Palette(
            ground="#15171b", text="#ececec", faint="#9a9a9a", line="#d8d8d8", faint_line="#4c4f55",
            gold="#56b4e9", mark="#5a4708",
            entities=("#ff8c42", "#2bc79b", "#e29bc9", "#e6b93c", "#8fd0f5"),
        ),
    ),
    # Ink is black, since grey text is printed as dots; shapes, dashes and letters tell categories.
    "print": Theme(
        background="#ffffff",
        ink="#000000",
        faint="#b3b3b3",
        missing="#ececec",
        palette=("#000000", "#8f8f8f", "#454545", "#b0b0b0", "#6a6a6a"),
        other="#d4d4d4",
        sequence=("#ffffff", "#d0d0d0", "#9a9a9a", "#555555", "#000000"),
        # In greyscale, amounts below 0 can only be lighter.
        diverging=("#ffffff", "#a6a6a6", "#000000"),
        sentence=Palette(
            ground="#ffffff", text="#000000", faint="#404040", line="#6e6e6e",
            faint_line="#cfcfcf", gold="#000000", mark="#dedede",
            entities=("#000000", "#555555", "#7a7a7a", "#333333", "#666666"),
        ),
    ),
}  # fmt: skip

# The themes of pages, which follow the colour scheme of the screen.
SCREENS = ("light", "dark")

# The default font size in pixels.
FONT_SIZE = 11.0

# The default font size in points, in a column of a paper.
PAPER_FONT = 8.0

# Points per inch.
POINTS = 72.0


@dataclass(frozen=True)
class Look:
    """Options of a picture beside its theme.

    `width` is the width of a paper's column in points; None for a picture on a screen. `size` is
    the font size, in points if there is a `width`, otherwise in pixels; by default 11 pixels or 8
    points. In a column no font is smaller than 7 points. Without `is_titled` there is no title.
    With `stretch`, colours span the amounts of the picture instead of the fixed scale.
    """

    size: float | None = None
    width: float | None = None
    is_titled: bool = True
    stretch: bool = False

    def font_size(self, default: float) -> float:
        """The font size; `default` where neither a size nor the width of a column sets it."""
        return self.size or (default if self.width is None else PAPER_FONT)

    @property
    def font(self) -> float:
        """The font size of a chart."""
        return self.font_size(FONT_SIZE)

    @property
    def min_font_size(self) -> float:
        """The smallest font size allowed."""
        return 6.0 if self.width is None else min(7.0, self.font)

    @property
    def scale(self) -> float:
        """The factor for the area of marks, 1 at the default font size."""
        return (self.font / FONT_SIZE) ** 2

    def scaled_font(self, share: float) -> float:
        """A font size that is a share of the chart's, but not below `min_font_size`."""
        return max(self.min_font_size, share * self.font)


def theme_of(name: str) -> Theme:
    """The theme with a name. Raises CallError for an unknown name."""
    if name not in THEMES:
        raise CallError(f"Theme {name} does not exist.", f"Choose from: {', '.join(THEMES)}.")
    return THEMES[name]


def vega_config(theme: Theme, look: Look) -> dict[str, Any]:
    """The `config` of a Vega-Lite specification."""
    font = look.font
    title = font + 1 if look.width is None else font
    words = {
        "labelColor": theme.ink,
        "labelFontSize": font,
        "labelLimit": 0,
        "titleColor": theme.ink,
        "titleFontSize": title,
        "titleFontWeight": "normal",
    }
    return {
        "font": CHART_FONTS,
        "background": theme.background,
        "view": {"stroke": None},
        "title": {"color": theme.ink, "subtitleColor": theme.ink},
        "axis": {
            **words,
            "domainColor": theme.ink,
            "tickColor": theme.ink,
            "gridColor": theme.faint,
        },
        "legend": {
            **words,
            "titleLimit": 0,
            "symbolLimit": 60,
            # A column has no room to the right of its panels.
            **({} if look.width is None else {"orient": "bottom"}),
            "gradientStrokeColor": theme.faint,
        },
        "text": {"color": theme.ink, "fontSize": font},
    }
