"""Minimal pairs that differ in a word which nothing precedes, and so has no surprisal."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank_rows import query_bank
from command_line import Cli
from fixture_types import Models, Options

from attnbank.ingest import ingest

PAIRS = """They have left.	Them have left.
The lamp glows.	The lamp glow.
Go!	Went!
They have left.	They.
"""


@pytest.mark.parametrize("is_preceded", [False, True])
def test_pairs_whose_first_words_differ(
    options_for: Options, tiny_causal_lm: Models, tmp_path: Path, cli: Cli, is_preceded: bool
) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    bank, model = tmp_path / "bank.duckdb", tiny_causal_lm("gpt2")
    ingest(options_for(bank, model=model, limit=1, bos=is_preceded))
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
