"""The colours of the pages, made of those of the pictures, for light and for dark ground.

They are classes and rules of a style sheet, since the pages allow no style within themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from attnbank.queries.pictures.sentence.palette import palette
from attnbank.queries.pictures.theme import THEMES, Theme

STEPS = 21
"""Colours of a scale: the classes v0 to v20."""


def step(value: float | None, low: float, high: float) -> str:
    """The class of a value on a scale from low to high; that of no value where there is none."""
    if value is None or value != value:
        return "none"
    share = (value - low) / (high - low) if high > low else 0.0
    return f"v{round(min(max(share, 0.0), 1.0) * (STEPS - 1))}"


@cache
def stylesheet() -> str:
    """The rules: scales and kinds for both grounds, and the dark colours of drawn sentences."""
    light, dark = THEMES["light"], THEMES["dark"]
    inner = "\n".join([*_scales(dark), *_sentences()])
    return "\n".join([*_scales(light), "@media (prefers-color-scheme: dark) {", inner, "}", ""])


def _scales(theme: Theme) -> Iterator[str]:
    for at in range(STEPS):
        ground = _between(theme.sequence, at / (STEPS - 1))
        ink = max(("#000000", "#ffffff"), key=lambda each: _contrast(each, ground))
        yield f".v{at} {{ background: {ground}; color: {ink}; fill: {ground}; }}"
    yield f".none {{ background: {theme.missing}; color: {theme.ink}; fill: {theme.missing}; }}"
    for at, colour in enumerate(theme.palette):
        yield f".k{at} {{ fill: {colour}; }}"
    yield ".rest { fill: #8a8a8a; }"


def _sentences() -> Iterator[str]:
    """Rules that turn the colours of a sentence that is drawn for light ground into the dark."""
    light, dark = palette("light"), palette("dark")
    names = ("ground", "text", "faint", "line", "faint_line", "gold", "mark")
    pairs = [(getattr(light, name), getattr(dark, name)) for name in names]
    pairs += zip(light.entities, dark.entities, strict=True)
    for before, after in pairs:
        for kind in ("fill", "stroke"):
            yield f'.drawn [{kind}="{before}"] {{ {kind}: {after}; }}'


def _between(colours: tuple[str, ...], share: float) -> str:
    """The colour at a place of a scale, between the two that are nearest."""
    place = share * (len(colours) - 1)
    at = min(int(place), len(colours) - 2)
    first, second = (_parts(each) for each in colours[at : at + 2])
    mixed = (a + (b - a) * (place - at) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{round(each):02x}" for each in mixed)


def _parts(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def _contrast(first: str, second: str) -> float:
    """How well two colours are told apart, as the accessibility guidelines (WCAG 2) count it."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (each / 255 for each in _parts(colour))
    )
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
