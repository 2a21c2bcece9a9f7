"""Text that nobody annotated has no dependencies: analyses of trees say so, others go on."""

from __future__ import annotations

import duckdb
import pytest
from bank_factory import BankFactory

from attnbank.ingest.options import Unit
from attnbank.sql.bank.opening import open_to_read


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["word", "token"])
def test_there_is_no_dependency_to_ask_for(unit: Unit, bank_of: BankFactory) -> None:
    text = {"text.txt": "The dogs barked at the door.\nIt was your friend's cat.\n"}
    with open_to_read(bank_of(text, unit=unit)) as connection:
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
