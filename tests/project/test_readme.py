"""The README prints what its commands print."""

from __future__ import annotations

from pathlib import Path

import pytest
import readme_blocks


@pytest.mark.slow
def test_the_commands_print_what_the_readme_says(tmp_path: Path) -> None:
    steps = [
        step
        for block in readme_blocks.blocks(readme_blocks.README.read_text(encoding="utf-8"))
        for step in block
    ]
    assert [step.command for step in steps][:1] == ["make demo"]
    skipped = 0
    for step in steps:
        if step.needs_corpora and not readme_blocks.has_corpora():
            skipped += 1
            continue
        printed = readme_blocks.without_sizes(readme_blocks.run(step, tmp_path))
        said = readme_blocks.without_sizes(step.printed)
        if not readme_blocks.agrees(printed, said):
            assert printed == said, step.command
    if skipped:
        pytest.skip(f"{skipped} commands need make corpora; the others print what is said")


@pytest.mark.slow
def test_every_block_in_order_prints_what_the_readme_says(tmp_path: Path) -> None:
    """The commands between the printed ones too: a new run does not change what answers."""
    if not readme_blocks.has_corpora():
        pytest.skip("the text of the tour is not here: make corpora")
    text = readme_blocks.README.read_text(encoding="utf-8")
    steps = readme_blocks.tour(text)
    assert any(" probe " in step.command for step in steps if not step.printed)
    for step in steps:
        printed = readme_blocks.without_sizes(readme_blocks.run(step, tmp_path))
        said = readme_blocks.without_sizes(step.printed)
        if step.printed and not readme_blocks.agrees(printed, said):
            assert printed == said, step.command
        assert "Error" not in printed, step.command


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


def test_the_readme_names_nothing_of_this_machine() -> None:
    text = readme_blocks.README.read_text(encoding="utf-8")
    assert str(readme_blocks.ROOT) not in text and str(Path.home()) not in text
