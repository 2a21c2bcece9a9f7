"""Word vectors: from a text file, from a spaCy pipeline, or a model's own input embeddings.

A bank may come from somebody else, so the name of its model cannot be trusted: a folder is opened
only if the user names it, its code runs only with --trust-remote-code, and if the bank has a digest
of the trained weights, those of the model must match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnbank.ingest.corpora.document import FaultError
from attnbank.ingest.corpora.format import BOM, CorpusFile, read_error
from attnbank.ingest.derived.probes.probe_options import ProbeOptions
from attnbank.ingest.derived.probes.sentences import PIECE_SEPARATOR, ProbeRun
from attnbank.sql.errors import AttnbankError, CallError, require_extra

if TYPE_CHECKING:
    from attnbank.ingest.models.loading import Model

MODEL = "model"
_GZIP = b"\x1f\x8b"
_MOST_VALUES = 16_384  # of a vector
_TEXT_FILE = "Give a GloVe or word2vec text file."
_COUNTS = re.compile(r"([0-9]{1,12}) ([0-9]{1,12})")


class EmbeddingsError(AttnbankError):
    """The word vectors cannot be read."""


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
    from attnbank.ingest.options import MINILM

    name = model_of_run(
        options.model, run.name, run.model, ", or give other word vectors (--embeddings FILE)"
    )
    revision = None if name == MINILM or Path(name).is_dir() else run.revision
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
