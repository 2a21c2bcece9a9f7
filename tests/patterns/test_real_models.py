"""Larger trained models: 144 heads, a decoder of 270, and trees of spaCy's own pipeline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import real_models
from bank_factory import BankFactory
from judged import check, judged_bank
from patterns.requests import SENTENCE, draw

from attnbank.queries import open_bank
from attnbank.queries.patterns import RequestError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:No word has")]


def _model(name: str) -> str:
    found = real_models.get(name)
    if found is None:
        pytest.skip(f"{name} cannot be had here")
    return str(found)


def _heads(request: str) -> list[int]:
    """The numbers of the heads that a request names."""
    return [int(found) for found in re.findall(r"=\[[\d*]+-(\d+)", request)]


@pytest.mark.parametrize(
    ("name", "heads"), [pytest.param("mpnet", 12, marks=pytest.mark.soak), ("smollm2", 9)]
)
def test_requests_find_what_the_matcher_finds(
    name: str, heads: int, corpora: Path, bank_of: BankFactory
) -> None:
    for judged in judged_bank(bank_of(corpora / "gum-dev.conllu", Path(_model(name)), limit=15)):
        bank, corpus = judged
        assert bank.table("model").collect()["heads"].to_list() == [heads]
        requests = [*SENTENCE, *(draw(seed, corpus) for seed in range(20))]
        lacking = [each for each in requests if any(head > heads for head in _heads(each))]
        for request in lacking:
            with pytest.raises(RequestError, match="has no head"):
                bank.find(request)
        assert bool(lacking) == (heads < 12)
        assert check([each for each in requests if each not in lacking], judged) > 25


def test_no_word_of_a_decoder_looks_ahead(corpora: Path, bank_of: BankFactory) -> None:
    path = bank_of(corpora / "gum-dev.conllu", Path(_model("smollm2")), limit=30)
    with open_bank(path) as bank:
        assert not bank.find("pattern { e: A =[*]=> B; A << B }").height
        assert not bank.find("pattern { e: A =[* > 0]=> B; A << B }", limit=5).height
        assert bank.find("pattern { e: A =[*]=> B; B << A }", limit=5).height == 5
        ahead = bank.find("pattern { V -[nsubj]-> S; S << V }", columns="weight(11-2, S, V)")
        read = ahead["weight(11-2, S, V)"].drop_nulls()
        assert read.len() > 10 and read.max() == 0


@pytest.mark.soak
def test_a_pipelines_relations_are_scored_as_gold_ones(corpora: Path, bank_of: BankFactory) -> None:
    mpnet, pipeline = Path(_model("mpnet")), _model("en_core_web_sm")
    path = bank_of(corpora / "wiki-text.txt", mpnet, spacy=pipeline, limit=60)
    with open_bank(path) as bank:
        for relation in ("dobj", "pobj", "det"):
            scores = bank.score(f"pattern {{ V -[{relation}]-> O }}", dependent="O", head="V")
            wanted = bank.query("best_head", relation=relation)
            shared = [name for name in wanted.columns if name in scores.columns]
            assert scores.height == 1 and scores["n"][0] > 20
            assert scores.select(shared).equals(wanted.select(shared))
