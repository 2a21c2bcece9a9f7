"""The CoNLL-U reader on the cases of the Universal Dependencies validator.

They are in the source distribution of its package, which is fetched where the network allows.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from attnbank.ingest.corpora.document import Problem
from attnbank.ingest.corpora.formats.conllu import read_conllu

PACKAGE = "udtools==0.2.9"
HARMLESS: dict[str, set[str]] = {
    "columns that no bank has": {
        "deprel-not-empty-in-empty", "empty-node-nonempty", "head-not-empty-in-empty",
        "invalid-deps-order",
        "lowercase-feature-in-empty", "lowercase-feature-value-in-empty",
        "lowercase-postag-in-empty", "mwt-nonempty", "mwt-nonempty-2", "mwt-nonempty-field",
        "mwt-nonempty-upos", "self-cycle-deps", "uppercase-deps-deprel",
    },
    "the order and the case of features and relations, and tags in another case (told)": {
        "duplicate-value", "lowercase-feature", "lowercase-postag", "lowercase-value",
        "misordered-feature",
        "misordered-layered-feature", "uppercase-deprel",
    },
    "line ends, blank lines and the end of the file": {
        "extra-empty-line", "misplaced-comment-end", "missing-final-line", "non-unix-newline",
        "pseudo-empty-line", "seemingly-empty-line", "trailing-tab",
    },
    "a missing sent_id, one that another sentence has, or a text that is composed otherwise": {
        "missing-space-after", "no-sent_id", "parallel-id", "unicode-normalization",
    },
    "a column that is not the tenth, or a form, with spaces in it": {"space-in-field"},
    "where an empty node stands, which is left out": {"misplaced-empty-node-2"},
}  # fmt: skip
"""What the validator refuses and we read, by what is wrong with it."""

HARMLESS_ALL = {name for names in HARMLESS.values() for name in names}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("validator")
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         "--dest", str(folder), PACKAGE],
        capture_output=True, check=False,
    )  # fmt: skip
    found = [*folder.glob("*.tar.gz")]
    if fetched.returncode or not found:
        pytest.skip(f"{PACKAGE} cannot be fetched")
    with tarfile.open(found[0]) as archive:
        archive.extractall(folder, filter="data")
    (tests,) = folder.glob("*/tests/test-cases")
    return tests


def _problems(path: Path) -> list[str]:
    lines = path.read_bytes().splitlines(keepends=True)
    return [each.id for each in read_conllu(lines) if isinstance(each, Problem)]


@pytest.mark.slow
def test_what_is_valid_is_read(cases: Path) -> None:
    found = {path.name: _problems(path) for path in sorted((cases / "valid").glob("*.conllu"))}
    assert len(found) >= 9 and not any(found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["invalid-functions", "invalid-level1", "invalid-level2"])
def test_what_is_invalid_is_refused_or_harmless(cases: Path, folder: str) -> None:
    """Level 1 is the format, level 2 what holds for every language."""
    paths = sorted((cases / folder).glob("*.conllu"))
    read = {path.stem for path in paths if not _problems(path)}
    assert len(paths) >= 20
    assert read == HARMLESS_ALL & {path.stem for path in paths}
