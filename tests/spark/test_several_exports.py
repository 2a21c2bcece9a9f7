"""Several exports that Spark reads as one: shards, several models, and what cannot be one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bank_factory import BankFactory
from fixture_types import Models
from polars.testing import assert_frame_equal

from attnbank.queries import Bank, open_bank
from attnbank.queries.spark import Exported
from attnbank.sql.errors import CallError
from attnbank.sql.export_format import export

COUNT = 3


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory, tiny_masked_lm: Models, bank_of: BankFactory
) -> list[Path]:
    """The export of the sample corpus, and those of its shards; each beside its bank.

    The model of the second shard is a copy of that of the others, in a folder of another name.
    """
    home = tmp_path_factory.mktemp("exports")
    models = [tiny_masked_lm("bert")] * (COUNT + 1)
    models[2] = Path(shutil.copytree(models[0], home / "copy"))
    pairs: dict[str, Any] = {"context": "pair", "unit": "token", "ablate": "heads"}
    for number, model in enumerate(models):
        shard = {"shard": f"{number}/{COUNT}" if number else None}
        runs = (shard, shard | {"context": "document"}, shard | pairs)
        made = bank_of.in_turn(*(("sample", model, options) for options in runs))
        bank = shutil.copy(made, home / f"{number}.duckdb")
        with open_bank(bank) as opened:
            export(opened.path, home / str(number))
    return [home / str(number) for number in range(COUNT + 1)]


@pytest.fixture(scope="module")
def whole(folders: list[Path]) -> Bank:
    return open_bank(folders[0].with_suffix(".duckdb"))


@pytest.fixture(scope="module")
def shards(folders: list[Path], on_spark: Callable[..., Exported]) -> Exported:
    return on_spark(*folders[2:], folders[1])  # in any order


@pytest.mark.slow
@pytest.mark.few("special_tokens")
@pytest.mark.parametrize("name", ["special_tokens", "best_head_held_out"])
def test_shards_answer_as_the_whole(
    name: str, whole: Bank, shards: Exported, on_both: Callable[..., pl.DataFrame]
) -> None:
    """Tables and other analyses: test_analyses.py, over one export."""
    on_both(lambda each: each.query(name), bank=whole, exported=shards)


@pytest.mark.slow
def test_text_has_the_ids_of_the_whole(whole: Bank, shards: Exported) -> None:
    for table, keys in (
        ("document", "id, corpus, index, name"),
        ("sentence", "id, document, index, text"),
        ("word", "id, sentence, index, form"),
        ("mention", "id, document, entity, first_word, last_word, head_word"),
    ):
        select = f"select {keys} from {table} order by id"
        assert (
            shards.backend.connection.execute(select).fetchall()
            == whole.connection.execute(select).fetchall()
        )
    select = (
        "select run.name, position.position, word.form, word.id from position"
        " inner join sequence on sequence.id = position.sequence"
        " inner join run on run.id = sequence.run inner join word on word.id = position.word"
        " inner join sentence on sentence.id = word.sentence"
        " where sentence.document = sequence.document and run.unit = 'word'"
        " order by run.name, word.id"
    )
    assert (
        shards.backend.connection.execute(select).fetchall()
        == whole.connection.execute(select).fetchall()
    )


@pytest.mark.slow
def test_a_run_of_shards_counts_as_one(shards: Exported, folders: list[Path]) -> None:
    select = (
        "select run.name, run.finished is null, count(*), count(distinct sequence.id),"
        " min(sequence.id) >> 40 = run.id - 1, max(sequence.id) >> 40 = run.id - 1"
        " from run inner join sequence on sequence.run = run.id"
        " group by run.id, run.name, run.finished order by run.name"
    )
    rows = shards.backend.connection.execute(select).fetchall()
    names = [row[0] for row in rows]
    assert len(rows) == 3 and not any("shard" in name for name in names)
    assert shards.backend.connection.execute("select count(*) from model").fetchall() == [
        (1,)
    ]  # whatever its folder is
    for _, is_unfinished, sequences, ids, *fits in rows:
        assert not is_unfinished and sequences == ids and all(fits)
    # The mean loss of the whole run weighs the shards by their masked tokens.
    losses = "select disabled, layer, head, loss, tokens from ablation where disabled = 'none'"
    parts = []
    for folder in folders[1:]:
        with open_bank(folder.with_suffix(".duckdb")) as bank:
            parts += bank.connection.execute(losses).fetchall()
    ((_, _, _, loss, tokens),) = shards.backend.connection.execute(losses).fetchall()
    assert tokens == sum(part[4] for part in parts) > 0
    assert loss == pytest.approx(sum(part[3] * part[4] for part in parts) / tokens, rel=1e-12)


@pytest.mark.soak
def test_the_same_export_twice_counts_once(
    folders: list[Path], whole: Bank, on_spark: Callable[..., Exported]
) -> None:
    twice = on_spark(folders[0], folders[0])
    assert_frame_equal(twice.query("gold_dependency"), whole.query("gold_dependency"))
    for missing, error in (
        (folders[1:3], "The shard 3/3 of the corpus sample is in none of the exports"),
        (folders[0:2], "overlap: all of it, 1/3"),
    ):
        with pytest.raises(CallError, match=error):
            on_spark(*missing)


@pytest.mark.soak
def test_enhanced_dependencies_of_shards(
    tmp_path: Path, on_spark: Callable[..., Exported], bank_of: BankFactory
) -> None:
    rows = "1\ta\t_\tX\t_\t_\t0\troot\t0:root\t_\n"
    rows += "2\tb\t_\tX\t_\t_\t1\tdep\t1:dep|1:x:{}\t_\n\n"
    corpus = tmp_path / "c.conllu"
    corpus.write_text("".join(f"# newdoc id = d{at}\n{rows.format(at)}" for at in range(3)))
    for number in (1, 2):
        with open_bank(bank_of(corpus, shard=f"{number}/2")) as opened:
            export(opened.path, tmp_path / str(number))
    result = (
        on_spark(tmp_path / "2", tmp_path / "1")
        .backend.connection.execute(
            "select document.name, dependent_index, head_index, relation from enhanced_dependency"
            " inner join sentence on sentence.id = enhanced_dependency.sentence"
            " inner join document on document.id = sentence.document"
            " order by document.name, dependent_index, relation"
        )
        .fetchall()
    )
    edges = [[(1, 0, "root"), (2, 1, "dep"), (2, 1, f"x:{at}")] for at in range(3)]
    assert result == [(f"d{at}", *edge) for at in range(3) for edge in edges[at]]
