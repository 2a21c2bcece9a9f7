"""A bank whose file was given the name of one of its schemas."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank_rows import query_bank
from case_bank import make_bank
from command_line import Cli

GIVEN = {
    "sentence": "id,document,index,words\n1,1,1,2\n",
    "word": "id,sentence,index,form,head_index,deprel\n1,1,1,sees,0,root\n2,1,2,her,1,obj\n",
    "sequence": "id,run,sentence,positions\n1,1,1,2\n",
    "position": "sequence,position,kind,word\n1,0,word,1\n1,1,word,2\n",
    "attention": "sequence;layer;head;from_position;weights\n1;1;1;0;[0.5, 0.5]\n1;1;1;1;[0, 1]\n",
    "peak": "sequence,layer,head,position,most_attended,most_attended_weight\n"
    "1,1,1,0,0,0.5\n1,1,1,1,1,1\n",
}


@pytest.mark.parametrize("schema", ["saved", "paper"])
def test_every_command_works_and_info_says_what_does_not(
    schema: str, tmp_path: Path, cli: Cli
) -> None:
    usual = make_bank(tmp_path / "usual.duckdb", GIVEN)
    bank = usual.rename(tmp_path / f"{schema}.duckdb")
    cli("-b", bank, "save", "objects", "pattern { V -[obj]-> O }", "--from", "O", "--to", "V")
    merged = tmp_path / "merged.duckdb"
    cli("-b", merged, "merge", bank)
    assert query_bank(merged, "select count(*) from saved.objects") == [(1,)]
    cli("-b", bank, "saved", "--delete", "objects")
    told = f"other DuckDB clients confuse its name with the schema {schema}: rename it (mv)"
    assert told in cli("-b", bank, "info").out
    assert told not in cli("-b", merged, "info").out
