"""Minimal pairs that differ in a word which nothing precedes, and so has no surprisal."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from fixture_types import Models

PAIRS = """They have left.	Them have left.
The lamp glows.	The lamp glow.
Go!	Went!
They have left.	They.
"""


@pytest.mark.parametrize("is_preceded", [False, True])
def test_pairs_whose_first_words_differ(
    tiny_causal_lm: Models, tmp_path: Path, cli: Cli, is_preceded: bool, bank_of: BankFactory
) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    model = tiny_causal_lm("gpt2")
    bank = bank_of("stories", model, limit=1, bos=is_preceded, to=tmp_path)
    pairs = ["--pairs", tmp_path / "pairs.tsv"]
    told = cli("-b", bank, "surprisal", "1", *pairs, "--model", model).err
    assert ("3 pairs could not be measured: nothing precedes the first word" in told) == (
        not is_preceded
    )
    assert ("attnbank ingest ... --bos" in told) == (not is_preceded) and "verb" not in told
    nulls = query_bank(
        bank, "select good_nats is null, bad_nats is null from minimal_pair order by number"
    )
    assert (
        nulls
        == [(is_null, is_null) for is_null in (not is_preceded, False)]
        + [(not is_preceded,) * 2] * 2
    )
