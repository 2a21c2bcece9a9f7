"""The slow matcher of requests, against Grew's own hits and against what is counted by hand."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from patterns.corpus import Corpus, of_conllu
from patterns.matcher import grew_hits
from patterns.regexes import RequestError

DEPARTURES = {
    "re_utf8_dot3": "a dot is a character, and not a byte",
    "2_same_feat_re_eq": "a feature that one bracket names twice must pass both tests",
    "3_q2": "a quotation mark is not escaped before a regular expression looks at it",
    "3_q4": "a quotation mark is not escaped before a regular expression looks at it",
    "3_q8": "a regular expression and a value in two brackets are both asked for",
}
"""Where the language departs from Grew's on purpose."""


@cache
def _read(path: Path) -> Corpus:
    return of_conllu(path)


def _requests(corpora: Path) -> list[dict[str, Any]]:
    file = corpora / "../patterns/grew.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _agrees(request: str, corpus: Corpus, expected: dict[str, Any]) -> bool:
    """Whether the hits are Grew's, one by one, or both refuse the request."""
    try:
        found = grew_hits(request, corpus)
    except RequestError:
        return "refused" in expected
    lines = sorted(
        json.dumps(list(hit), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        for hit in found
    )
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return (len(lines), digest) == (expected.get("hits"), expected.get("sha256"))


def _differing(corpora: Path, name: str, requests: list[dict[str, Any]]) -> set[str]:
    corpus = _read(corpora / f"{name}.conllu")
    return {each["id"] for each in requests if not _agrees(each["request"], corpus, each[name])}


def test_some_of_grews_hits(corpora: Path) -> None:
    some = _requests(corpora)[::9]
    assert len(some) > 20
    assert _differing(corpora, "gum-dev", some) == DEPARTURES.keys() & {each["id"] for each in some}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gum-dev", "ewt-dev"])
def test_all_of_grews_hits(name: str, corpora: Path) -> None:
    every = _requests(corpora)
    assert len(every) == 201
    assert _differing(corpora, name, every) == DEPARTURES.keys()
