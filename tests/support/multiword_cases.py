"""Runs over multiword tokens, and the same runs the slow way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import new_banks
import numpy as np
from multiword import passes, text, trees

from attnbank.cli.app import run_command_line
from attnbank.queries import open_bank


def with_tokens(source: Path, count: int) -> str:
    """The first sentences of a file that have a multiword token which its parts do not spell."""
    blocks = []
    for block in source.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and line[0] != "#"]
        forms = {row[0]: row[1] for row in rows}
        for id, form in forms.items():
            first, dash, last = id.partition("-")
            if dash:
                parts = (forms[str(each)] for each in range(int(first), int(last) + 1))
                if "".join(parts) != form:
                    blocks.append(block)
                    break
        if len(blocks) == count:
            break
    return "".join(f"{block.strip(chr(10))}\n\n" for block in blocks)


@dataclass
class Case:
    """A bank of one run, and the same run the slow way.

    `inputs` have the weights that the bank holds, and `own` those of a pass over one input at a
    time: between the two rounding differs, and near ties with it.
    """

    path: Path
    corpus: text.Corpus
    model: passes.Model
    mode: str
    context: str = "sentence"
    unit: str = "word"
    shares: bool = False  # --edges share

    def __post_init__(self) -> None:
        layouts = passes.layouts(
            self.model, self.corpus, self.context, self.unit, shares=self.shares
        )
        if self.shares:
            self.corpus.sentences = [
                [
                    unit
                    for unit, _ in passes.joined(
                        self.model.tokenizer, [(each, each.space_before) for each in units]
                    )
                ]
                for units in self.corpus.sentences
            ]
        # Inputs of a batch are numbered by their length: here they come in the order of the text.
        self.sequences = [
            row[0]
            for row in self.rows(
                "select sequence from position group by sequence order by min(position.word)"
            )
        ]
        self.inputs = [
            passes.Input(positions, ids, maps)
            for (positions, ids), maps in zip(layouts, self._maps(), strict=True)
        ]
        self.judged, self.inside = trees.arcs(self.corpus, self.inputs)
        self.first_word = self.rows("select min(id) from word")[0][0]

    @property
    def has_shared(self) -> bool:
        """Whether some position holds several words."""
        return any(len(each.words) > 1 for input in self.inputs for each in input.positions)

    def own(self) -> Iterator[passes.Input]:
        """The inputs, each run through the model by itself."""
        for each in self.inputs:
            yield self.model.read((each.positions, each.ids))

    def rows(self, statement: str, **params: Any) -> list[Any]:
        """Rows of a statement over the bank, with the macros of the analyses."""
        with duckdb.connect(str(self.path), read_only=True) as connection:
            return connection.execute(statement, params).fetchall()

    def query(self, name: str, **params: Any) -> list[dict[str, Any]]:
        """Rows of an analysis by the package's own door."""
        with open_bank(self.path) as bank:
            return list(bank.query(name, **params).to_dicts())

    def _maps(self) -> Iterator[np.ndarray]:
        ((layers, heads),) = self.rows("select layers, heads from model")
        with duckdb.connect(str(self.path), read_only=True) as connection:
            for sequence in self.sequences:
                columns = connection.execute(
                    "select unnest(weights) as weight from (select weights from attention"
                    " where sequence = $sequence order by layer, head, from_position)",
                    {"sequence": sequence},
                ).fetchnumpy()
                size = math.isqrt(len(columns["weight"]) // (layers * heads))
                yield columns["weight"].reshape(layers, heads, size, size)


def make(
    bank: Path,
    source: Path,
    model: Path,
    mode: str = "written",
    context: str = "sentence",
    *args: str,
) -> Case:
    """Fill a bank by the command, and read the same text slowly."""
    new_banks.put(bank)
    options = ["--multiword", mode, "--context", context, *args]
    assert (
        run_command_line(["-b", str(bank), "ingest", str(source), "--model", str(model), *options])
        == 0
    )
    corpus = text.read(source, written=mode == "written")
    unit = "token" if "token" in args else "word"
    return Case(bank, corpus, passes.Model(model), mode, context, unit, "share" in args)


Make = Callable[..., Case]
"""A function from a text, the folder of a model, a mode and a context to a case of theirs."""
