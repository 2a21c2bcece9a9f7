"""A run that would keep nothing is an error, and leaves no run that answers nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import new_banks
import pytest
from bank_rows import change_bank, query_bank
from click.testing import CliRunner

from attnbank.cli.app import app
from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.errors import AttnbankError

LONG = "".join(
    f"# sent_id = {name}\n"
    + "".join(f"{at}\tso\tso\tADV\t_\t_\t{at - 1}\tadvmod\t_\t_\n" for at in range(1, 6)).replace(
        "advmod", "root", 1
    )
    + "\n"
    for name in ("one", "two")
)


@pytest.fixture
def model(tiny_model: Callable[[str], Path]) -> str:
    return str(tiny_model("bert"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two sentences of five words."""
    path = tmp_path / "c.conllu"
    path.write_text(LONG, encoding="utf-8")
    return path


@pytest.mark.slow
def test_in_python(tmp_path: Path, corpus: Path, model: str) -> None:
    bank = new_banks.put(tmp_path / "bank.duckdb")
    kept = ingest(IngestOptions((str(corpus),), bank, model))
    assert kept.sentences == 2
    for _ in range(2):  # typed again it is the same
        with pytest.raises(
            AttnbankError, match=r"No input of c could be used.*2 too-long"
        ) as error:
            ingest(IngestOptions((str(corpus),), bank, model, max_tokens=4))
        assert "--max-tokens" in error.value.remedy
        assert error.value.status == 1
    assert query_bank(bank, "select name from run") == [(kept.run,)]
    assert query_bank(bank, "select count(*) from skipped") == [(0,)]


def test_in_a_terminal(tmp_path: Path, corpus: Path, model: str) -> None:
    bank = new_banks.put(tmp_path / "bank.duckdb")
    call = ["-b", str(bank), "ingest", str(corpus), "-m", model, "--max-tokens", "4"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 1
    assert "No input of c could be used" in str(result.exception)
    assert "Next:" not in result.output


@pytest.mark.slow
def test_of_an_older_version(tmp_path: Path, corpus: Path, model: str) -> None:
    """Whose runs that kept nothing are finished."""
    bank = new_banks.put(tmp_path / "bank.duckdb")
    options = IngestOptions((str(corpus),), bank, model)
    ingest(options)
    change_bank(bank, "delete from sequence")
    with pytest.raises(AttnbankError, match="No input of c could be used"):
        ingest(options)
    assert ingest(options).sentences == 2
