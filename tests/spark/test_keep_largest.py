"""An export of a run of `--keep top:K` on Spark: the same answers, and the same refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from fixture_types import Options
from polars.testing import assert_frame_equal

from attnbank.ingest import ingest
from attnbank.queries import open_bank
from attnbank.queries.spark import Exported
from attnbank.sql.errors import AttnbankError, AttnbankWarning
from attnbank.sql.export_format import export


@pytest.mark.slow
@pytest.mark.few("top:4")
@pytest.mark.parametrize("keep", ["top:4", "top:300"])
def test_the_largest_weights_on_spark(
    options_for: Options,
    keep: str,
    tmp_path: Path,
    on_spark: Callable[..., Exported],
) -> None:
    options = options_for(tmp_path / "b", keep=keep, limit=6)  # fmt: skip
    ingest(options)
    with open_bank(tmp_path / "b") as bank:
        export(bank.path, tmp_path / "parquet")
        exported = on_spark(tmp_path / "parquet")
        above, weight = "pattern { e: A =[1-1 > 0.3]=> B }", "weight(1-2, A, B)"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AttnbankWarning)
            mine, theirs = (
                own.find(above, columns=f"e.weight, {weight}") for own in (bank, exported)
            )
        assert_frame_equal(theirs, mine)
        assert mine[weight].has_nulls() == (keep == "top:4")
        below = "pattern { A =[1-1 > 0.0001]=> B }"
        if keep == "top:4":
            for own in (bank, exported):
                with pytest.raises(AttnbankError, match="4 largest weights"):
                    own.find(below)
                with pytest.raises(AttnbankError, match="4 largest weights"):
                    own.query("entropy", smoothing=0.01)
        else:
            assert_frame_equal(exported.find(below), bank.find(below))
            mine, theirs = (own.query("entropy", smoothing=0.01) for own in (bank, exported))
            assert_frame_equal(theirs, mine, rel_tol=1e-9)
