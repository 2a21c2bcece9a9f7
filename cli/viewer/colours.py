"""The colours of the pages, from the themes of the pictures, for light and dark backgrounds.

They are CSS classes in a style sheet, since the content security policy forbids inline styles.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from attnbank.queries.pictures.encodings import Encoding
from attnbank.queries.pictures.sentence import HOVER_CSS
from attnbank.queries.pictures.theme import THEMES, Theme

# Steps of a colour scale: classes v0 to v20, and d0 to d20 for diverging scales.
STEPS = 21
# The luminance above which black text contrasts better than white: where (L + 0.05) / 0.05 and
# 1.05 / (L + 0.05), the contrast ratios of WCAG 2, are equal.
_MIDDLE = 0.0525**0.5 - 0.05


def kind(look: Encoding) -> str:
    """The CSS class of a category."""
    return "rest" if look.slot is None else f"k{look.slot % len(THEMES['light'].palette)}"


@cache
def stylesheet() -> str:
    """The style sheet: scales, categories and entities for both backgrounds."""
    light, dark = (_rules(THEMES[name]) for name in ("light", "dark"))
    return "\n".join([*light, HOVER_CSS, "@media (prefers-color-scheme: dark) {", *dark, "}", ""])


def _rules(theme: Theme) -> Iterator[str]:
    for name, scale in (("v", theme.sequence), ("d", theme.diverging)):
        for at in range(STEPS):
            background = _between(scale, at / (STEPS - 1))
            ink = "#000000" if _luminance(background) >= _MIDDLE else "#ffffff"
            yield f".{name}{at} {{ background: {background}; color: {ink}; fill: {background}; }}"
    yield f".none {{ background: {theme.missing}; color: {theme.ink}; fill: {theme.missing}; }}"
    for at, colour in enumerate(theme.palette):
        yield f".k{at} {{ fill: {colour}; }}"
    yield f".rest {{ fill: {theme.other}; }}"
    for at, colour in enumerate(theme.sentence.entities):
        yield f".drawn .e{at} {{ --own: {colour}; }}"


def _between(colours: tuple[str, ...], share: float) -> str:
    position = share * (len(colours) - 1)
    lower = min(int(position), len(colours) - 2)
    first, second = (_rgb(colour) for colour in colours[lower : lower + 2])
    mixed = (a + (b - a) * (position - lower) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{round(component):02x}" for component in mixed)


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def _luminance(colour: str) -> float:
    """The relative luminance of a colour in [0, 1] (WCAG 2)."""
    linear = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (component / 255 for component in _rgb(colour))
    )
    return sum(
        weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )
