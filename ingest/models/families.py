"""What is odd about an architecture, in one place.

Most models are read by what they say of themselves: their configuration, the arguments that they
take and the shapes that they return. A family is for what cannot be read off. To add one, write a
class below and name it in FAMILIES, by the `model_type` of its configurations.
"""

from __future__ import annotations

import inspect
from typing import Any

import transformers

from attnbank.ingest.models.errors import ModelError


class Family:
    """How an architecture is loaded and called; this one is of models without oddities."""

    def check(self, name: str, config: Any) -> None:
        """Raise ModelError for a model whose attention is not of one kind."""
        if getattr(config, "is_encoder_decoder", False):
            raise _of_three_kinds(
                name, "Use an encoder (BERT, RoBERTa, ...) or a decoder (GPT-2, Llama, ...)."
            )

    def prepare(self, config: Any) -> None:
        """Set what a bank needs otherwise: a decoder shall not keep what it has read."""
        if hasattr(config, "use_cache"):
            config.use_cache = False

    def auto_class(self, config: Any) -> Any:
        """The class of transformers that loads it without a head."""
        return transformers.AutoModel

    def takes_segments(self, module: Any, config: Any) -> bool:
        """Whether segment ids mean segments.

        GPT-2 takes them too, and would add the embedding of the token of that id.
        """
        accepted = "token_type_ids" in inspect.signature(module.forward).parameters
        return accepted and getattr(config, "type_vocab_size", 0) > 1

    def positions_taken(self, module: Any) -> int:
        """How many of its position embeddings no token can have.

        RoBERTa and its kin number positions from padding_idx + 1.
        """
        found = [
            each.padding_idx + 1
            for path, each in module.named_modules()
            if path.endswith("position_embeddings")
            and getattr(each, "padding_idx", None) is not None
        ]
        return max(found, default=0)


class EncoderAlone(Family):
    """T5 and its kin: an encoder-decoder, whose encoder can be saved and read alone."""

    def __init__(self, encoder: str) -> None:
        self.encoder = encoder

    def check(self, name: str, config: Any) -> None:
        """Raise ModelError for a checkpoint that has the decoder too."""
        if not self._is_alone(config) and getattr(config, "is_encoder_decoder", False):
            raise _of_three_kinds(
                name,
                "Save its encoder and its tokenizer into a folder with save_pretrained"
                f" (transformers.{self.encoder}), and give the folder.",
            )

    def auto_class(self, config: Any) -> Any:
        """The class of transformers that loads the encoder."""
        if self._is_alone(config):
            return transformers.AutoModelForTextEncoding
        return super().auto_class(config)

    def _is_alone(self, config: Any) -> bool:
        return self.encoder in (config.architectures or ())


def _of_three_kinds(name: str, remedy: str) -> ModelError:
    return ModelError(
        f"{name} is an encoder-decoder: its attention is of three kinds, and a bank holds one.",
        remedy,
    )


FAMILIES: dict[str, Family] = {
    "t5": EncoderAlone("T5EncoderModel"),
    "mt5": EncoderAlone("MT5EncoderModel"),
    "umt5": EncoderAlone("UMT5EncoderModel"),
}
"""The families by the `model_type` of a configuration."""


def family_of(config: Any) -> Family:
    """The family of a configuration."""
    return FAMILIES.get(config.model_type, Family())
