"""Where the matrices of attention heads are in a model, and what it gives: for oracle_measures.

In shapes, L is the number of layers, H of the heads of the queries, T of the tokens of an input, D
is the hidden size and d the size of a head.

Where the matrices of head h are. Weights are [out, in], those of `torch.nn.Linear`, unless said
otherwise; "h·d…" stands for the d rows from h·d on:

=================  =====================================  ==================================
family             value projection                       output projection; layer norm
=================  =====================================  ==================================
BERT, RoBERTa,     attention.self.value: rows h·d… of     attention.output.dense;
ELECTRA            weight and bias                        attention.output.LayerNorm after
DistilBERT         attention.v_lin: as BERT               attention.out_lin;
                                                          sa_layer_norm after
MPNet              attention.attn.v: as BERT              attention.attn.o;
                                                          attention.LayerNorm after
DeBERTa            attention.self.in_proj, with d rows    as BERT
                   of query, d of key and d of value for
                   each head: rows 3·h·d + 2·d…; it has
                   no bias, but entries h·d… of
                   attention.self.v_bias are added
DeBERTa-v2, -v3    attention.self.value_proj: as BERT     as BERT
GPT-2              attn.c_attn, a Conv1D of weight        attn.c_proj, a Conv1D;
                   [in, out]: columns 2·D + h·d…, after   ln_1 before
                   all the queries and all the keys
GPT-NeoX           attention.query_key_value: rows        attention.dense;
                   3·h·d + 2·d… of weight and bias        input_layernorm before
Llama, Mistral,    self_attn.v_proj: rows g·d… of weight  self_attn.o_proj;
Qwen2, Qwen3,      and bias (if any), where g = h // (H / input_layernorm before, an RMS norm
Gemma, Gemma 2     heads of the values) is the head of    that multiplies by the weight, in
and Gemma 3        the values that head h of the queries  the Gemmas by 1 + the weight
                   uses
=================  =====================================  ==================================

The input of an output projection is the heads in order, d numbers each: head h has columns h·d… of
a Linear's weight, or rows h·d… of a Conv1D's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass
class Block:
    """One layer: its modules, and in float64 the matrices of its attention."""

    module: Any
    """What gives the layer's output."""
    value: Any
    """The value projection, or that of queries, keys and values in one."""
    output: Any
    """The output projection."""
    after: Any
    """The layer norm after the attention's residual; None for pre-norm models."""
    before: Callable[[np.ndarray], np.ndarray]
    """From the layer's input [D] at a token to the value projection's."""
    value_weights: list[np.ndarray]
    """W_V [D, d] of each head of the queries."""
    value_biases: list[np.ndarray]
    """b_V [d] of each head of the queries."""
    output_weights: list[np.ndarray]
    """W_O [d, D] of each head of the queries."""
    output_bias: np.ndarray
    """b_O [D]."""
    columns: list[slice]
    """Where in the output of `value` the values of each head of the keys and values are."""
    zeros: list[np.ndarray]
    """What `value` has to give there for a value vector to be zero, [d] each."""


def array(tensor: Any) -> np.ndarray:
    return np.array(tensor.detach().to("cpu", torch.float64).numpy())


def _weight(linear: Any) -> np.ndarray:
    """The weight [in, out] of a Linear."""
    return array(linear.weight).T


def _bias(linear: Any) -> np.ndarray:
    """The bias [out] of a Linear, zeros where it has none."""
    if linear.bias is None:
        return np.zeros(len(linear.weight))
    return array(linear.bias)


def _as_it_is(vector: np.ndarray) -> np.ndarray:
    return vector


def _layer_norm(norm: Any) -> Callable[[np.ndarray], np.ndarray]:
    def normed(vector: np.ndarray) -> np.ndarray:
        centred = vector - vector.mean()
        scaled = centred / np.sqrt((centred**2).mean() + norm.eps)
        found: np.ndarray = scaled * array(norm.weight) + array(norm.bias)
        return found

    return normed


def _root_mean_square_norm(norm: Any, *, gemma: bool) -> Callable[[np.ndarray], np.ndarray]:
    def normed(vector: np.ndarray) -> np.ndarray:
        epsilon = norm.eps if gemma else norm.variance_epsilon
        scaled = vector / np.sqrt((vector**2).mean() + epsilon)
        found: np.ndarray = scaled * (array(norm.weight) + (1 if gemma else 0))
        return found

    return normed


def _block(
    module: Any,
    *,
    heads: int,
    value: Any,
    value_weight: np.ndarray,
    value_bias: np.ndarray,
    columns: list[slice],
    output: Any,
    output_weight: np.ndarray,
    output_bias: np.ndarray,
    after: Any = None,
    before: Callable[[np.ndarray], np.ndarray] = _as_it_is,
) -> Block:
    """A block of matrices [in, out], cut by head.

    `columns` are the columns of `value_weight`, and so the places of `value_bias`, of each head
    of the keys and values.
    """
    size = len(output_weight) // heads
    share = heads // len(columns)
    return Block(
        module=module,
        value=value,
        output=output,
        after=after,
        before=before,
        value_weights=[value_weight[:, columns[head // share]] for head in range(heads)],
        value_biases=[value_bias[columns[head // share]] for head in range(heads)],
        output_weights=[output_weight[head * size : (head + 1) * size] for head in range(heads)],
        output_bias=output_bias,
        columns=columns,
        zeros=[np.zeros(size) for _ in columns],
    )


def _in_order(heads: int, size: int, start: int = 0) -> list[slice]:
    """Places of heads that stand one after the other."""
    return [slice(start + head * size, start + (head + 1) * size) for head in range(heads)]


def _third_of_each(heads: int, size: int) -> list[slice]:
    """Places of the values where each head has its query, key and value together."""
    return [slice(head * 3 * size + 2 * size, (head + 1) * 3 * size) for head in range(heads)]


def _linear_blocks(
    model: Any, modules: Any, parts: Callable[[Any], tuple[Any, Any, Any]]
) -> list[Block]:
    """Blocks of post-norm encoders with a Linear of the values alone; parts: it, output, norm."""
    heads = model.config.num_attention_heads
    found = []
    for module in modules:
        value, output, after = parts(module)
        found.append(
            _block(
                module,
                heads=heads,
                value=value,
                value_weight=_weight(value),
                value_bias=_bias(value),
                columns=_in_order(heads, value.out_features // heads),
                output=output,
                output_weight=_weight(output),
                output_bias=_bias(output),
                after=after,
            )
        )
    return found


def _bert(model: Any) -> list[Block]:
    return _linear_blocks(
        model,
        model.encoder.layer,
        lambda layer: (
            layer.attention.self.value,
            layer.attention.output.dense,
            layer.attention.output.LayerNorm,
        ),
    )


def _distilbert(model: Any) -> list[Block]:
    return _linear_blocks(
        model,
        model.transformer.layer,
        lambda layer: (layer.attention.v_lin, layer.attention.out_lin, layer.sa_layer_norm),
    )


def _mpnet(model: Any) -> list[Block]:
    return _linear_blocks(
        model,
        model.encoder.layer,
        lambda layer: (layer.attention.attn.v, layer.attention.attn.o, layer.attention.LayerNorm),
    )


def _deberta_v2(model: Any) -> list[Block]:
    return _linear_blocks(
        model,
        model.encoder.layer,
        lambda layer: (
            layer.attention.self.value_proj,
            layer.attention.output.dense,
            layer.attention.output.LayerNorm,
        ),
    )


def _deberta(model: Any) -> list[Block]:
    heads = model.config.num_attention_heads
    size = model.config.hidden_size // heads
    found = []
    for module in model.encoder.layer:
        attention = module.attention.self
        columns = _third_of_each(heads, size)
        block = _block(
            module,
            heads=heads,
            value=attention.in_proj,
            value_weight=_weight(attention.in_proj),
            value_bias=_bias(attention.in_proj),
            columns=columns,
            output=module.attention.output.dense,
            output_weight=_weight(module.attention.output.dense),
            output_bias=_bias(module.attention.output.dense),
            after=module.attention.output.LayerNorm,
        )
        # in_proj has no bias. v_bias is added to what it gives, so a value is zero at -v_bias.
        bias = array(attention.v_bias)
        block.value_biases = [bias[head * size : (head + 1) * size] for head in range(heads)]
        block.zeros = [-each for each in block.value_biases]
        found.append(block)
    return found


def _gpt2(model: Any) -> list[Block]:
    heads, width = model.config.num_attention_heads, model.config.hidden_size
    return [
        _block(
            module,
            heads=heads,
            value=module.attn.c_attn,
            value_weight=array(module.attn.c_attn.weight),
            value_bias=array(module.attn.c_attn.bias),
            columns=_in_order(heads, width // heads, start=2 * width),
            output=module.attn.c_proj,
            output_weight=array(module.attn.c_proj.weight),
            output_bias=array(module.attn.c_proj.bias),
            before=_layer_norm(module.ln_1),
        )
        for module in model.h
    ]


def _gpt_neox(model: Any) -> list[Block]:
    heads = model.config.num_attention_heads
    return [
        _block(
            module,
            heads=heads,
            value=module.attention.query_key_value,
            value_weight=_weight(module.attention.query_key_value),
            value_bias=_bias(module.attention.query_key_value),
            columns=_third_of_each(heads, model.config.hidden_size // heads),
            output=module.attention.dense,
            output_weight=_weight(module.attention.dense),
            output_bias=_bias(module.attention.dense),
            before=_layer_norm(module.input_layernorm),
        )
        for module in model.layers
    ]


def _llama(model: Any, *, gemma: bool = False) -> list[Block]:
    return [
        _block(
            module,
            heads=model.config.num_attention_heads,
            value=module.self_attn.v_proj,
            value_weight=_weight(module.self_attn.v_proj),
            value_bias=_bias(module.self_attn.v_proj),
            columns=_in_order(model.config.num_key_value_heads, module.self_attn.head_dim),
            output=module.self_attn.o_proj,
            output_weight=_weight(module.self_attn.o_proj),
            output_bias=_bias(module.self_attn.o_proj),
            before=_root_mean_square_norm(module.input_layernorm, gemma=gemma),
        )
        for module in model.layers
    ]


def _gemma(model: Any) -> list[Block]:
    return _llama(model, gemma=True)


FAMILIES: dict[str, Callable[[Any], list[Block]]] = {
    "bert": _bert,
    "roberta": _bert,
    "electra": _bert,
    "distilbert": _distilbert,
    "mpnet": _mpnet,
    "deberta": _deberta,
    "deberta-v2": _deberta_v2,
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "llama": _llama,
    "mistral": _llama,
    "qwen2": _llama,
    "qwen3": _llama,
    "gemma": _gemma,
    "gemma2": _gemma,
    "gemma3_text": _gemma,
}
"""By the model_type of the config."""

WITH_SEGMENTS = {"bert", "roberta", "electra", "deberta", "deberta-v2"}
"""Families that embed segments. GPT-2 takes them too, but embeds them as if they were tokens."""


def blocks(model: Any) -> list[Block]:
    """The layers of a model."""
    assert not model.training
    assert model.config._attn_implementation == "eager"
    return FAMILIES[model.config.model_type](model)


@torch.no_grad()
def forward(model: Any, ids: list[int], segments: list[int] | None) -> Any:
    """What the model gives for one input, with attentions and hidden states."""
    more = {}
    if segments is not None:
        assert model.config.model_type in WITH_SEGMENTS, "this family embeds no segments"
        more["token_type_ids"] = torch.tensor([segments], device=model.device)
    return model(
        input_ids=torch.tensor([ids], device=model.device),
        output_attentions=True,
        output_hidden_states=True,
        **more,
    )


def run(
    model: Any, ids: list[int], segments: list[int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The weights [L, H, T, T] and the inputs of the layers [L, T, D]."""
    given = forward(model, ids, segments)
    weights = np.stack([array(each[0]) for each in given.attentions])
    # The hidden states after the last layer are the input of none.
    inputs = np.stack([array(each[0]) for each in given.hidden_states[: len(weights)]])
    return weights, inputs
