"""The pictures of the documentation are what its commands make."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from bank_factory import BankFactory
from command_line import Cli
from sentence_pictures import panels, texts

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-to" / "look-at-a-sentence.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ attnbank (show .* -o (\S+\.svg))$", PAGE, re.MULTILINE)
ROUNDED = 1e-4
"""Processors round weights by less (docs/reproducibility.md)."""


@pytest.fixture(scope="module")
def bank(sample_bank: Path, tmp_path_factory: pytest.TempPathFactory, bank_of: BankFactory) -> Path:
    """The bank of the page: the sample, as sentences and as documents."""
    path = tmp_path_factory.mktemp("page") / "attnbank.duckdb"
    return bank_of("sample", "minilm", after=sample_bank, context="document", to=path)


def test_the_page_shows_its_pictures() -> None:
    shown = re.findall(r"\]\(\.\./pictures/(\S+)\)", PAGE)
    assert shown == [name for _, name in COMMANDS] and len(shown) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_a_picture_is_what_its_command_makes(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    cli("-b", bank, *shlex.split(command))
    made, kept = (
        folder.joinpath(name).read_text(encoding="utf-8")
        for folder in (tmp_path, DOCS / "pictures")
    )
    assert texts(made) == texts(kept)
    for ours, theirs in zip(panels(made), panels(kept), strict=True):
        assert (ours.sentence, ours.head, ours.mentions) == (
            theirs.sentence, theirs.head, theirs.mentions
        )  # fmt: skip
        assert (ours.gold("found"), ours.gold("missed")) == (
            theirs.gold("found"), theirs.gold("missed")
        )  # fmt: skip
        for ends in ours.weights.keys() ^ theirs.weights.keys():
            weight = (ours.weights | theirs.weights)[ends]
            assert weight == pytest.approx(0.01, abs=ROUNDED), "only at the edge of what is drawn"
        for ends in ours.weights.keys() & theirs.weights.keys():
            assert ours.weights[ends] == pytest.approx(theirs.weights[ends], abs=ROUNDED)
