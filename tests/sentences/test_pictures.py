"""The lines, marks and words of a picture are what the tables say, read slowly."""

from __future__ import annotations

import base64
import hashlib
import re
import statistics
import xml.etree.ElementTree as ET
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sentence_pictures import ISOLATES, SVG, panels, read, texts

from attnbank.queries import open_bank
from attnbank.queries.pictures.rendering import text_width
from attnbank.queries.pictures.sentence import Panel, SentenceFacts, note_lines
from attnbank.queries.pictures.theme import THEMES
from attnbank.queries.pictures.tree import Tree, draw_tree, tree_width
from attnbank.sql.errors import AttnbankWarning, CallError

HEADS = ((1, 1), (3, 4))
NAMES = ("1-1", "3-4")


@pytest.mark.usual(4)
@pytest.mark.parametrize("run", ["single", "document", "pair", "decoder"])
@pytest.mark.parametrize("special", [True, False], ids=["special", "words alone"])
@pytest.mark.filterwarnings("ignore:The input has:attnbank.sql.errors.AttnbankWarning")
def test_every_line_is_a_weight(
    shown_bank: Path, run_names: dict[str, str], run: str, special: bool
) -> None:
    """Every weight from the least on has its line, with the number; and no other line is there."""
    sentence = "sample_story-2"
    first = read(shown_bank, run_names[run], sentence, HEADS[0])
    own = first.own(sentence)
    least = statistics.median(first.weights[a][b] for a in own for b in own if first.weights[a][b])
    with open_bank(shown_bank) as bank:
        figure = bank.show(sentence, NAMES, run=run_names[run], special=special, least=least)
    drawn = panels(figure.svg)
    assert [each.head for each in drawn] == list(HEADS)
    total = possible = 0
    for each in drawn:
        slow = read(shown_bank, run_names[run], sentence, each.head)
        places = sorted({*slow.own(sentence), *(slow.special if special else [])})
        assert len(each.left) == len(places)
        expected = {}
        for place in places:
            for other in places:
                expected[str(place), str(other)] = slow.weights[place][other]
            others = [to for to in range(len(slow.positions)) if to not in [*places, *slow.special]]
            if others:
                rest = sum(slow.weights[place][to] for to in others)
                expected[str(place), "elsewhere"] = rest
        possible += len(expected)
        expected = {ends: weight for ends, weight in expected.items() if weight >= least}
        assert each.weights == pytest.approx(expected, abs=1e-8)
        total += len(expected)
    assert 30 < total < possible
    assert f"below {least:g} hidden" in " ".join(texts(figure.svg))
    if run == "decoder":
        assert all(int(a) >= int(b) for each in drawn for a, b in each.lines)


def test_the_rows_are_the_strongest_lines(shown_bank: Path) -> None:
    """What a word looks at most is its strongest line to another word."""
    with open_bank(shown_bank) as bank:
        figure = bank.show("sample_story-1", "3-4", special=False, least=0.0)
    (drawn,) = panels(figure.svg)
    for row in figure.rows.iter_rows(named=True):
        own = str(row["position"])
        others = {to: weight for (start, to), weight in drawn.weights.items()
                  if start == own and to not in (own, "elsewhere")}  # fmt: skip
        assert max(others, key=lambda to: others[to]) == str(row["looks_at_position"])
        assert others[str(row["looks_at_position"])] == pytest.approx(row["weight"], rel=1e-7)
    stronger = sorted(drawn.lines.values(), key=lambda line: float(line["data-weight"]))
    opacities = [float(line["stroke-opacity"]) for line in stronger]
    assert opacities == sorted(opacities) and len(set(opacities)) > 10


def test_every_line_is_as_strong_as_its_weight(shown_bank: Path, run_names: dict[str, str]) -> None:
    """Gold lines and those to antecedents had a floor, and looked stronger than they were."""
    kinds = set()
    with open_bank(shown_bank) as bank:
        for asked in (
            {"relation": "all"},
            {"coreference": True, "before": 2, "run": run_names["document"]},
        ):
            figure = bank.show("sample_story-3", "2-1", **asked)
            (drawn,) = panels(figure.svg)
            for ends, line in drawn.lines.items():
                weight = float(line["data-weight"])
                assert float(line["stroke-opacity"]) == pytest.approx(weight, abs=6e-4)
                assert float(line["stroke-width"]) == pytest.approx(0.5 + 2.5 * weight, abs=6e-3)
                kinds.add((drawn.marks.get(ends), weight < 0.2))
            told = texts(figure.svg)
            assert told[told.index("Weight 0.1") :][:4] == ["Weight 0.1", "0.25", "0.5", "1"]
    assert {"hollow", "dots", None} <= {mark for mark, is_weak in kinds if is_weak}


def test_special_tokens_are_pale_and_below_all_else(shown_bank: Path) -> None:
    """Their lines are the widest of most heads, and would cover what a picture is about."""
    colours = THEMES["light"].sentence
    with open_bank(shown_bank) as bank:
        figure = bank.show("sample_story-3", "2-1", relation="all", least=0.0)
    (panel,) = figure.panels
    special = {str(at) for at in panel.words.filter("is_special")["position"]} | {"elsewhere"}
    for word in ET.fromstring(figure.svg).iter(f"{SVG}g"):
        if word.get("class") != "from":
            continue
        ranks = []
        for line in word.iter(f"{SVG}line"):
            is_special = not special.isdisjoint({line.get("data-from"), line.get("data-to")})
            is_gold = line.get("data-gold") is not None
            ranks.append(2 if is_gold else 0 if is_special else 1)
            expected = (colours.faint_line, colours.line, colours.gold)[ranks[-1]]
            assert line.get("stroke") == expected
        assert ranks == sorted(ranks) and ranks


@pytest.mark.usual("obj-*-head_to_dependent", "all-*-dependent_to_head")
@pytest.mark.parametrize("direction", ["dependent_to_head", "head_to_dependent"])
@pytest.mark.parametrize(
    ("asked", "of"), [("obj", ("obj",)), ("nmod", ("nmod", "nmod:poss")), ("all", ())]
)
def test_gold_arcs_are_those_of_the_tree(
    shown_bank: Path, run_names: dict[str, str], direction: str, asked: str, of: tuple[str, ...]
) -> None:
    """They are drawn whatever they weigh, and marked as found where the peak is there."""
    found_any = 0
    sentences = ("sample_story-1", "sample_story-2", "sample_story-3")
    options: dict[str, Any] = {"relation": asked, "direction": direction, "least": 0.9}
    with open_bank(shown_bank) as bank:
        figures = [bank.show(sentence, "3-2", **options) for sentence in sentences]
    for sentence, figure in zip(sentences, figures, strict=True):
        (drawn,) = panels(figure.svg)
        slow = read(shown_bank, run_names["single"], sentence, (3, 2))
        found: set[tuple[int, int]] = set()
        missed: set[tuple[int, int]] = set()
        for place in slow.own(sentence):
            heads = slow.head_of(place)
            if not heads or (of and slow.positions[place]["relation"] not in of):
                continue
            backward = direction == "head_to_dependent"
            top = slow.most_attending(place) if backward else slow.top(place)
            arc = (heads[0], place) if backward else (place, heads[0])
            (found if top == heads[0] else missed).add(arc)
        assert drawn.gold("found") == found
        assert drawn.gold("missed") == missed
        assert drawn.marks == {
            **{(str(a), str(b)): "full" for a, b in found},
            **{(str(a), str(b)): "hollow" for a, b in missed},
        }
        found_any += len(found) + len(missed)
    assert found_any == {"obj": 4, "nmod": 1, "all": 38}[asked]


def test_mentions_of_one_entity_have_one_colour(
    shown_bank: Path, run_names: dict[str, str]
) -> None:
    """Old Jonas ... he; the boy ... The boy's ... him ... him: over three sentences of an input."""
    with open_bank(shown_bank) as bank:
        figure = bank.show(
            "sample_story-3", "2-1", run=run_names["document"], coreference=True, before=2
        )
    (drawn,) = panels(figure.svg)
    words = drawn.left
    first = int(min(drawn.lines, key=lambda ends: int(ends[0]))[0])
    spelled: dict[int, list[str]] = {}
    for entity, start, end, _ in dict.fromkeys(drawn.mentions):
        spelled.setdefault(entity, []).append(" ".join(words[start - first : end - first + 1]))
    assert spelled == {
        0: ["Old Jonas", "he", "Jonas"],
        1: ["the boy", "The boy 's", "him", "him"],
    }
    colours: dict[str, set[str]] = {}
    for bar in ET.fromstring(figure.svg).iter(f"{SVG}rect"):
        if bar.get("class") == "mention":
            colours.setdefault(bar.attrib["data-entity"], set()).add(bar.attrib["fill"])
    assert all(len(each) == 1 for each in colours.values())
    assert len(set.union(*colours.values())) == 2
    assert len(drawn.mentions) == 2 * 7, "a bar on each side"
    for number, colour in colours.items():
        heads = {head for other, _, _, head in drawn.mentions if other == int(number)}
        lines = {ends for ends, line in drawn.lines.items() if {line["stroke"]} == colour}
        earlier = {(str(a), str(b)) for a in heads for b in heads if b < a}
        assert lines == earlier, "from a mention to those before it"


def test_heads_of_a_layer_and_hits_of_a_request(shown_bank: Path) -> None:
    with open_bank(shown_bank) as bank:
        layer = bank.show("sample_story-1", layer=2)
        hits = bank.show("pattern { V -[obj]-> O }", "3-1", hits=3, corpus="stories")
        rows = bank.find("pattern { V -[obj]-> O }", corpus="stories", context=False)
    words: dict[str, set[int]] = {}
    for name, *matched in rows.rows():
        words.setdefault(name, set()).update(matched)
    assert [each.head for each in panels(layer.svg)] == [(2, 1), (2, 2), (2, 3), (2, 4)]
    assert layer.rows.height == 4 * 15
    names = [each.sentence for each in panels(hits.svg)]
    assert names == list(words)[:3]
    for panel in hits.panels:
        marked = panel.words.filter(panel.words["is_matched"])["index"]
        assert set(marked) == words[panel.sentence]
    svg = hits.svg
    assert "Matched words are highlighted." in " ".join(texts(svg))
    assert "Head 3-1 on 3 sentences" in texts(svg)


def test_the_ground_of_a_matched_word_lies_behind_it(shown_bank: Path) -> None:
    with open_bank(shown_bank) as bank:
        svg = bank.show("sample_story-1", "3-1", matched=(2, 5)).svg
    anchors = []
    for parent in ET.fromstring(svg).iter():
        for box, word in pairwise(parent):
            if (box.tag, word.tag) == (f"{SVG}rect", f"{SVG}text") and box.get("rx") == "2":
                left, width = (float(box.attrib[name]) for name in ("x", "width"))
                anchors.append(word.get("text-anchor"))
                at = left + width - 2 if anchors[-1] == "end" else left + 2
                assert at == pytest.approx(float(word.attrib["x"]), abs=0.1)
    assert sorted(map(str, anchors)) == ["None", "None", "end", "end"]


def test_the_title_says_run_model_and_corpus(shown_bank: Path, run_names: dict[str, str]) -> None:
    with open_bank(shown_bank) as bank:
        figure = bank.show("sample_story-1", "3-1")
        model = Path(bank.runs().filter(name=run_names["single"])["model"][0]).name
    printed = " ".join(texts(figure.svg))
    assert "Head 3-1 on sample_story-1" in printed
    assert f"Run {run_names['single']}: model {model}, corpus stories." in printed
    assert figure._repr_svg_() == figure.svg == figure.draw("light") != figure.draw("dark")
    with pytest.raises(CallError, match="Theme pink does not exist"):
        figure.draw("pink")


def test_a_picture_is_the_same_every_time(shown_bank: Path) -> None:
    with open_bank(shown_bank) as bank:
        one, two = (bank.show("sample_story-1", "3-1", tree=True).svg for _ in range(2))
    assert one == two
    assert {"kept", "VERB", "advcl"} <= set(" ".join(texts(one)).split())


def _tree(count: int, word: str) -> Tree:
    heads = tuple(None if at == 0 else (at - 1 if at % 3 else 0) for at in range(count))
    words = tuple(f"{word}{at}" for at in range(count))
    return Tree(words, ("X",) * count, heads, tuple(f"r{at}" for at in range(count)))


@pytest.mark.parametrize(("word", "step"), [("w", 1), ("\u05de\u05dc\u05d4", -1)])
def test_a_long_tree_goes_on_in_another_row(word: str, step: int) -> None:
    """Sixty words once made a picture of 7,390 pixels; Hebrew runs from the right."""
    tree = _tree(60, word)
    room = tree_width(tree)
    assert room < 1300
    drawn, high = draw_tree(tree, 0.0, 0.0, room, THEMES["light"].sentence)
    rows = _rows_of(drawn)
    assert len(rows) >= 2
    order = [name for row in rows for name, _ in sorted(row["tree-word"], key=_x)[::step]]
    assert order == [*tree.words]
    for row in rows:  # no letter of a word, a tag or a label is cut, or on its neighbour
        for kind, size in (("tree-word", 14.0), ("tree-tag", 12.0), ("tree-label", 12.0)):
            for text, at in row[kind]:
                half = text_width(text, size) / 2
                assert at - half >= -1 and at + half <= room + 1, text
        edges = [(at - text_width(text, 14.0) / 2, at + text_width(text, 14.0) / 2)
                 for text, at in sorted(row["tree-word"], key=_x)]  # fmt: skip
        assert all(end < start for (_, end), (start, _) in pairwise(edges))
    labels = {text for row in rows for text, _ in row["tree-label"]}
    assert labels == {f"r{at}" for at in range(1, 60)}, "every arc has its label in some row"
    short, tall = draw_tree(_tree(6, word), 0.0, 0.0, 1200.0, THEMES["light"].sentence)
    assert len(_rows_of(short)) == 1 and tall < high


def test_a_word_that_is_wider_than_the_picture_has_a_row_of_its_own() -> None:
    tree = Tree(("Donaudampfschifffahrt", "ends"), ("NOUN", "VERB"), (1, None), ("nsubj", ""))
    drawn, _ = draw_tree(tree, 0.0, 0.0, 60.0, THEMES["light"].sentence)
    rows = [[name for name, _ in row["tree-word"]] for row in _rows_of(drawn)]
    assert rows == [["Donaudampfschifffahrt"], ["ends"]]


def _x(message: tuple[str, float]) -> float:
    return message[1]


def _rows_of(drawn: str) -> list[dict[str, list[tuple[str, float]]]]:
    """The texts of each row of a tree by their kind, with the x of their middles."""
    root = ET.fromstring(f'<svg xmlns="{SVG[1:-1]}">{drawn}</svg>')
    found = []
    for row in root.iter(f"{SVG}g"):
        if row.get("class") == "row":
            told: dict[str, list[tuple[str, float]]] = {
                "tree-word": [], "tree-tag": [], "tree-label": []
            }  # fmt: skip
            for text in row.iter(f"{SVG}text"):
                told[text.attrib["class"]].append((_plain(text), float(text.attrib["x"])))
            found.append(told)
    return found


def test_arcs_end_apart_and_no_label_stands_on_another() -> None:
    """A head of twelve: its arcs once ended within 15 pixels, with labels below other arcs."""
    count = 13
    tree = Tree(tuple(f"w{at}" for at in range(count)), ("X",) * count,
                tuple(None if at == 6 else 6 for at in range(count)),
                ("punct",) * count)  # fmt: skip
    drawn, _ = draw_tree(tree, 0.0, 0.0, 2000.0, THEMES["light"].sentence)
    arcs = [
        re.findall(r"M([\d.]+) [\d.]+V[\d.]+Q[\d.]+ ([\d.]+) .*Q([\d.]+) ", line)[0]
        for line in re.findall(r'<path d="(M[^"]+)" fill="none"', drawn)
    ]
    arcs.sort(key=lambda arc: float(arc[0]) + float(arc[2]))
    heads = sorted(float(end if at < 6 else start) for at, (start, _, end) in enumerate(arcs))
    assert all(later - earlier >= 6.9 for earlier, later in pairwise(heads))
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*class="tree-label"', drawn)
    labels = [(float(x), float(y)) for x, y in found]
    assert len(labels) == 12
    for at, (x, y) in enumerate(labels):
        for other_x, other_y in labels[:at]:
            assert abs(y - other_y) >= 12 or abs(x - other_x) >= text_width("punct", 12.0)
    tops = {float(top) for _, top, _ in arcs}
    assert {round(y - 0.35 * 12, 1) for _, y in labels} == {round(top, 1) for top in tops}


def test_long_sentences_are_cut_and_it_is_told(shown_bank: Path, run_names: dict[str, str]) -> None:
    with open_bank(shown_bank) as bank:
        with pytest.warns(AttnbankWarning, match="The first 150 positions are shown"):
            cut = bank.show("long", "1-1", run=run_names["long"])
        part = bank.show("long", "1-1", run=run_names["long"], words=(190, 250))
        with pytest.raises(CallError, match="does not have these words"):
            bank.show("long", "1-1", run=run_names["long"], words=(201, 250))
    assert cut.rows.height == 150
    assert part.rows["index"].to_list() == list(range(190, 201))
    assert panels(part.svg)[0].right[-1] == "elsewhere in the input"
    assert any("The first 150 positions" in text for text in texts(cut.svg))


def test_hostile_words_are_words(shown_bank: Path) -> None:
    """Markup, quotes, right-to-left and wide text, in words, relations, tags and the sent_id."""
    name = '<script>alert("x")</script>'
    with open_bank(shown_bank) as bank:
        figure = bank.show(name, "1-1", relation="all", coreference=True, tree=True)
    for theme in ("light", "dark"):
        svg, page = figure.draw(theme), figure.html(theme)
        (drawn,) = panels(svg)
        words = ["<script>alert(1)</script>", "&", "שלום)", "\"漢字'", "مرحبا"]
        assert drawn.left == drawn.right == ["[CLS]", *words, "[SEP]"]
        assert drawn.sentence == name
        assert "nmod:<poss>" in texts(svg) and any(name in text for text in texts(svg))
        assert page.count("<script") == 1
        for made in (svg, page.partition("<script>")[0]):
            assert "<script" not in made and "alert" in made and "onload" not in made
        names = {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()}
        assert names <= {"svg", "title", "desc", "rect", "g", "line", "text", "tspan", "path",
                         "textPath"}  # fmt: skip
    opened = svg.count("\u2067")
    assert opened == svg.count("\u2069") == 6, "two words, in two columns and in the tree"


def test_a_page_reads_nothing_else(shown_bank: Path) -> None:
    """One file, whose one script is allowed by its digest; a notebook has it in a frame."""
    with open_bank(shown_bank) as bank:
        figure = bank.show("sample_story-1", "3-1")
    page = figure.html()
    ((script, digest),) = zip(
        re.findall(r"<script>(.*?)</script>", page, re.S),
        re.findall(r"script-src 'sha256-([^']+)'", page),
        strict=True,
    )
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == digest
    assert "default-src 'none'" in page and "@import" not in page
    addresses = page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "http" not in addresses and "url(" not in addresses and "src=" not in addresses
    framed = figure._repr_html_()
    assert (
        framed.startswith('<iframe sandbox="allow-scripts" srcdoc="') and "<script>" not in framed
    )
    assert unescape(framed.partition('srcdoc="')[2].partition('" title')[0]) == page


def _plain(element: ET.Element) -> str:
    return "".join(element.itertext()).translate(ISOLATES).strip()


def test_no_picture_of_norms_is_scaled_by_what_a_first_word_keeps_of_itself() -> None:
    """In a decoder's residual stream that is a hundred times as long as all else."""
    words = pl.DataFrame({"position": [0, 1], "is_special": [True, False]})
    lines = [(0, 0, 22055.0), (1, 0, 12.0), (1, 1, 150.0)]
    weights = pl.DataFrame(lines, ["from_position", "to_position", "weight"], orient="row")
    none = pl.DataFrame()
    panel = Panel("a", 13, 1, words, weights, none, none)
    assert panel.largest("residual-norms") == 150
    assert panel.largest("weights") == 1


def test_names_without_end_are_cut_in_what_is_said_of_a_run() -> None:
    long = "long " * 200_000
    said = next(note_lines([], SentenceFacts(long, long, "short")))
    assert len(said) < 500 and said.count("…") == 2 and said.endswith(", corpus short.")
