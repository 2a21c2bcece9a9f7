"""One sentence and what heads look at in it: the methods of Bank for it, and what they return."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from attnbank.sql.errors import AttnbankWarning, CallError, QueryError

if TYPE_CHECKING:
    from attnbank.queries.bank import Bank
    from attnbank.queries.pictures.sentence import Facts, Panel
    from attnbank.queries.sentences.choosing import Chosen
    from attnbank.sql.runs import Run

DIRECTIONS = ("dependent_to_head", "head_to_dependent")
MOST_HITS = 50
_AT_FIRST = 100
"""Hits that are asked for at first, for each sentence that is shown."""


@dataclass(frozen=True)
class Shown:
    """What heads look at in one sentence, or in several.

    `rows` has a row a sentence, head and word: what it looks at most, the weight, its gold head.
    `weights` has a row a sentence, head and pair of positions (to_position is null for all that is
    not shown), as the picture draws them. `marked` has for each sentence, by its number
    (sentence.id), the indexes of its marked words, counted from 1. A notebook shows the picture.
    """

    rows: pl.DataFrame
    run: Run
    panels: tuple[Panel, ...]
    facts: Facts
    marked: Mapping[int, frozenset[int]]

    @property
    def weights(self) -> pl.DataFrame:
        """Return every weight of the picture, in [0, 1], also those too small to be drawn.

        The columns are sent_id, layer, head, from_position, to_position and weight.
        """
        from attnbank.queries.pictures.sentence.panel import ELSEWHERE

        return pl.concat(
            each.weights.select(
                pl.lit(each.sentence).alias("sent_id"),
                pl.lit(each.layer, pl.Int16).alias("layer"),
                pl.lit(each.head, pl.Int16).alias("head"),
                "from_position",
                pl.col("to_position").replace(ELSEWHERE, None),
                "weight",
            )
            for each in self.panels
        )

    @property
    def svg(self) -> str:
        """Return the picture as SVG, for light ground and for print."""
        return self.draw()

    def draw(self, theme: str = "light") -> str:
        """The picture as SVG, on light or dark ground. Raises CallError for another theme."""
        from attnbank.queries.pictures.sentence import draw

        return draw(self.panels, self.facts, theme)

    def html(self, theme: str = "light") -> str:
        """The picture as a page that reads nothing else: a word that is pointed at shows its lines.

        Raises CallError for an unknown theme.
        """
        from attnbank.queries.pictures.sentence import page

        return page(self.panels, self.facts, theme)

    def _repr_svg_(self) -> str:
        return self.draw()


class Sentences:
    """The part of a Bank that shows sentences."""

    def show(
        self,
        sentence: str | int,
        head: str | Sequence[str] = (),
        *,
        layer: int | None = None,
        run: str | int | None = None,
        corpus: str | None = None,
        relation: str | None = None,
        direction: str = "dependent_to_head",
        coreference: bool = False,
        tree: bool = False,
        special: bool = True,
        words: tuple[int, int] | None = None,
        before: int = 0,
        matched: Sequence[int] = (),
        hits: int = 1,
        least: float = 0.01,
        timeout: float = 30.0,
    ) -> Shown:
        """Show what heads look at in a sentence: rows, weights and a picture.

        `sentence` is its number (sentence.id), its name (sent_id), or a request of `find`: then the
        first `hits` sentences that it finds are shown, the matched words marked. `head` is "3-1" or
        several; `layer` is all heads of one. The gold arcs of a `relation` (obj, all, or a saved
        one) are drawn in colour; with the `direction` head_to_dependent, from the head to the
        dependent. `coreference` colours the mentions of each entity, `tree` adds the tree, without
        `special` special tokens are left out. `words` are the first and the last index of the words
        to show, `before` is how many sentences of the same input are drawn above it. `matched` has
        the indexes of words that are marked as those that a request found are. Weights under
        `least` are not drawn.

        The run is chosen as for an analysis, among those over the sentence's corpus. Raises
        CallError for a sentence, head, relation or run that is not there, QueryError where no run
        fits or the run left the sentence out, and as `find` for a request. Warns with
        AttnbankWarning where a part of the sentence is not shown.
        """
        from attnbank.queries.pictures.sentence import Facts
        from attnbank.queries.sentences import choosing, reading
        from attnbank.queries.sentences.marks import Asked
        from attnbank.sql.runs import UnfinishedRunWarning

        bank = cast("Bank", self)
        _check(direction, hits, least, words)
        asked_run = None if run is None else str(run)
        asked = Asked(relation, direction, coreference, special, words, before)
        with bank._answering():
            needs = reading.needs(bank.connection, asked, tree)
        if choosing.is_request(str(sentence)):
            taken, chosen = _found(bank, str(sentence), asked_run, corpus, needs, hits, timeout)
        else:
            taken, chosen = _called(bank, str(sentence), asked_run, corpus, needs)
            with bank._answering():
                chosen = [choosing.marked(bank.connection, each, matched) for each in chosen]
        with bank._answering():
            connection = bank.connection
            reading.check_relation(connection, relation, taken)
            pairs = choosing.heads_of(taken, [head] if isinstance(head, str) else head, layer)
            choosing.check_count(len(pairs), len(chosen))
            found = [reading.read(connection, taken, each, pairs, asked) for each in chosen]
            names = reading.names(connection, taken)
        if not taken.is_finished:
            told = f"The run {taken.name} is not finished: it has read a part of its corpus."
            warnings.warn(told, UnfinishedRunWarning, stacklevel=2)
        left_out = dict.fromkeys(told for each in found for told in each.left_out)
        for told in left_out:
            warnings.warn(told, AttnbankWarning, stacklevel=2)
        notes = (*left_out, *dict.fromkeys(told for each in found for told in each.notes))
        trees: dict[str, Any] = {}
        if tree:
            trees = {one.name: each.tree for one, each in zip(chosen, found, strict=True)}
            if None in trees.values():
                raise QueryError("The sentence has no tree.", "Leave --tree out.")
        return Shown(
            rows=pl.concat(each.rows for each in found),
            run=taken,
            panels=tuple(panel for each in found for panel in each.panels),
            facts=Facts(
                **names, relation=relation, direction=direction, coreference=coreference,
                least=least, notes=notes, trees=trees,
            ),
            marked={each.id: each.matched for each in chosen},
        )  # fmt: skip


def _called(
    bank: Bank, name: str, run: str | None, corpus: str | None, needs: str | None
) -> tuple[Run, list[Chosen]]:
    """The sentence of a name or number, and the run that shows it."""
    from attnbank.queries.sentences import choosing

    with bank._answering():
        connection = bank.connection
        if corpus is not None:
            choosing.check_corpus(connection, corpus)
        one = choosing.called(connection, name, corpus)
        of = one.corpus, one.corpus_name
        taken = choosing.run_over(connection, bank.path, run, needs, of)
        choosing.check_held(connection, taken, one)
    return taken, [one]


def _found(
    bank: Bank, request: str, run: str | None, corpus: str | None, needs: str | None,
    hits: int, timeout: float,
) -> tuple[Run, list[Chosen]]:  # fmt: skip
    """The first sentences that a request finds among those that a run has read, and the run."""
    from attnbank.queries.patterns import Choice, RunFacts
    from attnbank.queries.sentences import choosing

    read_by = bank.run_of_request(request, run) if asks(request) else None
    with bank._answering():
        connection = bank.connection
        of = None if corpus is None else choosing.check_corpus(connection, corpus)
        named = run if read_by is None else read_by.name
        taken = choosing.run_over(connection, bank.path, named, needs, of)
    facts = None if read_by is None else RunFacts.of(read_by)
    for limit in (_AT_FIRST * hits, None):
        choice = Choice(taken.corpus_name, limit, keys=True, run=facts)
        frame = bank.hits(request, choice, timeout=timeout)
        chosen = _by_sentence(frame, taken)
        with bank._answering():
            held = choosing.held(bank.connection, taken, list({each.id for each in chosen}))
        kept = [each for each in chosen if each.id in held][:hits]
        if len(kept) == hits or limit is None or frame.height < limit:
            break
    if not kept:
        raise QueryError(
            f"The request finds nothing in the run {taken.name}.",
            "attnbank find REQUEST tells what it finds elsewhere in the bank.",
        )
    if len(kept) < hits:
        told = f"The request finds {len(kept)} of the {hits} sentences in the run {taken.name}."
        warnings.warn(told, AttnbankWarning, stacklevel=3)
    return taken, kept


def asks(request: str) -> bool:
    """Whether a request asks about attention. Raises RequestError where it cannot be read."""
    from attnbank.queries.patterns import asks_about_attention

    return asks_about_attention(request)


def _by_sentence(frame: pl.DataFrame, run: Run) -> list[Chosen]:
    """The sentences of some hits, in their order, each with the words that any hit matched."""
    from attnbank.queries.sentences.choosing import Chosen

    nodes = [name for name, dtype in frame.schema.items() if dtype == pl.Int16]
    names: dict[int, str] = {}
    matched: dict[int, set[int]] = {}
    for row in frame.iter_rows(named=True):
        one = row["sentence"]
        names.setdefault(one, row["sent_id"] if row["sent_id"] is not None else str(one))
        matched.setdefault(one, set()).update(row[node] for node in nodes if row[node])
    return [
        Chosen(one, name, run.corpus, run.corpus_name, frozenset(matched[one]))
        for one, name in names.items()
    ]


def _check(direction: str, hits: int, least: float, words: tuple[int, int] | None) -> None:
    """Raise CallError for values that no picture has."""
    if direction not in DIRECTIONS:
        raise CallError(f"There is no direction {direction}.", f"Say {' or '.join(DIRECTIONS)}.")
    if not 1 <= hits <= MOST_HITS:
        raise CallError(f"{hits} is no number of sentences.", f"Give 1 to {MOST_HITS}.")
    if not 0 <= least < 1:
        raise CallError(f"{least} is no least weight.", "Give a number from 0 to below 1.")
    if words is not None and not 1 <= words[0] <= words[1]:
        raise CallError(f"{words[0]}-{words[1]} are no words.", "Give FROM-TO, from 1 on: 1-20.")
