"""A bank that somebody else made can hold anything, and whatever is called a bank can be anything.

No file but the bank is read, nothing is written, no extension is looked for, and what is not a bank
is refused in two lines.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import hostile
import pytest
from bank_rows import change_bank
from case_bank import make_bank
from command_line import Cli
from hostile import Refused

from attnbank.cli.app import run_command_line
from attnbank.queries import open_bank
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.names import quoted

SECRET = "the text of a file that is nobody's business"
WORDS = {
    "sentence": "id,document,name,index,text\n1,1,s1,1,Rain fell\n",
    "word": "id,sentence,index,form,upos,head_index,deprel\n1,1,1,Rain,NOUN,2,nsubj\n"
    "2,1,2,fell,VERB,0,root\n",
}
READING = (
    ("info",),
    ("info", "-f", "json"),
    ("schema",),
    ("query", "best_head"),
    ("query", "gold_dependency"),
    ("sql", "select count(*) from word"),
    ("use",),
    ("export", "out"),
    ("delete", "1", "--dry-run"),
)
WRITING = (
    ("ingest", "rain.conllu", "--model", "minilm"),
    ("compute", "head_distance"),
    ("probe", "attention", "--train-run", "1", "--test-run", "1"),
    ("use", "1"),
    ("upgrade",),
    ("delete", "1"),
)


def of_them(commands: Sequence[tuple[str, ...]], turn: int) -> Sequence[tuple[str, ...]]:
    """Three of the commands: with as many turns as a third of them, all have been asked."""
    return [commands[(3 * turn + at) % len(commands)] for at in range(3)]


@cache
def _small() -> bytes:
    with TemporaryDirectory() as folder:
        return make_bank(Path(folder, "small.duckdb"), WORDS).read_bytes()


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small bank in a folder with a corpus and a secret file, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    Path("home").mkdir()
    Path("secret.csv").write_text(SECRET)
    Path("rain.conllu").write_text(hostile.RAIN)
    path = tmp_path / "x.duckdb"
    path.write_bytes(_small())
    return path


def _changed(bank: Path, *statements: str) -> None:
    with duckdb.connect(str(bank)) as connection:
        for statement in statements:
            connection.execute(statement)


def _replaced_by(bank: Path, table: str, select: str) -> None:
    """Put a view of a SELECT in the place of a table, and all that hangs on the table with it."""
    change_bank(
        bank,
        f"alter table {quoted(table)} rename to was",
        f"create view {quoted(table)} as {select}",
    )


def _answer(bank: Path, command: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> str:
    """All that a command prints, which ends in two lines where it fails."""
    capfd.readouterr()
    status = run_command_line(["-b", str(bank), *command])
    printed = capfd.readouterr()
    if status:
        hostile.check_lines([line for line in printed.err.splitlines() if line[:8] != "Warning:"])
    return printed.out + printed.err


# What is called a bank and is none.

NO_BANKS: dict[str, Callable[[Path], object]] = {
    "a text": lambda path: path.write_text("no database at all\n" * 100),
    "a few bytes": lambda path: path.write_bytes(b"DUCK"),
    "zeros": lambda path: path.write_bytes(bytes(20_000)),
    "the beginning of a bank": lambda path: path.write_bytes(_small()[:9000]),
    "a folder": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
    "a device": lambda path: path.symlink_to("/dev/null"),
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a circle of links": lambda path: path.symlink_to(path.name),
    "a link to a folder": lambda path: path.symlink_to(path.parent / "home"),
    "below a file": lambda path: None,
    "an SQLite file": lambda path: _sqlite(path),
    "an encrypted file": lambda path: _encrypted(path),
    "another DuckDB file": lambda path: _other(path, "create table t as select 1"),
    "views alone": lambda path: _other(path, "create view bank as select 1 as format"),
    "a macro alone": lambda path: _other(path, "create macro f() as 1"),
    "a bank that is a view": lambda path: _other(
        path, "create view bank as select 2 as format, 'x' as created_by, 'x' as analyses"
    ),
    "a bank of other columns": lambda path: _other(path, "create table bank (format varchar)"),
    "a format that is null": lambda path: _other(
        path, "create table bank as select cast(null as integer) as format, 'x' as created_by"
    ),
    "a format of the future": lambda path: _other(
        path, "create table bank as select 99 as format, 'x' as created_by, 'x' as analyses"
    ),
    "two formats": lambda path: _other(
        path,
        "create table bank as select range::integer as format, 'x' as created_by from range(2)",
    ),
    "no tables but bank": lambda path: _other(
        path, "create table bank as select 2 as format, 'x' as created_by, 'x' as analyses"
    ),
}


def _sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table bank (format integer)")


def _encrypted(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("set force_mbedtls_unsafe = true")
        connection.execute(f"attach '{path}' as e (encryption_key 'key')")
        connection.execute("create table e.bank as select 1 as format")


def _other(path: Path, statement: str) -> None:
    change_bank(path, statement)


@pytest.mark.usual(15)
@pytest.mark.few(4)
@pytest.mark.parametrize("command", [*READING, *WRITING], ids=" ".join)
@pytest.mark.parametrize("what", NO_BANKS)
def test_what_is_no_bank_is_refused(
    what: str, command: tuple[str, ...], bank: Path, refused: Refused
) -> None:
    bank.unlink()
    NO_BANKS[what](bank)
    named = Path("secret.csv", "x.duckdb") if what == "below a file" else bank
    was = bank.lstat() if bank.is_symlink() or bank.exists() else None
    with hostile.nothing_made(bank.parent):
        error = refused("-b", named, *command)
    assert what != "an encrypted file" or "is encrypted" in error
    if was is not None:
        assert (bank.lstat().st_ino, bank.lstat().st_mode) == (was.st_ino, was.st_mode)


NO_PATHS = (
    "", ":memory:", ":memory:x", "md:x", "motherduck:x", "ducklake:x.ducklake",
    "postgres:dbname=x", "postgres://host/x", "mysql:x", "sqlite:x.db", "s3://bucket/x.duckdb",
    "https://example.org/x.duckdb", "hf://datasets/x", "file:x.duckdb", "n\udcff.duckdb",
    "a?b.duckdb",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "command"),
    [
        pytest.param(name, (READING[0], READING[5], WRITING[0], WRITING[4])[at % 4], id=ascii(name))
        for at, name in enumerate(NO_PATHS)
    ],
)
def test_a_name_that_is_no_path_is_refused(
    name: str, command: tuple[str, ...], bank: Path, refused: Refused
) -> None:
    with hostile.nothing_made(bank.parent):
        refused("-b", name, *command)


@pytest.mark.slow
def test_a_path_below_home_is_found_there(bank: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.move(bank, Path("home", "y.duckdb"))
    for command in READING[:6]:
        assert run_command_line(["-b", "~/y.duckdb", *command]) == 0, capfd.readouterr().err
    assert not Path("~").exists()
    with open_bank("~/y.duckdb") as opened:
        assert opened.sql("select count(*) as n from word")["n"].item() == 2


@pytest.mark.usual("*-b it*")
@pytest.mark.parametrize(
    "name",
    ["-b.duckdb", "-b it's \"one\";--c.duckdb", "x\ny.duckdb", "été.duckdb", "a*[b].duckdb",
     "x.duckdb' (read_only) --", "$HOME.duckdb"],
    ids=ascii,
)  # fmt: skip
def test_a_bank_of_any_name_is_read_and_written(
    name: str, bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bank.rename(name)
    before = {path.name for path in Path().iterdir()}
    for command in (READING[0], READING[5], ("use", "1")):
        assert run_command_line(["-b", name, *command]) == 0, (command, capfd.readouterr().err)
        printed = capfd.readouterr()
        assert "x\ny.duckdb" not in printed.out + printed.err
    assert {path.name for path in Path().iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("what", ["an empty file", "a link to one", "a database without tables"])
def test_a_file_with_nothing_in_it_becomes_a_bank(
    what: str, bank: Path, refused: Refused, cli: Cli
) -> None:
    """Such a database is what a process leaves in which DuckDB was killed."""
    bank.unlink()
    target = Path("target.duckdb") if what == "a link to one" else bank
    if what == "a database without tables":
        duckdb.connect(str(target)).close()
    else:
        target.touch()
    if target != bank:
        bank.symlink_to(target)
    content = target.read_bytes()
    for command in [*READING, *WRITING[1:]]:
        refused("-b", bank, *command)
        assert target.read_bytes() == content
    open_to_write(bank, "test").close()
    cli("-b", bank, "info")
    assert bank.is_symlink() == (target != bank) and target.stat().st_size
    assert {path.name for path in Path().iterdir()} == {
        "home", "secret.csv", "rain.conllu", bank.name, target.name,
    }  # fmt: skip


# Banks whose tables, names and statements are not what they seem.


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", ["model", "run", "corpus", "word", "peak", "attention", "skipped", "preferred_run"]
)
def test_a_view_in_the_place_of_a_table_is_refused(
    table: str, bank: Path, refused: Refused
) -> None:
    _replaced_by(bank, table, "select content as name, 1 as id from read_text('secret.csv')")
    for command in [*READING, *WRITING]:
        assert SECRET not in refused("-b", bank, *command)


CHANGES = (
    "alter table run drop column unit",
    "drop table mention",
    "alter table model alter column name set data type blob",
    "alter table word rename column form to from_",
    "alter table attention rename to was",
)


@pytest.mark.usual("alter table run *", "drop *")
@pytest.mark.parametrize("change", CHANGES)
def test_a_table_of_another_shape_is_refused(change: str, bank: Path, refused: Refused) -> None:
    _changed(bank, "drop schema paper cascade")
    with duckdb.connect(str(bank)) as connection:
        views = connection.execute("select view_name from duckdb_views() where not internal")
        for (name,) in views.fetchall():
            connection.execute(f"drop view {quoted(name)}")
    try:
        _changed(bank, change)
    except duckdb.Error as error:
        pytest.skip(f"DuckDB does not allow it: {error}")
    at = CHANGES.index(change)
    for command in [*of_them(READING, at + 2), WRITING[at % 2]]:
        message = refused("-b", bank, *command)
        assert (
            "does not have the tables of" in message and "ingest again into a new file" in message
        )


NAMES = (
    "my table",
    "select",
    'a"b',
    "it's",
    "bank limit 0; copy (select 1) to 'stolen.csv'; select * from bank",
    "x' as t, (select content from read_text('secret.csv')) --",
    "x\" union all select content, 1 from read_text('secret.csv') --",
    "../../stolen",
    "/stolen",
    "run=1",
    "CON",
    "a" * 200,
    "\x1b]0;title\x07\x1b[31m",
    "été",
    "$(touch stolen)",
    "%s {0} {name}",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.few("*touch*", "*union*", "*limit 0*", "*stolen*", "*title*", "*my table*")
def test_a_table_of_any_name_is_only_a_name(
    name: str, bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _changed(
        bank,
        f"create table {quoted(name)} (run integer, sequence integer, {quoted(name)} varchar)",
        f"insert into {quoted(name)} values (1, 1, 'a')",
    )
    for command in of_them(READING, NAMES.index(name)):
        printed = _answer(bank, command, capfd)
        assert SECRET not in printed and "\x1b" not in printed and "Error" not in printed, (
            command,
            printed,
        )
    assert run_command_line(["-b", str(bank), "sql", f"select * from {quoted(name)}"]) == 0
    assert run_command_line(["-b", str(bank), "delete", "1"]) == 0, capfd.readouterr().err
    with open_bank(bank) as opened:
        assert opened.table(name).collect().height == 0
    assert {path.name for path in Path().iterdir()} == {
        "home", "secret.csv", "rain.conllu", "x.duckdb",
        *(["out"] if ("export", "out") in of_them(READING, NAMES.index(name)) else []),
    }  # fmt: skip
    assert not any("stolen" in path.name and path.suffix == ".csv" for path in Path().rglob("*"))


SOURCES = (
    "read_text('secret.csv')", "read_csv('secret.csv')", "'secret.csv'", "glob('*')",
    "query_table('secret.csv')",
)  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.usual("read_text*best_head*")
@pytest.mark.parametrize(
    "macro",
    [
        "best_head(relation := null, min_count := 1, subtypes := false, run := '') as table",
        "how_to_make(wanted, input_context, has_runs, lacks_weights) as table",
        "chosen_run(requested := null) as table",
        "run_candidate() as table",
    ],
)
@pytest.mark.parametrize("source", SOURCES)
def test_a_macro_of_a_bank_reads_no_file(
    macro: str, source: str, bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """DuckDB binds it when it is made: so it is made where the file is, and given away."""
    try:
        _changed(bank, f"create or replace macro {macro} from {source}")
    except duckdb.Error:  # without a network there is no such macro, but there may be this one
        _changed(bank, f"create or replace macro {macro} from query($$from {source}$$)")
    # Each macro is asked by every command, in three of its five sources.
    for command in of_them(READING, SOURCES.index(source)):
        printed = _answer(bank, command, capfd)
        assert SECRET not in printed, (command, printed)


@pytest.mark.slow
@pytest.mark.parametrize("view", ["dependency", "head", "attention_weight"])
def test_a_view_of_a_bank_reads_no_file(
    view: str, bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _changed(bank, f"create or replace view {view} as select * from read_text('secret.csv')")
    for command in [*READING, ("sql", f"from {view}"), ("query", "head_accuracy")]:
        assert SECRET not in _answer(bank, command, capfd)
    with open_bank(bank) as opened, pytest.raises(duckdb.Error):
        opened.connection.execute(f"from {view}").fetchall()


# Names that a terminal would obey.

CONTROL = "\x1b[31mred\x1b]0;title\x07 \r\n\x08\x9b2J\u202e\x00"


FIELDS = (
    "run.name", "word.deprel", "skipped.reason", "corpus.name", "model.name", "model.architecture",
    "corpus.path", "bank.created_by", "word.form", "run_part.device",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.few("skipped*", "corpus.*", "word.form", "run.name", "bank.*")
def test_control_characters_of_a_bank_reach_no_terminal(
    field: str, bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table, column = field.split(".")
    text = "".join(f"chr({ord(each)}) || " for each in CONTROL if each != "\x00") + "'x'"
    _changed(bank, f"update {table} set {column} = {text}" if table != "skipped" else
             "insert into skipped by name select 1 as corpus, 1 as run, "
             f"{text} as reason, 'x' as detail, 's' as name")  # fmt: skip
    more = (
        ("query", "best_head", "--run", "none"),
        ("query", "head_accuracy", "--relation", "none"),
        ("compute", "head_distance", "--run", "none"),
        ("compute", "head_distance"),
        ("delete", "none"),
        ("delete", "--model", "none"),
        ("use", "none"),
        ("schema", "none"),
        ("export", "other", "--run", "none"),
        ("sql", "from run"),
        ("sql", "from word", "-f", "markdown"),
    )
    at = FIELDS.index(field)
    for command in [*of_them(READING, at), *of_them(more, at), *of_them(more, at + 1)]:
        printed = _answer(bank, command, capfd)
        if command[-1] == "json":
            printed = printed.replace("\u202e", "").replace("\x9b", "")
        assert not [each for each in printed if each != "\n" and not each.isprintable()], command


@pytest.mark.parametrize("command", [
    ("info",), ("query", "best_head"), ("export", "out"), ("upgrade",),
    ("ingest", "none.conllu"), ("delete", "1"),
], ids=" ".join)  # fmt: skip
def test_control_characters_of_a_path_reach_no_terminal(
    command: tuple[str, ...], bank: Path, refused: Refused
) -> None:
    error = refused("-b", "\x1b[31mred\n.duckdb", *command)
    assert "\x1b" not in error


@pytest.mark.usual("table", "csv", "json")
@pytest.mark.parametrize("format_", ["table", "csv", "tsv", "json", "jsonl", "markdown", "latex"])
def test_control_characters_of_a_result_reach_no_terminal(
    format_: str, bank: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """A terminal shows them in every format; a pipe gets the text as it is."""
    pty = pytest.importorskip("pty", reason="there are no terminals here")
    _changed(bank, "update run set name = 'a' || chr(27) || '[31m' || chr(155) || 'b'")
    command = ["-b", str(bank), "use", "-f", format_]
    main, side = pty.openpty()
    with os.fdopen(side, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        cli(*command)
    seen = b""
    with contextlib.suppress(OSError):  # the end, as Linux tells it
        while part := os.read(main, 4096):
            seen += part
    os.close(main)
    assert b"[31m" in seen and b"\x1b" not in seen and "\x9b".encode() not in seen
    if format_ in ("csv", "tsv"):
        assert "\x1b[31m" in cli(*command).out
