"""Categories look alike wherever they are drawn, and are told apart without their colours."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from drawn import frame_of_heads, heads, marks_of
from numpy.typing import NDArray

from attnbank.queries.pictures import specification
from attnbank.queries.pictures.encodings import (
    DASHES,
    SHAPES,
    category_label,
    encodings_of,
    scale_ends,
)
from attnbank.queries.pictures.theme import THEMES, Theme

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = np.array([0.9505, 1.0, 1.089])
# Machado, Oliveira and Fernandes (2009): full loss of the cones for long, middle and short waves.
_BLIND = {
    "no": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip


def _linear(colour: str) -> NDArray[np.float64]:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIE L*a*b* of a colour in linear sRGB, as its standard has it."""
    ratio = (_TO_XYZ @ linear) / _WHITE
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_colours_of_kinds_differ_in_lightness_and_for_the_colour_blind(theme: Theme) -> None:
    colours = [_linear(each) for each in (*theme.palette, theme.other)]
    lightness = sorted(float(_lab(colour)[0]) for colour in colours)
    assert min(b - a for a, b in pairwise(lightness)) >= 12
    for matrix in _BLIND.values():
        seen = [_lab(np.clip(matrix @ colour, 0, 1)) for colour in colours]
        # A difference of ten is seen at a glance; one of two, side by side.
        assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 10


def test_no_two_categories_of_a_picture_look_alike() -> None:
    names = [f"k{at}" for at in range(len(SHAPES) * len(THEMES["light"].palette))]
    for theme in THEMES.values():
        found = encodings_of(names).values()
        assert len({(each.color(theme), each.shape) for each in found}) == len(names) == 55
    known = encodings_of(["obj", "dobj", "nsubj", "case", "prep", "mine", "previous", "other"])
    pairs = {(each.color(THEMES["light"]), each.shape) for each in known.values()}
    assert len(pairs) == len(known)
    dashed = encodings_of(["[CLS]", "[SEP]", ". and ,", "previous", "next"])
    theme = THEMES["light"]
    assert len({(each.color(theme), tuple(each.dash)) for each in dashed.values()}) == 5
    assert len(set(map(tuple, DASHES))) == len(DASHES)


def test_a_known_category_looks_the_same_beside_others_and_alone() -> None:
    alone = encodings_of(["obj"])["obj"]
    assert encodings_of(["zz", "previous", "obj", "cls", "aa"])["obj"] == alone
    assert encodings_of(["dobj"])["dobj"] == alone != encodings_of(["dobj", "obj"])["dobj"]
    assert encodings_of(["[CLS]"])["[CLS]"] == encodings_of(["cls", "sep"])["cls"]
    assert encodings_of(["other"])["other"].color(THEMES["light"]) == THEMES["light"].other
    assert (category_label("cls"), category_label("within_layer")) == ("[CLS]", "within layer")


def test_a_picture_draws_categories_as_the_table_has_them() -> None:
    """The colour of a category once depended on which row came first."""
    frame = frame_of_heads(groups=("previous", "obj"))
    found: list[dict[Any, Any]] = []
    for rows in (frame, frame.reverse()):
        made = specification(heads("points y=share color=group"), rows)
        marks = marks_of(made, "symbol")
        found.append({mark["fill"]: mark["shape"] for mark in marks if "share" in str(mark)})
    theme = THEMES["light"]
    wanted = {each.color(theme): each.shape for each in encodings_of(["previous", "obj"]).values()}
    assert found == [wanted, wanted]


@pytest.mark.parametrize(
    ("amounts", "domain", "stretch", "wanted"),
    [
        ([0.2, 0.4], (0.0, 1.0), False, [0, 1]),
        ([0.2, 0.4], (0.0, 1.0), True, [0.2, 0.4]),
        ([0.2, 3.0], None, False, [0, 3]),
        ([-1.0, 3.0], None, False, [-3, 0, 3]),
        ([-1.0, 3.0], None, True, [-3, 0, 3]),
        ([0.2, 0.2], None, True, [0, 0.2]),
        ([], None, False, [0, 1]),
    ],
)
def test_a_scale_is_fixed_unless_it_is_stretched(
    amounts: list[float], domain: tuple[float, float] | None, stretch: bool, wanted: list[float]
) -> None:
    assert scale_ends(amounts, domain, stretch=stretch) == wanted
