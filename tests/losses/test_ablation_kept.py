"""Ablations that are stopped, or meet another of their name: what is kept of them is whole."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from command_line import Cli
from crashes import COUNT, stop_before, take_count
from fixture_types import Models
from forked import Forked

from attnbank.ingest import merge_banks

TABLES = (
    "surprisal", "ablation_set", "ablated_head", "ablated_surprisal", "minimal_pair",
    "ablated_pair",
)  # fmt: skip
PAIRS = "good\tbad\nThe dogs bark.\tThe dogs barks.\nShe saw him.\tShe saw he.\n"
AGREEMENT = """\
# sent_id = one
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\t_\tNumber=Sing\t3\tnsubj\t_\t_
3\tis\tbe\tVERB\t_\tMood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin\t0\troot\t_\t_
4\there\there\tADV\t_\t_\t3\tadvmod\t_\t_

# sent_id = two
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tdogs\tdog\tNOUN\t_\tNumber=Plur\t3\tnsubj\t_\t_
3\tare\tbe\tVERB\t_\tMood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin\t0\troot\t_\t_
4\there\there\tADV\t_\t_\t3\tadvmod\t_\t_

"""
OFTEN = "from attnbank.ingest.store import pipeline\npipeline.SECONDS_AT_ONCE = 0\n"
"""Each batch is committed by itself, so that there are many places to stop at."""
COMMAND = [
    "-b", "bank.duckdb", "ablate", "two", "--heads", "1-2", "--heads", "2-1,3-4", "--controls", "2",
    "--with", "mean", "--agreement", "--pairs", "pairs.tsv", "--batch-tokens", "64", "--model",
    "model",
]  # fmt: skip
SHARES = (0.2, 0.5, 0.9)
"""Where in its statements the command is stopped, of all of them."""

Rows = dict[str, list[tuple[Any, ...]]]


def _rows(bank: Path) -> Rows:
    """All that was measured, but for the times."""
    return {
        table: query_bank(
            bank,
            f"select columns(lambda each: each not in ('started', 'finished')) from {table}"
            " order by all",
        )
        for table in TABLES
    }


@pytest.fixture(scope="module")
def ready(
    tiny_causal_lm: Models,
    bank_of: BankFactory,
    few: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder of a bank of a run over a few sentences, its model, and a file of pairs."""
    folder = tmp_path_factory.mktemp("ready")
    corpus = Path(shutil.copytree(few, folder / "corpus"))
    (corpus / "agreement.conllu").write_text(AGREEMENT, encoding="utf-8")
    shutil.copy(bank_of(corpus, tiny_causal_lm("gpt2")), folder / "bank.duckdb")
    shutil.copytree(tiny_causal_lm("gpt2"), folder / "model")
    (folder / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def whole(
    ready: Path, forked: Forked, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Rows, int]:
    """What the command writes that nothing stops, and with how many statements."""
    folder = Path(shutil.copytree(ready, tmp_path_factory.mktemp("whole") / "copy"))
    ended = forked.run(COMMAND, folder, setup=OFTEN + COUNT)
    assert ended.status == 0, ended.told
    return _rows(folder / "bank.duckdb"), take_count(folder)


@pytest.fixture
def copy(ready: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ready, tmp_path / "copy"))


@pytest.fixture
def measured(copy: Path, forked: Forked) -> Path:
    """A bank with an ablation."""
    assert forked.run([*COMMAND, "-q"], copy).status == 0
    return copy / "bank.duckdb"


def _check_whole_inputs(bank: Path) -> int:
    """Each set has the words of the whole model or fewer, all sets the same; how many."""
    by_set = query_bank(
        bank, "select number, list(word order by word) from ablated_surprisal group by number"
    )
    assert len({str(words) for _, words in by_set}) <= 1 and len(by_set) in (0, 6)
    words = set(by_set[0][1]) if by_set else set()
    assert words <= {word for (word,) in query_bank(bank, "select word from surprisal")}
    torn = query_bank(
        bank,
        "select sequence.id from sequence inner join position on position.sequence = sequence.id"
        " left join surprisal on surprisal.word = position.word where position.word is not null"
        " group by sequence.id having count(surprisal.word) not in (0, count(*))",
    )
    assert torn == []
    return len(words)


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_interrupted_it_keeps_whole_inputs_and_says_so(
    share: float, copy: Path, whole: tuple[Rows, int], forked: Forked
) -> None:
    """Batches are the same, and are committed whole: it ends the same to the last digit."""
    bank, (rows, statements) = copy / "bank.duckdb", whole
    setup = OFTEN + stop_before(round(statements * share), signal.SIGINT)
    done = forked.run([*COMMAND, "-q"], copy, setup=setup)
    assert done.status == 1 and done.told.count("\n") <= 2, done.told
    assert "Interrupted; " in done.told and "Run the same command to resume." in done.told
    words = _check_whole_inputs(bank)
    assert f"Interrupted; {f'{words:,} words are saved' if words else 'no batch'}" in done.told
    assert words or share < max(SHARES)
    again = forked.run([*COMMAND, "-q"], copy, setup=OFTEN)
    assert again.status == 0, again.told
    resumed = _rows(bank)
    for table in TABLES:
        assert resumed[table] == rows[table] != [], table
    assert query_bank(bank, "from ablation_set where finished is null") == []


@pytest.mark.slow
def test_what_is_replaced_is_kept_until_it_can_be_measured(
    measured: Path, copy: Path, forked: Forked, tmp_path: Path
) -> None:
    before = _rows(measured)
    for flags in (["--model", str(tmp_path / "none")], ["--heads", "9-9"], ["--pairs", "none.tsv"]):
        done = forked.run([*COMMAND, "--replace", "-q", *flags], copy)
        assert done.status in (1, 2) and done.told.startswith("Error: "), done.told
        assert _rows(measured) == before
    (copy / "pairs.tsv").write_text("good\tbad\nOther text.\tOther texts.\n", encoding="utf-8")
    done = forked.run([*COMMAND, "--replace", "-q"], copy)
    assert done.status == 2 and "other pairs called pairs.tsv" in done.told
    assert _rows(measured) == before


@pytest.mark.slow
def test_merged_with_another_of_its_name_it_stays_whole(
    measured: Path, ready: Path, tmp_path: Path, cli: Cli
) -> None:
    """Of two ablations of a name the first is taken, all of it and nothing of the second."""
    other = Path(shutil.copy(ready / "bank.duckdb", tmp_path / "other.duckdb"))
    flags = ["--heads", "3-3", "--controls", "0", "-q", "--model", str(ready / "model")]
    cli("-b", other, "ablate", "two", *flags)
    cli("-b", other, "ablate", "own", *flags)
    (note,) = merge_banks(tmp_path / "merged.duckdb", [measured, other]).notes
    assert "The ablation two of" in note and "another one of that name, or less of it" in note
    result, first = _rows(tmp_path / "merged.duckdb"), _rows(measured)
    for table in ("ablation_set", "ablated_head", "ablated_surprisal", "ablated_pair"):
        assert [row for row in result[table] if row[1] == "two"] == first[table], table
    assert any(row[1] == "own" for row in result["ablated_surprisal"])
    begun = Path(shutil.copy(measured, tmp_path / "begun.duckdb"))
    change_bank(begun, "delete from ablated_surprisal")
    (note,) = merge_banks(tmp_path / "d.duckdb", [begun, measured]).notes
    assert "or less of it" in note
    assert _rows(tmp_path / "d.duckdb")["ablated_surprisal"] == []
