"""Options of an ingest that are invalid, or have nothing to act on: refused before it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_types import Options

from attnbank.ingest import estimate, ingest
from attnbank.sql.errors import CallError

DOCUMENT: dict[str, Any] = {"context": "document"}
TOKEN: dict[str, Any] = {"unit": "token"}
PAIR: dict[str, Any] = {"context": "pair", **TOKEN}
PEAKS: dict[str, Any] = {"keep": "peaks"}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"max_tokens": 97}, "at most 96 tokens"),
    ({"decimals": 0}, "decimals"),
    ({"context": "paragraph"}, "not a valid value of --context"),
    ({"context": "pair"}, "cuts segments between tokens"),
    ({"truncate": True}, "--truncate keeps the first input"),
    ({**PAIR, "truncate": True}, "--truncate keeps the first"),
    ({"limit": 0}, "--limit is out of range"),
    ({**DOCUMENT, "seed": 4}, "--seed has no effect"),
    ({**TOKEN, "subword": "first"}, "--subword merges the pieces"),
    ({"revision": "main"}, "--revision is for models of the hub"),
    ({**DOCUMENT, "max_tokens": 97}, "takes at most 96 tokens"),
    ({**DOCUMENT, "max_tokens": 2}, "no room for text: 2 tokens are special"),
    ({**PAIR, "max_tokens": 4}, "no room for text: 3 tokens are special"),
    ({**PEAKS, "decimals": 3}, "--decimals"),
    ({**PEAKS, **TOKEN, "gradients": True}, "--gradients"),
    ({"keep": "all"}, "'all' is not a valid value of --keep"),
    ({"keep": "top:0"}, "'top:0' is not a valid value of --keep"),
    ({**TOKEN, "keep": "top:8", "gradients": True}, "--keep top:8 does not keep every"),
    ({"measure": "rollout"}, "--measure rollout multiplies attention maps"),
    ({**TOKEN, "measure": "norms", "gradients": True}, "about the weights of heads"),
    ({"measure": "norm"}, "'norm' is not a valid value of --measure"),
    ({"ablate": "neurons"}, "'neurons' is not a valid value of --ablate"),
    ({"ablate": "heads", "replacement": "mean"}, "'mean' is not a valid value of --replacement"),
    ({"replacement": "zero"}, "Add --ablate"),
    ({"gradients": True}, "--unit token"),
    ({"bos": True}, r"puts \[CLS\] before the text"),
    ({"first_word": "word"}, r"in .*, \[CLS\] precedes the text"),
    ({"model": "t5", "first_word": "word"}, "the attention is not causal"),
    ({"model": "gpt2", "bos_token": "no such token"}, "has no token no such token"),
    ({"model": "gpt2", "bos": True, "first_word": "word"}, r"<\|endoftext\|> precedes the text"),
]


@pytest.mark.parametrize(("options", "fact"), REFUSED)
def test_it_is_refused_with_a_remedy_and_no_bank_is_made(
    few: Path, tmp_path: Path, options_for: Options, options: dict[str, Any], fact: str
) -> None:
    given = options_for(tmp_path / "b.duckdb", few, **options)
    calls = (ingest,) if "first_word" in options else (ingest, estimate)  # which does not check it
    for call in calls:
        with pytest.raises(CallError, match=fact) as error:
            call(given)
        assert error.value.remedy
    assert not given.bank.exists()
