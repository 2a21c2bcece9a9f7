"""What is known of single architectures, by the `model_type` of their configurations.

FAMILIES has the exceptions: most models need none, since their configuration, arguments and shapes
are enough. RESIDUAL_NORMS says where a model normalises, for one of the measures.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import transformers

from attnbank.ingest.models.attention_behaviour import Batching
from attnbank.ingest.models.runtime import ModelError
from attnbank.sql.errors import AttnbankWarning


@dataclass(frozen=True)
class Family:
    """How to load and run an architecture; the defaults are for all ordinary models.

    `batching` is "equal" for one that is known to mix padding into its attention: with random
    weights `detect_behaviour` does not notice it. `warning` is issued unless the configuration
    already has the `settings`.
    """

    batching: Batching = "padded"
    settings: dict[str, Any] = field(default_factory=dict)  # put into the configuration
    warning: Callable[[Any], str] | None = None  # from the configuration
    encoder: str = ""  # of an encoder-decoder: the class that can be saved and read by itself
    how_to_get: str = ""  # Python code that returns the encoder, with NAME for the whole model

    def check_supported(self, name: str, config: Any) -> None:
        """Raise ModelError for an encoder-decoder, which has several kinds of attention."""
        if getattr(config, "is_encoder_decoder", False) and not self._is_encoder_only(config):
            raise ModelError(
                f"{name} is an encoder-decoder: it has three kinds of attention, and a bank stores"
                " one.",
                "Save only its encoder, with its tokenizer, to a folder, and give that folder:"
                f" transformers.{self.how_to_get}.save_pretrained(FOLDER)"
                if self.encoder
                else "Use an encoder (BERT, RoBERTa, ...) or a decoder (GPT-2, Llama, ...).",
            )

    def prepare(self, config: Any) -> None:
        """Change the configuration as needed; the key-value cache of decoders is turned off."""
        if hasattr(config, "use_cache"):
            config.use_cache = False
        differs = any(getattr(config, name) != value for name, value in self.settings.items())
        if self.warning is not None and (differs or not self.settings):
            warnings.warn(self.warning(config), AttnbankWarning, stacklevel=2)
        for name, value in self.settings.items():
            setattr(config, name, value)

    def auto_class(self, config: Any) -> Any:
        """Return the class of transformers that loads the model without a head."""
        if not self._is_encoder_only(config):
            return transformers.AutoModel
        if hasattr(transformers, self.encoder):
            return transformers.AutoModelForTextEncoding
        kind = config.model_type.replace("-", "_")
        return getattr(
            importlib.import_module(f"transformers.models.{kind}.modeling_{kind}"), self.encoder
        )

    def _is_encoder_only(self, config: Any) -> bool:
        return self.encoder in (config.architectures or ())


_BART = {
    "bart": "Bart", "mbart": "MBart", "m2m_100": "M2M100", "marian": "Marian",
    "pegasus": "Pegasus", "plbart": "PLBart", "blenderbot": "Blenderbot",
    "blenderbot-small": "BlenderbotSmall", "mvp": "Mvp",
}  # fmt: skip
# Granite subtracts the share of the sink from a head's output, not from its attention, so that the
# maps do not show it.
_SINKS_AFTERWARDS = Family(
    warning=lambda config: (
        f"{config.model_type} returns its attention without its sinks: rows sum to 1, and the share"
        " of the sink is not known."
    )
)

FAMILIES: dict[str, Family] = {
    # It returns its attention only if that is not sparse.
    "big_bird": Family(
        settings={"attention_type": "original_full"},
        warning=lambda config: (
            "BigBird is run with full attention (attention_type original_full), which it uses by"
            " default only for inputs of up to"
            f" {(5 + 2 * config.num_random_blocks) * config.block_size} tokens."
        ),
    ),
    # Their convolutions reach into the padding.
    "convbert": Family(batching="equal"),
    "nystromformer": Family(batching="equal"),
    "granite_swa": _SINKS_AFTERWARDS,
    "granitemoe_swa": _SINKS_AFTERWARDS,
    **{
        encoder.removesuffix("EncoderModel").lower(): Family(
            encoder=encoder, how_to_get=f"{encoder}.from_pretrained(NAME)"
        )
        for encoder in ("T5EncoderModel", "MT5EncoderModel", "UMT5EncoderModel")
    },
    **{
        kind: Family(
            encoder=f"{name}Encoder", how_to_get=f"{name}Model.from_pretrained(NAME).get_encoder()"
        )
        for kind, name in _BART.items()
    },
}


def family_of(config: Any) -> Family:
    """Return the family of a configuration, by its `model_type`."""
    return FAMILIES.get(config.model_type, Family())


# The layer norm after the residual connection of attention, as a path from the layer; None in
# families that normalise before attention, and not after it. By the `model_type` of a
# configuration. (Gemma 2 and 3 normalise the whole output of attention, to which no head or token
# has a separate contribution.)
RESIDUAL_NORMS: dict[str, str | None] = {
    **dict.fromkeys(
        (
            "bert", "camembert", "deberta", "deberta-v2", "electra", "roberta", "xlm-roberta",
        ),
        "attention.output.LayerNorm",
    ),
    "distilbert": "sa_layer_norm",
    "mpnet": "attention.LayerNorm",
    **dict.fromkeys(("gemma", "gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3")),
}  # fmt: skip


def check_residual_norms(name: str, config: Any) -> None:
    """Raise ModelError if it is not known where a model normalises."""
    if config.model_type not in RESIDUAL_NORMS:
        raise ModelError(
            f"--measure residual-norms is not known for {config.model_type} ({name}).",
            f"Use a model of one of these families: {', '.join(sorted(RESIDUAL_NORMS))}; or"
            " --measure norms.",
        )
