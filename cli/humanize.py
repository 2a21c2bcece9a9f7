"""Format durations, sizes, counts and shares for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# From this share of words with an unknown piece on, the model hardly sees the language.
WARN_FROM = 0.05


def duration(seconds: float) -> str:
    """Format seconds: 42 s, 3 min 5 s, 2 h 10 min."""
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    if whole_seconds < 3600:
        return f"{whole_seconds // 60} min {whole_seconds % 60} s"
    return f"{whole_seconds // 3600} h {whole_seconds % 3600 // 60} min"


def count_noun(count: int, noun: str) -> str:
    """Format a count with its noun: 1 word, 2,000 words."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_bytes(count: float) -> str:
    """Format a number of bytes in decimal units: 512 bytes, 9.6 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def without_surprisal_lines(first: int, sharing: int) -> list[str]:
    """Lines that say how many words of a run have no surprisal, and why."""
    return [
        f"{count_noun(count, 'word')} {'has' if count == 1 else 'have'} no surprisal: {why}"
        for count, why in (
            (first, "no token precedes the first word of an input"),
            (sharing, "only one of the words that share a position has it"),
        )
        if count
    ]


def unknown_lines(words: int, unknown: int | None) -> list[str]:
    """Lines with the number of words that contain an unknown piece, and a warning if there are
    many.

    `unknown` is None if the run did not count them.
    """
    if unknown is None:
        return ["unknown words were not counted: the run was made by an older attnbank"]
    share = unknown / words if words else 0.0
    lines = [
        f"{unknown:,} of {words:,} words ({100 * share:.1f} %) contain a piece that"
        " the tokenizer does not know"
    ]
    if share >= WARN_FROM:
        lines.append(
            "warning: the model reads the unknown token in their place; use a model of this"
            " language and script"
        )
    return lines


_OF_FIRST_WORD = {
    "special": "is excluded like a special token (--bos adds a token)",
    "word": "is treated like any other (--first-word word)",
}


def name_of_measure(measure: str) -> str:
    """The noun for the figures of a run by its measure: weights, norms, figures of rollout."""
    return measure if measure in ("weights", "norms") else f"figures of {measure}"


def reading_lines(run: Mapping[str, Any]) -> list[str]:
    """Lines on how a run tokenized its words, where users should know; `run` has columns of table
    run.
    """
    lines = []
    if run["joined_words"]:
        share = 100 * run["joined_words"] / max(run["words"], 1)
        how = (
            "share a piece with a neighbour, as in the text (--edges share)"
            if run["edges"] == "share"
            else "are tokenized differently in the text (see --edges share)"
        )
        lines.append(f"{run['joined_words']:,} of {run['words']:,} words ({share:.1f} %) {how}")
    if misspelled := run.get("misspelled_words"):
        lines.append(
            f"the given tokens of {misspelled:,} of {run['words']:,} words do not match their text"
        )
    if inner := run["inner_dependencies"]:
        lines.append(
            f"{inner:,} {'dependency is' if inner == 1 else 'dependencies are'} between words that"
            " share a position; analyses of heads skip them (inside-token)"
        )
    if run["bos"] is not None:
        lines.append(f"{run['bos']} was put before each input (--bos)")
    elif run["first_word"] in _OF_FIRST_WORD:
        lines.append(
            "no token precedes the text, and heads of causal models rest on the first token: the"
            f" first word of each input {_OF_FIRST_WORD[run['first_word']]}"
        )
    return lines
