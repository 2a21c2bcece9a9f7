"""Runs of maps that the caller computed: another library's, another hook's, another model's.

    with add_run("gum.duckdb", "gum-dev", "my-model", layers=12, heads=12) as run:
        for sentence in run.sentences():
            tokens, word_of_token, maps = ...
            run.add(sentence, tokens, word_of_token, maps)

What is given is checked as what a model returns is, and written as by `ingest`: in whole batches,
so that a run that was stopped goes on with the sentences that it does not have. Its model has the
architecture "given", and its device is "given".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from attnbank.ingest.attention.measures import OF_LAYERS, SHARES
from attnbank.ingest.attention.merging import Rows, is_unnormalised
from attnbank.ingest.attention.rows import RunFacts, rows_of
from attnbank.ingest.inputs.drafts import WINDOW, Input, Skip, Span, TokenisedSentence
from attnbank.ingest.inputs.plan import Batch
from attnbank.ingest.models.loading import ModelFacts
from attnbank.ingest.models.tokenizer import Encoded, Position
from attnbank.ingest.options import FirstWord, IngestOptions, Measure, Subword, Unit
from attnbank.ingest.run import check_options
from attnbank.ingest.store import runs
from attnbank.ingest.store.deleting import delete_run
from attnbank.ingest.store.pipeline import Writer
from attnbank.ingest.store.writer import ingesting
from attnbank.sql import registry
from attnbank.sql.bank.opening import existing
from attnbank.sql.errors import CallError
from attnbank.sql.suggest import did_you_mean, listed

WordOf = int | tuple[int, int] | None
"""The 0-based index of a token's word, the first and the last of several words that share it, or
None for a special token."""

_GIVEN = "given"
_TOKENS_AT_ONCE = 1024
_CAUSAL = 1e-6  # what rounding may leave above the diagonal
_KINDS = ("cls", "sep", "special")


@dataclass(frozen=True)
class GivenSentence:
    """A sentence of the corpus that the run has no maps of yet.

    `words` are its words as they are written, without multiword tokens; `spaces` says after which
    of them white space follows.
    """

    name: str | None
    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    _row: TokenisedSentence
    _sequence: int

    @property
    def text(self) -> str:
        """The words with the white space between them."""
        return _written(self._row.spans)


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
    unit: Unit = "word",
    subword: Subword = "mean",
    measure: Measure = "weights",
    keep: str = "weights",
    decimals: int | None = None,
    random_seed: int | None = None,
    over: bool = False,
) -> GivenRun:
    """A context in which the maps of a model over single sentences of a corpus are written.

    The bank must have the corpus (`ingest CORPUS --model none` writes the text alone). `digest`
    tells the model's weights from others of the name: any text, of which the SHA-256 is kept. The
    other arguments are those of `IngestOptions` and of table `model`. Where the run was begun
    before, it goes on, unless it is to start `over`. Raises CallError for what does not fit, and
    for a run that is finished; BankError where there is no bank.
    """
    options = IngestOptions(
        (corpus,), Path(bank), model=model, unit=unit, subword=subword, measure=measure, keep=keep,
        decimals=decimals, random_weights=random_seed, replace=over, device=_GIVEN,
    )  # fmt: skip
    check_options(options)
    most = 2**15 - 1  # both are SMALLINT
    if not (0 < layers <= most and 0 < heads <= most):
        raise CallError(f"A model cannot have {layers} layers of {heads} heads.", "Give 1 or more.")
    known = hashlib.sha256(f"{_GIVEN}\n{digest or model}".encode()).hexdigest()
    facts = ModelFacts(
        model, None, known, _GIVEN, layers, heads, random_seed, _GIVEN, known, None, None, sinks,
        causal,
    )  # fmt: skip
    return GivenRun(options, facts)


class GivenRun:
    """A run that is being given; see `add_run`. `name` is its name, once it is entered."""

    def __init__(self, options: IngestOptions, facts: ModelFacts) -> None:
        self.name = ""
        self._options, self._facts = options, facts
        self._stack = ExitStack()
        self._heads = 1 if options.measure in OF_LAYERS else facts.heads
        self._inputs: list[tuple[Input, NDArray[np.float32]]] = []
        self._given: set[int] = set()

    def __enter__(self) -> Self:
        options = self._options
        existing(options.bank)  # which an ingest would make
        with ExitStack() as stack:
            self._connection = stack.enter_context(
                ingesting(options.bank, has_deleted=options.replace)
            )
            corpus = self._corpus(options.corpora[0])
            model = runs.model_id(self._connection, self._facts)
            # As `ingest` does: heads of causal models rest on whatever is first.
            first_word: FirstWord | None = "special" if self._facts.causal else None
            wanted = runs.Wanted(
                corpus, model, self._facts, options, 32_000, device=_GIVEN, first_word=first_word
            )
            run = runs.find_run(self._connection, wanted)
            if run is not None and options.replace:
                delete_run(self._connection, run.id)
                run = None
            if run is None:
                run = runs.start_run(self._connection, wanted)
            elif run.finished:
                raise CallError(
                    f"The run {run.name} is finished.", "Give over=True to start it over."
                )
            else:
                runs.check_same(run, options, _GIVEN)
            self.name, self._batch = run.name, run.batches
            self._run = RunFacts(
                run.id, corpus, run.first_sequence, options.subword, options.decimals,
                largest=options.largest, rows=self._rows, measure=options.measure,
            )  # fmt: skip
            self._writer = stack.enter_context(Writer(self._connection, self._run))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the run; after an error, keep what is whole and leave it unfinished."""
        with self._stack:
            if error is None:
                self._flush(self._left_out())
                self._writer.commit()
                runs.finish_run(self._connection, self._run.run)

    def sentences(self) -> Iterator[GivenSentence]:
        """The sentences of the corpus that the run does not have yet, in order."""
        done = self._done()
        for number, row in enumerate(self._all()):
            sequence = self._run.first_sequence + number
            if sequence not in done and sequence not in self._given and row[6]:
                yield _sentence(row, number)

    def add(
        self,
        sentence: GivenSentence,
        tokens: Sequence[str],
        words: Sequence[WordOf],
        maps: Any,
        kinds: Sequence[str] | None = None,
    ) -> None:
        """Add the maps of a sentence.

        `tokens` are the T tokens that the model read, special ones included, `words` the word of
        each, `maps` an array [layers, heads, T, T] of what each token gives to each, or a list of
        one [heads, T, T] (or [1, heads, T, T]) for each layer: of NumPy, torch, or anything with
        `__array__` or DLPack. `kinds` are those of the special tokens, in order (cls, sep, or
        special); otherwise the first of several is cls, and the last sep.

        Raises CallError for what does not fit together, and for rows that are not what the run's
        measure says: shares that sum to 1, of a model with sinks to less; nothing negative, nothing
        that is not finite; zero above the diagonal of a causal model.
        """
        where = f"sentence {sentence.name or sentence._row.id}"
        given = _as_array(maps, where)
        shape = (self._facts.layers, self._heads, len(tokens), len(tokens))
        if given.shape != shape:
            raise CallError(
                f"The maps of {where} have the shape {given.shape}; expected {shape}.",
                "Give (layers, heads, tokens, tokens), special tokens included.",
            )
        spans, encoded = self._encoded(sentence, tokens, words, kinds, where)
        self._check(given, where)
        self._given.add(self._run.first_sequence + sentence._sequence)
        row = sentence._row
        self._inputs.append(
            (Input(sentence._sequence, row.document, (row,), spans, encoded), given)
        )
        if sum(len(each.encoded.ids) for each, _ in self._inputs) >= _TOKENS_AT_ONCE:
            self._flush()

    def _flush(self, skips: Sequence[Skip] = ()) -> None:
        if not self._inputs and not skips:
            return
        self._batch += 1
        batch = Batch(self._batch, [each for each, _ in self._inputs], [*skips])
        most = max((len(each.encoded.ids) for each in batch.inputs), default=0)
        size = (len(batch.inputs), self._facts.layers, self._heads, most, most)
        padded = torch.zeros(size if batch.inputs else (0,))
        for at, (_, given) in enumerate(self._inputs):
            tokens = given.shape[-1]
            padded[at, :, :, :tokens, :tokens] = torch.from_numpy(given)
        self._inputs = []
        maps = [*padded.unbind(1)] if batch.inputs else []
        self._writer.add(rows_of(batch, maps, self._run))

    @property
    def _rows(self) -> Rows:
        if self._options.measure not in SHARES:
            return "lengths"
        return "parts" if self._facts.sinks else "shares"

    def _check(self, given: NDArray[np.float32], where: str) -> None:
        flat = given.reshape(-1, *given.shape[-2:])
        if not np.isfinite(flat).all():
            raise CallError(f"A map of {where} has a value that is not finite.", "Leave it out.")
        if is_unnormalised(flat, self._rows) or float(flat.min(initial=0)) < 0:
            sums = flat.sum(-1)
            raise CallError(
                f"The rows of {where} sum to {sums.min():.4g} to {sums.max():.4g}, with values from"
                f" {flat.min():.4g}, which those of {self._options.measure} do not.",
                "Give them after the softmax, sinks=True, or the measure that they are (measure=).",
            )
        if self._facts.causal and float(np.triu(flat, 1).max(initial=0)) > _CAUSAL:
            raise CallError(
                f"A token of {where} looks at a later one, and the model is causal.",
                "Give causal=False, or [from, to] and not [to, from].",
            )

    def _encoded(
        self,
        sentence: GivenSentence,
        tokens: Sequence[str],
        words: Sequence[WordOf],
        kinds: Sequence[str] | None,
        where: str,
    ) -> tuple[tuple[Span, ...], Encoded]:
        """The spans and positions of the tokens, which must be all words, in order."""
        owned = [each if isinstance(each, tuple | None) else (each, each) for each in words]
        ranges = [*dict.fromkeys(each for each in owned if each is not None)]
        own = sentence._row.spans
        if len(owned) != len(tokens) or not _is_in_order(owned, ranges, len(own)):
            raise CallError(
                f"The {len(tokens)} tokens of {where} are not those of its {len(own)} words, in"
                " order.",
                f"Give each its word, 0 to {len(own) - 1}, every word a token, and None to special"
                " tokens.",
            )
        special = _special_kinds(owned, kinds, where)
        spans = tuple(
            Span(own[first].first, own[last].last, _written(own[first : last + 1]),
                 own[last].space_after)
            for first, last in ranges
        )  # fmt: skip
        positions: list[Position] = []
        for at, each in enumerate(owned):
            number = None if each is None else ranges.index(each)
            if number is None:
                positions.append(Position(special[at], None, tokens[at], at, at + 1))
            elif self._options.unit == "token":
                positions.append(Position("token", number, tokens[at], at, at + 1))
            elif positions and positions[-1].word == number:
                positions[-1] = replace(positions[-1], end=at + 1)
            else:
                positions.append(Position("word", number, spans[number].text, at, at + 1))
        if self._facts.causal and 0 not in special:
            positions[0] = replace(positions[0], kind="first")
        size = len(tokens)
        return spans, Encoded(tuple(range(size)), (0,) * size, tuple(tokens), tuple(positions))

    def _left_out(self) -> list[Skip]:
        return [
            each._row.skip("not-given", "the run was finished without its maps")
            for each in self.sentences()
        ]

    def _corpus(self, name: str) -> int:
        found = dict(self._connection.execute("select name, id from corpus").fetchall())
        if name not in found:
            raise CallError(
                f"The bank has no corpus {name}.",
                f"{did_you_mean(name, [*found])} It has: {listed([*found]) or 'none'}. Write its"
                " text first: attnbank ingest CORPUS --model none".strip(),
            )
        return int(found[name])

    def _all(self) -> Iterator[tuple[Any, ...]]:
        named = {"corpus": self._run.corpus}
        extent = self._connection.execute(registry.statement("ingest/corpus_extent"), named)
        ((_, _, least, most),) = extent.fetchall()
        for start in range(least, most + 1, WINDOW):
            window = named | {"first": start, "last": start + WINDOW - 1}
            found = self._connection.execute(registry.statement("ingest/window"), window)
            yield from found.fetchall()

    def _done(self) -> set[int]:
        found = self._connection.execute(
            "select id from sequence where run = ?", [self._run.run]
        ).fetchall()
        return {id for (id,) in found}


_Owner = tuple[int, int] | None


def _is_in_order(owned: Sequence[_Owner], ranges: Sequence[tuple[int, int]], words: int) -> bool:
    """Whether tokens are of all words, from the first to the last, and none is taken up again."""
    of_words = [each for each in owned if each is not None]
    ends = [-1, *(last for _, last in ranges)]
    follow = (
        before < first <= last and first == before + 1
        for before, (first, last) in zip(ends, ranges, strict=False)
    )
    return all(follow) and ends[-1] == words - 1 and of_words == sorted(of_words)


def _special_kinds(
    owned: Sequence[_Owner], kinds: Sequence[str] | None, where: str
) -> dict[int, str]:
    """The kind of each special token, by its place."""
    places = [at for at, each in enumerate(owned) if each is None]
    named = ["cls", *["special"] * (len(places) - 2), "sep"][: len(places)]
    if kinds is not None:
        named = [*kinds]
    if len(named) != len(places) or not {*named} <= {*_KINDS}:
        raise CallError(
            f"The {len(places)} special tokens of {where} cannot be of the kinds {named}.",
            f"Give one of {', '.join(_KINDS)} for each.",
        )
    return dict(zip(places, named, strict=True))


def _written(spans: Sequence[Span]) -> str:
    return "".join(each.text + " " * each.space_after for each in spans).strip()


def _sentence(row: tuple[Any, ...], number: int) -> GivenSentence:
    id, document, document_index, index, name, place, ids, forms, spaces = row[:9]
    spans = tuple(
        Span(each, each, form, space) for each, form, space in zip(ids, forms, spaces, strict=True)
    )
    held = TokenisedSentence(id, document, document_index, index, name, place, spans)
    return GivenSentence(name, tuple(forms), tuple(map(bool, spaces)), held, number)


def _as_array(maps: Any, where: str) -> NDArray[np.float32]:
    """The maps as one array [layers, heads, T, T]; a list has one for each layer."""
    try:
        if isinstance(maps, list | tuple):
            each = [_plain(one) for one in maps]
            found = np.stack([one[0] if one.ndim == 4 else one for one in each])
        else:
            found = _plain(maps)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise CallError(
            f"The maps of {where} are not an array of numbers: {str(error).splitlines()[0]}",
            "Give an array of NumPy or torch, or a list with one for each layer.",
        ) from error
    if found.ndim == 5 and found.shape[0] == 1:
        found = found[0]
    return np.ascontiguousarray(found, dtype=np.float32)


def _plain(one: Any) -> NDArray[Any]:
    if isinstance(one, torch.Tensor):
        return np.asarray(one.detach().float().cpu().numpy())
    if hasattr(one, "__array__") or not hasattr(one, "__dlpack__"):
        return np.asarray(one, dtype=np.float32)
    return np.from_dlpack(one)
