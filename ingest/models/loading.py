"""Loading a transformer that returns its attention, and refusing one that does not."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from torch import Tensor

from attnbank.ingest.masked.masking import MaskedLM
from attnbank.ingest.models.attention_behaviour import (
    Batching,
    Sources,
    attention_layers,
    detect_behaviour,
    find_shape,
    sliding_window,
)
from attnbank.ingest.models.checkpoint import WITH_HEAD, Head, digest_weights, read_module
from attnbank.ingest.models.families import Family, family_of
from attnbank.ingest.models.files import (
    check_config,
    check_special_tokens,
    check_vocabulary,
    check_weights,
    config_value,
    find_files,
    locate_model,
    on_meta_device,
    translate_loading_errors,
    vocabulary_rows,
)
from attnbank.ingest.models.runtime import (
    REASON,
    ModelError,
    device_of,
    enough_memory,
    is_out_of_memory,
    quiet,
)
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.models.values import Layout, Values, layout_of
from attnbank.ingest.options import MINILM, Measure
from attnbank.sql.errors import first_line

__all__ = ["MINILM", "Model", "ModelError", "ModelFacts", "describe", "load", "locate_model"]

_ROLES = ("cls", "sep", "bos", "eos", "pad", "unk", "mask")
_SPACES = {"▁", "Ġ"}


@dataclass(frozen=True)
class ModelFacts:
    """The columns of table `model` for a model, without its id."""

    name: str
    revision: str | None
    sha256: str
    architecture: str
    layers: int
    heads: int
    random_seed: int | None
    tokenizer: str
    tokenizer_sha256: str
    max_positions: int | None
    layer_numbers: tuple[int, ...] | None = None  # None: every layer from 1 to `layers`
    sinks: bool = False
    causal: bool = False
    sliding_window: int | None = None
    kv_heads: int | None = None  # None where it is not known
    series: str | None = None  # the training that it is a checkpoint of
    step: int | None = None
    tokens_seen: int | None = None


@dataclass
class Model:
    """A loaded model with its tokenizer."""

    facts: ModelFacts
    input_tokenizer: InputTokenizer
    module: Any  # transformers.PreTrainedModel
    device: torch.device
    takes_segments: bool
    masked_lm: MaskedLM | None = None  # `module` with its head, if that was asked for
    taken: tuple[int, ...] | None = None  # which of what it returns are maps; None for all
    batching: Batching = "padded"
    values: Values | None = None  # what its heads move, if a measure needs it
    sources: Sources | None = None  # what returns the maps of each layer
    whole: Any = None  # `module` with its language-modelling head, if that was asked for
    head: Head | None = None  # which that is

    def attentions(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """One forward pass: a tensor [B, H, T, T] per layer with attention, from queries to keys.

        `ids`, `mask` (1 for a token, 0 for padding) and `segments` are [B, T] int64.
        """
        inputs = {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
        if self.takes_segments:
            inputs["token_type_ids"] = segments.to(self.device)
        with torch.inference_mode():
            maps: tuple[Tensor, ...] = self.module(**inputs, output_attentions=True).attentions
        return maps if self.taken is None else tuple(maps[at] for at in self.taken)

    def hand_over(
        self, ids: Tensor, mask: Tensor, segments: Tensor, take: Callable[[Tensor], None]
    ) -> None:
        """The same, but `take` is given each layer's maps as they are computed.

        The model goes on without them, so that only those which `take` keeps are in memory. (Of a
        model that changes them on their way, all are computed first.)
        """
        if self.sources is None:
            for maps in self.attentions(ids, mask, segments):
                take(maps)
            return

        def hand(module: Any, inputs: Any, output: Any) -> Any:
            maps = output[place_in[module]]
            take(maps)
            nothing = maps.new_zeros(()).expand(maps.shape)  # of no size, whatever its shape
            return tuple(
                nothing if at == place_in[module] else value for at, value in enumerate(output)
            )

        place_in = self.sources
        with ExitStack() as hooks:
            for module in place_in:
                hooks.enter_context(module.register_forward_hook(hand, prepend=True))
            self.attentions(ids, mask, segments)


def load(
    name: str,
    *,
    random_seed: int | None = None,
    revision: str | None = None,
    device: str = "auto",
    masked_lm: bool = False,
    trust_remote_code: bool = False,
    measure: Measure = "weights",
    with_head: bool = False,
) -> Model:
    """Load a model by hub name, by folder, or the packaged `minilm`.

    `random_seed` draws new weights (the control of the paper's section 5), `masked_lm` loads the
    masked-language-model head too, `with_head` that or the causal one, whichever the model has;
    `measure` finds the values that it is of; only with `trust_remote_code` a model's Python code is
    run.
    Raises CallError for an unknown name or an unusable device, ModelError for an unusable model.
    """
    target = device_of(device)
    with translate_loading_errors(name), quiet(), enough_memory(name, target):
        opened = _load_checkpoint(name, revision, masked_lm, trust_remote_code)
        config, tokenizer = opened.config, opened.tokenizer
        head: Head | None = "masked" if masked_lm else None
        if with_head:
            head = _own_head(name, config, tokenizer)
        layout = _layout(name, config, measure)
        if random_seed is None:
            check_weights(name, opened.place, opened.settings)
        try:
            loaded = read_module(name, opened.place, config, opened.settings, random_seed, head)
        except Exception as error:
            if random_seed is None and not is_out_of_memory(error):
                _refuse_quantised(name, config, error)
            raise
        loaded = loaded.eval().to(target)
        module = loaded.base_model if head else loaded
        shape = find_shape(name, module, config)
        # GPT-2 takes token_type_ids too, but would add the embeddings of these tokens.
        accepted = "token_type_ids" in inspect.signature(module.forward).parameters
        takes_segments = accepted and getattr(config, "type_vocab_size", 0) > 1
        every = tuple(range(1, len(shape.layers) + 1))
        facts = ModelFacts(
            name=name,
            revision=opened.version or revision or getattr(config, "_commit_hash", None),
            sha256=digest_weights(module),
            architecture=type(module).__name__,
            layers=len(shape.layers),
            heads=shape.heads,
            random_seed=random_seed,
            tokenizer=type(tokenizer).__name__,
            tokenizer_sha256=tokenizer_digest(tokenizer),
            max_positions=opened.max_positions,
            layer_numbers=None if shape.layers == every else shape.layers,
            sliding_window=sliding_window(config),
            kv_heads=kv_heads_of(config, shape.heads),
        )
        model = Model(
            facts, opened.input_tokenizer, module, target, takes_segments, taken=shape.map_indices,
            sources=shape.sources, whole=loaded if head else None, head=head,
        )  # fmt: skip
        if head == "masked":
            model.masked_lm = _masked_lm(loaded, target, takes_segments, tokenizer)
        if layout is not None:
            model.values = Values.from_module(name, module, shape.layers, shape.heads, layout)
        # Ids of ordinary tokens, which stand for nothing but text.
        special = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
        known = range(min(vocabulary_rows(module), len(tokenizer)))
        words = [id for id in known if id not in special]
        padding = opened.input_tokenizer.padding
        conduct = detect_behaviour(name, model.attentions, words, padding, opened.max_positions)
        model.sources = model.sources if _can_stream(model, words) else None
    model.facts = replace(facts, sinks=conduct.sinks, causal=conduct.causal)
    padded = conduct.batching == "padded"
    model.batching = opened.family.batching if padded else conduct.batching
    return model


def _can_stream(model: Model, words: Sequence[int]) -> bool:
    """Whether a model goes on in the same way without the maps that it hands over."""
    ids = torch.tensor([[words[at % len(words)] for at in range(3, 24, 7)]])
    inputs = ids, torch.ones_like(ids), torch.zeros_like(ids)
    streamed: list[Tensor] = []
    try:
        model.hand_over(*inputs, streamed.append)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return False
    maps = model.attentions(*inputs)
    return len(streamed) == len(maps) and all(map(torch.equal, streamed, maps))


def _layout(name: str, config: Any, measure: Measure) -> Layout | None:
    """Where the values are that a measure is of; None for one of weights alone."""
    return None if measure in ("weights", "rollout") else layout_of(name, config, measure)


def _refuse_quantised(name: str, config: Any, error: Exception) -> None:
    """Raise ModelError where the weights are quantised: whatever failed is because of that."""
    settings = getattr(config, "quantization_config", None)
    if settings is None:
        return
    quantization = settings if isinstance(settings, dict) else settings.to_dict()
    method = str(
        getattr(quantization.get("quant_method"), "value", quantization.get("quant_method"))
    )
    raise ModelError(
        f"The weights of {name} are quantised ({method[:40]}) and cannot be loaded here:"
        f" {first_line(error)[:REASON]}",
        "Use the original checkpoint, in full or half precision, or install what is missing.",
    ) from error


@dataclass(frozen=True)
class Described:
    """A model's size and tokenizer, without its weights."""

    input_tokenizer: InputTokenizer
    layers: int
    heads: int
    max_positions: int | None
    tokenizer_sha256: str


def describe(
    name: str,
    *,
    revision: str | None = None,
    masked_lm: bool = False,
    trust_remote_code: bool = False,
    measure: Measure = "weights",
    with_head: bool = False,
) -> Described:
    """A model's size and tokenizer, without reading its weights. Raises as `load` does."""
    with translate_loading_errors(name), quiet():
        opened = _load_checkpoint(name, revision, masked_lm, trust_remote_code)
        if with_head:
            _own_head(name, opened.config, opened.tokenizer)
        _layout(name, opened.config, measure)
        layers, heads = _shape(name, opened.blank, opened.config)
        digest_ = tokenizer_digest(opened.tokenizer)
    return Described(opened.input_tokenizer, layers, heads, opened.max_positions, digest_)


@dataclass(frozen=True)
class _CheckedModel:
    """Everything of a model except its weights, checked."""

    config: Any  # transformers.PreTrainedConfig
    family: Family
    tokenizer: Any  # transformers.PreTrainedTokenizerFast
    input_tokenizer: InputTokenizer
    blank: Any  # the model on torch's meta device: shapes without numbers
    max_positions: int | None  # as _max_positions
    place: str  # a folder or a hub name
    version: str | None  # of the package that contains it, else None
    settings: dict[str, Any]  # arguments of every from_pretrained


def _load_checkpoint(
    name: str, revision: str | None, masked_lm: bool, trust_remote_code: bool
) -> _CheckedModel:
    place, version, settings = find_files(name, revision, trust_remote_code=trust_remote_code)
    config = transformers.AutoConfig.from_pretrained(place, **settings)
    family = family_of(config)
    family.check_supported(name, config)
    check_config(name, config)
    tokenizer = read_tokenizer(name, place, settings)
    family.prepare(config)
    if masked_lm:
        _refuse_without_head(name, config, tokenizer)
    with on_meta_device(name):
        blank = read_module(name, place, config, settings, 0).eval()
    check_vocabulary(name, blank, tokenizer)
    input_tokenizer = InputTokenizer.from_transformers(tokenizer)
    check_special_tokens(name, blank, config, input_tokenizer)
    longest = _max_positions(blank, config, tokenizer)
    return _CheckedModel(
        config, family, tokenizer, input_tokenizer, blank, longest, place, version, settings
    )


def _refuse_without_head(name: str, config: Any, tokenizer: Any) -> None:
    known = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if not known or getattr(config, "is_decoder", False):
        raise ModelError(
            f"{name} ({config.model_type}) is not a masked language model; gradients and ablation"
            " need the loss of one.",
            WITH_HEAD,
        )
    if tokenizer.mask_token_id is None:
        raise ModelError(f"The tokenizer of {name} has no mask token.", WITH_HEAD)


def _own_head(name: str, config: Any, tokenizer: Any) -> Head:
    """The head that a model predicts words with: the masked one if it has both and no decoder."""
    is_masked = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if is_masked and not getattr(config, "is_decoder", False):
        _refuse_without_head(name, config, tokenizer)
        return "masked"
    if type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        return "causal"
    raise ModelError(
        f"{name} ({config.model_type}) is not a language model: it predicts no words.", WITH_HEAD
    )


def _masked_lm(module: Any, device: torch.device, takes_segments: bool, tokenizer: Any) -> MaskedLM:
    special = frozenset(tokenizer.all_special_ids)
    known = range(min(module.config.vocab_size, len(tokenizer)))
    return MaskedLM(
        module=module.requires_grad_(False),
        device=device,
        takes_segments=takes_segments,
        mask=tokenizer.mask_token_id,
        special=special - {tokenizer.unk_token_id},
        vocabulary=tuple(id for id in known if id not in special),
    )


def _shape(name: str, blank: Any, config: Any) -> tuple[int, int]:
    """The numbers of layers and heads without weights: from a pass, or else the configuration."""
    try:
        shape = find_shape(name, blank, config)
        return len(shape.layers), shape.heads
    except ModelError as error:
        if not isinstance(error.__cause__, RuntimeError):
            raise  # it asks for something else than text
    # Some need actual numbers during the pass, which the meta device does not have.
    layers, heads = (
        config_value(config, "num_hidden_layers"),
        config_value(config, "num_attention_heads"),
    )
    if layers is None or heads is None:
        raise ModelError(
            f"The config.json of {name} does not say how many layers and heads it has.",
            "Use a text encoder or decoder.",
        )
    ratio = config_value(config, "head_ratio") or 1  # of ConvBERT: the others are convolutions
    return len(attention_layers(config, layers)), max(1, heads // ratio)


def kv_heads_of(config: Any, heads: int) -> int | None:
    """The key and value heads of a layer, which query heads may share; None where that is unclear.

    Most families say how many they have, if not as many as heads; Falcon and GPT-BigCode may say
    that it is one.
    """
    if config_value(config, "multi_query") and not config_value(config, "new_decoder_architecture"):
        return 1
    stated = (
        config_value(config, "num_key_value_heads") or config_value(config, "num_kv_heads") or heads
    )
    return stated if isinstance(stated, int) and heads % stated == 0 else None


def _max_positions(module: Any, config: Any, tokenizer: Any) -> int | None:
    """The longest input in tokens that position embeddings and tokenizer allow, if any says so."""
    limits = []
    stated = getattr(config, "max_position_embeddings", None)
    if isinstance(stated, int) and stated > 0:
        padding = [
            getattr(submodule, "padding_idx", None)
            for path, submodule in module.named_modules()
            if path.endswith("position_embeddings")
        ]
        limits.append(
            stated - max((index + 1 for index in padding if index is not None), default=0)
        )
    if 0 < tokenizer.model_max_length < 1_000_000:
        limits.append(int(tokenizer.model_max_length))
    return min(limits, default=None)


def read_tokenizer(name: str, place: str, arguments: dict[str, Any]) -> Any:
    """The fast tokenizer in a folder or on the hub; `asked` are arguments of from_pretrained.

    Raises ModelError for one that does not align words with pieces, and where there is none: there
    transformers would make a tokenizer that knows no word.
    """
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **arguments)
    except ValueError as error:  # from tokenizer classes that cannot be made without files
        if "instantiate the backend tokenizer" not in str(error):
            raise
        tokenizer = None
    if tokenizer is not None and not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"The tokenizer of {name} ({type(tokenizer).__name__}) does not report which word a"
            " piece belongs to.",
            "Use a model with a fast tokenizer (a tokenizer.json).",
        )
    if tokenizer is None or set(tokenizer.get_vocab()) <= {
        *tokenizer.all_special_tokens, *tokenizer.get_added_vocab(), *_SPACES,
    }:  # fmt: skip
        raise ModelError(
            f"{name} has no tokenizer: there is no vocabulary beside its weights, and every word"
            " would be unknown.",
            "Save the model's tokenizer there too (tokenizer.save_pretrained).",
        )
    return tokenizer


def tokenizer_digest(tokenizer: Any) -> str:
    """SHA-256, in hexadecimal, over what decides the pieces of a text and their roles.

    Neither the order in a file nor a new switch of a later library, if it is off, changes it.
    """
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    for part in ("decoder", "padding", "truncation"):
        state.pop(part, None)
    roles = {name: getattr(tokenizer, f"{name}_token_id", None) for name in _ROLES}
    special = sorted(tokenizer.all_special_ids)
    relevant = _drop_unset({"tokenizer": state, "roles": roles, "special": special})
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()


def _drop_unset(value: Any) -> Any:
    """The value without the entries in it that are None or False."""
    if isinstance(value, dict):
        entries = {key: _drop_unset(entry) for key, entry in value.items()}
        return {
            key: entry for key, entry in entries.items() if entry is not None and entry is not False
        }
    return [_drop_unset(entry) for entry in value] if isinstance(value, list) else value
