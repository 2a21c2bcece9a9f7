"""Which runs of random weights stand beside a run: one per seed, and those most like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_bank import make_bank
from command_line import Cli

from attnbank.queries import open_bank
from attnbank.queries.patterns.scoring import control_runs

GIVEN = {
    "corpus": "id,name\n1,news\n2,blogs\n",
    "model": """\
id,name,architecture,layers,heads,random_seed
1,bert,BertModel,2,3,
2,bert,BertModel,2,3,7
3,bert,BertModel,2,3,2
4,bert,BertModel,2,3,1
5,other,BertModel,2,3,
6,third,BertModel,2,3,9
7,bert,ElectraModel,2,3,5
8,bert,BertModel,2,4,6
""",
    "run": """\
id;name;model;corpus;context;measure;max_tokens;limit;seed;finished
1;trained;1;1;sentence;weights;512;;;2020-01-01
2;seed-7;2;1;sentence;weights;512;;;2020-01-01
3;seed-7-again;2;1;sentence;weights;512;;;2020-01-01
4;seed-2;3;1;sentence;weights;512;;;2020-01-01
5;seed-2-limit;3;1;sentence;weights;512;5;0;2020-01-01
6;seed-1-limit;4;1;sentence;weights;512;5;0;2020-01-01
7;seed-9-of-third;6;1;sentence;weights;512;;;2020-01-01
8;seed-5-of-electra;7;1;sentence;weights;512;;;2020-01-01
9;seed-6-of-four-heads;8;1;sentence;weights;512;;;2020-01-01
10;seed-1-half;4;1;sentence;weights;512;;;
11;seed-1-documents;4;1;document;weights;512;;;2020-01-01
12;seed-1-norms;4;1;sentence;norms;512;;;2020-01-01
13;seed-1-blogs;4;2;sentence;weights;512;;;2020-01-01
14;trained-limit;1;1;sentence;weights;512;5;0;2020-01-01
15;other;5;1;sentence;weights;512;;;2020-01-01
16;trained-blogs;1;2;sentence;weights;128;;;2020-01-01
17;trained-documents;1;1;pair;weights;512;;;2020-01-01
18;seed-1-short;4;1;sentence;weights;64;;;2020-01-01
""",
}
CONTROLS = {
    "trained": ["seed-2", "seed-7-again"],
    "trained-limit": ["seed-1-limit", "seed-2-limit"],
    "other": ["seed-2", "seed-7-again", "seed-9-of-third"],  # no random model has its name
    "trained-blogs": ["seed-1-blogs"],  # none is cut at 128 tokens: the nearest there is
    "trained-documents": [],
    "seed-2": [],  # a control has none itself
}
ALONE = ("trained", "seed-1-half", "seed-1-documents", "seed-1-short", "seed-1-norms")
SIBLINGS = {
    "seed-7": [2], "seed-7-again": [2], "seed-2": [7], "seed-2-limit": [1], "seed-1-limit": [2],
    "seed-9-of-third": [], **{run: [] for run in ALONE},
}  # fmt: skip


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bank(tmp_path_factory.mktemp("controls") / "bank.duckdb", GIVEN)


@pytest.mark.parametrize("run", CONTROLS)
def test_the_controls_of_a_run(bank: Path, run: str) -> None:
    with open_bank(bank) as opened:
        assert control_runs(opened, run) == CONTROLS[run]


def test_a_run_of_random_weights_knows_its_siblings(bank: Path, cli: Cli) -> None:
    with open_bank(bank) as opened:
        told = dict(opened.runs().select("name", "sibling_seeds").rows())
    assert {name: told[name] for name in SIBLINGS} == SIBLINGS
    text = cli("-b", bank, "info").out
    assert "model bert (random weights, seed 7, with seed 2), corpus news\n" in text
    assert "model third (random weights, seed 9), corpus news\n" in text
    runs = json.loads(cli("-b", bank, "info", "-f", "json").out)["runs"]
    assert {row["name"]: row["sibling_seeds"] for row in runs} == told
