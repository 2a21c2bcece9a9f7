"""What tables and views say of multiword tokens, and what the commands tell of them."""

from __future__ import annotations

import io
import re
import unicodedata
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import new_banks
import pytest
from command_line import Cli
from multiword_cases import Case

from attnbank.cli.app import run_command_line
from attnbank.queries import open_bank

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
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "été") for form in ("NFC", "NFD"))
SPELLED = "".join(
    f"# sent_id = {name}\n1-2\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n"
    f"1\t{COMPOSED[:2]}\tx\tX\t_\t_\t0\troot\t_\t_\n"
    f"2\t{COMPOSED[2:]}\tx\tX\t_\t_\t1\tdep\t_\t_\n\n"
    for name, form in (("s3", COMPOSED), ("s4", DECOMPOSED), ("s5", COMPOSED.capitalize()))
)


def test_the_words_of_a_token(case: Case) -> None:
    expected: dict[int, tuple[int, str]] = {}
    for token in (each for tokens in case.corpus.tokens for each in tokens):
        start = case.corpus.words[token.words[0]].index
        expected |= dict.fromkeys(token.words, (start, token.form))
    rows = case.rows("select id - $first, token_start, surface from word", first=case.first_word)
    assert {row[0]: row[1:] for row in rows} == {
        place: expected.get(place, (None, None)) for place in range(len(case.corpus.words))
    }
    assert expected or not case.has_shared


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
    assert any(not row[4] for row in rows) or not case.has_shared


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


Told = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, own_model: Path) -> Told:
    """A bank of the text above in three runs, and what was told of each by the commands."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "text.conllu").write_text(TEXT + SPELLED, encoding="utf-8")
    bank, said = folder / "bank.duckdb", {}
    new_banks.put(bank)
    given = ["-b", str(bank), "ingest", str(folder / "text.conllu"), "--model"]
    for name, options in (("written", []), ("parts", ["--multiword", "parts"]),
                          ("token", ["--unit", "token"])):  # fmt: skip
        heard = io.StringIO()
        with redirect_stderr(heard), redirect_stdout(heard):
            assert run_command_line([*given, str(own_model), *options]) == 0
        said[name] = heard.getvalue()
    return bank, said


def _sql(bank: Path, statement: str) -> list[tuple[Any, ...]]:
    with open_bank(bank) as opened:
        return list(opened.sql(statement).rows())


def test_written_is_the_default(told: Told, cli: Cli) -> None:
    """Dámelo is one position with two arcs inside; don't is read as do and n't.

    Composed and decomposed letters are different spellings, as capitals are.
    """
    bank, said = told
    assert re.search(r"\b4 dependencies .*\(inside-token\)", said["written"])
    assert re.search(r"\b1 empty node", said["written"])
    info = cli("-b", bank, "info").out
    assert "multiword tokens were read as written" in info
    assert re.search(r"\b4 dependencies .* skip them \(inside-token\)", info)
    assert re.search(r"\b4 of 6 multiword tokens .*\b1 empty node", info)
    rows = _sql(
        bank,
        "select position, text, word, last_word from position"
        " inner join sequence on sequence.id = position.sequence"
        " where kind = 'word' and run = 1 order by word",
    )
    assert rows == [
        (1, "Il", 1, None), (2, "vient", 2, None), (3, "du", 3, 4), (4, "port", 5, None),
        (5, ",", 6, None), (6, "do", 7, None), (7, "n't", 8, None), (8, "he", 9, None),
        (9, "?", 10, None), (1, "Dámelo", 11, 13),
        (1, COMPOSED[:2], 14, None), (2, COMPOSED[2:], 15, None), (1, DECOMPOSED, 16, 17),
        (1, COMPOSED.capitalize(), 18, 19),
    ]  # fmt: skip


def test_parts_have_positions_of_their_own(told: Told) -> None:
    bank, said = told
    assert "inside-token" not in said["parts"]
    rows = _sql(
        bank,
        "select run.name, run.multiword, count(*), count(last_word) from position"
        " inner join sequence on sequence.id = position.sequence"
        " inner join run on run.id = sequence.run where kind = 'word' and multiword = 'parts'"
        " group by all",
    )
    ((name, mode, positions, shared),) = rows
    assert (name.split("/")[-1], mode, positions, shared) == ("parts", "parts", 19, 0)


def test_each_piece_of_a_token_has_its_words(told: Told) -> None:
    bank, _ = told
    rows = _sql(
        bank,
        "select word, last_word, string_agg(text, '' order by position) from position"
        " where kind = 'token' group by word, last_word order by word",
    )
    assert [(word, last) for word, last, _ in rows] == [
        (1, None), (2, None), (3, 4), (5, None), (6, None), (7, None), (8, None), (9, None),
        (10, None), (11, 13), (14, None), (15, None), (16, 17), (18, 19),
    ]  # fmt: skip
    texts = {word: text for word, _, text in rows}
    assert texts[3] == "▁du" and texts[7] == "▁do"
    assert texts[11] == "▁Dámelo"


def test_roots_count_and_inner_arcs_do_not(told: Told) -> None:
    """In the row all: ten words of the first sentence, two of the third, of others the root."""
    bank, _ = told
    ((name,),) = _sql(bank, "select name from run where id = 1")
    rows = _sql(bank, f"select distinct n from head_accuracy(relation := 'all', run := '{name}')")
    assert rows == [(15,)]
