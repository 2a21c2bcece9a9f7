"""What tables and views say of multiword tokens, and what the commands tell of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from multiword import trees
from multiword_cases import Case, Make

from attnbank.cli.app import run

TEXT = """# newdoc id = one
# sent_id = s1
# text = Il vient du port, don't he?
1	Il	il	PRON	_	_	2	nsubj	_	_
2	vient	venir	VERB	_	_	0	root	_	_
3-4	du	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	port	port	NOUN	_	_	2	obl	_	SpaceAfter=No
6	,	,	PUNCT	_	_	7	punct	_	_
7-8	don't	_	_	_	_	_	_	_	_
7	do	do	AUX	_	_	2	parataxis	_	_
8	n't	not	PART	_	_	7	advmod	_	_
8.1	vient	venir	VERB	_	_	_	_	7:conj	_
9	he	he	PRON	_	_	7	nsubj	_	SpaceAfter=No
10	?	?	PUNCT	_	_	2	punct	_	_

# sent_id = s2
# text = Dámelo
1-3	Dámelo	_	_	_	_	_	_	_	_
1	Da	dar	VERB	_	_	0	root	_	_
2	me	yo	PRON	_	_	1	iobj	_	_
3	lo	él	PRON	_	_	1	obj	_	_

"""
INSIDE = re.compile(r"^.*\b2\b.*\(inside-token\)", re.MULTILINE)


def test_the_words_of_a_token(case: Case) -> None:
    expected = {}
    for token in (each for tokens in case.corpus.tokens for each in tokens):
        start = case.corpus.words[token.words[0]].index
        expected |= {place: (start, token.form) for place in token.words}
    rows = case.rows("select id - $first, token_start, surface from word", first=case.first_word)
    assert {row[0]: row[1:] for row in rows} == {
        place: expected.get(place, (None, None)) for place in range(len(case.corpus.words))
    }
    assert len(expected) > 100


def test_the_view_of_tokens(case: Case) -> None:
    rows = case.rows(
        "select sentence - (select min(id) from sentence), first_word - $first, last_word - $first,"
        " form, is_spelled from multiword_token order by first_word",
        first=case.first_word,
    )
    assert rows == [
        (sentence, token.words[0], token.words[-1], token.form, token.is_spelled)
        for sentence, tokens in enumerate(case.corpus.tokens)
        for token in tokens
    ]
    assert {row[4] for row in rows} == {True, False}


def test_the_view_of_the_words_of_positions(case: Case) -> None:
    rows = case.rows(
        "select sequence, position, kind, word - $first from word_position", first=case.first_word
    )
    expected = [
        (sequence, at, "word", word)
        for sequence, input in zip(case.sequences, case.inputs, strict=True)
        for at, position in enumerate(input.positions)
        for word in position.words
    ]
    assert sorted(rows) == sorted(expected)


def test_the_view_of_dependencies_within_positions(case: Case) -> None:
    rows = case.rows(
        "select run, sequence, position, dependent - $first, head - $first, relation"
        " from inner_dependency",
        first=case.first_word,
    )
    assert sorted(rows) == sorted(
        (1, case.sequences[arc.input], arc.position, arc.word.place, arc.word.governor,
         arc.word.relation)
        for arc in case.inside
    )  # fmt: skip


def test_the_run_says_how_it_reads(case: Case) -> None:
    ((name, mode),) = case.rows("select name, multiword from run")
    assert mode == case.mode
    assert name.endswith("/parts") == (mode == "parts")


def _ingest(
    folder: Path, capfd: pytest.CaptureFixture[str], model: Path | str, *args: str
) -> tuple[Path, str]:
    source, bank = folder / "text.conllu", folder / "bank.duckdb"
    source.write_text(TEXT, encoding="utf-8")
    given = ["-b", str(bank), "ingest", str(source), "--model", str(model), *args]
    assert run(given) == 0
    out, err = capfd.readouterr()
    return bank, out + err


def test_written_is_the_default(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Dámelo is one position with two arcs inside; don't is read as do and n't."""
    bank, told = _ingest(tmp_path, capfd, "minilm")
    assert INSIDE.search(told) and re.search(r"\b1 empty node", told)
    assert run(["-b", str(bank), "info"]) == 0
    assert INSIDE.search("".join(capfd.readouterr()))
    statement = (
        "select position, text, word, last_word from position where kind = 'word'"
        " order by sequence, position"
    )
    assert run(["-b", str(bank), "sql", statement, "-f", "csv"]) == 0
    lines = capfd.readouterr()[0].splitlines()[1:]
    assert sorted(lines) == sorted(
        ["1,Il,1,", "2,vient,2,", "3,du,3,4", "4,port,5,", '5,",",6,', "6,do,7,", "7,n't,8,",
         "8,he,9,", "9,?,10,", "1,Dámelo,11,13"]
    )  # fmt: skip


def test_parts_have_positions_of_their_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bank, told = _ingest(tmp_path, capfd, "minilm", "--multiword", "parts")
    assert "inside-token" not in told
    statement = "select count(*), count(last_word) from position where kind = 'word'"
    assert run(["-b", str(bank), "sql", statement, "-f", "csv"]) == 0
    assert capfd.readouterr()[0].splitlines()[1:] == ["13,0"]


def test_each_piece_of_a_token_has_its_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bank, _ = _ingest(tmp_path, capfd, "minilm", "--unit", "token")
    statement = (
        "select word, last_word, string_agg(text, ' ' order by position.sequence, position)"
        " as pieces from position where kind = 'token' group by word, last_word order by word"
    )
    assert run(["-b", str(bank), "sql", statement, "-f", "csv"]) == 0
    rows = [line.split(",") for line in capfd.readouterr()[0].splitlines()[1:]]
    by_word = {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}
    assert by_word["3"] == ("4", "du")
    assert by_word["7"] == ("", "do")
    last, pieces = by_word["11"]
    assert last == "13" and pieces.replace(" ##", "") == "damelo" and " " in pieces


def test_roots_count_and_inner_arcs_do_not(read: Make, tmp_path: Path, multilingual_model: Path) -> None:
    """In the row all: ten words of the first sentence, and the root alone of the second."""
    source = tmp_path / "text.conllu"
    source.write_text(TEXT, encoding="utf-8")
    case = read(source, multilingual_model)
    assert [arc.word.form for arc in case.inside] == ["me", "lo"]
    rows = case.query("head_accuracy", relation="all")
    assert {row["n"] for row in rows} == {11}
    judged = trees.accuracy(case.judged, case.inputs)
    assert all(
        row["correct"] == judged["all", (row["layer"], row["head"], row["direction"])][0]
        for row in rows
    )
