"""An option of a model or a run that nothing can take is refused in two lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import hostile
import pytest
from hostile import Refused

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import ProbeOptions
from attnbank.sql.errors import CallError
from attnbank.sql.option_fields import check_values

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(
    "more",
    [
        ["--device", "meta"], ["--device", "abacus"], ["--device", ""],
        ["--device", "cuda:99"], ["--device", "xla"],
        ["--seed", "99999999999999999999", "--limit", "1"], ["--seed", "-1"],
        ["--mask-seed", "99999999999999999999"],
        ["--random-weights", "99999999999999999999"], ["--random-weights", "2147483648"],
        ["--batch-tokens", "99999999999999999999"], ["--max-tokens", "99999999999999999999"],
        ["--limit", "99999999999999999999"], ["--decimals", "99999999999999999999"],
        ["--model", "./nowhere"], ["--model", "a/b/c"], ["--model", ""], ["--model", "a\0b"],
        ["--model", "\udcff"], ["--name", "\udcff"], ["--split", "\udcff"], ["--name", "a\0b"],
        ["--model", "x" * 5000], ["--model", "../" * 2000],
    ],
    ids=lambda more: f"{more[0]} {more[1][:22]}".encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_an_option_that_nothing_can_take(
    corpus: Path, folder: Path, more: list[str], refused: Refused
) -> None:
    model = [] if "--model" in more else ["--model", str(folder)]
    with hostile.nothing_made(corpus.parent):
        refused("ingest", corpus, *model, *more, status=2)


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("decimals", (1, 7), (0, 8)), ("limit", (1, 2**63 - 1), (0, 2**63)), ("seed", (0,), (-1,)),
        ("repeat", (1, 15_000), (0, 15_001)), ("max_tokens", (1, 2**31 - 1), (0, 2**31)),
        ("learning_rate", (1e-9, 1e9), (0.0, float("inf"), float("nan"))),
        ("held_out", (0.0, 0.999), (-0.001, 1.0)), ("epochs", (1,), (0,)),
    ],
)  # fmt: skip
def test_the_bounds_of_a_number_are_valid_and_no_number_beyond(
    name: str, valid: tuple[float, ...], invalid: tuple[float, ...]
) -> None:
    """The same from Python as from the command line (test_help.py)."""
    own: Any = IngestOptions(("x",), Path("x"), "x")
    own = own if hasattr(own, name) else ProbeOptions()
    for value in valid:
        check_values(replace(own, **{name: value}))
    for value in invalid:
        with pytest.raises(CallError, match=f"--{name.replace('_', '-')} is out of range"):
            check_values(replace(own, **{name: value}))


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("option", "value"), [("random_weights", 2**31 - 1), ("seed", 2**63 - 1), ("seed", 2**40)]
)
def test_the_largest_number_that_it_takes(
    corpus: Path, folder: Path, option: str, value: int, tmp_path: Path
) -> None:
    options: dict[str, Any] = {option: value, "limit": 1}
    report = ingest(IngestOptions((str(corpus),), tmp_path / "b.duckdb", str(folder), **options))
    assert report.state == "new"
