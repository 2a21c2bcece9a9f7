"""Detects a model's attention by running it: its layers, row sums, and the effect of padding."""

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

# Which inputs can be in one batch: of any lengths, with padding; only of equal length; none.
Batching = Literal["padded", "equal", "single"]

ROW_SUM = 1e-3  # how far the sum of a row of attention may be from 1
_SAME = 1e-4  # how far a weight may differ alone and in a batch: more than by rounding
_LENGTH = 96  # tokens; a third of it, and the rest, are longer than known convolutions reach
_NO_ATTENTION = re.compile(
    r"linear|mamba|conv|recurrent|lightning|gated_delta|^(mlp|moe)$", re.IGNORECASE
)
_OTHER_MODEL = "Use a text encoder or decoder with softmax attention."

# Modules, each with the index of a layer's maps in the tuple that it returns.
Sources = dict[Any, int]
# From ids, mask and segments [B, T] to a tensor [B, H, T, T] for each layer.
Attend = Callable[[Tensor, Tensor, Tensor], Sequence[Tensor]]


@dataclass(frozen=True)
class AttentionShape:
    """The layers with attention, and the number of heads of each."""

    layers: tuple[int, ...]  # 1-based
    heads: int
    map_indices: tuple[int, ...]  # their 0-based indices among the maps that the model returns
    sources: Sources | None = None  # the modules that return them, in order; None if unclear


@dataclass(frozen=True)
class AttentionBehaviour:
    """The behaviour of a model, as determined by `detect_behaviour`."""

    sinks: bool  # rows may sum to less than 1
    causal: bool  # no token attends to a later one
    batching: Batching


def find_shape(name: str, module: Any, config: Any) -> AttentionShape:
    """Determine the layers with attention and their heads by a forward pass (meta device or real).

    Raises ModelError if it fails, or unless all layers return full maps of equally many heads.
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
    # The 1-based layer of each map; 0 for one without attention, None if unclear.
    if len(returned) == (layers or len(returned)):
        able = attention_layers(config, len(returned))
        numbers = [
            at if maps is not None and at in able else 0
            for at, maps in enumerate(returned, start=1)
        ]
    else:
        layer_of = {id: source.layer or None for id, source in returned_tensors.items()}
        numbers = [0 if maps is None else layer_of.get(id(maps)) for maps in returned]
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
    """Return the modules that first return these tensors (by id) and no others, or None."""
    sources = {tensors[id].module: tensors[id].index for id in maps if id in tensors}
    from_them = [
        id for id, source in tensors.items() if sources.get(source.module, -1) == source.index
    ]
    return sources if from_them == [*maps] else None


def attention_layers(config: Any, layers: int) -> list[int]:
    """Return the 1-based numbers of the layers with attention, according to the configuration."""
    kinds = getattr(config, "layers_block_type", None) or getattr(config, "layer_types", None)
    kinds = kinds if isinstance(kinds, list | tuple) and len(kinds) == layers else [""] * layers
    return [at for at, kind in enumerate(kinds, start=1) if not _NO_ATTENTION.search(str(kind))]


@dataclass(frozen=True)
class _TensorSource:
    """Where a tensor was returned first: 1-based layer (0: none), module, index in its output."""

    layer: int
    module: Any
    index: int


# By the id of a tensor, in the order in which modules returned them first.
_TensorSources = dict[int, _TensorSource]


def sliding_window(config: Any) -> int | None:
    """Return how many tokens away attention reaches in a layer, if the configuration limits it."""
    kinds = getattr(config, "layer_types", None) or ["sliding", "chunked"]
    bounds = [
        getattr(config, name, None)
        for name, kind in (("sliding_window", "sliding"), ("attention_chunk_size", "chunked"))
        if any(str(value).startswith(kind) for value in kinds)
    ]
    return min((bound for bound in bounds if isinstance(bound, int) and bound > 0), default=None)


@contextmanager
def _record_sources(module: Any, count: int | None) -> Iterator[_TensorSources]:
    """Context manager that records which module first returns each 4-D tensor in a tuple.

    A tensor returned by itself (by dropout) is an intermediate result, and is ignored. The layer is
    recorded because hybrid models return the maps of their layers with attention only, without the
    numbers of these layers.
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
    """Run a model on two inputs of ordinary tokens, each alone and both together, one padded.

    Raises ModelError if a pass fails, or if attention is not finite, or not a share.
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
    """Whether a row sums to less than 1. Raises ModelError for values that are not shares."""
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
    """Context manager that turns any exception of the model's own code into a ModelError."""
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
