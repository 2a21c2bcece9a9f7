"""Deleting runs, corpora and models with all that hangs on them; no id comes back. Default runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import several_runs
from bank_rows import change_bank, query_bank
from case_bank import make_bank
from command_line import Cli
from fixture_types import Options
from two_runs import SECOND, TWO_RUNS

from attnbank.ingest import ingest
from attnbank.ingest.derived.computations import compute
from attnbank.ingest.derived.probes import ProbeOptions, train_probe
from attnbank.ingest.store.deleting import delete, set_default_run
from attnbank.ingest.store.writer import next_ids
from attnbank.queries import open_bank
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import BankError, CallError

ENTITIES = [
    "corpus",
    "document",
    "sentence",
    "word",
    "mention",
    "model",
    "run",
    "sequence",
    "probe",
]


@pytest.fixture(scope="module")
def five_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return several_runs.five_runs(tmp_path_factory.mktemp("five") / "bank.duckdb")


@pytest.fixture
def bank(tmp_path: Path, five_runs: Path) -> Path:
    """Five runs, two of them with words of two corpora, and two probes (`several_runs`)."""
    return Path(shutil.copy(five_runs, tmp_path))


def _of_run(bank: Path, number: int) -> dict[str, int]:
    """How many rows of each table are of a run, by the links that the schema's comments name."""
    of_sequence = f"sequence in (select id from sequence where run = {number})"
    of_probe = f"probe in (select id from probe where {number} in (train_run, test_run))"
    of_runs = "run_part sequence ablation head_distance head_embedding computation skipped"
    of_sequences = "position attention attention_map peak gradient"
    conditions = {"run": f"id = {number}", "probe": f"{number} in (train_run, test_run)"}
    conditions |= dict.fromkeys(of_runs.split(), f"run = {number}")
    conditions |= dict.fromkeys(of_sequences.split(), of_sequence)
    conditions |= dict.fromkeys(("probe_score", "probe_weight"), of_probe)
    return _rows(bank, conditions)


def _counts(bank: Path) -> dict[str, int]:
    return _rows(bank, dict.fromkeys(several_runs.columns(bank), "true"))


def _rows(bank: Path, conditions: Mapping[str, str]) -> dict[str, int]:
    """How many rows of each table meet its condition."""
    counts = (f"(select count(*) from {name} where {each})" for name, each in conditions.items())
    (result,) = query_bank(bank, f"select {', '.join(counts)}")
    return dict(zip(conditions, result, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_run_goes_with_all_that_hangs_on_it(bank: Path, number: int) -> None:
    compute(bank, "head_distance", run=4)  # so that there is a computation, too
    before, own = _counts(bank), _of_run(bank, number)
    others = {other: _of_run(bank, other) for other in (3, 5)}
    done = delete(bank, [str(number)])
    after = _counts(bank)
    for table in before:
        if table != "used_id":
            assert before[table] - after[table] == own.get(table, 0), table
    assert done.rows == {table: count for table, count in own.items() if count}
    assert {other: _of_run(bank, other) for other in others} == others
    with open_bank(bank) as opened:
        assert number not in opened.runs()["id"].to_list()


@pytest.mark.slow
def test_tables_of_the_user_go_too(bank: Path) -> None:
    change_bank(
        bank,
        "create table my_scores as select id as run, 0.5 as score from run",
        "create schema notes",
        'create table notes."of inputs" as select id as sequence, run as of_run from sequence',
        "create table by_name as select name as run from run",
        "create table unrelated as select 'train/tiny' as name, 1 as number",
    )
    sequences = query_bank(bank, "select count(*) from sequence where run = 1")[0][0]
    done = delete(bank, ["train/tiny"])
    assert done.rows["my_scores"] == 1 and done.rows["by_name"] == 1
    assert done.rows["notes.of inputs"] == sequences
    assert query_bank(bank, "select run from my_scores order by run") == [(2,), (3,), (4,), (5,)]
    assert query_bank(bank, "select count(*) from by_name where run = 'train/tiny'") == [(0,)]
    assert query_bank(bank, 'select count(*) from notes."of inputs" where of_run = 1') == [(0,)]
    assert query_bank(bank, "select count(*) from unrelated") == [(1,)]


@pytest.mark.slow
def test_no_id_is_given_again(tmp_path: Path, options_for: Options) -> None:
    bank = tmp_path / "bank.duckdb"
    press, stories = options_for(bank, "press"), options_for(bank)
    probe = ProbeOptions(epochs=1, resamples=2)
    ingest(press)
    ingest(stories)
    train_probe(bank, "right_branching", None, 2, probe)
    most = {table: query_bank(bank, f"select max(id) from {table}")[0][0] for table in ENTITIES}
    entity = query_bank(bank, "select max(entity) from mention")[0][0]
    delete(bank, ["stories/tiny-bert", "1"], ["press", "stories"], ["1"])
    assert all(query_bank(bank, f"select count(*) from {entity}") == [(0,)] for entity in ENTITIES)
    ingest(stories)
    ingest(press)
    train_probe(bank, "right_branching", None, "stories/tiny-bert", probe)
    for table in ENTITIES:
        assert query_bank(bank, f"select min(id) from {table}")[0][0] > most[table], table
    assert query_bank(bank, "select min(entity) from mention")[0][0] > entity
    assert query_bank(
        bank, "select count(*) from (select id from sequence group by id)"
    ) == query_bank(bank, "select count(*) from sequence")
    with open_bank(bank) as opened:  # and everything fits together
        assert opened.query("head_accuracy", run="press/tiny-bert").height > 0


def test_a_number_that_is_too_large_is_refused_before_anything_is_written(
    tmp_path: Path, options_for: Options
) -> None:
    bank = make_bank(tmp_path / "bank.duckdb", {"corpus": "id,name\n1,other\n"})
    change_bank(bank, "insert into used_id values ('corpus', 8388607)")
    before = query_bank(bank, "select (select max(id) from corpus), count(*) from word")
    with pytest.raises(BankError, match="The bank has used every number of a corpus: 8,388,607"):
        ingest(options_for(bank))
    assert query_bank(bank, "select (select max(id) from corpus), count(*) from word") == before
    with open_bank(bank) as opened:
        opened.info()


@pytest.mark.slow
def test_a_replaced_run_inherits_nothing(tmp_path: Path, options_for: Options, cli: Cli) -> None:
    bank = tmp_path / "bank.duckdb"
    options = options_for(bank)
    ingest(options)
    compute(bank, "head_distance")
    train_probe(bank, "right_branching", None, 1, ProbeOptions(resamples=2))
    change_bank(
        bank,
        "create table my_scores as select 1 as run, 0.5 as score",
        "create table my_inputs as select 1 as sequence, 'a note' as note",
    )
    args = [*options.corpora, "-m", options.model, "--replace"]
    error = cli("-b", bank, "ingest", *args).err
    assert "the probe 1 (right_branching, scored on stories/tiny-bert)" in error
    assert "66 rows of head_distance" in error and "1 rows of my_scores" in error
    assert query_bank(bank, "select id, name from run") == [(2, "stories/tiny-bert")]
    for table in ("my_scores", "my_inputs", "head_distance", "computation", "probe"):
        assert query_bank(bank, f"select count(*) from {table}") == [(0,)], table
    assert ingest(replace(options, replace=False)).state == "unchanged"


def test_ids_go_on_after_those_of_deleted_rows(tmp_path: Path) -> None:
    measured = {"surprisal": f"run,word\n1,1\n2,{SECOND}\n"}
    bank = make_bank(tmp_path / "two.duckdb", TWO_RUNS | measured)
    change_bank(
        bank,
        "create table scores as select id as run, 0.5 as score from run",
        "create table by_name as select name as run from run union all select '2'",
    )
    with open_to_write(bank, "test") as connection:
        following = next_ids(connection)
    assert following["run"] == following["corpus"] == following["model"] == 3
    done = delete(bank, ["two/n"], ["two"], ["2"])
    tables = ("run", "word", "attention", "skipped", "surprisal")
    assert [done.rows[table] for table in tables] == [1] * len(tables)
    assert done.rows["by_name"] == 2  # by its name and by its id
    assert query_bank(bank, "select run, word from surprisal") == [(1, 1)]
    assert query_bank(bank, "select scores.run, by_name.run from scores, by_name") == [(1, "one/m")]
    assert query_bank(bank, "select run.name, word.form from run, word") == [("one/m", "it's")]
    with open_to_write(bank, "test") as connection:
        assert next_ids(connection) == following


def test_a_default_run_takes_the_place_of_those_of_its_context_and_unit(tmp_path: Path) -> None:
    runs = "1,a,sentence,word\n2,b,sentence,word\n3,c,sentence,token\n4,d,document,word\n"
    bank = make_bank(tmp_path / "four.duckdb", {"run": f"id,name,context,unit\n{runs}"})
    change_bank(bank, "insert into preferred_run values (1), (4)")
    for run, runs_now in (("c", [1, 3, 4]), (2, [2, 3, 4])):
        set_default_run(bank, run)
        preferred = query_bank(bank, "select run from preferred_run order by run")
        assert preferred == [(number,) for number in runs_now]


def test_a_corpus_or_model_in_use_stays(tmp_path: Path) -> None:
    given = {
        "corpus": "id,name\n1,train\n2,test\n",
        "model": "id,name\n1,tiny\n2,tiny\n3,large\n",
        "run": "id,name,corpus,model\n1,train/tiny,1,1\n2,test/tiny,2,1\n3,c,2,3\n4,d,2,3\n",
    }
    bank = make_bank(tmp_path / "used.duckdb", given)
    before = bank.read_bytes()
    with pytest.raises(
        CallError, match=r"corpus test cannot be deleted: 3 runs use it: test/tiny, c, d"
    ) as e:
        delete(bank, corpora=["test"])
    assert "attnbank delete 2 3 4 --corpus 2" in e.value.remedy
    with pytest.raises(CallError, match="model tiny cannot be deleted: a run uses it: test/tiny"):
        delete(bank, ["1"], models=["1"])
    with pytest.raises(CallError, match="2 models are called tiny") as e:
        delete(bank, models=["tiny"])
    assert e.value.remedy == "Give an id: 1, 2."
    with pytest.raises(CallError, match="no run nothing"):
        delete(bank, ["nothing"])
    assert bank.read_bytes() == before


@pytest.mark.slow
def test_a_corpus_without_runs_goes_whole(bank: Path) -> None:
    before = _counts(bank)
    done = delete(bank, ["train/tiny"], ["train"])
    assert (done.runs, done.corpora) == (("train/tiny",), ("train",))
    after = _counts(bank)
    assert after["corpus"] == before["corpus"] - 1 == 1
    for table, of in (
        ("document", "corpus in (select id from corpus)"),
        ("sentence", "document in (select id from document)"),
        ("word", "sentence in (select id from sentence)"),
        ("mention", "document in (select id from document)"),
        ("position", "word is null or word in (select id from word)"),
    ):
        assert after[table] < before[table], table
        assert query_bank(bank, f"select count(*) from {table} where {of}") == [(after[table],)], (
            table
        )


@pytest.mark.slow
def test_it_says_what_it_did(bank: Path, cli: Cli) -> None:
    before = bank.read_bytes()
    planned = cli("-b", bank, "delete", "train/tiny", "--dry-run").err
    assert bank.read_bytes() == before
    error = cli("-b", bank, "delete", "train/tiny").err
    assert "Deleted: the run train/tiny\n" in error
    assert "Deleted: the probe 1 (attention, learnt from train/tiny, scored on test/tiny)" in error
    assert planned.splitlines()[-1] in error.splitlines()  # the same rows
    assert (
        "No run uses the corpus train any more; to delete it: attnbank delete --corpus train"
        in error
    )
    assert cli("-b", bank, "delete", "--corpus", "train", "-q").err == ""
    assert "Name a run" in cli("-b", bank, "delete", status=2).err
    assert "no run train/tiny" in cli("-b", bank, "delete", "train/tiny", status=2).err


@pytest.mark.slow
def test_a_model_of_a_name_that_another_has_is_told_by_its_number(tmp_path: Path, cli: Cli) -> None:
    given = {
        "model": "id,name,random_seed\n1,minilm,\n2,minilm,7\n",
        "run": "id,name,model\n1,trained,1\n2,control,2\n",
    }
    bank = make_bank(tmp_path / "two.duckdb", given)
    error = cli("-b", bank, "delete", "control", "--yes").err
    assert "No run uses the model 2 any more; to delete it: attnbank delete --model 2" in error
    cli("-b", bank, "delete", "--model", "2", "--yes")
    assert query_bank(bank, "select id from model") == [(1,)]
