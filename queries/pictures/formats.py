"""A specification as the bytes of a file: picture, page, or the specification itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from attnbank.queries.pictures import ids
from attnbank.queries.pictures.theme import FONT
from attnbank.sql.extras import need

ENDINGS = (".svg", ".png", ".pdf", ".html", ".json")
"""The formats of a picture, by the endings of files."""

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

    The same specification gives the same SVG every time. No network is used, and none is asked for
    by what is made: an HTML file has all scripts in it, and tells the browser to refuse any other.
    Raises MissingPackageError where the converter is not
    installed, which all but .json need.
    """
    text = json.dumps(specification, ensure_ascii=False, allow_nan=False)
    if ending == ".json":
        return f"{json.dumps(specification, indent=1, ensure_ascii=False)}\n".encode()
    need("A picture", "vl_convert")
    import vl_convert

    if ending == ".html":
        return _page(specification, text).encode()
    options: dict[str, Any] = {"vl_version": VEGA_LITE, "allowed_base_urls": []}
    if ending == ".svg":
        root = ids.read(vl_convert.vegalite_to_svg(text, **options))
        ids.renumber(root, "id")
        return ids.written(root).encode()
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
