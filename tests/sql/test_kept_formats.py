"""Banks of earlier formats that are kept: each opens, is upgraded, and says what it said."""

from __future__ import annotations

from pathlib import Path

import duckdb
import old_banks
import pytest
from forked import Forked
from killed import killed_at

from attnbank.ingest import merge_banks
from attnbank.queries import open_bank
from attnbank.sql import registry
from attnbank.sql.bank.upgrading import upgrade

ASKED = {
    "head_accuracy": {"run": "test/tiny"},
    "coreference_accuracy": {"run": "test/tiny/document/max48/5d"},
    "head_distance": {"run": "4"},
    "head_ablation": {"run": "4"},
    "probe_accuracy": {},
    "relative_position": {"run": "4"},
    "gold_dependency": {"run": "fr_one-ud-test/tiny"},
}


def _said(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the analyses of the file itself say, asked without attnbank."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            name: connection.execute(
                f"from {name}({', '.join(f'{key} := $${each}$$' for key, each in given.items())})"
                " order by all"
            ).fetchall()
            for name, given in ASKED.items()
        }


def _rounded(rows: list[tuple[object, ...]]) -> list[str]:
    """Rows in an order of their own, floats to 9 decimals: the order of sums is not fixed."""
    return sorted(
        repr([round(each, 9) if isinstance(each, float) else each for each in row]) for row in rows
    )


def test_a_bank_of_format_4_says_what_it_said(tmp_path: Path) -> None:
    path = old_banks.format_4(tmp_path / "old.duckdb")
    of = old_banks.columns(path)
    rows, said = old_banks.rows(path, of, without=("bank",)), _said(path)
    assert all(said.values()) and all(rows[table] for table in ("probe", "gradient", "ablation"))
    done = upgrade(path)
    assert (done.before, done.after) == (4, registry.FORMAT)
    assert old_banks.rows(path, of, without=("bank",)) == rows
    with open_bank(path) as bank:
        for name, given in ASKED.items():
            found = bank.query(name, **given).rows()
            assert _rounded(found) == _rounded(said[name]), name
        ((last,),) = bank.sql("select count(last_word) from position").rows()
        assert last == 1  # the multiword token
        assert bank.sql("select run from preferred_run").rows() == [(2,)]


@pytest.mark.slow
def test_upgraded_it_can_be_merged(tmp_path: Path) -> None:
    path = old_banks.format_4(tmp_path / "old.duckdb")
    upgrade(path)
    merge_banks(tmp_path / "new.duckdb", [path])
    of = old_banks.columns(path)
    without = ("bank", "used_id", "run", "sequence", "position", "attention", "peak", "gradient")
    new = old_banks.rows(tmp_path / "new.duckdb", of, without)
    assert new == old_banks.rows(path, of, without)


STATEMENTS = 360
"""An upgrade from format 1 runs more statements than that."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [
        STATEMENTS,
        *(
            pytest.param(at, marks=pytest.mark.slow)
            for at in range(1, STATEMENTS, STATEMENTS // 20)
        ),
    ],
)
def test_killed_anywhere_it_is_one_or_the_other(at: int, forked: Forked, tmp_path: Path) -> None:
    path = old_banks.format_1(tmp_path / "old.duckdb")
    of = old_banks.columns(path)
    del of["bank"]
    rows = old_banks.rows(path, of)
    killed_at(forked, at, ["-b", str(path), "upgrade"], tmp_path, module="upgrading")
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("select format from bank").fetchall() == [(1,)]
    assert old_banks.rows(path, of) == rows
    assert upgrade(path).after == registry.FORMAT
    assert old_banks.rows(path, of) == rows
    assert [each.name for each in tmp_path.iterdir()] == ["old.duckdb"]
