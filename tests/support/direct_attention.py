"""The attention that a model itself returns of the inputs of a bank, to compare with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bounds
import numpy as np
import torch
import transformers
from bank_rows import query_bank


def load_directly(folder: Path | str) -> tuple[Any, Any]:
    """The tokenizer and the model of a folder, as transformers gives them."""
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    return transformers.AutoTokenizer.from_pretrained(folder), model


def check_stored_attention(
    bank: Path, model: Any, inputs: Sequence[tuple[int, dict[str, torch.Tensor]]]
) -> None:
    """The stored attention of sequences is that of a pass for each, but for rounding."""
    within = bounds.attention(model, [tensors for _, tensors in inputs])
    for sequence, tensors in inputs:
        with torch.no_grad():
            maps = model(**tensors, output_attentions=True).attentions
        stored = query_bank(
            bank,
            "select weights from attention where sequence = ? order by layer, head, from_position",
            [sequence],
        )
        direct = np.concatenate([layer[0].reshape(-1, layer.shape[-1]).numpy() for layer in maps])
        np.testing.assert_allclose([row[0] for row in stored], direct, atol=within, rtol=0)
