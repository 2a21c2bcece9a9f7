"""Show attention in one sentence: what `Bank.show` returns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from attnbank.queries.options import ShowOptions
from attnbank.queries.pictures.rendering import convert_svg, latex_caption, read_svg, warn_if_long
from attnbank.queries.pictures.sentence import (
    ELSEWHERE,
    Panel,
    SentenceFacts,
    draw_svg,
    live_page,
    note_lines,
    title_of,
)
from attnbank.queries.pictures.theme import Look
from attnbank.queries.requests import Requests, run_hits, run_of_request
from attnbank.queries.sentences import attention, choosing
from attnbank.queries.sentences.choosing import ChosenSentence
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError, require_extra
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
    panels: tuple[Panel, ...]
    facts: SentenceFacts
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
        return draw_svg(self.panels, self.facts, theme, look)

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
        sentences = [*note_lines(self.panels, self.facts)]
        arcs = pl.concat(panel.gold for panel in self.panels)
        if arcs.height:
            sentences.append(
                f"Of n = {arcs.height:,} gold arcs {arcs['is_found'].sum():,} are found."
            )
        return latex_caption(title_of(self.panels, self.facts), sentences, command)

    def html(self, theme: str = "light", look: Look | None = None) -> str:
        """The picture as an interactive HTML page: hover, click to pin. Raises CallError."""
        return live_page(self.panels, self.facts, theme, look)

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
    facts = SentenceFacts(
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
