"""Surprisal of words, and of words without heads, by surgery on a copy of the model's weights.

No hook is used: a head is silent if its rows of the output projection are zero, always the same if
its mean stands in the bias of the projection, and even if its queries are zero. One
sentence and one prediction at a time, in float64, from the logits of every token.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

Text = tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]
"""The ids and segments of a text, and its spans."""

_QUERY = {
    **dict.fromkeys(("bert", "roberta", "electra", "deberta"), "attention.self.query"),
    "distilbert": "attention.q_lin",
    "mpnet": "attention.attn.q",
    "gpt2": "attn.c_attn",
    "gpt_neox": "attention.query_key_value",
    "albert": "attention.query",
    "modernbert": "attn.Wqkv",
    "phi3": "self_attn.qkv_proj",
    **dict.fromkeys(
        ("llama", "mistral", "qwen2", "qwen3", "gemma", "opt", "granite"), "self_attn.q_proj"
    ),
}
_OUTPUT = {
    **dict.fromkeys(("bert", "roberta", "electra", "deberta"), "attention.output.dense"),
    "distilbert": "attention.out_lin",
    "mpnet": "attention.attn.o",
    "gpt2": "attn.c_proj",
    "gpt_neox": "attention.dense",
    "deberta-v2": "attention.output.dense",
    "albert": "attention.dense",
    "modernbert": "attn.Wo",
    "opt": "self_attn.out_proj",
    **dict.fromkeys(
        ("llama", "mistral", "qwen2", "qwen3", "gemma", "olmo2", "phi3", "granite"),
        "self_attn.o_proj",
    ),
}


def layers_of(model: Any) -> list[Any]:
    """The layers of a model, first to last; ALBERT has one for all."""
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    path = _OUTPUT[model.config.model_type]
    for each in lists:
        try:
            each[0].get_submodule(path)
        except AttributeError:
            continue
        return list(each) if len(each) > 1 else [each[0]] * model.config.num_hidden_layers
    raise AssertionError(f"no layers with {path}")


def output_of(model: Any, layer: Any) -> Any:
    """The output projection of a layer."""
    return layer.get_submodule(_OUTPUT[model.config.model_type])


def operated(model: Any, heads: Sequence[tuple[int, int]], cut: str, texts: list[Text]) -> Any:
    """A copy in float64 without the heads, given as 0-based layer and head."""
    found = copy.deepcopy(model).double()
    count = found.config.num_attention_heads
    for layer, head in heads:
        module = output_of(found, layers_of(found)[layer])
        is_conv = not isinstance(module, torch.nn.Linear)
        with torch.no_grad():
            rows = module.weight if is_conv else module.weight.T  # a view
            size = rows.shape[0] // count
            own = slice(head * size, (head + 1) * size)
            if cut == "uniform":
                _even_out(found, layer, head, count)
                continue
            if cut == "mean":
                written = _mean(model, layer, own, texts) @ rows[own]
                if module.bias is None:
                    module.bias = torch.nn.Parameter(torch.zeros_like(written))
                module.bias += written
            rows[own] = 0
    return found


def _even_out(model: Any, layer: int, head: int, count: int) -> None:
    """Zero a head's queries: all its scores are then 0, wherever a token may look."""
    kind = model.config.model_type
    query = layers_of(model)[layer].get_submodule(_QUERY[kind])
    weight = query.weight.T if kind == "gpt2" else query.weight  # [queries (keys, values), hidden]
    parts = 3 * count if kind in ("gpt2", "gpt_neox", "modernbert") else count
    if kind == "phi3":
        parts += 2 * model.config.num_key_value_heads
    size = weight.shape[0] // parts
    start = {"gpt_neox": 3 * head}.get(kind, head) * size
    weight[start : start + size] = 0
    if query.bias is not None:
        query.bias[start : start + size] = 0
    if kind == "mpnet":  # one table for all layers
        model.base_model.encoder.relative_attention_bias.weight[:, head] = 0


def _mean(model: Any, layer: int, own: slice, texts: list[Text]) -> torch.Tensor:
    """What the head gives to the projection on average over the tokens of the texts."""
    wide = copy.deepcopy(model).double()
    given: list[torch.Tensor] = []
    module = output_of(wide, layers_of(wide)[layer])
    module.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0][0]))
    for ids, segments, _ in texts:
        logits(wide, ids, segments)
    return torch.cat(given)[:, own].mean(0)


def logits(model: Any, ids: Sequence[int], segments: Sequence[int]) -> torch.Tensor:
    """The logits of one input, [T, vocabulary]."""
    given = {"input_ids": torch.tensor([list(ids)])}
    if getattr(model.config, "type_vocab_size", 0) > 1 and model.config.model_type != "gpt2":
        given["token_type_ids"] = torch.tensor([list(segments)])
    with torch.no_grad():
        found: torch.Tensor = model(**given).logits[0]
    return found


def causal(
    model: Any,
    texts: list[Text],
    boundary: Callable[[Sequence[int], int], Sequence[int] | None] | None = None,
) -> list[float]:
    """Surprisals of all spans; NaN for one at the start.

    `boundary` says of ids and a place in them which ids might end there what stands before; None
    for none.
    """
    found = []
    for ids, segments, spans in texts:
        probabilities = logits(model, ids, segments).softmax(-1)
        for start, end in spans:
            if start == 0:
                found.append(math.nan)
                continue
            p = 1.0
            for at in range(start, end):
                p *= float(probabilities[at - 1][ids[at]])
            if boundary is not None:
                before, after = boundary(ids, start), boundary(ids, end)
                if before is not None:
                    p /= float(probabilities[start - 1][list(before)].sum())
                if after is not None:
                    p *= float(probabilities[end - 1][list(after)].sum())
            found.append(-math.log(p))
    return found


def masked(model: Any, texts: list[Text], mask: int) -> list[float]:
    """Surprisals of all spans: each piece with the rest of its word masked, from left to right."""
    found = []
    for ids, segments, spans in texts:
        for start, end in spans:
            total = 0.0
            for at in range(start, end):
                seen = [mask if at <= each < end else id for each, id in enumerate(ids)]
                total -= float(logits(model, seen, segments)[at].log_softmax(-1)[ids[at]])
            found.append(total)
    return found
