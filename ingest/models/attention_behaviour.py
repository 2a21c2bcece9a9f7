"""What a model's attention is, found by trying: its layers, its row sums, the effect of padding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from attnbank.ingest.models.runtime import ModelError, is_out_of_memory
from attnbank.sql.errors import first_line

Batching = Literal["padded", "equal", "single"]
"""Which inputs a model is given together: of any lengths, the shorter ones padded; only those of
one length; none."""

ROW_SUM = 1e-3
"""How far the sum of a row of attention may be from 1."""
_SAME = 1e-4
"""How far two weights of the same input may be apart, alone and in a batch: more than rounding."""
_LENGTH = 96  # tokens; a third of it, and the rest, reach farther than known convolutions
_NO_ATTENTION = re.compile(
    r"linear|mamba|conv|recurrent|lightning|gated_delta|^(mlp|moe)$", re.IGNORECASE
)
_OTHER_MODEL = "Use a text encoder or decoder with softmax attention."

Sources = dict[Any, int]
"""Modules, each with the place of a layer's maps in the tuple that it returns."""
Attend = Callable[[Tensor, Tensor, Tensor], Sequence[Tensor]]
"""From ids, mask and segments [B, T] to a tensor [B, H, T, T] for each layer."""


@dataclass(frozen=True)
class AttentionShape:
    """The layers with attention and the number of heads of each."""

    layers: tuple[int, ...]  # 1-based
    heads: int
    map_indices: tuple[int, ...]  # their 0-based places in what the model returns
    sources: Sources | None = None  # where they come from, in order; None where that is not known


@dataclass(frozen=True)
class AttentionBehaviour:
    """How a model behaves: what `detect_behaviour` finds."""

    sinks: bool  # rows may sum to less than 1
    causal: bool  # no token looks at a later one
    batching: Batching


def find_shape(name: str, module: Any, config: Any) -> AttentionShape:
    """Find the layers with attention, and their heads, by a forward pass, even on the meta device.

    Raises ModelError if it fails, or if the layers do not all return full maps of as many heads.
    """
    ids = torch.ones((1, 3), dtype=torch.int64, device=next(module.parameters()).device)
    layers = getattr(config, "num_hidden_layers", None)
    kind = type(module).__name__
    with (
        _translate_model_errors(name, kind),
        torch.inference_mode(),
        _record_sources(module, layers) as returned_tensors,
    ):
        output = module(input_ids=ids, output_attentions=True)
    returned = tuple(getattr(output, "attentions", None) or ())
    numbers: list[int | None]
    # The 1-based layer of each map; 0 for one without attention, None where it cannot be told.
    if len(returned) == (layers or len(returned)):
        able = attention_layers(config, len(returned))
        numbers = [
            at if maps is not None and at in able else 0
            for at, maps in enumerate(returned, start=1)
        ]
    else:
        numbers = [
            0
            if maps is None
            else (returned_tensors[id(maps)].layer or None)
            if id(maps) in returned_tensors
            else None
            for maps in returned
        ]
    if not any(numbers):
        raise ModelError(f"{name} ({kind}) returns no attention weights.", _OTHER_MODEL)
    if None in numbers:
        raise ModelError(
            f"{name} has {layers} layers but returns {len(returned)} attention maps, so it is"
            " unclear which layers they belong to.",
            "Use a model with attention in every layer.",
        )
    indices = tuple(at for at, number in enumerate(numbers) if number)
    shapes = {tuple(returned[at].shape) for at in indices}
    heads = returned[indices[0]].shape[1] if returned[indices[0]].ndim == 4 else 0
    if shapes != {(1, heads, 3, 3)}:
        raise _shape_error(name, shapes, 3)
    sources = _sources(returned_tensors, [id(returned[at]) for at in indices])
    return AttentionShape(tuple(number for number in numbers if number), heads, indices, sources)


def _sources(tensors: _TensorSources, maps: Sequence[int]) -> Sources | None:
    """The modules that return these tensors (ids) first, if no other, and in their order."""
    sources = {tensors[id].module: tensors[id].place for id in maps if id in tensors}
    from_them = [
        id for id, source in tensors.items() if sources.get(source.module, -1) == source.place
    ]
    return sources if from_them == [*maps] else None


def attention_layers(config: Any, layers: int) -> list[int]:
    """The 1-based numbers of the layers that have attention, as far as the configuration says."""
    kinds = getattr(config, "layers_block_type", None) or getattr(config, "layer_types", None)
    kinds = kinds if isinstance(kinds, list | tuple) and len(kinds) == layers else [""] * layers
    return [at for at, kind in enumerate(kinds, start=1) if not _NO_ATTENTION.search(str(kind))]


@dataclass(frozen=True)
class _TensorSource:
    """The 1-based layer (0 for none), the module and the place in what that returned."""

    layer: int
    module: Any
    place: int


_TensorSources = dict[int, _TensorSource]
"""By the id of a tensor, in the order in which modules returned them first."""


def sliding_window(config: Any) -> int | None:
    """How many tokens a token of some layer sees to one side, if the configuration bounds that."""
    kinds = getattr(config, "layer_types", None) or ["sliding", "chunked"]
    bounds = [
        getattr(config, name, None)
        for name, kind in (("sliding_window", "sliding"), ("attention_chunk_size", "chunked"))
        if any(str(value).startswith(kind) for value in kinds)
    ]
    return min((bound for bound in bounds if isinstance(bound, int) and bound > 0), default=None)


@contextmanager
def _record_sources(module: Any, count: int | None) -> Iterator[_TensorSources]:
    """Within, note where each four-dimensional tensor, kept alive, is first among other outputs.

    What is an output alone (of dropout) is still at work. Hybrids return the maps of their layers
    with attention alone, without the numbers of these.
    """
    tensors: _TensorSources = {}
    alive: list[Any] = []
    now = 0

    def enter(number: int, owner: Any, inputs: Any) -> None:
        nonlocal now
        now = number

    def record(owner: Any, inputs: Any, output: Any) -> None:
        for at, tensor in enumerate(output if isinstance(output, tuple | list) else ()):
            if isinstance(tensor, Tensor) and tensor.ndim == 4:
                alive.append(tensor)
                tensors.setdefault(id(tensor), _TensorSource(now, owner, at))

    lists = (
        submodule for submodule in module.modules() if isinstance(submodule, torch.nn.ModuleList)
    )
    layers = next((modules for modules in lists if len(modules) == count), ())
    with ExitStack() as hooks:
        for number, layer in enumerate(layers, start=1):
            hooks.enter_context(layer.register_forward_pre_hook(partial(enter, number)))
        for submodule in module.modules():
            hooks.enter_context(submodule.register_forward_hook(record))
        yield tensors


def detect_behaviour(
    name: str, attend: Attend, words: Sequence[int], padding: int, longest: int | None
) -> AttentionBehaviour:
    """Try a model on two inputs of ordinary tokens, each alone and both together, one padded.

    Raises ModelError if a pass fails, or for attention that is not finite, or is not a share.
    """
    long = min(_LENGTH, longest or _LENGTH)
    lengths = (max(1, long // 3), long)
    ids = torch.full((2, long), padding, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        places = range(3 + row, 3 + row + 7 * length, 7)
        ids[row, :length] = torch.tensor([words[at % len(words)] for at in places])
        mask[row, :length] = 1

    def forward(rows: slice, length: int) -> list[Tensor]:
        inputs = ids[rows, :length], mask[rows, :length]
        with _translate_model_errors(name, f"an input of {length} tokens"):
            maps = list(attend(*inputs, torch.zeros_like(inputs[0])))
        shapes = {tuple(weights.shape) for weights in maps}
        if shapes != {(len(inputs[0]), maps[0].shape[1], length, length)}:
            raise _shape_error(name, shapes, length)
        return maps

    alone = [forward(slice(row, row + 1), length) for row, length in enumerate(lengths)]
    every = [weights for maps in alone for weights in maps]
    sinks = _has_sinks(name, every)
    causal = not any(bool(weights.triu(1).any()) for weights in every)
    together = forward(slice(0, 2), long)
    apart = [
        max(
            float((single[0] - both[row, :, :length, :length]).abs().max())
            for single, both in zip(alone[row], together, strict=True)
        )
        for row, length in enumerate(lengths)
    ]
    if not apart[1] <= _SAME:
        return AttentionBehaviour(sinks, causal, "single")
    return AttentionBehaviour(sinks, causal, "padded" if apart[0] <= _SAME else "equal")


def _has_sinks(name: str, maps: Sequence[Tensor]) -> bool:
    """Whether a row sums to less than 1. Raises ModelError for what are not shares of attention."""
    least = min(float(weights.min()) for weights in maps)
    sums = [weights.double().sum(-1) for weights in maps]
    most = max(float(row_sums.max()) for row_sums in sums)
    if least < -ROW_SUM or most > 1 + ROW_SUM:
        raise ModelError(
            f"{name} returns attention scores, not shares: the smallest is {least:.4g}, and rows"
            f" sum to up to {most:.4g}.",
            _OTHER_MODEL,
        )
    if not all(bool(torch.isfinite(weights).all()) for weights in maps):
        raise ModelError(
            f"{name} returns attention that is not finite: its weights are damaged.",
            "Save or download the model again.",
        )
    return min(float(row_sums.min()) for row_sums in sums) < 1 - ROW_SUM


@contextmanager
def _translate_model_errors(name: str, what: str) -> Iterator[None]:
    """Within, whatever a model's class does with text becomes a ModelError."""
    try:
        yield
    except Exception as error:
        if is_out_of_memory(error):
            raise  # the device is at fault, not the model
        raise ModelError(
            f"{name} ({what}) does not take text and return attention: {first_line(error)}",
            "Use a text encoder or decoder.",
        ) from error


def _shape_error(name: str, shapes: set[tuple[int, ...]], length: int) -> ModelError:
    return ModelError(
        f"{name} returns attention of shapes {sorted(shapes)}; expected"
        f" (1, heads, {length}, {length}) in every layer.",
        "Use a model with full attention and the same number of heads in every layer.",
    )
