"""The options of an ingest."""
# ruff: noqa: RUF009 (`option` makes a dataclass field, which ruff cannot see.)

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, get_args

from attnbank.sql.errors import CallError
from attnbank.sql.ids import MOST, read_shards
from attnbank.sql.matching import shaping_columns
from attnbank.sql.option_fields import check_values, flag_of, option

Unit = Literal["word", "token"]
Subword = Literal["mean", "first"]
Ablate = Literal["heads", "layers"]
Replacement = Literal["uniform", "zero"]
# How a multiword token that its words do not spell is read: as written, or as its words.
Multiword = Literal["written", "parts"]
# Whether the tokenizer is given each word by itself, or the text.
Edges = Literal["cut", "share"]
# What the matrices of a run contain: see attention/measures.py.
Measure = Literal["weights", "norms", "residual-norms", "rollout", "value-zeroing"]
LAYER_MEASURES = frozenset({"residual-norms", "rollout", "value-zeroing"})  # one map in each layer
# The kind of the first word of an input of a causal model without a token before the text.
FirstWord = Literal["special", "word"]

DEFAULT_MODEL = "google-bert/bert-base-uncased"
MINILM = "minilm"  # the small model that is installed as a package of its own
NO_MODEL = "none"  # as --model: write the text alone
DEFAULT_MAX_TOKENS = {"document": 128, "pair": 128}
MOST_SEED = 2**63 - 1  # the largest seed of samples, pairs and masks, and sample: BIGINT
_KEEP = re.compile(r"weights|peaks|top:([1-9][0-9]{0,3})")
_MOST_TOKENS = 10_000_000  # of --repeat, which draws a whole corpus before it is written


TRUST_HELP = (
    "Run the Python code that comes with some models, to load them. Only for models whose authors"
    " you trust: that code can do anything that you can."
)
CORPUS, MODEL, INPUTS = "Corpus", "Model", "Inputs"
PART, KEEP = "Part of the corpus", "What to store"
_of_corpus, _of_model, _of_inputs, _of_part, _of_result = (
    partial(option, group=heading) for heading in (CORPUS, MODEL, INPUTS, PART, KEEP)
)


@dataclass(frozen=True)
class IngestOptions:
    """The options of an ingest; each field is an option of `attnbank ingest`.

    `corpora` are files, folders, - for standard input, or data frames of words (Polars, pandas or
    anything that streams Arrow; see `ingest/corpora/corpus_files.py`), which need a `name`. It is
    empty where `repeat` makes the corpus. `bank` is the file to write to. The default of a field
    that is None depends on the corpus or the model; its help says how.
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
        in_name="first-word",
    )
    max_tokens: int | None = _of_inputs(
        None,
        "Longest input in tokens, special tokens included: longer sentences are skipped,"
        " documents and pairs are cut. Default: 128 for documents and pairs, the model's limit"
        " for sentences.",
        least=1,
        metavar="N",
        in_name="max{}",
    )
    truncate: bool = _of_inputs(
        False,
        "With --context document: keep only the first input of each document, as in the paper.",
        in_name="truncated",
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
        in_name="limit{}",
    )
    seed: int = _of_part(
        0,
        "Seed of --limit, of --repeat, and of where --context pair splits its segments.",
        least=0,
        most=MOST_SEED,
        metavar="SEED",
        in_name="seed{}",
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
        in_name="{}d",
    )
    gradients: bool = _of_result(
        False,
        "Also store the gradient of the masked-language-model loss with respect to each attention"
        " weight (needs a model with that head, and --unit token).",
        in_name="gradients",
    )
    ablate: Ablate | None = _of_result(
        None,
        "Also store the masked-language-model loss with each head (or each layer) disabled.",
        choices=get_args(Ablate),
        in_name="ablate-{}",
    )
    replacement: Replacement = _of_result(
        "uniform",
        "What replaces the weights of a disabled head: uniform, 1/L over the L tokens of the"
        " input; or zero.",
        choices=get_args(Replacement),
    )
    mask_seed: int = _of_result(
        0,
        "Seed of the masks of --gradients and --ablate.",
        least=0,
        most=MOST_SEED,
        metavar="SEED",
        in_name="mask{}",
    )
    replace: bool = _of_result(False, "Start the run over if it is already in the bank.")

    def __post_init__(self) -> None:
        # Callers in Python may pass a Path, or one corpus without a tuple around it.
        several = (self.corpora,) if isinstance(self.corpora, str | Path) else self.corpora
        corpora = tuple(str(corpus) if isinstance(corpus, Path) else corpus for corpus in several)
        object.__setattr__(self, "corpora", corpora)
        object.__setattr__(self, "bank", Path(self.bank))

    @classmethod
    def of_run(cls, run: Mapping[str, Any]) -> Self:
        """Return the options that shaped a run, from its row in the bank."""
        shape = {name: run[name] for name in _shaping_fields() if run[name] is not None}
        return cls((), Path(), bos_token=shape.pop("bos", None), **shape)

    @property
    def shape(self) -> dict[str, Any]:
        """The columns of `run` that are options, before the model is known.

        None for an option without effect.
        """
        is_drawn = self.context == "pair" or self.limit is not None
        return {name: getattr(self, name) for name in _shaping_fields()} | {
            "shard": read_shards(self.shard).text,
            "seed": self.seed if is_drawn else None,
            "replacement": self.replacement if self.ablate else None,
            "mask_seed": self.mask_seed if self.masked else None,
        }

    @property
    def in_name(self) -> list[str]:
        """What of the name of a run says which options are not the defaults."""
        values = vars(self) | {
            "shard": read_shards(self.shard).label,
            "bos": self.bos and "bos",
        }
        if self.bos_token is not None:
            values["bos"] = "bos-" + re.sub(r"[^\w.-]+", "", self.bos_token)
        return [
            own.metadata.get("in_name", "{}").format(values[name])
            for name, own in _shaping_fields().items()
            if values[name] != own.default
        ]

    @property
    def paths(self) -> tuple[str, ...]:
        """The corpora as text; a data frame as "(frame)"."""
        return tuple(corpus if isinstance(corpus, str) else "(frame)" for corpus in self.corpora)

    @property
    def largest(self) -> int | None:
        """The K of `--keep top:K`; 0 for peaks and sums alone, None for all weights.

        Raises CallError for an invalid value of `--keep`.
        """
        match = _KEEP.fullmatch(self.keep)
        if match is None:
            raise CallError(
                f"{self.keep[:40]!r} is not a valid value of --keep.",
                "Use weights, peaks, or top:K with K from 1 to 9999 (top:8).",
            )
        return None if self.keep == "weights" else int(match[1] or 0)

    def maps_per_layer(self, heads: int) -> int:
        """Return how many maps a layer of so many heads has."""
        return 1 if self.measure in LAYER_MEASURES else heads

    @property
    def masked(self) -> bool:
        """Whether inputs are also run with masked tokens, which needs the model's MLM head."""
        return self.gradients or self.ablate is not None


def _shaping_fields() -> dict[str, Field[Any]]:
    """Return the options that shape a run, in the order of its columns."""
    own = {option.name: option for option in fields(IngestOptions)}
    return {name: own[name] for name in shaping_columns() if name in own}


def check_run(options: IngestOptions) -> None:
    """Check the options like `check_options`; raise CallError if they name no model."""
    check_options(options)
    if options.model == NO_MODEL:
        raise CallError(
            f"--model {NO_MODEL} writes the text alone, without a run.",
            "Leave out --dry-run and --engine (in Python: add_text), or name a model.",
        )


def check_options(options: IngestOptions) -> None:
    """Raise CallError for options that are out of range or exclude each other."""
    try:
        is_one = len(read_shards(options.shard).numbers) == 1
    except ValueError:
        is_one = False
    if not is_one:
        raise CallError(
            f"--shard must be K/N, with K from 1 to N and N up to {MOST:,}, not"
            f" {str(options.shard)[:40]!r}.",
            "For example, for the third of 16 shards: --shard 3/16.",
        )
    check_values(options)
    for conflicts in (_corpus_conflicts, _input_conflicts, _model_conflicts, _result_conflicts):
        for fact, remedy in conflicts(options):
            raise CallError(fact, remedy)


_Conflicts = Iterator[tuple[str, str]]  # facts, with remedies
_LEAVE_OUT = "Leave one of them out."


def _corpus_conflicts(options: IngestOptions) -> _Conflicts:
    if options.repeat is None:
        if options.limit is not None and not read_shards(options.shard).is_whole:
            fact = "--limit draws from the whole corpus, but --shard reads a part of it."
            yield fact, _LEAVE_OUT
        return
    reads = [*options.corpora]
    reads += [f"--{name}" for name in ("format", "spacy") if getattr(options, name)]
    if reads:
        yield f"--repeat makes a corpus, but {reads[0]} reads one.", _LEAVE_OUT
    if options.edges == "share":
        fact = "--repeat makes words that are tokenized one by one, but --edges share tokenizes the"
        yield f"{fact} text.", _LEAVE_OUT
    if options.model == NO_MODEL:
        fact = "--repeat draws from the vocabulary of a model."
        yield fact, "Name one: --model MODEL."
    if options.repeat * (options.limit or 0) > _MOST_TOKENS:
        fact = f"--repeat and --limit make more than {_MOST_TOKENS:,} tokens."
        yield fact, "Use a smaller --limit."


def _input_conflicts(options: IngestOptions) -> _Conflicts:
    if options.context == "pair" and options.unit == "word":
        fact = "--context pair cuts segments between tokens, which may be within a word."
        yield fact, "Add --unit token."
    if options.truncate and options.context != "document":
        yield (
            "--truncate keeps the first input of each document, but the inputs are"
            f" {options.context}s.",
            "Add --context document, or leave out --truncate.",
        )
    if options.subword != "mean" and options.unit == "token":
        fact = "--subword merges the pieces of words, but --unit token stores tokens."
        yield fact, "Leave out --subword or --unit token."
    is_random = {options.limit, options.repeat} != {None} or options.context == "pair"
    if options.seed and not is_random:
        yield (
            "--seed has no effect: nothing is drawn at random.",
            "Add --limit, --repeat or --context pair, or leave out --seed.",
        )


def _model_conflicts(options: IngestOptions) -> _Conflicts:
    is_of_series = {
        "--revision": options.revision is not None,
        "--random-weights": options.random_weights is not None,
        "--replace": options.replace,
        f"--model {MINILM}": options.model == MINILM,
    }
    for flag, is_given in is_of_series.items():
        if options.series is not None and is_given:
            fact = f"--series makes a run of each checkpoint, but {flag} is about one model."
            yield fact, _LEAVE_OUT
    is_of_hub = options.model != MINILM and not Path(options.model).is_dir()
    if options.revision is not None and not is_of_hub:
        fact = f"--revision is for models of the hub, but {options.model} is not from the hub."
        yield fact, "Leave out --revision."
    if options.model == NO_MODEL:
        for own in fields(options):
            is_about_run = own.metadata.get("group") in (MODEL, INPUTS, KEEP)
            is_default = getattr(options, own.name) == own.default
            if is_about_run and not is_default and own.name != "model":
                fact = f"--model {NO_MODEL} writes the text alone, but {flag_of(own)} is about a"
                yield f"{fact} run.", "Leave it out, or name a model."


def _result_conflicts(options: IngestOptions) -> _Conflicts:
    if options.keep == "peaks" and options.decimals is not None:
        yield "--decimals rounds the weights, but --keep peaks keeps none.", _LEAVE_OUT
    if options.largest is not None and options.gradients:
        yield (
            "--gradients stores a gradient for every weight, but --keep"
            f" {options.keep} does not keep every weight.",
            _LEAVE_OUT,
        )
    if options.gradients and options.unit != "token":
        yield (
            "--gradients needs attention between tokens: the merged weights of words are not"
            " variables of the model.",
            "Add --unit token.",
        )
    if options.measure != "weights" and options.masked:
        yield (
            "--gradients and --ablate are about the weights of heads, but --measure stores"
            f" {options.measure}.",
            _LEAVE_OUT,
        )
    if options.measure == "rollout" and options.unit == "word":
        yield (
            "--measure rollout multiplies attention maps of tokens; it is not defined for words.",
            "Add --unit token.",
        )
    if options.replacement != IngestOptions.replacement and options.ablate is None:
        yield (
            "--replacement says how heads are disabled, but none are.",
            "Add --ablate, or leave out --replacement.",
        )
    if options.mask_seed and not options.masked:
        yield (
            "--mask-seed chooses the masked tokens, but none are masked.",
            "Add --gradients or --ablate, or leave out --mask-seed.",
        )
