"""Measures of attention other than the weights: for each map a matrix between positions.

norms: the norm of the vector that a head moves from one position to another (Kobayashi et al.
2020). A head adds to the output at token a, for each token b, alpha(a, b) f(x_b), where f(x) =
(x W_V + b_V) W_O of that head (section 3; the output's own bias belongs to no token).
residual-norms: the same for a whole layer, including its residual connection and, in post-norm
models, its layer norm (Kobayashi et al. 2021).
rollout: attention multiplied through the layers below (Abnar and Zuidema 2020).
value-zeroing: how much a layer's output at one position changes when the values of another are zero
(Mohebbi et al. 2023).

To a position of several tokens, their vectors are summed before the norm is taken, or their values
are zeroed together; from such a position, the mean over its tokens or the first token is taken, as
for weights (section 4.1 of the paper).
A new measure is a function here with its entry in `_MEASURES`, below; its name goes into
`ingest.options.Measure` and, if its maps are of whole layers, into LAYER_MEASURES there; if their
rows sum to 1, into NORMALISED_MEASURES below. `run.measure` in sql/schema lists it for people.

In shapes, B is the number of inputs, H of heads, T of tokens, P of positions, padding included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import torch
from torch import Tensor

from attnbank.ingest.models.attend import Attention, Call, zero_values
from attnbank.ingest.models.families import RESIDUAL_NORMS
from attnbank.ingest.models.runtime import ModelError, is_out_of_memory
from attnbank.ingest.options import Measure, Subword

if TYPE_CHECKING:
    from attnbank.ingest.models.loading import Model
    from attnbank.ingest.models.tokenizer import Encoded

# Measures whose rows sum to 1.
NORMALISED_MEASURES = frozenset({"weights", "rollout", "value-zeroing"})
# Bounds memory: tokens in one pass of a layer, or rows of vectors held together.
TOKENS_AT_ONCE = 4096
_SAME = 1e-4  # of the largest figure: more than rounding, less than any other input of a layer


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


def check_measure(model: Model, measure: Measure) -> None:
    """Raise ModelError if a measure cannot be computed for a model."""
    if measure in ("weights", "rollout"):
        return
    why = None
    if measure != "value-zeroing":
        if not all(site.is_linear for site in model.attention.sites):
            why = "its heads add something else to the output than weighted values"
    elif not _can_repeat(model):
        why = "its layers cannot be run by themselves"
    elif _passes_values_by(model):
        why = "its values also reach the output in another way than by attention"
    if why is not None:
        raise ModelError(
            f"--measure {measure} is not possible for {model.module.config.model_type}"
            f" ({model.facts.name}): {why}.",
            "Use --measure weights, or another model, such as BERT, GPT-2 or Llama.",
        )


def _can_repeat(model: Model) -> bool:
    """Whether each layer gives the same output when it is run again by itself."""
    attention = model.attention
    if any(site.layer in (None, site.name) for site in attention.sites):
        return False
    try:
        with _record_layers(attention.layers) as runs:
            model.run(*model.tried_input())
        with torch.inference_mode():
            outputs = [(run.output, run.repeat(2)) for run in runs]
    except Exception as error:  # of the model's own code
        if is_out_of_memory(error):
            raise
        return False
    return len(outputs) == len(attention.sites) and all(
        bool((again - first).abs().max() <= _SAME * first.abs().max()) for first, again in outputs
    )


def _passes_values_by(model: Model) -> bool:
    """Whether anything is left of what attention gives if all values are zero, but for a bias.

    Nyströmformer adds a convolution of the values.
    """
    attention = model.attention
    left: list[bool] = []

    def zero(call: Call) -> None:
        zero_values(call, torch.ones(1, 1, dtype=torch.bool, device=model.device))

    def note_input(module: Any, inputs: tuple[Any, ...]) -> None:
        left.append(bool(inputs[0].any()))

    def note_output(module: Any, inputs: Any, output: Any) -> None:
        by_token = _first_tensor(output)
        left.append(not torch.allclose(by_token, by_token[:, :1], atol=_SAME))

    with ExitStack() as hooks, attention.watch(zero):
        for site in {site.name: site for site in attention.sites}.values():
            if site.projection is not None:
                hook = site.projection.register_forward_pre_hook(note_input)
            else:  # a gate comes between
                module = (model.module_with_head or model.module).get_submodule(site.name)
                hook = module.register_forward_hook(note_output)
            hooks.enter_context(hook)
        model.run(*model.tried_input())
    return any(left)


def _norms(model: Model, inputs: PaddedInputs, subword: Subword) -> list[Tensor]:
    attention = model.attention
    pooling = Pooling.from_inputs(inputs, subword, model.device)
    maps: list[Tensor] = []

    def add(call: Call) -> None:
        assert call.weights is not None
        values = call.values_of(range(call.heads))
        matrix = attention.output_factors[call.number].to(values)
        maps.append(pooling.norms(call.weights, values @ matrix.transpose(1, 2)))  # [B, H, T, V]

    with attention.watch(after=add):
        model.run(inputs.ids, inputs.mask, inputs.segments)
    return maps


def _residual_norms(model: Model, inputs: PaddedInputs, subword: Subword) -> list[Tensor]:
    # One input at a time and without padding: vectors between all pairs of tokens are large.
    attention = model.attention
    path = RESIDUAL_NORMS[model.module.config.model_type]
    norms = [path and layer.get_submodule(path) for layer in attention.layers]
    maps: list[list[Tensor]] = []
    pooling = Pooling.from_inputs(inputs, subword, model.device)
    for at, encoded in enumerate(inputs.encoded):
        unpadded = slice(at, at + 1), slice(0, len(encoded.ids))
        calls: list[tuple[Tensor, Tensor]] = []  # weights and values

        def add(call: Call, calls: list[tuple[Tensor, Tensor]] = calls) -> None:
            assert call.weights is not None
            calls.append((call.weights[0], call.values_of(range(call.heads))[0]))

        with (
            attention.watch(after=add),
            _record_layers(attention.layers) as layers,
            _record_inputs(norms) as summed,
        ):
            model.run(inputs.ids[unpadded], inputs.mask[unpadded], inputs.segments[unpadded])
        rows, columns = pooling.rows[at], pooling.columns[at]
        size = len(encoded.positions), len(encoded.ids)
        rows, columns = rows[: size[0], : size[1]], columns[: size[1], : size[0]]
        recorded = [
            _Recorded(*call, layer.hidden[0], norm, norm_input, matrix)
            for call, layer, norm, norm_input, matrix in zip(
                calls, layers, norms, summed, attention.output_weights, strict=True
            )
        ]
        maps.append([_residual_norm_map(of_layer, rows, columns) for of_layer in recorded])
    return _stack_padded(maps)


class _Recorded(NamedTuple):
    """What a layer had of an input."""

    weights: Tensor  # [H, T, T]
    vectors: Tensor  # the values [H, T, V]
    residual: Tensor  # the input of the residual connection [T, hidden]
    norm: Any  # the layer norm after that connection, or None
    norm_input: Tensor | None  # its input [T, hidden]
    matrix: Tensor  # W_O [H, V, hidden]


def _residual_norm_map(recorded: _Recorded, rows: Tensor, columns: Tensor) -> Tensor:
    """Return the norms [1, P, P] of what each position moves to each other, with the residual.

    `rows` [P, T] and `columns` [T, P] pool tokens into positions.
    """
    weights, vectors, residual, norm, norm_input, matrix = recorded
    moved = torch.einsum("htd,hdm->htm", vectors, matrix.to(vectors))
    tokens = len(residual)
    at_once = max(1, TOKENS_AT_ONCE // tokens)
    lengths = torch.zeros(len(rows), len(rows), device=weights.device)
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
    attention = model.attention
    pooling = Pooling.from_inputs(inputs, subword, model.device)
    maps: list[list[Tensor]] = []
    for at, encoded in enumerate(inputs.encoded):
        unpadded = slice(at, at + 1), slice(0, len(encoded.ids))
        with _record_layers(attention.layers) as runs:
            model.run(inputs.ids[unpadded], inputs.mask[unpadded], inputs.segments[unpadded])
        size = len(encoded.positions), len(encoded.ids)
        of_position = pooling.columns[at][: size[1], : size[0]].T > 0  # [P, T]
        rows = pooling.rows[at][: size[0], : size[1]].double()
        maps.append([_zeroing_map(attention, run, of_position, rows) for run in runs])
    return _stack_padded(maps)


def _zeroing_map(attention: Attention, run: _LayerRun, of_position: Tensor, rows: Tensor) -> Tensor:
    """Return the changes of a layer's output, [1, P, P], as shares of those of each row."""
    original = torch.nn.functional.normalize(run.output[0].double(), dim=-1)
    at_once = max(1, TOKENS_AT_ONCE // of_position.shape[1])
    changes = []
    for zeroed_tokens in torch.split(of_position, at_once):
        zero = partial(zero_values, tokens=zeroed_tokens)
        with torch.inference_mode(), attention.watch(zero):
            output = run.repeat(len(zeroed_tokens))
        zeroed = torch.nn.functional.normalize(output.double(), dim=-1)
        changes.append((zeroed - original).square().sum(-1) / 2)  # 1 - cos, of unit vectors
    changed = rows @ torch.cat(changes).T  # [P, P]: from each position to each that had no values
    total = changed.sum(-1, keepdim=True)
    return torch.where(total > 0, changed / total, changed).float()[None]


@dataclass
class _LayerRun:
    """One run of a layer with one input: its arguments and its output."""

    layer: Any
    hidden: Tensor  # [1, T, hidden]
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    output: Tensor  # [1, T, hidden]

    def repeat(self, times: int) -> Tensor:
        """Run the layer with N copies of its input and return its output, [N, T, hidden]."""
        hidden = self.hidden.expand(times, -1, -1)
        if "hidden_states" in self.keywords:
            return _first_tensor(
                self.layer(*self.positional, **self.keywords | {"hidden_states": hidden})
            )
        return _first_tensor(self.layer(hidden, *self.positional, **self.keywords))


@contextmanager
def _record_layers(layers: Sequence[Any]) -> Iterator[list[_LayerRun]]:
    """Context manager that records each run of the layers, in order."""
    runs: list[_LayerRun] = []

    def note(layer: Any, arguments: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        hidden = arguments[0] if arguments else named["hidden_states"]
        runs.append(_LayerRun(layer, hidden, arguments[1:], named, _first_tensor(output)))

    with ExitStack() as hooks:
        for layer in dict.fromkeys(layers):  # ALBERT runs one layer several times
            hooks.enter_context(layer.register_forward_hook(note, with_kwargs=True))
        yield runs


@contextmanager
def _record_inputs(norms: Sequence[Any]) -> Iterator[list[Tensor | None]]:
    """Context manager that records the input [T, hidden] of each layer norm, or None for None."""
    if None in norms:
        yield [None] * len(norms)
        return
    norm_inputs: list[Tensor | None] = []
    with ExitStack() as hooks:
        for norm in norms:
            hooks.enter_context(
                norm.register_forward_hook(
                    lambda module, inputs, out: norm_inputs.append(inputs[0][0])
                )
            )
        yield norm_inputs


def _first_tensor(output: Any) -> Tensor:
    tensor: Tensor = output[0] if isinstance(output, tuple | list) else output
    return tensor


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
