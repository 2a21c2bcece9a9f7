"""Damaged banks: the same answer as from a whole one, or a word that it is damaged. Never another.

DuckDB has a checksum for every block, so that what accidents do is found out. Where somebody has
put the checksum right again, the figures are theirs; then an answer must still end in words.
"""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
from pathlib import Path

import damage
import duckdb
import pytest
import toy_attention as toy
from forked import Ended, Forked

from attnbank.ingest.store.writer import open_for_changes, open_for_ingest
from attnbank.sql.errors import BankError, bank_error

# Reads in many ways, one after the other, and says how each ended.
ASK = """
import __main__, shutil, sys
def main():
    import attnbank.cli.app as app
    for args in ASKED:
        print("@@", *args, flush=True)
        status = app.run(["-b", "bank.duckdb", *args])
        print("\\n@=", status, flush=True)
    shutil.rmtree("parquet", ignore_errors=True)
    sys.exit(0)
__main__.main = main
"""

ASKED = (
    ("info", "-f", "json"),
    ("schema", "-f", "csv"),
    ("query", "best_head", "-f", "csv"),
    ("query", "entropy", "-f", "csv"),
    ("query", "head_accuracy", "--run", "1", "-f", "csv"),
    ("use", "-f", "csv"),
    ("sql", "select sum(weights[1]) from attention", "-f", "csv"),
    ("export", "parquet", "-q"),
)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small bank."""
    path = tmp_path_factory.mktemp("small") / "small.duckdb"
    return toy.make_bank(path, {"train": 12, "test": 10}).read_bytes()


def ask(forked: Forked, folder: Path, content: bytes) -> tuple[Ended, dict[str, tuple[int, str]]]:
    """Ask a bank of these bytes everything; how the process ended, and status and text of each."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "bank.duckdb").write_bytes(content)
    done = forked.run([], folder, setup=f"ASKED = {ASKED!r}\n{ASK}", seconds=90)
    answers = {}
    for part in done.told.split("@@ ")[1:]:
        name, _, rest = part.partition("\n")
        text, _, status = rest.rpartition("\n@= ")
        if status:
            answers[name] = (int(status), text)
    return done, answers


def _same(text: str, whole: str) -> bool:
    """Whether two answers are the same but for the order in which threads summed a mean."""
    parts = [re.split(r"([,\s|]+)", each) for each in (text, whole)]
    return len(parts[0]) == len(parts[1]) and all(map(_same_cell, *parts))


def _same_cell(one: str, other: str) -> bool:
    if one == other:
        return True
    try:  # 0.5 and 0.5000000000000001: a thousand summands move 3 of 16 digits at most
        return math.isclose(float(one), float(other), rel_tol=1e-12)
    except ValueError:
        return False


def _is_plain(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) <= 2 and "Traceback" not in text and "fault of attnbank" not in text


def test_what_the_system_has_read_and_duckdb_cannot_use_is_damage() -> None:
    """Whatever words DuckDB finds for it; what the system says of a file has another cause."""
    error = duckdb.IOException("IO Error: Metadata block index 225 exceeds metadata block count 64")
    assert "b.duckdb is damaged: Metadata block index 225" in str(
        bank_error(error, Path("b.duckdb"))
    )
    for code in (errno.EMFILE, errno.EIO, errno.ELOOP, errno.EISDIR):
        refused = duckdb.IOException(f'Cannot open file "b.duckdb": {os.strerror(code)}')
        message = str(bank_error(refused, Path("b.duckdb")))
        assert "damaged" not in message and os.strerror(code) in message


def test_what_other_code_raises_is_not_of_the_bank(tmp_path: Path) -> None:
    """An ingest reads corpora and runs models; where only DuckDB runs, it is damage."""
    bank = tmp_path / "bank.duckdb"
    with pytest.raises(UnicodeDecodeError), open_for_ingest(bank):
        b"\xff".decode()
    with pytest.raises(BankError, match="is damaged"), open_for_changes(bank, "nothing was done"):
        b"\xff".decode()
    for opened in (open_for_ingest(bank), open_for_changes(bank, "nothing was done")):
        with pytest.raises(BankError, match=r"bank\.duckdb cannot be used"), opened as connection:
            connection.execute("from nowhere")


@pytest.mark.soak
def test_damaged_by_the_hundred(
    forked: Forked, content: bytes, tmp_path: Path, soak_seed: int
) -> None:
    _check_damaged(forked, content, tmp_path, 1000, seed=soak_seed)


def _check_damaged(forked: Forked, content: bytes, tmp_path: Path, count: int, seed: int) -> None:
    _, whole = ask(forked, tmp_path / "bank", content)
    assert len(whole) == len(ASKED) and all(status == 0 for status, _ in whole.values())
    damaged = 0
    for what, made in damage.damaged(content, count, seed=seed):
        done, answers = ask(forked, tmp_path / "bank", made)
        assert done.status == 0, (what, done)
        for name, (status, text) in answers.items():
            if status == 0:
                assert _same(text, whole[name][1]), (what, name, text)
            else:
                assert _is_plain(text), (what, name, text)
                words = ("is damaged", "is not a bank", "no bank", "does not say which format")
                assert any(word in text for word in words), (what, name, text)
                damaged += 1
    assert damaged


@pytest.mark.soak
def test_checksums_are_put_right_by_the_hundred(
    forked: Forked, content: bytes, tmp_path: Path, soak_seed: int
) -> None:
    _check_sealed(forked, content, tmp_path, 1000, seed=soak_seed)


def _check_sealed(forked: Forked, content: bytes, tmp_path: Path, count: int, seed: int) -> None:
    for what, made in damage.sealed(content, count, seed=seed):
        done, answers = ask(forked, tmp_path / "bank", made)
        assert done.status == 0, (what, done)
        assert len(answers) == len(ASKED), what
        for name, (status, text) in answers.items():
            assert status == 0 or _is_plain(text), (what, name, text)
