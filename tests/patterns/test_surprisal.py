"""Requests that ask how improbable a model finds words: `N.surprisal`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from attnbank.cli.app import run
from attnbank.ingest import IngestOptions, ingest, save_relation, surprisal
from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import RequestError
from attnbank.sql.errors import CallError

OBJECTS = "pattern { V -[1=obj]-> O }"


@pytest.fixture(scope="module")
def path(
    sample: Path, tiny_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Two runs of a causal model over a part of the sample, of which the second is measured."""
    bank = tmp_path_factory.mktemp("surprisal") / "bank.duckdb"
    for options in ({"limit": 10}, {"limit": 60, "unit": "token"}):
        ingest(IngestOptions((str(sample),), bank, str(tiny_model("gpt2")), **options))
    surprisal(bank, run=2)
    return bank


@pytest.fixture
def bank(path: Path) -> Iterator[Bank]:
    with open_bank(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def words(path: Path) -> list[dict[str, object]]:
    """Every word of a sentence that the measured run has read, with its surprisal."""
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.sql(
            "select word.*, sentence.name as sent_id, nats from word inner join sentence on"
            " sentence.id = word.sentence inner join surprisal on surprisal.word = word.id"
            " where run = 2 order by word.id"
        )
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def _objects(words: list[dict[str, object]]) -> list[tuple[dict[str, object], dict[str, object]]]:
    """Verb and object, by loops over all words of a sentence."""
    return [
        (verb, own)
        for own in words
        if str(own["deprel"]).split(":")[0] == "obj"
        for verb in words
        if (verb["sentence"], verb["index"]) == (own["sentence"], own["head_index"])
    ]


@pytest.mark.parametrize(
    ("clause", "holds"),
    [
        ("V.surprisal > 6.5", lambda v, o: v > 6.5),
        ("O.surprisal <= 6", lambda v, o: o <= 6),
        ("V.surprisal > O.surprisal", lambda v, o: v > o),
        ("V.surprisal - O.surprisal >= 0.5", lambda v, o: v - o >= 0.5),
        ("V.surprisal <> 6; O.surprisal < 7", lambda v, o: v != 6 and o < 7),
    ],
)
def test_comparisons(
    clause: str,
    holds: Callable[[float, float], bool],
    bank: Bank,
    words: list[dict[str, object]],
) -> None:
    expected = {
        (verb["sent_id"], verb["index"], own["index"])
        for verb, own in _objects(words)
        if verb["nats"] is not None and own["nats"] is not None
        and holds(float(str(verb["nats"])), float(str(own["nats"])))
    }  # fmt: skip
    asked = f"pattern {{ V -[1=obj]-> O; {clause} }}"
    if "V" not in clause or "O" not in clause:  # both are asked for, as in the loops
        asked = f"pattern {{ V -[1=obj]-> O; V [surprisal]; O [surprisal]; {clause} }}"
    found = bank.find(asked, context=False)
    assert set(found.select("sent_id", "V", "O").rows()) == expected
    every = len({(verb["sentence"], own["index"]) for verb, own in _objects(words)})
    assert 0 < len(expected) < every
    assert set(found["run"]) == {bank.runs()["name"][1]}


def test_keys_show_it(bank: Bank, words: list[dict[str, object]]) -> None:
    by_place = {(each["sent_id"], each["index"]): each["nats"] for each in words}
    found = bank.find(OBJECTS, columns="V.surprisal, O.surprisal", context=False)
    assert found.height == len(_objects(words)) > 20
    for row in found.to_dicts():
        for node in "VO":
            assert row[f"{node}.surprisal"] == by_place[row["sent_id"], row[node]]
    counted = bank.count("pattern { V [upos=VERB, surprisal] }", by="V.surprisal[gap=2]")
    bins: dict[str, int] = {}
    for each in words:
        if each["upos"] == "VERB" and each["nats"] is not None:
            low = int(float(str(each["nats"])) // 2 * 2)
            bins[f"[{low}, {low + 2}["] = bins.get(f"[{low}, {low + 2}[", 0) + 1
    assert dict(counted.select("V.surprisal[gap=2]", "n").rows()) == bins


def test_words_without_one(bank: Bank, words: list[dict[str, object]]) -> None:
    without = {(each["sent_id"], each["index"]) for each in words if each["nats"] is None}
    found = bank.find('pattern { V [!surprisal, form<>"__0__"] }', context=False)
    assert set(found.select("sent_id", "V").rows()) == without and without
    larger, not_larger = (
        bank.count(f"pattern {{ V [form] }} {kind} {{ V.surprisal > 6 }}")["n"].item()
        for kind in ("with", "without")
    )
    assert larger + not_larger >= len(words) > larger > 0


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ("pattern { V [surprisal=8] }", "outside of brackets"),
        ("pattern { V [surprisal<>8|9] }", "outside of brackets"),
        ("pattern { V []; V.surprisal > abc }", "must be followed by a number"),
        ("pattern { V []; V.surprisal > nan }", "must be followed by a number"),
        ('pattern { V []; V.surprisal = re"8.*" }', "regular expression"),
    ],
)
def test_what_it_cannot_be(bank: Bank, request_: str, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        bank.find(request_)


def test_one_run_is_read_which_has_surprisals(bank: Bank, path: Path) -> None:
    asked = "pattern { V [upos=VERB]; V.surprisal > 6 }"
    with pytest.raises(CallError, match="its words have no surprisal"):
        bank.find(asked, run=1)
    with pytest.raises(CallError, match="does not ask about attention or surprisal"):
        bank.find("pattern { V [upos=VERB] }", run=2)
    with pytest.raises(CallError, match="can read only one run"):
        bank.score(f"{OBJECTS[:-1]}; V.surprisal > 6 }}", dependent="O", head="V", run=[1, 2])
    assert bank.find("pattern { V []; V.surprisal > 1e999 }").height == 0
    assert run(["-b", str(path), "find", asked, "--show-sql"]) == 0


def test_a_relation_of_improbable_words(bank: Bank, path: Path, tmp_path: Path) -> None:
    import shutil

    own = Path(shutil.copy(path, tmp_path))
    request = "pattern { V -[1=obj]-> O; O.surprisal > 6 }"
    with open_bank(own) as opened:
        count = opened.count(request)["n"].item()
        assert save_relation(opened, "surprising", request, dependent="O", head="V", run=2) == count
    with open_bank(own) as opened:
        found = opened.query("head_accuracy", relation="surprising", run=1)
        assert set(found["relation"]) == {"surprising"}
