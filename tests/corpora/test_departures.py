"""What departs from the format is read all the same: counted, told and kept."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from corpus_text import (
    facts,
    problem_and_sentence,
    read_items,
    read_problem,
    read_sentence,
    read_sentences,
)
from fixture_types import Models, Options

from attnbank.ingest import IngestOptions, add_text, estimate, ingest
from attnbank.ingest.corpora.document import CorpusError, Departure, Departures, Problem, Sentence

# Words, a multiword token that its parts do not spell, an empty node, two words without a space.
ROWS = """1\tElle\til\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tvient\tvenir\tVERB\t_\t_\t0\troot\t_\t_
2.1\telle\t_\tPRON\t_\t_\t_\t_\t_\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\t_\t_\t5\tcase\t_\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t_\t_
5\tmarché\tmarché\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_
"""
GOOD = "# sent_id = good\n# text = Elle vient du marché.\n" + ROWS + "\n"
BAD = "# newdoc id = d\n# sent_id = bad\n# text = Elle vint du marché.\n" + ROWS + "\n"
WORSE = "# sent_id = worse\n# text =\n" + ROWS + "\n"
NO_TEXT = "# sent_id = none\n" + ROWS + "\n"
TEXT = "Elle vient du marché."
FACT = "# text has ...'ntdumarché.' where the words have 'entdumarché.'"


def test_the_text_is_rebuilt_from_the_words() -> None:
    bad, good, none = read_sentences(BAD + GOOD + NO_TEXT)
    assert bad.text == good.text == none.text == TEXT
    assert bad.departures == (Departure("text-mismatch", FACT, 3),)
    assert good.departures == () and none.departures == ()
    assert bad.words == good.words


def test_strict_makes_a_problem_of_it_and_the_document_begins_all_the_same() -> None:
    bad, good = problem_and_sentence(read_items(BAD + GOOD, strict=True))
    assert (bad.id, bad.line, bad.sentence) == ("text-mismatch", 3, "bad")
    assert good.document is not None and good.document.name == "d"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "marché.conllu"
    path.write_text(GOOD + BAD + WORSE, encoding="utf-8")
    return path


@pytest.mark.slow
def test_they_are_counted_told_and_kept(
    tmp_path: Path,
    corpus: Path,
    tiny_model: Models,
    cli: Cli,
) -> None:
    bank, model = tmp_path / "bank.duckdb", str(tiny_model("bert"))
    words = ["-b", str(bank), "ingest", str(corpus), "-m", model]
    place = f"{corpus}:14"
    told = f"accepted: 2 text-mismatch, first at {place} (# text has ..."
    assert told in cli(*words, "--dry-run").out and not bank.exists()
    text = cli(*words).err
    assert told in text and "3 sentences" in text and "no sentences skipped" in text
    assert query_bank(bank, "select name, text from sentence order by id") == [
        ("good", TEXT), ("bad", TEXT), ("worse", TEXT)
    ]  # fmt: skip
    kept = query_bank(
        bank,
        "select sentence.name, place, reason from departure"
        " inner join sentence on sentence.id = departure.sentence order by sentence.id",
    )
    assert kept == [
        ("bad", place, "text-mismatch"), ("worse", f"{corpus}:25", "text-mismatch")
    ]  # fmt: skip
    assert told in cli(*words).err  # and again, where nothing is added
    text = cli("-b", bank, "info").out
    assert "accepted\n  2 text-mismatch  corpus marché; first: # text has" in text
    assert f"({place})" in text
    (row,) = json.loads(cli("-b", bank, "info", "-f", "json").out)["departures"]
    wanted = {"corpus": "marché", "reason": "text-mismatch", "n": 2, "place": place}
    assert row.items() >= wanted.items()


def test_strict_refuses(
    tmp_path: Path,
    corpus: Path,
    tiny_model: Models,
    cli: Cli,
) -> None:
    bank, model = tmp_path / "bank.duckdb", str(tiny_model("bert"))
    text = cli("-b", bank, "ingest", corpus, "-m", model, "--strict", status=1).err
    assert f"{corpus}:14: text-mismatch" in text and "2 problems" in text
    assert not bank.exists()
    options = IngestOptions((str(corpus),), bank, model, strict=True)
    with pytest.raises(CorpusError):
        estimate(options)
    add_text(replace(options, skip_bad=True))
    skipped = "select reason, count(*) from skipped group by reason"
    assert query_bank(bank, skipped) == [("text-mismatch", 2)]
    assert query_bank(bank, "select name from sentence") == [("good",)]
    assert not query_bank(bank, "from departure")


OTHERS = ("word", "position", "attention")


@pytest.mark.slow
def test_nothing_but_the_shown_text_depends_on_them(
    tmp_path: Path, corpus: Path, options_for: Options
) -> None:
    right = tmp_path / "right.conllu"
    text = corpus.read_text(encoding="utf-8").replace("# text = Elle vint", "# text = Elle vient")
    right.write_text(text.replace("# text =\n", f"# text = {TEXT}\n"), encoding="utf-8")
    rows, kept = [], []
    for path in (corpus, right):
        bank = tmp_path / f"{path.stem}.duckdb"
        report = ingest(options_for(bank, path))
        assert [departure.count for departure in report.departures] == (
            [2] if path == corpus else []
        )
        assert all(isinstance(departure, Departures) for departure in report.departures)
        read = ("select * exclude (metadata) from sentence", *map("from {}".format, OTHERS))
        rows.append([query_bank(bank, each) for each in read])
        kept.append(query_bank(bank, "select metadata from sentence order by id"))
    assert rows[0] == rows[1]
    given = [(None,), ({"text": "Elle vint du marché."},), ({"text": ""},)]
    assert kept == [given, [(None,)] * 3]


@pytest.mark.slow
@pytest.mark.few("gum-dev", "zh-dev")
@pytest.mark.parametrize("name", ["gum-dev", "fr-dev", "he-dev", "tr-dev", "zh-dev"])
def test_rebuilt_texts_of_treebanks(corpora: Path, name: str) -> None:
    """Without `# text`, the text is the one that the treebank gives, but for white space in it."""
    data = (corpora / f"{name}.conllu").read_bytes()
    gold = read_sentences(data)
    rebuilt = read_sentences(re.sub(rb"(?m)^# text =.*\n", b"", data))
    assert len(rebuilt) == len(gold) > 300
    assert not any(sentence.departures for sentence in gold)
    texts = [(one.text or "", other.text or "") for one, other in zip(gold, rebuilt, strict=True)]
    assert all(
        one.split() and "".join(one.split()) == "".join(other.split()) for one, other in texts
    )
    assert sum(one == other for one, other in texts) / len(texts) > 0.99


SPACED = """\
# sent_id = spaced
# text = Vámonos, dit-elle ( sans 10 000 mots)
1-2	Vámonos	_	_	_	_	_	_	_	_
1	Vamos	ir	VERB	_	_	0	root	_	_
2	nos	nosotros	PRON	_	_	1	obj	_	_
3	,	,	PUNCT	_	_	1	punct	_	_
4	dit	dire	VERB	_	_	1	parataxis	_	_
5	-elle	elle	PRON	_	_	4	nsubj	_	_
6	(	(	PUNCT	_	_	9	punct	_	SpaceAfter=No
7	sans	sans	ADP	_	_	9	case	_	_
8	10 000	10000	NUM	_	_	9	nummod	_	_
9	mots	mot	NOUN	_	_	4	obl	_	SpaceAfter=No
10	)	)	PUNCT	_	_	9	punct	_	SpaceAfter=No

"""


def test_words_are_spaced_as_the_text_is() -> None:
    sentence = read_sentence(SPACED)
    after = [word.form for word in sentence.words if not word.space_after]
    assert after == ["Vamos", "nos", "dit", "mots", ")"]
    assert sentence.text == "Vámonos, dit-elle ( sans 10 000 mots)"
    fact = (
        "# text has no space after 'Vámonos', which does not match SpaceAfter (and 2 more differ)"
    )
    assert sentence.departures == (Departure("space-mismatch", fact, 2),)
    assert read_problem(SPACED, strict=True).id == "space-mismatch"
    at_the_end = "_".join(SPACED.rsplit("SpaceAfter=No", 1))  # where # text shows no space
    assert read_sentence(at_the_end).words[-1].space_after
    joined = SPACED.replace("# text = Vámonos, dit-elle", "# text = Va\u0301monos, dit-elle")
    other = read_sentence(joined)  # accents are written otherwise: what MISC says stays
    assert other.departures == ()
    after = [word.form for word in other.words if not word.space_after]
    assert after == ["Vamos", "(", "mots", ")"]


ZERO = """# global.Entity = eid-etype-head-other
1\tAna\tAna\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(e1-person-1-)
2\tllegó\tllegar\tVERB\t_\t_\t0\troot\t_\t_

0.1\t_\t_\tPRON\t_\t_\t_\t_\t1:nsubj\tEntity=(e1-person-1-)(e2-person-1
1\tDurmió\tdormir\tVERB\t_\t_\t0\troot\t_\tEntity=e2)
1.1\t_\t_\tPRON\t_\t_\t_\t_\t1:obj\tEntity=(e3-person-1-)

"""
"""Two mentions of an empty node alone, and one of an empty node and a word."""


def test_mentions_of_empty_nodes_are_counted_and_strict_has_nothing_against_them(
    tmp_path: Path, cli: Cli
) -> None:
    path, bank = tmp_path / "cero.conllu", tmp_path / "bank.duckdb"
    path.write_text(ZERO, encoding="utf-8")
    words = ["-b", str(bank), "ingest", str(path), "-m", "none", "--strict"]
    told = f"left out: 2 zero-mention, first at {path}:5 (a mention of entity e1 is an empty node)"
    for _ in range(2):  # made, and found again
        assert told + "\n" in cli(*words).err
    assert query_bank(bank, "select entity_name from mention order by id") == [("e1",), ("e2",)]
    text = cli("-b", bank, "info").out
    assert "left out\n  2 zero-mention  corpus cero; first: a mention of entity e1" in text
    assert "accepted" not in text


def test_tags_of_version_1_and_in_other_case_are_read_and_told() -> None:
    rows = ROWS.replace("PRON\t_\t_\t2", "CONJ\t_\t_\t2").replace("\tNOUN", "\tNoun")
    sentence = read_sentence(rows + "\n")
    tags = ["CCONJ", "VERB", "ADP", "DET", "NOUN", "PUNCT"]
    assert [word.upos for word in sentence.words] == tags
    assert facts(sentence.departures) == [
        ("other-upos", "UPOS is CONJ for 'Elle', read as CCONJ", 1),
        ("other-upos", "UPOS is Noun for 'marché', read as NOUN", 7),
    ]
    for tag in ("PRT", ".", "NN", "Conj"):  # which of UD's they are, nobody knows
        assert read_problem(rows.replace("\tNoun", f"\t{tag}") + "\n").id == "bad-upos"


def _pud(*sentences: tuple[str, str]) -> str:
    """Sentences as in UD_Arabic-PUD: each has a newdoc, and the names of documents repeat."""
    return "".join(
        f"# newdoc id = {document}\n# sent_id = {name}\n# text = {TEXT}\n{ROWS}\n"
        for document, name in sentences
    )


def test_newdoc_on_every_sentence() -> None:
    """The document goes on where it is the one above; else it is another one of the name."""
    text = _pud(("n1", "a"), ("n1", "b"), ("n2", "a"), ("n2", "a"), ("n1", "c"), ("n1", "d"))
    read = read_sentences(text)
    names = [(sentence.document and sentence.document.name, sentence.name) for sentence in read]
    assert names == [
        ("n1", "a"), (None, "b"), ("n2", "a"), (None, "a"), ("n1 (2)", "c"), (None, "d")
    ]  # fmt: skip
    assert [sentence.paragraph for sentence in read] == [None] * 6
    lines = text.count("\n") // 6
    assert [[departure[::2] for departure in facts(sentence.departures)] for sentence in read] == [
        [],
        [("repeated-document", lines + 1)],
        [],
        [("repeated-document", 3 * lines + 1), ("duplicate-sent-id", 3 * lines + 2)],
        [("repeated-document", 4 * lines + 1)],
        [("repeated-document", 5 * lines + 1)],
    ]
    problems = [item for item in read_items(text, strict=True) if isinstance(item, Problem)]
    assert [problem.id for problem in problems] == ["repeated-document"] * 4


def test_a_departure_above_a_faulty_sentence_is_told_with_the_next() -> None:
    faulty = _pud(("n1", "b")).replace("2\tnsubj", "9\tnsubj")
    first, *later = read_items(_pud(("n1", "a")) + faulty + NO_TEXT)
    problem, last = problem_and_sentence(later)
    assert problem.id == "head-out-of-range"
    assert isinstance(first, Sentence) and not first.departures
    assert [departure.id for departure in last.departures] == ["repeated-document"]


SCRIPTORIUM = """# newdoc id = d
# global.Entity = etype-identity
# sent_id = a
1\tshe\tshe\tPRON\t_\t_\t2\tnsubj\t_\tEntity=(person)
2\tmet\tmeet\tVERB\t_\t_\t0\troot\t_\t_
3\tthe\tthe\tDET\t_\t_\t4\tdet\t_\tEntity=(person
4\tpriest\tpriest\tNOUN\t_\t_\t2\tobj\t_\t_
5\tof\tof\tADP\t_\t_\t6\tcase\t_\t_
6\tRakote\tRakote\tPROPN\t_\t_\t4\tnmod\t_\tEntity=(place-Alexandria)person)

# sent_id = b
1\tshe\tshe\tPRON\t_\t_\t2\tnsubj\t_\tEntity=(person)
2\tleft\tleave\tVERB\t_\t_\t0\troot\t_\t_

"""


def test_mentions_that_name_no_entity(bank_of: BankFactory) -> None:
    """As in Coptic Scriptorium: types and identities are read, and no mention corefers."""
    bank = bank_of({"cop.conllu": SCRIPTORIUM}, "none")
    assert query_bank(bank, "select reason from departure") == [("no-entity-group",)]
    mentions = query_bank(
        bank,
        "select type, identity, last_word - first_word + 1, word.form, kind from mention"
        " inner join word on word.id = head_word order by mention.id",
    )
    assert mentions == [
        ("person", None, 1, "she", "pronoun"),
        ("person", None, 4, "priest", "nominal"),
        ("place", "Alexandria", 1, "Rakote", "proper"),
        ("person", None, 1, "she", "pronoun"),
    ]
    assert query_bank(bank, "select count(distinct entity), count(*) from mention") == [(4, 4)]
    refused, _ = problem_and_sentence(read_items(SCRIPTORIUM, strict=True))
    assert refused.id == "no-entity-group"
