"""The tab key: what follows on a command line, quickly, and never with a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from case_bank import make_bank
from click.testing import CliRunner

from attnbank.cli.app import app
from attnbank.cli.options import suggestions
from attnbank.sql.registry import analyses

GIVEN = {
    "corpus": "id,name\n1,news\n",
    "run": "id,name\n1,news/bert\n2,news/bert/document\n3,blogs/gpt2\n",
    "sentence": "id,document,index,words\n1,1,1,4\n",
    "word": """
id,sentence,index,form,head_index,deprel
1,1,1,Dogs,2,nsubj
2,1,2,chase,0,root
3,1,3,my,4,nmod:poss
4,1,4,cat,2,obj
""",
}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bank(tmp_path_factory.mktemp("completion") / "x.duckdb", GIVEN)


def _completed(*words: str, bank: str | Path = "") -> list[str]:
    """What the shell is told can stand for the last word: kind,name a line."""
    env = {
        "_ATTNBANK_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["attnbank", *words]),
        "COMP_CWORD": str(len(words)),
        "ATTNBANK": str(bank),
    }
    done = CliRunner().invoke(app, [], prog_name="attnbank", env=env)
    assert not done.stderr, done.stderr
    assert done.exit_code == 0
    return [line for line in done.stdout.split("\n") if line]


def _plain(*words: str, bank: str | Path = "") -> list[str]:
    found = [each.partition(",") for each in _completed(*words, bank=bank)]
    assert {kind for kind, _, _ in found} <= {"plain"}
    return [name for _, _, name in found]


def test_runs(bank: Path) -> None:
    every = ["blogs/gpt2", "news/bert/document", "news/bert"]
    assert _plain("query", "best_head", "--run", "", bank=bank) == every
    assert _plain("-b", str(bank), "query", "best_head", "--run", "news") == every[1:]
    assert _plain("compute", "head_distance", "-b", str(bank), "--run", "b") == every[:1]
    assert _plain("annotate", "x.csv", "--corpus", "", bank=bank) == ["news"]
    for command in (["export", "--run"], ["probe", "--train-run"], ["probe", "--test-run"]):
        assert _plain(*command, "", bank=bank) == every


def test_relations_tables_and_values(bank: Path) -> None:
    found = _plain("query", "best_head", "--relation", "", bank=bank)
    assert found == ["all", "nmod", "nmod:poss", "nsubj", "obj"]
    assert _plain("query", "best_head", "--relation", "n", bank=bank) == found[1:4]
    tables = _plain("schema", "", bank=bank)
    assert {"word", "dependency", "paper.table_1", "best_head"} <= set(tables)
    attention = [f"attention{part}" for part in ("", "_map", "_span", "_top", "_tree", "_weight")]
    assert _plain("schema", "atten", bank=bank)[:6] == attention
    assert _plain("query", "best_head_held_out", "--choose", "") == ["half", "train"]
    assert _plain("info", "-f", "l") == ["latex"]


def test_commands_and_analyses() -> None:
    assert _plain("qu") == ["queries", "query"]
    assert set(_plain("query", "")) == set(analyses())
    assert "--relation" in _plain("query", "best_head", "--rel")


def test_files_are_left_to_the_shell(tmp_path: Path) -> None:
    assert _completed("-b", "x") == ["file,x"]
    assert _completed("info", "-o", "y") == ["file,y"]
    assert _completed("ingest", "gum") == ["file,gum"]
    assert _completed("annotate", "times") == ["file,times"]
    assert _completed("ingest", "--model", "mini") == ["plain,minilm", "dir,mini"]


def test_where_there_is_nothing_to_say_nothing_is_said(bank: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.duckdb"
    (tmp_path / "text.duckdb").write_text("no database")
    duckdb.connect(str(tmp_path / "other.duckdb")).close()
    for path in (missing, tmp_path, tmp_path / "text.duckdb", tmp_path / "other.duckdb"):
        assert _plain("query", "best_head", "--run", "", bank=path) == []
        assert _plain("query", "best_head", "--relation", "", bank=path) == []
        assert "best_head" in _plain("schema", "", bank=path)
    assert not missing.exists()
    for words in (["nonsense", ""], ["query", "nonsense", "--run", ""], ["--version", ""],
                  ["query", "best_head", "--min-count", "many", "--run", ""]):  # fmt: skip
        _completed(*words)


def test_a_bank_that_is_being_filled_has_nothing_to_say(bank: Path, tmp_path: Path) -> None:
    path = tmp_path / "held.duckdb"
    shutil.copy(bank, path)
    assert _plain("query", "best_head", "--run", "b", bank=path) == ["blogs/gpt2"]
    with duckdb.connect(str(path)):
        assert _plain("query", "best_head", "--run", "", bank=path) == []


def test_names_that_are_no_names_are_left_out(tmp_path: Path) -> None:
    path = make_bank(tmp_path / "x.duckdb", {"run": "id,name\n1,good\n"})
    with duckdb.connect(str(path)) as connection:
        connection.execute("insert into run by name select 2 as id, 'a' || chr(10) || 'file,b' as"
                           " name, * exclude (id, name) from run where id = 1")  # fmt: skip
    assert suggestions(path, "run") == ["good"]


@pytest.mark.slow
def test_it_is_quick(sample_bank: Path) -> None:
    """As quick as the help is, but for the bank: within a second, on a slow machine in three."""
    _plain("query", "best_head", "--relation", "", bank=sample_bank)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        assert "obj" in _plain("query", "best_head", "--relation", "", bank=sample_bank)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 3, seconds


def test_bash_completes(bank: Path, tmp_path: Path) -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("bash is not installed")
    program = tmp_path / "attnbank"
    program.write_text(f"#!{sys.executable}\nfrom attnbank.cli import main\nmain()\n")
    program.chmod(0o755)
    script = f"""
        eval "$(_ATTNBANK_COMPLETE=bash_source attnbank)"
        COMP_WORDS=(attnbank -b {bank} query best_head --run news)
        COMP_CWORD=6
        _attnbank_completion attnbank
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        [shell, "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": ":".join(sys.path)},
    )
    if "not supported for" in done.stderr.lower() or "4.4" in done.stderr:
        pytest.skip("this bash is older than 4.4")
    assert done.stdout.split() == ["news/bert/document", "news/bert"], done.stderr
