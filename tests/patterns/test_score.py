"""Which head looks along the pairs of a request; and pairs that are saved as a relation."""

from __future__ import annotations

import csv
import shutil
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from oracle_heads import Reading
from oracle_statistics import interval, paired_interval

from attnbank.ingest import IngestOptions, ingest, save_relation
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError

OBJECTS = "pattern { V -[obj]-> O }"


@pytest.fixture(scope="module")
def with_control(sample_bank: Path, bank_of: BankFactory) -> Path:
    """The bank of the sample with a control of random weights, of two seeds."""
    first = bank_of("sample", "minilm", after=sample_bank, random_weights=3)
    return bank_of("sample", "minilm", after=first, random_weights=1)


@pytest.fixture
def own(sample_bank: Path, tmp_path: Path) -> Path:
    """A copy of the bank of the sample, to be written to."""
    return Path(shutil.copy(sample_bank, tmp_path / "bank.duckdb"))


@pytest.mark.usual("obj")
@pytest.mark.parametrize("relation", ["obj", "nsubj", "det"])
def test_the_pairs_of_a_relation_get_its_row(full_bank: Path, relation: str) -> None:
    before = full_bank.read_bytes()
    with open_bank(full_bank) as bank:
        request = f"pattern {{ V -[1={relation}]-> O }}"
        scores = bank.score(request, dependent="O", head="V")
        wanted = bank.query("best_head", relation=relation)
        tested = bank.query("best_head_test", relation=relation)
        held_out = bank.query("best_head_held_out", relation=relation, min_count=1)
        every = bank.score(request, dependent="O", head="V", every=True)
        distances = bank.score(request, dependent="O", head="V", by="delta(V, O), O.Number")
        assert every.equals(bank.query("head_score", relation=relation))
    assert scores.equals(tested.drop("relation"))
    assert 1 < distances["O.Number"].null_count() < distances.height > 1
    assert distances["n"].sum() == scores["n"][0]  # pairs without a number are a group, too
    # What the distance is says whether the offset is right.
    assert set(distances["offset_accuracy"]) == set(distances["gain"]) == {None}
    shared = [name for name in wanted.columns if name in scores.columns]
    assert len(shared) == 16 and scores.select(shared).equals(wanted.select(shared))
    assert scores.select(pl.col("^held_out_.*$")).row(0) == held_out.select(
        "n", "layer", "head", "direction", "accuracy", "low", "high", "offset",
        "offset_accuracy", "gain", "gain_low", "gain_high", "p_value",
    ).row(0)  # fmt: skip
    assert scores["tried"][0] == every.height
    for name in ("p_corrected", "p_documents_corrected"):
        assert scores[name][0] == every[name][0]
    assert full_bank.read_bytes() == before


@pytest.mark.slow
def test_each_seed_of_random_weights_stands_beside_it(with_control: Path) -> None:
    with open_bank(with_control) as bank:
        scores = bank.score(OBJECTS, dependent="O", head="V")
        controls = ["sample/minilm-random-1", "sample/minilm-random-3"]
        assert scores["run"].to_list() == ["sample/minilm", *controls]
        each = [bank.query("best_head_test", relation="obj", run=name) for name in controls]
        assert scores[1:].equals(pl.concat(each).drop("relation"))
        alone = bank.score(OBJECTS, dependent="O", head="V", run="sample/minilm-random-3")
        assert alone["run"].to_list() == ["sample/minilm-random-3"]


@pytest.mark.slow
def test_groups_are_those_of_the_hits(sample_bank: Path) -> None:
    one = Reading(sample_bank, "sample/minilm")
    with open_bank(sample_bank) as bank:
        scores = bank.score(OBJECTS, dependent="O", head="V", by="V.lemma, O.upos")
        distances = bank.score(OBJECTS, dependent="O", head="V", by="O.upos, delta(V, O)")
        (best,) = bank.score(OBJECTS, dependent="O", head="V").to_dicts()
    lemma = dict(query_bank(sample_bank, "select id, lemma from word"))
    # What the distance is says whether the offset is right.
    assert set(distances["offset_accuracy"]) == set(distances["gain_low"]) == {None}
    assert distances["accuracy"].null_count() == 0
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for word in one.dependents("obj"):
        head = one.head(word)
        assert head is not None
        groups[lemma[head], one.words[word].tag].append(word)
    key = best["layer"], best["head"], best["direction"]
    told = {(row["V.lemma"], row["O.upos"]): row for row in scores.iter_rows(named=True)}
    assert told.keys() == groups.keys()
    for group, words in groups.items():
        counts: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        right = there = 0
        for word in words:
            is_right = one.found[word][key] == one.head(word)
            is_there = one.head(word) == word + best["offset"]
            right, there = right + is_right, there + is_there
            counted = counts[one.cluster[word]]
            counted[0] += is_right and not is_there
            counted[1] += is_there and not is_right
            counted[2] += 1
        row = told[group]
        assert row["n"] == len(words)
        assert row["accuracy"] == pytest.approx(right / len(words))
        assert row["offset_accuracy"] == pytest.approx(there / len(words))
        assert row["gain"] == pytest.approx((right - there) / len(words))
        ends = paired_interval([(a, b, n) for a, b, n in counts.values()])
        wanted = (None, None) if ends is None else pytest.approx(ends, abs=2e-3)
        assert (row["gain_low"], row["gain_high"]) == wanted
    assert scores["n"].to_list() == sorted(scores["n"], reverse=True)
    assert scores.select("layer", "head", "direction").unique().rows() == [key]


def test_the_nodes_that_are_missing_are_named(sample_bank: Path, cli: Cli) -> None:
    told = {
        "pattern { V -[nsubj]-> S; V -[obj]-> O }": (
            "--from and --to are missing; the request has the nodes V, S, O.",
            "Type: --from S --to V (the dependent, its head).",
        ),
        "pattern { A [upos=NOUN]; B [upos=VERB] } --to A": (
            "--from is missing; the request has the nodes A, B.", "Type: --from B --to A (",
        ),
        "pattern { A [upos=NOUN] }": ("A pair of words has two nodes", "--from O --to V"),
        "pattern { A -> }": ("Line 1, column 16 of the request",),
    }  # fmt: skip
    for typed, wanted in told.items():
        request, _, options = typed.partition(" --")
        given = f"--{options}".split() if options else []
        for command in (["score"], ["save", "name"]):
            error = cli("-b", sample_bank, *command, request, *given, status=2).err
            assert all(each in error for each in wanted), error


@pytest.mark.slow
def test_each_group_has_its_own_best_head(sample_bank: Path) -> None:
    """Also: pairs apart, groups of a least size, in the order of lengths."""
    one = Reading(sample_bank, "sample/minilm")
    with open_bank(sample_bank) as bank:
        ask: dict[str, Any] = {
            "dependent": "O",
            "head": "V",
            "by": "length(V, O)",
            "apart": 2,
            "min_count": 4,
        }
        scores = bank.score(OBJECTS, each=True, **ask)
        common = bank.score(OBJECTS, **ask)
    groups: dict[int, list[int]] = defaultdict(list)
    for word in one.dependents("obj"):
        head = one.head(word)
        assert head is not None
        groups[abs(word - head)].append(word)
    lengths = sorted(length for length, words in groups.items() if length > 1 and len(words) > 3)
    assert scores["length(V, O)"].to_list() == common["length(V, O)"].to_list() == lengths
    assert len(lengths) > 2
    for row in scores.iter_rows(named=True):
        words = groups[row["length(V, O)"]]
        best_head, right = one.best(words)
        assert (row["layer"], row["head"], row["direction"]) == best_head
        assert (row["n"], row["accuracy"]) == (len(words), len(right) / len(words))
        tried = {
            offset: sum(
                one.place[one.head(word) or 0][1] - one.place[word][1] == offset for word in words
            )
            for offset in (-1, 1, -2, 2, -3, 3)
        }
        best = max(tried, key=lambda offset: tried[offset])
        assert (row["offset"], row["offset_accuracy"]) == (best, None)
        outcomes: dict[int, list[bool]] = defaultdict(list)
        for word in words:
            outcomes[one.cluster[word]].append(word in right)
        told = interval(list(outcomes.values()))
        wanted = (None, None) if told is None else pytest.approx(told[1:], rel=2e-3, abs=1e-12)
        assert (row["low"], row["high"]) == wanted


@pytest.mark.slow
def test_what_reads_attention_is_called_circular(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank:
        for request, by in (("pattern { A =[3-1]=> B }", ""), (OBJECTS, "{ O =[3-1]=> V }")):
            nodes: dict[str, Any] = {"dependent": "O", "head": "V"}
            if not by:
                nodes = {"dependent": "A", "head": "B"}
            with pytest.warns(AttnbankWarning, match="that is circular"):
                scores = bank.score(request, by=by, **nodes)
            assert scores.height
            if not by:
                assert scores["accuracy"].to_list() == [1.0]
                assert scores.select("p_corrected", "p_documents_corrected").row(0) == (None, None)
        with pytest.raises(CallError, match="can read only one run"):
            bank.score("pattern { A =[3-1]=> B }", dependent="A", head="B", run=["a", "b"])


def test_a_saved_relation_of_attention_is_circular_too(full_bank: Path, tmp_path: Path) -> None:
    own = Path(shutil.copy(full_bank, tmp_path))
    with open_bank(own) as bank:
        save_relation(bank, "looked_at", "pattern { A =[3-1]=> B }", dependent="A", head="B")
    with open_bank(own) as bank, pytest.warns(AttnbankWarning, match="that is circular"):
        rows = bank.query("best_head_test", relation="looked_at")
        plain = bank.sql(
            "select accuracy, columns('(^|_)p_')"
            " from head_score(relation := 'looked_at', run := $run)",
            {"run": rows["run"][0]},
        )
    assert rows["accuracy"].to_list() == [1.0]
    assert rows.select("p_corrected", "p_documents_corrected").row(0) == (None, None)
    assert plain.width == 5 and plain.height == 24
    assert plain.drop("accuracy").null_count().row(0) == (plain.height,) * 4


@pytest.mark.slow
def test_a_text_that_looks_like_attention_is_not_circular(own: Path) -> None:
    """A request whose value contains ]=> is about words: heads can be tested on it."""
    request = 'pattern { V -[obj]-> O; V [form <> "]=>"] }'
    with open_bank(own) as bank:
        assert not bank.pairs(request, dependent="O", head="V").is_circular
        assert bank.pairs("pattern { A =[3-1]=> B }", dependent="A", head="B").is_circular
        save_relation(bank, "objects", request, dependent="O", head="V")
    with open_bank(own) as bank, warnings.catch_warnings():
        warnings.simplefilter("error", AttnbankWarning)
        warnings.filterwarnings("ignore", "No word has the form")
        plain = bank.query("best_head_test", relation="objects")
        p_values = bank.sql("select p_value from head_score(relation := 'objects')")["p_value"]
        judged = bank.score(request, dependent="O", head="V")
    assert plain["p_corrected"].null_count() == 0
    assert p_values.null_count() < p_values.len()
    assert judged["p_corrected"].to_list() == plain["p_corrected"].to_list()
    assert query_bank(own, "select is_circular('objects')") == [(False,)]


def test_no_head_finds_several_partners_of_one_word(full_bank: Path) -> None:
    request = "pattern { P [mention=pronoun]; P ~ A }"
    with open_bank(full_bank) as bank:
        scores = bank.score(request, dependent="P", head="A", every=True, within="document")
        pairs, *_ = bank.pairs(request, dependent="P", head="A", within="document")
        name = scores["run"][0]
        inputs = dict(bank.sql(
            "select position.word, sequence.id from position inner join sequence"
            " on sequence.id = position.sequence inner join run on run.id = sequence.run"
            " where run.name = $name and position.word is not null", {"name": name}
        ).rows())  # fmt: skip
    judged = [
        (word, other) for word, other in pairs.select("word", "head_word").rows()
        if word in inputs and inputs[word] == inputs.get(other)
    ]  # fmt: skip
    wanted = len({word for word, _ in judged}) / len(judged)
    assert wanted < 0.9 and set(scores["ceiling"]) == {wanted} and set(scores["n"]) == {len(judged)}
    assert scores["accuracy"].max() <= wanted  # type: ignore[operator]


@pytest.mark.slow
def test_halves_are_the_same_documents_whatever_is_asked(sample_bank: Path) -> None:
    """Rare relations, which not every document has: as a request and of the trees."""
    one = Reading(sample_bank, "sample/minilm")
    with open_bank(sample_bank) as bank:
        for relation in ("iobj", "ccomp", "aux"):
            request = f"pattern {{ V -[1={relation}]-> O }}"
            scores = bank.score(request, dependent="O", head="V")
            wanted = bank.query("best_head_held_out", relation=relation, min_count=1)
            words = one.dependents(relation)
            held_out = [word for word in words if one.cluster[word] % 2 == 0]
            if not held_out or len(held_out) == len(words):
                assert scores["held_out_n"].to_list() == [None] and wanted.is_empty()
                continue
            assert scores["held_out_n"].to_list() == wanted["n"].to_list() == [len(held_out)]
            assert scores["held_out_accuracy"].to_list() == wanted["accuracy"].to_list()


@pytest.mark.slow
def test_a_pair_counts_once_however_often_it_is_found(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank:
        plain = bank.score("pattern { V -> O }", dependent="O", head="V")
        often = bank.score("pattern { V -> O; V -> Z }", dependent="O", head="V")
        some = bank.score("pattern { V -> O } with { V -> Z }", dependent="O", head="V")
    assert often.equals(some) and 0 < often["n"][0] < plain["n"][0]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_pairs_that_no_input_has_are_told(sample_bank: Path, bank_of: BankFactory) -> None:
    with open_bank(bank_of("sample", "minilm", after=sample_bank, limit=40)) as bank:
        with pytest.warns(AttnbankWarning, match="pairs are not within one input"):
            scores = bank.score(OBJECTS, dependent="O", head="V", run="sample/minilm/limit40")
        whole = bank.score(OBJECTS, dependent="O", head="V", run="sample/minilm")
        assert 0 < scores["n"][0] < whole["n"][0]
        with pytest.warns(AttnbankWarning, match="No word has the relation objj"):
            assert bank.score("pattern { V -[objj]-> O }", dependent="O", head="V").is_empty()


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_pairs_of_another_corpus_are_not_missed(own: Path, sample: Path, tmp_path: Path) -> None:
    with open_bank(own) as bank:
        before = bank.score(OBJECTS, dependent="O", head="V")
    text = tmp_path / "more.conllu"
    text.write_bytes((sample / "press.conllu").read_bytes())
    ingest(IngestOptions((str(text),), own, "minilm", limit=10))
    with open_bank(own) as bank:
        assert bank.score(OBJECTS, dependent="O", head="V", run="sample/minilm").equals(before)
        with pytest.warns(AttnbankWarning) as told:
            scores = bank.score(OBJECTS, dependent="O", head="V", run="more/minilm/limit10")
        whole = bank.count(OBJECTS, corpus="more")["n"][0]
        lost = whole - scores["n"][0]
        assert str(told[0].message) == (
            f"{lost} of the {whole} pairs are not within one input of the run; the others are"
            " scored."
        )
        with pytest.warns(AttnbankWarning, match="No pair is in the corpus of the run"):
            lacking = bank.score(
                OBJECTS, dependent="O", head="V", corpus="more", run="sample/minilm"
            )
        assert lacking.is_empty()


@pytest.mark.parametrize(
    ("dependent", "head", "told"),
    [("O", "X", "no node X"), ("O", "O", "name the same node"), ("o", "V", "no node o")],
)
def test_a_node_that_there_is_not(sample_bank: Path, dependent: str, head: str, told: str) -> None:
    with open_bank(sample_bank) as bank, pytest.raises(CallError, match=told):
        bank.score(OBJECTS, dependent=dependent, head=head)


@pytest.mark.slow
def test_the_command(with_control: Path, cli: Cli) -> None:
    call = ["-b", str(with_control), "score", OBJECTS, "--from", "O", "--to", "V"]
    told, head, _, *rows, spread = cli(*call).out.splitlines()
    assert told == "The best of 144 heads and directions, chosen on these pairs"
    names = ["sample/minilm", "sample/minilm-random-1", "sample/minilm-random-3"]
    assert [row.split()[-1] for row in rows] == names
    assert "p_documents_corrected" in head and "<0.001" in rows[0] and "e-" not in "".join(rows)
    (row, *controls) = csv.DictReader(cli(*call, "-f", "csv").out.splitlines())
    assert 0 < float(row["p_corrected"]) < 0.001
    ranges = [
        f"{name} {low:.3f} to {high:.3f}"
        for name in ("accuracy", "held_out_accuracy")
        for low, high in [sorted(float(control[name]) for control in controls)]
    ]
    assert spread == f"random weights (2 seeds): {', '.join(ranges)}"
    *_, blank, last = cli(*call, "-f", "markdown").out.rstrip("\n").split("\n")
    assert (blank, last.replace("\\", "")) == ("", spread)
    assert cli(*call, "--by", "V.upos").out.splitlines()[0] == "Run: sample/minilm"
    both = ["--run", "sample/minilm-random-3", "--run", "sample/minilm"]
    judged = list(csv.DictReader(cli(*call, *both, "--apart", "3", "-f", "csv").out.splitlines()))
    assert [row["run"] for row in judged] == both[1::2] and judged[0]["n"] == judged[1]["n"]


def test_the_command_without_controls(sample_bank: Path, cli: Cli) -> None:
    call = ["-b", sample_bank, "score", OBJECTS, "--from", "O", "--to", "V"]
    title, *rows = cli(*call).out.splitlines()
    chosen = "The best of 144 heads and directions, chosen on these pairs"
    assert title == f"Run: sample/minilm. {chosen}"
    assert dict(row.split() for row in rows)["p_documents_corrected"] == "<0.001"
    assert "Give one of them" in cli(*call, "--by", "V.upos", "--every", status=2).err
    assert "Add --by" in cli(*call, "--each", status=2).err
    assert "no node W" in cli(*call[:-1], "W", status=2).err


@pytest.mark.slow
def test_a_saved_relation_is_one_for_every_analysis(own: Path, cli: Cli) -> None:
    call = ["-b", str(own), "save", "eaten", OBJECTS, "--from", "O", "--to", "V"]
    assert "eaten has" in cli(*call, "--meaning", "it's eaten").err
    with open_bank(own) as bank:
        for name in ("best_head", "head_accuracy", "best_head_held_out", "offset_baseline",
                     "head_score", "best_head_test", "head_error"):  # fmt: skip
            found, wanted = (bank.query(name, relation=each) for each in ("eaten", "obj"))
            columns = [column for column in found.columns if column != "relation"]
            assert found.height and found.select(columns).equals(wanted.select(columns)), name
        assert "eaten" not in bank.query("best_head", min_count=1)["relation"]
        (told,) = bank.saved().to_dicts()
        assert told["request"] == OBJECTS and told["meaning"] == "it's eaten"
        assert told["pairs"] == bank.query("best_head", relation="obj")["n"][0]
        assert told["later_sentences"] == 0
    rows = query_bank(own, "select dependent, head from saved.eaten")
    (dependencies,) = query_bank(
        own, "select list((dependent, head)) from dependency where relation = 'obj'"
    )[0]
    assert sorted(rows) == sorted(dependencies)


@pytest.mark.slow
def test_a_name_means_one_request(own: Path, sample: Path, cli: Cli, tmp_path: Path) -> None:
    call = ["-b", str(own), "save", "eaten"]
    ends = ["--from", "O", "--to", "V"]
    for _ in range(2):
        cli(*call, OBJECTS, *ends)
    other = "pattern { V -[1=nsubj]-> O }"
    error = cli(*call, other, *ends, status=2).err
    assert f"eaten is already saved, for another request: {OBJECTS}" in error
    cli(*call, other, *ends, "--replace")
    for name in ("obj", "nmod", "all", "1st", "a-b", 'x"; drop table word; --', ""):
        cli("-b", own, "save", name, OBJECTS, *ends, status=2)
    text = tmp_path / "more.conllu"
    text.write_bytes((sample / "press.conllu").read_bytes())
    ingest(IngestOptions((str(text),), own, "minilm"))
    with open_bank(own) as bank:
        (told,) = bank.saved().to_dicts()
        assert told["request"] == other and told["later_sentences"] > 0
        assert told["pairs"] == bank.query("best_head", relation="nsubj", run=1)["n"][0]
    assert "It has: eaten." in cli("-b", own, "saved", "--delete", "none", status=2).err
    cli("-b", own, "saved", "--delete", "eaten")
    assert cli("-b", own, "saved", "-f", "csv").out.splitlines()[1:] == []
    with open_bank(own) as bank, pytest.raises((CallError, QueryError), match="eaten"):
        bank.query("best_head", relation="eaten")
    assert not query_bank(own, "select * from duckdb_views() where schema_name = 'saved'")


@pytest.mark.slow
def test_pairs_go_with_their_corpus(own: Path, cli: Cli) -> None:
    cli("-b", own, "save", "eaten", OBJECTS, "--from", "O", "--to", "V", "-q")
    cli("-b", own, "delete", "sample/minilm", "--corpus", "sample", "-q")
    with open_bank(own) as bank:
        assert bank.saved()["pairs"].to_list() == [0]


def test_pairs_over_sentences_are_judged_in_a_run_over_documents(full_bank: Path) -> None:
    """Each pronoun with an antecedent, against loops over mentions and peaks."""
    request = "pattern { P [mention=pronoun]; P ~ A; A [mention=proper] }"
    with open_bank(full_bank) as bank:
        runs = bank.runs()
        name = runs.filter(runs["context"] == "document")["name"][0]
        scores = bank.score(request, dependent="P", head="A", every=True, within="document")
        mentions = bank.sql("select head_word, entity, kind from mention").rows()
        pairs = {
            (p, a)
            for p, entity, kind in mentions if kind == "pronoun"
            for a, other, what in mentions if other == entity and what == "proper" and a != p
        }  # fmt: skip
        sentence = dict(bank.sql("select id, sentence from word").rows())
        peaks = bank.sql(
            "select peak.layer, peak.head, one.word, other.word as other, sequence.id from peak"
            " inner join sequence on sequence.id = peak.sequence"
            " inner join run on run.id = sequence.run"
            " inner join position as one on one.sequence = sequence.id"
            " and one.position = peak.position"
            " left join position as other on other.sequence = sequence.id"
            " and other.position = peak.most_attended where run.name = $name", {"name": name}
        ).rows()  # fmt: skip
    input_of = {word: sequence for _, _, word, _, sequence in peaks}
    judged = {(p, a) for p, a in pairs if p in input_of and input_of[p] == input_of.get(a)}
    assert any(sentence[p] != sentence[a] for p, a in judged)
    heads: dict[tuple[int, int], int] = defaultdict(int)
    for layer, head, word, other, _ in peaks:
        heads[layer, head] += (word, other) in judged
    looking = scores.filter(pl.col("direction") == "dependent_to_head")
    assert scores["run"].unique().to_list() == [name]
    assert set(looking["n"]) == {len(judged)} and len(judged) > 5
    assert {row[:2]: row[2] for row in looking.select("layer", "head", "correct").rows()} == heads
