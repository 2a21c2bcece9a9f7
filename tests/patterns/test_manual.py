"""Every example of docs/patterns.md runs, and finds something."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import given_surprisals
import pytest
from command_line import Cli

from attnbank.cli.app import run_command_line
from attnbank.queries import open_bank

PAGE = Path(__file__).resolve().parents[2] / "docs" / "patterns.md"


def _blocks(kind: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in found for line in block.splitlines()]


@pytest.mark.slow
def test_every_request_of_the_manual_finds_something(sample_bank: Path) -> None:
    requests = _blocks("grew")
    assert len(requests) > 50
    with open_bank(sample_bank) as bank:
        empty = [request for request in requests if not bank.find(request, limit=1).height]
    assert not empty


@pytest.mark.slow
def test_every_command_of_the_manual_runs(
    sample_bank: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = _blocks("sh")
    assert len(commands) > 10
    bank = Path(shutil.copy(sample_bank, tmp_path / "bank.duckdb"))  # save writes into it
    given_surprisals.give(bank)
    for command in commands:
        name, *args = shlex.split(command)
        assert name == "attnbank" and run_command_line(["-b", str(bank), *args]) == 0
        out, told = capfd.readouterr()
        if args[0] == "save":
            assert told.splitlines()[0].endswith(" pairs.")
        else:  # of the best head there is one row, below names and lines
            assert len(out.splitlines()) > (2 if args[0] == "score" else 3), command


@pytest.mark.parametrize(
    "request_",
    [
        "pattern { A [form=/(?=a)b/] }",
        "pattern { A [form=/a++/] }",
        r'pattern { A [form=re"\(a\)\1"] }',
        "pattern { A [lemma=Mr.] }",
        "pattern { A [lemma=lex.field] } lexicon { }",
        "pattern { A <-[obj]- B }",
        "rule r { pattern { A [] } commands { } }",
    ],
)
def test_what_the_manual_says_is_refused(request_: str, sample_bank: Path, cli: Cli) -> None:
    cli("-b", sample_bank, "find", request_, status=2)
