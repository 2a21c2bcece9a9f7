"""Writes runs of attention maps that the caller computed, with any library or model.

    with add_run("gum.duckdb", "gum-dev", "my-model", layers=12, heads=12) as run:
        for sentence in run.sentences():
            tokens, word_of_token, maps = ...
            run.add(sentence, tokens, word_of_token, maps)

The maps are checked like those that a model returns, and written like those of `ingest`: in whole
batches, so that an interrupted run resumes with the sentences that it does not have. The model has
the architecture "given" and the device "given".
"""

from __future__ import annotations

import hashlib
import operator
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from attnbank.ingest.attention.measures import NORMALISED_MEASURES
from attnbank.ingest.attention.merged_maps import Maps, RowSums, RunFacts, is_unnormalised
from attnbank.ingest.attention.rows import rows_of_batch
from attnbank.ingest.candidate_inputs import (
    Input,
    Skip,
    Span,
    TokenisedSentence,
    cursor_query,
    sentence_windows,
    spans_of,
)
from attnbank.ingest.models.loading import ModelFacts
from attnbank.ingest.models.tokenizer import (
    Encoded,
    Position,
    add_token,
    is_unknown,
    misplaced,
    misspelled,
)
from attnbank.ingest.options import (
    FirstWord,
    IngestOptions,
    Measure,
    Multiword,
    Subword,
    Unit,
    check_options,
)
from attnbank.ingest.planning import Batch
from attnbank.ingest.store import runs
from attnbank.ingest.store.pipeline import Writer
from attnbank.ingest.store.writer import open_for_ingest
from attnbank.sql.bank.opening import MOST_HEADS, existing
from attnbank.sql.errors import AttnbankWarning, CallError, first_line
from attnbank.sql.ids import ordinal_of
from attnbank.sql.run_choice import find_corpus

# The 0-based index of a token's word, the first and the last of several words that share it, or
# None for a special token.
WordOf = int | tuple[int, int] | None

_GIVEN = "given"
_UNKNOWN_ID = 1  # stored for [UNK], so that unknown words are counted; other tokens have id 0
_TOKENS_AT_ONCE = 1024
_CAUSAL_TOLERANCE = 1e-6  # rounding may leave this above the diagonal
_SPECIAL_KINDS = ("cls", "sep", "special")


@dataclass(frozen=True)
class PrecomputedSentence:
    """A sentence of the corpus whose maps are to be computed.

    `words` are what `ingest` gives to a tokenizer: its words, with each multiword token that its
    words do not spell (French du) as one word, unless the run has `multiword="parts"`. `spaces`
    says which of them are followed by white space.
    """

    name: str | None
    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    _row: TokenisedSentence = field(repr=False)
    _run: PrecomputedRun = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The words with the white space between them."""
        return _join_span_texts(self._row.spans)


class StoredOptions(TypedDict, total=False):
    """The options of `IngestOptions` that say what of the maps is stored."""

    unit: Unit
    subword: Subword
    multiword: Multiword
    measure: Measure
    keep: str
    decimals: int | None


def add_run(
    bank: str | Path,
    corpus: str,
    model: str,
    *,
    layers: int,
    heads: int,
    digest: str | None = None,
    causal: bool = False,
    sinks: bool = False,
    random_seed: int | None = None,
    spelled: bool = True,
    over: bool = False,
    **stored: Unpack[StoredOptions],
) -> PrecomputedRun:
    """Return a context manager that writes a run of maps over the sentences of a corpus.

    The bank must have the corpus (`ingest CORPUS --model none` writes the text alone). `digest` is
    any text that distinguishes the model's weights from others of the same name; its SHA-256 is
    stored. Tokens must spell their words unless `spelled` is False (as for a model of speech).
    `layers`, `heads`, `causal`, `sinks` and `random_seed` are columns of table `model`; `unit`,
    `subword`, `multiword`, `measure`, `keep` and `decimals` are options of `IngestOptions`. A run
    that was interrupted resumes, unless `over` is True: then it starts over.

    Raises CallError for invalid arguments, and for a run that is finished; BankError if there is no
    bank, or it cannot be written.
    """
    if unknown := stored.keys() - StoredOptions.__annotations__.keys():
        raise TypeError(f"add_run() got an unexpected keyword argument {min(unknown)!r}")
    options = IngestOptions(
        (corpus,), Path(bank), model=model, random_weights=random_seed, replace=over,
        device=_GIVEN, **stored,
    )  # fmt: skip
    check_options(options)
    most = 2**15 - 1  # layers and heads are SMALLINT
    if not (0 < layers <= most and 0 < heads <= most and layers * heads <= MOST_HEADS):
        raise CallError(
            f"A model cannot have {layers} layers of {heads} heads.",
            f"Give 1 or more, and at most {MOST_HEADS:,} heads in all.",
        )
    sha256 = hashlib.sha256(f"{_GIVEN}\n{digest or model}".encode()).hexdigest()
    facts = ModelFacts(
        model, None, sha256, _GIVEN, layers, heads, random_seed, _GIVEN, sha256, None, None, sinks,
        causal,
    )  # fmt: skip
    return PrecomputedRun(options, facts, spelled=spelled)


class PrecomputedRun:
    """A run of precomputed maps; see `add_run`. `name` is set when the context is entered."""

    def __init__(self, options: IngestOptions, facts: ModelFacts, *, spelled: bool) -> None:
        self.name = ""
        self._options, self._facts, self._spelled = options, facts, spelled
        self._stack = ExitStack()
        self._is_open = False
        self._heads = options.maps_per_layer(facts.heads)
        self._inputs: list[_SentenceMaps] = []
        self._tokens = 0  # of `_inputs`
        self._done: set[int] = set()  # ids of sentences that the bank has, or `_inputs`
        self._example = ""  # of a word that its tokens do not spell

    def __enter__(self) -> Self:
        options = self._options
        existing(options.bank)  # `open_for_ingest` would make a missing bank
        with ExitStack() as stack:
            self._connection = stack.enter_context(
                open_for_ingest(options.bank, has_deleted=options.replace)
            )
            corpus, _ = find_corpus(
                self._connection, options.bank, options.paths[0],
                "Write its text first: attnbank ingest CORPUS --model none",
            )  # fmt: skip
            model = runs.find_or_insert_model(self._connection, self._facts)
            # As in `ingest`: heads of causal models attend to whatever is first by default.
            first_word: FirstWord | None = "special" if self._facts.causal else None
            wanted = runs.RunSpec(
                corpus, model, self._facts, options, 32_000, device=_GIVEN, first_word=first_word,
                misspelled_words=0 if self._spelled else None,
            )  # fmt: skip
            same = runs.find_same_run(self._connection, wanted)
            run, state, _ = runs.begin_run(self._connection, wanted, same)
            if state == "unchanged":
                raise CallError(
                    f"The run {run.name} is finished.", "Give over=True to start it over."
                )
            self.name, self._batch = run.name, run.batches
            self._run = RunFacts(
                run.id, corpus, options, unknown=_UNKNOWN_ID, rows=self._kind_of_rows
            )
            had = "select sentence from sequence where run = ?"
            self._done = {id for (id,) in self._connection.execute(had, [run.id]).fetchall()}
            self._writer = stack.enter_context(Writer(self._connection, run.id))
            self._stack = stack.pop_all()
        self._is_open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the run; after an error, keep its complete batches and leave it unfinished."""
        self._is_open = False
        if error is not None:
            self._stack.__exit__(kind, error, trace)  # raises DuckDB's errors as BankError
            return
        with self._stack:
            self._flush([*self._skips()])
            self._writer.commit()
            runs.finish_run(self._connection, self._run.run)
            statement = "select misspelled_words from run_part where run = ?"
            ((wrong,),) = self._connection.execute(statement, [self._run.run]).fetchall()
        if wrong:
            example = self._example and f", as {self._example}"
            message = (
                f"The tokens of {wrong:,} words of {self.name} do not match the words'"
                f" text{example}."
            )
            warnings.warn(message, AttnbankWarning, stacklevel=2)

    def sentences(self) -> Iterator[PrecomputedSentence]:
        """Yield the sentences of the corpus that the run does not have yet, in order."""
        yield from (sentence for sentence in self._missing() if sentence.words)

    def add(
        self,
        sentence: PrecomputedSentence,
        tokens: Sequence[str],
        words: Sequence[WordOf],
        maps: Any,
        kinds: Sequence[str] | None = None,
    ) -> None:
        """Add the maps of a sentence.

        `tokens` are the T tokens of the model's input, including special tokens, and `words` the
        word of each. `maps` is an array [layers, heads, T, T] of the attention from each token
        (row) to each, or a list of one [heads, T, T] (or [1, heads, T, T]) per layer: of NumPy,
        torch, or anything with `__array__` or DLPack. `kinds` are the kinds of the special tokens,
        in order (cls, sep or special); by default the first of several is cls, and the last sep.

        The tokens of a word must spell it, apart from marks (##, Ġ, ▁, </w>), case and accents;
        [UNK] and <unk> match any text. Single words that their tokens do not spell are counted
        (`run_part.misspelled_words`), with a warning at the end.

        Raises CallError for arguments that do not match, for tokens that are assigned to the wrong
        words, and for rows that the run's measure cannot have: shares must sum to 1 (with sinks: to
        at most 1), all values must be finite and not negative, and those above the diagonal of a
        causal model 0. Sentences that were added before are kept.
        """
        where = f"sentence {sentence.name or sentence._row.id}"
        if sentence._run is not self or not self._is_open:
            raise CallError(
                f"The run is not open: {where} cannot be added.",
                "Call add within the `with add_run(...)` block.",
            )
        row = sentence._row
        if row.id in self._done:
            raise CallError(f"The run already has the maps of {where}.", "Add each sentence once.")
        tokens = _as_texts(tokens, where)
        shape = (self._facts.layers, self._heads, len(tokens), len(tokens))
        weights = _as_array(maps, shape, where)
        spans, encoded, wrong = self._encode(sentence, tokens, words, kinds, where)
        self._check_maps(weights, where)
        self._done.add(row.id)
        input = Input(ordinal_of(row.id), row.document, (row,), spans, encoded)
        self._inputs.append(_SentenceMaps(input, weights, wrong))
        self._tokens += len(tokens)
        if self._tokens >= _TOKENS_AT_ONCE:
            self._flush()

    def _flush(self, skips: Sequence[Skip] = ()) -> None:
        added, self._inputs, self._tokens = self._inputs, [], 0
        if not added and not skips:
            return
        self._batch += 1
        batch = Batch(self._batch, [item.input for item in added], [*skips])
        layers = ([item.maps[at] for item in added] for at in range(self._facts.layers))
        maps = Maps(self._facts.layers, self._heads, layers) if added else None
        rows = rows_of_batch(batch, maps, self._run)
        rows.misspelled_words = sum(item.misspelled for item in added)
        self._writer.add(rows)

    @property
    def _kind_of_rows(self) -> RowSums:
        if self._options.measure not in NORMALISED_MEASURES:
            return "lengths"
        return "parts" if self._facts.sinks else "shares"

    def _check_maps(self, weights: NDArray[np.float32], where: str) -> None:
        flat = weights.reshape(-1, *weights.shape[-2:])
        if not np.isfinite(flat).all():
            raise CallError(
                f"A map of {where} has a value that is not finite.", "Leave out the sentence."
            )
        if is_unnormalised(flat, self._kind_of_rows) or float(flat.min(initial=0)) < 0:
            sums = flat.sum(-1)
            raise CallError(
                f"The rows of {where} have sums from {sums.min():.4g} to {sums.max():.4g}, and a"
                f" smallest value of {flat.min():.4g}: not valid for the measure"
                f" {self._options.measure}.",
                "Add maps after the softmax, or set sinks=True or measure=.",
            )
        if self._facts.causal and float(np.triu(flat, 1).max(initial=0)) > _CAUSAL_TOLERANCE:
            raise CallError(
                f"A token of {where} attends to a later one, but the model is causal.",
                "Set causal=False, or transpose the maps to [from, to].",
            )

    def _encode(
        self,
        sentence: PrecomputedSentence,
        tokens: Sequence[str],
        words: Sequence[WordOf],
        kinds: Sequence[str] | None,
        where: str,
    ) -> tuple[tuple[Span, ...], Encoded, int]:
        """Return the spans and positions of the tokens, and how many words they do not spell.

        Raises CallError unless the tokens cover all words, in order.
        """
        owned = _word_ranges(words, where)
        ranges = [*dict.fromkeys(owner for owner in owned if owner is not None)]
        own = sentence._row.spans
        if len(owned) != len(tokens) or not _covers_in_order(owned, ranges, len(own)):
            raise CallError(
                f"The {len(tokens)} tokens of {where} do not cover its {len(own)} words in order.",
                f"Give each token its word, 0 to {len(own) - 1}, each word at least one token, and"
                " None for special tokens.",
            )
        special = _special_kinds(owned, kinds, where)
        spans = tuple(
            Span(own[first].first, own[last].last, _join_span_texts(own[first : last + 1]),
                 own[last].space_after)
            for first, last in ranges
        )  # fmt: skip
        positions: list[Position] = []
        numbers = {words_range: number for number, words_range in enumerate(ranges)}
        for at, owner in enumerate(owned):
            number = None if owner is None else numbers[owner]
            if number is None:
                positions.append(Position(special[at], None, tokens[at], at, at + 1))
            else:
                text = spans[number].text
                add_token(positions, self._options.unit, number, tokens[at], text)
        if self._facts.causal and 0 not in special:
            positions[0] = replace(positions[0], kind="first")
        wrong = self._count_misspelled(
            spans, tokens, [owner and numbers[owner] for owner in owned], where
        )
        ids = tuple(_UNKNOWN_ID if is_unknown(token) else 0 for token in tokens)
        encoded = Encoded(ids, (0,) * len(tokens), tuple(tokens), tuple(positions))
        return spans, encoded, wrong

    def _count_misspelled(
        self,
        spans: Sequence[Span],
        tokens: Sequence[str],
        numbers: Sequence[int | None],
        where: str,
    ) -> int:
        """Count the words that their tokens do not spell; `numbers` is the word of each token.

        Raises CallError if the tokens seem to be assigned to the wrong words.
        """
        if not self._spelled:
            return 0
        words = [span.text for span in spans]
        own: list[list[int]] = [[] for _ in words]
        for at, number in enumerate(numbers):
            if number is not None:
                own[number].append(at)
        texts = [tuple(tokens[at] for at in indices) for indices in own]
        wrong = misspelled(words, texts)
        if not wrong:
            return 0

        def special(at: int) -> str | None:
            return tokens[at] if 0 <= at < len(tokens) and numbers[at] is None else None

        beside = [(special(indices[0] - 1), special(indices[-1] + 1)) for indices in own]
        misplaced_word = misplaced(words, texts, wrong, beside)
        number = wrong[0] if misplaced_word is None else misplaced_word
        quoted = f"{' '.join(texts[number])!r:.50}", f"{words[number]!r:.50}"
        if misplaced_word is not None:
            raise CallError(
                f"The tokens of {where} are not those of its words: word {number}, {quoted[1]}, has"
                f" {quoted[0]}.",
                f"Give each token its own word, 0 to {len(words) - 1}, and None for special"
                " tokens.",
            )
        self._example = self._example or f"{quoted[0]} for {quoted[1]} in {where}"
        return len(wrong)

    def _skips(self) -> Iterator[Skip]:
        empty = "empty", "the sentence has no words"
        missing = "not-given", "the run was finished without its maps"
        for sentence in self._missing():
            yield sentence._row.skip(*(missing if sentence.words else empty))

    def _missing(self) -> Iterator[PrecomputedSentence]:
        """Yield the sentences that the run does not have, those without words among them."""
        windows = sentence_windows(cursor_query(self._connection), self._run.corpus)
        for row in chain.from_iterable(windows):
            if row.id not in self._done:
                spans = spans_of(row.words, self._options.multiword)
                words = tuple(span.text for span in spans)
                spaces = tuple(span.space_after for span in spans)
                sentence = TokenisedSentence(*row[:6], spans)
                yield PrecomputedSentence(row.name, words, spaces, sentence, self)


@dataclass
class _SentenceMaps:
    """An added sentence that is not written yet, with its maps [layers, heads, T, T]."""

    input: Input
    maps: NDArray[np.float32]
    misspelled: int


_WordRange = tuple[int, int] | None


def _covers_in_order(
    owned: Sequence[_WordRange], ranges: Sequence[tuple[int, int]], words: int
) -> bool:
    """Whether tokens cover all words from first to last, without returning to an earlier one."""
    of_words = [owner for owner in owned if owner is not None]
    ends = [-1, *(last for _, last in ranges)]
    follow = (
        before < first <= last and first == before + 1
        for before, (first, last) in zip(ends, ranges, strict=False)
    )
    return all(follow) and ends[-1] == words - 1 and of_words == sorted(of_words)


def _special_kinds(
    owned: Sequence[_WordRange], kinds: Sequence[str] | None, where: str
) -> dict[int, str]:
    """Return the kind of each special token, by its index."""
    indices = [at for at, owner in enumerate(owned) if owner is None]
    named = ["cls", *["special"] * (len(indices) - 2), "sep"][: len(indices)]
    if kinds is not None:
        named = [*kinds]
    if len(named) != len(indices) or not {*named} <= {*_SPECIAL_KINDS}:
        raise CallError(
            f"The {len(indices)} special tokens of {where} cannot have the kinds {named}.",
            f"Give each of them one of {', '.join(_SPECIAL_KINDS)}.",
        )
    return dict(zip(indices, named, strict=True))


def _join_span_texts(spans: Sequence[Span]) -> str:
    return "".join(span.text + " " * span.space_after for span in spans).strip()


def _as_texts(tokens: Sequence[str], where: str) -> list[str]:
    try:
        texts = [*tokens]
        "".join(texts).encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise CallError(
            f"The tokens of {where} are not text: {first_line(error)}.", "Give a list of str."
        ) from error
    return texts


def _word_ranges(words: Sequence[WordOf], where: str) -> list[_WordRange]:
    """Return the first and the last word of each token; None for special tokens."""
    owners: list[_WordRange] = []
    try:
        for word in words:
            ends = word if isinstance(word, tuple) else word is not None and (word, word)
            first, last = map(operator.index, ends or (-1, -1))
            owners.append((first, last) if ends else None)
    except (TypeError, ValueError) as error:
        raise CallError(
            f"The words of the tokens of {where} are not numbers: {first_line(error)}.",
            "Give each token an index from 0, a (first, last) pair, or None.",
        ) from error
    return owners


def _as_array(maps: Any, shape: tuple[int, ...], where: str) -> NDArray[np.float32]:
    """Copy maps into one array [layers, heads, T, T]; a list has one array for each layer.

    They are copied because the caller may reuse the memory before they are written. Values beyond
    float32 become infinite, which is refused later.
    """
    try:
        layers: Any
        if isinstance(maps, list | tuple):
            layers = [_as_numpy(layer) for layer in maps]
            layers = [
                layer[0] if layer.ndim == 4 and len(layer) == 1 else layer for layer in layers
            ]
            shapes = {layer.shape for layer in layers}
            own = (len(layers), *(shapes.pop() if len(shapes) == 1 else (shapes or "")))
        else:
            layers = _as_numpy(maps)
            layers = layers[0] if layers.ndim == 5 and len(layers) == 1 else layers
            own = layers.shape
        if own == shape:
            array = np.empty(shape, np.float32)
            with np.errstate(over="ignore", invalid="ignore"):
                for at, layer in enumerate(layers):
                    array[at] = layer
    except Exception as error:  # the caller's objects may raise anything
        raise CallError(
            f"The maps of {where} are not an array of numbers: {first_line(error)}",
            "Give an array of NumPy or torch, or a list of one per layer.",
        ) from error
    if own != shape:
        raise CallError(
            f"The maps of {where} have the shape {own}; expected {shape}.",
            "Give (layers, heads, tokens, tokens), including special tokens.",
        )
    return array


def _as_numpy(value: Any) -> NDArray[Any]:
    """Convert to a NumPy array of numbers; TypeError for an array of anything else."""
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        value = torch.utils.dlpack.from_dlpack(value)
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "biufV":  # V: types of other packages, such as bfloat16
        raise TypeError(f"they are of type {array.dtype}")
    return array
