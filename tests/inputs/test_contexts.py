"""Runs in contexts: what is estimated is done, and attention is that of the text as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import planning
import pytest
import torch
from bank_factory import BankFactory
from bank_rows import query_bank
from crashes import ingest_part
from direct_attention import check_stored_attention, load_directly
from fixture_types import Models, Options

from attnbank.ingest import estimate, ingest
from attnbank.ingest.options import MINILM
from attnbank.ingest.progress import Progress

CHOICES: list[dict[str, Any]] = [
    {"context": "document"},
    {"context": "document", "unit": "token", "truncate": True, "max_tokens": 30},
    {"context": "document", "max_tokens": 20},
    {"context": "pair", "unit": "token", "max_tokens": 30},
    {"context": "pair", "unit": "token", "limit": 7, "seed": 5},
    {"context": "document", "limit": 3},
    {"limit": 12, "seed": 1},
    {},
]


@pytest.mark.usual("document-token-*")
@pytest.mark.parametrize(
    "options", CHOICES, ids=lambda each: "-".join(map(str, each.values())) or "usual"
)
def test_the_estimate_is_what_the_ingest_does(
    tmp_path: Path, few: Path, options: dict[str, Any], options_for: Options
) -> None:
    chosen = options_for(tmp_path / "b.duckdb", few, **options)
    expected = estimate(chosen)
    report = ingest(chosen)
    for name in ("inputs", "sentences", "words", "weights", "skipped"):
        assert getattr(report, name) == getattr(expected, name)
    assert report.inputs > 0
    inside, outside, every = (
        [id for (id,) in query_bank(chosen.bank, statement)]
        for statement in (
            "select distinct word.sentence from position inner join word on word.id = word",
            "select sentence from skipped",
            "select id from sentence",
        )
    )
    assert len(inside) == report.sentences and not {*inside} & {*outside}
    assert sorted(inside + outside) == sorted(every) or "limit" in options
    rows = query_bank(chosen.bank, "select sentence is null, count(*) from sequence group by all")
    assert rows == [(options.get("context", "sentence") != "sentence", report.inputs)]
    ids = query_bank(
        chosen.bank,
        "select distinct id, coalesce(sentence, min(word)) from sequence"
        " inner join position on sequence = id group by id, sentence",
    )
    assert len(ids) == report.inputs and all(id == place for id, place in ids)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(
    few: Path, options_for: Options, tmp_path: Path
) -> None:
    options = options_for(
        tmp_path / "a.duckdb", few, context="document",
        unit="token", max_tokens=40, batch_tokens=60, limit=9,
    )  # fmt: skip
    ingest_part(options, 4)
    unfinished = "select batches from run_part where finished is null"
    ((batches,),) = query_bank(tmp_path / "a.duckdb", unfinished)
    assert batches >= 2
    last: list[Progress] = []
    resumed = ingest(options, last.append)
    whole = ingest(replace(options, bank=tmp_path / "b.duckdb"))
    assert (resumed.state, whole.state) == ("resumed", "new")
    assert resumed.inputs == whole.inputs == 9
    assert last[-1].done == last[-1].total == resumed.sentences  # of the sample of inputs
    for table in ("sequence", "position", "attention", "peak", "skipped"):
        one, other = (
            query_bank(tmp_path / f"{name}.duckdb", f"from {table} order by all") for name in "ab"
        )
        assert one == other, table


def test_inputs_do_not_depend_on_the_batches(tmp_path: Path, few: Path, tiny_model: Models) -> None:
    model = str(tiny_model("bert"))
    with planning.text_bank(tmp_path / "b.duckdb", few) as connection:
        for options in CHOICES:
            chosen = {"unit": "token"} | options
            plans = [
                planning.plan(connection, model, **chosen, batch_tokens=budget)
                for budget in (1, 100, 100, 10_000)
            ]
            assert plans[1] == plans[2]
            one, several, _, large = map(planning.made_of, plans)
            assert one == several == large
            assert [len(batch.inputs) for batch in plans[0]] == [1] * len(one)
            assert len(plans[3]) < len(plans[1]) < len(plans[0])


@pytest.mark.slow
def test_long_inputs_share_a_batch_by_their_weights(tmp_path: Path) -> None:
    path = planning.story(tmp_path, ("the dogs barked\n" * 60 + "\n") * 3)  # 182 tokens each
    with planning.text_bank(tmp_path / "b.duckdb", path) as connection:
        for budget, sizes in ((3 * 182, [2, 1]), (3 * 182 * 182 // 128 + 1, [3])):
            batches = planning.plan(
                connection, MINILM, context="document", max_tokens=200, batch_tokens=budget
            )
            assert [len(batch.inputs) for batch in batches] == sizes


@pytest.mark.slow
def test_a_run_is_found_again_by_what_shapes_it(tmp_path: Path, options_for: Options) -> None:
    bank = tmp_path / "b.duckdb"

    def state(**options: Any) -> tuple[str, str]:
        report = ingest(options_for(bank, max_tokens=90, **options))
        return report.state, report.run.split("/", 2)[2]

    document: dict[str, Any] = {"context": "document"}
    pair: dict[str, Any] = {"context": "pair", "unit": "token"}
    assert state(**document) == ("new", "document/max90")
    assert state(**document, truncate=True) == ("new", "document/max90/truncated")
    assert state(**document, limit=4) == ("new", "document/max90/limit4")
    assert state(**document, limit=4, seed=1) == ("new", "document/max90/limit4/seed1")
    assert state(**document, limit=4) == ("unchanged", "document/max90/limit4")
    assert state(**pair) == ("new", "pair/token/max90")
    assert state(**pair, seed=2) == ("new", "pair/token/max90/seed2")
    assert state(**pair, seed=2) == ("unchanged", "pair/token/max90/seed2")
    shapes = 'select truncate, "limit", seed from run order by id'
    assert query_bank(bank, shapes) == [
        (False, None, None), (True, None, None), (False, 4, 0), (False, 4, 1),
        (False, None, 0), (False, None, 2),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_usual_length_is_the_papers(bank_of: BankFactory) -> None:
    """128 tokens, or what the model takes where that is less."""
    for model, most in ((MINILM, 128), ("bert", 96)):
        bank = bank_of("stories", model, context="document")
        assert query_bank(bank, "select max_tokens from run") == [(most,)]
        ((longest,),) = query_bank(bank, "select max(tokens) from sequence")
        assert most - 30 < longest <= most


@pytest.mark.usual("llama")
@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "llama", "deberta"])
def test_stored_attention_is_that_of_the_text_as_a_whole(
    few: Path, tiny_model: Models, kind: str, bank_of: BankFactory
) -> None:
    """The model is given the same ids as the tokenizer makes of the text, white space and all."""
    tokenizer, model = load_directly(tiny_model(kind))
    bank = bank_of(few / "stories.conllu", kind, context="document", unit="token")
    inputs = query_bank(
        bank,
        "select sequence, list(text order by position), list(word order by position)"
        " from position group by sequence order by sequence",
    )
    words = {row[0]: row[1:] for row in query_bank(bank, "select id, form, space_after from word")}
    assert len(inputs) == 2
    alone = []
    for sequence, texts, owners in inputs:
        ids = tokenizer.convert_tokens_to_ids(texts)
        own = [word for word in dict.fromkeys(owners) if word is not None]
        forms = [words[word][0] for word in own]
        if kind in ("roberta", "gpt2", "llama"):
            spaces = ["", *(" " * words[word][1] for word in own[:-1])]
            forms = [space + form for space, form in zip(spaces, forms, strict=True)]
        one_by_one = [
            id for form in forms for id in tokenizer(form, add_special_tokens=False)["input_ids"]
        ]
        if kind in ("bert", "roberta", "deberta"):
            one_by_one = [tokenizer.cls_token_id, *one_by_one, tokenizer.sep_token_id]
        assert ids == one_by_one
        alone.append((sequence, {"input_ids": torch.tensor([ids])}))
    check_stored_attention(bank, model, alone)
