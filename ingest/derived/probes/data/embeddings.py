"""Word vectors: from a text file, from a spaCy pipeline, or a model's own input embeddings."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnbank.ingest.derived.probes.data.runs import ProbeRun
from attnbank.ingest.derived.probes.data.sentences import PIECE_SEPARATOR
from attnbank.ingest.derived.probes.data.trained import input_embeddings
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.extras import need

MODEL = "model"
_GZIP = b"\x1f\x8b"
_MOST_BYTES = 16 * 2**20  # of a line; one of 4,096 values has 0.1 MB
_MOST_VALUES = 16_384  # of a vector
_MOST_INFLATED = 200  # bytes that a byte of a compressed file becomes; of vectors, less than 5
_SMALL = 64 * 2**20  # bytes, below which a file may inflate as it likes
_TEXT_FILE = "Give a GloVe or word2vec text file."
_COUNT = re.compile(r"[0-9]{1,12}", re.ASCII)


class EmbeddingsError(AttnbankError):
    """The word vectors cannot be read."""


@dataclass(frozen=True)
class WordVectors:
    """A vector for each word: `vectors` [V, D] float32, zero where `known` [V] is false."""

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]


def word_vectors(
    source: str,
    words: Sequence[str],
    run: ProbeRun,
    model: str | None = None,
    *,
    trust_remote_code: bool = False,
) -> WordVectors:
    """The vectors of words from `source`: `model`, a text file, or a spaCy pipeline.

    `words` are forms; for `model` the pieces of each, joined by PIECE_SEPARATOR. It takes the
    trained weights of the model that the run names, also where the run's own are random: the
    control differs from the probe in the attention alone. `model` is where that model is, and
    `trust_remote_code` as in `input_embeddings`. Raises CallError where the source cannot be
    found, EmbeddingsError where it is malformed or knows none of the words.
    """
    if source == MODEL:
        found = model_vectors(words, run, model, trust_remote_code=trust_remote_code)
    elif _is_file(source):
        found = file_vectors(Path(source), words)
    else:
        found = spacy_vectors(source, words)
    if not found.known.any():
        raise EmbeddingsError(
            f"{source} has a vector for none of the {len(found.known)} words.",
            "Give the embeddings of the language of the corpus.",
        )
    return found


def _is_file(source: str) -> bool:
    try:
        return Path(source).is_file()
    except OSError:  # a part of it is too long for a name
        return False


def file_vectors(path: Path, forms: Sequence[str]) -> WordVectors:
    """Vectors from a text file, one word per line: GloVe, or word2vec with its line of two counts.

    A form that the file does not have is looked up in lower case; of a word that stands twice the
    first vector counts. The file may be gzip-compressed and may begin with a byte-order mark. Only
    the vectors of `forms` are kept in memory. Raises EmbeddingsError where a line has another
    number of values than the first, a value is no finite number, word2vec's first line counts
    other than the words that follow, or a line or the file is larger than vectors make it;
    CallError where the file cannot be opened.
    """
    wanted = set(forms) | {form.lower() for form in forms}
    found: dict[str, NDArray[np.float32]] = {}
    dimension, promised, words = 0, None, 0
    for number, line in _lines(path):
        if number == 1 and (counts := _header(line)):
            promised, dimension = counts
            _check_dimension(path, number, dimension)
            continue
        if not line:
            continue
        words += 1
        if dimension == 0:
            dimension = line.count(" ")
            _check_dimension(path, number, dimension)
        if line.count(" ") < dimension or dimension == 0:
            raise _wrong_dimension(path, number, line.count(" "), dimension, promised)
        word, *values = line.rsplit(" ", dimension)
        if " " in word and _is_number(word.rsplit(" ", 1)[1]):
            raise _wrong_dimension(path, number, line.count(" "), dimension, promised)
        if word in wanted and word not in found:
            found[word] = _vector(path, number, values)
    if dimension == 0 or not words:
        raise EmbeddingsError(
            f"{path} holds no word vectors.", "Give a GloVe or word2vec text file."
        )
    if promised is not None and promised != words:
        raise EmbeddingsError(
            f"{path} has vectors of {words:,} words, where the first line says {promised:,}.",
            "Fetch or write the file again: it is cut short."
            if words < promised
            else "Correct the first line, or fetch the file again.",
        )
    vectors = np.zeros((len(forms), dimension), dtype=np.float32)
    known = np.zeros(len(forms), dtype=bool)
    for at, form in enumerate(forms):
        vector = found.get(form, found.get(form.lower()))
        if vector is not None:
            vectors[at], known[at] = vector, True
    return WordVectors(vectors, known)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, compressed or not, with their numbers from 1."""
    number = 0
    try:
        with path.open("rb") as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            most = max(_SMALL, _MOST_INFLATED * size) if is_packed else None
            read = 0
            text = gzip.GzipFile(fileobj=file) if is_packed else file
            while line := text.readline(_MOST_BYTES + 1):
                number += 1
                read += len(line)
                if len(line) > _MOST_BYTES:
                    fact = f"{path}:{number}: the line has more than {_MOST_BYTES:,} bytes."
                    raise EmbeddingsError(fact, _TEXT_FILE)
                if most is not None and read > most:
                    fact = f"{path} inflates to more than {_MOST_INFLATED} times its size."
                    raise EmbeddingsError(fact, _TEXT_FILE)
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                yield number, line.decode("utf-8").rstrip(" \t\r\n").replace("\t", " ")
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        where = f"{path}:{number}" if isinstance(error, UnicodeDecodeError) else str(path)
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error
        raise EmbeddingsError(
            f"{where} is no text file of word vectors: {reason}.",
            "Give a GloVe or word2vec text file (word2vec's binary files are not read).",
        ) from error
    except OSError as error:
        raise CallError(
            f"{path} cannot be read: {error.strerror or error}.", "Check the file."
        ) from error


def _header(line: str) -> tuple[int, int] | None:
    """The counts of words and values in the first line of a word2vec text file."""
    parts = line.split(" ")
    if len(parts) != 2 or not all(_COUNT.fullmatch(part) for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _check_dimension(path: Path, number: int, dimension: int) -> None:
    if dimension > _MOST_VALUES:
        raise EmbeddingsError(
            f"{path}:{number}: vectors of {dimension:,} values, where {_MOST_VALUES:,} are the"
            " most.",
            _TEXT_FILE,
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _vector(path: Path, number: int, values: list[str]) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # too large for a float32: not finite, as said below
            vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        reason = str(error)[:100]  # it repeats the value
        raise EmbeddingsError(f"{path}:{number}: {reason}.", "Mend the line.") from error
    if not np.isfinite(vector).all():
        raise EmbeddingsError(f"{path}:{number}: a value is not finite.", "Mend the line.")
    return vector


def _wrong_dimension(
    path: Path, number: int, found: int, dimension: int, words: int | None
) -> EmbeddingsError:
    if dimension == 0:
        return EmbeddingsError(
            f"{path}:{number}: a word without values.", "Give a GloVe or word2vec text file."
        )
    source = "the first line says" if words is not None else "the first line has"
    return EmbeddingsError(
        f"{path}:{number}: a vector of {found} values, where {source} {dimension}.",
        "Give a file whose vectors have one dimension.",
    )


def spacy_vectors(name: str, forms: Sequence[str]) -> WordVectors:
    """Vectors of a spaCy pipeline, by its name or folder.

    Raises CallError where there is none, EmbeddingsError where it has no vectors.
    """
    need("A spaCy pipeline", "spacy")
    import spacy

    try:
        pipeline = spacy.load(name)
    except Exception as error:  # of spaCy and whatever reads the files of a pipeline
        raise CallError(
            f"{name} is neither a file nor a spaCy pipeline.",
            "Give model, a GloVe or word2vec text file, or a pipeline with vectors"
            " (python -m spacy download en_core_web_md).",
        ) from error
    vocabulary = pipeline.vocab
    if vocabulary.vectors_length == 0:
        raise EmbeddingsError(
            f"The spaCy pipeline {name} has no word vectors.",
            "Use a medium or large one (en_core_web_md).",
        )
    known = np.array([vocabulary.has_vector(form) for form in forms], dtype=bool)
    vectors = np.zeros((len(forms), vocabulary.vectors_length), dtype=np.float32)
    for at in np.flatnonzero(known).tolist():
        vectors[at] = vocabulary.get_vector(forms[at])
    return WordVectors(vectors, known)


def model_vectors(
    pieces: Sequence[str],
    run: ProbeRun,
    model: str | None = None,
    *,
    trust_remote_code: bool = False,
) -> WordVectors:
    """The trained model's input embeddings, mean over the pieces of each word.

    Raises CallError as `input_embeddings` does, EmbeddingsError where its vocabulary is not the
    one that the run's words were split with.
    """
    matrix, vocabulary = input_embeddings(run, model, trust_remote_code=trust_remote_code)
    split = [each.split(PIECE_SEPARATOR) for each in pieces]
    lengths = np.array([len(each) for each in split])
    flat = [vocabulary.get(piece, -1) for each in split for piece in each]
    ids = np.array(flat, dtype=np.int64)
    if len(ids) == 0 or ids.min() < 0 or ids.max() >= len(matrix):
        raise EmbeddingsError(
            f"The vocabulary of {run.model} is not the one that {run.name} was made with.",
            "Use the model that the run was made with, or other embeddings (a file).",
        )
    begins = np.cumsum(lengths) - lengths
    vectors = np.add.reduceat(matrix[ids], begins, axis=0) / lengths[:, None]
    return WordVectors(vectors.astype(np.float32), np.ones(len(pieces), dtype=bool))
