"""Loads the model that the options of an ingest name, and sets up its tokenizer as they say."""

from __future__ import annotations

from dataclasses import replace

from attnbank.ingest.attention.measures import check_measure
from attnbank.ingest.models import loading
from attnbank.ingest.models.tokenizer import InputTokenizer
from attnbank.ingest.options import DEFAULT_MAX_TOKENS, IngestOptions
from attnbank.sql.errors import CallError


def load_model(options: IngestOptions, device: str | None = None) -> loading.Model:
    """Load the model of the options; `device` overrides theirs."""
    model = loading.load(
        options.model,
        random_seed=options.random_weights,
        revision=options.revision,
        device=device or options.device,
        head="masked" if options.masked else None,
        trust_remote_code=options.trust_remote_code,
        measure=options.measure,
    )
    check_measure(model, options.measure)
    return model


def describe_model(options: IngestOptions) -> loading.Described:
    """Return the size and the tokenizer of the options' model, without its weights."""
    return loading.describe(
        options.model,
        revision=options.revision,
        head="masked" if options.masked else None,
        trust_remote_code=options.trust_remote_code,
        measure=options.measure,
    )


def configure_tokenizer(
    options: IngestOptions, input_tokenizer: InputTokenizer, *, is_causal: bool | None = None
) -> InputTokenizer:
    """Return the tokenizer with the BOS token and the kind of the first word set by the options.

    `is_causal` is None if it is not known, as before the model's weights are loaded. Raises
    CallError for options that do not apply to this tokenizer or model.
    """
    name = options.model
    if options.bos or options.bos_token is not None:
        if input_tokenizer.start_token is not None:
            raise CallError(
                f"The tokenizer of {name} already puts {input_tokenizer.start_token} before the"
                " text.",
                "Leave out --bos and --bos-token.",
            )
        if options.bos_token is None:
            id, fact = input_tokenizer.own_bos, f"The tokenizer of {name} has no BOS token."
        else:
            id = input_tokenizer.tokenizer.token_to_id(options.bos_token)
            fact = f"The vocabulary of {name} has no token {options.bos_token}."
        if id is not None and id >= (input_tokenizer.embeddings or id + 1):
            id, fact = None, f"{name} has no embedding for that token."
        if id is None:
            raise CallError(fact, "Name one that it has: --bos-token TOKEN.")
        input_tokenizer = input_tokenizer.with_start_token(id)
    applies = is_causal and input_tokenizer.start_token is None
    if options.first_word == "word" and is_causal is not None and not applies:
        opens = input_tokenizer.start_token
        reason = f"{opens} precedes the text" if opens else "the attention is not causal"
        raise CallError(
            f"--first-word is for causal models without a token before the text; in {name},"
            f" {reason}.",
            "Leave out --first-word.",
        )
    return replace(input_tokenizer, first_word=options.first_word) if applies else input_tokenizer


def longest_input(
    options: IngestOptions, input_tokenizer: InputTokenizer, limit: int | None
) -> int:
    """Return the most tokens of an input: --max-tokens, or the default of its context.

    `limit` is the model's own, if it has one. Raises CallError for more than that, and for so few
    that there is no room for text.
    """
    if options.max_tokens is None:
        default = DEFAULT_MAX_TOKENS.get(options.context, 32_000)  # positions are SMALLINT
        return min(limit or 32_000, default)
    if limit is not None and options.max_tokens > limit:
        raise CallError(
            f"--max-tokens is {options.max_tokens}, but {options.model} takes at most {limit}"
            " tokens.",
            f"Use --max-tokens {limit}, or leave it out.",
        )
    special = (input_tokenizer.pair if options.context == "pair" else input_tokenizer.single).count
    least = special + (2 if options.context == "pair" else 1)
    if options.max_tokens < least:
        raise CallError(
            f"--max-tokens {options.max_tokens} leaves no room for text: {special} tokens are"
            " special.",
            f"Use --max-tokens {least} or more.",
        )
    return min(options.max_tokens, 32_000)
