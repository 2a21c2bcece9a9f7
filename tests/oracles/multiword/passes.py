"""One input at a time through a model: pieces, positions, weights between positions, peaks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer

from multiword.text import Corpus, Unit

SPACE = "▁"


@dataclass
class Position:
    """A row and column of the maps. `words` are places in the corpus; none for special tokens."""

    kind: str  # word (pieces of words too), cls or sep
    words: list[int]
    text: str
    pieces: list[str]
    tokens: list[int]


Layout = tuple[list[Position], list[int]]
"""The positions of an input and the ids of its tokens."""


@dataclass
class Input:
    """An input: its positions and the weights between them [L, H, P, P]."""

    positions: list[Position]
    ids: list[int]
    maps: np.ndarray

    @property
    def word_positions(self) -> list[int]:
        return [at for at, each in enumerate(self.positions) if each.kind == "word"]

    @cached_property
    def attended(self) -> np.ndarray:
        """The other word position that a position looks at most [L, H, P]; -1 for none."""
        return self._peaks(self.maps)

    @cached_property
    def attending(self) -> np.ndarray:
        """The other word position that looks at a position most [L, H, P]; -1 for none."""
        return self._peaks(self.maps.swapaxes(2, 3))

    def _peaks(self, maps: np.ndarray) -> np.ndarray:
        words = self.word_positions
        found = np.full(maps.shape[:3], -1)
        for layer in range(maps.shape[0]):
            for head in range(maps.shape[1]):
                rows = maps[layer, head].tolist()
                for at in words:
                    best = 0.0
                    for other in words:
                        if other != at and rows[at][other] > best:
                            best = rows[at][other]
                            found[layer, head, at] = other
        return found


class Model:
    """A model and its tokenizer, read from the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        state = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        self.kind = state["model"]["type"]  # Unigram, BPE (of bytes) or WordPiece
        self.unknown = "<unk>" if self.kind == "Unigram" else "[UNK]"
        loaded = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
        self.module: Any = loaded.eval()
        self.opens = {"Unigram": "<s>", "WordPiece": "[CLS]"}.get(self.kind)
        self.closes = {"Unigram": "</s>", "WordPiece": "[SEP]"}.get(self.kind)

    def pieces(self, text: str, space_before: bool, begins: bool) -> list[str]:
        """The pieces of a unit as the vocabulary writes them.

        `begins`: nothing stands before it. A Unigram tokenizer writes white space before that too.
        """
        if self.kind == "Unigram":
            written = SPACE.join(text.split())  # of any kind, as tokenizers of this model cut it
            if space_before or begins:
                written = SPACE + written
            found = []
            for part in _parts(written):
                for token in self.tokenizer.model.tokenize(part):
                    found.append(
                        self.unknown if token.id == self._id(self.unknown) else token.value
                    )
            return found
        before = " " if self.kind == "BPE" and space_before else ""
        return list(self.tokenizer.encode(before + text, add_special_tokens=False).tokens)

    def _id(self, piece: str) -> int:
        id = self.tokenizer.token_to_id(piece)
        assert id is not None
        return int(id)

    def layout(
        self, units: Sequence[tuple[Unit, bool]], unit: str = "word", *, shares: bool = False
    ) -> Layout:
        """The positions of an input, of words or of tokens, and the ids of its tokens.

        `shares`: the input, a sentence, is read whole.
        """
        positions: list[Position] = []
        ids: list[int] = []

        def put(kind: str, words: list[int], text: str, pieces: list[str]) -> None:
            tokens = list(range(len(ids), len(ids) + len(pieces)))
            ids.extend(self._id(each) for each in pieces)
            if unit == "word":
                positions.append(Position(kind, words, text, pieces, tokens))
                return
            for piece, token in zip(pieces, tokens, strict=True):
                positions.append(Position(kind, words, piece, [piece], [token]))

        if self.opens is not None:
            put("cls", [], self.opens, [self.opens])
        if shares:
            for own, pieces in joined(self.tokenizer, units):
                put("word", own.words, own.text, pieces)
        for at, (own, space) in enumerate([] if shares else units):
            put("word", own.words, own.text, self.pieces(own.text, space, at == 0))
        if self.closes is not None:
            put("sep", [], self.closes, [self.closes])
        return positions, ids

    def tensors(self, ids: Sequence[int]) -> dict[str, torch.Tensor]:
        given = torch.tensor([list(ids)])
        return {"input_ids": given, "attention_mask": torch.ones_like(given)}

    def read(self, layout: Layout) -> Input:
        """Run the model over one input."""
        positions, ids = layout
        with torch.no_grad():
            output = self.module(**self.tensors(ids), output_attentions=True)
        tokens = np.stack([layer[0].numpy() for layer in output.attentions])
        return Input(positions, ids, merged(tokens, [position.tokens for position in positions]))


def _parts(written: str) -> list[str]:
    """What is cut at white space before pieces are sought: each part begins with its `▁`."""
    parts: list[str] = []
    for character in written:
        if character == SPACE or not parts:
            parts.append(character)
        else:
            parts[-1] += character
    return parts


def joined(
    tokenizer: Tokenizer, units: Sequence[tuple[Unit, bool]]
) -> list[tuple[Unit, list[str]]]:
    """The units of a text as a tokenizer reads it whole, each with its pieces.

    Units that a piece holds characters of are one, and so are those that share one of these.
    """
    text = ""
    owners: list[int | None] = []
    for at, (unit, space) in enumerate(units):
        if at and space:
            text, owners = text + " ", [*owners, None]
        text, owners = text + unit.text, owners + [at] * len(unit.text)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    held: list[set[int]] = []  # the units of each piece
    for start, end in encoding.offsets:
        inside = {at for at in owners[start:end] if at is not None}
        held.append(inside or {next(at for at in owners[end:] if at is not None)})
    groups = [{at} for at in range(len(units))]
    for inside in held:
        if len(inside) > 1:
            one: set[int] = set().union(*(group for group in groups if group & inside))
            groups = [group for group in groups if not group & inside] + [one]
    found = []
    for group in sorted(groups, key=min):
        own = [units[at] for at in sorted(group)]
        text = own[0][0].text + "".join(" " * space + each.text for each, space in own[1:])
        words = [word for each, _ in own for word in each.words]
        ids = [id for id, inside in zip(encoding.ids, held, strict=True) if inside <= group]
        pieces = [str(tokenizer.id_to_token(id)) for id in ids]
        found.append((Unit(words, text, own[0][1]), pieces))
    return found


def merged(tokens: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Weights between positions [L, H, P, P]: to a position the sum, from it the mean."""
    wide = tokens.astype(np.float64)
    found = np.zeros((*tokens.shape[:2], len(groups), len(groups)))
    columns = []
    for group in groups:
        total = np.zeros(wide.shape[:3])
        for token in group:
            total += wide[:, :, :, token]
        columns.append(total)
    for j, column in enumerate(columns):
        for i, group in enumerate(groups):
            total = np.zeros(wide.shape[:2])
            for token in group:
                total += column[:, :, token]
            found[:, :, i, j] = total / len(group)
    return found.astype(np.float32)


def layouts(
    model: Model, corpus: Corpus, context: str, unit: str = "word", *, shares: bool = False
) -> list[Layout]:
    """The inputs of a run: sentences, or documents that are short enough for one input each."""
    if context == "document":
        texts = [corpus.units_of(document) for document in sorted(set(corpus.documents))]
    else:
        texts = [[(each, each.space_before) for each in units] for units in corpus.sentences]
    return [model.layout(text, unit, shares=shares) for text in texts]
