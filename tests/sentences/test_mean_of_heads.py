"""The mean of several heads on a sentence is what adding them up slowly gives."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from bank_factory import BankFactory
from command_line import Cli
from polars.testing import assert_frame_equal
from sentence_pictures import Map, panels, read

from attnbank.queries import open_bank
from attnbank.sql.errors import BankError, QueryError

SENTENCE = "sample_story-1"
HEADS = ((1, 1), (2, 4), (3, 2))
NAMES = [f"{layer}-{head}" for layer, head in HEADS]
CLOSE = 1e-12
"""Three numbers are added up in another order, as doubles."""


def _slow(bank: Path, run: str) -> Map:
    maps = [read(bank, run, SENTENCE, head) for head in HEADS]
    mean = {
        place: [sum(each.weights[place][other] for each in maps) / 3 for other in range(len(row))]
        for place, row in maps[0].weights.items()
    }
    return Map(maps[0].positions, mean)


@pytest.mark.usual(4)
@pytest.mark.filterwarnings("ignore:The input has:attnbank.sql.errors.AttnbankWarning")
@pytest.mark.parametrize("run", ["single", "document", "pair", "decoder"])
@pytest.mark.parametrize("direction", ["dependent_to_head", "head_to_dependent"])
def test_rows_and_lines_are_those_of_the_mean(
    shown_bank: Path, run_names: dict[str, str], run: str, direction: str
) -> None:
    slow = _slow(shown_bank, run_names[run])
    with open_bank(shown_bank) as bank:
        figure = bank.show(
            SENTENCE, NAMES, mean=True, run=run_names[run], relation="all", direction=direction,
            least=0,
        )  # fmt: skip
    (drawn,) = panels(figure.svg)
    assert drawn.head is None and figure.panels[0].full_name == "mean of 1-1, 2-4, 3-2"
    for (start, end), weight in drawn.weights.items():
        if end != "elsewhere":
            expected = slow.weights[int(start)][int(end)]
            assert weight == pytest.approx(expected, rel=1e-8)  # nine digits are drawn
    is_backward = direction == "head_to_dependent"
    assert (
        figure.rows["layer"].null_count() == figure.rows["head"].null_count() == figure.rows.height
    )
    assert figure.rows["position"].to_list() == slow.own(SENTENCE)
    name = "looked_at_by_position" if is_backward else "looks_at_position"
    for row in figure.rows.iter_rows(named=True):
        place = row["position"]
        most = slow.most_attending(place) if is_backward else slow.top(place)
        if place in slow.special:  # a first word that is set apart
            most = None
        assert row[name] == most
        if most is not None:
            ends = (most, place) if is_backward else (place, most)
            assert row["weight"] == pytest.approx(slow.weights[ends[0]][ends[1]], abs=CLOSE)
    found = {(int(a), int(b)) for a, b in drawn.gold("found") | drawn.gold("missed")}
    right = figure.rows.filter(pl.col("correct"))["position"].to_list()
    column = 1 if is_backward else 0
    assert len(found) > 5
    if run != "pair":  # of whose tokens only the first of a word has an arc
        assert set(right) == {ends[column] for ends in drawn.gold("found")}


def test_the_mean_of_one_head_is_that_head(shown_bank: Path, run_names: dict[str, str]) -> None:
    with open_bank(shown_bank) as bank:
        one, mean = (
            bank.show(SENTENCE, "2-4", mean=each, run=run_names["single"], relation="obj")
            for each in (False, True)
        )
    drop = ["layer", "head", "weight"]
    assert_frame_equal(one.rows.drop(drop), mean.rows.drop(drop))
    assert one.rows["weight"].to_list() == pytest.approx(mean.rows["weight"].to_list(), rel=1e-7)
    first, second = panels(one.svg)[0], panels(mean.svg)[0]
    assert (first.lines.keys(), first.marks) == (second.lines.keys(), second.marks)


@pytest.mark.parametrize("keep", ["peaks", "top:4"])
@pytest.mark.slow
def test_a_run_that_keeps_a_part_of_its_weights_has_no_mean(
    shown_bank: Path, cli: Cli, keep: str, bank_of: BankFactory
) -> None:
    """Of a causal run the first four positions keep all; what attends to them later does not."""
    with open_bank(bank_of("stories", "gpt2", keep=keep)) as opened:
        with pytest.raises(QueryError, match="needs every weight"):
            opened.show(SENTENCE, NAMES, mean=True)
        with pytest.raises(QueryError, match="needs every weight"):
            opened.show(SENTENCE, NAMES, mean=True, words=(1, 3), special=False)
        (note,) = opened.show(SENTENCE, "1-1", words=(1, 3)).facts.notes[-1:]
        assert "The run keeps" in note
    shown = ["-b", str(shown_bank), "show", SENTENCE, "--head", "1-1,2-4", "--mean"]
    assert f"Mean of 1-1, 2-4 on {SENTENCE}" in cli(*shown).out


DAMAGES = {
    "1-1": "delete from attention where {}",
    "1-2": "delete from attention where {} and from_position = 3",
    "1-3": "update attention set weights = weights[:5] where {}",
    "1-4": "update attention set weights = list_transform(weights, lambda weight: 'nan'::float)"
    " where {}",
}
"""What is done to the weights of a head."""


@pytest.mark.filterwarnings("ignore:The input has:attnbank.sql.errors.AttnbankWarning")
def test_a_damaged_bank_is_told(
    shown_bank: Path, run_names: dict[str, str], tmp_path: Path
) -> None:
    bank = tmp_path / "bank.duckdb"
    shutil.copy(shown_bank, bank)
    with duckdb.connect(str(bank)) as connection:
        for name, damage in DAMAGES.items():
            connection.execute(damage.format(f"(layer, head) = ({name.replace('-', ', ')})"))
    part: dict[str, Any] = {"run": run_names["single"], "words": (1, 4)}
    with open_bank(bank) as opened:
        opened.show(SENTENCE, "2-4", **part)
        for name in DAMAGES:
            for heads in ([name], ["2-4", name, "3-2"]):
                with pytest.raises(BankError, match="maps of an input are incompl"):
                    opened.show(SENTENCE, heads, mean=len(heads) > 1, **part)
