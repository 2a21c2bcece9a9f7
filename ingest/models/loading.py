"""Loads transformers that return their attention, and rejects those that do not.

So are checkpoints that do not match their configuration.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal

import torch
import transformers
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attnbank.ingest.models.attend import Attention, find_attention
from attnbank.ingest.models.attention_behaviour import (
    Batching,
    Sources,
    attention_layers,
    detect_behaviour,
    find_shape,
    sliding_window,
)
from attnbank.ingest.models.families import Family, check_residual_norms, family_of
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
from attnbank.ingest.options import Measure
from attnbank.sql.errors import first_line

Head = Literal["masked", "causal"]  # the language-modelling head that is loaded with a model
WantedHead = Literal["masked", "own"]  # own: the masked or causal one that the model has
_WITH_HEAD = "Use a checkpoint with the head, such as google-bert/bert-base-uncased."
_OWN_CONFIG = "Use the config.json that it was saved with."
# The operations by which transformers initialises weights at random.
_IN_PLACE = {getattr(torch.ops.aten, name).default for name in ("normal_", "uniform_", "erfinv_")}
_ROLES = ("cls", "sep", "bos", "eos", "pad", "unk", "mask")
_TRIED_TOKENS = 8
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
    map_indices: tuple[int, ...] | None = None  # which of what it returns are maps; None for all
    batching: Batching = "padded"
    sources: Sources | None = None  # the modules that return the maps of each layer
    module_with_head: Any = None  # `module` with its language-modelling head, if loaded with one
    head: Head | None = None  # the kind of that head

    def inputs(self, ids: Tensor, mask: Tensor, segments: Tensor) -> dict[str, Any]:
        """Name the inputs of a forward pass, and move them to the device of the model.

        `ids`, `mask` (1 for a token, 0 for padding) and `segments` are [B, T] int64.
        """
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.takes_segments:
            inputs["token_type_ids"] = segments
        return {name: tensor.to(self.device) for name, tensor in inputs.items()}

    def run(self, ids: Tensor, mask: Tensor, segments: Tensor, **settings: Any) -> Any:
        """Run a forward pass, and return what the model does.

        The inputs are as in `inputs`; `settings` are passed to the model.
        """
        with torch.inference_mode():
            return self.module(**self.inputs(ids, mask, segments), **settings)

    def logits_at(self, inputs: dict[str, Any], row: Tensor, token: Tensor) -> tuple[Tensor, Any]:
        """Run the model with its head; return its logits at N tokens, and the output.

        `row` and `token` are the indices of each token in the inputs, [N] int64; logits are
        [N, vocabulary].
        """
        row, token = row.to(self.device), token.to(self.device)

        def select(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden, *remaining = arguments
            is_whole = hidden.shape[:2] == inputs["input_ids"].shape
            return (hidden[row, token] if is_whole else hidden, *remaining)

        # Logits of all tokens would be large and slow: the output embeddings get these only.
        last = self.module_with_head.get_output_embeddings()
        with nullcontext() if last is None else last.register_forward_pre_hook(select):
            output = self.module_with_head(**inputs)
        logits = output.logits
        if logits.ndim == 3:  # the head does not end in its output embeddings (MobileBERT)
            logits = logits[row, token]
        return logits, output

    def attentions(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """Run a forward pass; return [B, H, T, T] for each layer with attention."""
        output = self.run(ids, mask, segments, output_attentions=True)
        maps: tuple[Tensor, ...] = output.attentions
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

    @cached_property
    def attention(self) -> Attention:
        """Its calls of attention; of the model with its head, if it was loaded with one.

        Raises ModelError if they cannot be reached.
        """
        tried = self.tried_input()
        module = self.module_with_head or self.module
        return find_attention(module, self.inputs(*tried), self.attentions(*tried))

    def tried_input(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return a short input to try the model with: ids, mask and segments."""
        length = min(_TRIED_TOKENS, self.facts.max_positions or _TRIED_TOKENS)
        words = [(5 + 7 * at) % vocabulary_rows(self.module) for at in range(length)]
        ids = torch.tensor([words])
        return ids, torch.ones_like(ids), torch.zeros_like(ids)


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
    `measure` is that of its attention. A model's Python code is only run with `trust_remote_code`.

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
        return Described(
            opened.input_tokenizer, layers, heads, opened.max_positions,
            tokenizer_digest(opened.tokenizer),
        )  # fmt: skip


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


def _open_checkpoint(
    name: str,
    revision: str | None,
    trust_remote_code: bool,
    measure: Measure,
    wanted: WantedHead | None,
) -> _CheckedModel:
    location, version, settings = find_files(name, revision, trust_remote_code=trust_remote_code)
    config = transformers.AutoConfig.from_pretrained(location, **settings)
    config.return_dict = True  # the outputs are read by name
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
    input_tokenizer = replace(input_tokenizer, embeddings=vocabulary_rows(blank))
    if input_tokenizer.padding >= vocabulary_rows(blank):
        input_tokenizer = replace(input_tokenizer, padding=0)  # masked, so that any token will do
    head = _own_head(name, config, tokenizer) if wanted == "own" else wanted
    if head == "masked" and tokenizer.mask_token_id >= vocabulary_rows(blank):
        raise ModelError(f"{name} has no embedding for its mask token.", _WITH_HEAD)
    if measure == "residual-norms":
        check_residual_norms(name, config)
    return _CheckedModel(
        config, family, tokenizer, input_tokenizer, blank,
        _max_positions(blank, config, tokenizer), location, version, settings, head,
    )  # fmt: skip


def _refuse_without_head(name: str, config: Any, tokenizer: Any) -> None:
    known = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if not known or getattr(config, "is_decoder", False):
        raise ModelError(
            f"{name} ({config.model_type}) is not a masked language model; gradients and ablation"
            " need the loss of one.",
            _WITH_HEAD,
        )
    if tokenizer.mask_token_id is None:
        raise ModelError(f"The tokenizer of {name} has no mask token.", _WITH_HEAD)


def _own_head(name: str, config: Any, tokenizer: Any) -> Head:
    """Return the head that a model predicts words with; the masked one if it is an encoder."""
    is_masked = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if is_masked and not getattr(config, "is_decoder", False):
        _refuse_without_head(name, config, tokenizer)
        return "masked"
    if type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        return "causal"
    raise ModelError(
        f"{name} ({config.model_type}) is not a language model: it predicts no words.", _WITH_HEAD
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


def read_module(
    name: str,
    location: str,
    config: Any,
    arguments: dict[str, Any],
    random_seed: int | None,
    head: Head | None = None,
) -> Any:
    """Read a transformers model with eager attention, in float32, from a folder or a hub name.

    With `random_seed` the weights are random; `arguments` are those of from_pretrained. Pickled
    weights are read as numbers only, so that no code in them runs. Raises ModelError for weights
    that do not match the configuration, and for a model that cannot return its attention.
    """
    settings = {"attn_implementation": "eager", "dtype": torch.float32}
    trusted = {"trust_remote_code": arguments.get("trust_remote_code", False)}
    plain = family_of(config).auto_class(config)
    kind = plain
    if head is not None:
        kind = getattr(transformers, f"AutoModelFor{head.capitalize()}LM")

    try:
        if random_seed is not None:
            with torch.random.fork_rng(devices=[]), _DrawInFloat64():  # type: ignore[no-untyped-call]
                torch.manual_seed(random_seed)
                return _random_model(plain, kind, config, settings, trusted)
        module, loading = kind.from_pretrained(
            location,
            config=config,
            output_loading_info=True,
            weights_only=True,
            ignore_mismatched_sizes=True,  # refused below, with a better error
            **settings,
            **arguments,
        )
    except ValueError as error:
        if "eager" not in str(error) and "attn_implementation" not in str(error):
            raise
        raise ModelError(
            f"{name} has no attention implementation that returns weights.", "Use another model."
        ) from error
    for key, shape, expected in sorted(loading["mismatched_keys"], key=itemgetter(0)):
        raise ModelError(
            f"The checkpoint {name} has {key} of shape {tuple(shape)}, but its config.json says"
            f" {tuple(expected)}.",
            _OWN_CONFIG,
        )
    _refuse_unread_weights(name, module, loading["unexpected_keys"])
    _fill_pooler(name, module, loading["missing_keys"], head)
    return module


def _random_model(
    plain: Any, kind: Any, config: Any, settings: dict[str, Any], trusted: dict[str, Any]
) -> Any:
    """Make a model with random weights; its base has the same ones with and without a head."""
    if issubclass(plain, transformers.PreTrainedModel):
        return plain._from_config(config, **settings)
    module = plain.from_config(config, **settings, **trusted)
    if kind is plain:
        return module
    model_with_head = kind.from_config(config, **settings, **trusted)
    own = model_with_head.base_model.state_dict()
    shared_weights = {key: weight for key, weight in module.state_dict().items() if key in own}
    model_with_head.base_model.load_state_dict(shared_weights)
    return model_with_head


def digest_weights(module: Any) -> str:
    """Return the SHA-256 of name, type, shape and bytes of the weights of a base model.

    The pooler is excluded: whether there is one depends on the class that loaded the checkpoint.
    """
    digest = hashlib.sha256()
    for key, value in sorted(module.state_dict().items()):
        if "pooler" in key.split("."):
            continue
        dense = value.detach().cpu().contiguous()
        digest.update(f"{key} {dense.dtype} {tuple(dense.shape)}\n".encode())
        digest.update(dense.view(-1).view(torch.uint8).numpy().data if dense.numel() else b"")
    return digest.hexdigest()


def _refuse_unread_weights(name: str, module: Any, unexpected: Iterable[str]) -> None:
    """Raise ModelError for a checkpoint with more layers, or more weights in them, than the model.

    Heads, poolers, decoders and old buffers may be left unread: attention does not depend on them.
    """
    base = module.base_model
    for key in sorted(unexpected):
        path = key.removeprefix(f"{module.base_model_prefix}.")
        layer = _layer_of(base, path)
        owner_path, _, last = path.rpartition(".")
        if layer is None or last not in ("weight", "bias"):
            continue
        layers, at = layer
        if at >= len(layers):
            raise ModelError(
                f"The checkpoint {name} has weights of layer {at + 1} ({key}), but its config.json"
                f" says that it has {len(layers)} layers.",
                _OWN_CONFIG,
            )
        owner = _submodule(base, owner_path)
        # The `bias` of a module with children is not a weight but a mask: GPT-2's `attn.bias`.
        if owner is None or not any(True for _ in owner.children()):
            raise ModelError(
                f"The checkpoint {name} has weights in its layers that {type(base).__name__} does"
                f" not use, so it would load as a different model: {key}.",
                "Use a checkpoint of this architecture, or its own config.json.",
            )


def _layer_of(base: Any, path: str) -> tuple[Any, int] | None:
    """Return the outermost list of layers that a weight is in, and its layer's 0-based index."""
    for match in re.finditer(r"\.(\d+)\.", path):
        layers = _submodule(base, path[: match.start()])
        if isinstance(layers, torch.nn.ModuleList):
            return layers, int(match[1])
    return None


def _submodule(base: Any, path: str) -> Any:
    try:
        return base.get_submodule(path)
    except AttributeError:
        return None


def _fill_pooler(name: str, module: Any, missing: Iterable[str], head: Head | None) -> None:
    """Zero-fill a missing pooler, which attention does not need; ModelError for other weights."""
    lacking = sorted(key for key in missing if head or "pooler" not in key.split("."))
    if lacking:
        more = f" and {len(lacking) - 1} more of its weights" if lacking[1:] else ""
        if head is not None:
            raise ModelError(
                f"{name} is not a complete {head} language model: the checkpoint lacks"
                f" {lacking[0]}{more}.",
                _WITH_HEAD,
            )
        raise ModelError(
            f"The checkpoint {name} lacks {lacking[0]}{more}, which would be random.",
            "Use a complete checkpoint; or, for random weights, --random-weights SEED.",
        )
    with torch.no_grad():
        for key in missing:
            module.get_parameter(key).zero_()


class _DrawInFloat64(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Draws float32 numbers in float64 and rounds them.

    torch computes float32 normal and uniform numbers with different instructions on different
    processors, and the last digits differ: with AVX2 a seed would give another control (the paper's
    section 5) than without. In float64 the last digits differ too, but rounding removes them.
    """

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in _IN_PLACE and args[0].dtype == torch.float32:
            wide = args[0].double()
            function(wide, *args[1:], **kwargs)
            return args[0].copy_(wide)
        return function(*args, **kwargs)
