"""A model's tokenizer: loading it, refusing one that knows no word, and its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import transformers

from attnbank.ingest.models.errors import ModelError

_ROLES = ("cls", "sep", "bos", "eos", "pad", "unk", "mask")
_SPACES = {"▁", "Ġ"}


def read_tokenizer(name: str, place: str, asked: dict[str, Any]) -> Any:
    """The fast tokenizer in a folder or on the hub.

    `asked` are arguments of from_pretrained. Raises ModelError for a tokenizer that does not align
    words with pieces, and for a place without one: there transformers would make a tokenizer that
    knows no word.
    """
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **asked)
    except ValueError as error:  # from tokenizer classes that cannot be made without files
        if "instantiate the backend tokenizer" not in str(error):
            raise
        raise _none(name) from error
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"The tokenizer of {name} ({type(tokenizer).__name__}) does not tell which word a piece"
            " belongs to.",
            "Use a model with a fast tokenizer (a tokenizer.json).",
        )
    special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    if set(tokenizer.get_vocab()) <= special | _SPACES:
        raise _none(name)
    return tokenizer


def _none(name: str) -> ModelError:
    return ModelError(
        f"{name} has no tokenizer: no vocabulary stands beside its weights, and every word would be"
        " unknown.",
        "Save the model's own tokenizer there too (tokenizer.save_pretrained).",
    )


def tokenizer_digest(tokenizer: Any) -> str:
    """SHA-256, in hexadecimal, over what decides the pieces of a text and their roles.

    That is the serialized tokenizer, without its decoder, padding and truncation, and the ids of
    the special tokens by their roles. Names are sorted and switches that are off are left out, so
    that neither the order in a file nor a new switch in a later library changes the digest.
    """
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    for part in ("decoder", "padding", "truncation"):
        state.pop(part, None)
    roles = {name: getattr(tokenizer, f"{name}_token_id", None) for name in _ROLES}
    special = sorted(tokenizer.all_special_ids)
    whole = _set({"tokenizer": state, "roles": roles, "special": special})
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _set(value: Any) -> Any:
    """The value without the entries in it that are None or False."""
    if isinstance(value, dict):
        kept = {key: _set(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None and each is not False}
    return [_set(each) for each in value] if isinstance(value, list) else value
