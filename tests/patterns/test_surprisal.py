"""Requests that ask how improbable a model finds words: `N.surprisal`."""

from __future__ import annotations

import shlex
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import given_surprisals
import pytest
from bank_factory import BankFactory
from command_line import Cli
from fixture_types import Models
from judged import Judged, check, judged_bank
from patterns.requests import SURPRISAL, draw

from attnbank.cli.app import run_command_line
from attnbank.ingest import save_relation
from attnbank.queries import Bank, open_bank
from attnbank.queries.dialects import indented_sql
from attnbank.queries.patterns import (
    HitOptions,
    RequestError,
    compile_request,
    request_for_count_row,
)
from attnbank.queries.patterns.scoring import SELECTED
from attnbank.queries.requests import run_of_request
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError

OBJECTS = "pattern { V -[1=obj]-> O }"


@pytest.fixture(scope="module")
def path(tiny_model: Models, bank_of: BankFactory) -> Path:
    """Two runs of a causal model over a part of the sample, of which the second is measured."""
    words = bank_of("sample", "gpt2", limit=10)
    measured = (f"surprisal 2 --model {tiny_model('gpt2')}",)
    return bank_of("sample", "gpt2", after=words, then=measured, limit=20, unit="token")


@pytest.fixture(scope="module")
def bank(path: Path) -> Iterator[Bank]:
    with open_bank(path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ("pattern { V [surprisal=8] }", "outside the brackets"),
        ("pattern { V [surprisal<>8|9] }", "outside the brackets"),
        ("pattern { V []; V.surprisal > abc }", "must be followed by a number"),
        ("pattern { V []; V.surprisal > nan }", "must be followed by a number"),
        ("pattern { V []; V.surprisal = nan }", "must be followed by a number"),
        ("pattern { V []; V.surprisal = 8x }", "must be followed by a number"),
        ("pattern { V []; V.surprisal > 1e999 }", "1e999 is too large"),
        ('pattern { V []; V.surprisal < "inf" }', "inf is too large"),
        (f"pattern {{ V []; V.surprisal > {'9' * 400} }}", "is too large"),
        ("pattern { V []; V.surprisal - 1e999 > 2 }", "Unexpected"),
        ("pattern { V []; W []; V.surprisal > W.surprisal + 1e999 }", "is not a finite number"),
        ("pattern { V []; V.surprisal = V.lemma }", "is a text, and surprisal a number"),
        ("pattern { V []; V.surprisal > V.lemma }", "is a text, which has no order"),
        ("pattern { V []; V.surprisal/upos = 8 }", "mixes a number and a text"),
        ("pattern { V []; V.ExtPos/surprisal > 8 }", "mixes a number and a text"),
        ("pattern { V [ExtPos=ADV/surprisal=8] }", "outside the brackets"),
        ("pattern { surprisal.surprisal > 8 }", "surprisal is not declared"),
        ("pattern { V [surprisal > 8] }", "Unexpected '>'"),
        ('pattern { V []; V.surprisal = re"8.*" }', "regular expression"),
    ],
)
def test_what_it_cannot_be(bank: Bank, request_: str, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        bank.find(request_)


def test_one_run_is_read_which_has_surprisals(bank: Bank, path: Path, cli: Cli) -> None:
    asked = "pattern { V [upos=VERB]; V.surprisal > 6 }"
    assert set(bank.find(asked)["run"]) == {bank.runs()["name"][1]}
    with pytest.raises(CallError, match="its words have no surprisal"):
        bank.find(asked, run=1)
    with pytest.raises(CallError, match="does not ask about attention or surprisal"):
        bank.find("pattern { V [upos=VERB] }", run=2)
    with pytest.raises(CallError, match="can read only one run"):
        bank.score(f"{OBJECTS[:-1]}; V.surprisal > 6 }}", dependent="O", head="V", run=[1, 2])
    cli("-b", path, "find", asked, "--show-sql")


@pytest.mark.slow
def test_a_relation_of_improbable_words(bank: Bank, path: Path, tmp_path: Path) -> None:
    """It is chosen by what the model does, which is told; but no head was asked where it looks."""
    own = Path(shutil.copy(path, tmp_path))
    request = "pattern { V -[1=obj]-> O; O.surprisal > 6 }"
    with open_bank(own) as opened, pytest.warns(AttnbankWarning) as told:
        count = opened.count(request)["n"].item()
        assert save_relation(opened, "surprising", request, dependent="O", head="V", run=2) == count
        assert [str(each.message) for each in told] == [SELECTED]
    with open_bank(own) as opened, pytest.warns(AttnbankWarning) as told:
        rows = opened.query("best_head_test", relation="surprising", run=1)
    assert SELECTED in [str(each.message) for each in told]
    assert rows["p_corrected"].null_count() == 0 < rows.height


@pytest.fixture(scope="module")
def given(sample_bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample with surprisals that were made up: for three of four sentences of its run."""
    own = Path(shutil.copy(sample_bank, tmp_path_factory.mktemp("given") / "bank.duckdb"))
    given_surprisals.give(own, 4)
    return own


@pytest.fixture(scope="module")
def judged(given: Path) -> Iterator[Judged]:
    yield from judged_bank(given)


@pytest.mark.filterwarnings("ignore:No word has", "ignore:.*have not been measured")
def test_it_finds_what_the_slow_matcher_finds(judged: Judged) -> None:
    assert check(SURPRISAL, judged, step=4) == len(SURPRISAL) >= 35
    assert check([each for each in SURPRISAL if "~" in each], judged, "document") == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No word has", "ignore:.*have not been measured")
def test_requests_that_are_drawn(judged: Judged) -> None:
    drawn = [draw(seed, judged[1]) for seed in range(400)]
    asked = [each for each in drawn if "surprisal" in each]
    assert len(asked) > 30 and check(asked, judged) > len(asked) / 2


@pytest.mark.filterwarnings("ignore:.*have not been measured")
def test_what_is_asked_for_is_shown(judged: Judged) -> None:
    bank, corpus = judged
    words = {sentence.name: sentence.words for sentence in corpus.sentences}
    for request, columns, shown in (
        ("pattern { V -[obj]-> O; V.surprisal > 8 }", "", {"V"}),
        ("pattern { V -[obj]-> O; V.surprisal > 8 }", "V.lemma, V.surprisal", {"V"}),
        ("pattern { V -[obj]-> O } without { O.surprisal > V.surprisal }", "", {"V", "O"}),
        ("pattern { V -[obj]-> O; O [!surprisal] }", "", {"O"}),
        ("pattern { V -[obj]-> O } with { V -> X; X.surprisal > 8 }", "", set()),
        ("pattern { surprisal -[obj]-> O }", "surprisal.surprisal", {"surprisal"}),
    ):
        hits = bank.find(request, columns=columns, context=False)
        there = [name for name in hits.columns if name.endswith(".surprisal")]
        assert there == [f"{name}.surprisal" for name in hits.columns if name in shown], request
        assert hits.height > 3
        for row in hits.to_dicts():
            for name in shown:
                word = words[row["sent_id"]][row[name]]
                assert row[f"{name}.surprisal"] == word.surprisal
    lines = bank.find("pattern { V [upos=VERB]; V.surprisal > 8 }", sort="V.surprisal")
    assert lines["V.surprisal"].is_sorted() and "hit" in lines.columns


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*have not been measured")
def test_counts_are_by_whole_nats_and_in_their_order(judged: Judged, given: Path) -> None:
    bank, corpus = judged
    counts = bank.count("pattern { V [upos=VERB] }", "V.surprisal")
    expected: Counter[str | None] = Counter()
    for at in corpus.measured:
        for word in corpus.sentences[at].words:
            if word.features.get("upos") == "VERB":
                nats = word.surprisal
                begin = None if nats is None else int(nats // 1)
                expected[None if begin is None else f"[{begin}, {begin + 1}["] += 1
    assert dict(counts.select("V.surprisal[gap=1]", "n").rows()) == expected
    begins = [each and int(each[1:].split(",")[0]) for each in counts["V.surprisal[gap=1]"]]
    assert begins[-1] is None and begins[:-1] == sorted(begins[:-1]) and len(begins) > 15
    request = "pattern { V [upos=VERB] }"
    for by in ("V.surprisal", "V.surprisal[gap=5, min=2, max=12]", "V.surprisal - V.__id__"):
        frame = bank.count(request, by)
        for value, n in frame.select(frame.columns[0], "n").rows():
            if value is not None or "-" not in by:
                assert bank.find(request_for_count_row(request, by, (value,))).height == n, (
                    by,
                    value,
                )
    options = HitOptions(run=run_of_request(bank.backend, request, columns="V.surprisal"))
    made = compile_request(request, columns="V.surprisal", choice=options, counts=True)
    assert sorted(bank.sql(indented_sql(made.statement)).rows(), key=str) == sorted(
        counts.rows(), key=str
    )


@pytest.mark.filterwarnings("ignore:.*have not been measured")
def test_the_surprisal_of_what_a_head_looks_at(judged: Judged) -> None:
    bank, corpus = judged
    words = {sentence.name: sentence.words for sentence in corpus.sentences}
    keys = "looks_at(3-1, O).__id__, looks_at(3-1, O).surprisal"
    hits = bank.find("pattern { V -[obj]-> O }", columns=keys, context=False)
    index, nats = keys.split(", looks")[0], f"looks{keys.split(', looks')[1]}"
    assert hits[nats].count() > 10
    for row in hits.to_dicts():
        looked_at = row[index]
        known = None if looked_at is None else words[row["sent_id"]][looked_at].surprisal
        assert row[nats] == known


@pytest.mark.filterwarnings("ignore:.*have not been measured")
def test_every_digit_of_a_number_counts(judged: Judged) -> None:
    bank, _ = judged
    for number, equal in (("8", True), ("8.0000001", False), ("08.00", True), ("80e-1", True)):
        same = bank.count(f"pattern {{ V [upos=VERB]; V.surprisal = {number} }}")["n"].item()
        assert bool(same) == equal, number
    request = "pattern { e: A =[3-1]=> B; e.weight = W }"
    weight = bank.find("pattern { e: A =[3-1]=> B }", columns="e.weight", limit=1)["e.weight"][0]
    assert bank.find(request.replace("W", repr(weight))).height >= 1


def test_sentences_that_were_not_measured_are_told(judged: Judged) -> None:
    bank, corpus = judged
    read = {at for at, _ in corpus.positions}
    left = sum(len(corpus.sentences[at].words) - 1 for at in read - corpus.measured)
    with pytest.warns(
        AttnbankWarning, match=f"{left:,} words of the run .* have not been measured"
    ):
        hits = bank.find("pattern { V [upos=VERB]; V.surprisal > 8 }")
    names = {corpus.sentences[at].name for at in corpus.measured}
    assert hits.height > 0 and set(hits["sent_id"]) <= names


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*have not been measured")
def test_heads_are_judged_on_improbable_words(judged: Judged) -> None:
    bank, corpus = judged
    request = "pattern { V -[obj]-> O; O.surprisal > 8 }"
    with pytest.warns(AttnbankWarning, match="selects pairs by surprisal"):
        scores = bank.score(request, dependent="O", head="V")
    expected = sum(
        word.deprel == "obj" and (word.surprisal or 0) > 8
        for at in corpus.measured
        for word in corpus.sentences[at].words
    )
    assert scores["n"].to_list() == [expected] and scores["p_corrected"].null_count() == 0
    with warnings.catch_warnings(record=True) as caught:  # here all pairs are judged
        warnings.simplefilter("always")
        asked = "pattern { V -[obj]-> O }"
        groups = bank.score(asked, dependent="O", head="V", by="O.surprisal, V.upos")
    assert SELECTED not in [str(each.message) for each in caught]
    assert any("have not been measured" in str(each.message) for each in caught)
    begins = [group and int(group[1:].split(",")[0]) for group in groups["O.surprisal[gap=1]"]]
    assert begins[-1] is None and begins[:-1] == sorted(begins[:-1]) and max(begins[:-1]) > 9
    every = [word for at in corpus.measured for word in corpus.sentences[at].words]
    assert groups["n"].sum() == sum(word.deprel == "obj" for word in every)
    with pytest.warns(AttnbankWarning, match="that is circular") as told:
        both = bank.score("pattern { O =[3-1]=> V; O.surprisal > 8 }", dependent="O", head="V")
    assert both["p_corrected"].to_list() == [None]
    assert SELECTED not in [str(each.message) for each in told]


def test_the_run_that_is_judged_has_the_surprisals(path: Path) -> None:
    """Of the two runs only the one over tokens has them, whose heads score does not judge."""
    with open_bank(path) as bank:
        with pytest.raises(QueryError, match=r"No run in .* is suitable") as refused:
            bank.score(f"{OBJECTS[:-1]}; O.surprisal > 6 }}", dependent="O", head="V")
        assert "its words have no surprisal" in str(refused.value)
        assert "its positions are tokens" in str(refused.value)


@pytest.mark.slow
def test_a_bank_without_surprisals_says_what_to_type(
    sample_bank: Path, sample_text_bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = "pattern { V [upos=VERB]; V.surprisal > 8 }"
    for command in (
        ["find", asked], ["find", asked, "--show-sql"], ["count", asked], ["show", asked],
        ["find", "pattern { V [upos=VERB] }", "--sort", "V.surprisal"],
        ["count", "pattern { V [upos=VERB] }", "--by", "V.surprisal[gap=2]"],
        ["score", asked.replace("}", "; V -> O }"), "--from", "O", "--to", "V"],
        ["find", asked, "--run", "sample/minilm"],
    ):  # fmt: skip
        assert run_command_line(["-b", str(sample_bank), *command]) in (1, 2), command
        _, told = capfd.readouterr()
        assert "its words have no surprisal" in told and len(told.splitlines()) == 2, told
        typed = shlex.split(told.splitlines()[1].partition("Type: ")[2])
        assert typed[:1] + typed[-2:] == ["attnbank", "surprisal", "RUN"], told
    assert run_command_line(["-b", str(sample_text_bank), "find", asked]) == 1
    _, told = capfd.readouterr()
    assert "has no run" in told and len(told.splitlines()) == 2


def test_people_see_it_beside_the_words(given: Path, cli: Cli) -> None:
    asked = "pattern { V [upos=VERB]; V.surprisal > 8 }"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = cli("-b", given, "find", asked, "--limit", "3").out.splitlines()
    assert lines[0] == "Run: sample/minilm" and lines[1].endswith("V.surprisal")
    header, *rows = cli("-b", given, "find", asked, "--limit", "3", "-f", "csv").out.splitlines()
    assert header == "sent_id,V,V.surprisal,run" and len(rows) == 3
    out = cli("-b", given, "count", asked, "--by", "V.surprisal", "--show").out
    assert "with { V.surprisal >= 19; V.surprisal < 20 }" in out
