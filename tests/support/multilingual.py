"""A tiny model that reads several languages: one Unigram vocabulary, random weights.

The vocabulary is learnt from the real French, Hebrew, Turkish and Chinese text, so that pieces are
what they are in multilingual models: `▁` and letters of any script, no folding of case or accents.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import spaced_tokenizers
import tiny_models
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

LANGUAGES = ("fr", "he", "tr", "zh")
_PIECES = 3000
_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def texts(corpora: Path) -> list[str]:
    """Every second sentence of the four files, as it is written; skips where one is not there."""
    return [
        line.removeprefix("# text = ")
        for language in LANGUAGES
        for line in (corpora / f"{language}-dev.conllu").read_text(encoding="utf-8").splitlines()
        if line.startswith("# text = ")
    ][::2]


def save(folder: Path, text: Iterable[str], seed: int = 0) -> Path:
    """Make the tokenizer of the text and a model of 2 layers of 3 heads; save both to the folder.

    The weights are drawn for a vocabulary of fixed size, whatever the trainer finds, and ten times
    as wide as usual: heads of a freshly drawn model attend almost evenly, and every peak would be
    a near tie.
    """
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=_PIECES, special_tokens=_SPECIAL, unk_token="<unk>"
    )
    tokenizer.train_from_iterator(text, trainer)
    tokenizer = spaced_tokenizers.settled(tokenizer, len(_SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.XLMRobertaModel(
            transformers.XLMRobertaConfig(
                vocab_size=_PIECES + 100,
                hidden_size=24,
                num_hidden_layers=2,
                num_attention_heads=3,
                intermediate_size=48,
                max_position_embeddings=514,
                pad_token_id=1,
                bos_token_id=0,
                eos_token_id=2,
            )
        )
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.mul_(10)
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **tiny_models.OF_ROBERTA
    ).save_pretrained(folder)
    return folder
