"""Tokenizers of every kind of treatment of white space, trained on a text.

Each has the pipeline of a published tokenizer, as in its file, and a small vocabulary.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tokenizers import (
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

_SIZE = 4000
_LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _wordpiece(text: Sequence[str], size: int) -> Tokenizer:
    """BERT."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    learn_wordpieces(tokenizer, text, size, ["[UNK]"])
    return tokenizer


def learn_wordpieces(
    tokenizer: Tokenizer, text: Sequence[str], size: int, special: Sequence[str]
) -> None:
    """Give a WordPiece tokenizer a vocabulary that is the same in every process.

    The library's own trainer for it draws among equal merges. So BPE's learns the merges, and each
    piece is one that begins a word or one that goes on, as it stands in the text.
    """
    learnt = Tokenizer(models.BPE())
    learnt.normalizer, learnt.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    learnt.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, show_progress=False))
    found: Counter[str] = Counter()
    for each in learnt.encode_batch(list(text)):
        words = each.word_ids
        for piece, word, before in zip(each.tokens, words, [None, *words], strict=False):
            found[piece if word != before else f"##{piece}"] += 1
    letters = sorted({letter for piece in found for letter in piece.removeprefix("##")})
    known = [*special, *letters, *(f"##{each}" for each in letters)]
    known += sorted(found.keys() - {*known}, key=lambda piece: (-found[piece], piece))
    vocabulary = {piece: number for number, piece in enumerate(known[:size])}
    tokenizer.model = models.WordPiece(vocabulary, unk_token="[UNK]")
    tokenizer.add_special_tokens(list(special))


def _bytes(pre_tokenizer: Any) -> Callable[[Sequence[str], int], Tokenizer]:
    def make(text: Sequence[str], size: int) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizer
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer.train_from_iterator(
            text, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet)
        )
        return tokenizer

    return make


def _unigram(normalizer: Any, pre_tokenizer: Any) -> Callable[[Sequence[str], int], Tokenizer]:
    def make(text: Sequence[str], size: int) -> Tokenizer:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.train_from_iterator(
            text,
            trainers.UnigramTrainer(vocab_size=size, special_tokens=["<unk>"], unk_token="<unk>"),
        )
        return settled(tokenizer, 1)

    return make


def settled(tokenizer: Tokenizer, special: int) -> Tokenizer:
    """The same Unigram tokenizer, with a vocabulary that is the same in every process.

    The trainer adds the characters that no piece has taken last, in an order of its own, each less
    probable than the one before; and its sums differ in the last digits.
    """
    state = json.loads(tokenizer.to_str())
    pieces = state["model"]["vocab"]
    learnt = pieces[special:]
    least = round(min(score for piece, score in learnt if len(piece) > 1), 6)
    rounded = [(piece, round(score, 6)) for piece, score in learnt]
    ordered = [(piece, score if score >= least else least - 1) for piece, score in rounded]
    ordered.sort(key=lambda each: (-each[1], each[0]))
    state["model"]["vocab"] = [*pieces[:special], *ordered]
    return Tokenizer.from_str(json.dumps(state))


def _bpe(normalizer: Any, pre_tokenizer: Any) -> Callable[[Sequence[str], int], Tokenizer]:
    """BPE with merges within words, as SentencePiece learns them, whatever it splits later."""

    def make(text: Sequence[str], size: int) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.train_from_iterator(
            text, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"])
        )
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer
        return tokenizer

    return make


def _metaspace(scheme: str, *before: Any, split: bool = True) -> Any:
    last = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    return pre_tokenizers.Sequence([*before, last]) if before else last


def _replace() -> Any:
    return normalizers.Replace(" ", "▁")


_SPLIT = pre_tokenizers.WhitespaceSplit
_KINDS: dict[str, Callable[[Sequence[str], int], Tokenizer]] = {
    "wordpiece": _wordpiece,  # BERT
    "byte_level": _bytes(pre_tokenizers.ByteLevel(add_prefix_space=False)),  # RoBERTa, GPT-2
    "byte_level_prefix": _bytes(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "byte_level_split": _bytes(  # Llama 3, Qwen
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_LLAMA_3), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    ),
    "metaspace_always": _unigram(None, _metaspace("always")),  # T5 and XLM-R of old
    "metaspace_always_words": _unigram(None, _metaspace("always", _SPLIT())),  # T5, XLM-R
    "metaspace_always_normalised": _unigram(  # ALBERT, XLNet
        normalizers.Sequence(
            [
                normalizers.Replace("``", '"'),
                normalizers.NFKD(),
                normalizers.StripAccents(),
                normalizers.Lowercase(),
            ]
        ),
        _metaspace("always", _SPLIT()),
    ),
    "metaspace_first": _unigram(  # DeBERTa-v3
        normalizers.Sequence(
            [
                normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
                normalizers.NFC(),
                normalizers.Strip(left=False, right=True),
            ]
        ),
        _metaspace("first"),
    ),
    "metaspace_first_whole": _bpe(None, _metaspace("first", split=False)),  # Mistral
    "metaspace_never": _bpe(None, _metaspace("never")),
    "prepend_and_replace": _bpe(  # Llama 2
        normalizers.Sequence([normalizers.Prepend("▁"), _replace()]), None
    ),
    "replace": _bpe(_replace(), pre_tokenizers.Split(" ", "merged_with_previous")),  # Gemma
}
KINDS = tuple(_KINDS)


def train(kind: str, text: Sequence[str], size: int = _SIZE) -> Tokenizer:
    """A tokenizer of a kind, trained on a text, without special tokens around an input."""
    return _KINDS[kind](text, size)
