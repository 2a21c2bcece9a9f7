"""Show attention in one sentence: what `Bank.show` and pictures over sentences return."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import polars as pl

from attnbank.queries import contents
from attnbank.queries.options import ShowOptions
from attnbank.queries.pictures import (
    SENTENCES,
    Picture,
    Size,
    chart_facts,
    check_has_picture,
    fit_to_column,
    runs_named,
    specification,
)
from attnbank.queries.pictures import sentence as pictures
from attnbank.queries.pictures.rendering import convert_svg, latex_caption, read_svg, warn_if_long
from attnbank.queries.pictures.sentence import ELSEWHERE
from attnbank.queries.pictures.theme import Look, category_label
from attnbank.queries.requests import Requests, run_hits, run_of_request
from attnbank.queries.sentences import attention, choosing
from attnbank.queries.sentences.choosing import ChosenSentence
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError, require_extra
from attnbank.sql.header import Analysis
from attnbank.sql.names import TO_EARLIER
from attnbank.sql.run_choice import Run, UnfinishedRunWarning, find_corpus

# Panels of a picture: the 144 heads of the paper's model on one sentence fit.
MOST_PANELS = 150

# Hits to query first, per sentence to show.
_FIRST_HITS = 100


@dataclass(frozen=True)
class Shown:
    """Attention of heads in one or several sentences; a notebook shows the picture.

    `rows` has a row per sentence, head and word: the word that it attends to most, the weight, its
    gold head; layer and head are null for the mean of heads. `weights` has a row per sentence, head
    and pair of positions (to_position is null for all that is not shown). `marked` has the indexes
    (from 1) of the marked words, by sentence.id.
    """

    rows: pl.DataFrame
    run: Run
    panels: tuple[pictures.Panel, ...]
    facts: pictures.SentenceFacts
    marked: Mapping[int, frozenset[int]]

    @property
    def weights(self) -> pl.DataFrame:
        """All weights: sent_id, layer, head, from_position, to_position, weight in [0, 1].

        A weight that the run does not keep is null, and is included in the weight to null.
        """
        return pl.concat(
            panel.weights.select(
                pl.lit(panel.sentence).alias("sent_id"),
                pl.lit(panel.layer, pl.Int16).alias("layer"),
                pl.lit(panel.head, pl.Int16).alias("head"),
                "from_position",
                pl.col("to_position").replace(ELSEWHERE, None),
                "weight",
            )
            for panel in self.panels
        )

    @property
    def svg(self) -> str:
        """The picture as SVG, in the light theme."""
        return self.draw()

    def draw(self, theme: str = "light", look: Look | None = None) -> str:
        """The picture as SVG; `theme` is light, dark or print. Raises CallError for others.

        `look` has the font size, and the width in points of a column of a paper.
        """
        return pictures.draw_svg(self.panels, self.facts, theme, look)

    def as_bytes(
        self, ending: str, theme: str = "light", look: Look | None = None, scale: float = 2.0
    ) -> bytes:
        """The picture as a file: .svg, .png (`scale` pixels per pixel or point), .pdf or .html.

        Raises CallError, and MissingPackageError without vl-convert.
        """
        if ending == ".json":
            raise CallError("Sentences cannot be drawn as .json.", "Use .svg, .png, .pdf or .html.")
        if ending == ".html":
            return self.html(theme, look).encode()
        if ending != ".svg":
            require_extra(f"A picture as {ending[1:].upper()}", "plot", "vl_convert")
        in_points = look is not None and look.width is not None
        root = read_svg(self.draw(theme, look))
        if in_points:
            several = "fewer heads or sentences, or --words 1-20"
            options = several if len(self.panels) > 1 else "--words 1-20"
            options += " or without --tree" if self.facts.trees else ""
            warn_if_long(float(root.attrib["height"]), options)
        return convert_svg(root, ending, scale, in_points=in_points)

    def caption(self, command: str) -> str:
        """The picture's caption in LaTeX, with the command that makes it."""
        sentences = [*pictures.note_lines(self.panels, self.facts)]
        arcs = pl.concat(panel.gold for panel in self.panels)
        if arcs.height:
            sentences.append(
                f"Of n = {arcs.height:,} gold arcs {arcs['is_found'].sum():,} are found."
            )
        return latex_caption(pictures.title_of(self.panels, self.facts), sentences, command)

    def html(self, theme: str = "light", look: Look | None = None) -> str:
        """The picture as an interactive HTML page: hover, click to pin. Raises CallError."""
        return pictures.live_page(self.panels, self.facts, theme, look)

    def _repr_svg_(self) -> str:
        return self.draw()

    def _repr_html_(self) -> str:
        return _iframe(self.html(), self.draw())


def _iframe(page: str, svg: str) -> str:
    """Embed a page in a notebook, in a sandboxed frame, whose script cannot reach the notebook."""
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert size is not None, "a picture has its size"
    height = float(size[2]) + 70  # with the line above it and a scroll bar
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" title="Attention"'
        f' style="border:0;width:100%;height:{height:.0f}px"></iframe>'
    )


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


class Drawing:
    """The picture of the rows (`frame`) of an analysis, to be drawn in one or several themes.

    `values` are the parameters that it has these rows with. Raises CallError if it has no picture,
    QueryError if there is nothing to draw.
    """

    def __init__(
        self, bank: Requests, analysis: Analysis, frame: pl.DataFrame, values: Mapping[str, Any]
    ) -> None:
        self.analysis, self.frame = analysis, frame
        self.sentences, self.facts = None, None
        if check_has_picture(analysis).kind == SENTENCES:
            self.sentences = sentences_figure(bank, analysis, frame)
        else:
            others = _other_runs(bank, analysis, frame, values)
            self.facts = chart_facts(frame, contents.list_runs(bank.backend), values, others)

    def in_theme(
        self, theme: str = "light", size: Size | None = None, look: Look | None = None
    ) -> Picture | Figure:
        """Draw it. Raises CallError for too many panels or rows, QueryError if all are null."""
        if self.sentences is not None:
            return Figure(self.sentences, theme, look)
        if look is not None and look.width is not None:
            assert self.facts is not None, "it is a chart"
            fitted = fit_to_column(self.analysis, self.frame, self.facts, theme, look)
            return Picture(fitted, look.width)
        return Picture(specification(self.analysis, self.frame, self.facts, theme, size, look))


def _other_runs(
    bank: Requests, analysis: Analysis, frame: pl.DataFrame, values: Mapping[str, Any]
) -> Iterable[str]:
    """The runs that an analysis reads, but its rows do not name."""
    if not frame.height:
        return ()
    if any(parameter.name == "corpora" for parameter in analysis.parameters):
        run, corpora = frame["run"][0], values.get("corpora")
        with bank.backend.answering():
            return bank.backend.internal("contents/matching_runs", run=run, corpora=corpora)["name"]
    if "run" not in frame.columns and "probe" in frame.columns:
        # The rows of a probe name no run: the scores of the same probe do.
        scores = bank.query("probe_accuracy", probe=frame["probe"][0])
        return runs_named(scores, ("train_run", "test_run"))
    return ()


def sentences_figure(bank: Requests, analysis: Analysis, frame: pl.DataFrame) -> Shown:
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


def show_sentence(bank: Requests, options: ShowOptions) -> Shown:
    """Show sentences; see `Bank.show`."""
    with bank.backend.answering():
        needs = attention.required_annotation(bank.backend, options)
    if choosing.is_request(str(options.sentence)):
        run, chosen = _sentences_with_hits(bank, options, needs)
    else:
        run, chosen = _named_sentence(bank, options, needs)
    with bank.backend.answering():
        attention.check_gold_relation(bank.backend, options.relation, run)
        heads = [options.head] if isinstance(options.head, str) else options.head
        pairs = choosing.requested_heads(run, heads, options.layer)
        if (count := (1 if options.mean else len(pairs)) * len(chosen)) > MOST_PANELS:
            raise CallError(
                f"{len(pairs)} heads on {len(chosen)} sentences make {count} panels.",
                f"Ask for fewer heads or hits: up to {MOST_PANELS} panels.",
            )
        readings = [
            attention.read_sentence(bank.backend, run, sentence, pairs, options)
            for sentence in chosen
        ]
        names = attention.names_of_run(bank.backend, run)
    if not run.is_finished:
        message = f"The run {run.name} is not finished: it has read only part of its corpus."
        warnings.warn(message, UnfinishedRunWarning, stacklevel=3)
    left_out = dict.fromkeys(note for reading in readings for note in reading.omissions)
    for message in left_out:
        warnings.warn(message, AttnbankWarning, stacklevel=3)
    notes = (*left_out, *dict.fromkeys(note for reading in readings for note in reading.notes))
    trees: dict[str, Any] = {}
    if options.tree or options.decoded:
        for sentence, reading in zip(chosen, readings, strict=True):
            if reading.tree is None:
                raise QueryError("The sentence has no tree.", "Leave out --tree and --decoded.")
            trees[f"The {'gold ' if reading.decoded else ''}tree of {sentence.name}"] = reading.tree
            trees |= {f"{sentence.name} {how}": tree for how, tree in reading.decoded.items()}
    facts = pictures.SentenceFacts(
        **names,
        relation=options.relation,
        direction=options.direction,
        coreference=options.coreference,
        least=options.least,
        notes=notes,
        trees=trees,
    )
    rows = pl.concat(reading.rows for reading in readings)
    panels = tuple(panel for reading in readings for panel in reading.panels)
    return Shown(rows, run, panels, facts, {sentence.id: sentence.matched for sentence in chosen})


def _named_sentence(
    bank: Requests, options: ShowOptions, needs: str | None
) -> tuple[Run, list[ChosenSentence]]:
    with bank.backend.answering():
        if options.corpus is not None:
            find_corpus(bank.backend.connection, bank.path, options.corpus)
        sentence = choosing.find_sentence(bank.backend, str(options.sentence), options.corpus)
        corpus = sentence.corpus, sentence.corpus_name
        run = choosing.choose_run_over_corpus(bank.backend, options.run_name, needs, corpus)
        choosing.check_sentence_in_run(bank.backend, run, sentence)
        return run, [choosing.mark_words(bank.backend, sentence, options.matched)]


def _sentences_with_hits(
    bank: Requests, options: ShowOptions, needs: str | None
) -> tuple[Run, list[ChosenSentence]]:
    """Choose a run, and the first of its sentences that a request matches."""
    from attnbank.queries.patterns import HitOptions, compile_request, reads_run

    request, run_name, hits = str(options.sentence), options.run_name, options.hits
    read_by = run_of_request(bank.backend, request, run_name) if reads_run(request) else None
    with bank.backend.answering():
        corpus = None
        if options.corpus is not None:
            corpus = find_corpus(bank.backend.connection, bank.path, options.corpus)
        run_name = run_name if read_by is None else read_by.name
        run = choosing.choose_run_over_corpus(bank.backend, run_name, needs, corpus)
    # Most requests match many sentences: query a few hits first, and all only if they are too few.
    for limit in (_FIRST_HITS * hits, None):
        choice = HitOptions(run.corpus_name, limit, keys=True, run=read_by)
        frame = run_hits(bank.backend, compile_request(request, choice=choice), options.timeout)
        chosen = _by_sentence(frame, run)
        with bank.backend.answering():
            ids = choosing.sentences_of_run(bank.backend, run, [sentence.id for sentence in chosen])
        sentences = [sentence for sentence in chosen if sentence.id in ids][:hits]
        if len(sentences) == hits or limit is None or frame.height < limit:
            break
    if not sentences:
        raise QueryError(
            f"The request matches nothing in the run {run.name}.",
            "To search the whole bank, type: attnbank find REQUEST",
        )
    if len(sentences) < hits:
        message = f"The run {run.name} has {len(sentences)} of the {hits} requested sentences."
        warnings.warn(message, AttnbankWarning, stacklevel=4)
    return run, sentences


def _by_sentence(frame: pl.DataFrame, run: Run) -> list[ChosenSentence]:
    """The sentences of hits in order, with the words that any of their hits matches."""
    nodes = [name for name, dtype in frame.schema.items() if dtype == pl.Int16]
    names: dict[int, str] = {}
    matched: dict[int, set[int]] = {}
    for row in frame.iter_rows(named=True):
        sentence = row["sentence"]
        names.setdefault(sentence, row["sent_id"] if row["sent_id"] is not None else str(sentence))
        matched.setdefault(sentence, set()).update(row[node] for node in nodes if row[node])
    return [
        ChosenSentence(sentence, name, run.corpus, run.corpus_name, frozenset(matched[sentence]))
        for sentence, name in names.items()
    ]
