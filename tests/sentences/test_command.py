"""The command `show`: text, files, and a clear word about what is wrong."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import canonicalize

import pytest
from bank_factory import BankFactory
from bank_rows import change_bank

from attnbank.cli.app import run_command_line
from attnbank.ingest.store.deleting import delete
from attnbank.queries import open_bank

Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shell(shown_bank: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Shell:
    """A function from the words of a command line to its status, its output and its messages."""

    def type_(*args: str, bank: Path = shown_bank) -> tuple[int, str, str]:
        status = run_command_line(["-b", str(bank), "show", *args])
        out, error = capfdbinary.readouterr()
        return status, out.decode(errors="replace"), error.decode()

    return type_


def test_a_table_for_people_has_the_rows(shell: Shell, shown_bank: Path) -> None:
    status, out, error = shell("sample_story-3", "--head", "3-2", "--relation", "obj")
    assert (status, error) == (0, "")
    with open_bank(shown_bank) as bank:
        rows = bank.show("sample_story-3", "3-2").rows
    lines = out.splitlines()
    assert lines[0].startswith("Run: stories/tiny-bert")
    body = lines[lines.index("Head 3-2 on sample_story-3") + 3 :]
    assert len(body) == rows.height == 12
    for line, row in zip(body, rows.iter_rows(named=True), strict=True):
        n, word, looks_at, weight, *rest = line.split()
        assert (int(n), word, looks_at) == (row["index"], row["dependent"], row["looks_at"])
        assert float(weight) == pytest.approx(row["weight"], abs=5e-4)
        bar = rest[0] if rest and rest[0][0] in "█▏▎▍▌▋▊▉" else ""
        eighths = 8 * bar.count("█") + sum(" ▏▎▍▌▋▊▉".index(each) for each in bar if each != "█")
        assert eighths == round(row["weight"] * 160)
        is_obj = row["relation"] == "obj"
        assert ("✓" in line) == (is_obj and row["correct"])
        assert line.endswith("  obj") == is_obj


def test_programs_get_every_row(shell: Shell, shown_bank: Path) -> None:
    status, out, _ = shell("sample_story-3", "--layer", "2", "-f", "json")
    with open_bank(shown_bank) as bank:
        rows = bank.show("sample_story-3", layer=2).rows
    assert status == 0 and json.loads(out) == json.loads(rows.write_json())
    status, out, _ = shell("sample_story-3", "--head", "2-1,2-2", "--head", "2-1", "-f", "csv")
    assert status == 0 and len(out.splitlines()) == 1 + 2 * 12


@pytest.mark.usual(3)
@pytest.mark.parametrize("format_", ["svg", "png", "pdf", "html"])
def test_a_picture_goes_where_its_ending_says(
    shell: Shell, shown_bank: Path, tmp_path: Path, format_: str
) -> None:
    if format_ in ("png", "pdf"):
        pytest.importorskip("vl_convert")
    path = tmp_path / f"x.{format_}"
    asked = ("sample_story-1", "--head", "3-1", "--theme", "dark")
    assert shell(*asked, "-o", str(path)) == (0, "", "")
    made = path.read_bytes()
    with open_bank(shown_bank) as bank:
        figure = bank.show("sample_story-1", "3-1")
    if format_ == "svg":
        assert canonicalize(made.decode()) == canonicalize(figure.draw("dark").rstrip())
    elif format_ == "html":
        assert made.decode() == figure.html("dark")
    elif format_ == "png":
        size = re.search(r'width="(\d+)" height="(\d+)"', figure.draw())
        assert size is not None
        assert made.startswith(b"\x89PNG")
        wide, high = (int.from_bytes(made[at : at + 4], "big") for at in (16, 20))
        assert (wide, high) == (2 * int(size[1]), 2 * int(size[2]))
    else:
        assert made.startswith(b"%PDF")
        assert b"/FontFile" in made, "the letters are in the file"
    if format_ == "svg":
        status, out, _ = shell(*asked, "-f", "svg")
        assert status == 0 and out == made.decode()


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (("sample_story-1",), 2, "No head is named.|3 layers of 4 heads: 1-1 to 3-4"),
        (("sample_story-1", "--head", "3-9"), 2, "has no head 3-9.|3 layers of 4 heads"),
        (("sample_story-1", "--head", "0-1"), 2, "has no head 0-1."),
        (("sample_story-1", "--head", "three"), 2, "three is not a valid head.|LAYER-HEAD"),
        (("sample_story-1", "--head", "1-²"), 2, "is not a valid head."),
        (("sample_story-1", "--layer", "4"), 2, "has no layer 4."),
        (("sample_stroy-1", "--head", "1-1"), 2, "is called sample_stroy-1.|sample_story-1"),
        (("999999", "--head", "1-1"), 2, "No sentence of the bank is called 999999."),
        (("9" * 40, "--head", "1-1"), 2, "No sentence of the bank is called 999"),
        (("same", "--head", "1-1"), 2, "sentences of the bank are called same.|(odd), 2:1 (bare)"),
        (("same", "--corpus", "nope", "--head", "1-1"), 2, "There is no corpus nope in"),
        (("same", "--corpus", "stories", "--head", "1-1"), 2, "corpus stories is called same"),
        (("sample_story-1", "--head", "1-1", "--run", "nope"), 2, "There is no run nope"),
        (("sample_story-1", "--head", "1-1", "--run", "1"), 2, "is of the corpus stories; the run"),
        (("long", "--head", "1-1"), 1, "left out the sentence long (too-long)"),
        (("same", "--corpus", "bare", "--head", "1-1", "--relation", "obj"), 1,
         "its corpus has no dependency trees"),
        (("same", "--corpus", "bare", "--head", "1-1", "--coreference"), 1,
         "its corpus has no mentions"),
        (("same", "--corpus", "bare", "--head", "1-1", "--tree", "-o", "x.svg"), 1,
         "its corpus has no dependency trees"),
        (("sample_story-1", "--head", "1-1", "--relation", "objj"), 2, "Did you mean obj"),
        (("sample_story-1", "--head", "1-1", "--tree"), 2, "--tree is only for pictures"),
        (("sample_story-1", "--head", "1-1", "--decoded", "all"), 2, "--decoded is only for pict"),
        (("sample_story-1", "--head", "1-1", "--run", "4", "--decoded", "all", "-o", "x.svg"), 1,
         "has no decoded trees of this kind|compute attention_tree --run 4"),
        (("sample_story-1", "--head", "1-1", "-o", "x.gif"), 2, ".svg, .png, .pdf, .html, .txt,"),
        (("sample_story-1", "--head", "1-1", "-o", "nowhere/x.svg"), 2, "There is no folder"),
        (("sample_story-1", "--head", "1-1", "--words", "5"), 2, "not a valid range of words"),
        (("sample_story-1", "--head", "1-1", "--words", "5-2"), 2, "is not a range of words"),
        (("sample_story-1", "--head", "1-1", "--words", "90-99"), 2, "words 1 to 15"),
        (("sample_story-1", "--head", "1-1", "--least", "nan"), 2, "is not a valid least weight"),
        (("sample_story-1", "--head", "1-1", "--limit", "51"), 2, "Give 1 to 50."),
        (("pattern { V [] }", "--layer", "1", "--layer", "2", "--limit", "50",
          "--head", "1-1,1-2,1-3,1-4,2-1,2-2,2-3,2-4,3-1"), 2, "up to 150 panels"),
        (("pattern { V [lemma=nope] }", "--head", "1-1"), 1, "The request matches nothing"),
        (("pattern { V -[obj]-> }", "--head", "1-1"), 2, "Line 1, column 22"),
    ],
)  # fmt: skip
def test_a_wrong_call_gets_a_clear_word(
    shell: Shell, args: tuple[str, ...], status: int, words: str
) -> None:
    found, out, error = shell(*args)
    assert (found, out) == (status, "")
    for each in words.split("|"):
        assert each in error
    told = [line for line in error.splitlines() if not line.startswith("Warning: ")]
    assert told[0].startswith("Error: ") and len(told) <= 4 and "Traceback" not in error


@pytest.mark.slow
def test_a_bank_without_runs(
    shell: Shell, run_names: dict[str, str], shown_bank: Path, tmp_path: Path
) -> None:
    assert shell("x", "--head", "1-1", bank=tmp_path / "none.duckdb")[0] == 1
    bank = tmp_path / "copy.duckdb"
    shutil.copy(shown_bank, bank)
    delete(bank, runs=[run_names["odd"]])
    status, _, error = shell("1", "--head", "1-1", bank=bank)
    assert status == 1 and "No run over the corpus odd is suitable: it has none." in error
    delete(bank, runs=[name for key, name in run_names.items() if key != "odd"])
    status, _, error = shell("1", "--head", "1-1", bank=bank)
    assert status == 1 and "has no run." in error and "ingest CORPUS" in error
    status, _, error = shell("pattern { V [] }", "--head", "1-1", bank=bank)
    assert status == 1 and "has no run." in error


@pytest.mark.slow
def test_a_number_is_an_id_before_it_is_a_name(shell: Shell, bank_of: BankFactory) -> None:
    text = "".join(
        f"# sent_id = {name}\n1\t{form}\t_\tX\t_\t_\t0\troot\t_\t_\n"
        "2\tlamp\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
        for name, form in (("2", "first"), ("1", "second"), ("77", "third"))
    )
    bank = bank_of({"numbered.conllu": text})
    for asked, form in (("1", "first"), ("2", "second"), ("77", "third")):
        status, out, _ = shell(asked, "--head", "1-1", "-f", "csv", bank=bank)
        assert status == 0 and out.splitlines()[1].split(",")[5] == form


@pytest.mark.slow
def test_a_request_that_asks_about_attention_chooses_the_run(
    shell: Shell, run_names: dict[str, str]
) -> None:
    """The hits are those of the run that is shown."""
    request = "pattern { A =[3-1]=> B; A << B }"
    status, out, _ = shell(request, "--head", "3-1", "-f", "csv")
    assert status == 0 and out.splitlines()[1].endswith(run_names["single"])
    named = ("--run", run_names["decoder"])
    status, _, error = shell(request, "--head", "3-1", *named)
    assert status == 1 and "matches nothing" in error, "a decoder looks at no later word"
    status, out, _ = shell(request.replace("A << B", "B << A"), "--head", "3-1", *named)
    assert status == 0 and run_names["decoder"] in out


@pytest.mark.slow
def test_hits_that_the_run_left_out_are_passed_over(
    shell: Shell, run_names: dict[str, str]
) -> None:
    request = 'pattern { N [form="lamp"] }'
    options = ("--corpus", "bare", "--head", "1-1", "--limit", "2", "-f", "csv")
    status, out, error = shell(request, *options, "--run", run_names["short"])
    assert status == 0 and "has 1 of the 2 requested sentences" in error
    assert {line.split(",")[0] for line in out.splitlines()[1:]} == {"same"}
    status, out, error = shell(request, *options, "--run", run_names["long"])
    assert {line.split(",")[0] for line in out.splitlines()[1:]} == {"same", "long"}


@pytest.mark.usual("update position*")
@pytest.mark.parametrize(
    "change",
    [
        "update attention set weights = weights[1:3]",
        "update attention set weights = list_transform(weights, lambda x: 'nan'::float)",
        "update attention set weights = list_transform(weights, lambda x: null)",
        "delete from attention where from_position = 2",
        "update position set position = position + 1",
    ],
)
def test_maps_that_are_not_whole(
    shell: Shell, shown_bank: Path, tmp_path: Path, change: str
) -> None:
    bank = tmp_path / "copy.duckdb"
    shutil.copy(shown_bank, bank)
    change_bank(bank, change)
    status, _, error = shell("sample_story-1", "--head", "1-1", bank=bank)
    assert status == 1 and "The bank is damaged" in error


def test_names_are_no_markup(shell: Shell) -> None:
    name = '<script>alert("x")</script>'
    status, out, _ = shell(name, "--head", "1-1", "-f", "markdown")
    assert status == 0 and "Head 1-1 on \\<script>" in out
    assert out.count("<script>") == out.count("\\<script>") > 2
    status, out, _ = shell(name, "--head", "1-1", "-f", "latex")
    assert f"% Head 1-1 on {name}" in out.splitlines()
