"""Measures of attention other than the weights: for each map a matrix between positions.

norms: the norm of the vector that a head moves from one position to another (Kobayashi et al.
2020).
residual-norms: the same for a whole layer, including its residual connection and, in post-norm
models, its layer norm (Kobayashi et al. 2021).
rollout: attention multiplied through the layers below (Abnar and Zuidema 2020).
value-zeroing: how much a layer's output at one position changes when the values of another are zero
(Mohebbi et al. 2023).

To a position of several tokens, their vectors are summed before the norm is taken, or their values
are zeroed together; from such a position, the mean over its tokens or the first token is taken, as
for weights (section 4.1 of the paper).
A new measure is a function here with its entry in `_MEASURES`, below; its name goes into
`ingest.options.Measure` and, if its maps are of whole layers or do not sum to 1, into the two sets
below. `run.measure` in sql/schema lists it for people.

In shapes, B is the number of inputs, H of heads, T of tokens, P of positions, padding included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import torch
from torch import Tensor

from attnbank.ingest.models.families import Values
from attnbank.ingest.options import Measure, Subword

if TYPE_CHECKING:
    from attnbank.ingest.models.loading import Model
    from attnbank.ingest.models.tokenizer import Encoded

# Measures of whole layers: one map in each.
LAYER_MEASURES = frozenset({"residual-norms", "rollout", "value-zeroing"})
# Measures whose rows sum to 1.
NORMALISED_MEASURES = frozenset({"weights", "rollout", "value-zeroing"})
# Bounds memory: tokens in one pass of a layer, or rows of vectors held together.
TOKENS_AT_ONCE = 4096


@dataclass(frozen=True)
class PaddedInputs:
    """The padded input of a model: `ids`, `mask` and `segments` are [B, T] int64."""

    encoded: Sequence[Encoded]
    ids: Tensor
    mask: Tensor
    segments: Tensor


def compute_maps(
    model: Model, inputs: PaddedInputs, measure: Measure, subword: Subword
) -> list[Tensor]:
    """Return the maps [B, H, P, P] of a batch for each layer with attention.

    H is 1 for `LAYER_MEASURES`. Rows and columns beyond an input's own positions are 0.
    """
    assert measure in get_args(Measure)
    return _MEASURES[measure](model, inputs, subword)


def _norms(model: Model, inputs: PaddedInputs, subword: Subword) -> list[Tensor]:
    values = _loaded_values(model)
    with values.record_values() as heard:
        weights = [*model.attentions(inputs.ids, inputs.mask, inputs.segments)]
    pooling = Pooling.from_inputs(inputs, subword, model.device)
    moved = [matrix.to(heard[0]) for matrix in values.output_factors]
    maps = []
    while weights:  # pop, so that the memory of each layer is freed once it is done
        vectors = heard.pop(0) @ moved.pop(0).transpose(1, 2)  # [B, H, T, D]
        maps.append(pooling.norms(weights.pop(0), vectors))
    return maps


def _residual_norms(model: Model, inputs: PaddedInputs, subword: Subword) -> list[Tensor]:
    # One input at a time and without padding: vectors between all pairs of tokens are large.
    values = _loaded_values(model)
    maps: list[list[Tensor]] = []
    pooling = Pooling.from_inputs(inputs, subword, model.device)
    for at, encoded in enumerate(inputs.encoded):
        unpadded = slice(at, at + 1), slice(0, len(encoded.ids))
        with (
            values.record_values() as heard,
            _record_calls(values.layers) as calls,
            _record_norm_inputs(values) as summed,
        ):
            weights = model.attentions(
                inputs.ids[unpadded], inputs.mask[unpadded], inputs.segments[unpadded]
            )
        rows, columns = pooling.rows[at], pooling.columns[at]
        size = len(encoded.positions), len(encoded.ids)
        rows, columns = rows[: size[0], : size[1]], columns[: size[1], : size[0]]
        recorded = [
            _Recorded(weights[layer][0], heard[layer][0], calls[layer].hidden[0], summed[layer])
            for layer in range(len(values.layers))
        ]
        maps.append([
            _residual_norm_map(values, layer, of_layer, rows, columns)
            for layer, of_layer in enumerate(recorded)
        ])  # fmt: skip
    return _stack_padded(maps)


class _Recorded(NamedTuple):
    """What a layer had of an input."""

    weights: Tensor  # [H, T, T]
    vectors: Tensor  # the values [H, T, D]
    residual: Tensor  # the input of the residual connection [T, hidden]
    norm_input: Tensor | None  # that of the layer norm [T, hidden]


def _residual_norm_map(
    values: Values, layer: int, recorded: _Recorded, rows: Tensor, columns: Tensor
) -> Tensor:
    """Return the norms [1, P, P] of what each position moves to each other, with the residual.

    `rows` [P, T] and `columns` [T, P] pool tokens into positions.
    """
    weights, vectors, residual, norm_input = recorded
    moved = torch.einsum("htd,hdm->htm", vectors, values.outputs[layer].to(vectors))
    tokens = len(residual)
    at_once = max(1, TOKENS_AT_ONCE // tokens)
    lengths = torch.zeros(len(rows), len(rows), device=weights.device)
    norm = values.layout.norm and values.layers[layer].get_submodule(values.layout.norm)
    for begin in range(0, len(rows), at_once):  # positions whose tokens' vectors are in memory
        row_block = rows[begin : begin + at_once]
        of_tokens = row_block.any(0).nonzero()[:, 0]
        mixed = torch.einsum("hab,hbm->abm", weights[:, of_tokens], moved)
        mixed[torch.arange(len(of_tokens)), of_tokens] += residual[of_tokens]
        to = torch.einsum("abm,bp->apm", mixed, columns)
        if norm:
            # Centring and scaling are linear once the variance is that of the actual input of the
            # layer norm, so they apply to each summand. The bias belongs to no token.
            assert norm_input is not None
            to = to - to.mean(-1, keepdim=True)
            tiny = norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps
            spread = norm_input[of_tokens].double().var(-1, correction=0) + tiny
            to = to / spread.sqrt().to(to)[:, None, None] * norm.weight.detach()
        pooled = torch.einsum("pa,aqm->pqm", row_block[:, of_tokens], to)
        lengths[begin : begin + at_once] = pooled.norm(dim=-1)
    return lengths[None]


def _rollout(model: Model, inputs: PaddedInputs, subword: Subword) -> list[Tensor]:
    # Between tokens, not positions: attention flows through single pieces in the layers below.
    rollouts: list[Tensor] = []
    for weights in model.attentions(inputs.ids, inputs.mask, inputs.segments):
        mixed = weights.double().mean(1)
        # The residual connection counts as much as attention: half the identity, half the weights.
        mixed = mixed + torch.eye(mixed.shape[1], dtype=mixed.dtype, device=mixed.device)
        mixed /= mixed.sum(-1, keepdim=True)
        rollouts.append(mixed @ rollouts[-1] if rollouts else mixed)
    mask = inputs.mask.to(rollouts[0])
    inside = mask[:, :, None] * mask[:, None, :]
    return [(rollout * inside).float()[:, None] for rollout in rollouts]


def _value_zeroing(model: Model, inputs: PaddedInputs, subword: Subword) -> list[Tensor]:
    # Each layer runs once more for each position, for one input at a time and without padding.
    values = _loaded_values(model)
    pooling = Pooling.from_inputs(inputs, subword, model.device)
    maps: list[list[Tensor]] = []
    for at, encoded in enumerate(inputs.encoded):
        unpadded = slice(at, at + 1), slice(0, len(encoded.ids))
        with _record_calls(values.layers) as calls:
            model.attentions(inputs.ids[unpadded], inputs.mask[unpadded], inputs.segments[unpadded])
        size = len(encoded.positions), len(encoded.ids)
        of_position = pooling.columns[at][: size[1], : size[0]].T > 0  # [P, T]
        rows = pooling.rows[at][: size[0], : size[1]].double()
        maps.append([
            _zeroing_map(values, layer, call, of_position, rows)
            for layer, call in zip(values.layers, calls, strict=True)
        ])  # fmt: skip
    return _stack_padded(maps)


def _zeroing_map(
    values: Values, layer: Any, call: _Call, of_position: Tensor, rows: Tensor
) -> Tensor:
    """Return the changes of a layer's output, [1, P, P], as shares of those of each row."""
    original = torch.nn.functional.normalize(call.output[0].double(), dim=-1)
    at_once = max(1, TOKENS_AT_ONCE // of_position.shape[1])
    changes = []
    for zeroed_tokens in torch.split(of_position, at_once):
        with torch.inference_mode(), values.zero_values(layer, zeroed_tokens):
            output = call.rerun(layer, len(zeroed_tokens))
        zeroed = torch.nn.functional.normalize(output.double(), dim=-1)
        changes.append((zeroed - original).square().sum(-1) / 2)  # 1 - cos, of unit vectors
    changed = rows @ torch.cat(changes).T  # [P, P]: from each position to each that had no values
    total = changed.sum(-1, keepdim=True)
    return torch.where(total > 0, changed / total, changed).float()[None]


@dataclass
class _Call:
    """One call of a layer with one input: its arguments and its output."""

    hidden: Tensor  # [1, T, hidden]
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    output: Tensor  # [1, T, hidden]

    def rerun(self, layer: Any, times: int) -> Tensor:
        """Call the layer with N copies of its input and return its output, [N, T, hidden]."""
        hidden = self.hidden.expand(times, -1, -1)
        if "hidden_states" in self.keywords:
            return _first_tensor(
                layer(*self.positional, **self.keywords | {"hidden_states": hidden})
            )
        return _first_tensor(layer(hidden, *self.positional, **self.keywords))


@contextmanager
def _record_calls(layers: Sequence[Any]) -> Iterator[list[_Call]]:
    """Context manager that records each call of the layers, in order."""
    calls: list[_Call] = []

    def note(layer: Any, arguments: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        hidden = arguments[0] if arguments else named["hidden_states"]
        calls.append(_Call(hidden, arguments[1:], named, _first_tensor(output)))

    with ExitStack() as hooks:
        for layer in layers:
            hooks.enter_context(layer.register_forward_hook(note, with_kwargs=True))
        yield calls


@contextmanager
def _record_norm_inputs(values: Values) -> Iterator[list[Tensor | None]]:
    """Context manager that records the input [T, hidden] of each layer norm after attention.

    In models without one, such as pre-norm models, there is a None for each layer.
    """
    if values.layout.norm is None:
        yield [None] * len(values.layers)
        return
    norm_inputs: list[Tensor | None] = []
    with ExitStack() as hooks:
        for layer in values.layers:
            norm = layer.get_submodule(values.layout.norm)
            hooks.enter_context(
                norm.register_forward_hook(
                    lambda module, inputs, out: norm_inputs.append(inputs[0][0])
                )
            )
        yield norm_inputs


def _first_tensor(output: Any) -> Tensor:
    tensor: Tensor = output[0] if isinstance(output, tuple | list) else output
    return tensor


def _loaded_values(model: Model) -> Values:
    assert model.values is not None, "the model was loaded for weights"
    return model.values


def _stack_padded(maps: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """Maps [H, P, P] of each input and layer, as [B, H, P, P] for each layer, padded with zeros."""
    most = max(layer_map.shape[-1] for layers in maps for layer_map in layers)
    return [
        torch.stack([
            torch.nn.functional.pad(layers[at], (0, most - layers[at].shape[-1]) * 2)
            for layers in maps
        ])
        for at in range(len(maps[0]))
    ]  # fmt: skip


@dataclass(frozen=True)
class Pooling:
    """How the tokens of each input are merged into positions.

    `rows` [B, P, T] averages over the tokens of the attending position, `columns` [B, T, P] sums
    over those of the attended position. `first` [B, P] is the first token of each position. The S
    positions of several tokens are position `position` [S] of input `input` [S], with `tokens`
    [S, K], which repeats the first token where `is_token` [S, K] is false.
    """

    rows: Tensor
    columns: Tensor
    first: Tensor
    input: Tensor
    position: Tensor
    tokens: Tensor
    is_token: Tensor

    @classmethod
    def from_inputs(cls, inputs: PaddedInputs, subword: Subword, device: torch.device) -> Pooling:
        """Return the pooling of a batch."""
        most = max(len(encoded.positions) for encoded in inputs.encoded)
        rows = torch.zeros(len(inputs.encoded), most, inputs.ids.shape[1])
        columns, first = torch.zeros_like(rows), torch.zeros(rows.shape[:2], dtype=torch.int64)
        split: list[tuple[int, int, int, int]] = []
        for at, encoded in enumerate(inputs.encoded):
            for number, position in enumerate(encoded.positions):
                count = position.end - position.start
                columns[at, number, position.start : position.end] = 1
                rows[at, number, position.start : position.end] = 1 / count
                first[at, number] = position.start
                if subword == "first":
                    rows[at, number, position.start + 1 : position.end] = 0
                    rows[at, number, position.start] = 1
                if count > 1:
                    split.append((at, number, position.start, count))
        at, number, start, counts = torch.tensor(split, dtype=torch.int64).reshape(-1, 4).T
        piece_numbers = torch.arange(int(counts.max()) if split else 0)
        is_token = piece_numbers < counts[:, None]
        tokens = start[:, None] + piece_numbers * is_token
        tensors = rows, columns.transpose(1, 2), first, at, number, tokens, is_token
        return cls(*(tensor.to(device) for tensor in tensors))

    def norms(self, weights: Tensor, vectors: Tensor) -> Tensor:
        """Return the norms [B, H, P, P] float32 of the weighted vectors between positions.

        `weights` are [B, H, T, T], `vectors` [B, H, T, D]; those of a position are summed first.
        """
        pooled = self.rows[:, None] @ weights  # [B, H, P, T]
        lengths: Tensor = pooled * vectors.norm(dim=-1)[:, :, None, :]
        width = lengths.shape[2]
        lengths = lengths.gather(3, self.first[:, None, None, :].expand(*lengths.shape[:3], width))
        if len(self.input):
            # |sum of w_k v_k|^2 = sum of w_k w_l (v_k . v_l): without a vector for each pair.
            where = self.input[:, None], self.tokens
            shares = pooled.permute(0, 3, 1, 2)[where].double()  # [S, K, H, P]
            shares = shares * self.is_token[:, :, None, None]
            parts = vectors.permute(0, 2, 1, 3)[where].double()  # [S, K, H, D]
            products = torch.einsum("skhd,slhd->shkl", parts, parts)
            squares = torch.einsum("skhp,shkl,slhp->shp", shares, products, shares)
            lengths[self.input, :, :, self.position] = squares.clamp(min=0).sqrt().to(lengths)
        lengths *= self.columns.any(1).to(lengths)[:, None, None, :]  # nothing goes to padding
        return lengths


_MEASURES: dict[Measure, Callable[[Model, PaddedInputs, Subword], list[Tensor]]] = {
    "norms": _norms,
    "residual-norms": _residual_norms,
    "rollout": _rollout,
    "value-zeroing": _value_zeroing,
}
