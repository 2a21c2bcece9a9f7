"""Pictures for the column of a paper: their size, their letters, their lines, their caption."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from shutil import which

import pytest
from command_line import Cli

SVG = "{http://www.w3.org/2000/svg}"
COLUMN = 3.25 * 72


def _commands() -> list[list[str]]:
    shown = ["show", "sample_story-1", "--head", "3-2,3-1", "--relation", "all", "--tree"]
    mentions = ["show", "sample_story-3", "--head", "2-1", "--coreference"]
    plots = [
        ["plot", "best_head", "--min-count", "1"],
        ["plot", "figure_2"],
        ["plot", "head_accuracy"],
        ["plot", "head_pattern"],
        ["plot", "entropy"],
    ]
    return [shown, mentions, *plots]


@pytest.mark.usual("plot entropy")
@pytest.mark.few("show*", "plot best_head", "plot head_accuracy")
@pytest.mark.parametrize("words", _commands(), ids=lambda words: " ".join(words[:2]))
def test_letters_and_lines_have_the_size_of_print(
    shown_bank: Path, tmp_path: Path, cli: Cli, words: list[str]
) -> None:
    """At the final size letters are 7 to 9 points high, and lines half a point wide at least."""
    pytest.importorskip("spacy")
    files = {ending: tmp_path / f"figure.{ending}" for ending in ("svg", "pdf", "png")}
    paper = ["--column", "3.25in", "--theme", "print", "--no-title"]
    for file in files.values():
        cli("-b", shown_bank, *words, *paper, "-o", file)
    root = ET.parse(files["svg"]).getroot()
    width, height = root.attrib["width"], root.attrib["height"]
    assert width.endswith("pt") and height.endswith("pt")
    assert float(width[:-2]) == pytest.approx(COLUMN, abs=0.05)
    for size, points in _sizes(root, float(width[:-2]) / _wide(root)):
        assert 6.99 <= points <= 9.01, size
    for line, points in _lines(root, float(width[:-2]) / _wide(root)):
        assert points >= 0.495, line
    boxes = re.findall(rb"/MediaBox ?\[ ?0 0 ([\d.]+) ([\d.]+) ?\]", files["pdf"].read_bytes())
    assert [float(each) for each in boxes[0]] == pytest.approx([COLUMN, float(height[:-2])], abs=1)
    assert b"/FontFile" in files["pdf"].read_bytes()
    header = files["png"].read_bytes()[16:24]
    assert int.from_bytes(header[:4], "big") == pytest.approx(3.25 * 300, abs=5)


def _wide(root: ET.Element) -> float:
    return float(root.attrib["viewBox"].split()[2])


def _scaled(element: ET.Element, scale: float) -> float:
    """How much larger what is within an SVG document gets by its view box."""
    if element.tag != f"{SVG}svg" or "viewBox" not in element.attrib:
        return scale
    return scale * float(element.attrib["width"]) / float(element.attrib["viewBox"].split()[2])


def _walk(root: ET.Element, scale: float, size: float) -> list[tuple[ET.Element, float, float]]:
    """Each element, with the scale it is drawn in, and the height of its letters."""
    found = []
    for element in root:
        inner = _scaled(element, scale)
        own = element.attrib.get("font-size")
        style = re.search(r"font-size: ?([\d.]+)em", element.get("style") or "")
        height = size
        if own is not None:
            height = float(own.removesuffix("px"))
        elif style is not None or "displacy-label" in (element.get("class") or ""):
            height = size * float(style[1]) if style else size
        found += [(element, inner, height), *_walk(element, inner, height)]
    return found


def _sizes(root: ET.Element, scale: float) -> list[tuple[str, float]]:
    return [
        ("".join(element.itertext()), height * inner)
        for element, inner, height in _walk(root, scale, 16.0)
        if element.tag == f"{SVG}text" and "".join(element.itertext()).strip()
    ]


def _lines(root: ET.Element, scale: float) -> list[tuple[str, float]]:
    return [
        (str(element.attrib), float(element.get("stroke-width", "1").removesuffix("px")) * inner)
        for element, inner, _ in _walk(root, scale, 16.0)
        if element.get("stroke") not in (None, "none", "transparent")
        and element.get("stroke-width") != "0"
    ]


@pytest.mark.slow
def test_a_caption_says_run_n_and_command(shown_bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "a_b" / "best_head.pdf"
    file.parent.mkdir()
    plot = ("-b", shown_bank, "plot", "best_head")
    printed = cli(*plot, "--min-count", "1", "--caption", "-o", file).out
    assert printed.startswith("\\caption{The best head for each relation") and printed.endswith(
        "}\n"
    )
    assert re.search(r"n = \d+ to \d+", printed) and "corpus stories" in printed
    command = "attnbank plot best\\_head -b bank.duckdb --min-count 1 -o best\\_head.pdf"
    assert f"\\texttt{{{command}}}" in printed and "a_b" not in printed
    for attached in (f"--output={file}", f"-o{file}"):
        other = cli(*plot, "--caption", attached).out
        assert "-o best\\_head.pdf}" in other and "a_b" not in other and "a\\_b" not in other
    show = ("-b", shown_bank, "show", "sample_story-1", "--head", "3-2", "--relation", "all")
    printed = cli(*show, "--caption", "-o", file).out
    assert re.search(r"Of n = \d+ gold arcs \d+ are found\.", printed)
    assert "sample\\_story-1" in printed and printed.count("\\texttt") == 1
    plain = re.sub(r"\\(text\w+\{\}|[{}#$%&_])", "", printed.replace("$-$", ""))
    assert not set("#$%&_~^") & set(plain), "what has a meaning in LaTeX is written out"


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plot", "best_head", "--column", "3 feet", "-o", "x.pdf"], "not a valid width"),
        (["plot", "best_head", "--column", "0.2in", "-o", "x.pdf"], "from 1 to 20 inches"),
        (["plot", "best_head", "--column", "3in", "--width", "200", "-o", "x.pdf"],
         "--column cannot be combined with --width"),
        (["show", "sample_story-1", "--column", "3in"], "only for pictures"),
        (["show", "sample_story-1", "--caption", "-f", "svg"], "needs a file"),
        (["show", "sample_story-1", "--head", "1-1", "--column", "1in", "-o", "x.svg"],
         "needs a column of 1."),
        (["plot", "attention_by_class", "--column", "1in", "-o", "x.svg"], "does not fit in"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(
    shown_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    cli: Cli, words: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert message in cli("-b", shown_bank, *words, status=2).err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_letters_have_their_usual_size_unless_another_is_asked_for(
    shown_bank: Path, tmp_path: Path, cli: Cli
) -> None:
    """Without a title, the letters of a sentence once were those of a plot."""
    sizes = {}
    for words in ((), ("--no-title",), ("--font-size", "28")):
        for kind in ("show", "plot"):
            asked = ["sample_story-1", "--head", "1-1"] if kind == "show" else ["figure_1"]
            file = tmp_path / "figure.svg"
            cli("-b", shown_bank, kind, *asked, *words, "-o", file)
            root = ET.parse(file).getroot()
            sizes[kind, words] = float(root.attrib["width"]) / _wide(root)
    for kind in ("show", "plot"):
        assert sizes[kind, ()] == sizes[kind, ("--no-title",)] == pytest.approx(1)
        assert sizes[kind, ("--font-size", "28")] == pytest.approx(2, abs=0.01)
    page = tmp_path / "figure.html"
    cli("-b", shown_bank, "show", "sample_story-1", "--head", "1-1", "--no-title", "-o", page)
    assert "Line width" not in re.sub(r"<desc>.*?</desc>", "", page.read_text(encoding="utf-8"))


def test_letters_of_a_script_are_of_its_own_font(
    shown_bank: Path, tmp_path: Path, cli: Cli
) -> None:
    """Chinese once came in a Japanese serif, Hebrew in a bold condensed one."""
    name = '<script>alert("x")</script>'
    files = [tmp_path / "figure.svg", tmp_path / "figure.pdf"]
    for file in files:
        cli("-b", shown_bank, "show", name, "--head", "1-1", "--no-title", "-o", file)
    families = {
        "".join(element.itertext()): element.get("font-family", "").split(",")[0].strip("' ")
        for element in ET.parse(files[0]).getroot().iter(f"{SVG}text")
    }
    for letters, family in (
        ("漢字", "Noto Sans CJK SC"), ("שלום", "Noto Sans Hebrew"), ("مرحبا", "Noto Sans Arabic")
    ):  # fmt: skip
        assert [each for text, each in families.items() if letters in text] == [family]
    assert which("pdffonts") is None or b"Bold" not in _fonts(files[1])
    has_chinese = (
        which("fc-list")
        and subprocess.run(["fc-list", "Noto Sans CJK SC"], capture_output=True, check=True).stdout
    )
    if has_chinese and which("pdffonts"):
        assert b"NotoSansCJKsc" in _fonts(files[1])
        assert b"Serif" not in _fonts(files[1])


def _fonts(file: Path) -> bytes:
    return subprocess.run(["pdffonts", str(file)], capture_output=True, check=True).stdout
