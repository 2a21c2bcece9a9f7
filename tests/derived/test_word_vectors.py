"""Word vectors: from text files, from a spaCy pipeline, and a model's own input embeddings."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import bounds
import numpy as np
import pytest
import transformers
from fixture_types import Models

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import ProbeOptions
from attnbank.ingest.derived.probes.sentences import ProbeRun
from attnbank.ingest.derived.probes.tasks import (
    EmbeddingsError,
    Task,
    file_vectors,
    read_task,
    spacy_vectors,
    word_vectors,
)
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import AttnbankError, CallError

GLOVE = "the 0.5 -1 2\nRain 1 2 3\nrain 4 5 6\nfell 0 1e-1 0\n"
NO_RUN = ProbeRun(1, "run", "corpus", "model", None, "", None, 1, (1,))


def _file(folder: Path, text: str, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("header", ["", "4 3\n"], ids=["GloVe", "word2vec"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_text_file(tmp_path: Path, header: str, is_packed: bool) -> None:
    path = _file(tmp_path, header + GLOVE)
    if is_packed:
        packed = tmp_path / "vectors.txt.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    found = file_vectors(path, ["Rain", "FELL", "snow", "The"])
    assert found.vectors.dtype == np.float32
    expected = np.array([[1, 2, 3], [0, 0.1, 0], [0, 0, 0], [0.5, -1, 2]])
    np.testing.assert_array_equal(found.vectors, expected.astype(np.float32))
    assert found.known.tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    "text",
    [
        GLOVE.replace("\n", "\r\n"),
        GLOVE.replace("\n", " \n"),
        GLOVE.replace(" ", "\t"),
        GLOVE + "\n",
        GLOVE.rstrip("\n"),
        GLOVE + "Rain 7 8 9\n",
        GLOVE + ". . . 7 8 9\n",
        "\ufeff" + GLOVE,
        "\ufeff4 3\n" + GLOVE,
        GLOVE.replace("\n", "\t\n"),
    ],
    ids=[
        "CRLF",
        "spaces at the end",
        "tabs",
        "empty line",
        "no newline",
        "twice",
        "spaces inside",
        "byte-order mark",
        "byte-order mark before the counts",
        "tabs at the end",
    ],
)
def test_harmless_variants_of_a_text_file(tmp_path: Path, text: str) -> None:
    words = ["the", "Rain", "rain", "fell"]
    found = file_vectors(_file(tmp_path, text), words)
    expected = file_vectors(_file(tmp_path, GLOVE), words)
    assert found.vectors.tolist() == expected.vectors.tolist()
    assert found.known.all()


def test_a_word_of_several_words(tmp_path: Path) -> None:
    found = file_vectors(_file(tmp_path, GLOVE + ". . . 7 8 9\n"), [". . ."])
    assert found.vectors.tolist() == [[7, 8, 9]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GLOVE + "snow 1 2\n", ":5: a vector of 2 values, but the first line has 3"),
        (GLOVE + "snow 1 2 3 4\n", ":5: a vector of 4 values, but the first line has 3"),
        ("1000000 3\n" + GLOVE, " has vectors for 4 words, but its first line says 1,000,000"),
        ("3 3\n" + GLOVE, " has vectors for 4 words, but its first line says 3"),
        ("5 3\n" + GLOVE + "\n\n", " has vectors for 4 words, but its first line says 5"),
        ("1000000 3\n", "has no word vectors in it"),
        ("snow\thail\n" + GLOVE, ":2: a vector of 3 values, but the first line has 1"),
        ("5 7\nrain 8\nsnow 9\n", ":2: a vector of 1 values, but the first line says 7"),
        ("2 4\n" + GLOVE, ":2: a vector of 3 values, but the first line says 4"),
        ("2 2\n" + GLOVE, ":2: a vector of 3 values, but the first line says 2"),
        ("2 3\nthe 1 2 3\nfell 1 2\n", ":3: a vector of 2 values, but the first line says 3"),
        (GLOVE.replace("4 5 6", "4 five 6"), ":3: could not convert string to float"),
        (GLOVE.replace("4 5 6", "4 nan 6"), ":3: a value is not finite"),
        (GLOVE.replace("4 5 6", "4 inf 6"), ":3: a value is not finite"),
        (GLOVE.replace("4 5 6", "4 1e50 6"), ":3: a value is not finite"),
        ("the\nrain\n", ":1: a word without values"),
        ("", "has no word vectors in it"),
        ("\n\n", "has no word vectors in it"),
        ("snow 1 2 3\n", "has no vector for any of the 1 words"),
    ],
)
def test_a_malformed_text_file(tmp_path: Path, text: str, message: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(EmbeddingsError) as raised:
        word_vectors(["rain"], NO_RUN, ProbeOptions(embeddings=str(path)))
    assert str(path) in raised.value.fact
    assert message in raised.value.fact
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("vectors.bin", b"2 3\nrain \x00\x00\x80\x3f\xff\xfe"),
        ("cut.gz", gzip.compress(GLOVE.encode(), mtime=0)[:-9]),
        ("damaged.gz", gzip.compress(GLOVE.encode(), mtime=0)[:12] + b"\xff" * 30),
        ("wide.txt", GLOVE.encode("utf-16")),
    ],
)
def test_no_text_file_at_all(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(EmbeddingsError, match="is not a text file of word vectors"):
        file_vectors(tmp_path / name, ["rain"])


def test_a_packed_file_is_told_by_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "packed.txt").write_bytes(gzip.compress(GLOVE.encode()))
    (tmp_path / "plain.gz").write_text(GLOVE, encoding="utf-8")
    for name in ("packed.txt", "plain.gz"):
        assert file_vectors(tmp_path / name, ["Rain"]).vectors.tolist() == [[1, 2, 3]]


def test_a_byte_order_mark_costs_no_word(tmp_path: Path) -> None:
    """The first word is known, and so are the counts before it."""
    for text in ("\ufeffthe 1 2\n", "\ufeff1 2\nthe 1 2\n"):
        assert file_vectors(_file(tmp_path, text), ["the"]).known.all()


def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="Cannot read "):
        file_vectors(tmp_path, ["rain"])


def test_a_spacy_pipeline(tmp_path: Path) -> None:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.vocab.set_vector("rain", np.array([1, 2, 3], dtype=np.float32))
    pipeline.vocab.set_vector("fell", np.array([4, 5, 6], dtype=np.float32))
    pipeline.to_disk(tmp_path / "pipeline")
    found = word_vectors(
        ["fell", "snow", "rain"], NO_RUN, ProbeOptions(embeddings=str(tmp_path / "pipeline"))
    )
    assert found.vectors.tolist() == [[4, 5, 6], [0, 0, 0], [1, 2, 3]]
    assert found.known.tolist() == [True, False, True]


def test_a_spacy_pipeline_without_vectors(tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "pipeline")
    with pytest.raises(EmbeddingsError, match="has no word vectors"):
        spacy_vectors(str(tmp_path / "pipeline"), ["rain"])


def test_neither_a_file_nor_a_pipeline(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="is neither a file nor a spaCy pipeline") as raised:
        word_vectors(["rain"], NO_RUN, ProbeOptions(embeddings=str(tmp_path / "nothing")))
    assert raised.value.status == 2


def _two_runs(
    folder: Path, sample: Path, model: Path, random_weights: int | None = None
) -> tuple[Path, str, str]:
    names = []
    for name in ("stories", "press"):
        source = str(sample / f"{name}.conllu")
        names.append(
            ingest(
                IngestOptions(
                    (source,), folder / "bank.duckdb", str(model), random_weights=random_weights
                )
            ).run
        )
    return folder / "bank.duckdb", names[0], names[1]


def _task(bank: Path, train: str, test: str, **options: Any) -> Task:
    with open_to_read(bank) as connection, connection.cursor() as cursor:
        return read_task(cursor, bank, "attention_words", train, test, ProbeOptions(**options))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_a_models_own_embeddings_are_the_mean_over_the_pieces(
    tmp_path: Path, sample: Path, tiny_model: Models, kind: str
) -> None:
    """Also where the run's weights are random: the control differs in the attention alone."""
    folder = tiny_model(kind)
    named = str(folder)
    trained = _task(*_two_runs(tmp_path, sample, folder), model=named)
    control = _task(*_two_runs(tmp_path, sample, folder, random_weights=5), model=named)
    assert trained.vectors is not None and control.vectors is not None
    assert np.array_equal(trained.vectors, control.vectors)
    assert trained.coverage == 1
    matrix = transformers.AutoModel.from_pretrained(folder).get_input_embeddings().weight.detach()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sentences, rows = trained.test.sentences, trained.test.vector
    expected, got, lengths = [], [], []
    for pieces, row in zip(sentences.pieces.to_pylist(), rows, strict=True):
        if pieces is None:
            assert row == 0
            continue
        ids = tokenizer.convert_tokens_to_ids(pieces.split("\x1f"))
        lengths.append(len(ids))
        expected.append(np.mean([matrix[each].numpy() for each in ids], axis=0))
        got.append(trained.vectors[row])
    assert max(lengths) > 2
    assert not trained.vectors[0].any()
    exact = np.array(expected, dtype=np.float64)
    scale = np.linalg.norm(np.array(got, dtype=np.float64)) / np.linalg.norm(exact)
    # A mean of a few float32 numbers, and one product with the scale: each sum of m terms is off by
    # m roundings of the largest.
    within = (max(lengths) + 4) * 2 * bounds.SINGLE * np.abs(exact * scale).max()
    np.testing.assert_allclose(got, exact * scale, rtol=0, atol=within)


@pytest.mark.slow
def test_vectors_have_a_mean_square_of_one_over_the_training_words(
    tmp_path: Path, sample: Path, tiny_model: Models
) -> None:
    bank, train, test = _two_runs(tmp_path, sample, tiny_model("bert"))
    forms = ["a", "and", "of", "the", "to"]
    path = _file(tmp_path, "".join(f"{form} {at} 7 -1\n" for at, form in enumerate(forms)))
    task = _task(bank, train, test, embeddings=str(path))
    assert task.train is not None and task.vectors is not None and task.coverage is not None
    assert task.vectors.shape[1] == 3
    rows = np.unique(task.train.vector[task.train.sentences.is_word])
    own = task.vectors[rows]
    assert np.mean(own[own.any(axis=1)].astype(float) ** 2) == pytest.approx(
        1,
        abs=3 * bounds.NEIGHBOURS,  # of numbers that were rounded to float32
    )
    words = task.test.sentences.form.drop_null().to_pylist()
    assert task.coverage == np.mean([word.lower() in forms for word in words])


@pytest.mark.slow
def test_a_folder_whose_model_is_gone_or_another(
    tmp_path: Path, sample: Path, tiny_model: Models
) -> None:
    folder = tmp_path / "model"
    folder.symlink_to(tiny_model("bert"))
    bank, train, test = _two_runs(tmp_path, sample, folder)
    folder.unlink()
    with pytest.raises(CallError, match=r"The embeddings of .*model cannot be loaded"):
        _task(bank, train, test, model=str(folder))
    folder.symlink_to(tiny_model("roberta"))
    with pytest.raises(AttnbankError, match=r"is not the one that .* was made with"):
        _task(bank, train, test, model=str(folder))
