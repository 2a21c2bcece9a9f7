"""A run or a corpus that the bank does not have: every command and call says the same two lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from case_bank import make_bank
from command_line import Cli

from attnbank.cli.viewer.in_browser import compiled
from attnbank.ingest import add_run, annotate
from attnbank.ingest.store.deleting import delete
from attnbank.ingest.store.saved import forget
from attnbank.queries import Bank, open_bank
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.run_choice import find_corpus, find_run

NAMES = "Did you mean news/bert? It has: news/bert, blogs/bert."
CORPORA = "Did you mean news? It has: news, blogs."
GIVEN = {
    "model": "id,name,layers,heads\n1,bert,2,2\n2,bart,2,2\n",
    "corpus": "id,name\n1,news\n2,blogs\n",
    "run": "id,name,corpus,finished\n1,news/bert,1,2020-01-01\n2,blogs/bert,2,2020-01-01\n",
    "document": "id,corpus,index,name\n1,1,1,a\n",
    "sentence": "id,document,index,name,words\n1,1,1,s1,2\n",
    "word": ("id,sentence,index,form,deprel,head_index\n1,1,1,Dogs,nsubj,2\n2,1,2,bark,root,0\n"),
}
ATTENDS = "pattern { A =[1-1]=> B }"
PLAIN = "pattern { V -[nsubj]-> N }"

COMMANDS = {
    "query": ("query", "best_head", "--run", "new/bert"),
    "query of two runs": ("query", "compare_runs", "--run-a", "new/bert"),
    "query of two runs, the second": ("query", "compare_runs", "--run-b", "new/bert"),
    "query beside another run": ("query", "special_tokens_by_measure", "--norms-run", "new/bert"),
    "plot": ("plot", "best_head", "--run", "new/bert", "-o", "best.svg"),
    "report": ("report", "-o", "report.html", "--run", "new/bert"),
    "find": ("find", ATTENDS, "--run", "new/bert"),
    "count": ("count", ATTENDS, "--run", "new/bert"),
    "score": ("score", PLAIN, "--from", "N", "--to", "V", "--run", "new/bert"),
    "save": ("save", "attended", ATTENDS, "--from", "A", "--to", "B", "--run", "new/bert"),
    "show": ("show", "s1", "--head", "1-1", "--run", "new/bert"),
    "show a request": ("show", ATTENDS, "--head", "1-1", "--run", "new/bert"),
    "use": ("use", "new/bert"),
    "delete": ("delete", "new/bert", "--yes"),
    "delete --dry-run": ("delete", "new/bert", "--dry-run"),
    "export": ("export", "parquet", "--run", "new/bert"),
    "publish": ("publish", "site", "--run", "new/bert"),
    "compute": ("compute", "head_distance", "--run", "new/bert"),
    "compute trees": ("compute", "tree_ensemble", "--run", "new/bert"),
    "keep an answer": ("compute", "best_head", "--run", "new/bert"),
    "probe, trained": ("probe", "attention", "--train-run", "new/bert", "--test-run", "1"),
    "probe, scored": ("probe", "right_branching", "--test-run", "new/bert"),
    "surprisal": ("surprisal", "new/bert"),
    "ablate": ("ablate", "some", "--heads", "1-1", "--run", "new/bert"),
}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bank(tmp_path_factory.mktemp("lookup") / "bank.duckdb", GIVEN)


@pytest.mark.usual(5)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_command_says_the_same_of_an_unknown_run(
    bank: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    cli: Cli,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    error = cli("-b", bank, *command, status=2).err
    assert error == f"Error: There is no run new/bert in {bank}.\n{NAMES}\n"


CALLS: dict[str, Callable[[Path, Bank], object]] = {
    "table": lambda path, bank: bank.table("sequence", run="new/bert"),
    "query": lambda path, bank: bank.query("best_head", run="new/bert"),
}
OF_CORPORA: dict[str, Callable[[Path, Bank], object]] = {
    "annotate": lambda path, bank: annotate(path, path.with_name("words.csv"), corpus="new"),
    "find": lambda path, bank: bank.find(PLAIN, corpus="new"),
    "show": lambda path, bank: bank.show("s1", head="1-1", corpus="new"),
    "show a request": lambda path, bank: bank.show(PLAIN, head="1-1", corpus="new"),
    "delete": lambda path, bank: delete(path, corpora=["new"]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_say_the_same_of_an_unknown_run(
    bank: Path, call: Callable[[Path, Bank], object]
) -> None:
    with open_bank(bank) as opened, pytest.raises(CallError) as caught:
        call(bank, opened)
    assert (caught.value.fact, caught.value.remedy) == (
        f"There is no run new/bert in {bank}.",
        NAMES,
    )


@pytest.mark.usual("annotate", "find", "delete")
@pytest.mark.parametrize("call", OF_CORPORA.values(), ids=OF_CORPORA)
def test_calls_say_the_same_of_an_unknown_corpus(
    bank: Path, call: Callable[[Path, Bank], object]
) -> None:
    bank.with_name("words.csv").write_text("sent_id,index,rt\ns1,1,300\n")
    with open_bank(bank) as opened, pytest.raises(CallError) as caught:
        call(bank, opened)
    assert (caught.value.fact, caught.value.remedy) == (
        f"There is no corpus new in {bank}.",
        CORPORA,
    )


def test_what_else_a_bank_may_lack(bank: Path) -> None:
    with pytest.raises(CallError) as caught:
        delete(bank, models=["berd"])
    assert caught.value.fact == f"There is no model berd in {bank}."
    assert caught.value.remedy == "Did you mean bert? It has: bert, bart."
    with pytest.raises(CallError) as caught:
        forget(bank, "agents")
    assert str(caught.value) == f"There is no saved relation agents in {bank}.\nIt has none."
    with pytest.raises(CallError) as caught, add_run(bank, "new", "mine", layers=1, heads=1):
        pass
    assert caught.value.fact == f"There is no corpus new in {bank}."
    assert caught.value.remedy.startswith(f"{CORPORA} Write its text first: attnbank ingest ")


def test_a_name_comes_before_an_id(tmp_path: Path) -> None:
    runs = "id,name,corpus\n1,2,1\n2,old,1\n3,1,1\n"
    bank = make_bank(tmp_path / "ids.duckdb", GIVEN | {"run": runs})
    with open_to_read(bank) as connection:
        assert find_run(connection, bank, 2) == find_run(connection, bank, "2") == (1, "2")
        assert find_run(connection, bank, "1") == (3, "1")
        assert find_run(connection, bank, "3") == (3, "1")
        assert find_corpus(connection, bank, "blogs") == (2, "blogs")
        with pytest.raises(CallError, match="There is no corpus 2 in"):
            find_corpus(connection, bank, "2")  # a corpus is found by its name alone
        # SQL takes the same run, though the one with the id is newer.
        for named in ("2", "1", "3"):
            chosen = connection.execute("select id from chosen_run(requested := $1)", [named])
            assert chosen.fetchall() == [(find_run(connection, bank, named)[0],)]


def test_a_run_whose_name_is_an_id_is_not_replaced_by_that_run(tmp_path: Path) -> None:
    """The run called 2 has no trees: another run with this id must not answer for it."""
    runs = "id,name,corpus,finished\n1,2,2,2020-01-01\n2,new,1,2020-01-01\n"
    bank = make_bank(tmp_path / "ids.duckdb", GIVEN | {"run": runs})
    with open_bank(bank) as opened:
        with pytest.raises(CallError, match="best_head cannot read the run 2: its corpus has no"):
            opened.query("best_head", run="2")
        with pytest.raises(QueryError, match="The run 2 cannot answer this"):
            opened.sql("from best_head(run := '2')")
        assert opened.run_of("best_head", run="new") == opened.run_of("best_head")


def test_a_published_page_says_the_same(bank: Path) -> None:
    runs = [{"id": 1, "name": "news/bert"}, {"id": 2, "name": "blogs/bert"}]
    options = {"bank": "bank", "request": ATTENDS, "run": "new/bert", "runs": runs}
    error = json.loads(compiled(json.dumps(options)))["error"]
    assert error == {"fact": "There is no run new/bert in bank.", "remedy": NAMES}
