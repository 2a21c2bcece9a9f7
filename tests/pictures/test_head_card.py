"""`attnbank plot head_card`: one head as a picture, with the numbers that `query` gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from bank_factory import BankFactory
from command_line import Cli
from fixture_types import Models

from attnbank.queries import Bank, open_bank
from attnbank.queries.pictures import HeadCard, Look
from attnbank.queries.pictures.arcs import Arc, ArcLine, arc_line_chart, fits_whole
from attnbank.queries.pictures.theme import THEMES
from attnbank.sql.errors import CallError

SVG = "{http://www.w3.org/2000/svg}"
RUN, CONTROL = "sample/minilm", "sample/minilm-random-1"


def card(bank: Bank, **values: Any) -> HeadCard:
    drawn = bank.picture("head_card", **values)
    assert isinstance(drawn, HeadCard)
    return drawn


def rows_of(drawn: HeadCard, field: str) -> list[dict[str, Any]]:
    """The rows with a field in the views of a card."""
    views, rows = [drawn.specification], []
    for view in views:  # those within a view come after it
        views += [part for name in ("vconcat", "concat", "layer") for part in view.get(name, ())]
        rows += [row for row in view.get("data", {}).get("values", ()) if field in row]
    return rows


def text_of(drawn: HeadCard) -> str:
    root = ElementTree.fromstring(drawn.as_bytes(".svg"))
    return " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


@pytest.mark.slow
def test_its_numbers_are_those_of_query(control_bank: Path) -> None:
    with open_bank(control_bank) as opened:
        drawn = card(opened, head="3-1")
        own = pl.col("layer") == 3, pl.col("head") == 1
        accuracy = opened.query("head_accuracy", run=RUN).filter(*own)
        random = opened.query("head_accuracy", run=CONTROL).filter(*own)
        best = opened.query("best_relation", most=100, min_count=10).filter(*own)
        held_out = opened.query("best_head_held_out").filter(*own)
        scores = opened.query("head_score", relation="obj").filter(*own)
        positions = opened.query("relative_position", run=RUN).filter(*own).row(0, named=True)
        special = opened.query("special_tokens", run=RUN).filter(*own).row(0, named=True)
        special_random = opened.query("special_tokens", run=CONTROL).filter(*own)
    relations = rows_of(drawn, "accuracy")
    assert relations[0]["relation"] == "obj *" and len(relations) <= 6
    for row in relations:
        same = {"relation": row["relation"].split()[0], "direction": row["direction"]}
        assert accuracy.filter(**same)["accuracy"][0] == row["accuracy"]
        assert random.filter(**same)["accuracy"][0] == row["random_weights"]
        ranked = best.filter(**same).row(0, named=True)
        assert ranked["gain"] > 0 and ranked["n"] == row["n"]
        assert ranked["offset"] == row["offset"]
        assert ranked["offset_accuracy"] == row["offset_accuracy"]
        assert ranked["p_corrected"] == row["p_corrected"]
        chosen = held_out.filter(**same)
        assert chosen.height == (row["held_out_accuracy"] is not None)
        if chosen.height:
            assert chosen["accuracy"][0] == row["held_out_accuracy"]
    obj = scores.filter(direction=relations[0]["direction"]).row(0, named=True)
    assert obj["low"] == relations[0]["low"] and obj["high"] == relations[0]["high"]
    text = text_of(drawn)
    assert "Head 3-1: obj" in text and RUN in text
    assert f"{100 * obj['accuracy']:.0f}\N{NO-BREAK SPACE}%" in text
    behaviours = {row["place"]: row for row in rows_of(drawn, "place")}
    assert positions["previous"] == behaviours["previous token"]["share"]
    assert positions["chance"] == behaviours["itself"]["uniform_attention"]
    assert special["cls"] == behaviours["[CLS]"]["share"]
    assert special_random["sep"][0] == behaviours["[SEP]"]["random_weights"]
    assert len(drawn.facts.examples) == 3
    assert {"found", "missed"} <= {row["kind"] for row in rows_of(drawn, "kind")}


@pytest.mark.slow
def test_the_weights_of_its_examples_are_those_of_show(control_bank: Path) -> None:
    with open_bank(control_bank) as opened:
        drawn = card(opened, head="3-1")
        for example in drawn.facts.examples:
            line = example.line
            weights = opened.show(line.sentence, "3-1", run=RUN).weights
            for arc in line.arcs:
                (weight,) = weights.filter(from_position=arc.start, to_position=arc.end)["weight"]
                assert weight == pytest.approx(arc.weight)
            rows = opened.show(line.sentence, "3-1", run=RUN).rows
            (judged,) = rows.filter(position=line.dependent)["correct"]
            assert judged == example.caption.startswith("Found")


@pytest.mark.slow
def test_what_is_not_above_chance_is_not_its_title(control_bank: Path) -> None:
    with open_bank(control_bank) as opened:
        random = card(opened, head="3-1", run=CONTROL).facts
        asked = card(opened, head="1-1", relation="obj").facts
    assert not any(row.is_significant for row in random.relations)
    assert random.title == "Head 3-1" and "random weights" in random.model
    assert asked.title.startswith("Head 1-1: obj") and asked.relations[0].relation == "obj"
    assert asked.sentence.endswith("Not above the offset by more than chance.")


@pytest.mark.slow
def test_what_the_bank_lacks_is_left_out_and_named(shown: Path) -> None:
    with open_bank(shown) as opened:
        drawn = card(opened, head="1-2", run="plain/minilm")
    facts = drawn.facts
    assert not facts.relations and facts.behaviours and facts.examples
    assert any(note.startswith("Relations: left out.") for note in facts.notes)
    assert any(note.startswith("Without a control") for note in facts.notes)
    assert "run has no relations" in facts.sentence and not rows_of(drawn, "accuracy")


@pytest.mark.slow
def test_norms_are_not_called_shares_of_attention(shown: Path) -> None:
    with open_bank(shown) as opened:
        facts = card(opened, head="1-2", run="plain/minilm/norms").facts
    assert not facts.behaviours and facts.examples
    assert any("which are not shares" in note for note in facts.notes)


@pytest.fixture(scope="module")
def shown(bank_of: BankFactory) -> Path:
    """Raw text, without trees."""
    text = "The lamp on the old table is red.\n\nNobody saw the small boat in the harbour.\n"
    weights = bank_of({"plain.txt": text}, "minilm")
    return bank_of({"plain.txt": text}, "minilm", after=weights, measure="norms")


@pytest.mark.slow
def test_a_causal_model_has_its_own_behaviours(
    tiny_causal_lm: Models, bank_of: BankFactory
) -> None:
    with open_bank(bank_of("stories", tiny_causal_lm("gpt2"))) as opened:
        drawn = card(opened, head="2-1")
    labels = {row.label for row in drawn.facts.behaviours}
    assert "first token" in labels and not labels & {"next token", "[CLS]", "[SEP]"}
    words = drawn.facts.examples[0].line
    assert words.set_apart == {words.words[0][0]}, "the first word counts as a special token"
    assert not any(words.set_apart & {arc.start, arc.end} for arc in words.arcs)


@pytest.mark.slow
def test_a_wrong_head_is_refused_as_everywhere(
    control_bank: Path, tmp_path: Path, cli: Cli
) -> None:
    file = tmp_path / "card.svg"
    call = ("-b", control_bank, "plot", "head_card", "-o", file)
    printed = cli(*call, "--head", "9-1", status=2).err
    assert "has no head 9-1." in printed and "6 layers of 12 heads: 1-1 to 6-12" in printed
    assert (
        printed.split("head 9-1.")[1]
        == cli("-b", control_bank, "show", "1", "--head", "9-1", status=2).err.split("head 9-1.")[1]
    )
    assert "is not a valid head" in cli(*call, "--head", "three", status=2).err
    assert "shows one head" in cli(*call, "--head", "3-1,3-2", status=2).err
    assert "No head is named" in cli(*call, status=2).err
    assert "Did you mean obj" in cli(*call, "--head", "3-1", "--relation", "objj", status=2).err
    assert not file.exists()
    with open_bank(control_bank) as opened, pytest.raises(CallError, match="no parameter most"):
        opened.picture("head_card", head="3-1", most=3)


@pytest.mark.slow
def test_each_format_and_a_column(control_bank: Path, tmp_path: Path, cli: Cli) -> None:
    call = ("-b", control_bank, "plot", "head_card", "--head", "3-1")
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"),
                          (".html", b"<!DOCTYPE"), (".json", b"{")):  # fmt: skip
        file = tmp_path / f"card{ending}"
        cli(*call, "-o", file, "--theme", "dark")
        assert file.read_bytes().startswith(start)
    column = tmp_path / "column.svg"
    printed = cli(*call, "--column", "3.25in", "--theme", "print", "--caption", "-o", column).out
    root = ElementTree.fromstring(column.read_text(encoding="utf-8"))
    assert root.attrib["width"] == "234pt"
    sizes = [float(text.attrib["font-size"].removesuffix("px")) for text in root.iter(f"{SVG}text")]
    assert min(sizes) >= 7 and float(root.attrib["height"][:-2]) < 648
    assert printed.startswith(r"\caption{Head 3-1: obj.") and r"head\_card" in printed
    greys = {
        value
        for part in root.iter()
        for name, value in part.attrib.items()
        if name in ("fill", "stroke") and value.startswith("#")
    }
    assert all(len({value[1:3], value[3:5], value[5:7]}) == 1 for value in greys)
    assert (
        "does not fit in a column of" in cli(*call, "--column", "1in", "-o", column, status=2).err
    )


def line_of(words: str, *arcs: Arc, marked: tuple[int, ...] = ()) -> ArcLine:
    dependent = marked[0] if marked else None
    return ArcLine("s", tuple(enumerate(words.split())), arcs, dependent, marked)


def marks(line: ArcLine, room: float, kind: str) -> list[dict[str, Any]]:
    """The rows of the marks of a kind in the view of a line."""
    view = arc_line_chart(line, "s", 0, room, THEMES["light"], Look(size=10))
    (rows,) = (layer["data"]["values"] for layer in view["layer"] if layer["mark"]["type"] == kind)
    return list(rows)


def test_marked_words_are_drawn_however_narrow() -> None:
    words = " ".join(f"word{number}" for number in range(40))
    line = line_of(words, Arc(2, 30, 0.5, "found"), marked=(2, 30))
    drawn = [row["text"] for row in marks(line, 150, "text")]
    assert {"word2", "word30", "0.50", "…"} <= {*drawn} and "word15" not in drawn
    assert not fits_whole(line, 150, 10) and fits_whole(line, 2000, 10)


def test_right_to_left_words_begin_at_the_right() -> None:
    line = line_of("שלום לכל העולם", Arc(0, 2, 0.5, "found"))
    places = {row["text"].strip("\u2067\u2069"): row["x"] for row in marks(line, 500, "text")}
    assert places["שלום"] > places["לכל"] > places["העולם"]
    words = line_of("all the world")
    left = {row["text"]: row["x"] for row in marks(words, 500, "text")}
    assert left["all"] < left["the"] < left["world"]


def test_weights_in_one_place_do_not_cover_each_other() -> None:
    line = line_of("a b c d", Arc(3, 1, 0.25, "missed"), Arc(3, 2, 0.5, "instead"))
    heights = {row["text"]: row["y"] for row in marks(line, 500, "text")}
    assert abs(heights["0.25"] - heights["0.50"]) >= 9


def test_norms_are_drawn_as_shares_of_the_largest() -> None:
    line = line_of("a b c d", Arc(3, 1, 40.0, "found"), Arc(2, 0, 2.0), Arc(1, 0, 20.0))
    widths = [row["strokeWidth"] for row in marks(line, 500, "point")]
    assert max(widths) == pytest.approx(3.0) and len(widths) == 3, "two arcs and an arrow"


@pytest.mark.slow
def test_a_look_is_that_of_other_pictures(control_bank: Path) -> None:
    with open_bank(control_bank) as opened:
        plain = opened.picture("head_card", head="3-1", look=Look(is_titled=False))
        plotted = opened.plot("head_card", head="3-1", theme="dark")
    assert isinstance(plain, HeadCard) and "Run " not in text_of(plain)
    assert plotted.to_dict()["config"]["background"] == THEMES["dark"].background
