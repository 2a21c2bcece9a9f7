"""Reads a picture of a sentence back, and reads slowly from the tables what it should show."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

SVG = "{http://www.w3.org/2000/svg}"
ISOLATES = str.maketrans("", "", "\u2067\u2069")


@dataclass
class Drawn:
    """One panel: its lines by (from, to) with their attributes, its words, and its mentions.

    The head is None in a panel of the mean of several.
    """

    sentence: str
    head: tuple[int, int] | None
    lines: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    right: list[str] = field(default_factory=list)
    mentions: list[tuple[int, int, int, int]] = field(default_factory=list)
    marks: dict[tuple[str, str], str] = field(default_factory=dict)
    """The marks of lines by (from, to): full or hollow rings, or dots alone."""

    @property
    def weights(self) -> dict[tuple[str, str], float]:
        return {ends: float(each["data-weight"]) for ends, each in self.lines.items()}

    def gold(self, kind: str) -> set[tuple[int, int]]:
        """The gold arcs that are drawn as `kind`: found or missed."""
        return {
            (int(a), int(b)) for (a, b), each in self.lines.items() if each.get("data-gold") == kind
        }


def panels(svg: str) -> list[Drawn]:
    """The panels of a picture, in order."""
    found = []
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        if group.get("class") != "panel":
            continue
        head = None
        if "data-head" in group.attrib:
            head = int(group.attrib["data-layer"]), int(group.attrib["data-head"])
        drawn = Drawn(group.attrib["data-sentence"], head)
        for line in group.iter(f"{SVG}line"):
            ends = line.attrib["data-from"], line.attrib["data-to"]
            assert ends not in drawn.lines, "a pair has two lines"
            drawn.lines[ends] = dict(line.attrib)
        for side in group.iter(f"{SVG}g"):
            if side.get("class") == "from":
                drawn.left += [_text(element) for element in side.iter(f"{SVG}text")]
        drawn.right = [
            _text(element) for element in group.iter(f"{SVG}text") if element.get("class") == "to"
        ]
        for mark in group.iter(f"{SVG}g"):
            if mark.get("class") == "arc":
                dots, *rings = mark.iter(f"{SVG}path")
                colour = dots.attrib["stroke"]
                kinds = ["full" if ring.attrib["fill"] == colour else "hollow" for ring in rings]
                ends = mark.attrib["data-from"], mark.attrib["data-to"]
                drawn.marks[ends] = kinds[0] if kinds else "dots"
        for bar in group.iter(f"{SVG}rect"):
            if bar.get("class") == "mention":
                names = ("entity", "first", "last", "head")
                drawn.mentions.append(tuple(int(bar.attrib[f"data-{name}"]) for name in names))  # type: ignore[arg-type]
        found.append(drawn)
    return found


def texts(svg: str) -> list[str]:
    """Every text of a picture."""
    return [_text(element) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def _text(element: ET.Element) -> str:
    return "".join(element.itertext()).translate(ISOLATES).strip()


@dataclass
class Map:
    """One head over one input, as in the tables: positions as records, weights [n][n]."""

    positions: list[dict[str, Any]]
    weights: dict[int, list[float]]

    def own(self, sentence: str) -> list[int]:
        """The positions of a sentence's words."""
        return [
            position["position"] for position in self.positions if position["sentence"] == sentence
        ]

    @property
    def special(self) -> list[int]:
        kinds = ("word", "token")
        return [
            position["position"] for position in self.positions if position["kind"] not in kinds
        ]

    def top(self, place: int) -> int | None:
        """What a position looks at most, except itself and special tokens; first of equals."""
        best, largest = None, 0.0
        for other, weight in enumerate(self.weights[place]):
            if other != place and other not in self.special and weight > largest:
                best, largest = other, weight
        return best

    def most_attending(self, place: int) -> int | None:
        """What looks at a position most, except itself and special tokens; first of equals."""
        best, largest = None, 0.0
        for other in range(len(self.positions)):
            weight = self.weights[other][place]
            if other != place and other not in self.special and weight > largest:
                best, largest = other, weight
        return best

    def head_of(self, place: int) -> list[int]:
        """The positions of the syntactic head of a position's word (several if it is split)."""
        word = self.positions[place]
        return [
            position["position"]
            for position in self.positions
            if position["sentence"] == word["sentence"] and position["index"] == word["head_index"]
        ]


@cache
def read(path: Path, run: str, sentence: str, head: tuple[int, int]) -> Map:
    """One head over that input of a run that has the most words of a sentence.

    It is kept, since tests ask several times for one of a bank that nobody writes to.
    """
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute(
            "select sequence.id, position.position, position.kind, position.text, sentence.name,"
            " word.index, word.head_index, word.deprel, word.form from position"
            " join sequence on sequence.id = position.sequence join run on run.id = sequence.run"
            " left join word on word.id = position.word"
            " left join sentence on sentence.id = word.sentence where run.name = ? order by 1, 2",
            [run],
        ).fetchall()
        names = ("position", "kind", "text", "sentence", "index", "head_index", "relation", "form")
        inputs: dict[int, list[dict[str, Any]]] = {}
        for sequence, *values in rows:
            inputs.setdefault(sequence, []).append(dict(zip(names, values, strict=True)))
        counts = {
            sequence: len({each["index"] for each in those if each["sentence"] == sentence})
            for sequence, those in inputs.items()
        }
        best = max(counts, key=lambda sequence: (counts[sequence], -sequence))
        maps = connection.execute(
            "select from_position, weights from attention"
            " where sequence = ? and layer = ? and head = ?",
            [best, *head],
        ).fetchall()
    return Map(inputs[best], dict(maps))
