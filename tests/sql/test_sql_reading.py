"""What a statement reads and takes is in its syntax: comments and strings are no part of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import sqlglot
from bank_rows import query_bank
from case_bank import make_bank
from command_line import run_python
from sqlglot import exp

from attnbank.queries import analyses, open_bank
from attnbank.sql import registry, statements
from attnbank.sql.header import HeaderError, parse

HEADER = """\
-- title: A title
-- paper: nowhere
-- grain: one row
-- param least integer = 1: the least
-- column n bigint: how many
"""
TRAPS = """\

-- Größe, $least and $most are words of a comment; best_head() picks a head.
/* So are these: $most, entropy(1). */
select
    count(*) as n, -- head_distance() and $most
    '$least' as "$most",
    'it''s $most, from best_head()' as b
from word
where word.id >= $least and word.form <> '--' and word.id < $least + 1
"""


def test_parameters_in_comments_and_strings_are_none() -> None:
    statement = parse("traps", "surface", HEADER + TRAPS).statement
    assert statement.count("cast($least as integer)") == 2
    assert statement.replace("cast($least as integer)", "$least") == TRAPS.strip()
    assert list(statements.parameter_references("select '$'least")) == []
    given = parse("traps", "surface", HEADER + TRAPS).with_parameters(lambda _: "1")
    assert given.replace("cast(1 as integer)", "$least") == TRAPS.strip()
    with duckdb.connect() as connection:
        connection.execute("create table word as select 1 as id, 'a' as form")
        for macro in registry.macros(parse("traps", "surface", HEADER + TRAPS), temporary=True):
            connection.execute(macro)
        for least in (0, 1):
            rows = connection.execute(f"from traps(least := {least})").fetchall()
            assert rows == [(least, "$least", "it's $most, from best_head()")]


def test_a_column_may_have_the_name_of_a_parameter() -> None:
    """DuckDB would refuse the outer macro, if it planned the inner one with it."""
    body = "select count(*) as n from (select 1 as least) as item where least >= $least"
    with duckdb.connect() as connection:
        for macro in registry.macros(parse("named", "surface", HEADER + body), temporary=True):
            connection.execute(macro)
        result = [
            connection.execute(f"from named(least := {least})").fetchone() for least in (1, 2)
        ]
    assert result == [(1,), (0,)]


def test_a_parameter_in_a_comment_alone_is_not_used() -> None:
    for body in ("select 1 as n -- $least", "select '$least' as n", "/* $least */ select 1 as n"):
        with pytest.raises(HeaderError, match="disagree on the parameters: least"):
            assert parse("n", "surface", HEADER + body).statement


def test_calls_in_comments_and_strings_are_none() -> None:
    known = registry.shared() | analyses()
    assert statements.relations_read(TRAPS, known) == frozenset()
    called = "select * from best_head (relation := 'x') as best, ENTROPY() where exists"
    assert statements.relations_read(f"{called} (select 1 from paper.table_1)", known) == {
        "best_head", "entropy", "table_1",
    }  # fmt: skip
    # A table, a common table expression and a column of an analysis's name are no call of it.
    statement = "with entropy (a) as (select 1) select entropy.a, best_head from head_distance"
    assert statements.relations_read(f"{statement}, entropy", known) == frozenset()


def test_the_tokens_say_what_the_syntax_tree_says() -> None:
    known = registry.shared() | analyses()
    for name, analysis in known.items():
        result = set()
        for table in sqlglot.parse_one(analysis.body, dialect="duckdb").find_all(exp.Table):
            call = table.this
            if isinstance(call, exp.Func):
                result.add(call.name if isinstance(call, exp.Anonymous) else call.sql_name())
            elif table.db.lower() == "paper":
                result.add(table.name)
        assert registry.read_by(name) == {each.lower() for each in result} & known.keys(), name


def test_each_analysis_is_installed_while_what_it_reads_is_a_stub() -> None:
    """Planning a macro with all that it reads, and so each of them again, takes a second in all."""
    made = [name[1:] for name in map(_made, registry.install()) if name.startswith("_")]
    last = {name: at for at, name in enumerate(made)}
    assert last.keys() == (registry.shared() | analyses()).keys()
    for name in last:
        for other in registry.read_by(name):
            assert made.index(other) < last[name] < last[other], (name, other)
    assert registry.read_by("best_head") == {
        "chosen_run",
        "best_offset",
        "head_against_offset",
        "held_out_hit",
        "pair_hit",
    }


def _made(statement: str) -> str:
    """The name of what a statement creates or replaces; nothing where it does something else."""
    made = statements.statements(statement)[0].text.split("(")[0].split()
    return made[4].removeprefix("paper.") if made[:3] == ["create", "or", "replace"] else ""


@pytest.mark.slow
def test_a_comment_about_another_analysis_is_no_circle(tmp_path: Path) -> None:
    """In a copy of the package: gold_dependency says what best_head() makes of it."""
    package = Path(str(registry.root())).resolve()
    copy = tmp_path / "attnbank" / "sql"
    for path in [path for end in ("sql", "py", "json") for path in package.rglob(f"*.{end}")]:
        to = copy / path.relative_to(package)
        to.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if path.name == "gold_dependency.sql":
            text = text.replace(
                "\nfrom gold_pair(",
                "\n-- best_head() picks the best of $each head.\nfrom gold_pair(",
            )
            assert "picks" in text
        to.write_text(text, encoding="utf-8")
    program = (
        "from attnbank.sql.bank.opening import open_to_write as o; o('x.duckdb', 'test').close()"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {program}"
    done = run_python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert query_bank(tmp_path / "x.duckdb", "from gold_dependency(run := '')") == []


def test_statements_of_a_script() -> None:
    script = """-- create table none;
create or replace macro f(a) as concat(a, '; -- no comment', 'create table t');
/* ; */ comment on macro f is 'Says: create or replace x; and so on.';"""
    parts = statements.statements(script)
    assert [part.words for part in parts] == [
        ("create", "or", "replace"), ("comment", "on", "macro"),
    ]  # fmt: skip
    assert parts[0].text.startswith("create or replace macro f(a)")
    assert parts[1].text.endswith("and so on.'")


def test_functions_are_made_for_one_connection_too() -> None:
    with duckdb.connect() as connection:
        for script in (*registry.schema_scripts(), *registry.replaceable(temporary=True)):
            connection.execute(script)
        names = connection.execute(
            "select distinct function_name from duckdb_functions() where not internal"
            " and database_name = 'temp'"
        ).fetchall()
    assert {"wilson_low", "weight_at", "feature"} <= {name for (name,) in names}


@pytest.mark.slow
def test_nothing_is_read_to_open_a_bank(tmp_path: Path) -> None:
    make_bank(tmp_path / "bank.duckdb", {})
    program = (
        "import sys; from attnbank.queries import open_bank; bank = open_bank('bank.duckdb');"
        " bank.runs(); bank.sql('select 1'); assert 'sqlglot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    with open_bank(tmp_path / "bank.duckdb") as bank:
        assert bank.connection.execute("select analyses from bank").fetchall() == [
            (registry.fingerprint(),)
        ]


def test_comments_behind_columns_are_read() -> None:
    script = """\
create table word (  -- A word.
    id bigint,  -- Its number.
    form varchar check (form in ('a', 'b')),
    lemma varchar  -- Its lemma.
);
create or replace view first_word as
with word_of_sentence as (
    select form, id  -- Not a column of the view.
    from word
)

select
    form,  -- The word.
    least(id, 1) as number,
    cast(id as integer) as place  -- Its place.
from word_of_sentence;"""
    assert [*statements.relation_comments(script)] == [
        ("word", None, "A word."), ("word", "id", "Its number."), ("word", "lemma", "Its lemma."),
        ("first_word", "form", "The word."), ("first_word", "place", "Its place."),
    ]  # fmt: skip
