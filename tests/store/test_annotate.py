"""Columns of the user's own for each word: files of every kind, good and bad, become tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from bank_factory import BankFactory
from bank_rows import change_bank, query_bank
from case_bank import make_bank
from command_line import Cli

from attnbank.ingest import annotate
from attnbank.ingest.store.annotations import WordFileError
from attnbank.ingest.store.deleting import delete
from attnbank.queries import open_bank
from attnbank.sql.errors import BankError, CallError

NAMED = ("sent_id", "index", "form", "rt")
GIVEN = {
    "corpus": "id,name\n1,news\n2,blogs\n",
    "document": "id,corpus,index,name\n1,1,1,a\n2,1,2,b\n3,2,1,a\n",
    "sentence": (
        "id,document,index,name,words\n1,1,1,s1,3\n2,1,2,s2,1\n3,2,1,s1,1\n4,3,1,s3,1\n5,3,2,s2,1\n"
    ),
    "word": (
        "id,sentence,index,form\n1,1,1,Dogs\n2,1,2,chase\n3,1,3,cats\n4,2,1,Yes\n5,3,1,No\n"
        "6,4,1,Hm\n7,5,1,Ah\n"
    ),
}

Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def text(few: Path, bank_of: BankFactory) -> Path:
    stories = bank_of(few / "stories.conllu", "none")
    return bank_of(few / "press.conllu", "none", after=stories)


@pytest.fixture
def bank(tmp_path: Path, text: Path) -> Path:
    """The words of two files of the sample corpus, whose sentences have different names."""
    return Path(shutil.copy(text, tmp_path / "bank.duckdb"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Sentences of which two have one name in one corpus, and two in two corpora."""
    return make_bank(tmp_path / "small.duckdb", GIVEN)


def _words(bank: Path) -> list[Row]:
    """Name of the sentence, index, form and id of every word."""
    return query_bank(
        bank,
        "select sentence.name, word.index, word.form, word.id from word"
        " inner join sentence on sentence.id = word.sentence order by word.id",
    )


def _timed(bank: Path, every: int = 1) -> list[Row]:
    """Rows of a file about some words, with a number each, in an order of their own."""
    words = _words(bank)[::every]
    return [(name, index, form, 7 * id) for name, index, form, id in reversed(words)]


def _csv(rows: Sequence[Row], names: Sequence[str] = NAMED, delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def _unquoted(rows: Sequence[Row], names: Sequence[str] = NAMED) -> str:
    return "".join("\t".join(map(str, row)) + "\n" for row in (names, *rows))


def _put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _parquet(rows: Sequence[Row], names: Sequence[str] = NAMED) -> bytes:
    written = io.BytesIO()
    pl.DataFrame(rows, schema=list(names), orient="row").write_parquet(written)
    return written.getvalue()


def _objects(rows: Sequence[Row], names: Sequence[str] = NAMED) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


WAYS: dict[str, Callable[[list[Row]], str | bytes]] = {
    "times.csv": _csv,
    "times.tsv": lambda rows: _csv(rows, delimiter="\t"),
    "unquoted.tsv": _unquoted,
    "tabs.csv": _unquoted,
    "semicolons.csv": lambda rows: _csv(rows, delimiter=";"),
    "bom.csv": lambda rows: "\ufeff" + _csv(rows),
    "windows.csv": lambda rows: _csv(rows).replace("\n", "\r\n"),
    "capitals.CSV": lambda rows: _csv(rows, ("Sent_ID", "ID", "FORM", "rt")),
    "spaces.csv": lambda rows: _csv(rows, ("sent_id", " word_index", "form ", " rt")),
    "packed.csv.gz": lambda rows: gzip.compress(_csv(rows).encode()),
    "times.parquet": _parquet,
    "floats.parquet": lambda rows: _parquet([(a, float(b), c, d) for a, b, c, d in rows]),
    "lines.jsonl": lambda rows: "".join(json.dumps(each) + "\n" for each in _objects(rows)),
    "array.json": lambda rows: json.dumps(_objects(rows)),
    "packed.ndjson.gz": lambda rows: gzip.compress(
        "".join(json.dumps(each) + "\n" for each in _objects(rows)).encode()
    ),
}


@pytest.mark.usual(4)
@pytest.mark.parametrize("name", WAYS)
def test_every_kind_of_file_is_the_same_table(name: str, bank: Path, tmp_path: Path) -> None:
    rows = _timed(bank, 3)
    done = annotate(bank, _put(tmp_path, name, WAYS[name](rows)), "mine")
    assert (done.name, done.rows, done.words) == ("mine", len(rows), len(rows))
    assert (done.columns, done.repeated, done.most) == ({"rt": "BIGINT"}, 0, 1)
    assert query_bank(bank, "from mine") == [(id, 7 * id) for *_, id in _words(bank)[::3]]


@pytest.mark.slow
def test_it_joins_with_the_words(bank: Path, tmp_path: Path) -> None:
    annotate(bank, _put(tmp_path, "reading-times.csv", _csv(_timed(bank))))
    with open_bank(bank) as opened:
        joined = opened.sql(
            "select word.id, reading_times.rt from reading_times"
            " inner join word on word.id = reading_times.word order by word.id"
        )
        assert joined.rows() == [(id, 7 * id) for *_, id in _words(bank)]
        comment = opened.schema("reading_times")["comment"][0]
        assert comment == "word.id of the word."


def test_several_readers_are_several_rows(bank: Path, tmp_path: Path) -> None:
    words = _words(bank)
    rows = [
        (name, index, reader, id * 10 + reader)
        for name, index, _, id in words
        for reader in range(1 + id % 3)
    ]
    path = _put(tmp_path, "times.csv", _csv(rows, ("sent_id", "index", "reader", "rt")))
    done = annotate(bank, path)
    each = Counter((name, index) for name, index, *_ in rows)
    assert (done.rows, done.words, done.most) == (len(rows), len(each), 3)
    assert done.repeated == sum(count > 1 for count in each.values())
    ids = {(name, index): id for name, index, _, id in words}
    wanted = [(ids[name, index], reader, rt) for name, index, reader, rt in rows]
    assert query_bank(bank, "from times") == sorted(wanted)


def test_words_by_their_ids(bank: Path, tmp_path: Path) -> None:
    rows = [(id, form, index, f"w{id}") for _, index, form, id in _words(bank)]
    path = _put(tmp_path, "own.csv", _csv(rows, ("word", "form", "index", "note")))
    assert annotate(bank, path).columns == {"index": "BIGINT", "note": "VARCHAR"}
    assert query_bank(bank, "from own") == [(id, index, note) for id, _, index, note in rows]
    rows[3] = (rows[3][0], "another", 1, "x")
    wrong = _put(tmp_path, "wrong.csv", _csv([*rows, (10**6, "x", 1, "x")], (
        "word", "form", "index", "note")))  # fmt: skip
    with pytest.raises(WordFileError, match=r"row 4: word 4, form 'another', in the text '") as e:
        annotate(bank, wrong)
    assert (
        "1 with a word that the bank does not have (row " in e.value.fact
        and "word 1000000" in e.value.fact
    )
    done = annotate(bank, wrong, skip_bad=True)
    assert done.rows == len(rows) - 1 and sum(done.left_out.values()) == 2


def test_words_of_a_second_corpus_by_their_ids(tmp_path: Path) -> None:
    """Their ids have more than 40 bits."""
    word = (1 << 40) + 1
    bank = make_bank(tmp_path / "x.duckdb", {
        "corpus": "id,name\n1,news\n2,blogs\n", "document": f"id,corpus,index\n{word},2,1\n",
        "sentence": f"id,document,index,words\n{word},{word},1,1\n",
        "word": f"id,sentence,index,form\n{word},{word},1,Hm\n",
    })  # fmt: skip
    for name, rows in (("x.csv", f"word,rt\n{word},5\n"), ("y.csv", f"word,rt\n{word}.0,5\n")):
        annotate(bank, _put(tmp_path, name, rows))
        assert query_bank(bank, f"from {name[0]}") == [(word, 5)]


def test_types_are_found_and_texts_stay_texts(small: Path, tmp_path: Path) -> None:
    table = (
        "sent_id,index,whole,part,day,zero,missing,said,note\n"
        "s3,1,1,0.5,2020-01-02,007,NA,true,'quoted'\n"
        's3,1,2,1e3,2020-01-03,1,2,false,"two, and ""one""\n"\n'
    )
    done = annotate(small, _put(tmp_path, "types.csv", table))
    assert done.columns == {
        "whole": "BIGINT", "part": "DOUBLE", "day": "DATE", "zero": "VARCHAR",
        "missing": "VARCHAR", "said": "BOOLEAN", "note": "VARCHAR",
    }  # fmt: skip
    rows = query_bank(small, "select word, whole, part, zero, missing, said, note from types")
    assert rows == [
        (6, 1, 0.5, "007", "NA", True, "'quoted'"),
        (6, 2, 1000.0, "1", "2", False, 'two, and "one"\n'),
    ]


def test_sentences_of_one_name(small: Path, tmp_path: Path) -> None:
    path = _put(tmp_path, "x.csv", "sent_id,index,rt\ns3,1,1\ns2,1,2\n")
    with pytest.raises(WordFileError, match=r"1 of 2 rows .* with a name that several") as e:
        annotate(small, path)
    assert "(row 2: sent_id s2, index 1)" in e.value.fact and "--corpus" in e.value.remedy
    with pytest.raises(CallError, match="no corpus blog in") as call:
        annotate(small, path, corpus="blog")
    assert call.value.remedy == "Did you mean blogs? It has: news, blogs."
    annotate(small, path, corpus="blogs")
    assert query_bank(small, "from x") == [(6, 1), (7, 2)]
    twice = _put(tmp_path, "y.csv", "sent_id,index,doc_id,rt\ns1,1,a,1\ns1,1,b,2\n")
    annotate(small, twice, corpus="news")
    assert query_bank(small, "from y") == [(1, 1), (5, 2)]
    by_word = _put(tmp_path, "z.csv", "word,rt\n1,1\n6,2\n")
    with pytest.raises(
        WordFileError, match=r"with a word that the bank does not have \(row 1: word 1\)"
    ):
        annotate(small, by_word, corpus="blogs")


def test_rows_that_do_not_fit(bank: Path, tmp_path: Path) -> None:
    good = _timed(bank, 9)
    name, index, form, _ = good[0]
    bad = [
        ("nowhere", 1, form, 0), (name, 9999, form, 0), (name, f"{index}-{index + 1}", form, 0),
        (name, f"{index}.1", form, 0), (name, "", form, 0), ("", index, form, 0),
        (name, index, form + "\x1b[2J", 0), (name, "9" * 400, form, 0), (name, "inf", form, 0),
    ]  # fmt: skip
    path = _put(tmp_path, "times.csv", _csv([*good, *bad]))
    before = bank.read_bytes()
    with pytest.raises(
        WordFileError, match=f"9 of {len(good) + 9} rows of .* do not match the bank: "
    ) as e:
        annotate(bank, path)
    assert bank.read_bytes() == before
    row = len(good) + 1
    for error in (
        f"2 with a sentence that the bank does not have (row {row}: sent_id nowhere, index 1)",
        f"6 with a word that its sentence does not have (row {row + 1}: sent_id {name}, index 99",
        f"1 with another form than the text (row {row + 6}: ",
    ):
        assert error in e.value.fact
    assert e.value.remedy == "Correct them, or leave these rows out with --skip-bad."
    assert "\x1b" not in e.value.fact
    done = annotate(bank, path, skip_bad=True)
    assert done.rows == len(good) and list(done.left_out.values()) == [2, 6, 1]
    nothing = _put(tmp_path, "nothing.csv", _csv(bad))
    with pytest.raises(WordFileError, match="9 of 9 rows"):
        annotate(bank, nothing, skip_bad=True)


def test_a_quotation_mark_in_a_cell_between_tabs_is_a_text(small: Path, tmp_path: Path) -> None:
    """As one around cells, it would swallow the lines up to the next one."""
    table = 'sent_id\tindex\tnote\ns1\t1\t"\ns1\t2\t"he\ns1\t3\tsaid"\ns1\t1\t"\n'
    annotate(small, _put(tmp_path, "x.tsv", table.replace("s1", "s3").replace("\t2", "\t1")
                         .replace("\t3", "\t1")))  # fmt: skip
    assert query_bank(small, "select note from x") == [('"',), ('"he',), ('said"',), ('"',)]


def test_what_begins_with_a_hash_is_no_comment(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "x.duckdb", {
        "sentence": "id,document,index,name,words\n1,1,1,#1,2\n",
        "word": "id,sentence,index,form\n1,1,1,#\n2,1,2,'a'\n",
    })  # fmt: skip
    annotate(bank, _put(tmp_path, "y.csv", "sent_id,index,form,x\n#1,1,#,1\n#1,2,'a',2\n"))
    assert query_bank(bank, "from y") == [(1, 1), (2, 2)]


BAD_FILES: dict[str, tuple[str | bytes, str]] = {
    "no_keys.csv": ("a,b\n1,2\n", "does not name words: no column sent_id"),
    "no_index.csv": ("sent_id,b\n1,2\n", "does not name words: no column index"),
    "two_ways.csv": ("sent_id,index,word,rt\ns3,1,6,1\n", "sent_id and word, which both name"),
    "two_ids.csv": ("sent_id,index,ID,rt\ns3,1,1,1\n", "index and ID, each of which may be the"),
    "nothing_else.csv": ("sent_id,index,form\ns3,1,Hm\n", "no column besides sent_id, index, form"),
    "doubled.csv": ("sent_id,index,rt,RT\ns3,1,1,2\n", "two columns RT, capitals aside"),
    "doubled.jsonl": ('{"sent_id":"s3","index":1,"x":1,"x":2}\n', "has duplicate key"),
    "nothing.csv": ("", "is empty"),
    "no_rows.csv": ("sent_id,index,rt\n", "has no rows"),
    "no_rows.jsonl": ("\n", "cannot be read"),
    "longer.csv": ("sent_id,index,rt\ns3,1,1\ns3,1,1,9\n", ":3 cannot be read: it has more cells"),
    "shorter.csv": ("sent_id,index,rt\ns3,1\n", ":2 cannot be read: it has fewer cells"),
    "open.csv": ('sent_id,index,rt\ns3,1,"abc\n', ":2 cannot be read: a quotation mark"),
    "open_name.csv": ('sent_id,index, "rt\ns3,1,1\ns3,1,"2"\ns3,1,3\n', ":1 cannot be read: a q"),
    "line_ends.csv": ("sent_id,index,rt\r\ns3,1,1\ns3,1,2\n", "only some of its lines end in"),
    "zero.csv": ("sent_id,index,x\ns3,1,a\ns3,1,\0\n", ":3 is not text in UTF-8: it has a byte"),
    "huge.csv": (f"sent_id,index,x\ns3,1,{'x' * 3_000_000}\n", ":2 cannot be read: it has more"),
    "huge.jsonl": ('{"sent_id":"s3","index":1,"x":"' + "x" * 2**25 + '"}', "cannot be read"),
    "wide.csv": (",".join(f"c{number}" for number in range(5000)), "has 5,000 columns"),
    "wider.csv": (",".join(f"c{each}" for each in range(300_000)), ":1: the names of the columns"),
    "latin.csv": ("sent_id,index,x\ns3,1,é\n".encode("latin-1"), ":2 is not text in UTF-8"),
    "utf16.csv": ("sent_id,index,x\ns3,1,a\n".encode("utf-16"), ":1 is not text in UTF-8"),
    "utf16.json": ("[]".encode("utf-16-le"), ":1 is not text in UTF-8: it has a byte that is 0"),
    "cut.csv": ("sent_id,index,x\ns3,1,é".encode()[:-1], ":2 is not text in UTF-8: unexpected end"),
    "binary.csv": (bytes(range(256)) * 20, "is not text in UTF-8"),
    "binary.parquet": (b"PAR1" + bytes(range(256)) + b"PAR1", "cannot be read"),
    "binary.csv.gz": (b"\x1f\x8b" + bytes(range(256)), "cannot be read"),
    "bomb.csv.gz": (gzip.compress(b"s,1,1\n" * 15_000_000), "it decompresses to more than"),
    "control.csv": ("sent_id,index,\x1b[2J\ns3,1,1\n", r"called '\\x1b[2J'"),
    "lists.json": ('[{"sent_id": "s3", "index": 1, "x": [1, 2]}]', "column x of it is BIGINT[]"),
    "numbers.jsonl": ("1\n2\n", "cannot be read"),
    "deep.json": ("[" * 100_000, "cannot be read"),
    "run_of_none.csv": ("sent_id,index,run\ns3,1,77\n", "has 77, and the bank has no such run"),
    "head_of_none.csv": ("sent_id,index,head_word\ns3,1,77\n", "the bank has no such word"),
}  # fmt: skip


@pytest.mark.usual(4)
@pytest.mark.parametrize("name", BAD_FILES)
def test_files_that_are_refused(name: str, small: Path, tmp_path: Path, cli: Cli) -> None:
    content, message = BAD_FILES[name]
    path = _put(tmp_path, name, content)
    before = small.read_bytes()
    with pytest.raises(WordFileError) as e:
        annotate(small, path, "mine")
    result = e.value.fact
    assert message in result.replace(f" {path} ", " it ")
    assert str(path) in result and "\n" not in result and len(result) < 600 and e.value.remedy
    if name == "no_keys.csv":
        err = cli("-b", small, "annotate", path, "--name", "mine", status=1).err
        assert err.startswith("Error: ") and len(err.splitlines()) == 2
    assert small.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, small.name])


@pytest.mark.slow
def test_a_few_bytes_that_stand_for_billions_of_rows(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select 6 as word, 1 as rt from range(101_000_000)) to ?"
            " (format parquet, compression zstd)",
            [str(path)],
        )
    assert path.stat().st_size < 10**6
    with pytest.raises(WordFileError, match="more than 100,000,000 rows"):
        annotate(small, path)


def test_paths_that_are_refused(small: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    table = "sent_id,index,rt\ns3,1,1\n"
    for name in ("x.txt", "x.csv.zip", "x", "x.parquet.gz", "a*.csv", "a[1].csv", "a?.csv"):
        _put(tmp_path, name, table)
    _put(tmp_path, "a1.csv", table)  # which the patterns would find
    refused = {
        "missing.csv": "does not exist", "pipe.csv": "is a pipe", "folder.csv": "is a folder",
        "a1.csv/x.csv": "does not exist", "x\0.csv": "cannot be opened", "\udce9.csv": "not valid",
        "x.txt": "cannot be inferred from its name", "x.csv.zip": "inferred", "x": "inferred",
        "x.parquet.gz": "inferred", "a*.csv": "takes for a pattern", "a[1].csv": "for a pattern",
        "a?.csv": "for a pattern",
    }  # fmt: skip
    for name, error in refused.items():
        with pytest.raises(CallError, match=error):
            annotate(small, tmp_path / name, "mine")
    with pytest.raises(BankError, match="There is no bank"):
        annotate(tmp_path / "none.duckdb", tmp_path / "a1.csv")
    assert not (tmp_path / "none.duckdb").exists()


def test_a_file_elsewhere_is_not_read(small: Path, tmp_path: Path) -> None:
    """A link is followed, since the user named it; its name says what it is."""
    (tmp_path / "link.csv").symlink_to(_put(tmp_path, "blob", "sent_id,index,rt\ns3,1,1\n"))
    assert annotate(small, tmp_path / "link.csv").name == "link"


@pytest.mark.slow
def test_names_of_tables(small: Path, tmp_path: Path) -> None:
    path = _put(tmp_path, "reading times (2).csv", "sent_id,index,rt\ns3,1,1\n")
    assert annotate(small, path).name == "reading_times_2"
    with pytest.raises(CallError, match="already has a table reading_times_2") as e:
        annotate(small, path)
    assert "--replace" in e.value.remedy
    with pytest.raises(CallError, match="has a table"):
        annotate(small, path, "READING_times_2")
    numbered = _put(tmp_path, "2020.csv", "sent_id,index,rt\ns3,1,2\n")
    assert annotate(small, numbered).name == "words_2020"
    with pytest.raises(CallError, match="gives no name for the table"):
        annotate(small, _put(tmp_path, "час.csv", "sent_id,index,rt\ns3,1,2\n"))
    change_bank(small, "create view mine as select 1 as x", "create macro ours(x) as x + 1")
    before = small.read_bytes()
    for name in (
        "word", "Word", "run", "best_head", "table_1", "dependency", "ratio", "select",
        "paper", "main", "mine", "ours", "annotated_row", "duckdb_tables", "1st", "a-b", "",
        'x"; drop table word; --', "_x", "été", "x" * 64,
    ):  # fmt: skip
        with pytest.raises(CallError, match="cannot be called"):
            annotate(small, path, name, replace=True)
    assert small.read_bytes() == before


@pytest.mark.slow
def test_replacing(small: Path, tmp_path: Path) -> None:
    path = _put(tmp_path, "mine.csv", "sent_id,index,rt\ns3,1,1\n")
    annotate(small, path)
    other = _put(tmp_path, "other.csv", "sent_id,index,rating\ns3,1,0.5\n")
    wrong = _put(tmp_path, "wrong.csv", "sent_id,index,run\ns3,1,99\n")
    with pytest.raises(WordFileError, match="the bank has no such run"):
        annotate(small, wrong, "mine", replace=True)
    assert query_bank(small, "select word, rt from mine") == [(6, 1)]
    assert annotate(small, other, "mine", replace=True).columns == {"rating": "DOUBLE"}
    assert query_bank(small, "select word, rating from mine") == [(6, 0.5)]


def test_odd_names_of_columns(small: Path, tmp_path: Path) -> None:
    names = (
        'a "quoted"; drop table word; --',
        "it's",
        "n",
        "fault",
        "c1",
        "rowid",
        "select",
        "Été",
    )
    rows = [("s3", 1, *range(len(names)))]
    path = _put(tmp_path, "odd.csv", _csv(rows, ("sent_id", "index", *names)))
    assert list(annotate(small, path).columns) == [*names]
    with open_bank(small) as opened:
        assert opened.sql("from odd").row(0) == (6, *range(len(names)))
    unnamed = _put(tmp_path, "unnamed.csv", ",sent_id,index,rt\n0,s3,1,5\n")  # as pandas writes
    assert list(annotate(small, unnamed).columns) == ["column0", "rt"]


@pytest.mark.slow
def test_columns_that_refer_to_the_bank(small: Path, tmp_path: Path) -> None:
    for kind, value in (("run", 1), ("run", "x"), ("test_run", 1), ("head_word", 3), ("corpus", 2)):
        path = _put(tmp_path, "refers.csv", f"sent_id,index,{kind}\ns3,1,{value}\ns3,1,\n")
        done = annotate(small, path, replace=True)
        assert done.references == (kind,) and done.rows == 2


@pytest.mark.slow
def test_it_goes_with_its_corpus(small: Path, tmp_path: Path) -> None:
    path = _put(tmp_path, "mine.csv", "sent_id,index,rt\ns3,1,1\ns1,2,2\n")
    with pytest.raises(WordFileError, match="several sentences have"):
        annotate(small, path)
    annotate(small, _put(tmp_path, "mine.csv", "word,rt\n6,1\n2,2\n"))
    done = delete(small, corpora=["blogs"])
    assert done.rows["mine"] == 1
    assert query_bank(small, "from mine") == [(2, 2)]


@pytest.mark.slow
def test_the_command(bank: Path, tmp_path: Path, cli: Cli) -> None:
    rows = _timed(bank)
    call = ["-b", str(bank), "annotate"]
    path = str(_put(tmp_path, "times.csv", _csv([*rows, rows[0], ("no", 1, "x", 1)])))
    assert "leave these rows out with --skip-bad" in cli(*call, path, status=1).err
    error = cli(*call, path, "--skip-bad").err.splitlines()
    assert error[:3] == [
        f"times has {len(rows) + 1:,} rows for {len(rows):,} words: rt (bigint).",
        "1 word has several rows, up to 2.",
        "Skipped: 1 row with a sentence that the bank does not have.",
    ]
    assert error[3].startswith(f"Next: attnbank -b {bank} sql 'select word.form, times.rt from ")
    assert cli(*shlex.split(error[3].removeprefix("Next: attnbank "))).out.splitlines()[
        0
    ].split() == ["form", "rt"]
    assert "already has a table times" in cli(*call, path, "--skip-bad", status=2).err
    assert cli(*call, path, "--skip-bad", "--replace", "-q").err == ""
    cli(*call, path, "--corpus", "none", status=2)
    cli("-b", tmp_path / "no.duckdb", "annotate", path, status=1)
