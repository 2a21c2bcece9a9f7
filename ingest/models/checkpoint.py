"""Reads a model's weights, and rejects a checkpoint that does not match its configuration."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Literal

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

from attnbank.ingest.models.families import family_of
from attnbank.ingest.models.runtime import ModelError

Head = Literal["masked", "causal"]  # the language-modelling head that is loaded with a model
WITH_HEAD = "Use a checkpoint with the head, such as google-bert/bert-base-uncased."
_OWN_CONFIG = "Use the config.json that it was saved with."
# The operations by which transformers initialises weights at random.
_IN_PLACE = {getattr(torch.ops.aten, name).default for name in ("normal_", "uniform_", "erfinv_")}


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
                WITH_HEAD,
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
