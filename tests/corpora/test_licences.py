"""The licence of a corpus: from the README beside its files, or as the command says it."""

from pathlib import Path

import pytest

from attnbank.ingest import IngestOptions, add_text
from attnbank.ingest.corpora.corpus import Declared, licence_of_files
from attnbank.queries import open_bank

TREEBANK = """# Summary

A treebank.

# Acknowledgments

Please cite:

    @inproceedings{silveira14gold,
      title = {A Gold Standard {D}ependency Corpus},
      year = {2014}
    }

=== Machine-readable metadata (DO NOT REMOVE!) ================================
Data available since: UD v1.0
License: CC BY-SA 4.0
Includes text: yes
"""
SENTENCE = "1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n"


def _corpus(folder: Path, readme: str | None, name: str = "README.md") -> Path:
    folder.mkdir(exist_ok=True)
    if readme is not None:
        (folder / name).write_text(readme, encoding="utf-8")
    path = folder / "tiny.conllu"
    path.write_text(SENTENCE, encoding="utf-8")
    return path


def _kept(bank: Path) -> tuple[str | None, str | None]:
    with open_bank(bank) as opened:
        licence, citation = opened.info().corpora.select("licence", "citation").row(0)
    return licence, citation


@pytest.mark.parametrize(
    ("readme", "licence"),
    [
        (TREEBANK, "CC BY-SA 4.0"),
        ("**Licence:** CC0\n", "CC0"),
        ("- License: LDC User Agreement for Non-Members\n", "LDC User Agreement for Non-Members"),
        ("License: CC BY 4.0\nLicense: CC0\n", None),  # of which part?
        ("The license: see below, or ask\nno line of its own\n", None),
        ("License:\n", None),
        ("nothing\n", None),
        (None, None),
    ],
)
def test_readme(tmp_path: Path, readme: str | None, licence: str | None) -> None:
    assert licence_of_files([_corpus(tmp_path / "a", readme)]).licence == licence


def test_citation_is_the_first_entry_to_its_last_bracket(tmp_path: Path) -> None:
    found = licence_of_files([_corpus(tmp_path / "a", TREEBANK, "README.txt")])
    assert found.citation is not None
    assert found.citation.startswith("@inproceedings{silveira14gold,")
    assert found.citation.endswith("year = {2014}\n    }")
    unclosed = licence_of_files([_corpus(tmp_path / "b", "@misc{x, title = {never closed}\n")])
    assert unclosed == Declared(None, None)


def test_two_folders_must_agree(tmp_path: Path) -> None:
    same = [_corpus(tmp_path / name, "License: CC0\n") for name in "ab"]
    assert licence_of_files(same).licence == "CC0"
    assert licence_of_files([*same, _corpus(tmp_path / "c", "License: MIT\n")]) == Declared()


@pytest.mark.slow
def test_ingest_keeps_it_and_corrects_it(tmp_path: Path) -> None:
    bank, path = tmp_path / "x.duckdb", _corpus(tmp_path / "a", TREEBANK)
    options = IngestOptions((str(path),), bank, model="none")
    add_text(options)
    licence, citation = _kept(bank)
    assert licence == "CC BY-SA 4.0"
    assert citation is not None and "silveira14gold" in citation
    add_text(IngestOptions((str(path),), bank, model="none", licence="CC0", citation="Nobody 2020"))
    assert _kept(bank) == ("CC0", "Nobody 2020")
    (path.parent / "README.md").unlink()
    add_text(options)  # what was said stays
    assert _kept(bank) == ("CC0", "Nobody 2020")
