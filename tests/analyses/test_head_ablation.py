"""The ranking of disabled heads and layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import new_banks
import pytest

from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.bank.opening import open_to_read


@pytest.fixture(scope="module")
def few(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "stories.conllu"
    sentences = (sample / "stories.conllu").read_text(encoding="utf-8").split("\n\n")
    path.write_text("\n\n".join(sentences[:4]) + "\n\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("ablate", ["heads", "layers"])
def test_ranked_by_what_disabling_costs(
    tiny_masked_lm: Callable[[str], Path], few: Path, tmp_path: Path, ablate: str
) -> None:
    path = new_banks.put(tmp_path / "bank.duckdb")
    ingest(
        IngestOptions(
            (str(few),), path, str(tiny_masked_lm("bert")), unit="token",
            ablate="heads" if ablate == "heads" else "layers",
        )
    )  # fmt: skip
    with open_to_read(path) as connection:
        rows = connection.execute(
            "select disabled, layer, head, replacement, loss, increase, rank from head_ablation()"
        ).fetchall()
        stored = connection.execute("select layer, head, loss from ablation").fetchall()
    losses = {(layer, head): loss for layer, head, loss in stored}
    whole = losses.pop((None, None))
    assert rows[0][:6] == ("none", None, None, None, whole, 0)
    assert rows[0][6] is None
    assert len(rows) == 1 + (12 if ablate == "heads" else 3)
    in_order = sorted(losses, key=lambda each: -losses[each])
    assert [row[1:3] for row in rows[1:]] == in_order
    for at, (kind, layer, head, replacement, loss, increase, rank) in enumerate(rows[1:], 1):
        assert (kind, replacement) == (ablate.removesuffix("s"), "uniform")
        assert loss == losses[layer, head]
        assert increase == loss - whole
        assert rank == at


def test_a_run_without_losses_says_how_to_get_them(token_bank: Callable[[str], Path]) -> None:
    with (
        open_to_read(token_bank("bert")) as connection,
        pytest.raises(duckdb.Error, match="--ablate heads"),
    ):
        connection.execute("from head_ablation()").fetchall()
