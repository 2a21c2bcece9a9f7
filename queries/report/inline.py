"""Pictures within a page: SVG whose names clash with no other, and that say their numbers."""

from __future__ import annotations

from xml.etree import ElementTree

from attnbank.queries.pictures import ids
from attnbank.queries.pictures.ids import SVG
from attnbank.queries.pictures.sentence.palette import palette
from attnbank.queries.pictures.theme import THEMES

_PARTS = ("axis", "legend", "title", "subtitle")
_HALF_TURN = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
"""What hue-rotate(180deg) does to red, green and blue, as the standard of filter effects has it."""
_SPOKEN = ("role", "aria-label", "aria-roledescription", "aria-hidden")


def inline(svg: str, prefix: str, label: str) -> str:
    """An SVG document as a part of a page, with `label` as its name for those who do not see it.

    Ids become numbers after the prefix, so that two pictures of one page do not clash. What the
    marks say of themselves becomes their title, which browsers show where a mark is pointed at.
    """
    root = ids.read(svg)
    ids.renumber(root, prefix)
    for element in list(root.iter()):
        _say(element)
    for old in root.findall(f"{{{SVG}}}title") + root.findall(f"{{{SVG}}}desc"):
        root.remove(old)
    title = ElementTree.Element(f"{{{SVG}}}title", {"id": f"{prefix}title"})
    title.text = label
    root.insert(0, title)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}title")
    return ids.written(root)


def dark_rules() -> str:
    """Style rules that draw the pictures, which are made for light ground, on dark ground.

    Every colour is turned to the other side of grey and keeps its hue: ink becomes light, and the
    dark end of a scale, which is the high one, becomes the light end. A rule for each colour would
    miss the cells of a grid, whose colours lie between those of the theme. The colours of kinds
    have rules of their own, so that they become those that are made for dark ground. The ground of
    a picture goes, so that it stands on that of the page.
    """
    light, dark = THEMES["light"], THEMES["dark"]
    sentence, night = palette("light"), palette("dark")
    pairs = {
        sentence.gold: night.gold,
        **dict(zip(sentence.entities, night.entities, strict=True)),
        **dict(zip(light.palette, dark.palette, strict=True)),
    }
    rules = [".picture svg { filter: invert(1) hue-rotate(180deg); }"]
    for ground in dict.fromkeys((light.background, sentence.ground)):
        rules.append(f'.picture rect[fill="{ground}"] {{ fill: transparent; }}')
    for before, after in pairs.items():
        for name in ("fill", "stroke"):
            rules.append(f'.picture [{name}="{before}"] {{ {name}: {turned(after)}; }}')
    return "\n".join(rules)


def turned(colour: str) -> str:
    """The colour that the filter of dark ground makes this one of, as near as there is one.

    The filter undoes itself: turned twice, a colour is itself again, where none of its parts went
    below 0 or above 255 on the way.
    """
    parts = [1 - int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    made = (sum(a * b for a, b in zip(row, parts, strict=True)) for row in _HALF_TURN)
    return "#" + "".join(f"{round(255 * min(max(each, 0.0), 1.0)):02x}" for each in made)


def _say(element: ElementTree.Element) -> None:
    """Turn what a mark says of itself into its title; the picture as a whole is one image."""
    label = element.get("aria-label")
    kind = element.get("aria-roledescription", "")
    if label is not None and kind not in _PARTS and not kind.endswith("container"):
        title = ElementTree.Element(f"{{{SVG}}}title")
        title.text = label
        element.insert(0, title)
    for name in _SPOKEN:
        element.attrib.pop(name, None)
