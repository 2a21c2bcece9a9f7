"""Several exports become one bank, as their banks would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bank_rows
import duckdb
import pytest
from command_line import Cli

from attnbank.ingest import import_exports, merge_banks
from attnbank.queries import open_bank
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.export_format import export


@pytest.fixture(scope="module")
def exports(shards: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The exports of the shards, in order."""
    made = []
    for number, each in enumerate(shards.shards, start=1):
        folder = tmp_path_factory.mktemp("exports") / f"{number} of 3"
        with open_bank(each) as bank:
            export(bank.path, folder)
        made.append(str(folder))
    return made


@pytest.mark.slow
def test_exports_of_shards_become_the_whole(
    shards: Any, exports: list[str], tmp_path: Path, cli: Cli
) -> None:
    new = tmp_path / "new.duckdb"
    assert f"Next: attnbank -b {new} info" in cli("-b", new, "import", *reversed(exports)).err
    assert bank_rows.rows(new) == bank_rows.rows(shards.whole)


@pytest.mark.slow
def test_exports_and_banks_go_together(shards: Any, exports: list[str], tmp_path: Path) -> None:
    new = tmp_path / "new.duckdb"
    merge_banks(new, [*exports[:2], *shards.shards[1:]])
    assert bank_rows.rows(new) == bank_rows.rows(shards.whole)


@pytest.mark.slow
def test_a_missing_shard_or_a_changed_file_is_named(exports: list[str], tmp_path: Path) -> None:
    new = tmp_path / "new.duckdb"
    with pytest.raises(CallError, match="The shard 3/3 of the corpus sample is in none"):
        import_exports(exports[:2], new)
    import_exports(exports[:2], new, partial=True)
    with duckdb.connect(str(new)) as connection:
        assert connection.execute("select shard from corpus").fetchall() == [("1-2/3",)]
    with pytest.raises(CallError, match=r"(?s)Folder .* does not exist.*use attnbank merge"):
        import_exports([exports[0], str(new)], tmp_path / "other.duckdb")
    file = Path(exports[2], "word.parquet")
    content = file.read_bytes()
    try:
        file.write_bytes(content[:-9] + bytes(9))
        with pytest.raises(BankError, match=r"word\.parquet of the export .* its SHA-256 differs"):
            import_exports(exports, tmp_path / "other.duckdb")
    finally:
        file.write_bytes(content)
    assert [path.name for path in tmp_path.iterdir()] == ["new.duckdb"]
