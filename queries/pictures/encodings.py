"""How categories and amounts are drawn: colours, shapes and labels, and the ends of scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnbank.queries.pictures.theme import Theme

# SVG paths of shapes, from about -1 to 1. There are eleven shapes and five colours: these numbers
# have no common divisor, so fifty-five categories differ before a pair repeats.
SHAPES = {
    "circle": "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "square": "M-0.9,-0.9H0.9V0.9H-0.9Z",
    "triangle-up": "M0,-1L1,0.85H-1Z",
    "diamond": "M-1,0L0,-1.15L1,0L0,1.15Z",
    "cross": "M-0.35,-1H0.35V-0.35H1V0.35H0.35V1H-0.35V0.35H-1V-0.35H-0.35Z",
    "triangle-down": "M0,1L1,-0.85H-1Z",
    "triangle-right": "M1,0L-0.85,1V-1Z",
    "star": "M0,-1.1L0.27,-0.37L1.05,-0.34L0.44,0.14L0.65,0.89L0,0.46L-0.65,0.89L-0.44,0.14"
    "L-1.05,-0.34L-0.27,-0.37Z",
    "triangle-left": "M-1,0L0.85,1V-1Z",
    "bar": "M-0.4,-1.1H0.4V1.1H-0.4Z",
    "bow": "M-1,-0.9L1,0.9V-0.9L-1,0.9Z",
}

DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])

# Categories that are grey.
OTHER = frozenset({"other", "none"})

# What heads attend to: surface patterns, then the relations of Universal Dependencies.
_OF_HEADS = (
    "previous", "next", "cls", "sep", "punctuation", "first", "broad", "self",
    "nsubj", "obj", "det", "case", "amod", "obl", "advmod", "nmod", "conj", "cc", "aux", "mark",
    "compound", "cop", "advcl", "acl", "xcomp", "ccomp", "nummod", "punct", "coreference", "all",
    "iobj", "csubj", "expl", "appos", "fixed", "flat", "parataxis", "discourse", "vocative",
    "dislocated", "clf", "list", "orphan", "goeswith", "reparandum", "dep", "root",
)  # fmt: skip

# The classes of attention maps of Kovaleva et al. (2019).
_MAPS = ("vertical", "diagonal", "vertical_diagonal", "heterogeneous", "block")

# Columns in one picture: a figure, and the baselines that it is compared with. Their marks are on
# bars of the first colour, so the gaps keep that colour from them.
_REFERENCES = (
    "accuracy", "offset_accuracy", "held_out_accuracy", "", "in_sample_accuracy",
    "within_layer", "common_accuracy", "", "", "rule_based",
    "", "nearest", "head_match", "", "adjacent", "", "best_uuas", "ensemble_uuas", "",
    "control_mean", "", "chance", "held_out_gain", "", "", "", "between_layers",
    "", "", "", "", "uniform_attention",
)  # fmt: skip

_KNOWN = {
    name: slot
    for family in (_OF_HEADS, _MAPS, _REFERENCES)
    for slot, name in enumerate(family)
    if name
}

# Synonyms of categories: as figures write them, and of Stanford Dependencies.
_SAME = {
    "[CLS]": "cls", "[SEP]": "sep", ". and ,": "punctuation", "first word": "first",
    "[SEP] -> [SEP]": "sep", "other -> [SEP]": "broad",
    "dobj": "obj", "prep": "case", "pobj": "obl", "poss": "nmod", "auxpass": "aux",
    "nsubjpass": "nsubj", "rcmod": "acl", "partmod": "acl", "nn": "compound", "num": "nummod",
    "p": "punct",
    "accuracy_b": "offset_accuracy", "random_weights": "in_sample_accuracy",
}  # fmt: skip

_LABELS = {
    "cls": "[CLS]", "sep": "[SEP]", ". and ,": "punctuation",
    "vertical_diagonal": "vertical + diagonal",
}  # fmt: skip


@dataclass(frozen=True)
class Encoding:
    """How a category is drawn; `slot` numbers the pairs of colour and shape, None is grey."""

    slot: int | None

    def color(self, theme: Theme) -> str:
        """The colour in a theme."""
        return theme.other if self.slot is None else theme.palette[self.slot % len(theme.palette)]

    @property
    def shape(self) -> str:
        """The SVG path of the shape."""
        return tuple(SHAPES.values())[(self.slot or 0) % len(SHAPES)]

    @property
    def dash(self) -> list[int]:
        """The lengths of the line's dashes and gaps, in pixels."""
        return DASHES[(self.slot or 0) % len(DASHES)]


def encodings_of(values: Iterable[str]) -> dict[str, Encoding]:
    """The encodings of the values of one picture.

    Known values have their own slot. Others (models, a user's relations) take the next free slot,
    in the order of the values.
    """
    names = dict.fromkeys(values)
    encoded: dict[str, Encoding] = {}
    used_slots: set[int] = set()
    for name in sorted(names, key=lambda name: name in _SAME):  # before its synonyms
        slot = _KNOWN.get(_SAME.get(name, name))
        if name in OTHER:
            encoded[name] = Encoding(None)
        elif slot is not None and slot not in used_slots:
            encoded[name] = Encoding(slot)
            used_slots.add(slot)
    free = (slot for slot in range(len(names) + len(used_slots)) if slot not in used_slots)
    return {name: encoded[name] if name in encoded else Encoding(next(free)) for name in names}


def category_label(value: str) -> str:
    """The label of a category in a legend."""
    return _LABELS.get(value, value.replace("_", " "))


def legend_order(values: Sequence[str]) -> list[str]:
    """Categories in the order of a legend: grey ones last."""
    return sorted(values, key=lambda name: name in OTHER)


def scale_ends(
    values: Iterable[float], domain: Sequence[float] | None, *, stretch: bool = False
) -> list[float]:
    """The domain of a scale of amounts: two ends, or with 0 in the middle if some are below 0.

    A fixed `domain` lets pictures be compared; `stretch` replaces it by the range of the amounts.
    """
    amounts = list(values)
    if stretch and amounts and min(amounts) < max(amounts) and min(amounts) >= 0:
        return [min(amounts), max(amounts)]
    if domain is not None and not stretch:
        return list(domain)
    least, most = min([0.0, *amounts]), max([0.0, *amounts])
    reach = max(-least, most)
    return [-reach, 0.0, reach] if least < 0 else [0.0, most or 1.0]
