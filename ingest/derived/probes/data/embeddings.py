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
_MOST_INFLATED = 200  # bytes from one byte of a compressed file; of vectors it is less than 5
_SMALL = 64 * 2**20  # bytes; up to this size a compressed file may inflate by any factor
_TEXT_FILE = "Give a GloVe or word2vec text file."
_COUNT = re.compile(r"[0-9]{1,12}", re.ASCII)


class EmbeddingsError(AttnbankError):
    """The word vectors cannot be read."""


@dataclass(frozen=True)
class WordVectors:
    """One vector per word: `vectors` [V, D] float32, zero for words whose `known` [V] is false."""

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

    `words` are forms, but for the source `model` the pieces of each word, joined by
    PIECE_SEPARATOR. That source uses the trained weights of the run's model even if the run's own
    weights are random, so that the control differs from the probe only in its attention. The
    parameter `model` says where that model is; `trust_remote_code` is as in `input_embeddings`.
    Raises CallError if the source cannot be found, EmbeddingsError if it is malformed or has a
    vector for none of the words.
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
    except OSError:  # a part of it is too long for the name of a file
        return False


def file_vectors(path: Path, forms: Sequence[str]) -> WordVectors:
    """Vectors from a text file, one word per line: GloVe, or word2vec with its line of two counts.

    A form that the file does not have is looked up in lower case; if a word is there twice, its
    first vector counts. The file may be gzip-compressed and may begin with a byte-order mark. Only
    the vectors of `forms` are kept in memory.

    Raises EmbeddingsError if a line has another number of values than the first, if a value is not
    a finite number, if word2vec's first line gives another number of words than follow, or if a
    line or the unpacked file is too large to be of word vectors; CallError if the file cannot be
    opened.
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
    """The lines of a text file, compressed or not, with their numbers from 1.

    Raises as `file_vectors` does; limits on sizes keep a hostile file from filling the memory.
    """
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
    """The numbers of words and of values in the first line of a word2vec text file, or None."""
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
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
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
    """The vectors of a spaCy pipeline, given by its name or folder.

    Raises CallError if there is none, EmbeddingsError if it has no vectors.
    """
    need("A spaCy pipeline", "spacy")
    import spacy

    try:
        pipeline = spacy.load(name)
    except Exception as error:  # from spaCy, or any library that reads the files of a pipeline
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
    """The input embeddings of the trained model, as the mean over the pieces of each word.

    Raises CallError as `input_embeddings` does, and EmbeddingsError if the model's vocabulary is
    not the one that the run's words were split with.
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
