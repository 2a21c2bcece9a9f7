"""The README, and the tour on the same text, print what their commands print."""

from __future__ import annotations

from pathlib import Path

import pytest
import readme_blocks
from forked import Forked


@pytest.mark.slow
@pytest.mark.few("README")
@pytest.mark.parametrize("page", [readme_blocks.README, readme_blocks.TOUR], ids=lambda x: x.stem)
def test_every_block_in_order_prints_what_the_page_says(
    page: Path, tmp_path: Path, forked: Forked
) -> None:
    """The commands between the printed ones too: a new run does not change what answers.

    The first imports everything itself, as it does for a user; the others are forked.
    """
    text = page.read_text(encoding="utf-8")
    steps = readme_blocks.tour(text)
    if page == readme_blocks.README:
        assert steps[0].command == "make demo" and len(steps) > 5
    else:
        assert any(" probe " in step.command for step in steps if not step.printed)
    has_corpora = readme_blocks.has_corpora()
    if not has_corpora:
        printed_steps = [step for block in readme_blocks.blocks(text) for step in block]
        steps = [step for step in printed_steps if not step.needs_corpora]
    for number, step in enumerate(steps):
        folder = (forked.folder,) if number else ()
        printed = readme_blocks.without_sizes(readme_blocks.run(step, tmp_path, *folder))
        said = readme_blocks.without_sizes(step.printed)
        if step.printed and not readme_blocks.agrees(printed, said):
            assert printed == said, step.command
        assert "Error" not in printed, step.command
    if not has_corpora:
        pytest.skip("the other commands need make corpora; these print what is said")


@pytest.mark.parametrize(
    ("printed", "same"),
    [
        ("obj  664  0.752 0.717", True),
        ("obj  664  0.753 0.716", True),  # rounded to the other side
        ("obj  664  0.754 0.717", False),
        ("obj  664  0.75 0.717", False),
        ("obj  665  0.752 0.717", False),
        ("nsubj  664  0.752 0.717", False),
    ],
)
def test_figures_agree_to_one_unit_in_the_last_place(printed: str, same: bool) -> None:
    assert readme_blocks.agrees(printed, "obj  664  0.752 0.717") == same


def test_make_demo_runs_attnbank_demo() -> None:
    makefile = (readme_blocks.ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.split("\ndemo:")[1].splitlines()[1]
    assert recipe.strip().endswith("attnbank demo")


def test_the_readme_fits_a_screen_or_two() -> None:
    assert len(readme_blocks.README.read_bytes()) < 12_500


def test_the_readme_names_nothing_of_this_machine() -> None:
    text = readme_blocks.README.read_text(encoding="utf-8")
    assert str(readme_blocks.ROOT) not in text and str(Path.home()) not in text
