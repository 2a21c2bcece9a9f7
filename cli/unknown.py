"""The share of a run's words that its tokenizer does not know."""

from __future__ import annotations

from attnbank.cli.humanize import number

WARN_FROM = 0.05
"""Share of words with an unknown piece, in [0, 1], from which a warning is given: the figures then
say little of the language."""


def unknown_lines(words: int, unknown: int | None) -> list[str]:
    """Lines that say how many words have a piece that the vocabulary lacks, and warn if many do.

    `unknown` is None if that was not counted.
    """
    if unknown is None:
        return ["unknown words were not counted: the run is of an older attnbank"]
    share = unknown / words if words else 0.0
    lines = [
        f"{number(unknown)} of {number(words)} words ({100 * share:.1f} %) have a piece that the"
        " tokenizer does not know"
    ]
    if share >= WARN_FROM:
        lines.append(
            "warning: the model reads the unknown token in their place; use a model of this"
            " language and script"
        )
    return lines
