"""What is known of single architectures, by the `model_type` of their configurations.

FAMILIES has the exceptions: most models need none, since their configuration, arguments and shapes
are enough. LAYOUTS says where a model has its value vectors, for measures.

A head adds to the output at token a, for each token b, alpha(a, b) f(x_b), where f(x) = (x W_V +
b_V) W_O of that head (Kobayashi et al. 2020, section 3; the output's own bias belongs to no token).
In shapes, B is the number of inputs, T of tokens, H of heads, and D the size of a head's values.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import torch
import transformers
from torch import Tensor

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


@dataclass(frozen=True)
class Layout:
    """The modules of a layer that project values and outputs, as paths from the layer.

    `fused` says where the values are in the output of `value`: all of it, the last of three
    `thirds`, or the last third of each head's part (`by_head`). `bias` is the path of a bias that
    is added to the values elsewhere. `norm` is the layer norm after the attention's residual
    connection, None in families that normalise before attention.
    """

    value: str
    output: str
    fused: Literal["alone", "thirds", "by_head"] = "alone"
    bias: str | None = None
    norm: str | None = None


_BERT = Layout("attention.self.value", "attention.output.dense", norm="attention.output.LayerNorm")
_LLAMA = Layout("self_attn.v_proj", "self_attn.o_proj")

# By the `model_type` of a configuration.
LAYOUTS: dict[str, Layout] = {
    **dict.fromkeys(("bert", "camembert", "electra", "roberta", "xlm-roberta"), _BERT),
    "mpnet": Layout("attention.attn.v", "attention.attn.o", norm="attention.LayerNorm"),
    "distilbert": Layout("attention.v_lin", "attention.out_lin", norm="sa_layer_norm"),
    "deberta": Layout(
        "attention.self.in_proj", "attention.output.dense", "by_head", "attention.self.v_bias",
        "attention.output.LayerNorm",
    ),
    "deberta-v2": Layout(
        "attention.self.value_proj", "attention.output.dense", norm="attention.output.LayerNorm"
    ),
    "gpt2": Layout("attn.c_attn", "attn.c_proj", "thirds"),
    "gpt_neox": Layout("attention.query_key_value", "attention.dense", "by_head"),
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma"), _LLAMA),
    # They normalise the whole output of attention, to which no head has a separate contribution.
    **dict.fromkeys(("gemma2", "gemma3_text"), _LLAMA),
}  # fmt: skip
# Families with a layer norm between the attention's output and the residual connection.
NORMALISED_AFTER = frozenset({"gemma2", "gemma3_text"})


def layout_of(name: str, config: Any, measure: str) -> Layout:
    """Return the layout of a model. Raises ModelError for an unknown family."""
    layout = LAYOUTS.get(config.model_type)
    if layout is None or (measure == "residual-norms" and config.model_type in NORMALISED_AFTER):
        usable = sorted(LAYOUTS.keys() - (NORMALISED_AFTER if layout else set()))
        raise ModelError(
            f"--measure {measure} is not known for {config.model_type} ({name}).",
            f"Use a model of one of these families: {', '.join(usable)}; or --measure weights.",
        )
    return layout


@dataclass(frozen=True)
class Values:
    """The value projections of a model's layers with attention, in order."""

    layers: Sequence[Any]  # modules
    layout: Layout
    heads: int

    @classmethod
    def from_module(
        cls, name: str, module: Any, numbers: Sequence[int], heads: int, layout: Layout
    ) -> Values:
        """Find those of the layers with these 1-based numbers. Raises ModelError if it cannot."""
        lists = [
            submodule
            for submodule in module.modules()
            if isinstance(submodule, torch.nn.ModuleList)
        ]
        for every in lists:
            with suppress(AttributeError):  # a list of something else
                if len(every) >= numbers[-1]:
                    for path in (layout.value, layout.output):
                        every[numbers[0] - 1].get_submodule(path)
                    return cls([every[number - 1] for number in numbers], layout, heads)
        raise ModelError(
            f"{name} ({type(module).__name__}) has no {layout.value} in its layers.",
            "Use --measure weights, or a model that transformers loads without code of its own.",
        )

    @contextmanager
    def record_values(self) -> Iterator[list[Tensor]]:
        """Context manager; a forward pass fills its list with each layer's values [B, H, T, D]."""
        layer_values: list[Tensor] = []

        def hear(layer: Any, module: Any, inputs: Any, output: Tensor) -> None:
            layer_values.append(self.by_head(layer, output))

        with ExitStack() as hooks:
            for layer in self.layers:
                value = layer.get_submodule(self.layout.value)
                hooks.enter_context(value.register_forward_hook(partial(hear, layer)))
            yield layer_values

    @contextmanager
    def zero_values(self, layer: Any, silenced: Tensor) -> Iterator[None]:
        """Context manager that zeroes a layer's values of tokens where a mask [B, T] is true."""

        def silence(module: Any, inputs: Any, output: Tensor) -> Tensor:
            unsilenced = (~silenced).to(output.dtype)[..., None]
            if self.layout.fused == "alone":
                return output * unsilenced
            bias = self._bias(layer)
            part = _value_part(output, self.layout, self.heads)
            silent = output.clone()
            values = _value_part(silent, self.layout, self.heads)
            # The bias is added later, so a value of -bias becomes zero.
            values.copy_(part * unsilenced.unsqueeze(-1) - (1 - unsilenced).unsqueeze(-1) * bias)
            return silent

        with layer.get_submodule(self.layout.value).register_forward_hook(silence):
            yield

    @cached_property
    def output_factors(self) -> list[Tensor]:
        """R [H, D', D] for each layer, such that a sum of v R^T has the norm of that of v W_O.

        It is shorter, so norms are cheaper: W_O of a head is [D, hidden], and W_O^T = Q R, where
        the columns of Q are orthonormal.
        """
        return [
            torch.linalg.qr(weight.transpose(1, 2).double().cpu())[1] for weight in self.outputs
        ]

    @cached_property
    def outputs(self) -> list[Tensor]:
        """W_O of each layer and head, [H, D, hidden]."""
        weights = []
        for layer in self.layers:
            module = layer.get_submodule(self.layout.output)
            weight = module.weight.detach()
            if isinstance(module, torch.nn.Linear):  # GPT-2 has a Conv1D, which is transposed
                weight = weight.T
            weights.append(weight.reshape(self.heads, -1, weight.shape[1]))
        return weights

    def by_head(self, layer: Any, output: Tensor) -> Tensor:
        """Return the values [B, H, T, D] in the output of a layer's value projection."""
        values = _value_part(output, self.layout, self.heads)
        if self.layout.fused == "alone":
            size = layer.get_submodule(self.layout.output).weight.shape[1] // self.heads
            values = torch.unflatten(values, -1, (-1, size))  # [B, T, heads with values, D]
            # Grouped-query attention: several query heads share the values of one.
            values = values.repeat_interleave(self.heads // values.shape[2], 2)
        return (values + self._bias(layer)).transpose(1, 2)

    def _bias(self, layer: Any) -> Tensor | float:
        if self.layout.bias is None:
            return 0.0
        path, _, name = self.layout.bias.rpartition(".")
        bias: Tensor = getattr(layer.get_submodule(path), name)
        return torch.unflatten(bias.detach(), 0, (self.heads, -1))


def _value_part(output: Tensor, layout: Layout, heads: int) -> Tensor:
    """Return a view of the values in the output of a value projection, [B, T, H, D] if fused."""
    if layout.fused == "alone":
        return output
    if layout.fused == "thirds":
        return torch.unflatten(output, -1, (3, heads, -1))[..., 2, :, :]
    return torch.unflatten(output, -1, (heads, 3, -1))[..., 2, :]
