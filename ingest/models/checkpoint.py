"""Reading a model's weights, and refusing a checkpoint that does not fit its configuration."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import torch
import transformers

from attnbank.ingest.models.errors import ModelError
from attnbank.ingest.models.families import family_of
from attnbank.ingest.models.random_weights import seeded

WITH_HEAD = "Use a checkpoint with the head, such as google-bert/bert-base-uncased."


def read_module(
    name: str,
    place: str,
    config: Any,
    asked: dict[str, Any],
    random_seed: int | None,
    masked_lm: bool = False,
) -> Any:
    """A transformers model with eager attention, in float32.

    `place` is a folder or a hub name. With `random_seed` the weights are random, else those of the
    checkpoint. With `masked_lm` the model has its masked-language-model head. `asked` are arguments
    of every from_pretrained: whether code is trusted, and which files of the hub. Pickled weights
    are read as numbers only, so that no code in them runs.

    Raises ModelError for a checkpoint that lacks weights, has weights of other shapes than its
    configuration says, or more of them, and for a model that cannot return its attention weights.
    """
    settings = {"attn_implementation": "eager", "dtype": torch.float32}
    trusted = {"trust_remote_code": asked.get("trust_remote_code", False)}
    plain = family_of(config).auto_class(config)
    kind = transformers.AutoModelForMaskedLM if masked_lm else plain

    def make() -> Any:
        if random_seed is None:
            module, loading = kind.from_pretrained(
                place,
                config=config,
                output_loading_info=True,
                weights_only=True,
                ignore_mismatched_sizes=True,  # they are refused below, by an error that names them
                **settings,
                **asked,
            )
            _refuse_other_shapes(name, loading["mismatched_keys"])
            _refuse_unread(name, module, loading["unexpected_keys"])
            if masked_lm:
                _refuse_incomplete(name, loading["missing_keys"])
            else:
                _complete(name, module, loading["missing_keys"])
            return module
        with seeded(random_seed):
            module = plain.from_config(config, **settings, **trusted)
            if not masked_lm:
                return module
            whole = kind.from_config(config, **settings, **trusted)
        # The same seed must give the same model with and without a head.
        own = whole.base_model.state_dict()
        drawn = {key: each for key, each in module.state_dict().items() if key in own}
        whole.base_model.load_state_dict(drawn)
        return whole

    try:
        return make()
    except ValueError as error:
        if "eager" not in str(error) and "attn_implementation" not in str(error):
            raise
        raise ModelError(
            f"{name} has no attention implementation that returns its weights.",
            "Use another model.",
        ) from error


def digest(module: Any) -> str:
    """SHA-256, in hexadecimal, over the parameters and buffers that the attention depends on.

    For each, in the order of names, it covers the name, the type, the shape and the bytes. `module`
    is the base model. Its pooler is left out: it comes after the last layer, and whether there is
    one depends on the class that the checkpoint was loaded with.
    """
    found = hashlib.sha256()
    for key, value in sorted(module.state_dict().items()):
        if "pooler" in key.split("."):
            continue
        dense = value.detach().cpu().contiguous()
        found.update(f"{key} {dense.dtype} {tuple(dense.shape)}\n".encode())
        found.update(dense.view(-1).view(torch.uint8).numpy().data if dense.numel() else b"")
    return found.hexdigest()


def _refuse_other_shapes(name: str, mismatched: Iterable[tuple[str, Any, Any]]) -> None:
    """Raise ModelError for weights of other shapes, which transformers would draw at random."""
    for key, found, expected in sorted(mismatched, key=lambda each: each[0]):
        raise ModelError(
            f"The checkpoint {name} has {key} of shape {tuple(found)}, and its config.json asks for"
            f" {tuple(expected)}.",
            "Give it the config.json that it was made with.",
        )


def _refuse_unread(name: str, module: Any, unexpected: Iterable[str]) -> None:
    """Raise ModelError for a checkpoint with more layers, or more weights in them, than the model.

    Heads, poolers, decoders and buffers of older versions may be left unread, since the attention
    does not depend on them.
    """
    base = module.base_model
    prefix = f"{module.base_model_prefix}."
    for key in sorted(unexpected):
        path = key.removeprefix(prefix)
        place = _layer_of(base, path)
        if place is None or path.rsplit(".", 1)[-1] not in ("weight", "bias"):
            continue
        layers, at = place
        if at >= len(layers):
            raise ModelError(
                f"The checkpoint {name} has weights of layer {at + 1} ({key}), and its config.json"
                f" says that it has {len(layers)}.",
                "Give it the config.json that it was made with.",
            )
        if _is_weight_of(base, path):
            raise ModelError(
                f"The checkpoint {name} has weights in its layers that {type(base).__name__} does"
                f" not have, so that it would be another model: {key}.",
                "Use a checkpoint of this architecture, or its own config.json.",
            )


def _layer_of(base: Any, path: str) -> tuple[Any, int] | None:
    """The outermost list of layers that a weight belongs to, and its 0-based index in the list."""
    for found in re.finditer(r"\.(\d+)\.", path):
        layers = _submodule(base, path[: found.start()])
        if isinstance(layers, torch.nn.ModuleList):
            return layers, int(found[1])
    return None


def _is_weight_of(base: Any, path: str) -> bool:
    """Whether a name is that of a weight, and not of a mask that is kept as `attn.bias`."""
    owner = _submodule(base, path.rsplit(".", 1)[0])
    return owner is None or not any(True for _ in owner.children())


def _submodule(base: Any, path: str) -> Any:
    try:
        return base.get_submodule(path)
    except AttributeError:
        return None


def _refuse_incomplete(name: str, missing: Iterable[str]) -> None:
    """Raise ModelError for a checkpoint without the head: transformers would draw it at random."""
    first, *others = [*sorted(missing), ""]
    if first:
        more = f" and {len(others) - 1} more of its weights" if others[0] else ""
        raise ModelError(
            f"{name} is no whole masked language model: the checkpoint lacks {first}{more}.",
            WITH_HEAD,
        )


def _complete(name: str, module: Any, missing: Iterable[str]) -> None:
    """Set a missing pooler to zero; raise ModelError if the checkpoint lacks anything else.

    transformers draws missing weights at random, differently at every load. The attention does not
    need the pooler.
    """
    lacking = sorted(key for key in missing if "pooler" not in key.split("."))
    if lacking:
        more = f" and {len(lacking) - 1} more of its weights" if lacking[1:] else ""
        raise ModelError(
            f"The checkpoint {name} lacks {lacking[0]}{more}, which would be random.",
            "Use a whole checkpoint, or random weights on purpose (--random-weights SEED).",
        )
    with torch.no_grad():
        for key in missing:
            module.get_parameter(key).zero_()
