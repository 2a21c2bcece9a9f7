"""Text that nobody annotated has no dependencies: analyses of trees say so, others go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from new_banks import ingest_into

from attnbank.ingest.options import Unit
from attnbank.sql.bank.opening import open_to_read


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["word", "token"])
def test_there_is_no_dependency_to_ask_for(
    tmp_path: Path, tiny_model: Callable[[str], Path], unit: Unit
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The dogs barked at the door.\nIt was your friend's cat.\n")
    bank = tmp_path / "bank.duckdb"
    ingest_into(bank, text, tiny_model("bert"), unit=unit)
    with open_to_read(bank) as connection:
        for analysis in (
            "gold_dependency(possessive := true)",
            "gold_dependency(subtypes := true)",
            "head_accuracy()",
            "offset_baseline(relation := 'obj')",
            "best_head()",
            "best_head_held_out()",
            "head_accuracy(run := '1')",
        ):
            reason = "its corpus has no dependency trees" if unit == "word" else "are tokens"
            with pytest.raises(duckdb.InvalidInputException, match=reason):
                connection.execute(f"from {analysis}")
        assert not connection.execute("from gold_dependency(run := '')").fetchall()
        heads = connection.execute("select syntactic from head_function()").fetchall()
        assert set(heads) == {(None,)}
        assert connection.execute("select count(*) from attention_by_class()").fetchall()[0][0] > 0
