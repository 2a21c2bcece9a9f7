"""Masked-LM losses and gradients the slow way: one input at a time, unpadded, loss by transformers.

It shares only the masks with the package, which test_masking.py checks. Attention is written out
here, and replaces that of the model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import torch
import transformers
from torch import Tensor

from attnbank.ingest.losses.masked import InputMask, Masking
from attnbank.ingest.models.tokenizer import Encoded, Position

Edit = Callable[[int, Tensor], Tensor]
"""A function of a 1-based layer and its weights [1, H, T, T] that returns the weights to use."""


def load(folder: Path) -> tuple[Any, Any]:
    """The tokenizer, and the model with its masked-language-model head, of a folder."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager")
    return tokenizer, model.eval()


def inputs(connection: duckdb.DuckDBPyConnection, tokenizer: Any) -> dict[int, Encoded]:
    """Every sequence of the bank by its id, rebuilt from table `position`."""
    found: dict[int, Encoded] = {}
    rows = connection.execute(
        "select sequence, list((kind, word, text, pieces, segment) order by position)"
        " from position group by sequence order by sequence"
    ).fetchall()
    for sequence, places in rows:
        pieces: list[str] = []
        positions = []
        for kind, word, text, own, _ in places:
            positions.append(Position(kind, word, text, len(pieces), len(pieces) + len(own)))
            pieces += own
        ids = tokenizer.convert_tokens_to_ids(pieces)
        segments = [segment for *_, own, segment in places for _ in own]
        found[sequence] = Encoded(tuple(ids), tuple(segments), tuple(pieces), tuple(positions))
    return found


def masking(tokenizer: Any, seed: int) -> Masking:
    """BERT's masking, with the special tokens and the vocabulary of the tokenizer."""
    special = set(tokenizer.all_special_ids)
    return Masking(
        seed,
        tokenizer.mask_token_id,
        frozenset(special - {tokenizer.unk_token_id}),
        tuple(each for each in range(len(tokenizer)) if each not in special),
    )


def loss(model: Any, one: Encoded, masked: InputMask, **settings: Any) -> Any:
    """The output of the model for one input; its `loss` is the mean over the masked tokens."""
    ids, labels = list(one.ids), [-100] * len(one.ids)
    for token, seen, target in zip(masked.tokens, masked.input_ids, masked.target, strict=True):
        ids[token], labels[token] = seen, target
    given = {"input_ids": torch.tensor([ids]), "labels": torch.tensor([labels])}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        given["token_type_ids"] = torch.tensor([one.segments])
    return model(**given, **settings)


def gradients(model: Any, one: Encoded, masked: InputMask) -> np.ndarray:
    """The gradient of the loss with respect to every attention weight, [L, H, T, T]."""
    output = loss(model, one, masked, output_attentions=True)
    for each in output.attentions:
        each.retain_grad()
    model.zero_grad()
    output.loss.backward()
    return np.stack([each.grad[0].numpy() for each in output.attentions])


@contextmanager
def attention(model: Any, edit: Edit) -> Iterator[None]:
    """Within, the model's eager attention is replaced by one whose weights go through `edit`.

    It serves for one forward pass over one input without padding.
    """
    layer = 0

    def attend(
        module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scaling: float | None = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor]:
        nonlocal layer
        layer += 1
        assert mask is None or bool((mask == 0).all())
        scores = query @ key.transpose(-1, -2)
        scores = scores * (query.shape[-1] ** -0.5 if scaling is None else scaling)
        exp = torch.exp(scores - scores.amax(-1, keepdim=True))
        weights = edit(layer, exp / exp.sum(-1, keepdim=True))
        return (weights @ value).transpose(1, 2).contiguous(), weights

    def softmax(scores: Tensor, *others: Any, **named: Any) -> Tensor:
        nonlocal layer
        layer += 1
        return edit(layer, own(scores, *others, **named))

    file: Any = sys.modules[type(model).__module__]
    name = "eager_attention_forward"
    if not hasattr(file, name):  # MPNet: no other softmax is in it
        file, name = torch.nn.functional, "softmax"
    own = getattr(file, name)
    setattr(file, name, softmax if name == "softmax" else attend)
    try:
        yield
    finally:
        setattr(file, name, own)
