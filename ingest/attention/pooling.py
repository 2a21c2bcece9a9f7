"""From token-level attention to the attention between positions, and its peaks.

Section 4.1 of the paper: attention *to* a split word is the sum over its pieces, attention
*from* a split word the mean over them. The published code takes the first piece instead of
the mean. Sums and means are taken in float64 and rounded once to float32, so that the result
does not depend on the order of the arithmetic.

Everything is vectorised over the batch and over the heads of a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

Subword = Literal["mean", "first"]


@dataclass(frozen=True)
class PieceMap:
    """Where the pieces of every position stand, for a padded batch of B inputs.

    B inputs, P = most positions of one, S = split positions (of two or more pieces) in all,
    E = their pieces in all, K = pairs (piece of a split position, split position of the same
    input) in all.
    """

    first: Tensor  # [B, P] token index of the first piece; 0 where there is no such position
    candidate: Tensor  # [B, P] whether the position is a word (or token), not a special token
    positions: np.ndarray  # [B] positions of each input
    split_input: Tensor  # [S] input of each split position
    split_position: Tensor  # [S]
    split_pieces: Tensor  # [S] number of pieces
    piece_split: Tensor  # [E] index into S
    piece_input: Tensor  # [E]
    piece_token: Tensor  # [E] token index
    pair_from: Tensor  # [K] index into E: the piece that attends
    pair_to: Tensor  # [K] index into S: the split position attended to

    @classmethod
    def of(
        cls,
        pieces: Sequence[Sequence[tuple[int, int]]],
        candidates: Sequence[Sequence[bool]],
        device: torch.device,
    ) -> PieceMap:
        """Lay out a batch.

        `pieces[b][p]` is the half-open range of tokens of position p of input b;
        `candidates[b][p]` says whether that position is a word (or token).
        """
        batch, most = len(pieces), max(len(each) for each in pieces)
        first = np.zeros((batch, most), dtype=np.int64)
        candidate = np.zeros((batch, most), dtype=bool)
        positions = np.array([len(each) for each in pieces], dtype=np.int64)
        splits: list[tuple[int, int, int]] = []
        piece_rows: list[tuple[int, int, int]] = []
        pairs: list[tuple[int, int]] = []
        for at, ranges in enumerate(pieces):
            first[at, : len(ranges)] = [start for start, _ in ranges]
            candidate[at, : len(ranges)] = candidates[at]
            first_split, first_piece = len(splits), len(piece_rows)
            for place, (start, end) in enumerate(ranges):
                if end - start > 1:
                    piece_rows.extend((len(splits), at, token) for token in range(start, end))
                    splits.append((at, place, end - start))
            pairs.extend(
                (piece, split)
                for piece in range(first_piece, len(piece_rows))
                for split in range(first_split, len(splits))
            )

        def columns(rows: Sequence[tuple[int, ...]], count: int) -> list[Tensor]:
            table = torch.tensor(rows, dtype=torch.int64).reshape(-1, count)
            return [column.to(device) for column in table.unbind(1)]

        split_input, split_position, split_pieces = columns(splits, 3)
        piece_split, piece_input, piece_token = columns(piece_rows, 3)
        pair_from, pair_to = columns(pairs, 2)
        return cls(
            first=torch.from_numpy(first).to(device),
            candidate=torch.from_numpy(candidate).to(device),
            positions=positions,
            split_input=split_input,
            split_position=split_position,
            split_pieces=split_pieces,
            piece_split=piece_split,
            piece_input=piece_input,
            piece_token=piece_token,
            pair_from=pair_from,
            pair_to=pair_to,
        )


def pool(attention: Tensor, layout: PieceMap, subword: Subword = "mean") -> Tensor:
    """Attention between positions, of one layer.

    `attention` is [B, H, T, T] float, from a query token to a key token; the result is
    [B, H, P, P] float32, from a position to a position. Rows and columns beyond an input's
    own positions hold no meaning.
    """
    batch, heads, tokens, _ = attention.shape
    most = layout.first.shape[1]
    rows = layout.first[:, None, :, None].expand(batch, heads, most, tokens)
    columns = layout.first[:, None, None, :].expand(batch, heads, most, most)
    pooled = attention.gather(2, rows).gather(3, columns).float()
    if not len(layout.split_input):
        return pooled
    splits = len(layout.split_input)

    # To a split position: the sum over its pieces, for every token that attends.
    to_piece = attention[layout.piece_input, :, :, layout.piece_token]  # [E, H, T]
    to_split = torch.zeros(splits, heads, tokens, dtype=torch.float64, device=attention.device)
    to_split.index_add_(0, layout.piece_split, to_piece.double())
    at_first = layout.first[layout.split_input][:, None, :].expand(splits, heads, most)
    pooled[layout.split_input, :, :, layout.split_position] = to_split.gather(2, at_first).float()
    if subword == "first":
        return pooled

    # From a split position: the mean over its pieces, to every position of one piece ...
    from_piece = attention[layout.piece_input, :, layout.piece_token, :]  # [E, H, T]
    from_split = torch.zeros_like(to_split)
    from_split.index_add_(0, layout.piece_split, from_piece.double())
    from_split /= layout.split_pieces[:, None, None]
    pooled[layout.split_input, :, layout.split_position, :] = from_split.gather(2, at_first).float()

    # ... and, of the sums above, to every split position of the same input.
    to_split_from_piece = to_split[
        layout.pair_to, :, layout.piece_token[layout.pair_from]
    ]  # [K, H]
    pair = layout.piece_split[layout.pair_from] * splits + layout.pair_to
    names, index = torch.unique(pair, return_inverse=True)
    from_split_to_split = torch.zeros(
        len(names), heads, dtype=torch.float64, device=attention.device
    )
    from_split_to_split.index_add_(0, index, to_split_from_piece)
    source, target = names // splits, names % splits
    from_split_to_split /= layout.split_pieces[source][:, None]
    pooled[
        layout.split_input[source], :, layout.split_position[source], layout.split_position[target]
    ] = from_split_to_split.float()
    return pooled


@dataclass(frozen=True)
class Peaks:
    """The largest weights from and to every position, [B, H, P] each; position -1 for none."""

    most_attended: Tensor
    most_attended_weight: Tensor
    most_attending: Tensor
    most_attending_weight: Tensor


def peaks(pooled: Tensor, layout: PieceMap) -> Peaks:
    """The arg-max of every row and every column of `pooled` [B, H, P, P].

    Special tokens and the position itself are left out; the leftmost of equals is taken
    (section 4.2 of the paper). A position with no positive weight has no peak.
    """
    most = pooled.shape[-1]
    candidate = layout.candidate
    itself = torch.eye(most, dtype=torch.bool, device=pooled.device)
    excluded = ~(candidate[:, :, None] & candidate[:, None, :]) | itself
    among = pooled.masked_fill(excluded[:, None], 0.0)
    return Peaks(*_first_largest(among, -1), *_first_largest(among, -2))


def _first_largest(among: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The first of the largest weights along an axis, and its weight; -1 where none is positive."""
    weight, index = among.max(axis)
    return torch.where(weight > 0, index, -1), weight


def odd_rows(pooled: Tensor, layout: PieceMap, tolerance: float = 1e-3) -> Tensor:
    """Which inputs [B] have a row of attention that does not sum to 1 within the tolerance."""
    present = torch.arange(pooled.shape[-1], device=pooled.device)[None] < torch.from_numpy(
        layout.positions
    ).to(pooled.device).unsqueeze(1)
    sums = (pooled * present[:, None, None, :]).sum(-1)
    odd = ~((sums - 1).abs() <= tolerance) & present[:, None, :]
    return odd.flatten(1).any(1)
