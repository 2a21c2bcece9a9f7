"""Surprisal of the words of a corpus, from its CoNLL-U to nats, without the package.

`multiword` reads the text and cuts it into pieces, and `oracle_ablation` asks the model for one
prediction at a time in float64, without hooks.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import oracle_ablation
import transformers
from multiword import passes, text

Nats = dict[int, float | None]
"""By word.id of a bank that has this corpus alone; None where none is defined."""


@dataclass
class Read:
    """The inputs of a run, as an oracle reads them; `words` are the ids of each span's words."""

    model: Any
    mask: int | None
    boundary: Callable[[Sequence[int], int], Sequence[int] | None]
    texts: list[oracle_ablation.Text] = field(default_factory=list)
    words: list[list[int]] = field(default_factory=list)

    def only(self, words: Collection[int]) -> Read:
        """The same with the inputs that begin with one of these words."""
        found = Read(self.model, self.mask, self.boundary)
        at = 0
        for each in self.texts:
            own = self.words[at : at + len(each[2])]
            at += len(own)
            if own[0][0] in words:
                found.texts.append(each)
                found.words += own
        return found

    def nats(self, heads: Sequence[tuple[int, int]] = (), cut: str = "zero") -> Nats:
        """The surprisal of each word without heads, given as 1-based layer and head."""
        model = oracle_ablation.operated(
            self.model, [(layer - 1, head - 1) for layer, head in heads], cut, self.texts
        )
        if self.mask is not None:
            values = oracle_ablation.masked(model, self.texts, self.mask)
        else:
            values = oracle_ablation.causal(model, self.texts, self.boundary)
        found: Nats = {}
        for words, value in zip(self.words, values, strict=True):
            found |= dict.fromkeys(words) | {words[0]: None if math.isnan(value) else value}
        return found


def read(
    source: Path,
    folder: Path,
    context: str = "sentence",
    *,
    bos: str | None = None,
    shares: bool = False,
    written: bool = True,
    model: Any = None,
) -> Read:
    """Read a corpus as a run over its sentences, or over documents of one input each.

    `bos` is a token before the text. The model is that of the folder, unless one is given.
    """
    tokenizer = passes.Model(folder)
    vocabulary = tokenizer.tokenizer.get_vocab()
    is_masked = "[MASK]" in vocabulary or "<mask>" in vocabulary
    if model is None:
        kind = "MaskedLM" if is_masked else "CausalLM"
        of = getattr(transformers, f"AutoModelFor{kind}")
        model = of.from_pretrained(folder, attn_implementation="eager").eval()
    mask = vocabulary.get("[MASK]", vocabulary.get("<mask>"))
    boundary = boundaries(tokenizer.tokenizer, {"<|endoftext|>", "</s>", "<|im_end|>"})
    found = Read(model, mask if is_masked else None, boundary)
    corpus = text.read(source, written=written)
    for positions, ids in passes.layouts(tokenizer, corpus, context, shares=shares):
        before = [] if bos is None else [vocabulary[bos]]
        spans = []
        for position in positions:
            if position.kind == "word":
                first = len(before) + position.tokens[0]
                spans.append((first, first + len(position.tokens)))
                found.words.append([word + 1 for word in position.words])
        whole = (*before, *ids)
        found.texts.append((whole, (0,) * len(whole), tuple(spans)))
    return found


def boundaries(
    tokenizer: Any, ends: Collection[str]
) -> Callable[[Sequence[int], int], Sequence[int] | None]:
    """What might stand at a place of some ids and end what is before, by how the tokenizer decodes.

    `ends` are the tokens that end a text, where the vocabulary has them.
    """
    special = {id for id, each in tokenizer.get_added_tokens_decoder().items() if each.special}
    ids_of_ends = {tokenizer.token_to_id(end) for end in ends} - {None}
    letter = tokenizer.token_to_id("a")
    of_kind: dict[str, list[int]] = {" ": [], "a": [], ".": []}
    for id in range(tokenizer.get_vocab_size()):
        text = tokenizer.decode([letter, id], skip_special_tokens=False)[1:2]
        if id in ids_of_ends or (id not in special and text.isspace()):
            of_kind[" "].append(id)
        elif id not in special:
            is_letter = text == "\ufffd" or unicodedata.category(text)[0] in ("L", "M", "N")
            of_kind["a" if is_letter else "."].append(id)

    def boundary(ids: Sequence[int], place: int) -> Sequence[int] | None:
        if place == len(ids) or ids[place] in of_kind[" "]:
            return of_kind[" "]
        if ids[place - 1] in special:
            return None
        return next((own for own in of_kind.values() if ids[place] in own), None)

    return boundary
