"""Head accuracy the slow, obvious way: loops over `output_attentions`, one sentence at a time.

It was written apart from the package, and shares only the model with it: it reads CoNLL-U itself,
calls the tokenizer itself, and loops over layers, heads and words in plain NumPy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bounds
import numpy as np
import torch

Split = Callable[[Sequence[str], Sequence[bool]], list[list[int]]]


@dataclass
class Tree:
    words: list[str] = field(default_factory=list)
    space_before: list[bool] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)


def trees(paths: Iterable[Path]) -> list[Tree]:
    """The sentences of CoNLL-U files."""
    found = []
    for path in paths:
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split("\t") for line in block.splitlines() if line and line[0] != "#"]
            if not rows:
                continue
            tree = Tree()
            space, inside_until = False, 0
            for row in rows:
                if "-" in row[0]:
                    inside_until = int(row[0].split("-")[1])
                    space_after_range = "SpaceAfter=No" not in row[9]
                elif row[0].isdigit():
                    tree.words.append(row[1])
                    tree.heads.append(int(row[6]))
                    tree.relations.append(row[7])
                    tree.space_before.append(space)
                    if int(row[0]) < inside_until:
                        space = False
                    elif int(row[0]) == inside_until:
                        space = space_after_range
                    else:
                        space = "SpaceAfter=No" not in row[9].split("|")
            found.append(tree)
    return found


def word_attention(
    attention: np.ndarray, groups: Sequence[Sequence[int]], subword: str
) -> np.ndarray:
    """Word-level attention [n, n] of one head from token-level attention [t, t].

    To a word the sum, from it the mean or its first token. It is computed in float64, and rounded
    to float32 at the end.
    """
    wide = attention.astype(np.float64)
    columns = np.stack([wide[:, list(tokens)].sum(axis=1) for tokens in groups], axis=1)
    if subword == "first":
        rows = [columns[tokens[0]] for tokens in groups]
    else:
        rows = [columns[list(tokens)].mean(axis=0) for tokens in groups]
    return np.stack(rows).astype(np.float32)


def prediction(row: np.ndarray, own: int) -> int | None:
    """The index of the largest weight except at `own`, the first of equals; None if none is > 0."""
    best, best_weight = None, np.float32(0)
    masked = row.copy()
    masked[own] = -1
    if len(masked):
        at = int(np.argmax(masked))
        if masked[at] > best_weight:
            best = at
    return best


def judged_at(tree: Tree, word: int) -> int:
    """The word whose attention is judged for a word: a possessor's possessive 's, else itself."""
    after = word + 1
    if tree.relations[word] not in ("poss", "nmod:poss") or after == len(tree.words):
        return word
    is_its_own = tree.heads[after] == word + 1
    is_clitic = tree.relations[after].split(":")[0] in ("case", "possessive")
    written = tree.words[after].lower().replace("\u2019", "'")
    return after if is_its_own and is_clitic and written in ("'s", "s'", "'", "s") else word


def count(
    batches: Sequence[Sequence[Tree]],
    tokenizer: Any,
    model: Any,
    *,
    subword: str,
    subtypes: bool = False,
    possessive: bool = False,
    byte_level: bool = False,
    split: Split | None = None,
    peaks: Iterable[np.ndarray] | None = None,
    causal: bool = False,
    apart: bool = False,
    bos: int | None = None,
) -> dict[tuple[str, int, int, str], tuple[int, int]]:
    """(correct, n) of every (relation, layer, head, direction), `all` included.

    `batches` are the sentences that go through the model together, padded on the right. `split`
    gives the ids of the pieces of each word; without it the tokenizer does, word by word. `peaks`
    are those of a bank, for each sentence in turn, [2, L, H, n]: first the word attended to most,
    then the word that attends most (-1 for none). They decide near ties, and nothing else: words
    whose largest weights differ by no more than bounds.NEAR_TIE.

    Of a `causal` model a dependent is counted in the direction that can find its head, and in
    later_to_earlier, and a root in none. With `apart` the first word is neither found nor judged;
    `bos` is put before the text.
    """
    correct: Counter[tuple[str, int, int, str]] = Counter()
    total: Counter[tuple[str, int, int, str]] = Counter()
    taken = None if peaks is None else iter(peaks)
    settled = 0
    for batch in batches:
        for tree, groups, maps in _run(batch, tokenizer, model, byte_level, split, bos):
            own = None if taken is None else next(taken)
            if own is not None and apart:  # it has no peaks of the first word
                own = np.pad(np.where(own < 0, own, own + 1), [(0, 0)] * 3 + [(1, 0)])
            assert own is None or own.shape[-1] == len(groups)
            for layer in range(maps.shape[0]):
                for head in range(maps.shape[1]):
                    weights = word_attention(maps[layer, head], groups, subword)
                    for word in range(len(groups)):
                        gold, relation = tree.heads[word] - 1, tree.relations[word]
                        if not subtypes:
                            relation = relation.split(":")[0]
                        at = judged_at(tree, word) if possessive else word
                        if apart and 0 in (at, gold):
                            continue
                        judged = [(0, "dependent_to_head"), (1, "head_to_dependent")]
                        if causal:  # one of the two, and the same from the later word
                            judged = judged[gold > at :][: gold >= 0]
                            judged += [(side, "later_to_earlier") for side, _ in judged]
                        for side, direction in judged:
                            row = weights[:, at] if side else weights[at]
                            if apart:
                                row = np.array([0, *row[1:]], row.dtype)
                            found = prediction(row, at)
                            if own is not None and found is not None:
                                other = int(own[side, layer, head, at])
                                if other not in (found, at) and near_tie(row, found, other):
                                    settled += 1
                                    found = other
                            hit = gold >= 0 and found == gold
                            names = ["all"] if gold < 0 else ["all", relation]
                            for name in names:
                                key = (name, layer + 1, head + 1, direction)
                                total[key] += 1
                                correct[key] += hit
    every = sum(n for key, n in total.items() if key[0] == "all")
    assert settled <= 1 + every / 10_000  # of the packaged model's peaks 1 in 40,000 is a near tie
    return {key: (correct[key], total[key]) for key in total}


def near_tie(row: np.ndarray, largest: int, other: int) -> bool:
    """Whether rounding could make `other` the largest instead of `largest`."""
    return other >= 0 and bool(row[other] >= row[largest] * (1 - bounds.NEAR_TIE))


def _run(
    batch: Sequence[Tree],
    tokenizer: Any,
    model: Any,
    byte_level: bool,
    split: Split | None = None,
    bos: int | None = None,
) -> list[tuple[Tree, list[list[int]], np.ndarray]]:
    """Each sentence of a batch with the tokens of each word and its maps [L, H, t, t]."""
    encoded = []
    for tree in batch:
        ids: list[int] = []
        groups: list[list[int]] = []
        if split is not None:
            every = split(tree.words, tree.space_before)
        else:
            before = [" " if space and byte_level else "" for space in tree.space_before]
            texts = [space + word for space, word in zip(before, tree.words, strict=True)]
            every = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        for pieces in every:
            groups.append(list(range(len(ids), len(ids) + len(pieces))))
            ids += pieces
        if tokenizer.cls_token_id is not None:
            ids = [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
            groups = [[token + 1 for token in tokens] for tokens in groups]
        elif bos is not None:
            ids = [bos, *ids]
            groups = [[token + 1 for token in tokens] for tokens in groups]
        else:
            ids += tokenizer("")["input_ids"]  # T5 has only </s>
        encoded.append((tree, ids, groups))
    longest = max(len(ids) for _, ids, _ in encoded)
    padding = tokenizer.pad_token_id or 0
    inputs = torch.tensor([ids + [padding] * (longest - len(ids)) for _, ids, _ in encoded])
    mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for _, ids, _ in encoded])
    with torch.no_grad():
        output = model(input_ids=inputs, attention_mask=mask, output_attentions=True)
    return [
        (
            tree,
            groups,
            np.stack([layer[at, :, : len(ids), : len(ids)].numpy() for layer in output.attentions]),
        )
        for at, (tree, ids, groups) in enumerate(encoded)
    ]
