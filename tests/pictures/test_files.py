"""The files of pictures: each opens, asks for nothing outside itself, and takes any name."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import zlib
from xml.etree import ElementTree

import polars as pl
import pytest
from drawn import frame_of_heads, heads, words_of

from attnbank.queries.pictures import ENDINGS, ChartFacts, Size, render, specification
from attnbank.sql import registry

HEBREW = "\u05e9\u05dc\u05d5\u05dd"
ARABIC = "\u0645\u0631\u062d\u0628\u0627"
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\x00\x01\x1b[31m\x7f",
    "a\nb\u2028c",
    "\u202eevil\u202c",
    HEBREW,
    ARABIC,
    "']; alert(1); ['",
    "datum.x \\u0022 ${x} {{x}}",
    "&amp; & ]]> -->",
    "\uffff",
    "x" * 5000,
    "x" * 5001,
    "\U0001f600" * 100,
    "a" + "\U0001f600" * 100,
]
ANALYSIS = heads("bars x=share y=group beside=other domain=0,1")
FACTS = ChartFacts(("r",), ("m",), ("c",))


def _hostile_rows() -> pl.DataFrame:
    return frame_of_heads(1, 1, tuple(HOSTILE))


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A picture full of hostile names, in every format."""
    facts = ChartFacts(tuple(HOSTILE[:3]), (HOSTILE[0],), (HOSTILE[4],), {"relation": HOSTILE[1]})
    made = specification(ANALYSIS, _hostile_rows(), facts)
    return {ending: render(made, ending, scale=2) for ending in ENDINGS}


def test_an_svg_is_one_document_without_scripts(files: dict[str, bytes]) -> None:
    root = ElementTree.fromstring(files[".svg"])
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and "text" in names
    assert names <= {"svg", "g", "path", "rect", "line", "text", "tspan", "defs", "clipPath",
                     "linearGradient", "stop", "title"}  # fmt: skip
    for element in root.iter():
        for name, value in element.attrib.items():
            assert "href" not in name and not name.startswith("on"), name
            assert "url(" not in value or "url(#" in value
    texts = "".join(root.itertext())
    assert "<script>alert(1)</script>" in texts
    fonts = {each.get("font-family") for each in root.iter() if each.get("font-family")}
    usual = "Liberation Sans, Arial, Helvetica, sans-serif"
    own = ("Noto Sans Hebrew, DejaVu Sans, Arial", "Noto Sans Arabic, DejaVu Sans, Arial")
    assert fonts == {usual, *(f"{each}, {usual}" for each in own)}


def test_names_without_end_do_not_make_a_picture_without_end() -> None:
    """Each mark has the texts of its row as a label; two that begin alike stay two."""
    long = "long " * 200_000
    rows = frame_of_heads(1, 1, (long + "a", long + "b", "short"))
    made = specification(ANALYSIS, rows, ChartFacts((long,), (long,), (long,), {"relation": long}))
    assert len({row["group"] for row in made["datasets"]["rows"]}) == 3
    assert all(len(render(made, ending)) < 100_000 for ending in (".svg", ".json"))


def test_a_png_has_the_size_that_was_asked_for(files: dict[str, bytes]) -> None:
    root = ElementTree.fromstring(files[".svg"])
    assert files[".png"].startswith(b"\x89PNG\r\n\x1a\n")
    size = struct.unpack(">II", files[".png"][16:24])
    wanted = [2 * float(root.attrib[side]) for side in ("width", "height")]
    assert size == pytest.approx(wanted, abs=1)


def test_a_pdf_has_its_fonts_in_it(files: dict[str, bytes]) -> None:
    pdf = files[".pdf"]
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    inflated = pdf + b"".join(
        zlib.decompressobj().decompress(part)
        for part in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
        if part[:1] == b"x"
    )
    assert b"LiberationSans" in inflated and b"/FontFile" in inflated
    assert b"/URI" not in inflated and b"/JavaScript" not in inflated


def test_a_page_is_one_file_that_asks_for_no_other(files: dict[str, bytes]) -> None:
    html = files[".html"].decode()
    tags = "html head meta meta meta title style body div script script"
    outside_scripts = re.sub(r"(<script[^>]*>).*?</script>", r"\1", html, flags=re.DOTALL)
    opened = re.findall(r"<([a-z]+)([^>]*)>", outside_scripts)
    assert sorted(tag for tag, _ in opened) == sorted(tags.split())
    assert not [
        attributes for _, attributes in opened if re.search(r" (src|href|on\w+)=", attributes)
    ]
    assert "default-src 'none'" in html
    assert json.loads(_scripts(html)["specification"]) == json.loads(files[".json"])


def _scripts(html: str) -> dict[str, str]:
    """The scripts of a page by their id, or script."""
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL)
    ids = [re.search(r'id="(\w+)"', attributes) for attributes, _ in scripts]
    return {id[1] if id else "script": text for id, (_, text) in zip(ids, scripts, strict=True)}


def test_the_scripts_of_a_page_are_whole(files: dict[str, bytes]) -> None:
    """Node reads them, where it is installed."""
    script = _scripts(files[".html"].decode())["script"]
    try:
        done = subprocess.run(
            ["node", "--input-type=module", "--check"],
            input=script, text=True, capture_output=True, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("node is not installed")
    assert not done.returncode, done.stderr[-500:]


def test_every_name_is_shown_as_one_short_text() -> None:
    made = specification(ANALYSIS, _hostile_rows(), FACTS)
    shown = words_of(made)
    assert "<script>alert(1)</script>" in shown
    assert r"\x00\x01\x1b[31m\x7f" in shown and r"a\x0ab\u2028c" in shown
    assert r"\u202eevil\u202c" in shown
    assert {f"\u2068{HEBREW}\u2069", f"\u2068{ARABIC}\u2069"} <= set(shown)
    cut = [each for each in shown if each.startswith("xxx")]
    assert len(cut) == 2 and all(re.fullmatch(r"x{33}…\d{4}", each) for each in cut)
    assert len(set(cut)) == 2, "two long names are one"
    assert not any(character in text for text in shown for character in "\x00\x1b\n\u202e")


def test_the_specification_has_no_address_but_its_schema() -> None:
    text = render(specification(ANALYSIS, frame_of_heads(), FACTS), ".json").decode()
    assert re.findall(r"https?://[^\"]+", text) == [
        "https://vega.github.io/schema/vega-lite/v6.json"
    ]


def test_a_size_is_that_of_a_panel() -> None:
    made = specification(heads("points y=share"), frame_of_heads(), size=Size(300, 120))
    assert (made["width"], made["height"]) == (300, 120)
    grid = specification(heads("grid color=share"), frame_of_heads(2, 3), size=Size(300, 120))
    assert (grid["width"], grid["height"]) == ({"step": 100}, {"step": 60})


def test_a_header_may_be_hostile_too() -> None:
    text = "bars x=share y=group\n-- note: n"
    own = heads(text, title="\x01\u202e<script>alert(1)</script>")
    svg = render(specification(own, frame_of_heads(), FACTS), ".svg")
    told = "".join(ElementTree.fromstring(svg).itertext())
    assert r"\x01\u202e<script>alert(1)</script>" in told


def test_the_same_picture_has_the_same_bytes_every_time() -> None:
    """Its clips and gradients have ids that others of the process do not count on."""
    grid = heads("grid color=share,other panel=group domain=0,1")
    made = specification(grid, frame_of_heads(), FACTS)
    first = render(made, ".svg")
    render(specification(grid, frame_of_heads(), FACTS, "dark"), ".svg")
    assert render(made, ".svg") == first
    root = ElementTree.fromstring(first)
    names = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert names == [f"id{at}" for at in range(len(names))] and names
    used = {
        value[5:-1]
        for element in root.iter()
        for value in element.attrib.values()
        if value.startswith("url(#")
    }
    assert used and used <= {*names}


def test_a_scale_of_colours_says_where_it_ends() -> None:
    """Left to itself, Vega writes 1.46 as 1."""
    frame = pl.DataFrame(
        {"corpus_a": ["fr", "fr", "he"], "corpus_b": ["he", "tr", "tr"], "distance": [0.2, 1.46, 1]}
    )
    svg = render(
        specification(registry.find_analysis("head_agreement"), frame, FACTS), ".svg"
    ).decode()
    assert ">1.46<" in svg and ">1<" not in svg
