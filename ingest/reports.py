"""The reports of an ingest, and of a dry run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from attnbank.ingest.corpora.document import Departures, Problem
from attnbank.ingest.options import Edges, FirstWord, Measure
from attnbank.ingest.store.deleting import Deletion


@dataclass
class Report:
    """The result of an ingest.

    `state` is new, resumed or unchanged. Counts are of the whole run; `sentences` are those in its
    inputs. `unknown_words` have a piece that the tokenizer's vocabulary lacks (None for a run of an
    older version); `joined_words` are tokenized differently within the text than by themselves.
    `inner_dependencies` are between two words of one position, so that no head can find them;
    `empty_nodes` are nodes of the corpus that are not words. `keep`, `measure`, `first_word` and
    `bos` are as in table `run`. `skipped` maps a reason to the number of skipped sentences, `notes`
    say how the corpus was made, and how the model attends if that is unusual, `problems` what could
    not be read. `replaced` is what was deleted with the run that this one replaces, if any.
    """

    corpus: str
    run: str
    state: str
    inputs: int
    sentences: int
    words: int
    weights: int
    batches: int
    unknown_words: int | None = None
    joined_words: int | None = None
    edges: Edges = "cut"
    inner_dependencies: int = 0
    empty_nodes: int = 0
    keep: str = "weights"
    measure: Measure = "weights"
    first_word: FirstWord | None = None
    bos: str | None = None
    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    departures: list[Departures] = field(default_factory=list)
    replaced: Deletion | None = None


@dataclass
class Estimate:
    """What an ingest would write: counts, and the expected size of the bank in bytes.

    `passes` are the forward passes per layer of value zeroing (one for each position), else 0.
    """

    documents: int = 0
    inputs: int = 0
    sentences: int = 0
    words: int = 0
    pieces: int = 0
    weights: int = 0
    passes: int = 0
    bytes: int = 0
    unknown_words: int = 0
    joined_words: int = 0
    empty_nodes: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    departures: list[Departures] = field(default_factory=list)
