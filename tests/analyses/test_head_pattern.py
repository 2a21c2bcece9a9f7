"""The patterns of attention maps equal a slow implementation written apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bounds
import oracle_surface as slow
import pytest

from attnbank.sql.bank.opening import open_to_read

SHARES = ("vertical", "diagonal", "vertical_diagonal", "block", "heterogeneous")
MEANS = ("vertical_mass", "diagonal_mass", "blockness")


LOW = {"vertical": 0.06, "diagonal": 0.06, "both": 0.055, "block": 0.05}  # random heads are mild


@pytest.mark.usual("bert-*")
@pytest.mark.parametrize(
    ("name", "thresholds"), [("sample", {}), ("wiki", {}), ("wiki", LOW), ("bert", LOW)]
)
def test_patterns(token_bank: Callable[[str], Path], name: str, thresholds: dict[str, Any]) -> None:
    given = ", ".join(f"min_{key} := {value}" for key, value in thresholds.items())
    columns = SHARES + MEANS
    with open_to_read(token_bank(name)) as connection:
        rows = connection.execute(
            f"select layer, head, pattern, {', '.join(columns)} from head_pattern({given})"
        ).fetchall()
        expected = slow.patterns(slow.inputs(connection), **thresholds)
    found: dict[slow.Key, float] = {}
    for layer, head, pattern, *values in rows:
        shares = dict(zip(SHARES, values, strict=False))
        assert shares[pattern] == max(shares.values())
        assert sum(shares.values()) == pytest.approx(1, abs=bounds.sums(len(SHARES)))
        for column, value in zip(columns, values, strict=True):
            if value is not None:
                found[layer, head, column] = value
    slow.assert_close(found, expected)
    used = {key[2] for key, value in found.items() if key[2] in SHARES and value > 0}
    assert len(used) >= 2  # that the maps of the bank differ at all
