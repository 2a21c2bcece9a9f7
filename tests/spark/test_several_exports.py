"""Several exports that Spark reads as one: shards, several models, and what cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from attnbank.ingest import IngestOptions, ingest
from attnbank.queries import Bank, open_bank
from attnbank.queries.export.exporting import export
from attnbank.queries.spark import Exported
from attnbank.queries.spark.joining import Held, join
from attnbank.queries.spark.placing import Extent, placed
from attnbank.sql.errors import CallError

COUNT = 3


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory, sample: Path, tiny_masked_lm: Callable[[str], Path]
) -> list[Path]:
    """The export of the sample corpus, and those of its shards; each beside its bank."""
    home = tmp_path_factory.mktemp("exports")
    model = str(tiny_masked_lm("bert"))
    pairs: dict[str, Any] = {"context": "pair", "unit": "token", "ablate": "heads"}
    for number in range(COUNT + 1):
        bank = home / f"{number}.duckdb"
        shard = f"{number}/{COUNT}" if number else None
        ingest(IngestOptions((str(sample),), bank, model, shard=shard))
        ingest(IngestOptions((str(sample),), bank, model, shard=shard, context="document"))
        ingest(IngestOptions((str(sample),), bank, model, shard=shard, **pairs))
        with open_bank(bank) as opened:
            export(opened, home / str(number))
    return [home / str(number) for number in range(COUNT + 1)]


@pytest.fixture(scope="module")
def whole(folders: list[Path]) -> Bank:
    return open_bank(folders[0].with_suffix(".duckdb"))


@pytest.fixture(scope="module")
def shards(folders: list[Path], on_spark: Callable[..., Exported]) -> Exported:
    return on_spark(*folders[2:], folders[1])  # in any order


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["special_tokens", "best_head_held_out"],  # others: test_every_way.py
)
def test_shards_answer_as_the_whole(name: str, whole: Bank, shards: Exported) -> None:
    mine, theirs = whole.query(name), shards.query(name)
    assert mine.height > 0
    # Weights differ where a shard has put other inputs into one batch; counts do not.
    assert_frame_equal(theirs, mine, rel_tol=1e-5 if name == "special_tokens" else 1e-9)


@pytest.mark.slow
def test_text_has_the_ids_of_the_whole(whole: Bank, shards: Exported) -> None:
    for table, keys in (
        ("document", "id, corpus, index, name"),
        ("sentence", "id, document, index, text"),
        ("word", "id, sentence, index, form"),
        ("mention", "id, document, entity, first_word, last_word, head_word"),
    ):
        select = f"select {keys} from {table} order by id"
        assert shards.rows_of(select, {}) == whole.connection.execute(select).fetchall()
    select = (
        "select run.name, position.position, word.form, word.id from position"
        " inner join sequence on sequence.id = position.sequence"
        " inner join run on run.id = sequence.run inner join word on word.id = position.word"
        " inner join sentence on sentence.id = word.sentence"
        " where sentence.document = sequence.document and run.unit = 'word'"
        " order by run.name, word.id"
    )
    assert shards.rows_of(select, {}) == whole.connection.execute(select).fetchall()


@pytest.mark.slow
def test_a_run_of_shards_counts_as_one(shards: Exported, folders: list[Path]) -> None:
    select = (
        "select run.name, run.finished is null, count(*), count(distinct sequence.id),"
        " min(sequence.id) = run.first_sequence, max(sequence.batch) = run.batches"
        " from run inner join sequence on sequence.run = run.id"
        " group by run.name, run.finished, run.first_sequence, run.batches order by run.name"
    )
    rows = shards.rows_of(select, {})
    names = [row[0] for row in rows]
    assert len(rows) == 3 and not any("shard" in each for each in names)
    for _, is_unfinished, sequences, ids, *fits in rows:
        assert not is_unfinished and sequences == ids and all(fits)
    # The mean loss of the whole run weighs the shards by their masked tokens.
    losses = "select disabled, layer, head, loss, tokens from ablation where disabled = 'none'"
    parts = []
    for folder in folders[1:]:
        with open_bank(folder.with_suffix(".duckdb")) as bank:
            parts += bank.connection.execute(losses).fetchall()
    ((_, _, _, loss, tokens),) = shards.rows_of(losses, {})
    assert tokens == sum(each[4] for each in parts) > 0
    assert loss == pytest.approx(sum(each[3] * each[4] for each in parts) / tokens, rel=1e-12)


@pytest.mark.slow
def test_the_same_export_twice_counts_once(
    folders: list[Path], whole: Bank, on_spark: Callable[..., Exported]
) -> None:
    twice = on_spark(folders[0], folders[0])
    assert_frame_equal(twice.query("gold_dependency"), whole.query("gold_dependency"))
    for missing, told in (
        (folders[1:3], "without 3/3"),
        (folders[0:2], "overlap: all of it, 1/3"),
    ):
        with pytest.raises(CallError, match=told):
            on_spark(*missing)


def _held(number: int, count: int, **changed: Any) -> Held:
    """What an export of a shard holds; `changed` are columns of its run, model or corpus."""
    corpus = {
        "id": 1, "name": "news", "format": "conllu", "path": f"/{number}/news", "sha256": "a",
        "annotation": "gold", "annotator": None, "annotator_sha256": None, "language": "en",
        "shard": f"{number}/{count}" if count > 1 else None,
    }  # fmt: skip
    model = {
        "id": 1, "name": "bert", "revision": None, "sha256": "b", "architecture": "BertModel",
        "layers": 2, "heads": 2, "random_seed": None, "tokenizer": "BertTokenizer",
        "max_positions": 512, "tokenizer_sha256": "c",
    }  # fmt: skip
    shard = {"shard": f"{number}/{count}"} if count > 1 else {}
    run = {
        "id": 1, "name": "news/bert" + (f"/shard{number}of{count}" if count > 1 else ""),
        "model": 1, "corpus": 1, "context": "sentence", "unit": "word", "subword": "mean",
        "max_tokens": 128, "decimals": None, "reading": 2, "multiword": "written",
        "keep": "weights",
        "options": {"model": "bert", **shard}, "batches": number, "unknown_words": 1,
        "started": datetime(2026, 1, number), "finished": datetime(2026, 2, number),
        "first_sequence": 1,
    }  # fmt: skip
    for row in (corpus, model, run):
        row.update({name: value for name, value in changed.items() if name in row})
    return Held(f"export{number}", [corpus], [model], [run])


def _shard(text: str) -> Held:
    """What an export of some shards holds, as a merge of them writes it."""
    found = _held(1, 2)
    found.corpora[0]["shard"] = found.runs[0]["options"]["shard"] = text
    found.runs[0]["name"] = f"news/bert/shard{text.replace('/', 'of')}"
    return found


def test_shards_that_were_merged_before_and_the_others_become_the_run() -> None:
    joined = join([_shard("3/5"), _shard("1-2+5/5"), _shard("4/5")])
    assert [each["name"] for each in joined.runs] == ["news/bert"]
    assert joined.corpora[0]["shard"] is None and len(joined.texts) == 3
    assert [each.export for each in joined.parts] == [1, 0, 2]


def test_shards_become_the_run() -> None:
    joined = join([_held(2, 3), _held(1, 3), _held(3, 3)])
    ((corpus,), (model,), (run,)) = (joined.corpora, joined.models, joined.runs)
    assert (corpus["shard"], corpus["path"], model["id"]) == (None, "/2/news", 1)
    assert run["name"] == "news/bert" and run["options"] == {"model": "bert"}
    assert (run["batches"], run["unknown_words"]) == (6, 3)
    assert (run["started"], run["finished"]) == (datetime(2026, 1, 1), datetime(2026, 2, 3))
    assert [each.export for each in joined.parts] == [1, 0, 2]
    assert [each.is_whole for each in joined.parts] == [False] * 3
    unfinished = join([_held(1, 2), _held(2, 2, finished=None)])
    assert unfinished.runs[0]["finished"] is None


def test_one_shard_and_several_models_stay_what_they_are() -> None:
    other = {"sha256": "d", "name": "gpt", "random_seed": 1}
    second = _held(1, 3)
    second.models[0].update(other)
    second.runs[0]["name"] = "news/gpt/shard1of3"
    joined = join([_held(1, 3), second])
    assert joined.corpora[0]["shard"] == "1/3" and joined.texts == [(0, 1)]
    assert [each["name"] for each in joined.runs] == ["news/bert/shard1of3", "news/gpt/shard1of3"]
    assert [each["model"] for each in joined.runs] == [1, 2]
    assert all(each.is_whole for each in joined.parts)


@pytest.mark.parametrize(
    ("exports", "told"),
    [
        ([_held(1, 3), _held(3, 3)], "Of the corpus news the exports hold 2 shards, without 2/3."),
        ([_held(1, 2), _held(1, 3)], "parts of the corpus news that overlap: 1/2, 1/3"),
        (
            [_shard("1-2/3"), _shard("2/3")],
            "parts of the corpus news that overlap: 1-2/3, 2/3",
        ),
        ([_shard("3-1/3"), _shard("2/3")], "is the shard '3-1/3', which is none"),
        ([_shard("1-999999999/999999999"), _shard("2/3")], "which is none"),
        ([_shard("a"), _shard("2/3")], "is the shard 'a', which is none"),
        ([_held(1, 1), _held(1, 2)], "parts of the corpus news that overlap: all of it, 1/2"),
        (
            [_held(1, 2), _held(2, 2, language="fr")],
            "The corpora news of export1 and of export2 are not the same: language is en and fr.",
        ),
        (
            [_held(1, 2), _held(2, 2, subword="first")],
            "The runs news/bert of export1 and of export2 are not one run: subword is mean and",
        ),
        ([_held(1, 2), _held(2, 2, architecture="GPT2Model")], "not one run: model is 1 and 2."),
        ([_held(1, 1, corpus=7), _held(1, 1)], "its corpus and model do not belong together"),
    ],
)
def test_what_cannot_be_one_is_told(exports: list[Held], told: str) -> None:
    with pytest.raises(CallError) as caught:
        join(exports)
    assert told in str(caught.value)


def test_documents_stand_in_the_order_of_the_corpus() -> None:
    def document(id_: int, index: int, first: int, sentences: int, is_read: bool = True) -> Extent:
        mentions = (first, first) if sentences > 1 else None
        ids = ((first, first + sentences - 1), (10 * first, 10 * first + 4), mentions, mentions)
        return Extent(id_, 1, index, is_read, ids)

    shards = [[document(1, 1, 1, 2), document(2, 3, 3, 1)], [document(1, 2, 1, 2)]]
    found = placed(shards, [{"id": 1, "name": "news"}], ["a", "b"])
    # Each row: old and new document, is_read, and what is added to sentence, word, mention, entity.
    assert found == [
        [(1, 1, True, 0, -9, 0, 0), (2, 3, True, 2, -19, 0, 0)],
        [(1, 2, True, 2, -4, 1, 1)],
    ]
    again = [*shards, [document(9, 1, 5, 2, is_read=False)]]
    assert placed(again, [], ["a"] * 3)[2] == [(9, 1, False, -4, -49, -4, -4)]
    for other in (document(9, 1, 5, 3, is_read=False), document(9, 4, 5, 2, is_read=False)):
        with pytest.raises(CallError, match=f"The document {other.index} of the corpus news"):
            placed([*shards, [other]], [{"id": 1, "name": "news"}], ["a", "b", "c"])
