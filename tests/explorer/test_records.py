"""The records that the atlas draws: the same figures as the commands, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import given_surprisals
import polars as pl
import pytest
from bank_rows import query_bank
from case_bank import make_bank
from explored_pages import HOST, PORT, TOKEN, Client, exploring, story
from starlette.testclient import TestClient

from attnbank.cli.viewer.records import (
    bank_record,
    behaviours_record,
    effects_record,
    map_record,
    measures,
    profile_record,
    rules_record,
)
from attnbank.cli.viewer.request import BankCache
from attnbank.cli.viewer.site import make_site
from attnbank.queries import open_bank
from attnbank.queries.pictures import Look
from attnbank.sql import run_choice
from attnbank.sql.errors import QueryError
from attnbank.sql.registry import analyses

OBJECTS = "pattern { V -[obj]-> O }"


def record(client: Client, path: str, /, **values: str) -> Any:
    answer = client.get(path, params=values)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def rows(frame: dict[str, Any]) -> list[dict[str, Any]]:
    names = [column["name"] for column in frame["columns"]]
    return [dict(zip(names, values, strict=True)) for values in zip(*frame["values"], strict=True)]


def test_the_bank_and_its_runs(client: Client, runs: dict[str, str]) -> None:
    bank = record(client, "/bank.json")
    assert [run["name"] for run in bank["runs"]] == [*runs.values()]
    decoder = next(run for run in bank["runs"] if run["name"] == runs["decoder"])
    assert decoder["is_causal"] and decoder["layer_numbers"] == [1, 2, 3] and decoder["heads"] == 4
    assert all(run["control"] is None for run in bank["runs"])


def test_relations_are_counted_with_their_subtypes_below_them(
    client: Client, explored: Path
) -> None:
    bank = record(client, "/bank.json")
    relations = [(relation["name"], relation["n"]) for relation in bank["relations"]]
    labels = [
        label for (label,) in query_bank(explored, "select deprel from word where head_index > 0")
    ]
    folded = Counter(label.partition(":")[0] for label in labels)
    assert dict(relations) == {"all": None} | Counter(labels) | folded
    assert relations[0] == ("all", None) and "root" not in labels
    names = [name for name, _ in relations]
    assert names[1:] == sorted(names[1:]) and any(":" in name for name in names)
    at = next(at for at, name in enumerate(names) if ":" in name)
    assert names[at - 1].partition(":")[0] == names[at].partition(":")[0]


def test_runs_that_answer_if_they_are_named(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    """Coreference is answered by runs of sentences only if somebody names one."""
    manifest = record(client, "/bank.json")
    unanswered = manifest["unanswered"]
    assert [*manifest["defaults"]] == [*analyses()]
    with open_bank(explored) as bank:
        for name, default in manifest["defaults"].items():
            try:
                run = bank.run_of(name)
            except QueryError as error:
                assert default is None and error.remedy == unanswered[name]["remedy"]
            else:
                assert default == (run and run.id) and name not in unanswered
    assert runs["odd"] in unanswered["coreference_accuracy"]["runs"]
    assert unanswered["gradient_importance"]["runs"] == []


def test_measures_are_told_apart_by_their_titles() -> None:
    titles = [measure.title for measure in measures().values()]
    assert len({*titles}) == len(titles) > 25
    assert {measure.group for measure in measures().values()} == {
        "Relations", "Where attention goes", "Coreference", "Effect of ablation",
    }  # fmt: skip


def test_each_grid_of_heads_is_a_measure() -> None:
    """But for those that another measure shows: the weights beside norms, and the gain of each."""
    elsewhere = {"special_tokens_by_measure.weight_on_cls", "best_relation.gain",
                 "special_tokens_by_measure.weight_on_sep", "sink_head.weight",
                 "previous_token_head.weight"}  # fmt: skip
    drawn = set()
    for name, analysis in analyses().items():
        plot, names = analysis.plot, {parameter.name for parameter in analysis.parameters}
        if plot is None or plot.kind != "grid" or "run" not in names:
            continue
        if {*plot.panel} <= {"direction"} and plot.x in ((), ("head",)):
            kinds = {column.name: column.type for column in analysis.columns}
            drawn |= {f"{name}.{column}" for column in plot.color if kinds[column] == "double"}
    shown = {f"{measure.analysis}.{measure.column}" for measure in measures().values()}
    assert drawn - shown == elsewhere


def test_a_run_knows_its_control(tmp_path: Path) -> None:
    """Of a run and the same model with random weights; of two seeds the lower one."""
    given = {
        "model": "id,name,random_seed\n1,m,\n2,m,7\n3,m,5\n",
        "run": "id,name,model,measure\n1,trained,1,weights\n2,seven,2,weights\n3,five,3,weights\n",
    }
    with open_bank(make_bank(tmp_path / "bank.duckdb", given)) as bank:
        chosen = [run_choice.read_run(bank.connection, id) for id in bank.runs()["id"]]
        record = bank_record(bank, "bank", chosen, "bank.duckdb")
        controls = {run["id"]: run["control"] for run in record["runs"]}
    assert controls == {1: 3, 2: 3, 3: 2}


FINISHED = "2026-01-01 00:00:00"
# Every head by itself in c and b; in a one is missing, and in d it is not finished. In e edges.
ABLATED = {
    "model": "id,name,layers,heads\n1,m,1,2\n",
    "run": "id,name,measure\n1,r,weights\n",
    "document": "id,index\n1,1\n2,2\n",
    "sentence": "id,document,words\n1,1,2\n2,2,1\n",
    "word": "id,sentence,index,form\n1,1,1,a\n2,1,2,b\n3,2,1,c\n",
    "sequence": "id,run,document,sentence\n1,1,1,1\n2,1,2,2\n",
    "surprisal": "run,word,nats\n1,1,1\n1,2,2\n1,3,3\n",
    "ablation_set": "run,ablation,number,name,control_of,replacement,relation,direction,cut_at,"
    "finished\n"
    f"1,a,1,1-1,,zero,,,,{FINISHED}\n"
    f"1,b,1,1-1,,zero,,,,{FINISHED}\n1,b,2,1-2,,zero,,,,{FINISHED}\n1,b,3,both,,zero,,,,{FINISHED}\n"
    f"1,c,1,1-1,,zero,,,,{FINISHED}\n1,c,2,1-2,,zero,,,,{FINISHED}\n"
    f"1,d,1,1-1,,zero,,,,{FINISHED}\n1,d,2,1-2,,zero,,,,\n"
    f"1,e,1,nsubj in 1-1,,mask,nsubj,both,word,{FINISHED}\n"
    f"1,e,2,control 1 of nsubj in 1-1,1,mask,nsubj,both,word,{FINISHED}\n",
    "ablated_head": "run,ablation,number,layer,head\n1,a,1,1,1\n1,b,1,1,1\n1,b,2,1,2\n1,b,3,1,1\n"
    "1,b,3,1,2\n1,c,1,1,1\n1,c,2,1,2\n1,d,1,1,1\n1,d,2,1,2\n1,e,1,1,1\n1,e,2,1,1\n",
    "ablated_edge": "run,ablation,number,word,attended_word\n1,e,1,1,2\n1,e,1,3,2\n1,e,2,2,1\n",
    "ablated_surprisal": "run,ablation,number,word,nats\n1,a,1,1,9\n"
    "1,b,1,1,2\n1,b,1,2,2\n1,b,1,3,5\n1,b,2,1,1\n1,b,2,2,1\n1,b,2,3,3\n1,b,3,1,9\n"
    "1,c,1,1,8\n1,c,2,1,8\n1,d,1,1,7\n1,d,2,1,7\n"
    "1,e,1,1,5\n1,e,1,2,2\n1,e,1,3,3\n1,e,2,2,2.5\n",
}  # fmt: skip


def test_effects_are_those_of_each_head_and_of_edges(tmp_path: Path) -> None:
    """Of two ablations of every head the first by name; of edges the words that lost one."""
    with open_bank(make_bank(tmp_path / "bank.duckdb", ABLATED)) as bank:
        frame = bank.query("ablation_effect", classification="cut")
        run = run_choice.read_run(bank.connection, 1)
        (run_record,) = bank_record(bank, "bank", [run], "bank.duckdb")["runs"]
        effects = rows(effects_record(bank, run))
    assert run_record["ablation"] == "b"
    assert [(row["heads"], row["n"], row["difference"]) for row in effects] == [
        ("1-1", 3, 1.0), ("1-2", 3, pytest.approx(-1 / 3)), ("1-1", 3, pytest.approx(4 / 3)),
        ("1-1", 2, 2.0),
    ]  # fmt: skip
    assert [row["edges"] for row in effects] == [None, None, "nsubj, both", "nsubj, both"]
    assert (effects[3]["controls"], effects[3]["control_mean"]) == (1, 0.5)
    assert all(row in frame.to_dicts() for row in effects)


@pytest.mark.parametrize("number", [1, 2], ids=["trained", "random"])
def test_what_no_head_finds_is_what_is_significant_for_none(
    control_bank: Path, number: int
) -> None:
    with open_bank(control_bank) as bank:
        run = run_choice.read_run(bank.connection, number)
        profile = profile_record(bank, run)
        scores = bank.query("best_relation", run=run.name, most=1000, min_count=1).to_dicts()

    def is_significant(row: dict[str, Any]) -> bool:
        return row["gain"] > 0 and row["p_corrected"] is not None and row["p_corrected"] < 0.05

    frequent = [row for row in scores if row["n"] >= 100]
    assert {row["relation"] for row in frequent if is_significant(row)} == (
        {"nsubj", "obj"} if number == 1 else set()
    )
    unfound = {row["relation"] for row in frequent} - {
        row["relation"] for row in scores if is_significant(row)
    }
    gains = {
        relation: max(row["gain"] for row in frequent if row["relation"] == relation)
        for relation in unfound
    }
    assert {row["relation"]: row["gain"] for row in rows(profile["unfound"])} == gains
    significant = [row for row in scores if is_significant(row)]
    candidates = [row for row in significant if row["n"] >= 100] or significant
    first = max(candidates, key=lambda row: row["gain"], default=None)
    assert profile["first"] == (
        first and {"relation": first["relation"], "direction": first["direction"]}
    )
    heads = {(row["layer"], row["head"]): row for row in rows(profile["of_heads"])}
    for head, row in heads.items():
        own = [score for score in frequent if (score["layer"], score["head"]) == head]
        assert row["gain"] == max(score["gain"] for score in own)


@pytest.mark.parametrize("run", ["single", "decoder"])
def test_where_attention_goes_is_as_in_its_analyses(
    client: Client, explored: Path, runs: dict[str, str], run: str
) -> None:
    number = [*runs].index(run) + 1
    behaviours = record(client, f"/behaviours/{number}.json")
    labels = {row["label"] for row in rows(behaviours)}
    assert ({"[CLS]", "next token"} <= labels) == (run == "single")
    assert ("first token" in labels) == (run == "decoder")
    # So few tokens come twice in the stories that attention to them is left out.
    assert any("tokens repeat" in note for note in behaviours["notes"]) == (run == "decoder")
    with open_bank(explored) as bank:
        answers = {
            name: bank.query(name, run=runs[run])
            for name in ("relative_position", "special_tokens", "entropy")
        }
    for row in rows(behaviours):
        answer = answers[row["analysis"]].filter(layer=row["layer"], head=row["head"])
        whole = answer["uniform"][0] if row["analysis"] == "entropy" else 1.0
        assert row["value"] == pytest.approx(answer[row["column"]][0] / whole)
    assert len(rows(behaviours)) == sum(
        answers[analysis][column].count()
        for analysis, column in {(row["analysis"], row["column"]) for row in rows(behaviours)}
    )


def test_random_weights_stand_beside_a_run(control_bank: Path) -> None:
    with open_bank(control_bank) as bank:
        trained = run_choice.read_run(bank.connection, 1)
        behaviours = rows(behaviours_record(bank, trained))
        name = run_choice.read_run(bank.connection, 2).name
        of_control = bank.query("special_tokens", run=name)
        rules = rules_record(bank, trained, "all")["text"]
        best = max(bank.query("coreference_accuracy", run=name, kind="all")["accuracy"])
    random = of_control.select("layer", "head", "sep", "sep_chance").rows()
    assert [
        (row["layer"], row["head"], row["control"], row["chance"])
        for row in behaviours if row["label"] == "[SEP]"
    ] == random  # fmt: skip
    assert f"best head of random weights {100 * best:.0f} %" in rules


def test_what_needs_no_head_for_coreference_is_as_in_its_analyses(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    for kind in ("all", "pronoun"):
        text = record(client, f"/rules/5/{kind}.json")["text"]
        with open_bank(explored) as bank:
            rules = bank.query("coreference_baseline", run=runs["single"], kind=kind)
        assert text.startswith("without a head: ")
        for name, accuracy in rules.select("baseline", "accuracy").iter_rows():
            assert f"{name.replace('_', ' ')} {100 * accuracy:.0f} %" in text
    assert "error" in record(client, "/rules/2/all.json")  # no coreference
    assert client.get("/rules/5/verbs.json").json()["error"]["fact"] == "mentions cannot be verbs."


def test_a_run_without_ablations_says_so(client: Client) -> None:
    assert "no finished ablation" in record(client, "/effects/5.json")["error"]["fact"]
    assert {run["ablation"] for run in record(client, "/bank.json")["runs"]} == {None}


@pytest.mark.usual("head_accuracy-*", "entropy-*")
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("head_accuracy", {"relation": "obj"}),
        ("entropy", {}),
        ("best_relation", {"most": 3, "min_count": 1}),
    ],
)
def test_rows_of_an_analysis(
    client: Client, explored: Path, runs: dict[str, str], name: str, values: dict[str, Any]
) -> None:
    with open_bank(explored) as bank:
        frame = bank.query(name, run=runs["single"], **values)
    given = {key: str(value) for key, value in values.items()}
    answer = record(client, f"/answers/5/{name}.json", **given)
    assert rows(answer) == frame.to_dicts() and frame.height


def test_a_picture_comes_in_each_format(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        drawn = bank.picture("entropy", look=Look(stretch=True)).as_bytes(".svg")
    assert client.get("/answers/any/entropy.svg?stretch=1").content == drawn
    for kind, begin in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        assert client.get(f"/answers/any/entropy.{kind}").content.startswith(begin)


def test_the_map_has_the_places_of_figure_6() -> None:
    """In pixels, with y downwards, and the plane as large as fits within its margin."""
    frame = pl.DataFrame(
        [
            (2, 1, 0.0, 0.0, "other"),
            (1, 2, 3.0, 1.0, "cls"),
            (1, 1, 1.5, 0.5, "obj"),
            (2, 2, 3.0, 1.0, "sep"),
        ],
        ["layer", "head", "x", "y", "behaviour"],
        orient="row",
    )
    drawn = map_record(frame)
    points = [(name, kind, x, y) for name, kind, x, y, *_ in drawn["points"]]
    assert points == [
        ("2-1", "", 30, 450), ("1-2", "[CLS]", 930, 150), ("1-1", "obj", 480, 300),
        ("2-2", "[SEP]", 930, 150),
    ]  # fmt: skip
    other, cls, obj, sep = (tuple(mark) for _, _, _, _, *mark in drawn["points"])
    assert [(tuple(mark), kind) for *mark, kind in drawn["kinds"]] == [
        (obj, "a relation"), (cls, "special tokens, punctuation")
    ]  # fmt: skip
    assert sep == cls and other[0] == "rest" and len({other, obj, cls}) == 3


def test_small_maps_have_lines_by_the_class_of_their_weight(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    model = record(client, "/model.json", sentence=str(story(3)), run=runs["single"])
    with open_bank(explored) as bank:
        shown = bank.show(story(3), ["1-1", "3-4"], run=runs["single"])
    assert len(model["maps"]) == 12 and model["positions"] == 14
    for name, panel in zip(("1-1", "3-4"), shown.panels, strict=True):
        lines: list[list[list[int]]] = [[], [], [], []]
        for start, end, weight in panel.weights.rows():
            passed = [weight >= least for least in (0.05, 0.15, 0.4, 0.7)].count(True)
            if passed and end >= 0:
                lines[passed - 1].append([start, end])
        assert model["maps"][name] == lines and sum(map(bool, lines)) > 1


def test_a_sentence_has_its_trees_and_mentions(client: Client, runs: dict[str, str]) -> None:
    asked = {"sentence": "1", "head": "1-1", "run": runs["odd"]}
    shown = record(client, "/shown.json", **asked, decoded="head", coreference="1")
    gold, decoded = shown["trees"]
    own = [[3, 1, "nsubj"], [1, 2, "cc"], [3, 4, "obj"], [4, 5, "obj"]]
    assert gold["arcs"] == [[*arc, False] for arc in own]
    assert gold["isGold"] and not decoded["isGold"]
    pairs = [{head, dependent} for head, dependent, _ in own]
    assert all(wrong == ({head, at} not in pairs) for head, at, _, wrong in decoded["arcs"])
    assert shown["mentions"] == [[0, 3, 3, 3, 0], [0, 4, 4, 4, 0]]
    assert [word["index"] for word in shown["words"]] == [None, 1, 2, 3, 4, 5, None]
    (gold,) = record(client, "/shown.json", **asked)["trees"]  # above the line of words
    assert gold["isGold"] and not gold["isWanted"]


def test_hits_are_those_of_the_run_that_is_named(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    request = "pattern { V -[obj]-> O; O =[1-1]=> V }"
    answer = record(client, "/hits.json", request=request, run=runs["decoder"])
    with open_bank(explored) as bank:
        hits = bank.find(request, run=runs["decoder"], context=False)
    assert answer["run"] == runs["decoder"] and answer["is_circular"]
    assert not record(client, "/hits.json", request=OBJECTS)["is_circular"]
    assert [row["sent_id"] for row in rows(answer)] == hits["sent_id"].to_list()


def test_the_nearest_heads_are_those_of_least_distance(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    with open_bank(explored) as bank:
        distances = bank.query("head_distance", run=runs["pair"]).to_dicts()
    nearest = rows(record(client, "/nearest/3.json"))
    assert len(nearest) == 12 * 5
    for layer, head in ((1, 1), (2, 3), (3, 4)):
        others = []
        for row in distances:
            ends = [(row[f"layer_{side}"], row[f"head_{side}"]) for side in "ab"]
            if (layer, head) in ends:
                ends.remove((layer, head))
                others.append((row["js_divergence"] / row["n_tokens"], *ends[0]))
        own = [row for row in nearest if (row["of_layer"], row["of_head"]) == (layer, head)]
        assert [(row["nats_a_token"], row["layer"], row["head"]) for row in own] == (
            sorted(others)[:5]
        )


def test_a_count_has_the_request_for_its_hits(client: Client, explored: Path) -> None:
    counts = record(client, "/counts.json", request=OBJECTS, by="O.upos")
    assert len(rows(counts)) == len(counts["requests"]) > 1
    with open_bank(explored) as bank:
        for row, request in zip(rows(counts), counts["requests"], strict=True):
            assert bank.find(request, context=False).height == row["n"]


def test_sentences_have_the_weights_of_the_bank(client: Client, explored: Path) -> None:
    asked = f"{story(2)},{story(3)}"
    for head in ((1, 1), (2, 3)):
        path = f"/sentences/5/{head[0]}-{head[1]}.json"
        for sentence, number in zip(record(client, path, sentences=asked), (2, 3), strict=True):
            words = [row for row in rows(sentence["positions"]) if row["sentence"] == story(number)]
            assert [form for form, *_ in sentence["written"]] == [row["text"] for row in words]
            weights = query_bank(
                explored,
                "select from_position, to_position, weight from attention_weight"
                " where (sequence, layer, head) = (?, ?, ?) order by all",
                [sentence["sequence"], *head],
            )
            mine = [
                (row["from_position"], to, pytest.approx(weight, abs=1e-6))
                for row in sentence["maps"]
                for to, weight in enumerate(row["weights"])
            ]
            assert sorted(mine, key=lambda row: row[:2]) == weights and weights


@pytest.mark.parametrize("measure", ["previous", "cls", "sep", "special_tokens.first"])
def test_where_a_measure_is_strongest(client: Client, explored: Path, measure: str) -> None:
    """Shares counted weight by weight, the largest beyond that of one position first."""
    rows = record(client, "/strongest/5/1-2.json", measure=measure, most="50")
    target = {
        "previous": "to_position = from_position - 1 and kind = 'word'",
        "cls": "kind = 'cls'", "sep": "kind = 'sep'", "special_tokens.first": "to_position = 0",
    }[measure]  # fmt: skip
    shares = {
        sequence: (share, 1 / positions)
        for sequence, share, positions in query_bank(
            explored,
            "select sequence.id, sum(weight) / any_value(positions), any_value(positions)"
            " from attention_weight as weight"
            " join sequence on sequence.id = weight.sequence join position"
            " on position.sequence = weight.sequence and position.position = weight.to_position"
            f" where run = 5 and layer = 1 and head = 2 and {target} group by all",
        )
    }
    inputs = dict(
        query_bank(
            explored,
            "select word.sentence, sequence from word_position"
            " join word on word.id = word_position.word"
            " join sequence on sequence.id = sequence where run = 5 group by all"
            " having count(distinct word.id) between 5 and 14",
        )
    )
    gains = []
    for row in rows:
        share, chance = shares[inputs[row["sentence"]]]
        assert row["share"] == pytest.approx(share, abs=1e-5)
        gains.append(round(share - chance, 5))
    assert gains == sorted(gains, reverse=True) and gains


def test_words_have_their_own_surprisal(
    explored: Path, runs: dict[str, str], tmp_path: Path
) -> None:
    """Also those of the sentence before, which has words of the same numbers."""
    bank = tmp_path / "bank.duckdb"
    shutil.copy(explored, bank)
    given_surprisals.give(bank)
    values = {"sentence": str(story(2)), "before": "1", "head": "1-1", "run": runs["pair"]}
    with exploring(bank) as client:
        words = record(client, "/shown.json", **values)["words"]
    in_bank = query_bank(
        bank,
        "select distinct position.position, surprisal.nats from position"
        " join sequence on sequence.id = position.sequence join run on run.id = sequence.run"
        " join surprisal on surprisal.run = run.id and surprisal.word = position.word"
        " join word on word.id = position.word"
        " where run.name = ? and word.sentence in (?, ?) order by 1",
        [runs["pair"], story(1), story(2)],
    )
    in_record = [(word["position"], word["surprisal"]) for word in words if not word["is_special"]]
    assert in_record == in_bank and len({nats for _, nats in in_bank}) > 10
    assert all(word["surprisal"] is None for word in words if word["is_special"])


def test_scores_of_a_request_are_those_of_score(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    with open_bank(explored) as bank:
        frame = bank.score(OBJECTS, dependent="O", head="V", every=True, run=runs["single"])
    answer = record(client, "/scores/5.json", request=OBJECTS, dependent="O", head="V")
    assert rows(answer) == frame.to_dicts() and frame.height


def test_examples_are_right_and_wrong_as_head_error_counts(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    with open_bank(explored) as bank:
        accuracy = bank.query("head_accuracy", run=runs["single"], relation="nsubj")
    row = accuracy.filter(layer=2, head=1, direction="dependent_to_head").row(0, named=True)
    examples = record(client, "/examples/5/2-1.json", relation="nsubj", most="50")
    assert {example["dependents"] - example["errors"] for example in examples} == {row["correct"]}
    kinds = [example["breakdown"] for example in examples]
    assert kinds.count("right") == row["correct"]
    assert kinds.count("wrong") == row["n"] - row["correct"]
    with open_bank(explored) as bank:
        nearer = [*range(-9, 0), *range(1, 10)]
        offsets = bank.query(
            "offset_baseline", run=runs["single"], relation="nsubj", offsets=nearer
        )
    assert {
        int(example["value"]): example["n"]
        for example in examples
        if example["breakdown"] == "of distance" and abs(int(example["value"])) < 10
    } == dict(offsets.filter(pl.col("correct") > 0).select("offset", "correct").rows())


def test_examples_of_a_subtype_are_of_it_alone(client: Client, explored: Path) -> None:
    relations = record(client, "/bank.json")["relations"]
    subtype = next(relation["name"] for relation in relations if ":" in relation["name"])
    given = {"relation": subtype, "subtypes": "true"}
    scores = rows(record(client, "/answers/5/head_accuracy.json", **given))
    (score,) = (
        row for row in scores
        if (row["layer"], row["head"], row["direction"]) == (2, 1, "dependent_to_head")
    )  # fmt: skip
    of = {"relation": subtype, "breakdown": "right"}
    right = record(client, "/examples/5/2-1/page.json", **of)
    wrong = record(client, "/examples/5/2-1/page.json", **of | {"breakdown": "wrong"})
    assert (len(right), len(right) + len(wrong)) == (score["correct"], score["n"])
    words = dict(query_bank(explored, "select sentence || ':' || index, form from word"))
    for example in [*right, *wrong]:
        for index, form in (("index", "dependent"), ("gold_index", "gold_head")):
            assert example[form] == words[f"{example['sentence']}:{example[index]}"]


@pytest.mark.parametrize(
    ("path", "values", "status", "fact"),
    [
        ("/answers/5/nope.json", {}, 400, "There is no analysis nope."),
        ("/answers/5/entropy.json", {"beauty": "1"}, 400, "entropy has no parameter beauty."),
        ("/answers/99/entropy.json", {}, 400, "no run of the number 99"),
        ("/answers/5/best_head.json", {"relation": "objx"}, 200, "objx"),
        ("/examples/5/x.json", {}, 400, "x is not a valid head."),
        ("/examples/5/1-1.json", {"direction": "up"}, 400, "direction cannot be up."),
        ("/examples/5/1-1.json", {"most": "1e9"}, 400, "most cannot be 1e9."),
        ("/sentences/5/1-1.json", {"sentences": "9"}, 400, "No sentence"),
        ("/sentences/5/1-1.json", {"sentences": "-1"}, 400, "sentences must be numbers."),
        ("/sentences/5/1-1.json", {"sentences": "1," * 1001}, 400, "1,001 sentences are too many."),
        ("/sentences/5/x.json", {"sentences": str(story(1))}, 400, "x is not a valid head."),
        ("/strongest/5/1-1.json", {"measure": "x"}, 400, "measure cannot be x."),
        ("/scores/5.json", {"request": "pattern {", "dependent": "O", "head": "V"}, 400, ""),
        ("/scores/5.json", {"request": "pattern { V -> O }", "dependent": "X", "head": "V"},
         400, "X"),
    ],
)  # fmt: skip
def test_a_wrong_address_is_told(
    client: Client, path: str, values: dict[str, str], status: int, fact: str
) -> None:
    answer = client.get(path, params=values)
    assert answer.status_code == status, answer.text
    error = json.loads(answer.text)["error"]
    assert fact in error["fact"] and "unexpected" not in error["fact"] and "Traceback" not in fact


def test_a_stranger_gets_no_record(cache: BankCache) -> None:
    with TestClient(make_site(cache, TOKEN, PORT), base_url=HOST) as stranger:
        for path in ("/bank.json", "/answers/5/entropy.json", "/sentences/5/1-1.json"):
            answer = stranger.get(path)
            assert answer.status_code == 403 and "runs" not in answer.text
