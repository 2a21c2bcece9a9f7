"""Edges of attention that are cut: those of a relation between words, and random ones as controls.

An edge is the attention from one word to another: of all pieces of the first to all pieces of the
second. A causal model predicts a word before it reads it, from the token before. So that it cannot
use an edge for that, the edge is cut there instead: it is that of the prediction of the word. A
control has as many edges in each input, over the same distances, between words that the relation
does not connect.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.candidate_inputs import Query

EdgeDirection = Literal["dependent_to_head", "head_to_dependent", "both"]
CutAt = Literal["word", "prediction"]

# The places of two words in an input: the one that attends, and the one that it attends to.
Edge = tuple[int, int]


class PlacedWord(NamedTuple):
    """What stands at a position of an input: a word, or the words from `first` to `last`."""

    first: int  # word.id
    last: int
    sentence: int  # sentence.id


@dataclass(frozen=True)
class Edges:
    """The edges of a relation, in one direction or in both.

    They are cut at the word that attends, or at the tokens from which its pieces are predicted.
    """

    relation: str
    direction: EdgeDirection = "both"
    at: CutAt = "word"


class EdgeFinder:
    """Finds the edges of a relation between the words of inputs, and draws those of its controls.

    `is_causal`: words attend only to what precedes them. Raises CallError if no word that the run
    has read has such an edge.
    """

    def __init__(self, query: Query, run: int, edges: Edges, *, is_causal: bool) -> None:
        self._attended: dict[int, list[int]] = {}  # by the word that attends
        parameters = {"run": run, "relation": edges.relation}
        pairs = query("losses/edges_of_relation", parameters)
        for dependent, head in pairs:
            directed = (
                (dependent, head, "head_to_dependent"), (head, dependent, "dependent_to_head"),
            )  # fmt: skip
            for attending, attended, other_direction in directed:
                # The ids of words are in the order of the text.
                is_possible = attended < attending or not is_causal
                if edges.direction != other_direction and is_possible:
                    self._attended.setdefault(attending, []).append(attended)
        if pairs and not self._attended:
            raise CallError(
                f"In a causal model no word attends along {edges.relation}"
                f" ({edges.direction}): what it would attend to comes later.",
                "Leave out --direction, or give the other one.",
            )
        if not self._attended:
            raise CallError(
                f"The text of the run has no edge of the relation {edges.relation}.",
                "Name a relation of its trees, or one that was saved: attnbank save",
            )

    def find(self, words: Sequence[PlacedWord]) -> list[Edge]:
        """Return the edges between words, in order; words at one position have none."""
        place_of = {id: at for at, word in enumerate(words) for id in range(word[0], word[1] + 1)}
        edges = {
            (attending, place_of[attended])
            for word, attending in place_of.items()
            for attended in self._attended.get(word, ())
            if attended in place_of
        }
        return sorted(
            (attending, attended) for attending, attended in edges if attending != attended
        )

    def draw(self, words: Sequence[PlacedWord], seeds: Sequence[str]) -> list[list[Edge]]:
        """Return random edges for each seed: as many as of the relation, over the same distances.

        Those within a sentence are drawn within sentences, those across from pairs across. Where
        an input has too few pairs at a distance, all are taken.
        """
        edges = self.find(words)
        related = {*edges, *((attended, attending) for attending, attended in edges)}
        strata = []
        for stratum, count in sorted(Counter(_stratum(edge, words) for edge in edges).items()):
            distance, _ = stratum
            places = range(max(0, -distance), len(words) - max(0, distance))
            candidates = [
                edge
                for attending in places
                if (edge := (attending, attending + distance)) not in related
                and _stratum(edge, words) == stratum
            ]
            strata.append((candidates, min(count, len(candidates))))
        draws = []
        for seed in seeds:
            # Each input has draws of its own, so that an interrupted measurement can resume.
            rng = random.Random(f"edges {seed} {words[0].first if words else 0}")
            draws.append(sorted(edge for pool, count in strata for edge in rng.sample(pool, count)))
        return draws


def _stratum(edge: Edge, words: Sequence[PlacedWord]) -> tuple[int, bool]:
    """Return the distance of an edge in positions, and whether it crosses sentences."""
    attending, attended = edge
    return attended - attending, words[attending].sentence != words[attended].sentence


def expand_tokens(
    edges: Iterable[Edge], tokens: Mapping[int, tuple[int, int]], *, before: int = 0
) -> tuple[tuple[int, int], ...]:
    """Return the edges between tokens: from each piece of a word to each of the other.

    `tokens` has the half-open range of the pieces of each place; an edge to another is left out.
    Edges are cut `before` tokens further left, where no token loses itself.
    """
    return tuple(
        (row, column)
        for attending, attended in edges
        if attending in tokens and attended in tokens
        for row in range(tokens[attending][0] - before, tokens[attending][1] - before)
        for column in range(*tokens[attended])
        if row >= 0 and row != column
    )
