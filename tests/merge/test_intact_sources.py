"""What is said of a bank that cannot be merged though it is intact: never that it is damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bank_rows import change_bank
from case_bank import make_bank

from attnbank.ingest import merge_banks
from attnbank.ingest.merge.sources import Source, check_rows, source_of
from attnbank.sql.bank.connections import connect_beside
from attnbank.sql.errors import BankError

LOCK = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""
"""Locks a file as DuckDB does where it writes, at once."""


def _check(source: Source, memory: str) -> None:
    with connect_beside(source.reads) as connection, source.attached(connection):
        connection.execute(f"set memory_limit = '{memory}'")
        check_rows(connection, source)


def test_a_bank_that_is_locked_between_two_steps_is_in_use(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "bank.duckdb", {"word": "id\n1\n"})
    source = source_of(0, bank)
    command = [sys.executable, "-S", "-c", LOCK, str(bank)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(BankError) as caught:
            _check(source, "1GB")
        assert "bank.duckdb is locked by another process: python" in caught.value.fact
        assert f"process {other.pid}." in caught.value.fact
        other.communicate(b"")
    _check(source, "1GB")


def test_a_bank_that_does_not_fit_into_memory_is_too_large(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "bank.duckdb", {})
    change_bank(
        bank,
        "insert into sentence (id, document, index, words, empty_nodes, text)"
        " select i, 1, i, 1, 0, concat(i, repeat('x', 50)) from range(2, 100_000) as rows(i)",
        "insert into word (id, sentence, index, form, space_after)"
        " select i, i, 1, concat('w', i), true from range(1, 100_000) as rows(i)",
    )
    with pytest.raises(BankError, match=r"bank.duckdb needs more memory than there is: .* used"):
        _check(source_of(0, bank), "12MB")


def test_a_difference_is_between_the_banks_that_have_the_rows(tmp_path: Path) -> None:
    """Of three shards of the text both have the second; each has a run over another one."""
    banks = []
    for shard, shards, documents in ((1, "1-2", (1, 2)), (2, "2-3", (2, 3))):
        rows = {
            "corpus": f"id,name,sha256,shard\n1,novel,x,{shards}/3\n",
            "run": f"id,name,shard\n1,tiny,{2 * shard - 1}/3\n",
            "document": "id,index,name\n",
            "sentence": "id,document,index,words,text\n",
            "word": "id,sentence\n",
            "sequence": "id,document,sentence,positions\n",
            "position": "sequence,position,word\n",
            "attention": "sequence;layer;head;from_position;weights\n",
            "peak": "sequence,layer,head,position\n",
        }
        for id in documents:
            rows["document"] += f"{id},{id},x\n"
            rows["sentence"] += f"{id},{id},1,1,of {shard}\n"
            rows["word"] += f"{id},{id}\n"
            if id == 2:
                continue
            rows["sequence"] += f"{id},{id},{id},1\n"
            rows["position"] += f"{id},0,{id}\n"
            rows["attention"] += f"{id};1;1;0;[1.0]\n"
            rows["peak"] += f"{id},1,1,0\n"
        banks.append(make_bank(tmp_path / f"s{shard}.duckdb", rows))
    fact = r"Document 2 of the corpus novel differs between \S*s1.duckdb and \S*s2.duckdb\."
    with pytest.raises(BankError, match=fact):
        merge_banks(tmp_path / "out.duckdb", banks, partial=True)
