"""Tiny random language models of every type that transformers has."""

from __future__ import annotations

import inspect
from typing import Any

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

TYPES = tuple(sorted({*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *MODEL_FOR_MASKED_LM_MAPPING_NAMES}))
_MOST_PARAMETERS = 20_000_000
_SIZES: dict[str, Any] = {
    **dict.fromkeys(("vocab_size", "vocab_size_per_layer_input"), 100),
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size"), 32),
    **dict.fromkeys(("word_embed_proj_dim", "d_embed", "lru_width"), 32),
    # Of three layers, no hybrid has attention in the fourth.
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layer", "n_layers"), 4),
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 4),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads"), 2),
    **dict.fromkeys(("intermediate_size", "d_ff", "ffn_dim", "hidden_dim", "d_inner"), 64),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "ffn_hidden_size", "inner_dim"), 64),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("shared_intermediate_size", "q_lora_rank", "kv_lora_rank"), 16),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx"), 96),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k", "moe_topk"), 2),
    **dict.fromkeys(("n_group", "topk_group", "attn_layer_offset", "bos_token_id"), 1),
    **dict.fromkeys(("head_dim", "d_kv", "d_head", "attention_head_size", "v_head_dim"), 8),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "sliding_window"), 8),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "mamba_d_state"), 8),
    **dict.fromkeys(("linear_num_key_heads", "linear_num_value_heads", "index_n_heads"), 2),
    **dict.fromkeys(("attn_layer_period", "eos_token_id"), 2),
    **{"moe_num_experts": 4, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_chunk_size": 8},
    **{"index_topk": 64, "index_head_dim": 16, "rotary_dim": 4, "hidden_size_per_layer_input": 8},
    **{"pad_token_id": 0, "use_mamba_kernels": False, "attention_type": "original_full"},
}

_HALF = {"layer_types": ["linear_attention", "full_attention"] * 2}
# Hybrids whose own choice of layers with attention would leave none in four.
_LAYERS: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1, 3]},
    **dict.fromkeys(("bailing_hybrid", "granitemoehybrid", "kimi_linear"), _HALF),
}


class CannotBuild(Exception):
    """A type that has no model of these sizes."""


def build(kind: str) -> Any:
    """Return a tiny model of a type with its language-modelling head. Raises CannotBuild."""
    try:
        config = _config(kind)
        masked = kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES
        head = f"AutoModelFor{'Masked' if masked else 'Causal'}LM"
        make = getattr(transformers, head).from_config
        with torch.device("meta"):
            size = sum(one.numel() for one in make(config).parameters())
        if size > _MOST_PARAMETERS:
            raise CannotBuild(f"{size:,} parameters")
        torch.manual_seed(0)
        model = make(config, attn_implementation="eager").eval()
    except Exception as error:
        raise CannotBuild(str(error)) from error
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(10)
    return model


def _config(kind: str) -> Any:
    make = CONFIG_MAPPING[kind]
    names = set(inspect.signature(make.__init__).parameters)
    for base in make.__mro__:
        names |= set(getattr(base, "__annotations__", {}))
    settings = {name: size for name, size in _SIZES.items() if name in names}
    settings |= _LAYERS.get(kind, {})
    for alias, name in getattr(make, "attribute_map", {}).items():
        if name in settings:
            settings.pop(alias, None)
    if "kv_lora_rank" in settings:  # its heads do not share keys and values
        settings["num_key_value_heads"] = 4
    errors = []
    for without in ((), ("head_dim",), ("num_key_value_heads",), ("sliding_window",)):
        try:
            config = make(**{name: settings[name] for name in settings.keys() - set(without)})
        except Exception as error:
            errors.append(error)
        else:
            config.use_cache = False
            return config
    raise errors[0]
