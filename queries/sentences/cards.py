"""Read what a head card shows from a bank: the answers of its analyses for one head, and examples.

What the bank does not have is left out, with a sentence that says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import polars as pl

from attnbank.queries.options import CardOptions, ShowOptions
from attnbank.queries.patterns.scoring import control_runs
from attnbank.queries.pictures.arcs import (
    FOUND,
    INSTEAD,
    MISSED,
    PLAIN,
    Arc,
    ArcLine,
    fits_whole,
)
from attnbank.queries.pictures.card import (
    BehaviourRow,
    CardFacts,
    Example,
    HeadCard,
    RelationRow,
    draw_card,
    example_room,
)
from attnbank.queries.pictures.rendering import isolate_direction, shorten_for_svg
from attnbank.queries.pictures.theme import Look
from attnbank.queries.requests import Requests
from attnbank.queries.sentences.attention import names_of_run, sentence_records
from attnbank.queries.sentences.behaviours import BEHAVIOURS, behaviours_of_heads
from attnbank.queries.sentences.choosing import (
    ChosenSentence,
    choose_run_over_corpus,
    requested_heads,
)
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError
from attnbank.sql.messages import escape_control
from attnbank.sql.names import TO_DEPENDENT, TO_EARLIER
from attnbank.sql.run_choice import Run, UnfinishedRunWarning

# Relations of a card, and the fewest dependents of one: the second where the first leaves none.
_MOST_RELATIONS = 6
_MIN_COUNTS = (100, 10)

# Examples that are looked at until there is one whose marked words fit into the width.
_CANDIDATES = 12


def head_card(
    bank: Requests, options: CardOptions, theme: str, look: Look | None, *, fresh: bool = False
) -> HeadCard:
    """The picture of one head. Raises CallError for a head, relation or run that is not there."""
    run = _choose_run(bank, options.run_name)
    with bank.backend.answering():
        heads = requested_heads(run, [options.head], None)
        names = names_of_run(bank.backend, run)
        controls = control_runs(bank, run.name)
    if len(heads) != 1:
        raise CallError("A card shows one head.", "Give one: --head 3-1.")
    if not run.is_finished:
        message = f"The run {run.name} is not finished: it has read only part of its corpus."
        warnings.warn(message, UnfinishedRunWarning, stacklevel=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AttnbankWarning)  # it was said above
        reader = _Reader(bank, run, heads[0], controls[0] if controls else None, fresh=fresh)
        facts = reader.facts(options.relation, names, look)
    return draw_card(facts, theme, look)


def _choose_run(bank: Requests, named: str | None) -> Run:
    """The run of a card: of words with trees, else one that `show` would show."""
    with suppress(CallError, QueryError):
        run = bank.run_of("best_relation", run=named)
        if run is not None:
            return run
    with bank.backend.answering():
        return choose_run_over_corpus(bank.backend, named, None, None)


class _Reader:
    """Reads the facts of one head of a run; `notes` are sentences on what is not there."""

    def __init__(
        self, bank: Requests, run: Run, head: tuple[int, int], control: str | None, *, fresh: bool
    ) -> None:
        self.bank, self.run, self.control, self.fresh = bank, run, control, fresh
        self.layer, self.head = head
        self.name = f"{self.layer}-{self.head}"
        self.notes: list[str] = []
        self.is_judged = self.can_test = False
        self.answers: dict[str, pl.DataFrame] = {}

    def facts(self, relation: str | None, names: dict[str, str], look: Look | None) -> CardFacts:
        rows = self.or_note("Relations", self.relations) or []
        if relation is not None:
            chosen: RelationRow | None = self.relation_row(relation)
            rows = [chosen, *(row for row in rows if row.relation != relation)]
        else:
            chosen = rows[0] if rows and rows[0].is_significant else None
        rows = rows[:_MOST_RELATIONS]
        behaviours = [*self.behaviours()]
        title, sentence = self.headline(chosen, behaviours, is_any_above=bool(rows))
        if self.control is None and "random weights" not in names["model"]:
            self.notes.append(
                "Without a control: the bank has no run of random weights over these words"
                " (attnbank ingest CORPUS --random-weights 1)."
            )
        look = look or Look()
        room = example_room(look)
        examples = [*self.examples(chosen, lambda line: fits_whole(line, room, look.font))]
        if not examples:
            self.notes.append("Examples: left out. The run has no sentence of 5 to 14 words.")
        return CardFacts(
            head=self.name, title=title, sentence=sentence, run=names["run"], model=names["model"],
            corpus=names["corpus"], relations=tuple(rows), behaviours=tuple(behaviours),
            examples=tuple(examples), notes=tuple(dict.fromkeys(self.notes)),
        )  # fmt: skip

    def or_note(self, what: str, read: Callable[[], Any]) -> Any:
        """What `read` returns; where the bank cannot answer, None, and a note."""
        try:
            return read()
        except (CallError, QueryError) as error:
            self.notes.append(escape_control(f"{what}: left out. {error.fact}"))
            return None

    def of_head(self, analysis: str, run: str | None = None, **values: Any) -> pl.DataFrame:
        """The rows of an analysis for the head."""
        rows = self.rows(analysis, run or self.run.name, **values)
        return rows.filter(layer=self.layer, head=self.head)

    def rows(self, analysis: str, run: str, **values: Any) -> pl.DataFrame:
        return self.bank.answer(analysis, {"run": run, **values}, fresh=self.fresh).rows

    def relations(self) -> list[RelationRow]:
        """The relations that are found above the best fixed offset, the significant ones first."""
        for min_count in _MIN_COUNTS:
            best = self.of_head("best_relation", most=1_000_000, min_count=min_count)
            if best.height:
                break
        self.is_judged, self.can_test = best.height > 0, best["p_corrected"].count() > 0
        significant = (pl.col("p_corrected") < 0.05).fill_null(False)
        above = best.filter(pl.col("gain") > 0).sort(
            ~significant, "rank", maintain_order=True
        ).to_dicts()  # fmt: skip
        first: dict[str, dict[str, Any]] = {}  # of two directions the better one
        for row in above:
            first.setdefault(row["relation"], row)
        return [self.with_intervals(row) for row in [*first.values()][:_MOST_RELATIONS]]

    def relation_row(self, relation: str) -> RelationRow:
        """The row of a relation that was asked for, in the direction that finds it better.

        Raises CallError for a relation that is not there.
        """
        scores = self.of_head("best_relation", most=1_000_000, min_count=1)
        scores = scores.filter(relation=relation)
        if not scores.height:  # a saved one, or one with a subtype, is tested by itself
            scores = self.of_head("head_score", relation=relation)
        scores = scores.sort("gain", descending=True, nulls_last=True)
        if not scores.height:
            raise QueryError(
                f"No word of the run {self.run.name} is a dependent of {relation}.",
                "Choose another relation; attnbank query head_accuracy lists all.",
            )
        return self.with_intervals(scores.row(0, named=True) | {"relation": relation})

    def with_intervals(self, row: dict[str, Any]) -> RelationRow:
        """The row of a relation of best_relation, or of head_score, with all that stands beside."""
        relation, direction = row["relation"], row["direction"]
        score = row
        if "low" not in row:
            score = self.of_head("head_score", relation=relation).row(
                by_predicate=pl.col("direction") == direction, named=True
            )
        chosen = self.held_out(relation)
        is_chosen = chosen is not None and (self.layer, self.head, direction) == tuple(
            chosen[name] for name in ("layer", "head", "direction")
        )
        random = self.control_accuracy(relation, direction)
        return RelationRow(
            relation=relation, direction=direction, n=row["n"], accuracy=row["accuracy"],
            low=score["low"], high=score["high"], offset=row["offset"],
            offset_accuracy=row["offset_accuracy"], p=row["p_corrected"],
            held_out=chosen["accuracy"] if chosen is not None and is_chosen else None,
            random=random,
        )  # fmt: skip

    def held_out(self, relation: str) -> dict[str, Any] | None:
        """The head that is chosen on half of the documents, and its accuracy on the others."""
        rows = self.of_relations("best_head_held_out", self.run.name, relation)
        return None if rows is None or not rows.height else rows.row(0, named=True)

    def control_accuracy(self, relation: str, direction: str) -> float | None:
        """The accuracy of the same head with random weights."""
        if self.control is None:
            return None
        rows = self.of_relations("head_accuracy", self.control, relation)
        if rows is None:
            return None
        own = rows.filter(layer=self.layer, head=self.head, direction=direction)
        return own["accuracy"][0] if own.height else None

    def of_relations(self, analysis: str, run: str, relation: str) -> pl.DataFrame | None:
        """The rows of an analysis for a relation, asked once for those of the trees."""
        if analysis not in self.answers:
            with suppress(CallError, QueryError):
                self.answers[analysis] = self.rows(analysis, run)
        rows = self.answers.get(analysis)
        if rows is not None and (own := rows.filter(relation=relation)).height:
            return own
        with suppress(CallError, QueryError):  # a relation that was saved from a request
            return self.rows(analysis, run, relation=relation)
        return None

    def behaviours(self) -> Iterator[BehaviourRow]:
        """Where the attention of the head goes, whatever the words are."""
        with self.bank.backend.answering():
            facts = self.bank.backend.internal("sentences/run_facts", run=self.run.id)
        of_heads, notes = behaviours_of_heads(
            self.rows, BEHAVIOURS, self.run.name, self.control, is_causal=facts["is_causal"][0]
        )
        self.notes.extend(map(escape_control, notes))
        for row in of_heads.filter(layer=self.layer, head=self.head).to_dicts():
            yield BehaviourRow(row["label"], row["value"], row["chance"], row["control"])

    def headline(
        self, row: RelationRow | None, behaviours: list[BehaviourRow], *, is_any_above: bool
    ) -> tuple[str, str]:
        """The title and one sentence: only what is above chance is called what the head does."""
        if row is not None:
            interval = ""
            if row.low is not None and row.high is not None:
                interval = f" [{100 * row.low:.0f}, {100 * row.high:.0f}]"
            relation = shorten_for_svg(row.relation)
            parts = [
                f"{_per_cent(row.accuracy)}{interval} of {row.n:,} {relation} found",
                f"best fixed offset ({row.offset:+d}) {_per_cent(row.offset_accuracy)}",
            ]
            if row.held_out is not None:
                parts.append(f"held out {_per_cent(row.held_out)}")
            elif (chosen := self.held_out(row.relation)) is not None:
                other = f"{chosen['layer']}-{chosen['head']}"
                parts.append(
                    "held out: chosen in its other direction" if other == self.name
                    else f"on half of the documents head {other} is chosen instead"
                )  # fmt: skip
            if row.random is not None:
                parts.append(f"random weights {_per_cent(row.random)}")
            verdict = {True: "", False: " Not above the offset by more than chance."}
            said = verdict[row.is_significant]
            if row.p is None:
                said = " Not tested: there are too few documents, or the relation is circular."
            return f"Head {self.name}: {row.label}", f"{'; '.join(parts)}.{said}"
        why = "Of its relations none is above the best fixed offset by more than chance"
        if not self.is_judged:
            why = "The run has no relations to judge it by"
        elif not self.can_test:
            why = "No relation is tested: that takes 5 documents or more"
        elif not is_any_above:
            why = "It finds no relation better than the best fixed offset"
        strongest = max(behaviours, key=lambda row: row.value, default=None)
        if strongest is not None and strongest.value > 0.5:
            parts = [f"{_per_cent(strongest.value)} of its attention goes there"]
            if strongest.chance is not None:
                parts.append(f"uniform attention {_per_cent(strongest.chance)}")
            if strongest.random is not None:
                parts.append(f"random weights {_per_cent(strongest.random)}")
            return f"Head {self.name}: {strongest.label}", f"{'; '.join(parts)}. {why}."
        return f"Head {self.name}", f"{why}."

    def examples(
        self, row: RelationRow | None, fits: Callable[[ArcLine], bool]
    ) -> Iterator[Example]:
        """Two dependents that the head finds and one that it misses; else three sentences.

        They are in the order of a hash: how they look has no say, but whether they fit does.
        """
        if row is None:
            yield from self.any_sentences(fits)
            return
        with self.bank.backend.answering():
            rows = self.bank.backend.internal(
                "examples/head_examples", run=self.run.name, relation=row.relation,
                layer=self.layer, head=self.head, direction=row.direction, most=_CANDIDATES,
            ).to_dicts()  # fmt: skip
        for kind, most in (("right", 2), ("wrong", 1)):
            lines = [
                self.judged(example, row.direction)
                for example in rows
                if example["breakdown"] == kind
            ]
            known = [line for line in lines if line is not None]
            fitting = [line for line in known if fits(line)] or known
            for line in fitting[:most]:
                yield Example(_caption(line), line)

    def any_sentences(self, fits: Callable[[ArcLine], bool]) -> Iterator[Example]:
        """Three sentences of 5 to 14 words, with the word that each word attends to most."""
        with self.bank.backend.answering():
            rows = self.bank.backend.internal(
                "examples/short_sentences", run=self.run.id, most=_CANDIDATES
            ).rows()
        lines = [self.line(sentence, name) for sentence, name in rows]
        fitting = [line for line, _ in lines if fits(line)] or [line for line, _ in lines]
        for line in fitting[:3]:
            yield Example(f"Where it looks ({shorten_for_svg(line.sentence)})", line)

    def line(self, sentence: int, name: str) -> tuple[ArcLine, dict[str, Any]]:
        """A sentence with all arcs of the head between its words; also its maps and positions."""
        backend = self.bank.backend
        chosen = ChosenSentence(sentence, name, self.run.corpus, self.run.corpus_name)
        with backend.answering():
            (records,) = sentence_records(backend, self.run, [chosen], ShowOptions(sentence))
            values = {"sequences": [records.sequence], "heads": [self.name]}
            maps = backend.internal("sentences/maps", **values)
            peaks = backend.internal("sentences/peaks", **values)
        first = records.by_word.filter(pl.col("kind") == "first")["position"]
        set_apart = frozenset(first.to_list())
        words = records.words.filter(~pl.col("is_special") | pl.col("position").is_in(set_apart))
        shown = {*words["position"]} - set_apart
        weights = dict(maps.select("from_position", "weights").rows())
        arcs = [
            Arc(start, end, weight, PLAIN)
            for start in shown
            for end, weight in enumerate(weights.get(start) or [])
            if end in shown and end != start and weight is not None
        ]
        texts = tuple(words.select("position", "text").rows())
        line = ArcLine(name, texts, tuple(arcs), set_apart=set_apart)
        of_words = records.by_word.filter(pl.col("sentence") == sentence)
        first_of = of_words.unique(["index"], keep="first", maintain_order=True)
        return line, {
            "weights": weights,
            "peaks": {row["position"]: row for row in peaks.to_dicts()},
            "position": dict(first_of.select("index", "position").rows()),
        }

    def judged(self, example: dict[str, Any], direction: str) -> ArcLine | None:
        """A sentence with one dependent, its gold head and what the head finds instead.

        None for a dependent beyond the part of the sentence that is read.
        """
        line, input_ = self.line(example["sentence"], example["sent_id"])
        own = input_["position"].get(example["dependent"])
        gold = input_["position"].get(example["gold"])
        shown = {position for position, _ in line.words}
        if own not in shown or gold not in shown:
            return None
        backward = direction == TO_DEPENDENT or (direction == TO_EARLIER and gold > own)
        peak = input_["peaks"].get(own, {}).get("most_attending" if backward else "most_attended")

        def arc(other: int, kind: str) -> Arc:
            start, end = (other, own) if backward else (own, other)
            weights = input_["weights"].get(start) or []
            return Arc(start, end, weights[end] if end < len(weights) else None, kind)

        is_right = example["breakdown"] == "right"
        marked = [arc(gold, FOUND if is_right else MISSED)]
        if not is_right and peak in shown and peak != gold:
            marked.append(arc(peak, INSTEAD))
        pairs = {(mark.start, mark.end) for mark in marked}
        others = (plain for plain in line.arcs if (plain.start, plain.end) not in pairs)
        ends = {own, gold, *(end for mark in marked for end in (mark.start, mark.end))}
        arcs = (*others, *marked)
        return replace(line, arcs=arcs, dependent=own, marked=tuple(sorted(ends)))


def _caption(line: ArcLine) -> str:
    """What an example shows: Missed: "pretense" of "expanded"; instead "his" (sentence)."""
    words: dict[int | None, str] = {
        at: f"\N{LEFT DOUBLE QUOTATION MARK}{isolate_direction(shorten_for_svg(text))}"
        "\N{RIGHT DOUBLE QUOTATION MARK}"
        for at, text in line.words
    }
    kinds = {arc.kind: arc for arc in line.arcs}
    gold = kinds[FOUND] if FOUND in kinds else kinds[MISSED]
    (other,) = {gold.start, gold.end} - {line.dependent}
    text = f"{'Found' if FOUND in kinds else 'Missed'}: {words[line.dependent]} of {words[other]}"
    if INSTEAD in kinds:
        instead = kinds[INSTEAD]
        (predicted,) = {instead.start, instead.end} - {line.dependent}
        text += f"; instead {words[predicted]}"
    elif MISSED in kinds:
        text += "; instead a word elsewhere in the input"
    return f"{text} ({shorten_for_svg(line.sentence)})"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
