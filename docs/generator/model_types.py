"""The table of model types in how-to/use-other-models.md: what can be done with each type.

A tiny random model of every type that transformers has is built and tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tiny_types
import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from attnbank.ingest.attention.measures import check_measure
from attnbank.ingest.models.attend import Call, cut_edges
from attnbank.ingest.models.attention_behaviour import detect_behaviour, find_shape
from attnbank.ingest.models.families import RESIDUAL_NORMS, family_of
from attnbank.ingest.models.loading import Head, Model, ModelFacts
from attnbank.ingest.models.runtime import ModelError
from attnbank.ingest.options import Measure
from generator.markdown import table

PAGE = Path(__file__).resolve().parents[1] / "how-to" / "use-other-models.md"
BEGINS = "<!-- The table is made by `python docs/make.py --types`; do not edit it. -->"
ENDS = "<!-- The table ends here. -->"

_MEASURES: tuple[Measure, ...] = ("norms", "value-zeroing")
_HEAD = ("weights", *_MEASURES, "residual-norms", "ablation", "edges")
_VOCABULARY = 96  # of the tiny models, without the special tokens at its beginning
_PHRASES = {
    "Save only its encoder": "an encoder-decoder, whose encoder can be saved and used",
    "is an encoder-decoder": "an encoder-decoder",
    "returns no attention weights": "it returns no attention",
    "returns attention of shapes": "its maps are not of all tokens, or of unequally many heads",
    "returns attention scores": "it returns scores, not weights",
    "does not take text": "it does not take text alone",
}
_CUT = (5, 2)  # a token, and an earlier one that it attends to


@dataclass(frozen=True)
class Row:
    """What can be done with a type: yes or no for each of _HEAD, and why not."""

    abilities: tuple[bool, ...]
    why: str = ""


def with_table(rows: dict[str, Row]) -> str:
    """The page with the table of these types."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGINS)
    _, after = rest.split(ENDS)
    return "\n".join([f"{before}{BEGINS}", "", *lines(rows), "", f"{ENDS}{after}"])


def lines(rows: dict[str, Row]) -> Iterator[str]:
    """The lines of the table; types with the same row share it, those that can most come first."""
    types_of: dict[Row, list[str]] = {}
    for kind, row in sorted(rows.items()):
        types_of.setdefault(row, []).append(kind)
    ordered = sorted(types_of, key=lambda row: (-sum(row.abilities), -len(types_of[row])))
    yield from table(
        ("types", *_HEAD, "why not"),
        (
            (
                ", ".join(types_of[row]),
                *("yes" if able else "no" for able in row.abilities),
                row.why.replace("|", "\\|"),
            )
            for row in ordered
        ),
    )


def rows_of(kinds: Iterable[str] = tiny_types.TYPES) -> dict[str, Row]:
    """The rows of all types that can be built tiny."""
    rows = {}
    for kind in kinds:
        try:
            rows[kind] = _row(kind, tiny_types.build(kind))
        except tiny_types.CannotBuild:
            continue
    return rows


def _row(kind: str, module: Any) -> Row:
    try:
        # That of the whole model: the tiny ones of some encoder-decoders are decoders.
        family_of(module.config).check_supported(kind, CONFIG_MAPPING[kind]())
        model = _model(kind, module)
    except ModelError as error:
        return Row((False,) * len(_HEAD), _phrase(error))
    reasons: list[str] = []

    def is_able(check: Callable[[], object]) -> bool:
        try:
            check()
        except ModelError as error:
            reasons.append(_phrase(error))
            return False
        return True

    if not is_able(lambda: model.attention):
        return Row((True, *(False,) * (len(_HEAD) - 1)), *reasons)
    measures = [is_able(partial(check_measure, model, measure)) for measure in _MEASURES]
    abilities = (True, *measures, kind in RESIDUAL_NORMS, True, _cuts_edges(model))
    return Row(abilities, "; ".join(reasons))


def _model(kind: str, module: Any) -> Model:
    """A tiny model as `load` makes it, without tokenizer. Raises ModelError as `load` does."""
    shape = find_shape(kind, module.base_model, module.config)
    facts = ModelFacts(
        kind, None, "", type(module.base_model).__name__, len(shape.layers), shape.heads, 0, "",
        "", None,
    )  # fmt: skip
    head: Head = "masked" if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES else "causal"
    model = Model(
        facts, None, module.base_model, torch.device("cpu"), takes_segments=False,  # type: ignore[arg-type]
        map_indices=shape.map_indices, sources=shape.sources, module_with_head=module, head=head,
    )  # fmt: skip
    detect_behaviour(kind, model.attentions, range(4, _VOCABULARY), 0, 64)
    return model


def _cuts_edges(model: Model) -> bool:
    """Whether a cut edge has no weight, in any head of any layer."""
    remaining: list[float] = []
    ids, mask, segments = model.tried_input()
    attending, attended = _CUT
    edges = torch.zeros(1, 1, ids.shape[1], ids.shape[1], dtype=torch.bool)
    edges[..., attending, attended] = True

    def look(call: Call) -> None:
        assert call.weights is not None
        remaining.append(float(call.weights[..., attending, attended].abs().max()))

    with model.attention.watch(lambda call: cut_edges(call, edges), look):
        model.run(ids, mask, segments)
    return max(remaining) == 0


def _phrase(error: ModelError) -> str:
    """The reason of an error, without the name of the model."""
    for part, phrase in _PHRASES.items():
        if part in f"{error.fact} {error.remedy}":
            return phrase
    return error.fact.rstrip(".").rpartition(": ")[2]
