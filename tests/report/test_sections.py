"""The sections: published figures beside ours, which run answers, and what to type instead."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import click
import polars as pl
import pytest
from bank_factory import BankFactory
from case_bank import make_bank
from command_line import Cli
from new_banks import put

from attnbank.cli.app import app
from attnbank.queries import open_bank
from attnbank.queries.report.outline import (
    MEASURES,
    Missing,
    Section,
    SectionAnswer,
    chapters,
    compare,
    middle,
    published,
)
from attnbank.queries.report.runner import answer_section, subject
from attnbank.sql import registry
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import CallError

SECTIONS = {section.key: section for chapter in chapters() for section in chapter.sections}


def ask(bank: Path, key: str, run: str | None = None) -> SectionAnswer | Missing:
    with open_bank(bank) as opened:
        return answer_section(opened, SECTIONS[key], subject(opened, run))


def compared(answer: SectionAnswer | Missing) -> dict[str, dict[str, str]]:
    """The rows of a comparison with the paper, by what they are called there."""
    assert isinstance(answer, SectionAnswer) and answer.comparison is not None
    return {row["paper"]: row for row in answer.comparison.rows.iter_rows(named=True)}


def test_sections_name_what_there_is() -> None:
    keys = [chapter.key for chapter in chapters()] + list(SECTIONS)
    assert len({*keys}) == len(keys)
    for section in SECTIONS.values():
        assert isinstance(section, Section) and section.reading.endswith(".")
        parameters = {
            parameter.name for parameter in registry.find_analysis(section.analysis).parameters
        }
        assert {*section.values} <= parameters
        assert registry.find_analysis(section.picture).plot is not None
    named = {each.published for each in SECTIONS.values() if each.published}
    assert named == {*published()}
    for told in published().values():
        assert told["source"].startswith("Clark et al. 2019, section ") and told["setup"]
        registry.find_analysis(told["compares"])
        assert {each["measure"] for each in told.get("claim", [])} <= {*MEASURES}
    used = {each["measure"] for told in published().values() for each in told.get("claim", [])}
    assert used == {*MEASURES}


@pytest.mark.slow
def test_relations_stand_beside_those_of_the_paper(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank:
        ours = {
            row["relation"]: row
            for row in bank.query("best_head", subtypes=True).iter_rows(named=True)
        }
        possessive = bank.query("best_head", subtypes=True, possessive=True)
    rows = compared(ask(sample_bank, "table-1"))
    assert rows["dobj"]["paper: accuracy"] == "86.8" and rows["dobj"]["this bank"] == "obj"
    assert rows["dobj"]["accuracy"] == f"{100 * ours['obj']['accuracy']:.1f}"
    assert rows["dobj"]["head"] == f"{ours['obj']['layer']}-{ours['obj']['head']}"
    assert rows["nsubj"]["n"] == str(ours["nsubj"]["n"])
    accuracy = possessive.filter(pl.col("relation") == "nmod:poss")["accuracy"][0]
    assert rows["poss"]["accuracy"] == f"{100 * accuracy:.1f}"
    for name in ("prep", "pobj"):  # whose counterparts would not be fair
        assert rows[name]["this bank"] == "no counterpart" and not rows[name]["accuracy"]
        assert "Universal Dependencies" in rows[name]["how far it is fair"]


@pytest.mark.slow
def test_names_of_the_paper_need_no_counterpart(bank_of: BankFactory) -> None:
    words = ("I\t_\tPRON\t_\t_\t2\tnsubj", "saw\t_\tVERB\t_\t_\t0\troot",
             "it\t_\tPRON\t_\t_\t2\tdobj", "there\t_\tADV\t_\t_\t2\tmark")  # fmt: skip
    sentence = "".join(f"{at}\t{word}\t_\t_\n" for at, word in enumerate(words, start=1))
    bank = bank_of({"stanford.conllu": f"{sentence}\n" * 12})
    rows = compared(ask(bank, "table-1"))
    assert rows["dobj"]["this bank"] == "dobj" and rows["dobj"]["n"] == "12"
    assert rows["mark"]["n"] == "12" and not rows["mark"]["how far it is fair"]
    assert rows["ccomp"]["this bank"] == "ccomp: fewer than 10 here"


def test_claims_are_measured_on_the_rows() -> None:
    frame = pl.DataFrame(
        {"layer": [1, 1, 2, 2], "previous": [0.6, 0.5, 0.9, 0.1], "next": [0.0, 0.1, 0.2, 0.3]}
    )
    assert MEASURES["previous_heads"](frame) == "2 of 4 (layers 1, 2)"
    assert MEASURES["next_heads"](frame) == "0 of 4"
    layers = [*range(1, 13)]
    sep = pl.DataFrame({"layer": layers, "sep": [float(layer) for layer in layers]})
    assert middle(12) == (6, 10) and middle(6) == (3, 5) and middle(1) == (1, 1)
    assert MEASURES["sep_in_the_middle"](sep) == "800.0 % (layers 6 to 10 of 12)"
    gradients = pl.DataFrame(
        {
            "target": ["[SEP]"] * 12 + ["other"],
            "layer": [*layers, 1],
            "gradient": [2.0] * 4 + [0.5] * 8 + [9.0],
        }
    )
    assert MEASURES["sep_gradient_late"](gradients) == "0.25 (from layer 5 of 12)"
    entropy = pl.DataFrame({"layer": [1, 2, 2], "entropy_from_cls": [9.0, 1.0, 2.0]})
    assert MEASURES["cls_entropy_last"](entropy) == "1.50"


def test_the_paper_has_no_figure_where_ours_is_missing() -> None:
    empty = pl.DataFrame({"layer": [1], "entropy_from_cls": [None]}, schema_overrides={
        "entropy_from_cls": pl.Float64})  # fmt: skip
    assert MEASURES["cls_entropy_last"](empty) == ""


@pytest.mark.slow
def test_a_named_run_answers_for_syntax_and_its_model_for_the_rest(full_bank: Path) -> None:
    names = {}
    with open_bank(full_bank) as bank:
        runs = bank.runs()["name"].to_list()
        of = subject(bank, runs[0])
        assert of.is_named and of.main is not None and of.main.name == runs[0]
        for key in ("table-1", "table-2", "figure-3", "functions"):
            answer = answer_section(bank, SECTIONS[key], of)
            assert isinstance(answer, SectionAnswer)
            names[key] = answer.runs
    assert names["table-1"] == names["functions"] == (runs[0],)
    assert runs[0].startswith("press/")
    assert "/document" in names["table-2"][0] and "/pair" in names["figure-3"][0]


@pytest.mark.slow
def test_a_run_is_chosen_alike_by_name_and_by_use(
    tmp_path: Path, cli: Cli, bank_of: BankFactory
) -> None:
    """And a run over the whole corpus goes before a newer one over a part of it."""
    words = bank_of("press", after=bank_of("press", unit="token", context="pair"))
    bank = bank_of("press", after=words, limit=5, to=tmp_path)
    keys = ("figure-2", "table-1")

    def runs_of(run: str | None) -> list[tuple[str, ...]]:
        with open_bank(bank) as opened:
            of = subject(opened, run)
            told = [answer_section(opened, SECTIONS[key], of) for key in keys]
            return [each.runs for each in told if isinstance(each, SectionAnswer)]

    with open_bank(bank) as opened:
        pairs, whole, part = opened.runs()["name"].to_list()
        assert opened.run_of("best_head") is not None
        assert opened.query("best_head", min_count=1)["run"][0] == whole
    assert runs_of(None) == [(pairs,), (whole,)]
    by_name = runs_of(part)
    cli("-b", bank, "use", part)
    assert runs_of(None) == by_name == [(part,)] * len(keys)


@pytest.mark.slow
def test_a_control_stands_beside_the_trained_model(
    tmp_path: Path, cli: Cli, bank_of: BankFactory
) -> None:
    other = bank_of("press", after=bank_of("press"), random_weights=2)
    bank = bank_of("press", after=other, random_weights=1)
    with open_bank(bank) as opened:
        trained, second, control = opened.runs()["name"].to_list()
        best = {
            run: dict(
                opened.query("best_head", run=run, subtypes=True)["relation", "accuracy"].rows()
            )
            for run in (trained, second, control)
        }
    answer = ask(bank, "control")
    assert isinstance(answer, SectionAnswer) and answer.runs == (trained, control)
    assert parsed(answer.command) == "query"
    table = ask(bank, "table-1")
    assert isinstance(table, SectionAnswer) and table.comparison is not None
    assert table.runs == (trained,)
    assert table.comparison.controls == (control, second)
    rows = compared(table)
    for paper, relation in (("all", "all"), ("det", "det"), ("dobj", "obj")):
        assert rows[paper]["accuracy"] == f"{100 * best[trained][relation]:.1f}"
        low, high = sorted(100 * best[run][relation] for run in (second, control))
        told_range = f"{low:.1f}" if low == high else f"{low:.1f}\N{EN DASH}{high:.1f}"
        assert rows[paper]["random weights"] == told_range
    assert best[second]["all"] != best[control]["all"]
    both = [(row["accuracy"], row["random weights"]) for row in rows.values()]
    assert any(one != other for one, other in both)  # two models, on many relations
    cli("-b", bank, "report", "-q", "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<strong>Random weights:</strong> <bdi>{control}</bdi>, <bdi>{second}</bdi>." in page
    for seed in (1, 2):
        assert f"random weights (seed {seed})" in page  # where it is described


def test_a_run_that_is_not_there_is_told(sample_bank: Path) -> None:
    with open_bank(sample_bank) as bank, pytest.raises(CallError, match="no run elsewhere"):
        subject(bank, "elsewhere")


def parsed(command: str) -> str:
    """The name of the attnbank command that a line calls; every option in it must exist."""
    words = shlex.split(command)
    assert words[0] == "attnbank" and words[1] == "-b"
    name, rest = words[3], words[4:]
    with app.make_context("attnbank", words[1:]) as ctx:
        found = app.get_command(ctx, name)
        while isinstance(found, click.Group):
            found, rest = found.get_command(ctx, rest[0]), rest[1:]
        assert found is not None
        with found.make_context(name, rest, parent=ctx):
            return name


@pytest.mark.slow
def test_what_cannot_be_answered_is_told_with_a_real_command(sample_bank: Path) -> None:
    absent = {}
    for key in SECTIONS:
        answer = ask(sample_bank, key)
        if isinstance(answer, Missing):
            absent[key] = parsed(answer.command)
            assert answer.reason and "Traceback" not in answer.reason
        else:
            parsed(answer.command)
            assert answer.drawn is not None
            parsed(answer.drawn.command)
    assert absent == {
        "figure-3": "ingest", "table-2": "ingest", "table-3": "probe", "probe-heads": "probe",
        "figure-6": "compute", "layers": "compute", "ablation": "ingest",
        "effects": "ingest", "agreement": "ingest",
        "held-out-mentions": "ingest", "control": "ingest",
    }  # fmt: skip


@pytest.mark.slow
def test_an_empty_bank_says_what_to_type(tmp_path: Path) -> None:
    empty = put(tmp_path / "empty.duckdb")
    open_to_write(empty, "test").close()
    for key in SECTIONS:
        answer = ask(empty, key)
        assert isinstance(answer, Missing)
        assert parsed(answer.command) in ("ingest", "probe")


@pytest.mark.slow
def test_a_bank_without_trees_says_what_to_type(bank_of: BankFactory) -> None:
    bank = bank_of({"plain.txt": "Rain fell on the roof .\nThe dogs barked at it .\n"})
    answered = []
    for key in SECTIONS:
        answer = ask(bank, key)
        if isinstance(answer, SectionAnswer):
            answered.append(key)
        else:
            assert parsed(answer.command) in ("ingest", "probe", "compute")
            if key in ("table-1", "figure-5"):
                assert " CORPUS " in answer.command  # the bank's own corpus would not do
    surface = ["figure-1", "relative-position", "figure-2", "figure-4"]
    assert answered == [*surface, "patterns", "classes", "functions", "induction"]


def test_probes_of_several_seeds_give_their_range(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "cases" / "table_3.toml").read_text(encoding="utf-8")
    given = tomllib.loads(text)["given"]
    given["model"] += "5,another,1\n"
    given["run"] += "6,dev/another,5,1\n"
    probes = {16: (0.2, 5), 17: (0.284, 5), 18: (0.9, 6), 19: (0.233, 2)}  # 18: of another model
    for number, (uas, run_id) in probes.items():
        given["probe"] += f"{number},attention_words,{run_id},model,root,\n"
        given["probe_score"] += f"{number},all,1,{uas},0.1,0.9,0.5\n"
    with open_bank(make_bank(tmp_path / "bank.duckdb", given)) as bank:
        told = compare(bank, "table_3", {})
    rows = {row["probe"]: row for row in told.rows.iter_rows(named=True)}
    both = rows["attention and words, random weights"]
    assert (both["UAS"], both["scored on"]) == ("23.3\N{EN DASH}28.4", "dev/seed-5, dev/random")
    one = rows["attention only"]
    assert (one["UAS"], one["scored on"]) == ("55.5", "dev/tiny")
