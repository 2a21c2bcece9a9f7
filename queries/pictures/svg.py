"""Write SVG elements and measure text, for the pictures of sentences and trees."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from attnbank.queries.directions import is_right_to_left
from attnbank.sql.messages import escape_control

_MAX_LENGTH = 40
_ISOLATE, _END = "\u2067", "\u2069"

# The widths of characters relative to the font size, in Liberation Sans.
_RELATIVE_WIDTHS = {
    sign: share
    for share, signs in (
        (0.23, "ijl'|"), (0.28, "ft.,:;!I /[]\\"), (0.35, "r()-`\"*"), (0.5, "ckszvxyJ"),
        (0.56, "abdeghnopqu0123456789L?_#$+=<>~"), (0.62, "FTZ"), (0.67, "ABEKPSVXY&"),
        (0.73, "CDHNRUw"), (0.79, "GOQ"), (0.84, "mM"), (0.95, "W%"), (1.02, "@"),
    )
    for sign in signs
}  # fmt: skip


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in pixels, rather too large than too small."""
    return size * sum(map(_relative_width, text))


def _relative_width(sign: str) -> float:
    known = _RELATIVE_WIDTHS.get(sign)
    if known is not None:
        return known
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Cf", "Me", "Mn"):
        return 0.0
    return 1.02 if unicodedata.east_asian_width(sign) in "WF" else 0.65


def isolate_direction(text: str) -> str:
    """Isolate right-to-left text from its surroundings; return other text unchanged.

    The attribute `direction` would mirror text-anchor in browsers, and vl-convert ignores it.
    """
    return f"{_ISOLATE}{text}{_END}" if is_right_to_left(text) else text


def shorten_for_svg(text: str, longest: int = _MAX_LENGTH) -> str:
    """Escape control characters, and cut a long text."""
    visible = escape_control(text)
    return visible if len(visible) <= longest else f"{visible[: longest - 1]}…"


def wrap_svg_text(text: str, room: float, size: float) -> Iterator[str]:
    """Break a text into lines of at most `room` pixels; a longer word has its own line."""
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size) > room:
            yield line
            longer = word
        line = longer
    if line:
        yield line


def element(name: str, /, *content: str, **attributes: Any) -> str:
    """An SVG element. `content` must be escaped; floats are rounded to 0.1, None is omitted.

    In names of attributes, `_` is written `-`, and a final `_` is dropped (`class_`).
    """
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="'
        f'{f"{value:.1f}" if isinstance(value, float) else value}"'
        for key, value in attributes.items()
        if value is not None
    )
    start = f"<{name}{attribute_text}"
    return f"{start}>{''.join(content)}</{name}>" if content else f"{start}/>"
