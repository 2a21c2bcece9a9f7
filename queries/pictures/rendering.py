"""SVG: its elements and the widths of texts; and pictures as files (.svg, .png, .pdf, .html)."""

from __future__ import annotations

import json
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol
from xml.etree import ElementTree

from attnbank.queries.pictures.theme import CHART_FONTS, POINTS, font_family
from attnbank.sql.errors import AttnbankWarning, require_extra
from attnbank.sql.messages import escape_control, is_right_to_left

ENDINGS = (".svg", ".png", ".pdf", ".html", ".json")

# One of the versions of Vega-Lite that vl-convert bundles.
VEGA_LITE = "6.4"

_PAGE_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' \
'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ margin: 1em; background: {background}; font-family: {font}; }}</style>
</head>
<body>
<div id="picture"></div>
<script type="application/json" id="specification">{specification}</script>
<script type="module">{script}</script>
</body>
</html>
"""
_EMBED_SCRIPT = """\
const specification = JSON.parse(document.getElementById("specification").textContent);
vegaEmbed("#picture", specification, {actions: {export: true, source: false, compiled: false,
editor: false}});
"""


def render(
    specification: Mapping[str, Any], ending: str, scale: float = 2.0, width: float | None = None
) -> bytes:
    """Render a specification to the bytes of a file with one of ENDINGS.

    `scale` is the number of PNG pixels per pixel of the picture. `width` is the width in points of
    a picture for a column of a paper. The same specification gives the same SVG. No network is
    used, and a page has all its scripts and allows no others. Raises MissingPackageError without
    vl-convert, except for .json.
    """
    if ending == ".json":
        return f"{json.dumps(specification, indent=1, ensure_ascii=False)}\n".encode()
    require_extra("A picture", "plot", "vl_convert")
    if ending == ".html":
        text = json.dumps(specification, ensure_ascii=False, allow_nan=False)
        return _html_page(specification, text).encode()
    root = _vega_svg(specification)
    renumber_ids(root, "id")
    if width is not None:
        height = width * float(root.attrib["height"]) / float(root.attrib["width"])
        root.attrib |= {"width": f"{width:g}", "height": f"{height:g}"}
    return convert_svg(root, ending, scale, in_points=width is not None)


def _vega_svg(specification: Mapping[str, Any]) -> ElementTree.Element:
    import vl_convert

    text = json.dumps(specification, ensure_ascii=False, allow_nan=False)
    return read_svg(vl_convert.vegalite_to_svg(text, vl_version=VEGA_LITE, allowed_base_urls=[]))


def picture_size(specification: Mapping[str, Any]) -> tuple[float, float]:
    """Draw a picture to measure its width and height in pixels."""
    attributes = _vega_svg(specification).attrib
    return float(attributes["width"]), float(attributes["height"])


# The height of a page's column in inches.
_PAGE_INCHES = 9.0


def warn_if_long(height: float, options: str) -> None:
    """Warn if a picture for a column is longer than a page; `height` is in points."""
    if height <= _PAGE_INCHES * POINTS:
        return
    remedy = f"Shorter with {options}, or wider" if options else "Make it wider"
    warnings.warn(
        f"The picture is {height / POINTS:.1f} inches long; a page has about {_PAGE_INCHES:g}."
        f" {remedy}: --column 6.75in.",
        AttnbankWarning,
        stacklevel=3,
    )


SVG = "http://www.w3.org/2000/svg"


def convert_svg(
    root: ElementTree.Element, ending: str, scale: float, *, in_points: bool = False
) -> bytes:
    """Convert an SVG document to .svg, .png or .pdf, each text in a font that has its letters.

    A pixel becomes a point in PDF, and with `in_points` also in SVG.
    """
    for element in root.iter(f"{{{SVG}}}text"):
        if family := font_family("".join(element.itertext())):
            element.set("font-family", family)
            for part in element.iter():  # a family of a tspan would override that of the text
                if part is not element:
                    part.attrib.pop("font-family", None)
    if ending == ".svg":
        if in_points:
            for side in ("width", "height"):
                root.set(side, f"{root.attrib[side]}pt")
        return ElementTree.tostring(root, encoding="unicode").encode()
    import vl_convert

    text = ElementTree.tostring(root, encoding="unicode")
    if ending == ".png":
        return bytes(vl_convert.svg_to_png(text, scale=scale, ppi=72))
    return bytes(vl_convert.svg_to_pdf(text))


def _html_page(specification: Mapping[str, Any], text: str) -> str:
    import vl_convert

    # Without <, nothing can end the script or begin a comment in it.
    embedded = (
        text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )
    return _PAGE_TEMPLATE.format(
        title=escape(specification["usermeta"]["title"]),
        background=specification["config"]["background"],
        font=CHART_FONTS,
        specification=embedded,
        script=vl_convert.javascript_bundle(_EMBED_SCRIPT, vl_version=VEGA_LITE).replace(
            "</script", "<\\/script"
        ),
    )


XLINK = "http://www.w3.org/1999/xlink"


def read_svg(svg: str) -> ElementTree.Element:
    """Parse an SVG document, to be written without namespace prefixes. Raises ParseError."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.fromstring(svg)


def renumber_ids(root: ElementTree.Element, prefix: str) -> None:
    """Rename every id in a tree to the prefix and a number from 0, with all references to it."""
    elements = list(root.iter())
    ids = [element.attrib["id"] for element in elements if "id" in element.attrib]
    names = {name: f"{prefix}{at}" for at, name in enumerate(ids)}
    for element in elements:
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, names[value])
            elif value.startswith("url(#") and value[5:-1] in names:
                element.set(key, f"url(#{names[value[5:-1]]})")
            elif key in ("href", f"{{{XLINK}}}href") and value[1:] in names:
                element.set(key, f"#{names[value[1:]]}")


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


# Characters that are special in LaTeX or missing in its fonts, and their escapes.
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "#": r"\#", "$": r"\$", "%": r"\%",
    "&": r"\&", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "\u2212": "$-$", "\u2013": "--",
    "\u00b7": r"\textperiodcentered{}", "\u2068": "", "\u2069": "", "\u00a0": "~",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Escape foreign text for LaTeX."""
    return "".join(
        _LATEX.get(character, character if character.isprintable() else " ") for character in text
    )


def latex_caption(title: str, facts: Iterable[str], command: str) -> str:
    """A caption in LaTeX: the title, facts about the picture, and the command that makes it."""
    sentences = [f"{fact.rstrip('.')}." for fact in (title, *facts) if fact]
    text = " ".join(map(escape_latex, sentences))
    return f"\\caption{{{text} Made by \\texttt{{{escape_latex(command)}}}.}}\n"


class Picture(Protocol):
    """What can be written as a picture: a chart, heads over sentences, or the card of a head."""

    def as_bytes(self, ending: str, scale: float = 2.0) -> bytes:
        """The picture as a file with this ending. Raises CallError, and MissingPackageError."""

    def caption(self, command: str) -> str:
        """A caption in LaTeX, with the command that makes the picture."""


@dataclass(frozen=True)
class Chart:
    """A picture in Vega-Lite; `width` in points if it is for a column of a paper."""

    specification: dict[str, Any]
    width: float | None = None

    def as_bytes(self, ending: str, scale: float = 2.0) -> bytes:
        """Render the picture to a file with one of ENDINGS. Raises MissingPackageError."""
        return render(self.specification, ending, scale, self.width)

    def caption(self, command: str) -> str:
        """A caption in LaTeX: title, runs, sample size, notes, and the command that makes it."""
        meta = self.specification["usermeta"]
        least, most = meta["n"] or (None, None)
        count = "" if least is None else f"n = {least:,}"
        if least != most:
            count += f" to {most:,}"
        return latex_caption(meta["title"], [*meta["facts"], count, meta["notes"]], command)
