"""The colours of the pages, made of those of the pictures, for light and for dark ground.

They are classes and rules of a style sheet, since the pages allow no style within themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from attnbank.queries.pictures.theme import THEMES, Theme

STEPS = 21
"""Colours of a scale: the classes v0 to v20."""
_MIDDLE = 0.0525**0.5 - 0.05
"""The luminance from which black contrasts better than white, by the formula of WCAG 2."""


def step(value: float | None, high: float) -> str:
    """The class of a value on a scale from 0 to high; that of no value if it is None."""
    if value is None:
        return "none"
    share = value / high if high > 0 else 0.0
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
        ink = "#000000" if _luminance(ground) >= _MIDDLE else "#ffffff"
        yield f".v{at} {{ background: {ground}; color: {ink}; fill: {ground}; }}"
    yield f".none {{ background: {theme.missing}; color: {theme.ink}; fill: {theme.missing}; }}"
    for at, colour in enumerate(theme.palette):
        yield f".k{at} {{ fill: {colour}; }}"
    yield ".rest { fill: #8a8a8a; }"


def _sentences() -> Iterator[str]:
    light, dark = THEMES["light"].sentence, THEMES["dark"].sentence
    names = ("ground", "text", "faint", "line", "faint_line", "gold", "mark")
    pairs = [(getattr(light, name), getattr(dark, name)) for name in names]
    pairs += zip(light.entities, dark.entities, strict=True)
    for before, after in pairs:
        for kind in ("fill", "stroke"):
            yield f'.drawn [{kind}="{before}"] {{ {kind}: {after}; }}'


def _between(colours: tuple[str, ...], share: float) -> str:
    place = share * (len(colours) - 1)
    at = min(int(place), len(colours) - 2)
    first, second = (_parts(each) for each in colours[at : at + 2])
    mixed = (a + (b - a) * (place - at) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{round(each):02x}" for each in mixed)


def _parts(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def _luminance(colour: str) -> float:
    """How light a colour is, in [0, 1], as the accessibility guidelines (WCAG 2) count it."""
    linear = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (each / 255 for each in _parts(colour))
    )
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
