"""Which run answers: never a control unasked, the bank's own choice first, and always told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from bank_rows import query_bank
from case_bank import make_bank
from command_line import Cli

from attnbank.ingest.store.deleting import set_default_run, unset_default_runs
from attnbank.queries import Bank, open_bank
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.header import RunChoice
from attnbank.sql.registry import analyses
from attnbank.sql.run_choice import choose_run

MODELS = "id,random_seed\n1,\n2,7\n"
WORDS = """\
id,sentence,index,form,head_index,deprel
1,1,1,Dogs,2,nsubj
2,1,2,bark,0,root
"""
GIVEN = {
    "model": MODELS,
    "word": WORDS,
    "run": """\
id,name,model,context,unit,finished
1,first,1,sentence,word,2020-01-01
2,second,1,sentence,word,2020-01-02
3,control,2,sentence,word,2020-01-03
4,half,1,sentence,word,
5,documents,1,document,word,2020-01-05
6,pairs,1,pair,token,2020-01-06
""",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank with runs of every kind, in which each head is right about the one relation."""
    sequences = "id,run,sentence,positions\n" + "".join(f"{n},{n},1,2\n" for n in range(1, 7))
    positions = "sequence,position,word\n" + "".join(f"{n},1,1\n{n},2,2\n" for n in range(1, 7))
    peaks = "sequence,layer,head,position,most_attended,most_attending\n" + "".join(
        f"{n},1,1,1,2,2\n{n},1,1,2,1,1\n" for n in range(1, 7)
    )
    given = GIVEN | {"sequence": sequences, "position": positions, "peak": peaks}
    return make_bank(tmp_path_factory.mktemp("runs") / "bank.duckdb", given)


@pytest.fixture
def path(tmp_path: Path, made: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def _answered(bank: Bank, analysis: str, **values: object) -> str:
    rows = bank.query(analysis, **values)["run"].unique().to_list()
    assert len(rows) == 1
    return str(rows[0])


def _name(bank: Bank, analysis: str) -> str:
    chosen = bank.run_of(analysis)
    assert chosen is not None
    return chosen.name


def test_the_newest_trained_run_that_fits_answers(path: Path) -> None:
    with open_bank(path) as bank:
        assert _answered(bank, "head_accuracy") == "second"
        chosen = bank.run_of("head_accuracy")
        assert chosen is not None and (chosen.name, chosen.among) == ("second", 2)


def test_a_control_answers_where_it_is_named(path: Path) -> None:
    with open_bank(path) as bank:
        assert _answered(bank, "head_accuracy", run="control") == "control"
        assert _answered(bank, "head_accuracy", run=3) == "control"
        chosen = bank.run_of("head_accuracy", run="control")
        assert chosen is not None and chosen.among == 1


def test_every_door_names_the_run(path: Path) -> None:
    with open_bank(path) as bank:
        by_view = bank.sql("from paper.table_1").height
        by_macro = bank.sql("select distinct run from head_accuracy()")["run"].to_list()
        with_run = bank.sql("select distinct run from head_accuracy(run := 'first')")["run"]
        assert by_macro == ["second"] and with_run.to_list() == ["first"]
        assert by_view == 0  # fewer than ten dependents
        assert bank.sql("from paper.table_1(run := 'control')").columns[-1] == "run"


def test_a_shell_of_any_client_gets_the_same_choice(path: Path) -> None:
    assert query_bank(path, "select distinct run from head_accuracy()") == [("second",)]


def test_a_default_run_takes_the_place_of_one_of_its_kind_alone(tmp_path: Path) -> None:
    runs = """\
id,name,context,unit
1,words,sentence,word
2,tokens,sentence,token
3,documents,document,word
4,other words,sentence,word
"""
    path = make_bank(tmp_path / "bank.duckdb", {"run": runs})
    for run in (1, 2, 3, 4):
        set_default_run(path, run)
    assert query_bank(path, "select run from preferred_run order by run") == [(2,), (3,), (4,)]


@pytest.mark.slow
def test_the_preferred_run_comes_first_where_it_fits(path: Path) -> None:
    assert set_default_run(path, "first") == "first"
    with open_bank(path) as bank:
        assert _answered(bank, "head_accuracy") == "first"
        assert _name(bank, "relative_position") == "first"
    set_default_run(path, "pairs")  # of another kind: both are kept
    with open_bank(path) as bank:
        assert _answered(bank, "head_accuracy") == "first"
        assert _name(bank, "relative_position") == "pairs"  # which it favours
    set_default_run(path, 2)  # of the same kind: it takes the place
    with open_bank(path) as bank:
        assert _answered(bank, "head_accuracy") == "second"
    unset_default_runs(path)
    with open_bank(path) as bank:
        assert bank.sql("from preferred_run").height == 0


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("control", "cannot be the default run: its weights are random"),
        ("half", "cannot be the default run: it is not finished"),
        ("frist", "There is no run frist in .*\nDid you mean first\\? It has: first, second"),
    ],
)
def test_what_may_not_be_preferred_is_refused(path: Path, run: str, message: str) -> None:
    with pytest.raises(CallError, match=message):
        set_default_run(path, run)


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "from best_head(run := 'no-such-run')",
            r"There is no run no-such-run in the bank; the runs of the bank: control \(its"
            r" weights are random\), documents \(its inputs are documents\), first",
        ),
        ("from best_head(run := 'pairs')", r"pairs \(its positions are tokens\)"),
        ("from paper.figure_3", "No run can answer this.*ingested without --gradients"),
        ("from head_ablation()", "No run can answer this.*ingested without --ablate"),
        (
            "from paper.table_2",
            r"its corpus has no mentions\).*\n"  # of the first part that was asked
            "Type: attnbank -b .* ingest CORPUS --context document",
        ),
        ("from paper.table_3", r"The bank has no probe\.\nType: attnbank -b .* probe attention"),
        ("from probe_accuracy()", "The bank has no probe"),
        ("from probe_heads(probe := 9)", "There is no probe 9; the probes of the bank: none"),
        ("select count(*) from coreference_baseline()", "its corpus has no mentions"),
    ],
)
def test_an_answer_that_would_be_empty_says_why(path: Path, statement: str, message: str) -> None:
    with open_bank(path) as bank, pytest.raises(QueryError, match=message):
        bank.sql(statement)


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ("id,name,finished", r"has no run\.\nType: attnbank -b .* ingest CORPUS \(with trees"),
        (
            "id,name,unit\n1,t,token",
            r"is suitable for .*: t \(its positions are tokens\)\.\nType: attnbank -b",
        ),
        (
            "id,name,context\n1,d,document",
            r"uses by default\.\nName one of these .*: d \(its inputs are documents\)",
        ),
        ("id,name,finished\n1,h,", r"Name one of these .*: h \(it is not finished\)"),
        ("id,name,model\n1,r,2", r"Name one of these .*: r \(its weights are random\)"),
    ],
)
@pytest.mark.parametrize("analysis", ["best_head", "table_1"])
def test_no_run_that_fits_is_told(tmp_path: Path, analysis: str, runs: str, message: str) -> None:
    given = {"run": runs + "\n", "word": WORDS, "model": MODELS}
    with (
        open_bank(make_bank(tmp_path / "bank.duckdb", given)) as opened,
        pytest.raises(QueryError, match=message),
    ):
        opened.query(analysis)


def test_a_reason_is_told_once_for_all_its_runs(tmp_path: Path) -> None:
    runs = "id,name,unit\n1,t,token\n2,w,word\n3,u,token\n"
    bank = make_bank(tmp_path / "bank.duckdb", {"run": runs, "word": WORDS, "model": MODELS})
    with open_bank(bank) as opened:
        for analysis, expected in (
            (
                "attention_tree",
                "t, u (each: its positions are tokens), w (no trees were decoded from it)",
            ),
            ("figure_3", "t, w, u (each: it was ingested without --gradients)"),
        ):
            with pytest.raises(QueryError) as error:
                opened.query(analysis)
            assert error.value.fact.endswith(f" is suitable for {analysis}: {expected}."), (
                error.value
            )


def test_where_only_an_unusual_run_fits_sql_says_to_name_it(tmp_path: Path) -> None:
    given = {"run": "id,name,context\n1,d,document\n", "word": WORDS, "model": MODELS}
    message = r"d \(its inputs are documents\)\.\nType: the name of one that can"
    with open_bank(make_bank(tmp_path / "bank.duckdb", given)) as opened:
        with pytest.raises(QueryError, match=message):
            opened.sql("from best_head()")
        assert opened.sql("from best_head(run := 'd')").height == 0


def test_what_is_about_documents_asks_for_a_run_of_them(tmp_path: Path) -> None:
    """A run over sentences can be named, but it is not what anyone should be told to type."""
    given = {"run": "id,name\n1,s\n", "word": WORDS, "model": MODELS}
    given["mention"] = "id,head_word\n1,1"
    with open_bank(make_bank(tmp_path / "bank.duckdb", given)) as opened:
        for ask, text in ((opened.query, "table_2"), (opened.sql, "from paper.table_2")):
            with pytest.raises(QueryError, match=r"ingest.* --context document") as error:
                ask(text)
            assert "--run" not in str(error.value) and "its inputs are sentences" in str(
                error.value
            )


def test_a_whole_corpus_goes_before_a_newer_part_of_it(tmp_path: Path) -> None:
    given = {"word": WORDS, "model": MODELS}
    given["run"] = "id,name,limit\n1,whole,\n2,part,40\n"
    with open_bank(make_bank(tmp_path / "bank.duckdb", given)) as opened:
        for name in ("best_head", "entropy", "special_tokens"):
            assert opened.run_of(name).name == "whole"  # type: ignore[union-attr]
    set_default_run(tmp_path / "bank.duckdb", "part")
    with open_bank(tmp_path / "bank.duckdb") as opened:
        assert opened.run_of("best_head").name == "part"  # type: ignore[union-attr]


def test_where_no_run_fits_sql_says_how_to_make_one(tmp_path: Path) -> None:
    given = {"run": "id,name,keep\n1,p,peaks\n", "word": WORDS, "model": MODELS}
    with (
        open_bank(make_bank(tmp_path / "bank.duckdb", given)) as opened,
        pytest.raises(QueryError, match=r"\nType: attnbank -b .* ingest CORPUS --keep weights$"),
    ):
        opened.sql("from chosen_run(reads_weights := true)")


NEEDS = sorted(
    {analysis.run.needs for analysis in analyses().values() if analysis.run and analysis.run.needs}
)


@pytest.mark.parametrize("has_runs", [True, False])
def test_sql_and_python_say_the_same(tmp_path: Path, *, has_runs: bool) -> None:
    """What a run lacks and what to type, for each capability; no row of a bank has any of them."""
    runs = "id,name,unit,keep,measure\n" + "1,t,token,peaks,norms\n" * has_runs
    path = make_bank(tmp_path / "bank.duckdb", {"run": runs, "model": MODELS})
    with open_bank(path) as bank:
        for needs in (*NEEDS, "constituents", None):
            choice = RunChoice("word" if needs is None else None, needs=needs, usual="document")
            with pytest.raises(QueryError) as python:
                choose_run(bank.connection, path, choice, "mine")
            given = ", ".join(f"{name} := {value}" for name, value in choice.arguments.items())
            with pytest.raises(QueryError) as sql:
                bank.sql(f"from chosen_run({given})")
            assert python.value.remedy.startswith("Type: attnbank -b "), needs
            assert python.value.remedy == sql.value.remedy, needs
            if has_runs:
                reason = python.value.fact.partition(" (")[2].removesuffix(").")
                assert f"t ({reason})" in sql.value.fact, needs
                assert "no capability" not in reason, needs


def test_a_capability_that_there_is_not_is_told(path: Path) -> None:
    with open_bank(path) as bank, pytest.raises(QueryError, match="there is no capability tres"):
        bank.sql("from chosen_run(needs := 'tres')")


@pytest.mark.slow
def test_the_command_names_the_run_above_a_table_and_in_a_column(path: Path, cli: Cli) -> None:
    call = ["-b", str(path), "query", "best_head", "--min-count", "1"]
    first, heads = cli(*call).out.splitlines()[:2]
    assert first == "Run: second (2 runs match; choose with --run or attnbank use)"
    assert "run" not in heads.split()
    assert cli(*call, "--run", "3", "-f", "markdown").out.startswith("Run: control\n\n| relation |")
    assert {row["run"] for row in json.loads(cli(*call, "-f", "json").out)} == {"second"}


@pytest.mark.slow
def test_a_file_for_people_names_the_run(path: Path, tmp_path: Path, cli: Cli) -> None:
    call = ["-b", str(path), "query", "best_head", "--min-count", "1", "-o"]
    cli(*call, tmp_path / "x.md")
    assert (tmp_path / "x.md").read_text().startswith("Run: second (2 runs match")
    cli(*call, tmp_path / "x.tex")
    assert (tmp_path / "x.tex").read_text().startswith("% Run: second (2 runs match")
    cli(*call, tmp_path / "x.parquet")
    assert pl.read_parquet(tmp_path / "x.parquet")["run"].unique().to_list() == ["second"]


def test_no_rows_say_why(path: Path, cli: Cli) -> None:
    err = cli("-b", path, "query", "best_head").err
    assert "No rows: no relation has min_count dependents" in err


def test_use_lists_and_sets(path: Path, cli: Cli) -> None:
    assert "first is now the default run" in cli("-b", path, "use", "first").err
    out = cli("-b", path, "use", "-f", "json").out
    rows = {row["run"]: row["unasked"] for row in json.loads(out)}
    assert rows == {
        "first": "first",
        "second": "yes",
        "control": "no: its weights are random",
        "half": "no: it is not finished",
        "documents": "yes",
        "pairs": "yes",
    }
    cli("-b", path, "use", "--none")
    cli("-b", path, "use", "--none", "first", status=2)
    cli("-b", path.with_name("none.duckdb"), "use", "first", status=1)
    assert not path.with_name("none.duckdb").exists()


def test_a_probe_of_a_control_answers_only_where_it_is_named(tmp_path: Path) -> None:
    probes = GIVEN | {
        "probe": "id,kind,test_run,root_at\n1,attention,1,root\n2,attention,3,root\n",
        "probe_weight": "probe,layer,head,direction\n"
        "1,1,1,dependent_to_head\n2,1,1,dependent_to_head\n",
    }
    with open_bank(make_bank(tmp_path / "bank.duckdb", probes)) as bank:
        assert bank.query("probe_heads")["probe"].to_list() == [1]
        assert bank.query("probe_heads", probe=2)["probe"].to_list() == [2]


def test_a_choice_that_there_is_not_is_an_error_in_sql_too(path: Path) -> None:
    with open_bank(path) as bank:
        statement = "from best_head_held_out(choose := '{}', min_count := 1)"
        bank.sql(statement.format("half"))
        with pytest.raises(QueryError, match=r"choose cannot be third; it is one of half, train"):
            bank.sql(statement.format("third"))
