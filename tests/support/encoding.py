"""Encodes inputs of one segment with a tokenizer's special tokens."""

from __future__ import annotations

from collections.abc import Sequence

from attnbank.ingest.models.tokenizer import Encoded, InputTokenizer, Unalignable
from attnbank.ingest.options import Unit


def encoded(
    input_tokenizer: InputTokenizer,
    inputs: Sequence[tuple[Sequence[str], Sequence[bool]]],
    unit: Unit,
) -> list[Encoded | Unalignable]:
    """Encode inputs, each given as its words and whether white space follows each word."""
    return [
        pieces
        if isinstance(pieces, Unalignable)
        else input_tokenizer.assemble([pieces], words, unit)
        for (words, _), pieces in zip(inputs, input_tokenizer.pieces(inputs), strict=True)
    ]
