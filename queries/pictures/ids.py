"""The ids within a picture: the same picture has the same ones, and two of one page clash in none.

The converter counts the ids of clips and gradients on from picture to picture of a process.
"""

from __future__ import annotations

from xml.etree import ElementTree

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"


def read(svg: str) -> ElementTree.Element:
    """Read an SVG document as a tree, which `written` writes again. Raises ParseError for none."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.fromstring(svg)


def written(root: ElementTree.Element) -> str:
    """Write a tree as an SVG document."""
    return ElementTree.tostring(root, encoding="unicode")


def renumber(root: ElementTree.Element, prefix: str) -> None:
    """Give every element that has an id a new one: the prefix and its number, counted from 0.

    Wherever an attribute names an id, it names the new one. The tree is changed in place.
    """
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
