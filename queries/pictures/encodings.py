"""One colour, shape, dash and label for each category, in pictures, report, explorer and page.

A category looks alike wherever it is drawn, whatever is drawn beside it, so that two pictures can
be laid side by side. Two categories of one picture never look alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnbank.queries.pictures.theme import Theme

# Shapes by name, as paths of SVG that reach from about -1 to 1. Eleven, and colours are five: both
# run round together for fifty-five categories before a pair comes again.
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

# What has no look of its own: it is grey.
OTHER = frozenset({"other", "none"})

# What heads attend to: surface patterns, then the relations of Universal Dependencies.
_OF_HEADS = (
    "previous", "next", "cls", "sep", "punctuation", "first", "broad", "self",
    "nsubj", "obj", "det", "case", "amod", "obl", "advmod", "nmod", "conj", "cc", "aux", "mark",
    "compound", "cop", "advcl", "acl", "xcomp", "ccomp", "nummod", "punct", "coreference", "all",
    "iobj", "csubj", "expl", "appos", "fixed", "flat", "parataxis", "discourse", "vocative",
    "dislocated", "clf", "list", "orphan", "goeswith", "reparandum", "dep", "root",
)  # fmt: skip

# The patterns of Kovaleva et al. (2019).
_MAPS = ("vertical", "diagonal", "vertical_diagonal", "heterogeneous", "block")

# Columns that are drawn beside each other: a figure, and what it is to be held against, whose marks
# stand on bars of the first colour and so never have it.
_REFERENCES = (
    "accuracy", "offset_accuracy", "held_out_accuracy", "", "in_sample_accuracy",
    "within_layer", "common_accuracy", "", "", "rule_based",
    "", "nearest", "head_match", "", "adjacent", "", "best_uuas", "ensemble_uuas", "",
    "control_mean", "", "chance", "held_out_gain", "", "", "", "between_layers",
)  # fmt: skip

_KNOWN = {
    name: slot
    for family in (_OF_HEADS, _MAPS, _REFERENCES)
    for slot, name in enumerate(family)
    if name
}

# Other names of the same things: as figures write them, and of Stanford Dependencies.
_SAME = {
    "[CLS]": "cls", "[SEP]": "sep", ". and ,": "punctuation", "first word": "first",
    "[SEP] -> [SEP]": "sep", "other -> [SEP]": "broad",
    "dobj": "obj", "prep": "case", "pobj": "obl", "poss": "nmod", "auxpass": "aux",
    "nsubjpass": "nsubj", "rcmod": "acl", "partmod": "acl", "nn": "compound", "num": "nummod",
    "p": "punct", "accuracy_b": "offset_accuracy",
}  # fmt: skip

_LABELS = {"cls": "[CLS]", "sep": "[SEP]", ". and ,": "punctuation"}


# What a column is called beside an axis or a scale, where its meaning is longer than that.
#
# Some are those of one analysis.
_CAPTIONS = {
    "accuracy": "Accuracy",
    "gain": "Accuracy above the best offset",
    "uuas": "UUAS",
    "uas": "UAS",
    "cls": "Weight on [CLS]",
    "sep": "Weight on [SEP]",
    "punctuation": "Weight on . and ,",
    "other": "Weight on other tokens",
    "previous": "Weight on previous token",
    "self": "Weight on the token itself",
    "next": "Weight on next token",
    "offset": "Offset (key \u2212 query)",
    "rare_word": "Inputs where the head looks at the rarest word",
    "positional": "Maxima at the commonest offset",
    "confidence": "Largest weight of a position, mean",
    "received": "Weight that a word of the class receives",
    "given": "Weight that a word of the class gives",
    "missing": "Weight on no position",
    "sink": "Share of inputs in which the head rests there",
    "syntactic": "Relation found (+ others)",
    "entropy_from_cls": "Entropy from [CLS], in nats",
    "attention_sink.sink": "Share of heads that rest there",
    "offset_baseline.offset": "Fixed offset",
    "head_embedding.x": "MDS dimension 1 (nats per token)",
    "head_embedding.y": "MDS dimension 2 (nats per token)",
    "figure_6.x": "MDS dimension 1 (nats per token)",
    "figure_6.y": "MDS dimension 2 (nats per token)",
    "attention_sink.position": "Position in the input, from 0",
    "head_error.value": "",
    "head_error.share": "Share of the errors",
}


def caption_of(analysis: str, column: str) -> str | None:
    """What a column is called beside an axis or a scale; None to say its meaning there."""
    return _CAPTIONS.get(f"{analysis}.{column}", _CAPTIONS.get(column))


@dataclass(frozen=True)
class Encoding:
    """How a category is drawn; `slot` is its place in the round of pairs, None for what is grey."""

    slot: int | None

    def color(self, theme: Theme) -> str:
        """Its colour in a theme."""
        return theme.other if self.slot is None else theme.palette[self.slot % len(theme.palette)]

    @property
    def shape(self) -> str:
        """The path of its shape."""
        return tuple(SHAPES.values())[(self.slot or 0) % len(SHAPES)]

    @property
    def dash(self) -> list[int]:
        """The dashes of its line, and the gaps between them."""
        return DASHES[(self.slot or 0) % len(DASHES)]


def encodings(values: Iterable[str]) -> dict[str, Encoding]:
    """How each of the values of one picture is drawn.

    Known ones have their own. Others (models, relations of one's own) take the next one that is
    free, in the order of the values.
    """
    names = dict.fromkeys(values)
    encoded: dict[str, Encoding] = {}
    used_slots: set[int] = set()
    for name in sorted(names, key=lambda name: name in _SAME):  # a thing before its other names
        slot = _KNOWN.get(_SAME.get(name, name))
        if name in OTHER:
            encoded[name] = Encoding(None)
        elif slot is not None and slot not in used_slots:
            encoded[name] = Encoding(slot)
            used_slots.add(slot)
    free = (slot for slot in range(len(names) + len(used_slots)) if slot not in used_slots)
    return {name: encoded[name] if name in encoded else Encoding(next(free)) for name in names}


def label_of(value: str) -> str:
    """What a category is called in a key."""
    return _LABELS.get(value, value.replace("_", " "))


def unit_of(help: str) -> str | None:
    """What the header says that a column is measured in: nats, or a share in [0, 1]."""
    match = re.search(r"\bin (nats[^;,]*|\[0, 1\])", help)
    if match is None:
        return None
    return "share, in [0, 1]" if match[1].startswith("[") else match[1]


def in_order(values: Sequence[str]) -> list[str]:
    """Categories as a key lists them: in their order, the grey ones last."""
    return sorted(values, key=lambda name: name in OTHER)


def ends_of(
    values: Iterable[float], domain: Sequence[float] | None, *, stretch: bool = False
) -> list[float]:
    """The ends of a scale of amounts; three, with 0 in the middle, if some amounts are below it.

    A fixed `domain` lets pictures be compared; to `stretch` is to leave it for that of the amounts.
    """
    amounts = list(values)
    if stretch and amounts and min(amounts) < max(amounts) and min(amounts) >= 0:
        return [min(amounts), max(amounts)]
    if domain is not None and not stretch:
        return list(domain)
    least, most = min([0.0, *amounts]), max([0.0, *amounts])
    reach = max(-least, most)
    return [-reach, 0.0, reach] if least < 0 else [0.0, most or 1.0]
