"""The options of an ingest, and the reports that it returns."""
# ruff: noqa: RUF009 (`option` makes a dataclass field, which ruff cannot see.)

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from attnbank.ingest.corpora.document import LEFT_OUT, Problem
from attnbank.ingest.corpora.shards import read_shard
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.store.deleting import Deletion

Unit = Literal["word", "token"]
Subword = Literal["mean", "first"]
Ablate = Literal["heads", "layers"]
Replacement = Literal["uniform", "zero"]
Multiword = Literal["written", "parts"]
"""How a multiword token that its words do not spell is read: as written, or its words instead."""
Edges = Literal["cut", "share"]
"""Whether the tokenizer is given each word by itself, or the text."""
_KEEP = re.compile(r"weights|peaks|top:([1-9][0-9]{0,3})")
Measure = Literal["weights", "norms", "residual-norms", "rollout", "value-zeroing"]
"""What the matrices of a run hold: see attention/measures.py."""
FirstWord = Literal["special", "word"]
"""What the first word of an input with nothing before it counts as."""

DEFAULT_MODEL = "google-bert/bert-base-uncased"
MINILM = "minilm"
"""The name of the small model that comes as a package of its own."""
NO_MODEL = "none"
"""What is named instead of a model where only the text is written."""
DEFAULT_MAX_TOKENS = {"document": 128, "pair": 128}
MOST_RANDOM = 2**31 - 1
"""The largest seed of random weights, and the largest count: their columns are INTEGER."""
_MOST_DRAWN = 10_000_000
_LONGEST_NAME = 1000  # characters; most systems do not allow longer paths
MOST_SEED = 2**63 - 1
"""The largest seed of samples, pairs and masks, and the largest sample."""


def option(default: Any, help: str, group: str = "", **more: Any) -> Any:
    """A field of options that is an option of the command line too, below the heading `group`.

    `more` may have `choices`; the bounds of a number, `least` and `most` (unless it is
    MOST_RANDOM), or `above` and `below`, which are out of bounds themselves; `is_bytes` for a size;
    `metavar`; `flag`, where it is not called as the field; and `short`, a short flag.
    """
    if "least" in more and "below" not in more:
        more.setdefault("most", MOST_RANDOM)
    return field(default=default, metadata={"help": help, "group": group, **more})


TRUST_HELP = (
    "Run the Python code that comes with some models, to load them. Only for models whose authors"
    " you trust: that code can do anything that you can."
)
CORPUS, MODEL, INPUTS = "Corpus", "Model", "Inputs"
PART, KEEP = "Part of the corpus", "What to store"
_of_corpus, _of_model, _of_inputs, _of_part, _of_result = (
    partial(option, group=each) for each in (CORPUS, MODEL, INPUTS, PART, KEEP)
)


@dataclass(frozen=True)
class IngestOptions:
    """Everything that shapes an ingest; each field is an option of `attnbank ingest`.

    `corpora` are files or folders, or - for standard input, or data frames of words (Polars,
    pandas, whatever streams Arrow; `ingest/corpora/frames.py`), which need a `name`; and none where
    `repeat` makes a corpus. `bank` is the file to fill. What is None is found from the corpus, or
    left to the model.
    """

    corpora: tuple[Any, ...]
    bank: Path
    model: str = _of_model(
        DEFAULT_MODEL,
        "A model of the Hugging Face hub, a folder that contains one, or minilm (no download)."
        " With none, write only the text and run no model.",
        short="-m",
        metavar="NAME",
    )
    format: str | None = _of_corpus(
        None, "Format of the corpus. Default: detected from its contents."
    )
    spacy: str | None = _of_corpus(
        None,
        "Annotate plain text with this spaCy pipeline (en_core_web_trf); the bank marks such"
        " annotation as silver.",
        metavar="PIPELINE",
    )
    name: str | None = _of_corpus(
        None, "Name of the corpus. Default: its file name without the extension.", metavar="NAME"
    )
    language: str | None = _of_corpus(
        None,
        "Language of the corpus: fr, he, zh-Hant. Default: from its file name, if it is named as"
        " in Universal Dependencies (fr_gsd-ud-dev.conllu) or like fr-dev.conllu.",
        metavar="TAG",
    )
    licence: str | None = _of_corpus(
        None,
        "Licence of the corpus (CC BY-SA 4.0), which decides whether its text may be published."
        " Default: as stated in the README beside its files.",
        metavar="TEXT",
    )
    citation: str | None = _of_corpus(
        None,
        "How to cite the corpus. Default: the first BibTeX entry in the README beside its files.",
        metavar="TEXT",
    )
    split: str | None = _of_corpus(
        None,
        "Split of its documents: train, dev or test. Default: from the file names.",
        metavar="SPLIT",
    )
    repeat: int | None = _of_corpus(
        None,
        "Generate the corpus instead of reading one: inputs of N random tokens from the model's"
        " vocabulary, each repeated once. --limit sets the number of inputs (default 100), --seed"
        " the seed.",
        least=1,
        most=15_000,
        metavar="N",
    )
    skip_bad: bool = _of_corpus(False, "Skip what cannot be read, and list it.")
    strict: bool = _of_corpus(
        False,
        "Treat warnings about the corpus as errors (for example, a # text line that differs from"
        " its words).",
    )
    revision: str | None = _of_model(
        None, "Commit, branch or tag of the model on the hub.", metavar="COMMIT"
    )
    series: str | None = _of_model(
        None,
        "Ingest each checkpoint of a training as a run of its own: those whose names match this"
        " pattern ('step*'), ordered by step. They are subfolders of the folder --model, or"
        " branches of a model of the hub.",
        metavar="PATTERN",
    )
    trust_remote_code: bool = _of_model(False, TRUST_HELP)
    random_weights: int | None = _of_model(
        None,
        "Give the model random weights from this seed, as a control. 1..5 makes a run for each of"
        " five seeds.",
        least=0,
        metavar="SEED|FIRST..LAST",
    )
    device: str = _of_model(
        "auto",
        "Device for the model: cpu, cuda, cuda:1 or mps; auto is cuda if available, else cpu.",
        metavar="DEVICE",
    )
    batch_tokens: int = _of_model(
        1024, "Tokens per forward pass, padding included.", least=1, metavar="N"
    )
    context: str = _of_inputs(
        "sentence",
        "Input of the model: a sentence, whole sentences of a document, or a pair of segments of"
        " a document ([CLS] A [SEP] B [SEP]).",
        choices=("sentence", "document", "pair"),
    )
    unit: Unit = _of_inputs(
        "word",
        "Store attention between words (subword pieces merged) or between tokens.",
        choices=get_args(Unit),
    )
    subword: Subword = _of_inputs(
        "mean",
        "Attention from a word of several pieces: the mean over the pieces (as in the paper), or"
        " that of the first piece (as in the published code).",
        choices=get_args(Subword),
    )
    multiword: Multiword = _of_inputs(
        "written",
        "How to read a multiword token that its words do not spell (French du: de + le): as"
        " written, with its words at one position, or in parts, word by word.",
        choices=get_args(Multiword),
    )
    edges: Edges = _of_inputs(
        "cut",
        "What to do where the tokenizer, given the text, would cross a word boundary: cut"
        " (tokenize each word by itself) or share (tokenize the text; words joined by a token"
        " share a position).",
        choices=get_args(Edges),
    )
    bos: bool = _of_inputs(
        False,
        "Add the tokenizer's beginning-of-text token before each input, if the tokenizer does not"
        " do so by default (as with many decoders).",
    )
    bos_token: str | None = _of_inputs(
        None, "Add this token of the vocabulary instead (<|endoftext|>).", metavar="TOKEN"
    )
    first_word: FirstWord = _of_inputs(
        "special",
        "How to treat the first word of an input if a causal model gets no token before it:"
        " special, excluded from maxima like [CLS], since heads rest on it; or word, like any"
        " other.",
        choices=get_args(FirstWord),
    )
    max_tokens: int | None = _of_inputs(
        None,
        "Longest input in tokens, special tokens included: longer sentences are skipped,"
        " documents and pairs are cut. Default: 128 for documents and pairs, the model's limit"
        " for sentences.",
        least=1,
        metavar="N",
    )
    truncate: bool = _of_inputs(
        False,
        "With --context document: keep only the first input of each document, as in the paper.",
    )
    shard: str | None = _of_part(
        None,
        "Ingest one part of the documents, always the same ones: 3/16 is every sixteenth document"
        " from the third on. Write each shard into its own bank.",
        metavar="K/N",
    )
    limit: int | None = _of_part(
        None,
        "Ingest a random sample of N inputs. Default: all. With --repeat: the number of inputs.",
        least=1,
        most=MOST_SEED,
        metavar="N",
    )
    seed: int = _of_part(
        0,
        "Seed of --limit, of --repeat, and of where --context pair splits its segments.",
        least=0,
        most=MOST_SEED,
        metavar="SEED",
    )
    measure: Measure = _of_result(
        "weights",
        "Attention to store: weights; norms, the lengths of the weighted value vectors (Kobayashi"
        " et al. 2020); or, for whole layers, residual-norms (with the residual connection, and"
        " the layer norm if it comes after it, 2021), rollout (Abnar and Zuidema 2020; --unit"
        " token) or value-zeroing (Mohebbi et al. 2023; one pass per word, so use a sample:"
        " --limit).",
        choices=get_args(Measure),
    )
    keep: str = _of_result(
        "weights",
        "How much of each attention map to store: all weights; only its peaks and sums, which are"
        " far smaller for long inputs and enough for all but a few analyses; or, as in top:8,"
        " these and the largest weights from each position, for requests and pictures.",
        metavar="weights|peaks|top:K",
    )
    decimals: int | None = _of_result(
        None,
        "Decimals to round weights to; 5 makes the bank a third smaller. Default: no rounding.",
        least=1,
        most=7,
        metavar="N",
    )
    gradients: bool = _of_result(
        False,
        "Also store the gradient of the masked-language-model loss with respect to each attention"
        " weight (needs a model with that head, and --unit token).",
    )
    ablate: Ablate | None = _of_result(
        None,
        "Also store the masked-language-model loss with each head (or each layer) disabled.",
        choices=get_args(Ablate),
    )
    replacement: Replacement = _of_result(
        "uniform",
        "What replaces the weights of a disabled head: uniform, 1/L over the L tokens of the"
        " input; or zero.",
        choices=get_args(Replacement),
    )
    mask_seed: int = _of_result(
        0, "Seed of the masks of --gradients and --ablate.", least=0, most=MOST_SEED, metavar="SEED"
    )
    replace: bool = _of_result(False, "Start the run over if it is already in the bank.")

    def __post_init__(self) -> None:
        # In Python a path may be text or a Path, and one corpus need not be in a tuple.
        several = (self.corpora,) if isinstance(self.corpora, str | Path) else self.corpora
        corpora = tuple(str(corpus) if isinstance(corpus, Path) else corpus for corpus in several)
        object.__setattr__(self, "corpora", corpora)
        object.__setattr__(self, "bank", Path(self.bank))

    @property
    def paths(self) -> tuple[str, ...]:
        """The corpora as text: a data frame is one (frame)."""
        return tuple(each if isinstance(each, str) else "(frame)" for each in self.corpora)

    @property
    def largest(self) -> int | None:
        """How many weights of each distribution are kept, K of `--keep top:K`; None for all.

        0 stands for peaks and sums alone. Raises CallError for what is not a value of `--keep`.
        """
        found = _KEEP.fullmatch(self.keep)
        if found is None:
            raise CallError(
                f"{self.keep[:40]!r} is not a valid value of --keep.",
                "Use weights, peaks, or top:K with K from 1 to 9999 (top:8).",
            )
        return None if self.keep == "weights" else int(found[1] or 0)

    @property
    def masked(self) -> bool:
        """Whether inputs are also masked, which needs the model's masked-language-model head."""
        return self.gradients or self.ablate is not None


@dataclass(frozen=True)
class Departures:
    """Departures of one kind of a corpus from its format that were read nevertheless.

    Or, where `is_left_out`, what a sound corpus has and a bank does not. `id` is that of the fault
    or of what is left out; `fact` and `place` (file:line) describe the first of `count`.
    """

    id: str
    count: int
    fact: str
    place: str

    @property
    def is_left_out(self) -> bool:
        """Whether the bank leaves something out of a sound source: --strict accepts it."""
        return self.id in LEFT_OUT


@dataclass(frozen=True)
class TextReport:
    """What an ingest without a model did: the corpus, and what is odd about it."""

    corpus: str
    problems: list[Problem]
    departures: list[Departures]
    notes: list[str]


@dataclass
class Report:
    """What an ingest did.

    `state` is new, resumed or unchanged. Counts are of the whole run; `sentences` are those in its
    inputs. `unknown_words` are the words with a piece that the tokenizer's vocabulary lacks (None
    for a run of an older version); `joined_words` are those that the tokenizer reads otherwise
    within the text than by themselves. `inner_dependencies` are between two words of one position,
    so that no head can find them; `empty_nodes` are nodes of the corpus that are not words. `keep`,
    `measure`, `first_word` and `bos` are as in table `run`. `skipped` has the number of sentences
    left out by reason, `notes` say how a corpus was made, and how the model attends where that is
    unusual, `problems` what could not be read. `replaced` is what was deleted with the run that
    this one replaces, if any.
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

    `passes` are those of each layer where value zeroing takes one for each position.
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


def check_run(options: IngestOptions) -> None:
    """Raise CallError as `check_options`, and for options without a model."""
    check_options(options)
    if options.model == NO_MODEL:
        raise CallError(
            f"--model {NO_MODEL} writes the text alone: there is no run to count or to make.",
            "Leave --dry-run and --engine out (in Python: add_text), or name a model.",
        )


def check_options(options: IngestOptions) -> None:
    """Raise CallError for options that are out of range, or do not go together."""
    shard = read_shard(options.shard)
    for own in fields(options):
        flag = f"--{own.name.replace('_', '-')}"
        _check_value(flag, getattr(options, own.name), own.metadata)
    of_hub = options.model != MINILM and not Path(options.model).is_dir()
    drawn = {options.limit, options.repeat} != {None} or options.context == "pair"
    reads = [
        *options.corpora,
        *(f"--{each}" for each in ("format", "spacy") if vars(options)[each]),
    ]
    leave_out = "Leave one of them out."
    asked_of_model = next(
        (
            f"--{each.name.replace('_', '-')}"
            for each in fields(options)
            if each.metadata.get("group") in (MODEL, INPUTS, KEEP)
            and each.name != "model"
            and getattr(options, each.name) != each.default
        ),
        "",
    )
    for is_wrong, fact, remedy in (
        (
            options.repeat is not None and reads,
            f"--repeat makes the corpus, and {(reads or [''])[0]} reads one.",
            leave_out,
        ),
        (
            options.repeat is not None and options.edges == "share",
            "--repeat draws tokens for words that are read one by one, and --edges share reads the"
            " text.",
            leave_out,
        ),
        (
            options.repeat is not None and options.model == NO_MODEL,
            "--repeat draws from the vocabulary of a model.",
            "Name it: --model MODEL.",
        ),
        (
            (options.repeat or 0) * (options.limit or 0) > _MOST_DRAWN,
            f"--repeat and --limit draw more than {_MOST_DRAWN:,} tokens.",
            "Give a smaller --limit.",
        ),
        (
            options.keep == "peaks" and options.decimals is not None,
            "--decimals rounds the weights, and --keep peaks keeps none.",
            leave_out,
        ),
        (
            options.largest is not None and options.gradients,
            "--gradients keeps a gradient for every weight, and --keep"
            f" {options.keep} does not keep every weight.",
            leave_out,
        ),
        (
            options.context == "pair" and options.unit == "word",
            "The segments of a pair are cut between tokens, and so within words.",
            "Add --unit token.",
        ),
        (
            options.truncate and options.context != "document",
            "--truncate keeps the first input of each document, and the inputs are"
            f" {options.context}s.",
            "Add --context document, or leave --truncate out.",
        ),
        (
            options.subword != "mean" and options.unit == "token",
            "--subword says how the pieces of a word are merged, and the positions are tokens.",
            "Leave --subword out, or --unit token.",
        ),
        (
            options.seed and not drawn,
            "--seed chooses samples and pairs, and nothing is drawn at random.",
            "Give --limit, --repeat or --context pair too, or leave --seed out.",
        ),
        *(
            (
                options.series is not None and is_given,
                f"--series makes a run of each checkpoint, and {flag} is about one model.",
                leave_out,
            )
            for flag, is_given in (
                ("--revision", options.revision is not None),
                ("--random-weights", options.random_weights is not None),
                ("--replace", options.replace),
                (f"--model {MINILM}", options.model == MINILM),
            )
        ),
        (
            options.revision is not None and not of_hub,
            f"--revision is for models of the hub, and {options.model} is not from the hub.",
            "Leave --revision out.",
        ),
        (
            options.gradients and options.unit != "token",
            "--gradients are by the attention between tokens: the merged weights of words are"
            " not variables of the model.",
            "Give --unit token.",
        ),
        (
            options.model == NO_MODEL and asked_of_model,
            f"--model {NO_MODEL} writes the text alone, and {asked_of_model} is about a run.",
            "Leave it out, or name a model.",
        ),
        (
            options.measure != "weights" and options.masked,
            "--gradients and --ablate are about the weights of heads, and --measure keeps"
            f" {options.measure}.",
            leave_out,
        ),
        (
            options.measure == "rollout" and options.unit == "word",
            "Rollout multiplies the maps of tokens: those of words cannot be made of them.",
            "Add --unit token.",
        ),
        (
            options.replacement != IngestOptions.replacement and options.ablate is None,
            "--replacement says how heads are disabled.",
            "Give --ablate too.",
        ),
        (
            options.mask_seed and not options.masked,
            "--mask-seed says which tokens are masked, and none are.",
            "Give --gradients or --ablate too.",
        ),
        (
            not shard.is_whole and options.limit is not None and options.repeat is None,
            "--limit draws from the whole corpus, and --shard reads a part of it.",
            leave_out,
        ),
    ):
        if is_wrong:
            raise CallError(fact, remedy)


def _check_value(flag: str, value: Any, known: Mapping[str, Any]) -> None:
    """Check a value of an option, of which `known` are the choices or bounds (`options.option`)."""
    if value is None:
        return
    if "choices" in known and value not in known["choices"]:
        usable = " or ".join(known["choices"])
        raise CallError(f"{value!r} is not a valid value of {flag}.", f"Use {usable}.")
    if "least" in known and not known["least"] <= value <= known["most"]:
        usable = f"{known['least']:,} to {known['most']:,}"
        raise CallError(f"{flag} is out of range.", f"Give a number from {usable}.")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise CallError(f"{flag} is not valid UTF-8.", "Write it in UTF-8.") from None
        if "\0" in value:
            raise CallError(f"{flag} contains a null character.", "Leave it out.")
        if len(value) > _LONGEST_NAME:
            raise CallError(f"{flag} has {len(value):,} characters.", "Give a shorter one.")
