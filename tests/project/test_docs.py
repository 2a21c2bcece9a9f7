"""The documentation: everything has its page, what is kept is true, and nothing is fetched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import readme_blocks
from command_line import run_python
from forked import Forked
from polars.testing import assert_frame_equal

import make
import offline
from attnbank.ingest.corpora.document import FAULTS
from attnbank.queries import Bank, open_bank, to_dialect
from attnbank.sql.header import Analysis
from attnbank.sql.registry import analyses
from generator import analyses as analysis_pages
from generator import commands, model_types
from generator.example import printed

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [page.relative_to(ROOT / "docs").as_posix() for page in readme_blocks.pages()]
LONG = (
    "how-to/ask-larger-models.md", "how-to/compare-languages.md", "how-to/trees-from-attention.md",
    "how-to/turn-heads-off.md", "trust.md",
)  # fmt: skip
"""Pages whose models read for minutes."""

TRAINED = ("how-to/train-probes.md",)
"""Pages with figures of a training, whose rounding is handed on from step to step."""

every = pytest.mark.parametrize("analysis", analyses().values(), ids=lambda each: each.name)


class FullBank:
    """Answers of the bank in which every analysis has something to say."""

    def __init__(self, bank: Path) -> None:
        self._bank = bank

    def answer(self, analysis: Analysis) -> tuple[str, str]:
        return "A tiny model.", printed(analysis, self._bank)


@pytest.fixture(scope="module")
def bank(full_bank: Path) -> Iterator[Bank]:
    with open_bank(full_bank) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(full_bank: Path) -> dict[str, str]:
    """Every generated page by name of file."""
    return make.pages(FullBank(full_bank))


@pytest.fixture(scope="module")
def site(pages: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built strictly: a dead link, or a page without a place, is an error."""
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("docs")
    for name in ("mkdocs.yml", "README.md"):
        shutil.copy(ROOT / name, folder)
    made = shutil.ignore_patterns("analyses", "commands.md", "faults.md", "schema.*", "__pycache__")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=made)
    make.write(pages, folder / "docs")
    done = run_python("-m", "mkdocs", "build", "--strict", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def _written() -> list[Path]:
    """The pages that people write; the generated ones are not in git."""
    made = ("commands.md", "faults.md", "schema.md")
    pages = [page for page in DOCS.rglob("*.md") if page.parent.name != "analyses"]
    return sorted(page for page in pages if page.relative_to(DOCS).as_posix() not in made)


LINK = re.compile(r"\]\(([^)#\s]+)")


@pytest.mark.usual(4)
@pytest.mark.parametrize("page", _written(), ids=lambda page: page.name)
def test_links_between_files_lead_somewhere_in_a_clone(page: Path) -> None:
    """Pages are read in the repository too, where no page has been generated."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    links = [each for each in LINK.findall(page.read_text("utf-8")) if "://" not in each]
    kept = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    folders = {str(parent) for each in kept for parent in Path(each).parents}
    for link in links:
        target = os.path.relpath(page.parent / link, ROOT)
        assert target in kept or target in folders, f"{page.name} links to {link}"


@pytest.mark.parametrize("name", ["best_head", "head_score", "relation_by_corpus"])
def test_a_page_says_once_what_its_intervals_go_by(name: str) -> None:
    page = "\n".join(analysis_pages._cautions(analyses()[name]))
    assert "go by documents" in page and page.count("The intervals") == 1


@pytest.mark.slow
def test_every_command_has_its_entry(pages: dict[str, str]) -> None:
    headings = re.findall(r"^## (.+)$", pages["commands.md"], re.MULTILINE)
    assert headings == [path for path, _ in commands.commands()]


@pytest.mark.slow
def test_every_table_has_its_entry_and_its_box(pages: dict[str, str], full_bank: Path) -> None:
    headings = set(re.findall(r"^### (.+)$", pages["schema.md"], re.MULTILINE))
    with open_bank(full_bank) as bank:
        columns = bank.connection.execute(
            "select table_name, column_name, data_type, comment from duckdb_columns()"
            " where not internal and schema_name = 'main' and database_name = current_database()"
        ).fetchall()
        tables = {
            name
            for (name,) in bank.connection.execute(
                "select table_name from duckdb_tables() where not internal"
                " and database_name = current_database()"
            ).fetchall()
        }
    assert len(tables) > 20 and tables <= headings
    assert {name for name, *_ in columns} <= headings
    for _, column, type_, comment in columns:
        start = f"| `{column}` | `{type_}` | {comment.split('|')[0].split('<')[0][:20]}"
        assert start.replace("*", "\\*") in pages["schema.md"], column
    assert set(re.findall(r'^  "([^"]+)" [{]$', pages["schema.md"], re.MULTILINE)) == tables


@pytest.mark.slow
def test_the_diagram_has_a_line_for_each_reference(pages: dict[str, str]) -> None:
    lines = re.findall(
        r'^  "(\w+)" [|]{2}--o[{] "(\w+)" : (\w+)$', pages["schema.md"], re.MULTILINE
    )
    assert len(set(lines)) == len(lines) > 25
    assert ("run", "sequence", "run") in lines
    assert ("word", "saved_pair", "head_word") in lines


@pytest.mark.slow
@pytest.mark.slow
def test_the_table_of_model_types_is_true(one_thread: None) -> None:
    """Of one type of most rows; `python docs/make.py --types` writes it."""
    page = model_types.PAGE.read_text(encoding="utf-8")
    kinds = ("bert", "albert", "nystromformer", "bloom", "diffllama", "squeezebert", "bart", "fnet")
    for kind, row in model_types.rows_of(kinds).items():
        *_, line = model_types.lines({kind: row})
        abilities = line.removeprefix(f"| {kind} |")
        (written,) = (line for line in page.splitlines() if line.endswith(f" |{abilities}"))
        assert kind in written.split(" | ")[0].removeprefix("| ").split(", ")


def test_every_fault_has_its_entry_and_an_example(pages: dict[str, str]) -> None:
    parts = re.split(r"^## ", pages["faults.md"], flags=re.MULTILINE)[1:]
    assert [part.split("\n")[0] for part in parts] == list(FAULTS)
    for part, fault in zip(parts, FAULTS.values(), strict=True):
        assert fault.meaning.split("<")[0].split("*")[0] in part
        assert "**What to do:**" in part
        assert f": {fault.id}: " in part or "An example would be a large file" in part, fault.id


@pytest.mark.slow
@every
def test_every_analysis_has_its_page(analysis: Analysis, pages: dict[str, str]) -> None:
    page = pages[f"analyses/{analysis.name}.md"]
    assert f"[{analysis.name}]({analysis.name}.md)" in pages["analyses/index.md"]
    for heading in (
        "What it measures",
        "What to be careful about",
        "Which run it reads",
        "Parameters",
        "Columns",
        "How to ask",
        "An example",
        "The statement",
    ):
        assert f"\n## {heading}\n" in page
    assert analysis.formulas and "\n```text\n" in page
    declared = [(parameter.name, parameter.type) for parameter in analysis.parameters]
    declared += [(column.name, column.type) for column in analysis.columns]
    for name, type_ in declared:
        assert f"| `{name}` | `{type_}` |" in page, name
    assert page.count("\n- ") >= len(analysis.notes)
    shown = page.split("\n## An example\n")[1].split("\n## ")[0].split("\n```\n")[0].splitlines()
    under = [at for at, line in enumerate(shown) if line and not line.strip("- ")]
    if under:
        assert len(shown) > under[0] + 1 and shown[under[0] + 1].strip(), "an answer has rows"
    else:  # a single row stands upright
        assert any(line.startswith(analysis.columns[0].name) for line in shown)


@pytest.mark.slow
@pytest.mark.few(5)
@every
def test_the_calls_on_a_page_are_answered_alike(analysis: Analysis, bank: Bank) -> None:
    given = analysis_pages.example_values(analysis)
    calls = analysis_pages.calls(analysis, given)
    page = "".join(analysis_pages.calls(analysis, given).values())
    assert all(name in page.replace("-", "_") for name in given)
    asked = eval(calls["Python"], {"bank": bank})
    assert asked.height or analysis.name == "figure_5"  # the weights are random
    assert_frame_equal(asked, bank.sql(calls["SQL"]))
    assert eval(calls["Spark"], {"to_dialect": to_dialect}).lower().startswith(("with", "select"))


@pytest.mark.soak
def test_a_link_that_leads_nowhere_fails_the_build(site: Path) -> None:
    """The site is built, so every link is sound; one that is not is told."""
    assert (site / "analyses" / "best_head.html").exists()
    page = site.parent / "docs" / "tutorial.md"
    page.write_text("# Tutorial\n\n[nowhere](nothing.md)\n", encoding="utf-8")
    done = run_python("-m", "mkdocs", "build", "--strict", "--site-dir", "broken", cwd=site.parent)
    assert done.returncode != 0 and "nothing.md" in done.stderr


@pytest.mark.slow
def test_the_site_fetches_nothing(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > len(analyses())
    assert list(offline.fetched(site)) == []
    for path in site.rglob("*.html"):  # the theme fetches Mermaid for a diagram without it
        text = path.read_text(encoding="utf-8")
        if "mermaid" in text:
            assert '<script src="assets/mermaid.min.js">' in text.partition('class="mermaid"')[0]
            assert (path.parent / "assets" / "mermaid.min.js").is_file()


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.html", '<script src="https://a.example/x.js"></script>', ["https://a.example/x.js"]),
        ("a.html", '<link rel="stylesheet" href="//a.example/x.css">', ["//a.example/x.css"]),
        ("a.html", '<p style="background: url(http://a.example/x)">', ["http://a.example/x"]),
        ("a.html", "<style>@import 'https://a.example/f';</style>", ["https://a.example/f"]),
        ("a.css", "@font-face { src: url('https://a.example/f'); }", ["https://a.example/f"]),
        ("a.html", '<a href="https://a.example">a link</a><img src="x.svg">', []),
    ],
)
def test_what_would_be_fetched_is_found(
    name: str, text: str, found: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [address for _, address in offline.fetched(tmp_path)] == found


@pytest.mark.parametrize(
    "name",
    [pytest.param(page, marks=pytest.mark.soak if page in LONG else pytest.mark.slow)
     for page in PAGES],
)  # fmt: skip
def test_the_commands_of_a_page_print_what_it_says(
    name: str, forked: Forked, tmp_path: Path
) -> None:
    """Each is a process of its own, forked from one that has imported everything."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    if readme_blocks.needs_models(text) and not readme_blocks.has_models():
        pytest.skip("the larger models cannot be had here")
    if "$treebank" in text and not readme_blocks.has_treebanks():
        pytest.skip("the treebanks of other languages are not here")
    readme_blocks.prepare(text, tmp_path)
    for block in readme_blocks.blocks(text):
        for step in block:
            shown = readme_blocks.without_sizes(readme_blocks.run(step, tmp_path, forked.folder))
            said = readme_blocks.without_sizes(step.printed)
            if name in TRAINED:
                shown, said = (re.sub(r"\d+", "0", each) for each in (shown, said))
            if not readme_blocks.agrees(shown, said):
                assert shown == said, step.command


@pytest.mark.slow
def test_the_pages_name_nothing_of_this_machine(pages: dict[str, str]) -> None:
    for page in (*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("how-to/*.md")):
        pages[page.name] = page.read_text(encoding="utf-8")
    for name, text in pages.items():
        assert str(ROOT) not in text and str(Path.home()) not in text, name
