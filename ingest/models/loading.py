"""Loads transformers that return their attention, and rejects those that do not."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal

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
from attnbank.ingest.options import Measure
from attnbank.sql.errors import first_line

WantedHead = Literal["masked", "own"]  # own: the masked or causal one that the model has
_ROLES = ("cls", "sep", "bos", "eos", "pad", "unk", "mask")
_SPACES = {"▁", "Ġ"}  # tokens that a tokenizer may have without any vocabulary


@dataclass(frozen=True)
class ModelFacts:
    """A model's row of table `model`, without its id."""

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
    kv_heads: int | None = None  # None: not known
    series: str | None = None  # the training of which it is a checkpoint
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
    masked_lm: MaskedLM | None = None  # `module` with its head, if loaded with the masked one
    map_indices: tuple[int, ...] | None = None  # which of what it returns are maps; None for all
    batching: Batching = "padded"
    values: Values | None = None  # its value projections, if a measure needs them
    sources: Sources | None = None  # the modules that return the maps of each layer
    module_with_head: Any = None  # `module` with its language-modelling head, if loaded with one
    head: Head | None = None  # the kind of that head

    def attentions(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """Run a forward pass; return [B, H, T, T] for each layer with attention, queries to keys.

        `ids`, `mask` (1 for a token, 0 for padding) and `segments` are [B, T] int64.
        """
        inputs = {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
        if self.takes_segments:
            inputs["token_type_ids"] = segments.to(self.device)
        with torch.inference_mode():
            maps: tuple[Tensor, ...] = self.module(**inputs, output_attentions=True).attentions
        return maps if self.map_indices is None else tuple(maps[at] for at in self.map_indices)

    def stream_attentions(
        self, ids: Tensor, mask: Tensor, segments: Tensor, take: Callable[[Tensor], None]
    ) -> None:
        """Run a forward pass, and call `take` with the maps of each layer as they are computed.

        They are not kept for the end of the pass, so that only what `take` keeps is in memory. (For
        a model that needs its maps later on, all are computed first.)
        """
        if self.sources is None:
            for maps in self.attentions(ids, mask, segments):
                take(maps)
            return

        def hand(module: Any, inputs: Any, output: Any) -> Any:
            maps = output[place_in[module]]
            take(maps)
            nothing = maps.new_zeros(()).expand(maps.shape)  # a view of one number, without memory
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
    trust_remote_code: bool = False,
    measure: Measure = "weights",
    head: WantedHead | None = None,
) -> Model:
    """Load a model by hub name, by folder, or the packaged `minilm`.

    `random_seed` draws new weights (the control of the paper's section 5). `head` also loads the
    masked-language-model head (masked), or that or the causal one, whichever the model has (own).
    `measure` says whether its value projections are needed. A model's Python code is only run with
    `trust_remote_code`.

    Raises CallError for an unknown name or an unusable device, ModelError for an unusable model.
    """
    target = device_of(device)
    with translate_loading_errors(name), quiet(), enough_memory(name, target):
        opened = _open_checkpoint(name, revision, trust_remote_code, measure, head)
        if random_seed is None:
            check_weights(name, opened.location, opened.settings)
        try:
            loaded = read_module(
                name, opened.location, opened.config, opened.settings, random_seed, opened.head
            )
        except Exception as error:
            if random_seed is None and not is_out_of_memory(error):
                _refuse_quantised(name, opened.config, error)
            raise
        loaded = loaded.eval().to(target)
        model, words = _model_of(name, opened, loaded, target, revision, random_seed)
        padding = opened.input_tokenizer.padding
        conduct = detect_behaviour(name, model.attentions, words, padding, opened.max_positions)
        # Without sources, all maps are computed before the first is used.
        model.sources = model.sources if _can_stream(model, words) else None
    model.facts = replace(model.facts, sinks=conduct.sinks, causal=conduct.causal)
    padded = conduct.batching == "padded"
    model.batching = opened.family.batching if padded else conduct.batching
    return model


def _model_of(
    name: str,
    opened: _CheckedModel,
    loaded: Any,
    device: torch.device,
    revision: str | None,
    random_seed: int | None,
) -> tuple[Model, list[int]]:
    """Return a model whose weights are read, and the ids of ordinary tokens, to try it with."""
    config, tokenizer, head = opened.config, opened.tokenizer, opened.head
    module = loaded.base_model if head else loaded
    shape = find_shape(name, module, config)
    # GPT-2 accepts token_type_ids too, but as ids of tokens whose embeddings it adds.
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
        facts, opened.input_tokenizer, module, device, takes_segments,
        map_indices=shape.map_indices,
        sources=shape.sources, module_with_head=loaded if head else None, head=head,
    )  # fmt: skip
    if head == "masked":
        special = frozenset(tokenizer.all_special_ids)
        known = range(min(loaded.config.vocab_size, len(tokenizer)))
        model.masked_lm = MaskedLM(
            module=loaded.requires_grad_(False),
            device=device,
            takes_segments=takes_segments,
            mask=tokenizer.mask_token_id,
            special=special - {tokenizer.unk_token_id},
            vocabulary=tuple(id for id in known if id not in special),
        )
    if opened.layout is not None:
        model.values = Values.from_module(name, module, shape.layers, shape.heads, opened.layout)
    added = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
    known = range(min(vocabulary_rows(module), len(tokenizer)))
    return model, [id for id in known if id not in added]


def _can_stream(model: Model, words: Sequence[int]) -> bool:
    """Whether a model computes the same maps when each is taken away as it is returned."""
    ids = torch.tensor([[words[at % len(words)] for at in range(3, 24, 7)]])
    inputs = ids, torch.ones_like(ids), torch.zeros_like(ids)
    streamed: list[Tensor] = []
    try:
        model.stream_attentions(*inputs, streamed.append)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return False
    maps = model.attentions(*inputs)
    return len(streamed) == len(maps) and all(map(torch.equal, streamed, maps))


def _refuse_quantised(name: str, config: Any, error: Exception) -> None:
    """Raise ModelError if the weights are quantised, since that is why loading failed."""
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
        "Use the original checkpoint, in full or half precision, or install the missing package.",
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
    trust_remote_code: bool = False,
    measure: Measure = "weights",
    head: WantedHead | None = None,
) -> Described:
    """Return a model's size and tokenizer, without reading its weights.

    Raises the errors of `load`, except those about weights.
    """
    with translate_loading_errors(name), quiet():
        opened = _open_checkpoint(name, revision, trust_remote_code, measure, head)
        layers, heads = _shape(name, opened.blank, opened.config)
        digest_ = tokenizer_digest(opened.tokenizer)
    return Described(opened.input_tokenizer, layers, heads, opened.max_positions, digest_)


@dataclass(frozen=True)
class _CheckedModel:
    """A model without its weights: configuration and tokenizer, both checked."""

    config: Any  # transformers.PreTrainedConfig
    family: Family
    tokenizer: Any  # transformers.PreTrainedTokenizerFast
    input_tokenizer: InputTokenizer
    blank: Any  # the model on torch's meta device: shapes without numbers
    max_positions: int | None  # see _max_positions
    location: str  # a folder or a hub name
    version: str | None  # of the package that contains it, else None
    settings: dict[str, Any]  # arguments of every from_pretrained
    head: Head | None  # the head to load with it
    layout: Layout | None  # of the value projections, if the measure needs them


def _open_checkpoint(
    name: str,
    revision: str | None,
    trust_remote_code: bool,
    measure: Measure,
    wanted: WantedHead | None,
) -> _CheckedModel:
    location, version, settings = find_files(name, revision, trust_remote_code=trust_remote_code)
    config = transformers.AutoConfig.from_pretrained(location, **settings)
    family = family_of(config)
    family.check_supported(name, config)
    check_config(name, config)
    tokenizer = read_tokenizer(name, location, settings)
    family.prepare(config)
    if wanted == "masked":
        _refuse_without_head(name, config, tokenizer)
    with on_meta_device(name):
        blank = read_module(name, location, config, settings, 0).eval()
    check_vocabulary(name, blank, tokenizer)
    input_tokenizer = InputTokenizer.from_transformers(tokenizer)
    check_special_tokens(name, blank, config, input_tokenizer)
    head = _own_head(name, config, tokenizer) if wanted == "own" else wanted
    needs_values = measure not in ("weights", "rollout")
    return _CheckedModel(
        config, family, tokenizer, input_tokenizer, blank,
        _max_positions(blank, config, tokenizer), location, version, settings, head,
        layout_of(name, config, measure) if needs_values else None,
    )  # fmt: skip


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
    """Return the head that a model predicts words with; the masked one if it is an encoder."""
    is_masked = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if is_masked and not getattr(config, "is_decoder", False):
        _refuse_without_head(name, config, tokenizer)
        return "masked"
    if type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        return "causal"
    raise ModelError(
        f"{name} ({config.model_type}) is not a language model: it predicts no words.", WITH_HEAD
    )


def _shape(name: str, blank: Any, config: Any) -> tuple[int, int]:
    """Return the numbers of layers and heads without weights: by a pass, else the configuration."""
    try:
        shape = find_shape(name, blank, config)
        return len(shape.layers), shape.heads
    except ModelError as error:
        if not isinstance(error.__cause__, RuntimeError):
            raise  # it does not take text
    # Some models need actual numbers during the pass, which the meta device does not have.
    layers = config_value(config, "num_hidden_layers")
    heads = config_value(config, "num_attention_heads")
    if layers is None or heads is None:
        raise ModelError(
            f"The config.json of {name} does not say how many layers and heads it has.",
            "Use a text encoder or decoder.",
        )
    ratio = config_value(config, "head_ratio") or 1  # ConvBERT: other heads are convolutions
    return len(attention_layers(config, layers)), max(1, heads // ratio)


def kv_heads_of(config: Any, heads: int) -> int | None:
    """Return the number of key-value heads of a layer, which heads may share; None if unclear.

    Most families state it if it is not that of heads; Falcon and GPT-BigCode may state that it is
    one (`multi_query`).
    """
    if config_value(config, "multi_query") and not config_value(config, "new_decoder_architecture"):
        return 1
    stated = (
        config_value(config, "num_key_value_heads") or config_value(config, "num_kv_heads") or heads
    )
    return stated if isinstance(stated, int) and heads % stated == 0 else None


def _max_positions(module: Any, config: Any, tokenizer: Any) -> int | None:
    """Return the longest input that position embeddings and tokenizer allow, if they limit it."""
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


def read_tokenizer(name: str, location: str, arguments: dict[str, Any]) -> Any:
    """Read a fast tokenizer from a folder or the hub; `arguments` are those of from_pretrained.

    Raises ModelError if it does not align words with pieces, and if there is none: transformers
    would make one with an empty vocabulary.
    """
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(location, **arguments)
    except ValueError as error:  # of tokenizer classes that need files
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
    """Return the SHA-256, in hexadecimal, of all that determines the pieces of a text and roles.

    It does not depend on the order in a file, nor on new settings of later versions that are off.
    """
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    for part in ("decoder", "padding", "truncation"):
        state.pop(part, None)
    roles = {name: getattr(tokenizer, f"{name}_token_id", None) for name in _ROLES}
    special = sorted(tokenizer.all_special_ids)
    relevant = _drop_unset({"tokenizer": state, "roles": roles, "special": special})
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()


def _drop_unset(value: Any) -> Any:
    """Remove entries that are None or False, recursively."""
    if isinstance(value, dict):
        entries = {key: _drop_unset(entry) for key, entry in value.items()}
        return {
            key: entry for key, entry in entries.items() if entry is not None and entry is not False
        }
    return [_drop_unset(entry) for entry in value] if isinstance(value, list) else value
