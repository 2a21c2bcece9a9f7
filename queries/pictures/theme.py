"""How pictures look: themes, fonts, and a colour, shape and label for each category."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
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


# SVG paths of shapes, from about -1 to 1. There are eleven shapes and five colours: these numbers
# have no common divisor, so fifty-five categories differ before a pair repeats.
SHAPES = {
    "circle": "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "square": "M-0.9,-0.9H0.9V0.9H-0.9Z",
    "triangle-up": "M0,-1L1,0.85H-1Z",
    "diamond": "M-1,0L0,-1.15L1,0L0,1.15Z",
    "cross": "M-0.35,-1H0.35V-0.35H1V0.35H0.35V1H-0.35V0.35H-1V-0.35H-0.35Z",
    "triangle-down": "M0,1L1,-0.85H-1Z",
    "triangle-right": "M1,0L-0.85,1V-1Z",
    "star": "M0,-1.1L0.27,-0.37L1.05,-0.34L0.44,0.14L0.65,0.89L0,0.46L-0.65,0.89L-0.44,0.14"
    "L-1.05,-0.34L-0.27,-0.37Z",
    "triangle-left": "M-1,0L0.85,1V-1Z",
    "bar": "M-0.4,-1.1H0.4V1.1H-0.4Z",
    "bow": "M-1,-0.9L1,0.9V-0.9L-1,0.9Z",
}

DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])

# Categories that are grey.
OTHER = frozenset({"other", "none"})

# What heads attend to: surface patterns, then the relations of Universal Dependencies.
_OF_HEADS = (
    "previous", "next", "cls", "sep", "punctuation", "first", "broad", "self",
    "nsubj", "obj", "det", "case", "amod", "obl", "advmod", "nmod", "conj", "cc", "aux", "mark",
    "compound", "cop", "advcl", "acl", "xcomp", "ccomp", "nummod", "punct", "coreference", "all",
    "iobj", "csubj", "expl", "appos", "fixed", "flat", "parataxis", "discourse", "vocative",
    "dislocated", "clf", "list", "orphan", "goeswith", "reparandum", "dep", "root",
)  # fmt: skip

# The classes of attention maps of Kovaleva et al. (2019).
_MAPS = ("vertical", "diagonal", "vertical_diagonal", "heterogeneous", "block")

# Columns in one picture: a figure, and the baselines that it is compared with. Their marks are on
# bars of the first colour, so the gaps keep that colour from them.
_REFERENCES = (
    "accuracy", "offset_accuracy", "held_out_accuracy", "", "in_sample_accuracy",
    "within_layer", "common_accuracy", "", "", "rule_based",
    "", "nearest", "head_match", "", "adjacent", "", "best_uuas", "ensemble_uuas", "",
    "control_mean", "", "chance", "held_out_gain", "", "", "", "between_layers",
)  # fmt: skip

_KNOWN = {
    name: slot
    for family in (_OF_HEADS, _MAPS, _REFERENCES)
    for slot, name in enumerate(family)
    if name
}

# Synonyms of categories: as figures write them, and of Stanford Dependencies.
_SAME = {
    "[CLS]": "cls", "[SEP]": "sep", ". and ,": "punctuation", "first word": "first",
    "[SEP] -> [SEP]": "sep", "other -> [SEP]": "broad",
    "dobj": "obj", "prep": "case", "pobj": "obl", "poss": "nmod", "auxpass": "aux",
    "nsubjpass": "nsubj", "rcmod": "acl", "partmod": "acl", "nn": "compound", "num": "nummod",
    "p": "punct", "accuracy_b": "offset_accuracy",
}  # fmt: skip

_LABELS = {
    "cls": "[CLS]", "sep": "[SEP]", ". and ,": "punctuation",
    "vertical_diagonal": "vertical + diagonal",
}  # fmt: skip


@dataclass(frozen=True)
class Encoding:
    """How a category is drawn; `slot` numbers the pairs of colour and shape, None is grey."""

    slot: int | None

    def color(self, theme: Theme) -> str:
        """The colour in a theme."""
        return theme.other if self.slot is None else theme.palette[self.slot % len(theme.palette)]

    @property
    def shape(self) -> str:
        """The SVG path of the shape."""
        return tuple(SHAPES.values())[(self.slot or 0) % len(SHAPES)]

    @property
    def dash(self) -> list[int]:
        """The lengths of the line's dashes and gaps, in pixels."""
        return DASHES[(self.slot or 0) % len(DASHES)]


def encodings_of(values: Iterable[str]) -> dict[str, Encoding]:
    """The encodings of the values of one picture.

    Known values have their own slot. Others (models, a user's relations) take the next free slot,
    in the order of the values.
    """
    names = dict.fromkeys(values)
    encoded: dict[str, Encoding] = {}
    used_slots: set[int] = set()
    for name in sorted(names, key=lambda name: name in _SAME):  # before its synonyms
        slot = _KNOWN.get(_SAME.get(name, name))
        if name in OTHER:
            encoded[name] = Encoding(None)
        elif slot is not None and slot not in used_slots:
            encoded[name] = Encoding(slot)
            used_slots.add(slot)
    free = (slot for slot in range(len(names) + len(used_slots)) if slot not in used_slots)
    return {name: encoded[name] if name in encoded else Encoding(next(free)) for name in names}


def category_label(value: str) -> str:
    """The label of a category in a legend."""
    return _LABELS.get(value, value.replace("_", " "))


def unit_of(help: str) -> str | None:
    """The unit that a column's help names: nats, or a share in [0, 1]; None if it names none."""
    match = re.search(r"\bin (nats[^;,]*|\[0, 1\])", help)
    if match is None:
        return None
    return "share, in [0, 1]" if match[1].startswith("[") else match[1]


def legend_order(values: Sequence[str]) -> list[str]:
    """Categories in the order of a legend: grey ones last."""
    return sorted(values, key=lambda name: name in OTHER)


def scale_ends(
    values: Iterable[float], domain: Sequence[float] | None, *, stretch: bool = False
) -> list[float]:
    """The domain of a scale of amounts: two ends, or with 0 in the middle if some are below 0.

    A fixed `domain` lets pictures be compared; `stretch` replaces it by the range of the amounts.
    """
    amounts = list(values)
    if stretch and amounts and min(amounts) < max(amounts) and min(amounts) >= 0:
        return [min(amounts), max(amounts)]
    if domain is not None and not stretch:
        return list(domain)
    least, most = min([0.0, *amounts]), max([0.0, *amounts])
    reach = max(-least, most)
    return [-reach, 0.0, reach] if least < 0 else [0.0, most or 1.0]
