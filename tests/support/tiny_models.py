"""Tiny random transformers with real tokenizers, trained on a little text and saved to a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import spaced_tokenizers
import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

_SIZE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}


def wordpiece(text: Iterable[str]) -> Any:
    """A BERT tokenizer: lower case, WordPiece, [CLS] and [SEP]."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    spaced_tokenizers.learn_wordpieces(tokenizer, list(text), 400, special)
    ids = {name: tokenizer.token_to_id(name) for name in special}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )


OF_ROBERTA = {
    "bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>",
    "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>",
}  # fmt: skip
"""The special tokens of RoBERTa's tokenizer, and of those of its family."""


def byte_level(text: Iterable[str], *, special: bool) -> Any:
    """A byte-level BPE: RoBERTa's with <s> and </s>, GPT-2's without special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if special else ["<|endoftext|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=names,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(text, trainer)
    if not special:
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            bos_token="<|endoftext|>",
            eos_token="<|endoftext|>",
            unk_token="<|endoftext|>",
        )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **OF_ROBERTA)


def sentencepiece(text: Iterable[str], kind: str, *, around: Sequence[str] = ()) -> Any:
    """A SentencePiece tokenizer of a kind of spaced_tokenizers.

    `around` are the tokens before and after a text; without it there are none.
    """
    tokenizer = spaced_tokenizers.train(kind, list(text), 400)
    names = ["<s>", "</s>", "<pad>", "<mask>"]
    tokenizer.add_special_tokens(names)
    if around:
        before, after = around
        ids = [(name, tokenizer.token_to_id(name)) for name in {before, after} if name]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{before} $A {after}".strip(),
            pair=f"{before} $A {after} $B {after}".strip(),
            special_tokens=ids,
        )
    opening = {"bos_token": "<s>", "cls_token": "<s>"} if around and around[0] else {}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **opening,
        eos_token="</s>",
        **({"sep_token": "</s>"} if opening else {}),
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
    )


def _made(name: str, **settings: Any) -> Callable[[int], Any]:
    """A model of transformers by the name of its classes: GptOss, Jamba, T5Encoder."""

    def make(vocab: int) -> Any:
        config = getattr(transformers, f"{name.removesuffix('Encoder')}Config")(
            vocab_size=vocab, **_SIZE | settings
        )
        return getattr(transformers, f"{name}Model")(config)

    return make


_ENCODER = {"intermediate_size": 64, "max_position_embeddings": 96}
_DECODER = {
    **_ENCODER,
    **{"num_key_value_heads": 2, "pad_token_id": None, "bos_token_id": 0, "eos_token_id": 0},
}  # fmt: skip
_ROBERTA = _made(
    "Roberta", intermediate_size=64, max_position_embeddings=98, pad_token_id=1, bos_token_id=0,
    eos_token_id=2,
)  # fmt: skip
_LLAMA = _made("Llama", num_key_value_heads=2, **_ENCODER)
_EXPERTS = {"num_experts": 2, "num_local_experts": 2, "num_experts_per_tok": 1}
_ATTENTION_IN_TWO = ["linear_attention", "full_attention", "full_attention"]
_OF_WORDPIECES: dict[str, Callable[[int], Any]] = {
    "bert": _made("Bert", **_ENCODER),
    "electra": _made("Electra", embedding_size=16, **_ENCODER),
    "distilbert": _made("DistilBert", hidden_dim=64, max_position_embeddings=96),
    "albert": _made("Albert", embedding_size=16, **_ENCODER),
    "deberta": _made(
        "DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"], **_ENCODER
    ),
    # Padding changes the attention of the first two.
    "convbert": _made("ConvBert", embedding_size=32, **_ENCODER),
    "nystromformer": _made("Nystromformer", **_ENCODER),
    "squeezebert": _made("SqueezeBert", embedding_size=32, **_ENCODER),
    "big_bird": _made("BigBird", block_size=8, num_random_blocks=1, **_ENCODER),
    # It computes attention without a softmax.
    "reformer": _made(
        "Reformer", attention_head_size=8, attn_layers=["local"] * 3, axial_pos_embds=False,
        feed_forward_size=64, max_position_embeddings=96, is_decoder=False,
        local_attn_chunk_length=96, local_num_chunks_before=0, local_num_chunks_after=0,
    ),
    "gpt-oss": _made("GptOss", head_dim=8, **_EXPERTS, **_DECODER),
    # Hybrids: only some of their layers have attention.
    "qwen3-next": _made(
        "Qwen3Next", layer_types=_ATTENTION_IN_TWO, head_dim=8, moe_intermediate_size=16,
        shared_expert_intermediate_size=16, linear_num_key_heads=2, linear_num_value_heads=2,
        linear_key_head_dim=8, linear_value_head_dim=8, **_EXPERTS, **_DECODER,
    ),
    "granite-hybrid": _made(
        "GraniteMoeHybrid", layer_types=_ATTENTION_IN_TWO[:2] * 2, num_hidden_layers=4,
        mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=8,
        shared_intermediate_size=16, **_EXPERTS, **_DECODER,
    ),
    "lfm2": _made("Lfm2", layer_types=["conv", *_ATTENTION_IN_TWO[1:]], **_DECODER),
    "jamba": _made(
        "Jamba", attn_layer_period=3, attn_layer_offset=1, use_mamba_kernels=False,
        mamba_dt_rank=4, mamba_d_state=8, **_EXPERTS, **_DECODER,
    ),
    # Families that keep their values elsewhere than BERT and Llama do, or in another way.
    "mpnet": _made("MPNet", **_ENCODER),
    "deberta-v1": _made(
        "Deberta", relative_attention=True, pos_att_type=["p2c", "c2p"], **_ENCODER
    ),
    "gpt-neox": _made("GPTNeoX", **_DECODER),
    "mistral-own": _made("Mistral", sliding_window=8, head_dim=12, **_DECODER),
    # The tokenizer of this family adds a token of its own.
    "qwen2": lambda vocab: _made("Qwen2", **_DECODER)(vocab + 1),
    "qwen3": lambda vocab: _made("Qwen3", head_dim=12, **_DECODER)(vocab + 1),
    "gemma-own": _made("Gemma", head_dim=12, **_DECODER),
    "gemma2": _made("Gemma2", head_dim=12, sliding_window=8, **_DECODER),
    "opt": _made("OPT", ffn_dim=64, word_embed_proj_dim=32, **_DECODER),
    "granite": _made("Granite", attention_multiplier=0.3, **_DECODER),
    "bloom": _made("Bloom", bos_token_id=0, eos_token_id=0),
    "gemma3": _made("Gemma3Text", head_dim=12, sliding_window=8, **_DECODER),
}  # fmt: skip


_KINDS: dict[str, tuple[Callable[[Iterable[str]], Any], Callable[[int], Any]]] = {
    **{kind: (wordpiece, make) for kind, make in _OF_WORDPIECES.items()},
    "roberta": (lambda text: byte_level(text, special=True), _ROBERTA),
    "gpt2": (
        lambda text: byte_level(text, special=False),
        _made("GPT2", n_positions=96, bos_token_id=0, eos_token_id=0),
    ),
    "llama": (lambda text: byte_level(text, special=False), _LLAMA),
    "xlm-roberta": (
        lambda text: sentencepiece(text, "metaspace_always_words", around=("<s>", "</s>")),
        _ROBERTA,
    ),
    "t5": (
        lambda text: sentencepiece(text, "metaspace_always", around=("", "</s>")),
        _made("T5Encoder", num_layers=3, d_kv=8, d_ff=64, decoder_start_token_id=0),
    ),
    "mistral": (lambda text: sentencepiece(text, "metaspace_first_whole"), _LLAMA),
    "llama-2": (lambda text: sentencepiece(text, "prepend_and_replace"), _LLAMA),
    "gemma": (lambda text: sentencepiece(text, "replace"), _LLAMA),
}
KINDS = tuple(_KINDS)


def save(
    kind: str,
    folder: Path,
    text: Iterable[str],
    seed: int = 0,
    *,
    masked_lm: bool = False,
    causal_lm: bool = False,
) -> Path:
    """Make a model of a kind with random weights, and a tokenizer trained on the text; save both.

    With `masked_lm` or `causal_lm` the model has that head, also random. Weights are ten times as
    wide as usual, because the heads of a newly initialised model attend almost evenly, and
    every peak would be a near tie.
    """
    make_tokenizer, make_model = _KINDS[kind]
    tokenizer = make_tokenizer(text)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = make_model(len(tokenizer))
        if masked_lm:
            model = transformers.AutoModelForMaskedLM.from_config(model.config)
        if causal_lm:
            model = transformers.AutoModelForCausalLM.from_config(model.config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.mul_(10)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
