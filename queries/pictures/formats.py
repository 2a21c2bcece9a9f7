"""A specification as the bytes of a file: picture, page, or the specification itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any
from xml.etree import ElementTree

from attnbank.queries.pictures.theme import FONT
from attnbank.sql.extras import need

ENDINGS = (".svg", ".png", ".pdf", ".html", ".json")

VEGA_LITE = "6.4"
"""The version of Vega-Lite that draws, among those that the converter brings."""

_PAGE = """\
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
_SCRIPT = """\
const specification = JSON.parse(document.getElementById("specification").textContent);
vegaEmbed("#picture", specification, {actions: {export: true, source: false, compiled: false,
editor: false}});
"""


def as_bytes(specification: Mapping[str, Any], ending: str, scale: float = 2.0) -> bytes:
    """The bytes of a file of one of ENDINGS; `scale` is how many pixels of a PNG one pixel has.

    The same specification gives the same SVG. No network is used, and a page has all its scripts
    and refuses others. Raises MissingPackageError without the converter, but for .json.
    """
    text = json.dumps(specification, ensure_ascii=False, allow_nan=False)
    if ending == ".json":
        return f"{json.dumps(specification, indent=1, ensure_ascii=False)}\n".encode()
    need("A picture", "plot", "vl_convert")
    import vl_convert

    if ending == ".html":
        return _page(specification, text).encode()
    options: dict[str, Any] = {"vl_version": VEGA_LITE, "allowed_base_urls": []}
    if ending == ".svg":
        root = read_svg(vl_convert.vegalite_to_svg(text, **options))
        renumber(root, "id")
        return ElementTree.tostring(root, encoding="unicode").encode()
    if ending == ".png":
        return bytes(vl_convert.vegalite_to_png(text, scale=scale, ppi=72, **options))
    return bytes(vl_convert.vegalite_to_pdf(text, **options))


def _page(specification: Mapping[str, Any], text: str) -> str:
    import vl_convert

    # Within a script no < can end it, nor begin a comment.
    shown = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return _PAGE.format(
        title=escape(" ".join(specification["title"]["text"])),
        background=specification["config"]["background"],
        font=FONT,
        specification=shown,
        script=vl_convert.javascript_bundle(_SCRIPT, vl_version=VEGA_LITE).replace(
            "</script", "<\\/script"
        ),
    )


SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"


def read_svg(svg: str) -> ElementTree.Element:
    """Read an SVG document as a tree that is written without prefixes. Raises ParseError."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.fromstring(svg)


def renumber(root: ElementTree.Element, prefix: str) -> None:
    """Make every id of a tree the prefix and a number from 0, in place, also where it is named."""
    elements = list(root.iter())
    ids = [each.attrib["id"] for each in elements if "id" in each.attrib]
    names = {name: f"{prefix}{at}" for at, name in enumerate(ids)}
    for element in elements:
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, names[value])
            elif value.startswith("url(#") and value[5:-1] in names:
                element.set(key, f"url(#{names[value[5:-1]]})")
            elif key in ("href", f"{{{XLINK}}}href") and value[1:] in names:
                element.set(key, f"#{names[value[1:]]}")
