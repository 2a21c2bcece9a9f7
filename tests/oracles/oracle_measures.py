"""Measures of attention beyond its weights the slow, obvious way: loops over heads and positions.

They are the norms of Kobayashi et al. 2020 and 2021, the rollout of Abnar and Zuidema 2020 and the
value zeroing of Mohebbi et al. 2023. It was written apart from the package, from the papers and
from the source of transformers 5.23. Only attention weights and hidden states are taken as a model
gives them: values, what heads write and layer norms are computed here from its matrices, in
float64. Run as a program, this module checks itself against what the modules of tiny random models
really compute.

In shapes, L is the number of layers, H of the heads of the queries, T of the tokens of an input and
P of its positions, D is the hidden size and d the size of a head.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import transformers
from oracle_blocks import WITH_SEGMENTS, Block, array, blocks, forward, run

Pieces = Sequence[tuple[int, int]]
"""For each position the half-open range of its tokens."""


# --- Norms ---


def written(block: Block, inputs: np.ndarray) -> np.ndarray:
    """f_h(x) = (x W_V + b_V) W_O, without b_O, of every head and token: [H, T, D].

    `inputs` [T, D] are those of the layer. x is what its value projection is given.
    """
    heads = len(block.output_weights)
    found = np.zeros((heads, *inputs.shape))
    for head in range(heads):
        for token, vector in enumerate(inputs):
            x = block.before(vector)
            value = x @ block.value_weights[head] + block.value_biases[head]
            found[head, token] = value @ block.output_weights[head]
    return found


def norms(
    model: Any,
    ids: list[int],
    segments: list[int] | None,
    pieces: Pieces,
    subword: str = "mean",
) -> np.ndarray:
    """Norms of what a position brings to another (Kobayashi et al. 2020): [L, H, P, P].

    Entry (i, j) is ‖Σ_b a(i, b) f(x_b)‖ over the tokens b of j, where a(i, b) is the mean over the
    tokens of i of their weights to b, or the weight of the first of them (subword="first").
    """
    weights, inputs = run(model, ids, segments)
    layers, heads = weights.shape[:2]
    found = np.zeros((layers, heads, len(pieces), len(pieces)))
    for layer, block in enumerate(blocks(model)):
        vectors = written(block, inputs[layer])
        for head in range(heads):
            for i, (start, end) in enumerate(pieces):
                from_tokens = {"mean": range(start, end), "first": [start]}[subword]
                for j, to_tokens in enumerate(pieces):
                    brought = np.zeros(inputs.shape[-1])
                    for b in range(*to_tokens):
                        weight = np.mean([weights[layer, head, a, b] for a in from_tokens])
                        brought += weight * vectors[head, b]
                    found[layer, head, i, j] = np.linalg.norm(brought)
    return found


def output_of_attention(
    model: Any, ids: list[int], segments: list[int] | None = None
) -> np.ndarray:
    """What the output projections must give [L, T, D]: the sum over heads of α f(x), plus b_O."""
    weights, inputs = run(model, ids, segments)
    found = np.zeros_like(inputs)
    for layer, block in enumerate(blocks(model)):
        vectors = written(block, inputs[layer])
        for a in range(len(ids)):
            found[layer, a] = block.output_bias
            for head, of_head in enumerate(vectors):
                for b in range(len(ids)):
                    found[layer, a] += weights[layer, head, a, b] * of_head[b]
    return found


# --- Norms with the residual connection ---


def with_residual(block: Block, weights: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """What each token b brings to each token a, the residual included: z [T, T, D] by (a, b).

    It is the sum over heads of α(a, b) f(x_b), plus the layer's input at a where b is a. The
    residual goes round a norm before the attention, so that input is before it.
    """
    vectors = written(block, inputs)
    tokens, width = inputs.shape
    found = np.zeros((tokens, tokens, width))
    for a in range(tokens):
        for b in range(tokens):
            for head, of_head in enumerate(vectors):
                found[a, b] += weights[head, a, b] * of_head[b]
        found[a, a] += inputs[a]
    return found


def _epsilon(norm: Any) -> float:
    """The epsilon of a layer norm, which DeBERTa (v1) names differently."""
    return float(norm.eps if hasattr(norm, "eps") else norm.variance_epsilon)


def normalised(block: Block, vectors: np.ndarray) -> np.ndarray:
    """The vectors z [T, T, D] after the layer norm that follows, without its bias: [T, T, D].

    The norm is linear once its standard deviation is known, and that is of its real input, the sum
    of the vectors and b_O.
    """
    gamma, epsilon = array(block.after.weight), _epsilon(block.after)
    found = np.zeros_like(vectors)
    for a, brought in enumerate(vectors):
        given = brought.sum(axis=0) + block.output_bias
        deviation = np.sqrt(given.var() + epsilon)
        for b, vector in enumerate(brought):
            found[a, b] = (vector - vector.mean()) / deviation * gamma
    return found


def residual_norms(
    model: Any, ids: list[int], segments: list[int] | None, pieces: Pieces
) -> np.ndarray:
    """Norms with the residual connection and layer norm (Kobayashi et al. 2021): [L, P, P].

    Entry (i, j) is the norm of a vector: what the tokens of j together bring to a token of i, the
    mean over the tokens of i. In pre-norm models it goes through no layer norm, not even the one
    that Gemma 2 and 3 have between the attention and the residual connection.
    """
    weights, inputs = run(model, ids, segments)
    found = np.zeros((len(weights), len(pieces), len(pieces)))
    for layer, block in enumerate(blocks(model)):
        vectors = with_residual(block, weights[layer], inputs[layer])
        if block.after is not None:
            vectors = normalised(block, vectors)
        for i, from_tokens in enumerate(pieces):
            for j, to_tokens in enumerate(pieces):
                sums = [
                    np.sum([vectors[a, b] for b in range(*to_tokens)], axis=0)
                    for a in range(*from_tokens)
                ]
                found[layer, i, j] = np.linalg.norm(np.mean(sums, axis=0))
    return found


# --- Rollout ---


def rollout(attentions: np.ndarray) -> np.ndarray:
    """Attention rolled out over layers (Abnar and Zuidema 2020): [L, T, T] of [L, H, T, T].

    Each layer's map is half the mean over heads and half the identity, with rows normalised.
    """
    layers, heads, tokens, _ = attentions.shape
    found = np.zeros((layers, tokens, tokens))
    for layer in range(layers):
        mixed = np.zeros((tokens, tokens))
        for i in range(tokens):
            for j in range(tokens):
                mean = sum(float(attentions[layer, head, i, j]) for head in range(heads)) / heads
                mixed[i, j] = 0.5 * mean + 0.5 * (i == j)
            mixed[i] /= mixed[i].sum()
        if layer == 0:
            found[0] = mixed
            continue
        for i in range(tokens):
            for j in range(tokens):
                found[layer, i, j] = sum(
                    mixed[i, k] * found[layer - 1, k, j] for k in range(tokens)
                )
    return found


# --- Value zeroing ---


@contextmanager
def zeroed(block: Block, tokens: Sequence[int]) -> Iterator[None]:
    """With the values of these tokens zero in every head of the layer, its weights as they are."""

    def change(module: Any, given: Any, output: Any) -> Any:
        changed = output.clone()
        for token in tokens:
            for columns, zero in zip(block.columns, block.zeros, strict=True):
                changed[0, token, columns] = torch.tensor(zero).to(changed)
        return changed

    handle = block.value.register_forward_hook(change)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _seen(module: Any) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Collect the first input [T, …] and the output [T, …] of a module each time it is run."""
    found: list[tuple[np.ndarray, np.ndarray]] = []

    def see(module: Any, given: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        found.append((array(given[0][0]), array(first[0])))

    handle = module.register_forward_hook(see)
    try:
        yield found
    finally:
        handle.remove()


def _output(model: Any, module: Any, ids: list[int], segments: list[int] | None) -> np.ndarray:
    """What a module of the model gives for an input: [T, …]."""
    with _seen(module) as seen:
        forward(model, ids, segments)
    ((_, output),) = seen
    return output


def _cosine_distance(one: np.ndarray, other: np.ndarray) -> float:
    if np.array_equal(one, other):
        return 0.0  # The formula may miss zero by a rounding.
    return float(1 - one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def value_zeroing(
    model: Any, ids: list[int], segments: list[int] | None, pieces: Pieces
) -> np.ndarray:
    """How much the layer's output changes without a position's values: [L, P, P].

    That is Mohebbi et al. 2023. Entry (i, j) is the cosine distance of the outputs at i of the
    whole layer with and without the values of j, the mean over the tokens of i, and each row is
    divided by its sum. The output is that of the layer's own module: before a final layer norm, and
    before the convolution that some DeBERTa-v2 have after their first layer.
    """
    found = np.zeros((model.config.num_hidden_layers, len(pieces), len(pieces)))
    for layer, block in enumerate(blocks(model)):
        whole = _output(model, block.module, ids, segments)
        for j, to_tokens in enumerate(pieces):
            with zeroed(block, range(*to_tokens)):
                without = _output(model, block.module, ids, segments)
            for i, from_tokens in enumerate(pieces):
                found[layer, i, j] = np.mean(
                    [_cosine_distance(whole[a], without[a]) for a in range(*from_tokens)]
                )
        for i in range(len(pieces)):
            if found[layer, i].sum() != 0:
                found[layer, i] /= found[layer, i].sum()
    return found


# --- The check of all this ---

_SIZE = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
_GROUPED = _SIZE | {"num_key_value_heads": 2}
_RELATIVE = _SIZE | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}

TINY: dict[str, tuple[str, dict[str, Any]]] = {
    "BERT": ("Bert", _SIZE),
    "RoBERTa": ("Roberta", _SIZE | {"type_vocab_size": 2}),
    "ELECTRA": ("Electra", _SIZE | {"embedding_size": 16}),
    "DistilBERT": (
        "DistilBert",
        {
            "vocab_size": 100, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 64,
            "max_position_embeddings": 64,
        },
    ),
    "MPNet": ("MPNet", _SIZE),
    "DeBERTa": ("Deberta", _RELATIVE | {"type_vocab_size": 2}),
    "DeBERTa, talking heads": ("Deberta", _RELATIVE | {"talking_head": True, "type_vocab_size": 2}),
    "DeBERTa-v2": ("DebertaV2", _RELATIVE | {"type_vocab_size": 2}),
    "DeBERTa-v3": (
        "DebertaV2",
        _RELATIVE
        | {
            "type_vocab_size": 2, "position_buckets": 8, "share_att_key": True,
            "norm_rel_ebd": "layer_norm", "position_biased_input": False,
        },
    ),
    "DeBERTa-v2, convolution": (
        "DebertaV2", _RELATIVE | {"type_vocab_size": 2, "conv_kernel_size": 3},
    ),
    "GPT-2": (
        "GPT2",
        {
            "vocab_size": 100, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64,
            "bos_token_id": 0, "eos_token_id": 0,
        },
    ),
    "GPT-NeoX": ("GPTNeoX", _SIZE),
    "GPT-NeoX, in sequence": ("GPTNeoX", _SIZE | {"use_parallel_residual": False}),
    "Llama": ("Llama", _GROUPED),
    "Llama, biases": ("Llama", _GROUPED | {"attention_bias": True, "head_dim": 12}),
    "Mistral": ("Mistral", _GROUPED | {"sliding_window": 4}),
    "Qwen2": ("Qwen2", _GROUPED),
    "Qwen3": ("Qwen3", _GROUPED | {"head_dim": 12}),
    "Gemma": ("Gemma", _GROUPED | {"head_dim": 12}),
    "Gemma 2": ("Gemma2", _GROUPED | {"head_dim": 12, "sliding_window": 4}),
    "Gemma 3": (
        "Gemma3Text", _GROUPED | {"head_dim": 12, "sliding_window": 4, "sliding_window_pattern": 2},
    ),
}  # fmt: skip
"""By family, or family and what is special: the name of its classes and its config."""

CAUSAL = {"gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2"}
CAUSAL |= {"gemma3_text"}


def _tiny(name: str) -> Any:
    """A random model, biases and norms random too."""
    classes, settings = TINY[name]
    config = getattr(transformers, f"{classes}Config")(**settings)
    torch.manual_seed(1)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


def _furthest(found: np.ndarray, expected: np.ndarray) -> float:
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max())


def _norms_by_zeroing(
    model: Any, ids: list[int], segments: list[int] | None, pieces: Pieces
) -> np.ndarray:
    """`norms`, of the mean over tokens, by what goes missing when a position's values are zero.

    What goes missing in one head is its part of the input of the output projection.
    """
    shape = (model.config.num_attention_heads, len(pieces), len(pieces))
    found = np.zeros((model.config.num_hidden_layers, *shape))
    for layer, block in enumerate(blocks(model)):
        with _seen(block.output) as seen:
            forward(model, ids, segments)
            for to_tokens in pieces:
                with zeroed(block, range(*to_tokens)):
                    forward(model, ids, segments)
        ((whole, _), *without) = seen
        for j, (context, _) in enumerate(without):
            missing = (whole - context).reshape(len(ids), len(block.output_weights), -1)
            for head in range(missing.shape[1]):
                alone = np.zeros_like(missing)
                alone[:, head] = missing[:, head]
                with torch.no_grad():
                    written_ = block.output(
                        torch.tensor(alone.reshape(1, *whole.shape)).to(model.dtype)
                    )
                vectors = array(written_[0]) - block.output_bias
                for i, from_tokens in enumerate(pieces):
                    mean = np.mean([vectors[a] for a in range(*from_tokens)], axis=0)
                    found[layer, head, i, j] = np.linalg.norm(mean)
    return found


def check(name: str) -> dict[str, float]:
    """Check everything on a tiny model; the largest differences by what was compared."""
    model = _tiny(name)
    numbers = np.random.default_rng(1)
    ids = numbers.integers(5, 100, size=11).tolist()
    segments = None
    if model.config.model_type in WITH_SEGMENTS:
        segments = [0] * 6 + [1] * 5
    pieces = [(0, 1), (1, 3), (3, 4), (4, 7), (7, 8), (8, 10), (10, 11)]
    alone = [(token, token + 1) for token in range(len(ids))]
    every = [(0, len(ids))]
    layers = blocks(model)
    weights, inputs = run(model, ids, segments)
    assert weights.shape == (len(layers), len(layers[0].output_weights), len(ids), len(ids))
    values: defaultdict[str, float] = defaultdict(float)

    # What heads write sums to the output of the attention, as the module gives it.
    outputs = output_of_attention(model, ids, segments)
    for block, output in zip(layers, outputs, strict=True):
        given = _output(model, block.output, ids, segments)
        values["output"] = max(values["output"], _furthest(output, given))

    # So it does through the layer norm that follows, where there is one.
    for block, weight, given, output in zip(layers, weights, inputs, outputs, strict=True):
        brought = with_residual(block, weight, given)
        whole = brought.sum(axis=1) + block.output_bias
        assert _furthest(whole, output + given) < 1e-9
        if block.after is None:
            continue
        with _seen(block.after) as seen:
            forward(model, ids, segments)
        ((norm_input, norm_output),) = seen
        values["norm"] = max(values["norm"], _furthest(whole, norm_input))
        gamma, beta = array(block.after.weight), array(block.after.bias)
        bias = block.output_bias - block.output_bias.mean()
        summed = normalised(block, brought).sum(axis=1)
        for a, vector in enumerate(summed):
            deviation = np.sqrt(whole[a].var() + _epsilon(block.after))
            vector += bias / deviation * gamma + beta
        values["norm"] = max(values["norm"], _furthest(summed, norm_output))

    # Norms are those of what goes missing without the values.
    found = norms(model, ids, segments, pieces)
    values["norms"] = _furthest(found, _norms_by_zeroing(model, ids, segments, pieces))
    first = norms(model, ids, segments, pieces, subword="first")
    singles = norms(model, ids, segments, alone)
    starts, of_one = [0, 1, 3, 4, 7, 8, 10], [0, 2, 4, 6]
    assert _furthest(first[:, :, :, of_one], singles[:, :, starts][:, :, :, [0, 3, 7, 10]]) < 1e-12
    assert _furthest(first[:, :, of_one], found[:, :, of_one]) < 1e-12

    # One position of all tokens gets the mean of what the attention adds to the residual.
    for block, one, output, given in zip(
        layers, residual_norms(model, ids, segments, every), outputs, inputs, strict=True
    ):
        if block.after is None:
            mean = (output - block.output_bias + given).mean(axis=0)
            assert abs(float(one[0, 0]) - np.linalg.norm(mean)) < 1e-9

    # Without a token's values a layer's weights are the same, and its attention's output lacks what
    # the token brings.
    for layer, block in enumerate(layers):
        brought = with_residual(block, weights[layer], inputs[layer])
        for b in range(len(ids)):
            with zeroed(block, [b]), _seen(block.output) as seen:
                after, _ = run(model, ids, segments)
            values["unchanged"] = max(
                values["unchanged"], _furthest(after[: layer + 1], weights[: layer + 1])
            )
            ((_, without),) = seen
            missing = outputs[layer] - without
            missing[b] += inputs[layer, b]
            values["zeroed"] = max(values["zeroed"], _furthest(missing, brought[:, b]))
    assert values["unchanged"] == 0

    mixing = value_zeroing(model, ids, segments, pieces)
    assert (mixing > -1e-12).all()
    values["row sums"] = _furthest(mixing.sum(axis=-1), np.ones(mixing.shape[:-1]))
    residual = residual_norms(model, ids, segments, pieces)
    assert (residual[:, range(7), range(7)] > 0).all()
    if model.config.model_type in CAUSAL:
        for measure in (found, mixing, residual):
            assert not np.triu(measure, k=1).any()

    # The rollout by matrix products.
    rolled = rollout(weights)
    product = np.eye(len(ids))
    for layer, weight in enumerate(weights):
        mixed = weight.mean(axis=0) + np.eye(len(ids))
        product = mixed / mixed.sum(axis=-1, keepdims=True) @ product
        values["rollout"] = max(values["rollout"], _furthest(rolled[layer], product))

    for what, value in values.items():
        assert value < 1e-5, (name, what, value)
    return dict(values)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in TINY:
        figures = ", ".join(f"{what} {value:.0e}" for what, value in check(name).items())
        print(f"{name}: {figures}", flush=True)
