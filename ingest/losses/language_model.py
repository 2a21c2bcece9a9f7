"""Surprisal of words under a model's LM head, with all attention heads or with some disabled.

A causal model predicts each piece from those before it. A masked model predicts one piece at a
time, from left to right within a word, with the rest of the word masked as well: the
pseudo-log-likelihood of Salazar et al. (2020) as corrected by Kauf and Ivanova (2023).

If a vocabulary writes the space before a word into its first piece, the product of the pieces is
not the probability of the word: it includes that of the space before the word, and not that of the
end of the word. Pimentel and Meister (2024) give the correction:
P(word) = P(pieces) P(boundary | after) / P(boundary | before). A boundary is the kind of character
that follows. There and in Oh and Schuler (2024) it is white space; the words of a treebank also end
before a mark (jacket,) and within a written word (do|n't). If one word directly follows another,
the end of the first and the beginning of the second have the same boundary, so that the surprisals
of a text add up to that of its pieces, except for the end of the text.

Heads are disabled between attention and the output projection: their part of the input of the
projection is replaced (Michel et al. 2019). After the projection, its bias would remain, or what
other heads wrote would be lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnbank.ingest.losses.head_sets import HeadReplacement
from attnbank.ingest.models.attend import Call, Watcher, cut_edges, drop_edges, replace_heads
from attnbank.ingest.models.loading import Model
from attnbank.ingest.models.tokenizer import BYTES, InputTokenizer

# Disabled heads: 0-based heads by the 0-based index of their layer among those with attention.
Heads = Mapping[int, Sequence[int]]

_ROWS_AT_ONCE = 256  # of logits; each has the size of the vocabulary
KINDS = 3
NONE, SPACE, LETTER, MARK = -1, 0, 1, 2  # the kinds of boundary, and no boundary
_PART = "\ufffd"  # part of a character, which is usually a letter
_FALLBACK = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class Text:
    """One input: its tokens, and the half-open ranges of tokens (spans) to score.

    `after` is the token that follows, if the text goes on but the model need not read it. `cuts`
    has for each set, if sets cut edges, these: the tokens that attend and are attended to.
    """

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    after: int | None = None
    cuts: tuple[tuple[tuple[int, int], ...], ...] = ()


@dataclass(frozen=True)
class Chunk:
    """R rows of tokens that go through the model together, and the P predictions to read.

    Predictions are read at U tokens, each a (row, token): that of the end of a word and that of the
    first piece of the next are read at the same token. There the model predicts `target`; -1 is the
    end of a word, for which only the boundary counts. `span` numbers the spans of all texts,
    `starts` is the boundary before the first piece of a word, `ends` that at its end. `cuts` are
    those of the text of each row.
    """

    ids: Tensor  # [R, T] int64
    mask: Tensor  # [R, T] int64, 0 for padding
    segments: Tensor  # [R, T] int64
    row: Tensor  # [U] int64
    token: Tensor  # [U] int64
    at: Tensor  # [P] int64, index of each prediction among the U
    target: Tensor  # [P] int64
    span: np.ndarray  # [P] int64
    starts: np.ndarray  # [P] int64, the kind of boundary; NONE (-1) for none
    ends: np.ndarray  # [P] int64
    cuts: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]

    def edges_of(self, number: int) -> Tensor | None:
        """Return the edges that a set cuts, bool [R, 1, T, T]; None if there is none."""
        if not any(self.cuts):
            return None
        edges = torch.zeros(*self.ids.shape, self.ids.shape[1], dtype=torch.bool)
        for row, cuts in enumerate(self.cuts):
            for attending, attended in cuts[number] if cuts else ():
                edges[row, attending, attended] = True
        return edges[:, None] if edges.any() else None


@dataclass(frozen=True)
class Surprisal:
    """Nats [S] of S spans, as words and as products of pieces; NaN if undefined."""

    words: np.ndarray
    pieces: np.ndarray


class Scorer:
    """Scores spans of tokens with the LM head of a model.

    `score` and `add_head_outputs` raise ModelError for a model whose heads cannot be replaced.
    """

    def __init__(self, model: Model, chunk_tokens: int = 2048) -> None:
        self.model = model
        self._chunk_tokens = chunk_tokens
        is_causal = model.head == "causal"
        self._boundaries = boundaries_of(model.input_tokenizer) if is_causal else None
        self._cached_boundaries: Tensor | None = None
        self.means: list[Tensor] | None = None  # [H, D] of each layer, for replacement "mean"

    @property
    def end_tokens(self) -> list[str]:
        """The tokens that count as the end of a text; none if the model has no boundaries."""
        tokenizer = self.model.input_tokenizer
        ids = () if self._boundaries is None else sorted(tokenizer.closing)
        return [str(tokenizer.tokenizer.id_to_token(id)) for id in ids]

    def score(
        self,
        texts: Sequence[Text],
        sets: Sequence[Heads] = ({},),
        replacement: HeadReplacement = "zero",
    ) -> list[Surprisal]:
        """Return the surprisals of the spans of all texts, for each set of disabled heads.

        If texts have `cuts`, no heads are disabled: those of a set are where its edges are cut.
        """
        count = sum(len(text.spans) for text in texts)
        words = np.full((len(sets), count), np.nan)
        pieces = np.full((len(sets), count), np.nan)
        # Sorted by length: less padding, or fewer chunks for a model that cannot pad.
        rows = sorted(self._model_inputs(texts), key=lambda row: len(row.ids))
        for chunk in self._chunks(rows):
            new_spans = chunk.span[np.isnan(pieces[0, chunk.span])]
            words[:, new_spans] = pieces[:, new_spans] = 0
            for at, (log_p, boundary) in enumerate(self._predictions(chunk, sets, replacement)):
                within = (chunk.target >= 0).numpy()
                np.subtract.at(pieces[at], chunk.span[within], log_p[within])
                np.subtract.at(words[at], chunk.span[within], log_p[within])
                if boundary is not None:
                    for add, kinds in ((np.add, chunk.starts), (np.subtract, chunk.ends)):
                        (with_boundary,) = np.nonzero(kinds != NONE)
                        add.at(
                            words[at],
                            chunk.span[with_boundary],
                            boundary[with_boundary, kinds[with_boundary]],
                        )
        return [Surprisal(*nats) for nats in zip(words, pieces, strict=True)]

    def _predictions(
        self, chunk: Chunk, sets: Sequence[Heads], replacement: HeadReplacement
    ) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Yield for each set ln P of the targets, [P] float64, and of boundaries, [P, kinds]."""
        if not any(sets):
            for _ in sets:
                yield self._forward(chunk)
            return
        outputs: list[Any] = []  # of each layer of the whole model
        with self.model.attention.watch(outputs=outputs):
            whole = self._forward(chunk)
        for number, heads in enumerate(sets):
            edges = chunk.edges_of(number)
            before: Watcher | None = None
            after: Watcher | None = None
            if any(chunk.cuts) and edges is not None:
                before = partial(self._cut, heads, edges.to(self.model.device), replacement)
                after = before if replacement == "zero" else None
            elif not any(chunk.cuts) and heads:
                after = partial(self._disable, heads, replacement)
            if before is after is None:
                yield whole
                continue
            with self.model.attention.watch(before, after, outputs=outputs, below=min(heads)):
                predictions = self._forward(chunk)
            yield predictions

    def _cut(self, heads: Heads, edges: Tensor, replacement: HeadReplacement, call: Call) -> None:
        own = list(heads.get(call.number, ()))
        if not own:
            return
        if len(own) < call.heads:
            is_own = torch.zeros(call.heads, dtype=torch.bool, device=edges.device)
            is_own[own] = True
            edges = edges & is_own[:, None, None]
        (drop_edges if replacement == "zero" else cut_edges)(call, edges)

    def _disable(self, disabled: Heads, replacement: HeadReplacement, call: Call) -> None:
        heads = disabled.get(call.number, ())
        if not heads:
            return
        if replacement == "mean":
            assert self.means is not None
            replace_heads(call, heads, self.means[call.number][list(heads)])
        else:
            assert replacement != "mask", "which is for edges"
            replace_heads(call, heads, replacement)

    def _forward(self, chunk: Chunk) -> tuple[np.ndarray, np.ndarray | None]:
        model = self.model
        inputs = model.inputs(chunk.ids, chunk.mask, chunk.segments)
        if model.head == "causal":
            inputs["use_cache"] = False
        with torch.inference_mode():
            logits, _ = model.logits_at(inputs, chunk.row, chunk.token)
            log_p, boundary = self._log_probabilities(logits, chunk)
        return log_p, None if boundary is None else boundary[chunk.at.numpy()]

    def _log_probabilities(
        self, logits: Tensor, chunk: Chunk
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return ln P of the P targets, and of the boundaries at the U tokens, [U, kinds]."""
        at, target = (tensor.to(logits.device) for tensor in (chunk.at, chunk.target.clamp(min=0)))
        log_p = np.empty(len(at))
        at_boundary = []
        marks = None if self._boundaries is None else self._boundary_matrix(logits)
        for start in range(0, len(logits), _ROWS_AT_ONCE):
            rows = logits[start : start + _ROWS_AT_ONCE].float()
            inside = (at >= start) & (at < start + len(rows))
            block_row = at[inside] - start
            top = rows.amax(1, keepdim=True)
            # exp() once for both sums: over the whole vocabulary it takes longest.
            shares = (rows - top).exp_()
            log_total = shares.sum(1).log()
            target_log_p = (
                rows[block_row, target[inside]] - top[block_row, 0] - log_total[block_row]
            )
            log_p[inside.cpu().numpy()] = target_log_p.double().cpu().numpy()
            if marks is not None:
                mass = (shares @ marks).log()
                for kind, own_mass in enumerate(mass.T):  # views, which are changed in place
                    if (lost := own_mass.isneginf()).any():  # exp() underflowed in float32
                        pieces = marks[:, kind] > 0
                        own_mass[lost] = (rows - top)[lost][:, pieces].logsumexp(1)
                at_boundary.append((mass - log_total[:, None]).double().cpu().numpy())
        return log_p, np.concatenate(at_boundary) if at_boundary else None

    def _boundary_matrix(self, logits: Tensor) -> Tensor:
        """Return whether each token is a boundary of each kind, 1 or 0: [vocabulary, kinds]."""
        assert self._boundaries is not None
        known = self._cached_boundaries
        if known is None or known.shape[0] != logits.shape[1] or known.device != logits.device:
            known = torch.zeros(logits.shape[1], KINDS)
            for kind, ids in enumerate(self._boundaries.ids):
                known[[id for id in ids if id < len(known)], kind] = 1
            known = self._cached_boundaries = known.to(logits.device)
        return known

    def _chunks(self, inputs: Iterable[_ModelInput]) -> Iterator[Chunk]:
        """Yield chunks of rows that the model may compute together."""
        rows: list[_ModelInput] = []
        for row in inputs:
            longest = max(len(row.ids), max((len(earlier.ids) for earlier in rows), default=0))
            is_full = (len(rows) + 1) * longest > self._chunk_tokens
            batching = self.model.batching
            is_apart = batching == "single" or (batching == "equal" and len(row.ids) != longest)
            if rows and (is_full or is_apart):
                yield self._chunk(rows)
                rows = []
            rows.append(row)
        if rows:
            yield self._chunk(rows)

    def _model_inputs(self, texts: Sequence[Text]) -> Iterator[_ModelInput]:
        """Yield an input for each text, or, for a masked model, for each piece to predict."""
        number = 0
        for text in texts:
            numbered = list(enumerate(text.spans, number))
            number += len(text.spans)
            if self.model.head == "causal":
                points = [
                    point for at, span in numbered for point in self._points_of_span(text, at, span)
                ]
                if points:
                    yield _ModelInput(text.ids, text.segments, points, text.cuts)
                continue
            mask_token = self.model.input_tokenizer.mask_token
            assert mask_token is not None
            for at, (start, end) in numbered:
                for token in range(start, end):
                    ids = (*text.ids[:token], *[mask_token] * (end - token), *text.ids[end:])
                    point = _Point(token, text.ids[token], at)
                    yield _ModelInput(ids, text.segments, [point], text.cuts)

    def _points_of_span(self, text: Text, at: int, span: tuple[int, int]) -> list[_Point]:
        """Return the predictions of a span by a causal model: its pieces, and then its end."""
        start, end = span
        if start == 0:  # nothing precedes it
            return []
        points = [_Point(token - 1, text.ids[token], at) for token in range(*span)]
        if self._boundaries is not None:
            begins, ends = (self._boundaries.kind_at(text.ids, token, text.after) for token in span)
            points[0] = _Point(start - 1, text.ids[start], at, starts=begins)
            if ends != NONE:
                points.append(_Point(end - 1, -1, at, ends=ends))
        return points

    def _chunk(self, rows: Sequence[_ModelInput]) -> Chunk:
        longest = max(len(row.ids) for row in rows)
        padding = self.model.input_tokenizer.padding
        points = [(at, point) for at, row in enumerate(rows) for point in row.points]
        unique = dict.fromkeys((at, point.token) for at, point in points)
        numbers = {position: number for number, position in enumerate(unique)}

        def padded(values: Callable[[_ModelInput], Sequence[int]], fill: int) -> Tensor:
            return torch.tensor(
                [[*values(row), *[fill] * (longest - len(row.ids))] for row in rows]
            )

        return Chunk(
            padded(lambda row: row.ids, padding),
            padded(lambda row: [1] * len(row.ids), 0),
            padded(lambda row: row.segments, 0),
            torch.tensor([row for row, _ in numbers]),
            torch.tensor([token for _, token in numbers]),
            torch.tensor([numbers[at, point.token] for at, point in points]),
            torch.tensor([point.target for _, point in points]),
            np.array([point.span for _, point in points]),
            np.array([point.starts for _, point in points]),
            np.array([point.ends for _, point in points]),
            tuple(row.cuts for row in rows),
        )

    def add_head_outputs(self, texts: Sequence[Text], sums: list[Tensor]) -> int:
        """Add the outputs of all heads, summed over the tokens of texts, to `sums`.

        `sums` has [H, D] float64 of each layer, and is filled if it is empty. Nothing is masked.
        Returns the number of tokens.
        """
        rows = [_ModelInput(text.ids, text.segments, [_Point(0, 0, 0)]) for text in texts]
        for chunk in self._chunks(rows):
            with self.model.attention.watch(after=partial(self._add_outputs, chunk, sums)):
                self._forward(chunk)
        return sum(len(text.ids) for text in texts)

    def _add_outputs(self, chunk: Chunk, sums: list[Tensor], call: Call) -> None:
        assert call.output is not None
        by_head = call.output.double()
        total = torch.einsum("bt,bthd->hd", chunk.mask.to(by_head), by_head)
        if call.number == len(sums):
            sums.append(total)
        else:
            sums[call.number] += total


@dataclass(frozen=True)
class _Point:
    """A prediction to read: see Chunk."""

    token: int
    target: int
    span: int
    starts: int = NONE
    ends: int = NONE


@dataclass(frozen=True)
class _ModelInput:
    ids: Sequence[int]
    segments: Sequence[int]
    points: Sequence[_Point]
    cuts: tuple[tuple[tuple[int, int], ...], ...] = ()


class Boundaries:
    """The tokens of a vocabulary by what they begin with: white space, a letter, or a mark.

    `ids` are the tokens of each kind; the end of a text counts as white space.
    """

    def __init__(self, tokenizer: InputTokenizer) -> None:
        backend = tokenizer.tokenizer
        added = backend.get_added_tokens_decoder()
        self._special = {id for id, token in added.items() if token.special} | tokenizer.closing
        pieces = {id: piece for piece, id in backend.get_vocab().items() if id not in self._special}
        is_byte_level = all(
            char in BYTES for id, piece in pieces.items() if id not in added for char in piece
        )
        self._kinds = dict.fromkeys(tokenizer.closing, SPACE)
        for id, piece in pieces.items():
            fallback = _FALLBACK.fullmatch(piece)
            if id in added:
                text = piece.encode()
            elif is_byte_level:
                text = bytes(BYTES[char] for char in piece)
            else:
                text = bytes.fromhex(fallback[1]) if fallback else piece.replace("▁", " ").encode()
            first = text.decode(errors="replace")[:1]
            is_letter = first in ("", _PART) or unicodedata.category(first)[0] in "LMN"
            self._kinds[id] = SPACE if first.isspace() else LETTER if is_letter else MARK
        self.ids = tuple(
            frozenset(id for id, own_kind in self._kinds.items() if own_kind == kind)
            for kind in range(KINDS)
        )

    def kind_at(self, ids: Sequence[int], index: int, after: int | None = None) -> int:
        """Return the kind of boundary before the token at an index; NONE at the start of the text.

        `after` is the token that follows `ids`; None for the end of the text.
        """
        following = ids[index] if index < len(ids) else after
        kind = SPACE if following is None else self._kinds.get(following, NONE)
        # After a special token, such as the one that begins a text, only white space is a boundary.
        return NONE if kind != SPACE and ids[index - 1] in self._special else kind


def boundaries_of(tokenizer: InputTokenizer) -> Boundaries | None:
    """Return the boundaries of a vocabulary; None if its tokens do not include white space."""
    (pieces,) = tokenizer.pieces_after_text(["a"], [True])
    boundaries = Boundaries(tokenizer)
    marks_spaces = isinstance(pieces, tuple) and pieces[0].id in boundaries.ids[SPACE]
    return boundaries if marks_spaces else None
