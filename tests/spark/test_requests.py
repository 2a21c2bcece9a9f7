"""Requests on Spark: the hits, counts and scores of a bank, and the same words about them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import Cli

from attnbank.queries import Bank
from attnbank.queries.patterns import HitOptions, compile_request
from attnbank.queries.requests import add_context, run_hits
from attnbank.queries.spark import Exported

OnBoth = Callable[..., pl.DataFrame]
OBJECTS = "pattern { V -[obj]-> O }"
FOUND: dict[str, dict[str, Any]] = {
    "pattern { V -[obj|nsubj]-> O; O [upos=PRON] }": {"columns": "V.lemma, delta(V, O)"},
    "pattern { V -[obj]-> O } without { V -[nsubj]-> S }": {"sort": "O.lemma, O.form"},
    'pattern { V [form=re"[aeiou].*[^s]"] }': {"columns": "V.Number", "limit": 9},
    'pattern { X [lemma="it\'s"|"be"] }': {},
    "pattern { V << O; V -[obj]-> O }": {"sample": 7, "seed": 3},
    "pattern { V -[obj]-> O; O =[1-2]=> V }": {
        "columns": "weight(1-1, O, V), looks_at(2-1, O), looks_at(2-1, O).weight",
        "run": 2,
    },
    "pattern { A =[1-1]=> B; A [upos=PRON] }": {"within": "document", "limit": 5},
    "pattern { V [upos=VERB]; V ->> O; O [upos=PRON] } without { V ->> X; X [upos=NUM] }": {
        "columns": "proj_size(V)"
    },
    "pattern { V -[obj]-> O; V.surprisal > O.surprisal } without { V -> X; X.surprisal > 12 }": {
        "columns": "V.surprisal - O.surprisal, looks_at(1-2, O).surprisal",
        "sort": "O.surprisal",
    },
    "pattern { V [upos=VERB]; V.surprisal >= 1.5 } without { X -> V; X.surprisal < V.surprisal }": {
        "limit": 9
    },
    "pattern { V [!surprisal] } without { V -> X; X [!surprisal] }": {"limit": 9},
    "pattern { A [Number=Plur/upos=ADV]; A -> B; B [upos=ADV|NOUN] }": {
        "columns": "A.Number/upos, delta(A, B) + 1"
    },
    # X may have other features, or none at all.
    "pattern { X [!Number, !Absent]; Y -> X; Y [Number<>Sing] } without { X [upos=ADP] }": {
        "columns": "X.Number, X.upos, Y.Number"
    },
}


@pytest.mark.few(2)
@pytest.mark.slow
@pytest.mark.parametrize("request_", FOUND)
def test_the_hits_are_the_same(request_: str, on_both: OnBoth) -> None:
    on_both(lambda each: each.find(request_, **FOUND[request_]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "by",
    [
        "O.upos, delta(V, O)",
        "{ O =[1-2]=> V }, V << O",
        "V#O, V -> O, O <-> V, delta(V, O)[gap=3, min=-6, max=7]",
        "O.surprisal, V.surprisal[gap=5, max=10]",
    ],
)
def test_the_counts_are_the_same(by: str, on_both: OnBoth) -> None:
    assert on_both(lambda each: each.count(OBJECTS, by))["n"].sum() > 10


@pytest.mark.slow
@pytest.mark.few("how1")
@pytest.mark.parametrize("how", [{"by": "length(V, O)"}, {"every": True}])
def test_the_scores_are_the_same(
    how: dict[str, Any], bank: Bank, exported: Exported, on_both: OnBoth
) -> None:
    on_both(lambda each: each.score(OBJECTS, dependent="O", head="V", **how))
    # The pairs are forgotten again: the relation is that of nobody.
    saved = "select count(*) from saved_pair"
    assert (
        exported.backend.connection.execute(saved).fetchall()
        == bank.connection.execute(saved).fetchall()
    )


@pytest.mark.slow
def test_a_concordance_has_the_same_words(on_both: OnBoth) -> None:
    compiled = compile_request(OBJECTS, choice=HitOptions(keys=True))
    on_both(lambda each: add_context(each.backend, run_hits(each.backend, compiled), 5))


@pytest.mark.slow
def test_what_nothing_has_is_told_alike(bank: Bank, exported: Exported) -> None:
    messages = []
    for each in (bank, exported):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            request = (
                "pattern { X [Numbr=Sing, lemma=hve, upos=VREB]; X -[objj]-> Y }"
                " without { X ~ Y; meta.gnre = a }"
            )
            assert not each.find(request).height
        messages.append([str(one.message) for one in caught])
    assert messages[0] == messages[1] and len(messages[0]) >= 4


@pytest.mark.slow
def test_the_commands_write_the_same(full_bank: Path, folder: Path, tmp_path: Path) -> None:
    commands = [["query", "gold_dependency", "-f", "table"], ["find", OBJECTS, "--limit", "5"]]
    commands.append(["count", OBJECTS, "--by", "O.upos"])
    messages = []
    for more in (["-b", str(full_bank)], ["--engine", "spark", "--data", str(folder)]):
        # One process for all, since what takes long is to start the JVM.
        text = (
            "from attnbank.cli.app import run_command_line as run\n"
            f"for each in {commands}: assert run(each + {more}) == 0"
        )
        command = [sys.executable, "-c", text]
        messages.append(
            subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        )
    assert messages[0].stdout == messages[1].stdout and messages[0].stdout.startswith("Run: ")
    assert messages[0].stderr == messages[1].stderr
    assert not list(tmp_path.iterdir())


COMMANDS = {
    "ingest": ["ingest", "corpus", "--model", "minilm"],
    "query": ["query", "best_head"],
    "find": ["find", OBJECTS],
    "count": ["count", OBJECTS],
    "score": ["score", OBJECTS, "--from", "O", "--to", "V"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_that_do_not_fit(name: str, cli: Cli) -> None:
    folder = "--to" if name == "ingest" else "--data"
    facts: dict[tuple[str, ...], str] = {
        ("--engine", "spark"): f"--engine spark needs {folder} DIR.",
        (folder, "a"): f"{folder} needs --engine spark.",
        ("--master", "local"): "--master needs --engine spark.",
    }
    if name != "ingest":
        facts["--engine", "spark", "--data", "a b", "--data", "c"] = (
            "--engine spark reads one export.\n"
            "Make one of these: attnbank -b all.duckdb merge 'a b' c, then"
            " attnbank -b all.duckdb export DIR."
        )
    if name in ("find", "count", "score"):
        facts |= {
            ("--engine", "spark", "--data", "a", "--timeout", "3"): (
                "--timeout cannot be combined with --engine spark."
            )
        }
    for options, fact in facts.items():
        assert fact in cli(*COMMANDS[name], *options, status=2).err
