"""The picture of any analysis: a chart of its rows, or what heads attend to over sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from attnbank.queries import contents
from attnbank.queries.answers import Answer
from attnbank.queries.options import ShowOptions
from attnbank.queries.pictures import (
    SENTENCES,
    Chart,
    Look,
    Size,
    chart_facts,
    check_has_picture,
    fit_to_column,
    runs_named,
    specification,
)
from attnbank.queries.pictures.encodings import category_label
from attnbank.queries.requests import Requests
from attnbank.queries.sentences.showing import Shown, show_sentence
from attnbank.sql.errors import QueryError
from attnbank.sql.header import Analysis
from attnbank.sql.names import TO_EARLIER


class Drawing:
    """The picture of the answer of an analysis, to be drawn in one or several themes.

    Raises CallError if it has no picture, QueryError if there is nothing to draw, and as `query`.
    """

    def __init__(self, bank: Requests, answer: Answer) -> None:
        self.analysis = answer.analysis
        kind = check_has_picture(answer.analysis).kind
        self.frame = answer.rows
        self.sentences, self.facts = None, None
        if kind == SENTENCES:
            self.sentences = _over_sentences(bank, answer.analysis, answer.rows)
        else:
            runs, others = contents.list_runs(bank.backend), _other_runs(bank, answer)
            self.facts = chart_facts(answer.rows, runs, answer.arguments, others)

    def in_theme(
        self, theme: str = "light", size: Size | None = None, look: Look | None = None
    ) -> Chart | Figure:
        """Draw it. Raises CallError for too many panels or rows, QueryError if all are null."""
        if self.sentences is not None:
            return Figure(self.sentences, theme, look)
        if look is not None and look.width is not None:
            assert self.facts is not None, "it is a chart"
            fitted = fit_to_column(self.analysis, self.frame, self.facts, theme, look)
            return Chart(fitted, look.width)
        return Chart(specification(self.analysis, self.frame, self.facts, theme, size, look))


@dataclass(frozen=True)
class Figure:
    """The picture of an analysis that is drawn over sentences, with its theme and look."""

    shown: Shown
    theme: str = "light"
    look: Look | None = None

    def as_bytes(self, ending: str, scale: float = 2.0) -> bytes:
        """The picture as a file; see `Shown.as_bytes`."""
        return self.shown.as_bytes(ending, self.theme, self.look, scale)

    def caption(self, command: str) -> str:
        """The caption in LaTeX; see `Shown.caption`."""
        return self.shown.caption(command)

    def _repr_svg_(self) -> str:
        return self.shown.draw(self.theme, self.look)

    def _repr_html_(self) -> str:
        return self.shown._repr_html_()


def _other_runs(bank: Requests, answer: Answer) -> Iterable[str]:
    """The runs that an analysis reads, but its rows do not name."""
    frame = answer.rows
    if not frame.height:
        return ()
    if any(parameter.name == "corpora" for parameter in answer.analysis.parameters):
        run, corpora = frame["run"][0], answer.arguments.get("corpora")
        with bank.backend.answering():
            return bank.backend.internal("contents/matching_runs", run=run, corpora=corpora)["name"]
    if "run" not in frame.columns and "probe" in frame.columns:
        # The rows of a probe name no run: the scores of the same probe do.
        probe = {"probe": frame["probe"][0]}
        scores = bank.answer("probe_accuracy", probe, fresh=answer.is_fresh)
        return runs_named(scores.rows, ("train_run", "test_run"))
    return ()


def _over_sentences(bank: Requests, analysis: Analysis, frame: pl.DataFrame) -> Shown:
    """The attention of heads in sentences, a panel per row of an analysis with such a plot.

    Raises as `Bank.show`, and QueryError if there are no rows.
    """
    if not frame.height:
        raise QueryError(f"{analysis.name} has no rows to draw.")
    assert analysis.plot is not None, "it has a picture"
    parts, panels = [], []
    for row in frame.iter_rows(named=True):
        relation, direction = row.get("relation"), row.get("direction")
        part = show_sentence(
            bank,
            ShowOptions(
                row["sentence"], f"{row['layer']}-{row['head']}", run=row["run"],
                relation=relation, **({} if direction is None else {"direction": direction}),
            ),
        )  # fmt: skip
        values = [row[column] for column in analysis.plot.label]
        labels = [
            f"{value:.3f}" if isinstance(value, float) else category_label(str(value))
            for value in values
        ]
        labels[-1] += " nats" if row.get("pattern") == "broad" else ""
        labels += [] if direction in (None, TO_EARLIER) else [direction.replace("_", " ")]
        parts.append(part)
        panels += [replace(panel, label=", ".join(labels)) for panel in part.panels]
    first = parts[0]
    notes = tuple(dict.fromkeys(note for part in parts for note in part.facts.notes))
    gold_relation = "all" if "relation" in frame.columns else None
    facts = replace(
        first.facts, notes=notes, relation=gold_relation, direction="", title=analysis.title
    )
    rows = pl.concat((part.rows for part in parts), how="diagonal_relaxed")
    marked = {number: words for part in parts for number, words in part.marked.items()}
    return Shown(rows, first.run, tuple(panels), facts, marked)
