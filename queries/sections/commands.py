"""What to type: to get the rows of a section again, and to fill what a section lacks."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.sql import registry
from attnbank.sql.errors import AttnbankError

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries.bank import Bank
    from attnbank.queries.sections.choosing import Subject

PLACE = "CORPUS"
"""What stands in a command where nobody but the reader knows the corpus."""
_OPTIONS = {
    "gradients": ("--context", "pair", "--unit", "token", "--gradients"),
    "losses": ("--context", "pair", "--unit", "token", "--ablate", "heads"),
    "mentions": ("--context", "document"),
}
_WITH_LOSS = {"minilm": "google-bert/bert-base-uncased"}
"""What to take where a loss is needed instead of the packaged model, which has no head for one."""


def query_command(path: Path, name: str, values: Mapping[str, Any], verb: str = "query") -> str:
    """Return the command that gives the rows of an analysis, or draws it (`verb` plot)."""
    parts = ["attnbank", "-b", str(path), verb, name, *_options(values)]
    if verb == "plot":
        parts += ["-o", f"{name}.svg"]
    return shlex.join(parts)


def remedy(bank: Bank, name: str, error: AttnbankError, of: Subject) -> str:
    """The command after which the bank can answer an analysis; what the error says otherwise."""
    analysis = registry.find(name)
    needs = None if analysis.run is None else analysis.run.needs
    typed = error.remedy.partition("Type: ")[2] or error.remedy.partition("Make one: ")[2]
    if typed.startswith("attnbank "):
        typed = with_bank(bank.path, typed)
    if analysis.run is None or "attnbank compute" in error.remedy:
        return _of_probe(bank, of) if "attnbank probe" in typed else typed or error.remedy
    if of.main is None:
        return typed or shlex.join(["attnbank", "-b", str(bank.path), "ingest", PLACE])
    return ingest(bank, of, _OPTIONS.get(needs or "", ()), needs)


def ingest(bank: Bank, of: Subject, options: tuple[str, ...] = (), needs: str | None = None) -> str:
    """The command that makes another run of the report's model, over a corpus that has what it
    needs: trees or mentions. Where no corpus of the bank has that, CORPUS stands for one.
    """
    contents = bank.info()
    assert of.main is not None
    model = contents.models.filter(contents.models["id"] == of.main.model).row(0, named=True)
    name = model["name"]
    if needs in ("gradients", "losses"):
        name = _WITH_LOSS.get(name, name)
    return shlex.join(
        [
            "attnbank", "-b", str(bank.path), "ingest",
            *_corpus(bank, contents.corpora, of.main.corpus, needs),
            "--model", name, *options,
        ]
    )  # fmt: skip


def with_bank(path: Path, typed: str) -> str:
    """Return a command that attnbank tells people to type, with the bank put into it."""
    if f"-b {shlex.quote(str(path))}" in typed:
        return typed
    return typed.replace("attnbank ", f"attnbank -b {shlex.quote(str(path))} ", 1)


def _corpus(bank: Bank, corpora: pl.DataFrame, main: int, needs: str | None) -> list[str]:
    """The paths of a corpus with what is needed, the report's own before others."""
    rows = sorted(corpora.to_dicts(), key=lambda row: (row["id"] != main, -row["id"]))
    for row in rows:
        if needs == "mentions" and not row["mentions"]:
            continue
        if needs == "trees" and not _has_trees(bank, row["id"]):
            continue
        paths = [each for each in row["path"].split("\n") if each]
        if paths and not any(each.startswith("-") for each in paths):
            return paths
    return [PLACE]


def _has_trees(bank: Bank, corpus: int) -> bool:
    with bank._answering():
        rows = bank.connection.execute(
            registry.statement("corpus_relations"), {"corpus": corpus}
        ).fetchall()
    return bool(rows)


def _of_probe(bank: Bank, of: Subject) -> str:
    """The command that trains a probe on one run and scores it on another."""
    kind = [each for each in of.runs if (each.context, each.unit) == ("sentence", "word")]
    test = of.main if of.main in kind else None
    train = next(
        (
            each
            for each in reversed(kind)
            if test is not None and each.model == test.model and each.corpus != test.corpus
        ),
        None,
    )
    names = [train.name if train else "RUN", test.name if test else "RUN"]
    return shlex.join(
        ["attnbank", "-b", str(bank.path), "probe", "attention", "--train-run", names[0],
         "--test-run", names[1]]
    )  # fmt: skip


def _options(values: Mapping[str, Any]) -> list[str]:
    found = []
    for name, value in values.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            found.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            found += [f"--{flag}", str(value)]
    return found
