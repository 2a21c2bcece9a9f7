"""Tokenizers of every kind of treatment of white space, trained on a text.

Each has the pipeline of a published tokenizer, as in its file, and a small vocabulary.
"""

from __future__ import annotations

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
    tokenizer.train_from_iterator(
        text, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[UNK]"])
    )
    return tokenizer


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
        return tokenizer

    return make


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
