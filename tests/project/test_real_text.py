"""Where real text is looked for, and how `make corpora` gets it, from a stand-in for its homes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import real_text
from real_text import LITBANK, PARTS, OutOfReachError, documents, fetch, find, of_genres

GUM = "UniversalDependencies/UD_English-GUM"


def _document(name: str, *texts: str) -> str:
    """A document of a treebank: a word a sentence."""
    blocks = [
        f"# sent_id = {name}-{at}\n# text = {text}\n1\t{text}\n\n" for at, text in enumerate(texts)
    ]
    return f"# newdoc id = {name}\n# meta::genre = x\n{''.join(blocks)}"


DEV = {name: _document(name, *texts) for name, texts in {
    "GUM_academic_a": ("no",),
    "GUM_bio_b": ("Bee", "Beep"),
    "GUM_fiction_c": ("no",),
    "GUM_vlog_d": ("Dee",),
}.items()}  # fmt: skip
TRAIN = {
    f"GUM_{genre}_{letter}": _document(f"GUM_{genre}_{letter}", f"{genre} {letter}")
    for genre in ("academic", "bio", "voyage")
    for letter in "aefghijk"
}


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with the paths of the public repositories, but made-up text."""
    home = tmp_path / "home"
    for part in PARTS:
        for path in part.paths:
            text = f"{path}, first\n\n{path}, second\n\n"
            if "gum" in path:
                text = "".join((DEV if "dev" in path else TRAIN).values())
            file = home / part.repository / part.revisions[0] / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return home


def test_every_part_is_fetched_and_chosen(stand_in: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    into = tmp_path / "corpora"
    assert not fetch(into, stand_in.as_uri(), lines.append)
    assert {str(path.relative_to(into)) for path in into.rglob("*.*")} == {p.name for p in PARTS}
    assert (into / "gum-dev.conllu").read_text() == DEV["GUM_bio_b"] + DEV["GUM_vlog_d"]
    train = [name for name, _ in documents((into / "gum-train.conllu").read_text())]
    assert train == [f"GUM_{genre}_{letter}" for genre in ("bio", "voyage") for letter in "aefghi"]
    wiki = (into / "wiki-text.txt").read_text()
    assert wiki.startswith("bio a\n\nBee\nBeep\n\nbio e\n\n") and wiki.endswith("voyage i\n")
    assert "no" not in wiki.split() and "Dee" not in wiki
    ewt = (into / "ewt-dev.conllu").read_text()
    assert ewt == "en_ewt-ud-dev.conllu, first\n\nen_ewt-ud-dev.conllu, second\n\n"
    assert len(lines) == len(PARTS)
    for line in lines:  # made-up text is not taken for the README's
        assert "another text than the README's" in line


@pytest.mark.slow
def test_the_release_with_the_wanted_text_is_taken(
    stand_in: Path, tmp_path: Path, corpora: Path
) -> None:
    """The first release has other text; the one after it the real one, among other documents."""
    home = stand_in / GUM / real_text.RELEASES[1]
    home.mkdir()
    for name in ("dev", "train"):
        real = (corpora / f"gum-{name}.conllu").read_text(encoding="utf-8")
        inside = real.index("# newdoc id = ", len(real) // 2)
        extra = _document("GUM_academic_x", "no")
        text = extra + real[:inside] + _document("GUM_court_y", "no") + real[inside:]
        (home / f"en_gum-ud-{name}.conllu").write_text(text, encoding="utf-8", newline="")
    home = stand_in / "dbamman/litbank" / LITBANK / "coref/conll"
    for path in (corpora / "litbank").glob("*"):
        (home / path.name).write_bytes(path.read_bytes())
    lines: list[str] = []
    fetch(tmp_path / "corpora", stand_in.as_uri(), lines.append)
    by_name = {line.partition(": ")[0]: line for line in lines}
    for name in ("gum-dev.conllu", "gum-train.conllu", "wiki-text.txt"):
        assert by_name[name] == f"{name}: from {GUM} {real_text.RELEASES[1]}"
        assert real_text.is_as_in_readme(tmp_path / "corpora", name)
    assert sum(line.endswith(LITBANK[:8]) for line in lines) == 8


def test_the_real_corpora_are_those_of_the_digests(corpora: Path) -> None:
    """Or the tests that compare with the README's figures would skip where they should run."""
    for part in PARTS:
        path = corpora / part.name
        if find() == real_text.ROOT.parent / "shared" / "corpora":
            assert hashlib.sha256(path.read_bytes()).hexdigest() == part.sha256, part.name


def test_what_is_there_is_kept_and_what_is_missing_is_told(stand_in: Path, tmp_path: Path) -> None:
    into = tmp_path / "corpora"
    into.mkdir()
    (into / "gum-dev.conllu").write_text("mine")
    (stand_in / GUM / real_text.RELEASES[0] / "en_gum-ud-train.conllu").unlink()
    lines: list[str] = []
    assert not fetch(into, stand_in.as_uri(), lines.append)
    assert (into / "gum-dev.conllu").read_text() == "mine"
    assert "gum-dev.conllu: was there already, another text" in lines
    assert f"gum-train.conllu: {GUM} does not have it" in lines
    assert not (into / "gum-train.conllu").exists()


def _script(into: Path, source: str) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, real_text.__file__, "--into", str(into), "--source", source]
    return subprocess.run(script, capture_output=True, text=True, check=False)


def test_without_a_network_it_says_what_to_put_where(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"  # a port that nothing listens at
    with pytest.raises(OutOfReachError):
        fetch(tmp_path, nowhere)
    into = tmp_path / "corpora"
    done = _script(into, nowhere)
    assert done.returncode == 1 and "cannot be fetched: http://127.0.0.1:9/" in done.stderr
    assert "Traceback" not in done.stderr and not into.exists()
    for part in PARTS:
        assert f"{into / part.name}: " in done.stderr
        assert all(path in done.stderr for path in part.paths)
    assert real_text.VARIABLE in done.stderr


def test_the_script_fetches_from_a_file(stand_in: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    done = _script(into, stand_in.as_uri())
    assert done.returncode == 0, done.stderr
    assert (into / "litbank").is_dir() and "CC BY" in done.stdout


def test_where_the_corpora_are_looked_for(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    beside, within, named = tmp_path / "shared" / "corpora", root / "corpora", tmp_path / "named"
    environment = {real_text.VARIABLE: str(named)}
    assert find(root, {}) is None and find(root, environment) is None
    for folder in (named, within, beside):  # the last one that is made comes first
        folder.mkdir(parents=True)
        assert find(root, environment) == folder
    assert find(root, {}) == beside


def test_a_document_is_found_whole() -> None:
    text = "".join(DEV.values())
    assert dict(documents(text)) == DEV
    assert of_genres(text, 0) == "" and of_genres("") == ""


def test_a_corpus_that_is_not_there_skips_its_test(corpora: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="is not among the real corpora"):
        corpora / "nowhere.txt"
