"""The data of a probe: runs, sentences, word vectors, and batches of them.

Word vectors are from a text file, a spaCy pipeline, or a model's own input embeddings. A bank may
come from somebody else, so the name of its model cannot be trusted: a folder is opened only if the
user names it, its code runs only with --trust-remote-code, and if the bank has a digest of the
trained weights, those of the model must match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray
from torch import Tensor

from attnbank.ingest.corpora.document import FaultError
from attnbank.ingest.corpora.format import BOM, CorpusFile, read_error
from attnbank.ingest.derived.probes.probe_options import (
    HIDDEN,
    WITH_ATTENTION,
    WITH_WORDS,
    ProbeOptions,
)
from attnbank.ingest.derived.probes.sentences import (
    PIECE_SEPARATOR,
    Ints,
    ProbeRun,
    Sentences,
    find_probe_run,
    read_sentences,
)
from attnbank.sql.errors import AttnbankError, CallError, QueryError, require_extra

if TYPE_CHECKING:
    from attnbank.ingest.models.loading import Model

MODEL = "model"
_GZIP = b"\x1f\x8b"
_MOST_VALUES = 16_384  # of a vector
_TEXT_FILE = "Give a GloVe or word2vec text file."
_COUNTS = re.compile(r"([0-9]{1,12}) ([0-9]{1,12})")
# Numbers in a tensor of a batch: 16 MB. With 64 MB an epoch took twice as long.
CELLS_AT_ONCE = 4_000_000


class EmbeddingsError(AttnbankError):
    """The word vectors cannot be read."""


@dataclass(frozen=True)
class ProbeInput:
    """The training data or the test data."""

    run: ProbeRun
    sentences: Sentences
    vector: Ints  # [N] row of `Task.vectors`; 0, the zero vector, for all but words


@dataclass(frozen=True)
class Task:
    """The data that a probe is trained on, if any, and scored on."""

    kind: str
    options: ProbeOptions
    train: ProbeInput | None
    test: ProbeInput
    vectors: NDArray[np.float32] | None = None  # [1 + V, D]; None for a probe without words
    coverage: float | None = None  # share of the test words that have a vector


def read_task(
    connection: DuckDBPyConnection,
    bank: Path,
    kind: str,
    train_run: str | None,
    test_run: str,
    options: ProbeOptions,
) -> Task:
    """Find the runs and read their sentences and word vectors."""
    splits = options.train_split, options.test_split
    reads_attention = kind in WITH_ATTENTION
    test = find_probe_run(connection, bank, test_run, reads_attention=reads_attention)
    if train_run is None:
        return Task(kind, options, None, _read_input(connection, test, splits[1]))
    train = find_probe_run(connection, bank, train_run, reads_attention=reads_attention)
    if train.id == test.id and (None in splits or splits[0] == splits[1]):
        raise CallError(
            f"The run {test.name} would be scored on the sentences that the probe was trained on.",
            "Give a run over another corpus, or different splits (train_split, test_split).",
        )
    if train.sha256 != test.sha256:
        raise CallError(
            f"The runs are of different models: {train.name} of {train.model_label}, {test.name} of"
            f" {test.model_label}.",
            "Give two runs of one model: the weights of its heads mean nothing for another one.",
        )
    parts = _read_input(connection, train, splits[0]), _read_input(connection, test, splits[1])
    task = Task(kind, options, *parts)
    return _add_word_vectors(task, *parts) if kind in WITH_WORDS else task


def _read_input(connection: DuckDBPyConnection, run: ProbeRun, split: str | None) -> ProbeInput:
    sentences = read_sentences(connection, run, split)
    return ProbeInput(run, sentences, np.zeros(len(sentences.is_word), dtype=np.int64))


def _add_word_vectors(task: Task, train: ProbeInput, test: ProbeInput) -> Task:
    words = [
        part.sentences.pieces if task.options.embeddings == MODEL else part.sentences.form
        for part in (train, test)
    ]
    encoded = pa.concat_arrays(words).dictionary_encode()
    row = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy() + 1
    of_train, of_test = np.split(row, [len(words[0])])
    vectors = word_vectors(encoded.dictionary.to_pylist(), train.run, task.options)
    # Vectors are divided by their root mean square over the distinct training words, so that the
    # learning rate means the same for any embeddings. Row 0 is the zero vector.
    training = np.unique(of_train[train.sentences.is_word]) - 1
    known = vectors.vectors[training][vectors.known[training]].astype(np.float64)
    size = np.sqrt(np.mean(known**2)) if known.size else 0.0
    zero = np.zeros((1, vectors.vectors.shape[1]), dtype=np.float32)
    return replace(
        task,
        train=replace(train, vector=of_train),
        test=replace(test, vector=of_test),
        vectors=np.concatenate([zero, vectors.vectors / np.float32(size or 1.0)]),
        coverage=float(vectors.known[of_test[test.sentences.is_word] - 1].mean()),
    )


@dataclass(frozen=True)
class WordVectors:
    """One vector per word: `vectors` [V, D] float32, zero for words whose `known` [V] is false."""

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]

    @classmethod
    def from_vectors(
        cls, rows: Sequence[NDArray[np.float32] | None], dimension: int
    ) -> WordVectors:
        """Return the vectors of words, of which each has one or None."""
        known = np.array([row is not None for row in rows], dtype=bool)
        zero = np.zeros(dimension)
        vectors = np.array([zero if row is None else row for row in rows], dtype=np.float32)
        return cls(vectors.reshape(len(rows), dimension), known)


def word_vectors(words: Sequence[str], run: ProbeRun, options: ProbeOptions) -> WordVectors:
    """Return word vectors from `options.embeddings`: `model`, a text file, or a spaCy pipeline.

    `words` are forms, or for `model` the pieces of each, joined by PIECE_SEPARATOR. A control gets
    the vectors of the trained model too, so that it differs only in its attention. Raises CallError
    if the source cannot be found, EmbeddingsError if it is malformed or has none of the words.
    """
    source = options.embeddings
    if source == MODEL:
        vectors = _model_vectors(words, run, options)
    else:
        try:
            is_file = Path(source).is_file()
        except OSError:  # the name is too long for a file
            is_file = False
        vectors = file_vectors(Path(source), words) if is_file else spacy_vectors(source, words)
    if not vectors.known.any():
        raise EmbeddingsError(
            f"{source} has no vector for any of the {len(vectors.known)} words.",
            "Give embeddings in the language of the corpus.",
        )
    return vectors


def file_vectors(path: Path, forms: Sequence[str]) -> WordVectors:
    """Read vectors from a text file, which may be gzipped: GloVe, or word2vec with its header.

    A form that the file lacks is looked up in lower case; of several vectors of a word the first
    counts. Raises EmbeddingsError for a malformed or oversized file, CallError if it cannot be
    opened.
    """
    wanted_forms = set(forms) | {form.lower() for form in forms}
    vectors: dict[str, NDArray[np.float32]] = {}
    dimension, promised, words = 0, None, 0
    for number, line in _read_numbered_lines(path):
        where, values = f"{path}:{number}", line.count(" ")
        counts = _COUNTS.fullmatch(line) if number == 1 else None
        if counts is not None:
            promised, dimension = int(counts[1]), int(counts[2])
        elif line and not words and promised is None:
            dimension = values
        if dimension > _MOST_VALUES:
            raise EmbeddingsError(
                f"{where}: vectors of {dimension:,} values; at most {_MOST_VALUES:,} are read.",
                _TEXT_FILE,
            )
        if counts is not None or not line:
            continue
        words += 1
        if not dimension:
            raise EmbeddingsError(f"{where}: a word without values.", _TEXT_FILE)
        # From the right, because a word may contain spaces.
        word, *numbers = line.rsplit(" ", dimension)
        if values < dimension or (" " in word and _is_float_text(word.rsplit(" ", 1)[1])):
            source = "has" if promised is None else "says"
            raise EmbeddingsError(
                f"{where}: a vector of {values} values, but the first line {source} {dimension}.",
                "Give a file whose vectors all have the same dimension.",
            )
        if word in wanted_forms and word not in vectors:
            vectors[word] = _vector(where, numbers)
    if not words:
        raise EmbeddingsError(f"{path} has no word vectors in it.", _TEXT_FILE)
    if promised is not None and promised != words:
        raise EmbeddingsError(
            f"{path} has vectors for {words:,} words, but its first line says {promised:,}.",
            "Fetch or write the file again: it is cut short."
            if words < promised
            else "Correct the first line, or fetch the file again.",
        )
    return WordVectors.from_vectors(
        [vectors.get(form, vectors.get(form.lower())) for form in forms], dimension
    )


def _read_numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file, gzipped or not, with their numbers from 1."""
    number = 0
    try:
        with path.open("rb") as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
        for number, line in enumerate(CorpusFile(str(path), path, compressed=is_packed).lines(), 1):
            text = (line.removeprefix(BOM) if number == 1 else line).decode()
            yield number, text.rstrip(" \t\r\n").replace("\t", " ")
    except FaultError as error:
        if error.problem.line:
            fact = f"{path}:{error.problem.line}: {error.fact}."
            raise EmbeddingsError(fact, _TEXT_FILE) from error
        where, reason = str(path), error.fact  # of a compressed file
    except UnicodeDecodeError as error:
        where, reason = f"{path}:{number}", error.reason
    except OSError as error:
        raise read_error(str(path), error) from error
    else:
        return
    raise EmbeddingsError(
        f"{where} is not a text file of word vectors: {reason}.",
        "Give a GloVe or word2vec text file (word2vec's binary files are not read).",
    )


def _is_float_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _vector(where: str, values: list[str]) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # too large a value becomes infinite: see below
            vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        fact = f"{where}: {str(error)[:100]}."  # the error repeats the value
        raise EmbeddingsError(fact, "Correct the line.") from error
    if not np.isfinite(vector).all():
        raise EmbeddingsError(f"{where}: a value is not finite.", "Correct the line.")
    return vector


def spacy_vectors(name: str, forms: Sequence[str]) -> WordVectors:
    """Read the vectors of a spaCy pipeline.

    Raises CallError if it cannot be loaded, EmbeddingsError if it has no vectors.
    """
    require_extra("A spaCy pipeline", "spacy", "spacy")
    import spacy

    try:
        vocabulary = spacy.load(name).vocab
    except Exception as error:  # of spaCy, or of any library that a pipeline uses
        raise CallError(
            f"{name} is neither a file nor a spaCy pipeline.",
            "Give model, a GloVe or word2vec text file, or a pipeline with vectors"
            " (python -m spacy download en_core_web_md).",
        ) from error
    if vocabulary.vectors_length == 0:
        raise EmbeddingsError(
            f"The spaCy pipeline {name} has no word vectors.",
            "Use a medium or large one (en_core_web_md).",
        )
    return WordVectors.from_vectors(
        [vocabulary.get_vector(form) if vocabulary.has_vector(form) else None for form in forms],
        vocabulary.vectors_length,
    )


def _model_vectors(pieces: Sequence[str], run: ProbeRun, options: ProbeOptions) -> WordVectors:
    """Return input embeddings of the trained model: the mean over the pieces of each word."""
    model = _model_of(run, options)
    matrix = model.module.get_input_embeddings().weight.detach().float().numpy()
    vocabulary = model.input_tokenizer.tokenizer.get_vocab(with_added_tokens=True)
    split = [word_pieces.split(PIECE_SEPARATOR) for word_pieces in pieces]
    lengths = np.array([len(word_pieces) for word_pieces in split])
    ids = np.array(
        [vocabulary.get(piece, -1) for word_pieces in split for piece in word_pieces],
        dtype=np.int64,
    )
    if len(ids) == 0 or ids.min() < 0 or ids.max() >= len(matrix):
        raise EmbeddingsError(
            f"The vocabulary of {run.model} is not the one that {run.name} was made with.",
            "Use the model that the run was made with, or other embeddings (a file).",
        )
    begins = np.cumsum(lengths) - lengths
    vectors = np.add.reduceat(matrix[ids], begins, axis=0) / lengths[:, None]
    return WordVectors(vectors.astype(np.float32), np.ones(len(pieces), dtype=bool))


def _model_of(run: ProbeRun, options: ProbeOptions) -> Model:
    """Load the trained model of a run: that of the options, by default by the name in the bank."""
    require_extra("Reading the embeddings of a model", "ingest", "transformers")
    from attnbank.ingest.models.files import model_of_run
    from attnbank.ingest.models.loading import load

    alternative = ", or give other word vectors (--embeddings FILE)"
    name, revision = model_of_run(options.model, run.name, run.model, run.revision, alternative)
    trusts = options.trust_remote_code
    try:
        model = load(name, revision=revision, device="cpu", trust_remote_code=trusts)
    except AttnbankError as error:
        raise CallError(
            f"The embeddings of {name} cannot be loaded: {error.fact}",
            error.remedy
            if "trust-remote-code" in error.remedy
            else "Name the folder of the model (--model FOLDER), check the network, or use other"
            " embeddings (a GloVe or word2vec text file).",
        ) from error
    if run.trained_sha256 is not None and model.facts.sha256 != run.trained_sha256:
        raise CallError(
            f"The model {name} is not the one that {run.name} was made with: its weights differ.",
            "Name the right one (--model FOLDER), or give other word vectors (--embeddings FILE).",
        )
    return model


@dataclass(frozen=True)
class ProbeBatch:
    """B sentences padded to P positions. Candidate heads are ROOT (0) and p + 1 for position p."""

    entry: Tensor  # [B, P] int64, index into the arrays of Sentences; -1 for padding
    is_word: Tensor  # [B, P] bool
    opens: Tensor  # [B, P] float, 1 for [CLS], else 0
    closes: Tensor  # [B, P] float, 1 for any other special token, else 0
    gold: Tensor  # [K, B, P] int64, candidate that is the gold head of the k-th word; -1 for none
    position: Tensor  # [B, P] int64, 0-based
    words: Tensor  # [B] float, number of words of each sentence
    vector: Tensor  # [B, P] int64, row of the word vectors; 0, the zero vector, for all but words
    attention: Tensor | None  # [B, P, P, K] float: from, to, map (by layer); None if not read

    @property
    def required_attention(self) -> Tensor:
        """`attention`, which a probe that uses it has read."""
        assert self.attention is not None, "the batch was read without attention"
        return self.attention

    def to(self, device: torch.device) -> ProbeBatch:
        """Return the batch on a device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if value is not None}
        return replace(self, **moved)


class Batches:
    """The batches of the sentences `chosen`, by number; a number always gives the same batch.

    Sentences with neighbouring ids go together: ingest numbers them by length within a window. With
    `keeps`, batches stay in memory, up to `options.memory` times the share that `chosen` has of
    the sentences of the part.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        task: Task,
        part: ProbeInput,
        chosen: Ints,
        device: torch.device,
        *,
        keeps: bool = True,
    ) -> None:
        self._connection = connection
        self._part = part
        self._reads_attention = task.kind in WITH_ATTENTION
        self._device = device
        # The values of a pair of positions in the largest tensor.
        width = part.run.maps_per_sentence if self._reads_attention else HIDDEN
        lengths = part.sentences.lengths
        self._groups = _group_sentences(chosen, lengths, task.options.batch_sentences, width)
        self._kept: dict[int, ProbeBatch] = {}
        self._left = int(task.options.memory * len(chosen) / len(lengths)) if keeps else 0

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[ProbeBatch]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> ProbeBatch:
        """Return a batch. Raises QueryError if the bank lacks some of its attention."""
        if number in self._kept:
            return self._kept[number]
        chosen, part = self._groups[number], self._part
        attention = None
        if self._reads_attention:
            ids, lengths = part.sentences.sequence[chosen], part.sentences.lengths[chosen]
            attention = read_attention(self._connection, part.run, ids, lengths)
        batch = _pad_sentences(part, chosen, attention).to(self._device)
        size = sum(tensor.nbytes for tensor in vars(batch).values() if isinstance(tensor, Tensor))
        if size <= self._left:
            self._left -= size
            self._kept[number] = batch
        return batch


def _group_sentences(chosen: Ints, lengths: Ints, most: int, width: int) -> list[Ints]:
    """Cut sentences into groups of at most `most`, and of CELLS_AT_ONCE numbers if possible.

    `width` is the number of values per pair of positions in the largest tensor.
    """
    groups, begin, longest = [], 0, 0
    for at, length in enumerate(lengths[chosen].tolist()):
        longest = max(longest, length)
        count = at - begin + 1
        if count > 1 and (count > most or count * width * longest**2 > CELLS_AT_ONCE):
            groups.append(chosen[begin:at])
            begin, longest = at, length
    groups.append(chosen[begin:])
    return [group for group in groups if len(group)]


def _pad_sentences(part: ProbeInput, chosen: Ints, attention: Tensor | None) -> ProbeBatch:
    sentences = part.sentences
    lengths = sentences.lengths[chosen]
    position = np.broadcast_to(np.arange(lengths.max()), (len(chosen), lengths.max()))
    is_real = position < lengths[:, None]
    entry = np.where(is_real, sentences.start[chosen][:, None] + position, 0)

    def field(values: np.ndarray, padding: float) -> Tensor:
        entries = values[..., entry]  # entries are the last axis
        return torch.from_numpy(np.where(is_real, entries, padding).astype(values.dtype))

    is_word = field(sentences.is_word, False)
    return ProbeBatch(
        entry=torch.from_numpy(np.where(is_real, entry, -1)),
        is_word=is_word,
        opens=field(sentences.opens, False).float(),
        closes=field(sentences.closes, False).float(),
        gold=field(sentences.gold, -1),
        position=torch.from_numpy(position.copy()),
        words=is_word.sum(1).float(),
        vector=field(part.vector, 0),
        attention=attention,
    )


def read_attention(
    connection: DuckDBPyConnection, run: ProbeRun, sequences: Ints, lengths: Ints
) -> Tensor:
    """Read the attention of B sequences, [B, P, P, K] (from, to, map), zero for padding.

    `sequences` are ids, ascending, with `lengths` positions. Map k is that of head k % heads + 1 in
    layer `run.numbers[k // heads]`. Raises QueryError if the bank lacks some of it.
    """
    listed = ", ".join(map(str, sequences.tolist()))
    # The bounds let DuckDB skip whole row groups, the list single rows.
    distributions = connection.query(
        "select sequence, layer, head, from_position, weights from distribution"
        f" where sequence between {sequences[0]} and {sequences[-1]} and sequence in ({listed})"
    )
    rows = distributions.to_arrow_table().combine_chunks()
    count, longest, maps = len(sequences), int(lengths.max()), run.maps_per_sentence
    slot = np.searchsorted(sequences, rows["sequence"].to_numpy())
    layer = np.searchsorted(run.numbers, rows["layer"].to_numpy())
    map_ = layer * run.heads + rows["head"].to_numpy() - 1
    key = (slot * maps + map_) * longest + rows["from_position"].to_numpy()
    if not (np.diff(key) > 0).all():
        order = np.argsort(key)
        rows, key = rows.take(order).combine_chunks(), key[order]
    values = rows["weights"].combine_chunks().flatten().to_numpy()
    is_real = np.arange(longest) < lengths[:, None]
    is_cell = is_real[:, None, :, None] & is_real[:, None, None, :]
    expected = np.flatnonzero(np.broadcast_to(is_real[:, None], (count, maps, longest)))
    if not np.array_equal(key, expected) or len(values) != maps * int((lengths**2).sum()):
        raise QueryError(
            f"The run {run.name} lacks the attention of some of its sentences.",
            "Ingest it again with --replace.",
        )
    padded = np.zeros((count, maps, longest, longest), dtype=np.float32)
    padded[np.broadcast_to(is_cell, padded.shape)] = values
    return torch.from_numpy(padded).permute(0, 2, 3, 1).contiguous()
