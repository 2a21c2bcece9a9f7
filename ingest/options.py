"""What an ingest is asked for, what it tells while it runs, and what it tells at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.document import Problem

if TYPE_CHECKING:  # torch and tokenizers are too much for the command line's help
    from attnbank.ingest.attention.pooling import Subword
    from attnbank.ingest.inputs.spans import Multiword
    from attnbank.ingest.masked.ablation import Ablate
    from attnbank.ingest.masked.interventions import Replacement
    from attnbank.ingest.models.tokenizer import Unit
    from attnbank.ingest.store.deleting import Deletion

DEFAULT_MODEL = "google-bert/bert-base-uncased"
CONTEXTS = ("sentence", "document", "pair")
DEFAULT_MAX_TOKENS = {"document": 128, "pair": 128}
UNITS = ("word", "token")
SUBWORDS = ("mean", "first")
ABLATIONS = ("heads", "layers")
MULTIWORDS = ("written", "parts")
REPLACEMENTS = ("uniform", "zero")
MOST_RANDOM = 2**31 - 1
"""The largest seed of random weights, and the largest count: such a column is an INTEGER."""
MOST_SEED = 2**63 - 1
"""The largest seed of what is drawn from a text."""


@dataclass(frozen=True)
class IngestOptions:
    """Everything that shapes an ingest.

    `batch_tokens` is the budget of one forward pass in padded tokens. `max_tokens` counts the
    special tokens; None means 128 for documents and pairs, as in the paper, and what the model
    takes for sentences.

    `skip_bad` leaves out the sentences that cannot be read; `strict` makes such sentences of those
    that depart from their format in what no figure depends on.

    `context` is what an input is: a sentence, whole sentences of a document (with `truncate`, the
    first such input of each document only), or a pair of segments. `limit` takes that many inputs
    at random; `seed` is that of the sample and of the pairs.

    `multiword` says how a multiword token that its words do not spell (French "du" for "de" and
    "le") is read: as it is written, its words sharing a position, or as its parts. `language` is
    that of the corpus, a BCP 47 tag.

    `trust_remote_code` runs the Python code that some models come with, to load them.

    `gradients` and `ablate` need a model with a masked-language-model head, and mask its inputs as
    `mask_seed` says; `replacement` is what the weights of a disabled head become.
    """

    corpora: tuple[str, ...]
    bank: Path
    model: str = DEFAULT_MODEL
    format: str | None = None
    spacy: str | None = None
    split: str | None = None
    name: str | None = None
    language: str | None = None
    context: str = "sentence"
    unit: Unit = "word"
    subword: Subword = "mean"
    multiword: Multiword = "written"
    max_tokens: int | None = None
    truncate: bool = False
    limit: int | None = None
    seed: int = 0
    decimals: int | None = None
    random_weights: int | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    device: str = "auto"
    batch_tokens: int = 2048
    skip_bad: bool = False
    strict: bool = False
    replace: bool = False
    gradients: bool = False
    ablate: Ablate | None = None
    replacement: Replacement = "uniform"
    mask_seed: int = 0

    @property
    def masked(self) -> bool:
        """Whether inputs are masked too, and the model's head is needed."""
        return self.gradients or self.ablate is not None


@dataclass(frozen=True)
class Departures:
    """Departures of a corpus from its format that were read all the same.

    `id` is that of the fault that --strict makes of them; `fact` and `place` (file:line) are of
    the first of the `count`.
    """

    id: str
    count: int
    fact: str
    place: str


@dataclass
class Report:
    """What an ingest did.

    `state` is new, resumed or unchanged; `sentences` are those that the inputs hold. Counts are
    those of the whole run, earlier parts of a resumed one included. `unknown_words` are those with
    a piece that the tokenizer's vocabulary lacks; None for a run that was made before they were
    counted. `inner_dependencies` are those between two words of one multiword token, which no head
    can find; `empty_nodes` are nodes of the corpus that are no words. `replaced` is what was
    deleted first, the run that this one replaces.
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
    inner_dependencies: int = 0
    empty_nodes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    departures: list[Departures] = field(default_factory=list)
    replaced: Deletion | None = None


@dataclass
class Estimate:
    """What an ingest would do: counts, and the size to expect in bytes."""

    documents: int
    inputs: int
    sentences: int
    words: int
    pieces: int
    weights: int
    bytes: int
    unknown_words: int = 0
    empty_nodes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    departures: list[Departures] = field(default_factory=list)
