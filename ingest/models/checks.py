"""Checks of the files of an untrusted model, made before anything is built from them.

A model's files are text that its maker wrote. They can ask for code to be run, for more memory than
there is, for any number of layers, and for tokens that have no embedding. All of this is refused
here, and whatever a library raises on such files becomes one error with one fact.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_parameter_registration_hook

from attnbank.ingest.models.errors import ModelError
from attnbank.ingest.models.runtime import memory
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.sql.errors import AttnbankError, CallError

_MOST_MAPS = 32_767  # layer and head are SMALLINT
_MOST_ROWS = 2**31 - 1
_MOST_COUNTED = 1_000_000  # of what transformers builds one by one: labels, experts, ...
_MOST_UNSAID = 10_000_000  # rows of embeddings, for a model that does not say how many it has
_MOST_PARAMETERS = 20_000  # tensors; a BERT of 1,000 layers has 16,000
_MOST_BYTES = {"config.json": 10_000_000}
_MOST_BYTES_OF_TEXT = 300_000_000  # of the vocabulary; the largest known have 35 MB
_TEXT = (".json", ".txt", ".model", ".jinja")
_SIZE = re.compile(r"(num|n|d)_|.*(size|dim|layers?|heads?|embeddings|positions)$")
_REASON = 300  # characters
_OTHER_TOKENIZER = "Use the tokenizer that the model was trained with."
_DAMAGED = "Save or fetch the model again: its files are damaged, or do not belong together."


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Within, whatever a library raises on a model's files becomes one error.

    It is a ModelError if `name` is a folder, and a CallError if it is a hub name, which may simply
    not exist.
    """
    try:
        yield
    except (AttnbankError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # the panics of tokenizers are no Exception
        raise _error(name, error) from error


def _error(name: str, error: BaseException) -> AttnbankError:
    """The error for whatever a library raised on the files of the model `name`."""
    text = str(error)
    if "trust_remote_code" in text:
        return ModelError(
            f"The model {name} comes with Python code, which would have to be run to load it.",
            "Add --trust-remote-code if you trust whoever wrote that code; it can do what you can.",
        )
    reason = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if "above report" in text:  # transformers logs that report, but its log is turned off
        reason = "its weights do not fit its config.json"
    if isinstance(error, RecursionError):
        reason = "its files are nested too deeply"
    reason = (reason or type(error).__name__)[:_REASON]
    fact = f"The model {name} cannot be loaded: {reason}"
    if Path(name).is_dir():
        return ModelError(fact, _DAMAGED)
    return CallError(fact, "Give a hub name (and a network), a folder, or minilm.")


def check_folder(name: str, folder: Path) -> None:
    """Raise ModelError for a folder with text files that are too large to be what they are called.

    A model on the hub has no folder yet, and is not checked.
    """
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.suffix not in _TEXT and path.name not in _MOST_BYTES:
            continue
        if not path.is_file():
            if path.exists() and not path.is_dir():
                raise ModelError(f"{path} is no regular file.", "Give a folder with plain files.")
            continue
        most = _MOST_BYTES.get(path.name, _MOST_BYTES_OF_TEXT)
        if path.stat().st_size > most:
            raise ModelError(
                f"{path} has {path.stat().st_size:,} bytes, and at most {most:,} are read.",
                _DAMAGED,
            )


def check_config_file(name: str, path: Path) -> None:
    """Raise ModelError for a config.json that is not valid, or with sizes that no model has.

    It is checked before transformers reads it, because that counts up to some of its numbers.
    """
    check_size = path.stat().st_size
    if check_size > _MOST_BYTES["config.json"]:
        raise ModelError(f"The config.json of {name} has {check_size:,} bytes.", _DAMAGED)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"The config.json of {name} is no JSON: {error}.", _DAMAGED) from error
    if not isinstance(found, dict):
        raise ModelError(f"The config.json of {name} is no JSON object.", _DAMAGED)
    parts = [found]
    while parts:
        part = parts.pop()
        for key, value in part.items():
            if isinstance(value, dict):
                parts.append(value)
            elif isinstance(value, int) and _SIZE.match(key):
                most = _MOST_COUNTED if key.startswith("num_") else _MOST_ROWS
                if value > most:
                    raise _absurd(name, key, value, most)


def check_config(name: str, config: Any) -> None:
    """Raise ModelError for a configuration whose layers, heads or vocabulary no bank can hold."""
    for key, most in (
        ("num_hidden_layers", _MOST_MAPS),
        ("num_attention_heads", _MOST_MAPS),
        ("vocab_size", _MOST_ROWS),
    ):
        value = getattr(config, key, None)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise ModelError(
                f"The config.json of {name} has no whole number for {key}: {str(value)[:40]}.",
                _DAMAGED,
            )
        if not 1 <= value <= most:
            raise _absurd(name, key, value, most)


def _absurd(name: str, key: str, value: int, most: int) -> ModelError:
    shown = f"{value:,}" if abs(value) < 10**30 else f"a number of {len(str(value)[:4000])} digits"
    return ModelError(
        f"The config.json of {name} says {key} {shown}, where 1 to {most:,} can be.", _DAMAGED
    )


@contextmanager
def bounded(name: str) -> Iterator[None]:
    """Within, modules are built on torch's meta device, which takes no memory for their weights.

    Raises ModelError as soon as their parameters, in single precision, would take more memory than
    this machine has, or there are more than _MOST_PARAMETERS of them.
    """
    most = memory()
    seen = 0
    taken = 0

    def count(module: Any, key: str, parameter: Any) -> None:
        nonlocal seen, taken
        if parameter is None:
            return
        seen += 1
        taken += 4 * parameter.numel()
        if taken > most or seen > _MOST_PARAMETERS:
            what = (
                f"more than {taken / 1e9:,.0f} GB of memory, and this machine has {most / 1e9:,.0f}"
                if taken > most
                else f"more than {_MOST_PARAMETERS:,} tensors"
            )
            raise ModelError(
                f"The model {name} would take {what}, by its config.json.", "Use a smaller model."
            )

    hook = register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"):
            yield
    finally:
        hook.remove()


def check_vocabulary(name: str, blank: Any, tokenizer: Any) -> None:
    """Raise ModelError for a model that takes no text, or has no embeddings for its vocabulary.

    `blank` is the model on the meta device. The vocabulary must be the first part of the tokenizer
    that is used, because a tokenizer counts up to its last id when it is serialized.
    """
    if "input_ids" not in inspect.signature(blank.forward).parameters:
        raise ModelError(
            f"{name} ({type(blank).__name__}) takes no text.",
            "Use an encoder or a decoder of text.",
        )
    vocabulary = tokenizer.get_vocab()
    last = max(vocabulary, key=lambda token: vocabulary[token])
    _check_ids(name, blank, [vocabulary[last]], f" ({last[:40]!r})")


def check_special_tokens(
    name: str, blank: Any, config: Any, input_tokenizer: InputTokenizer
) -> None:
    """Raise ModelError if a special token, the padding or a segment id has no embedding."""
    specials = [
        each
        for frame in (input_tokenizer.single, input_tokenizer.pair)
        for around in frame.around
        for each in around
    ]
    _check_ids(name, blank, [input_tokenizer.padding, *(each.id for each in specials)], "")
    types = getattr(config, "type_vocab_size", 0)
    asked = [each.type for each in specials] + [
        *input_tokenizer.single.types,
        *input_tokenizer.pair.types,
    ]
    if isinstance(types, int) and types > 1 and max(asked) >= types:
        raise ModelError(
            f"The tokenizer of {name} has segments up to {max(asked)}, and the model has {types}.",
            _OTHER_TOKENIZER,
        )


def _check_ids(name: str, blank: Any, ids: list[int], what: str) -> None:
    rows = _rows(blank)
    if max(ids) >= rows or min(ids) < 0:
        raise ModelError(
            f"The tokenizer of {name} has tokens up to id {max(ids):,}{what}, and the model has"
            f" embeddings for {rows:,}.",
            _OTHER_TOKENIZER,
        )


def _rows(blank: Any) -> int:
    """The rows of the input embeddings; _MOST_UNSAID if the model does not say."""
    try:
        weight = blank.get_input_embeddings().weight
    except (AttributeError, NotImplementedError):
        return _MOST_UNSAID
    return int(weight.shape[0])
