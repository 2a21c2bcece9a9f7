"""The colours of both themes, which colour-blind people can tell apart (after Okabe and Ito)."""

from __future__ import annotations

from dataclasses import dataclass

from attnbank.sql.errors import CallError


@dataclass(frozen=True)
class Palette:
    """The colours of a theme: of the ground, of words, of lines, and of what is marked."""

    ground: str
    text: str
    faint: str
    line: str
    faint_line: str
    gold: str
    mark: str
    entities: tuple[str, ...]

    def entity(self, number: int) -> str:
        """The colour of an entity; of many, some share one, and their letters tell them apart."""
        return self.entities[number % len(self.entities)]


_THEMES = {
    "light": Palette(
        ground="#ffffff", text="#1b1b1b", faint="#767676", line="#303030", faint_line="#a8a8a8",
        gold="#0072b2", mark="#fbe3a6",
        entities=("#d55e00", "#009e73", "#b8579a", "#b07800", "#3a9bd9"),
    ),
    "dark": Palette(
        ground="#15171b", text="#ececec", faint="#9a9a9a", line="#d8d8d8", faint_line="#7d7d7d",
        gold="#56b4e9", mark="#5a4708",
        entities=("#ff8c42", "#2bc79b", "#e29bc9", "#e6b93c", "#8fd0f5"),
    ),
}  # fmt: skip
THEMES = tuple(_THEMES)


def palette(theme: str) -> Palette:
    """Return the colours of a theme. Raises CallError for an unknown one."""
    if theme not in _THEMES:
        raise CallError(f"There is no theme {theme}.", f"Say {' or '.join(THEMES)}.")
    return _THEMES[theme]


def letter(number: int) -> str:
    """The letter of an entity, for those who see no colours: A to Z, then A1 and on."""
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")
