"""When corpora, models and runs of several sources are one: digests and options, not names."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from attnbank.ingest import IngestOptions
from attnbank.ingest.models.loading import ModelFacts
from attnbank.ingest.store import runs
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.matching import Catalog, Matched, match


def _catalog(number: int, count: int, **changed: Any) -> dict[str, list[dict[str, Any]]]:
    """What an export of a shard holds; `changed` are columns of its run, model or corpus."""
    corpus = {
        "id": 1, "name": "news", "format": "conllu", "path": f"/{number}/news", "sha256": "a",
        "annotation": "gold", "annotator": None, "annotator_sha256": None, "language": "en",
        "shard": f"{number}/{count}" if count > 1 else None,
    }  # fmt: skip
    model = {
        "id": 1, "name": "bert", "revision": None, "sha256": "b", "architecture": "BertModel",
        "layers": 2, "heads": 2, "random_seed": None, "tokenizer": "BertTokenizer",
        "max_positions": 512, "tokenizer_sha256": "c", "causal": False, "sinks": False,
        "layer_numbers": None, "sliding_window": None, "step": None,
    }  # fmt: skip
    run = {
        "id": 1, "name": "news/bert" + (f"/shard{number}of{count}" if count > 1 else ""),
        "model": 1, "corpus": 1, "context": "sentence", "unit": "word", "subword": "mean",
        "max_tokens": 128, "decimals": None, "measure": "weights", "reading": 3, "keep": "weights",
        "batching": "padded", "multiword": "written", "edges": None, "first_word": None,
        "bos": None, "shard": corpus["shard"], "truncate": False, "limit": None, "seed": None,
        "gradients": False, "ablate": None, "replacement": None, "mask_seed": None,
        "code_version": "0", "options": {"model": "bert"},
        "started": datetime(2026, 1, number), "finished": datetime(2026, 2, number),
    }  # fmt: skip
    part = {
        "run": 1, "shard": corpus["shard"], "device": "cpu", "batch_tokens": 1024,
        "libraries": {"torch": "2"},
    }  # fmt: skip
    for row in (corpus, model, run, part):
        row.update({name: value for name, value in changed.items() if name in row})
    return {"corpus": [corpus], "model": [model], "run": [run], "run_part": [part]}


def _shard(text: str) -> dict[str, list[dict[str, Any]]]:
    """What an export of some shards holds, as a merge of them writes it."""
    result = _catalog(1, 2)
    result["corpus"][0]["shard"] = result["run"][0]["shard"] = text
    result["run"][0]["name"] = f"news/bert/shard{text.replace('/', 'of')}"
    return result


def _named(number: int, model: str, **changed: Any) -> dict[str, list[dict[str, Any]]]:
    """A shard of two, of a model in a folder of that name."""
    result = _catalog(number, 2, **changed)
    result["model"][0]["name"] = model
    result["run"][0]["name"] = f"news/{model}/shard{number}of2"
    return result


def _match(*held: dict[str, list[dict[str, Any]]], partial: bool = False) -> Matched:
    catalogs = [Catalog(at, f"export{at + 1}", each) for at, each in enumerate(held)]
    return match(catalogs, partial=partial)


def _rows(found: Matched, table: str) -> list[dict[str, Any]]:
    return [each.row for each in found.of(table)]


def test_a_model_in_another_folder_is_the_same() -> None:
    matched = _match(_named(1, "./mA"), _named(2, "./mB"))
    (model,), (run,) = _rows(matched, "model"), _rows(matched, "run")
    assert (model["name"], run["name"], run["options"]) == ("./mA", "news/./mA", {"model": "bert"})
    assert matched.runs[0].places == [(0, 1), (1, 1)]
    assert matched.notes == ["The model ./mB of export2 is ./mA: the same weights and tokenizer."]
    other = _named(2, "./mB", tokenizer_sha256="d")  # the name is the same, and the model is not
    with pytest.raises(CallError, match=r"lacks the shard 2/2: export2 has 2/2 with another model"):
        _match(_named(1, "./mA"), other)


def test_without_a_digest_of_the_tokenizer_the_name_decides() -> None:
    old = {"tokenizer_sha256": None}
    assert len(_match(_named(1, "a", **old), _named(2, "a", **old)).models) == 1
    with pytest.raises(CallError, match=r"with another model \(b, not a\)"):
        _match(_named(1, "a", **old), _named(2, "b", **old))


def test_a_corpus_of_another_name_is_the_same() -> None:
    other = _catalog(2, 2)
    other["corpus"][0]["name"] = "copy"
    other["run"][0]["name"] = "copy/bert/shard2of2"
    matched = _match(_catalog(1, 2), other)
    (corpus,), (run,) = _rows(matched, "corpus"), _rows(matched, "run")
    assert (corpus["name"], corpus["shard"], run["name"]) == ("news", None, "news/bert")
    assert matched.notes == ["The corpus copy of export2 is news: the same content and annotation."]


def test_what_an_ingest_tells_apart_a_merge_does_too() -> None:
    """`ingest.store.runs` finds a model and a run in its bank by columns of its own."""
    facts = ModelFacts("m", None, "", "", 1, 1, None, "", "", None)
    options = IngestOptions(("c",), Path("b"), "m")
    wanted = {*runs.RunSpec(1, 1, facts, options, 512, "cpu").columns}
    for name in sorted(wanted - {"corpus", "model", "shard"}):
        other = _catalog(1, 1)
        other["run"][0][name] = "another"
        assert len(_match(_catalog(1, 1), other).runs) == 2, name
    # Names, and what a tokenizer's digest knows, decide in a bank only; the digest of the weights
    # knows how many heads share their keys.
    for field in fields(facts):
        if field.name not in (
            "name", "revision", "tokenizer", "kv_heads", "series", "tokens_seen"
        ):  # fmt: skip
            other = _catalog(1, 1)
            other["model"][0][field.name] = "another"
            assert len(_match(_catalog(1, 1), other).models) == 2, field.name


def test_two_rows_of_one_source_stay_two() -> None:
    twice = _catalog(1, 1)
    for table, name in (("corpus", "copy"), ("model", "mB"), ("run", "copy/mB")):
        twice[table].append(twice[table][0] | {"id": 2, "name": name})
    twice["run"][1] |= {"corpus": 2, "model": 2}
    matched = _match(twice, twice)
    assert [row["name"] for row in _rows(matched, "corpus")] == ["news", "copy"]
    assert [row["name"] for row in _rows(matched, "model")] == ["bert", "mB"]
    assert [row["name"] for row in _rows(matched, "run")] == ["news/bert", "copy/mB"]
    assert matched.ids("run", 1) == {1: 1, 2: 2} == matched.whole_runs(1) and not matched.notes


def test_shards_that_were_merged_before_and_the_others_become_the_run() -> None:
    matched = _match(_shard("3/5"), _shard("1-2+5/5"), _shard("4/5"))
    assert [row["name"] for row in _rows(matched, "run")] == ["news/bert"]
    assert _rows(matched, "corpus")[0]["shard"] is None
    assert [number for number, _ in matched.runs[0].places] == [1, 0, 2]


def test_shards_become_the_run() -> None:
    matched = _match(_catalog(2, 3), _catalog(1, 3), _catalog(3, 3))
    ((corpus,), (model,), (run,)) = (_rows(matched, each) for each in ("corpus", "model", "run"))
    assert (corpus["shard"], corpus["path"], model["id"]) == (None, "/2/news", 1)
    assert run["name"] == "news/bert" and run["options"] == {"model": "bert"}
    assert (run["started"], run["finished"]) == (datetime(2026, 1, 1), datetime(2026, 2, 3))
    assert [number for number, _ in matched.runs[0].places] == [1, 0, 2]
    assert [matched.whole_runs(number) for number in range(3)] == [{}] * 3
    halves = (_catalog(1, 2), _catalog(2, 2, finished=None))
    with pytest.raises(CallError, match="in export2 it is unfinished"):
        _match(*halves)


def test_one_shard_and_several_models_stay_what_they_are() -> None:
    second = _catalog(1, 3)
    second["model"][0] |= {"sha256": "d", "name": "gpt", "random_seed": 1}
    second["run"][0]["name"] = "news/gpt/shard1of3"
    matched = _match(_catalog(1, 3), second, partial=True)
    assert _rows(matched, "corpus")[0]["shard"] == "1/3"
    rows = _rows(matched, "run")
    assert [row["name"] for row in rows] == ["news/bert/shard1of3", "news/gpt/shard1of3"]
    assert [row["model"] for row in rows] == [1, 2]
    assert (matched.whole_runs(0), matched.whole_runs(1)) == ({1: 1}, {1: 2})
    with pytest.raises(CallError, match="The shards 2-3/3 of the corpus news are in none of the b"):
        _match(_catalog(1, 3), second)


@pytest.mark.parametrize(
    ("exports", "message"),
    [
        (
            [_catalog(1, 3), _catalog(3, 3)],
            "The shard 2/3 of the corpus news is in none of the banks.",
        ),
        ([_catalog(1, 2), _catalog(1, 3)], "The shards of news do not match: export1 has 1/2, and"),
        ([_shard("1-2/3"), _shard("2-3/3")], "overlap in part: 2-3/3 and 1-2/3."),
        (
            [_shard("3-1/3"), _shard("2/3")],
            "export1 is damaged: its corpus news has an invalid shard",
        ),
        ([_shard("1-999999999/999999999"), _shard("2/3")], "has an invalid shard: '1-99999"),
        ([_shard("a"), _shard("2/3")], "its corpus news has an invalid shard: 'a'"),
        (
            [_catalog(1, 2), _catalog(2, 2, language="fr")],
            "export2 has another corpus called news: its language differs.",
        ),
        (
            [_catalog(1, 2), _catalog(2, 2, subword="first")],
            "The run news/bert lacks the shard 2/2: export2 has 2/2 with another --subword (first,",
        ),
        (
            [_catalog(1, 2), _catalog(2, 2, architecture="GPT2Model")],
            "export2 has 2/2 with another model, by its architecture.",
        ),
        (
            [_catalog(1, 2), _catalog(2, 2, causal=True)],
            "export2 has 2/2 with another model, by whether it is causal.",
        ),
        (
            [_catalog(1, 2), _catalog(2, 2, batching="equal")],
            "another way of batching (run.batching) (equal, not padded).",
        ),
        ([_catalog(1, 1, corpus=7), _catalog(1, 1)], "its run news/bert has no corpus or model"),
    ],
)
def test_what_cannot_be_one_is_told(
    exports: list[dict[str, list[dict[str, Any]]]], message: str
) -> None:
    with pytest.raises(AttnbankError) as caught:
        _match(*exports)
    assert message in str(caught.value) and str(caught.value).count("\n") == 1
