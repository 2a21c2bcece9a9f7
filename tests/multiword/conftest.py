"""Texts with multiword tokens, a model that reads several languages, and runs of the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import multilingual
import multiword_cases
import pytest
from multiword_cases import Case, Make
from once import Once

SENTENCES = 30  # of each language
SHARE = ("written", "sentence", "--edges", "share")
SHARED = "share"  # written, and with --edges share
MODES = ("written", pytest.param("parts", marks=pytest.mark.slow))
RUNNING = pytest.param("running", marks=pytest.mark.slow)
WHOLE = [pytest.param(each, marks=pytest.mark.soak) for each in multilingual.LANGUAGES]


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
def mentions() -> Path:
    """A text in four languages whose mentions have head words in multiword tokens."""
    return Path(__file__).parent / "texts" / "mentions.conllu"


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


@pytest.fixture(scope="session", params=[*MODES, SHARED, RUNNING, *WHOLE])
def case(
    request: pytest.FixtureRequest,
    read: Make,
    corpora: Path,
    french_and_hebrew: Path,
    running: Path,
    multilingual_model: Path,
) -> Case:
    """The chosen sentences as they are written and as parts; real text as written."""
    if request.param in multilingual.LANGUAGES:
        source = corpora / f"{request.param}-dev.conllu"
        found = read(source, multilingual_model)
        assert found.has_shared == (request.param in ("fr", "he"))  # in Turkish parts spell all
        return found
    if request.param == "running":
        return read(running, multilingual_model)
    if request.param == SHARED:
        return read(french_and_hebrew, multilingual_model, *SHARE)
    found = read(french_and_hebrew, multilingual_model, request.param)
    assert found.has_shared == (request.param == "written")
    return found


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
def documents(
    request: pytest.FixtureRequest, read: Make, mentions: Path, multilingual_model: Path
) -> Case:
    """The text with mentions, each of its documents one input."""
    return read(mentions, multilingual_model, request.param, "document", "--max-tokens", "500")
