"""The peculiarities of single architectures, in one place.

Most models are handled by what they say of themselves: their configuration, the arguments that they
take and the shapes that they return. A family is for what cannot be found in this way. To add one,
write a class below and put it into FAMILIES, under the `model_type` of its configurations.
"""

from __future__ import annotations

import inspect
from typing import Any

import transformers

from attnbank.ingest.models.errors import ModelError


class Family:
    """How an architecture is loaded and called; this base class is for all ordinary models."""

    def check(self, name: str, config: Any) -> None:
        """Raise ModelError for a model with several kinds of attention (an encoder-decoder)."""
        if getattr(config, "is_encoder_decoder", False):
            raise _of_three_kinds(
                name, "Use an encoder (BERT, RoBERTa, ...) or a decoder (GPT-2, Llama, ...)."
            )

    def prepare(self, config: Any) -> None:
        """Change the configuration as needed: a decoder must not cache what it has read."""
        if hasattr(config, "use_cache"):
            config.use_cache = False

    def auto_class(self, config: Any) -> Any:
        """The class of transformers that loads the model without a head."""
        return transformers.AutoModel

    def takes_segments(self, module: Any, config: Any) -> bool:
        """Whether the model takes segment ids, and they mean segments.

        GPT-2 takes them too, but would add the embedding of the token with that id.
        """
        accepted = "token_type_ids" in inspect.signature(module.forward).parameters
        return accepted and getattr(config, "type_vocab_size", 0) > 1

    def positions_taken(self, module: Any) -> int:
        """How many of its position embeddings no token can have.

        RoBERTa and similar models number positions from padding_idx + 1.
        """
        found = [
            each.padding_idx + 1
            for path, each in module.named_modules()
            if path.endswith("position_embeddings")
            and getattr(each, "padding_idx", None) is not None
        ]
        return max(found, default=0)


class EncoderAlone(Family):
    """T5 and similar models: encoder-decoders whose encoder can be saved and read by itself."""

    def __init__(self, encoder: str) -> None:
        self.encoder = encoder

    def check(self, name: str, config: Any) -> None:
        """Raise ModelError for a checkpoint that has the decoder as well."""
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
    """The family that a configuration belongs to."""
    return FAMILIES.get(config.model_type, Family())
