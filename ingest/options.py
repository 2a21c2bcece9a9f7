"""The options of an ingest, and the reports that it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from attnbank.ingest.corpora.document import Problem

if TYPE_CHECKING:  # importing torch and tokenizers would slow down the command line's help
    from attnbank.ingest.attention.pooling import Subword
    from attnbank.ingest.attention.rows import Keep
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
KEPT = ("weights", "peaks")
REPLACEMENTS = ("uniform", "zero")
MOST_RANDOM = 2**31 - 1
"""The largest seed of random weights, and the largest count: their columns are INTEGER."""
MOST_SEED = 2**63 - 1
"""The largest seed of samples, pairs and masks, and the largest sample."""


@dataclass(frozen=True)
class IngestOptions:
    """Everything that shapes an ingest; the defaults are those of `attnbank ingest`.

    `corpora` are files or folders, or - for standard input; `bank` is the file to fill. `format`,
    `split` and `name` of the corpus are found from the files if they are None. `spacy` names the
    pipeline that annotates plain text.

    `model` is a hub name, a folder or minilm; `revision` is a commit on the hub. `random_weights`
    is the seed of random weights. `trust_remote_code` runs the Python code that some models come
    with, in order to load them.

    `context` is what an input is: a sentence, whole sentences of a document (with `truncate`, only
    the first such input of each document), or a pair of segments. `limit` takes that many inputs
    at random; `seed` is the seed of this sample and of the pairs. `shard` takes a part of the
    documents, always the same ones: 3/16 is the third of 16 parts, each into a bank of its own.

    `unit` and `subword` say what a position is and how the pieces of a word are merged (section 4.1
    of the paper). `multiword` says how a multiword token that its words do not spell (French "du"
    for "de" and "le") is read: as it is written, so that its words share a position, or as its
    parts. `language` is the language of the corpus, a BCP 47 tag; None takes it from the names of
    the files. `keep` says what is kept of each attention map: all its weights, or only its peaks
    and sums, which take less room. `decimals` rounds the weights; None keeps them as they are.
    `max_tokens` counts
    special tokens too; None means 128 for documents and pairs, as in the paper, and the model's own
    limit for sentences. `batch_tokens` is the budget of one forward pass in padded tokens.

    `skip_bad` leaves out the sentences that cannot be read. `strict` also treats sentences as
    unreadable that depart from their format in a way that no figure depends on. `replace` deletes
    the run first if the bank has it.

    `gradients` and `ablate` need a model with a masked-language-model head, and mask its inputs
    with the seed `mask_seed`; `replacement` is what the weights of a disabled head become.
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
    keep: Keep = "weights"
    shard: str | None = None
    max_tokens: int | None = None
    truncate: bool = False
    limit: int | None = None
    seed: int = 0
    decimals: int | None = None
    random_weights: int | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    device: str = "auto"
    batch_tokens: int = 1024
    skip_bad: bool = False
    strict: bool = False
    replace: bool = False
    gradients: bool = False
    ablate: Ablate | None = None
    replacement: Replacement = "uniform"
    mask_seed: int = 0

    @property
    def masked(self) -> bool:
        """Whether inputs are also masked, which needs the model's masked-language-model head."""
        return self.gradients or self.ablate is not None


@dataclass(frozen=True)
class Departures:
    """Departures of one kind of a corpus from its format that were read nevertheless.

    `id` is the id of the fault that they are with --strict. There are `count` of them; `fact` and
    `place` (file:line) describe the first.
    """

    id: str
    count: int
    fact: str
    place: str


@dataclass
class Report:
    """What an ingest did.

    `state` is new, resumed or unchanged. Counts are of the whole run, and include the earlier parts
    of a resumed one; `sentences` are those in its inputs. `unknown_words` are the words with a
    piece that the tokenizer's vocabulary lacks; None for a run of an older version, which did not
    count them. `inner_dependencies` are between two words of one multiword token, so that no head
    can find them; `empty_nodes` are nodes of the corpus that are not words. `keep` says what is
    kept of the weights: all of them, or only peaks and sums. `skipped` has the
    number of sentences left out by reason, `problems` what could not be read. `replaced` is what
    was deleted with the run that this one replaces, if any.
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
    keep: Keep = "weights"
    skipped: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    departures: list[Departures] = field(default_factory=list)
    replaced: Deletion | None = None


@dataclass
class Estimate:
    """What an ingest would write: counts, and the expected size of the bank in bytes."""

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
