"""Texts with multiword tokens, a model that reads several languages, and runs of the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import multilingual
import multiword_cases
import pytest
from loaded import loaded_once
from multiword_cases import Case, Make
from once import Once

__all__ = ["loaded_once"]

SENTENCES = 30  # of each language
SHARE = ("written", "sentence", "--edges", "share")
SHARED = "share"  # written, and with --edges share
MODES = ("written", pytest.param("parts", marks=pytest.mark.slow))
OWN = {"own-written": (), "own-share": SHARE, "own-parts": ("parts",)}  # a few sentences
OF_CASES = [
    "own-written",
    "own-share",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("own-parts", "written", SHARED)),
    *(
        pytest.param(name, marks=pytest.mark.soak)
        for name in ("parts", "running", *multilingual.LANGUAGES)
    ),
]


@pytest.fixture(scope="session")
def own_text() -> Path:
    """The folder of a text in seven languages, of which the last file is the split dev."""
    return Path(__file__).parent / "texts"


@pytest.fixture(scope="session")
def own_model(once: Once, own_text: Path) -> Path:
    """The folder of a tiny random model that has the vocabulary of this text."""
    paths = sorted(own_text.iterdir())
    lines = [line for path in paths for line in path.read_text("utf-8").split("\n")]
    text = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
    return once("multiword", lambda folder: multilingual.save(folder, text))


@pytest.fixture(scope="session")
def multilingual_model(once: Once, corpora: Path) -> Path:
    """The folder of a tiny random model with a vocabulary of four languages."""
    return once(
        "multilingual", lambda folder: multilingual.save(folder, multilingual.texts(corpora))
    )


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A function from a corpus, a folder of a model and a mode to a case, which it makes once."""
    made: dict[tuple[Any, ...], Case] = {}

    def make(source: Path, model: Path, *how: str) -> Case:
        key = (source, model, *how)
        if key not in made:
            bank = tmp_path_factory.mktemp("multiword") / "bank.duckdb"
            made[key] = multiword_cases.make(bank, source, model, *how)
        return made[key]

    return make


@pytest.fixture(scope="session")
def mentions(own_text: Path) -> Path:
    """A text in four languages whose mentions have head words in multiword tokens."""
    return own_text / "mentions.conllu"


@pytest.fixture(scope="session")
def french_and_hebrew(tmp_path_factory: pytest.TempPathFactory, corpora: Path) -> Path:
    """Sentences with multiword tokens that their parts do not spell, a file of each language."""
    folder = tmp_path_factory.mktemp("text") / "tokens"
    folder.mkdir()
    for language, split in (("fr", "train"), ("he", "dev")):
        text = multiword_cases.with_tokens(corpora / f"{language}-dev.conllu", SENTENCES)
        (folder / f"{language}-{split}.conllu").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory, corpora: Path) -> Path:
    """Sentences as they follow one another; in Turkish, unlike in Hebrew, parts spell tokens."""
    folder = tmp_path_factory.mktemp("text") / "running"
    folder.mkdir()
    for language, split in (("he", "train"), ("tr", "dev")):
        whole = (corpora / f"{language}-dev.conllu").read_text(encoding="utf-8").split("\n\n")
        text = "\n\n".join(whole[: 2 * SENTENCES]) + "\n\n"
        (folder / f"{language}-{split}.conllu").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session", params=OF_CASES)
def case(request: pytest.FixtureRequest, read: Make) -> Case:
    """The own text and the chosen sentences as they are written or as parts; real text."""
    name = request.param
    if name in OWN:
        folder, model = (request.getfixturevalue(own) for own in ("own_text", "own_model"))
        return read(folder, model, *OWN[name])
    model = request.getfixturevalue("multilingual_model")
    if name in multilingual.LANGUAGES:
        made = read(request.getfixturevalue("corpora") / f"{name}-dev.conllu", model)
        assert made.has_shared == (name in ("fr", "he"))  # in Turkish parts spell all
        return made
    if name == "running":
        return read(request.getfixturevalue("running"), model)
    chosen = request.getfixturevalue("french_and_hebrew")
    made = read(chosen, model, *(SHARE if name == SHARED else (name,)))
    assert made.has_shared == (name != "parts")
    return made


@pytest.fixture(scope="session")
def tokens(read: Make, french_and_hebrew: Path, multilingual_model: Path) -> Case:
    """The chosen sentences in a run of tokens: each piece of a token is of all its words."""
    return read(french_and_hebrew, multilingual_model, "written", "sentence", "--unit", "token")


@pytest.fixture(scope="session", params=MODES)
def chosen(
    request: pytest.FixtureRequest, read: Make, french_and_hebrew: Path, multilingual_model: Path
) -> Case:
    """The chosen sentences alone, of which the French ones are the split train."""
    return read(french_and_hebrew, multilingual_model, request.param)


@pytest.fixture(scope="session", params=MODES)
def documents(request: pytest.FixtureRequest, read: Make, mentions: Path, own_model: Path) -> Case:
    """The text with mentions, each of its documents one input."""
    return read(mentions, own_model, request.param, "document", "--max-tokens", "500")
