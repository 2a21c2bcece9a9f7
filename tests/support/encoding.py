"""Inputs of one segment, as a tokenizer lays them out with its special tokens."""

from __future__ import annotations

from collections.abc import Sequence

from attnbank.ingest.models.tokenizer import Encoded, InputTokenizer, Unalignable, Unit


def encoded(
    input_tokenizer: InputTokenizer,
    inputs: Sequence[tuple[Sequence[str], Sequence[bool]]],
    unit: Unit,
) -> list[Encoded | Unalignable]:
    """Encode words, each given with whether white space follows it."""
    return [
        pieces
        if isinstance(pieces, Unalignable)
        else input_tokenizer.assemble([pieces], words, unit)
        for (words, _), pieces in zip(inputs, input_tokenizer.pieces(inputs), strict=True)
    ]
