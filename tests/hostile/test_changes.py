"""Every command that changes a bank counts that, so that no cached answer outlives its bank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bank_rows import query_bank
from writing_commands import Case

# Those whose second run finds nothing to do, and must leave cached answers as they are.
IDLE = ("second ingest", "compute", "compute trees", "probe", "annotate", "delete")
CHANGING = (*IDLE, "ingest", "ingest --replace", "ingest --series", "surprisal", "ablate", "use")


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGING)
def test_a_change_is_counted(name: str, case: Callable[[str], Case], tmp_path: Path) -> None:
    command = case(name)
    place = command.prepared(tmp_path / "work")

    def changes() -> int:
        if not (place / "bank.duckdb").exists():
            return 0
        return int(query_bank(place / "bank.duckdb", "select changes from bank")[0][0])

    before = changes()
    assert command.run(place).status == 0
    after = changes()
    assert after > before
    again = command.run(place)
    assert again.status == 0 or command.command.is_done(again)
    if name in IDLE:
        assert changes() == after
