"""The language of a corpus, as a BCP 47 tag: as it is asked for, or as its files are named."""

from __future__ import annotations

import re
from collections.abc import Iterable

import langcodes

from attnbank.sql.errors import CallError

_TREEBANK = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-(train|dev|test)\b")
"""A file of Universal Dependencies, fr_gsd-ud-dev.conllu: the language, the treebank, the split."""
_SHORT = re.compile(r"([a-z]{2})-(train|dev|test)\b")
"""A name such as fr-dev.conllu. Three letters would be too many: gum-dev is no Guambiano."""


def language_tag(asked: str) -> str:
    """The standard form of a tag ("FR" is fr, "iw" is he). Raises CallError for what is none."""
    try:
        if langcodes.tag_is_valid(asked):
            return langcodes.standardize_tag(asked)
    except ValueError:
        pass
    raise CallError(
        f"{asked[:40]!r} is no language tag.",
        "Give one of BCP 47, as files of Universal Dependencies begin: fr, he, grc, zh-Hant.",
    )


def language_of_files(names: Iterable[str]) -> str | None:
    """The language that the names of all files tell; None where one tells none or another.

    The names are those of Universal Dependencies (fr_gsd-ud-dev.conllu), or fr-dev.conllu.
    """
    found = {_language_of_file(name) for name in names}
    return found.pop() if len(found) == 1 else None


def _language_of_file(name: str) -> str | None:
    match = _TREEBANK.match(name) or _SHORT.match(name)
    if match is None or not langcodes.tag_is_valid(match[1]):
        return None
    return langcodes.standardize_tag(match[1])
