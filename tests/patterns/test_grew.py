"""Every request of grew.jsonl finds what Grew 1.20 finds, hit by hit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnbank.queries import open_bank
from attnbank.queries.patterns import RequestError

DEPARTURES = {
    "re_utf8_dot3": "a full stop is a character here, and a byte in Grew",
    "2_same_feat_re_eq": "a feature that is named twice must be both; in Grew nothing is found",
    "3_q2": 'Grew writes a quotation mark as two characters before re".." looks at it',
    "3_q4": 'Grew writes a quotation mark as two characters before re".." looks at it',
    "3_q8": "two conditions on a feature in two brackets hold together; Grew refuses them",
}
"""Where we differ from Grew on purpose, and why."""

ENHANCED = {"r141", "2_eud_only", "2_eud_E", "2_eud_anyE"}
"""Requests on the enhanced graph, which Grew's figures are without (test_against_matcher.py)."""


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("gum-dev", 5),
        pytest.param("gum-dev", 1, marks=pytest.mark.slow),
        pytest.param("ewt-dev", 1, marks=pytest.mark.soak),
    ],
)
@pytest.mark.filterwarnings("ignore:No ")
def test_every_request_finds_what_grew_finds(
    name: str, step: int, grew: dict[str, dict[str, Any]], text_bank: Callable[[str], Path]
) -> None:
    """Every step-th request."""
    assert len(grew) == 201
    wrong = set()
    asked = dict([*grew.items()][::step])
    with open_bank(text_bank(name)) as bank:
        for id, each in asked.items():
            if id in ENHANCED:
                continue
            try:
                hits = _hits(bank, each["request"])
            except RequestError:
                hits = None
            if id in DEPARTURES:
                wrong |= {id} if _digest(hits) != each[name].get("sha256") else set()
                continue
            assert (hits is None) == ("refused" in each[name]), each["request"]
            if hits is not None and "first" in each[name]:  # tells more than a digest
                assert hits[:30] == each[name]["first"], each["request"]
            assert _digest(hits) == each[name].get("sha256"), each["request"]
    assert wrong == DEPARTURES.keys() & asked.keys()


def _digest(hits: list[list[Any]] | None) -> str | None:
    if hits is None:
        return None
    lines = sorted(
        json.dumps(hit, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for hit in hits
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _hits(bank: Any, request: str) -> list[list[Any]]:
    """The hits as grew.jsonl has them: sentence, and the index of each node as a text."""
    found = bank.find(request, context=False)
    nodes = [name for name, dtype in found.schema.items() if dtype.is_integer()]
    hits = [
        [row["sent_id"], {node: str(row[node]) for node in nodes}]
        for row in found.iter_rows(named=True)
    ]
    return sorted(hits, key=lambda hit: json.dumps(hit, sort_keys=True, ensure_ascii=False))
