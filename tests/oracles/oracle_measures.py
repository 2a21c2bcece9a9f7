"""Measures of attention beyond its weights, by what a layer lacks without the values of a position.

They are the norms of Kobayashi et al. 2020 and 2021, the rollout of Abnar and Zuidema 2020 and the
value zeroing of Mohebbi et al. 2023. Weights do not depend on values, so what a head or a layer
brings from some tokens is what its output loses when the values of these tokens are zero. No
matrix is read: the model's own modules compute all of it, in float64.

In shapes, L is the number of layers, H of the heads of the queries, T of the tokens of an input and
P of its positions, D is the hidden size.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch

Pieces = Sequence[tuple[int, int]]
"""For each position the half-open range of its tokens."""


class Family(NamedTuple):
    """Paths of the layers, and within each of the value and output projections and a norm.

    `values` picks the values from [T, H, 3, ...] or [T, 3, H, ...] where one projection gives them
    with queries and keys; `bias` is added to them later. The norm is the one after the attention's
    residual connection.
    """

    layers: str
    value: str
    output: str
    norm: str | None = None
    values: str = "alone"
    bias: str | None = None


_BERT = Family(
    "encoder.layer", "attention.self.value", "attention.output.dense", "attention.output.LayerNorm"
)
_LLAMA = Family("layers", "self_attn.v_proj", "self_attn.o_proj")
FAMILIES = {
    **dict.fromkeys(("bert", "roberta", "electra"), _BERT),
    "distilbert": Family(
        "transformer.layer", "attention.v_lin", "attention.out_lin", "sa_layer_norm"
    ),
    "mpnet": Family("encoder.layer", "attention.attn.v", "attention.attn.o", "attention.LayerNorm"),
    "deberta": _BERT._replace(
        value="attention.self.in_proj", values="of each head", bias="attention.self.v_bias"
    ),
    "deberta-v2": _BERT._replace(value="attention.self.value_proj"),
    "gpt2": Family("h", "attn.c_attn", "attn.c_proj", values="of all heads"),
    "gpt_neox": Family(
        "layers", "attention.query_key_value", "attention.dense", values="of each head"
    ),
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma"), _LLAMA),
    **dict.fromkeys(("gemma2", "gemma3_text", "granite"), _LLAMA),
    "opt": Family("decoder.layers", "self_attn.v_proj", "self_attn.out_proj"),
    "bloom": Family(
        "h", "self_attention.query_key_value", "self_attention.dense", values="of each head"
    ),
}
"""By the model_type of the config."""


class Layers:
    """The layers of a copy of a model in float64, and one input for it."""

    def __init__(self, model: Any, ids: list[int], segments: list[int] | None) -> None:
        self.model = copy.deepcopy(model).double()
        self.family = FAMILIES[model.config.model_type]
        self.heads: int = model.config.num_attention_heads
        self.layers = list(self.model.get_submodule(self.family.layers))
        self.inputs = {"input_ids": torch.tensor([ids])}
        if segments is not None:
            self.inputs["token_type_ids"] = torch.tensor([segments])
        for layer in self.layers:  # without any value its output projection gives its bias alone
            with self.zeroed(layer, range(len(ids))):
                output, _ = self.run(layer, self.family.output)
            assert not output.any()

    @contextmanager
    def zeroed(self, layer: Any, tokens: Sequence[int]) -> Iterator[None]:
        """With the values of these tokens zero in every head of a layer."""
        family = self.family

        def zero(module: Any, inputs: Any, output: Any) -> Any:
            changed = output.clone()
            values = changed
            if family.values == "of each head":
                values = changed.view(*changed.shape[:2], self.heads, 3, -1)[..., 2, :]
            elif family.values == "of all heads":
                values = changed.view(*changed.shape[:2], 3, self.heads, -1)[:, :, 2]
            values[0, list(tokens)] = 0.0
            if family.bias is not None:
                values[0, list(tokens)] = -layer.get_parameter(family.bias).view(self.heads, -1)
            return changed

        handle = layer.get_submodule(family.value).register_forward_hook(zero)
        try:
            yield
        finally:
            handle.remove()

    @torch.no_grad()
    def run(self, layer: Any, path: str = "") -> tuple[np.ndarray, np.ndarray]:
        """What a module of a layer gives [T, D], of a Linear without its bias, and its input."""
        seen: list[tuple[Any, Any]] = []
        module = layer.get_submodule(path)
        handle = module.register_forward_hook(
            lambda module, inputs, output: seen.append((inputs[0], output))
        )
        self.model(**self.inputs)
        handle.remove()
        ((inputs, output),) = seen
        output = output[0] if isinstance(output, tuple) else output
        if path == self.family.output and module.bias is not None:
            output = output - module.bias
        return output[0].numpy(), inputs[0].numpy()


def norms(
    model: Any, ids: list[int], segments: list[int] | None, pieces: Pieces, subword: str = "mean"
) -> np.ndarray:
    """Norms of what a position brings to another (Kobayashi et al. 2020): [L, H, P, P].

    Entry (i, j) is the norm of what a head brings from the tokens of j to i: the mean over the
    tokens of i, or to the first of them (subword="first").
    """
    model = Layers(model, ids, segments)
    maps = np.zeros((len(model.layers), model.heads, len(pieces), len(pieces)))
    for at, layer in enumerate(model.layers):
        output = layer.get_submodule(model.family.output)
        _, whole = model.run(layer, model.family.output)
        for j, tokens in enumerate(pieces):
            with model.zeroed(layer, range(*tokens)):
                _, without = model.run(layer, model.family.output)
            for head, missing in enumerate(np.split(whole - without, model.heads, axis=1)):
                alone = np.zeros_like(whole)
                columns = slice(head * missing.shape[1], (head + 1) * missing.shape[1])
                alone[:, columns] = missing
                with torch.no_grad():
                    brought = output(torch.tensor(alone)[None])[0].numpy()
                if output.bias is not None:
                    brought = brought - output.bias.detach().numpy()
                for i, (start, end) in enumerate(pieces):
                    row = brought[start] if subword == "first" else brought[start:end].mean(0)
                    maps[at, head, i, j] = np.linalg.norm(row)
    return maps


def residual_norms(
    model: Any, ids: list[int], segments: list[int] | None, pieces: Pieces
) -> np.ndarray:
    """Norms with the residual connection and layer norm (Kobayashi et al. 2021): [L, P, P].

    Entry (i, j) is the norm of what the tokens of j bring to a token of i, the mean over those of
    i. In pre-norm models it goes through no layer norm; the norm is linear once its deviation, that
    of its real input, is known.
    """
    model = Layers(model, ids, segments)
    maps = np.zeros((len(model.layers), len(pieces), len(pieces)))
    for at, layer in enumerate(model.layers):
        whole, _ = model.run(layer, model.family.output)
        _, residual = model.run(layer)
        for j, tokens in enumerate(pieces):
            with model.zeroed(layer, range(*tokens)):
                without, _ = model.run(layer, model.family.output)
            brought = whole - without
            brought[slice(*tokens)] += residual[slice(*tokens)]
            if model.family.norm is not None:
                norm = layer.get_submodule(model.family.norm)
                _, summed = model.run(layer, model.family.norm)
                epsilon = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
                deviation = np.sqrt(summed.var(1, keepdims=True) + epsilon)
                centred = brought - brought.mean(1, keepdims=True)
                brought = centred / deviation * norm.weight.detach().numpy()
            for i, (start, end) in enumerate(pieces):
                maps[at, i, j] = np.linalg.norm(brought[start:end].mean(0))
    return maps


def rollout(attentions: np.ndarray) -> np.ndarray:
    """Attention rolled out over layers (Abnar and Zuidema 2020): [L, T, T] of [L, H, T, T].

    Each layer's map is half the mean over heads and half the identity, with rows normalised.
    """
    layers, heads, tokens, _ = attentions.shape
    maps = np.zeros((layers, tokens, tokens))
    for layer in range(layers):
        mixed = np.zeros((tokens, tokens))
        for i in range(tokens):
            for j in range(tokens):
                mean = sum(float(attentions[layer, head, i, j]) for head in range(heads)) / heads
                mixed[i, j] = 0.5 * mean + 0.5 * (i == j)
            mixed[i] /= mixed[i].sum()
        maps[layer] = mixed @ maps[layer - 1] if layer else mixed
    return maps


def value_zeroing(
    model: Any, ids: list[int], segments: list[int] | None, pieces: Pieces
) -> np.ndarray:
    """How much the layer's output changes without a position's values: [L, P, P].

    That is Mohebbi et al. 2023. Entry (i, j) is the cosine distance of the outputs at i of the
    whole layer with and without the values of j, the mean over the tokens of i, and each row is
    divided by its sum.
    """
    model = Layers(model, ids, segments)
    maps = np.zeros((len(model.layers), len(pieces), len(pieces)))
    for at, layer in enumerate(model.layers):
        whole, _ = model.run(layer)
        for j, tokens in enumerate(pieces):
            with model.zeroed(layer, range(*tokens)):
                without, _ = model.run(layer)
            lengths = np.linalg.norm(whole, axis=1) * np.linalg.norm(without, axis=1)
            distances = 1 - (whole * without).sum(1) / lengths
            distances[(whole == without).all(1)] = 0.0  # the formula may miss zero by a rounding
            maps[at, :, j] = [distances[slice(*tokens)].mean() for tokens in pieces]
    sums = maps.sum(-1, keepdims=True)
    return np.asarray(maps / np.where(sums == 0, 1, sums))
