"""What is in a bank: for people, for programs, and from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_bank import make_bank
from command_line import Cli
from fixture_types import Options

from attnbank.ingest import ingest
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError
from attnbank.sql.registry import analyses

GIVEN = {
    "corpus": """
id;name;format;annotation;annotator
1;news;conllu;gold;
2;blogs;text;silver;en_core_web_trf 3.8.0
""",
    "document": "id,corpus,index\n1,1,1\n2,1,2\n3,2,1\n",
    "sentence": "id,document,index,words\n1,1,1,3\n2,1,2,2\n3,2,1,1\n4,3,1,5\n",
    "word": "id,sentence,index,form\n1,1,1,a\n2,1,2,b\n3,1,3,c\n4,2,1,d\n5,2,2,e\n6,3,1,f\n",
    "model": """
id,name,layers,heads,random_seed
1,bert,2,3,
2,bert,2,3,7
""",
    "run": """
id,name,model,corpus,decimals,finished
1,news/bert,1,1,,2020-01-01 10:00:00
2,news/bert-random-7,2,1,5,
""",
    "run_part": "run,batches\n1,9\n2,4\n",
    "sequence": """
id,run,sentence,positions,tokens
1,1,1,5,6
2,1,2,4,4
3,2,1,5,6
""",
    "position": """
sequence,position,kind,word
1,0,cls,
1,1,word,1
1,2,word,2
1,3,word,3
2,1,word,4
2,2,word,5
3,1,word,1
""",
    "ablation_set": """
run,ablation,number,replacement,finished
1,whole,1,zero,2020-01-03 00:00:00
1,begun,1,zero,
""",
    "skipped": """
corpus,run,reason,detail,place
1,,bad-id,IDs jump,news.conllu:40
1,1,too-long,600 tokens,news.conllu:10
1,1,too-long,700 tokens,news.conllu:20
""",
}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bank(tmp_path_factory.mktemp("info") / "info.duckdb", GIVEN)


def test_the_runs_are_counted(bank: Path) -> None:
    with open_bank(bank) as opened:
        first, second = opened.runs().iter_rows(named=True)
    assert (first["sentences"], first["words"], first["skipped"]) == (2, 5, 3)
    assert first["ablations"] == ["whole"]
    assert first["weights"] == 2 * 3 * (5 * 5 + 4 * 4)
    assert first["distributions"] == 2 * 3 * (5 + 4)
    assert (second["sentences"], second["words"], second["skipped"]) == (1, 1, 1)
    assert second["random_seed"] == 7 and second["finished"] is None
    each = {"first": (first, 3.8), "second": (second, 2.5)}
    shares = {
        name: row["weights"] * rate + row["distributions"] * 40
        for name, (row, rate) in each.items()
    }
    total = first["bytes"] + second["bytes"]
    assert abs(total - bank.stat().st_size) <= 1
    assert first["bytes"] / total == pytest.approx(shares["first"] / sum(shares.values()), rel=1e-3)


def test_the_sentences_of_documents_and_pairs_are_counted_as_an_ingest_counts_them(
    tmp_path: Path, options_for: Options
) -> None:
    bank = tmp_path / "bank.duckdb"
    reports = [
        ingest(options_for(bank, "press", limit=2, **of_run))
        for of_run in ({"context": "document"}, {"context": "pair", "unit": "token"})
    ]
    counts = "select distinct run.id, word.sentence, position.word from run, sequence, position"
    with open_bank(bank) as opened:
        runs = opened.runs()
        rows = opened.sql(
            f"{counts} inner join word on word.id = position.word"
            " where sequence.run = run.id and position.sequence = sequence.id"
        ).rows()
        assert opened.info().runs.equals(runs)
    assert runs["context"].to_list() == ["document", "pair"]
    for report, run in zip(reports, runs.iter_rows(named=True), strict=True):
        words = [(sentence, word) for id, sentence, word in rows if id == run["id"]]
        expected = len({sentence for sentence, _ in words}), len(words)
        assert (run["sentences"], run["words"]) == expected != (0, 0), run["context"]
        assert (report.sentences, report.words) == expected, run["context"]


def test_corpora_models_tables_and_what_was_left_out(bank: Path) -> None:
    with open_bank(bank) as opened:
        found = opened.info()
    corpora = {row["name"]: row for row in found.corpora.iter_rows(named=True)}
    assert (corpora["news"]["documents"], corpora["news"]["words"]) == (2, 6)
    assert corpora["blogs"]["annotation"] == "silver"
    assert dict(found.tables.rows())["word"] == 6
    assert dict(found.tables.rows())["attention"] == 0
    assert found.models["random_seed"].to_list() == [None, 7]
    assert [(row[0], row[1], row[2], row[3]) for row in found.skipped.rows()] == [
        ("news", None, "bad-id", 1),
        ("news", "news/bert", "too-long", 2),
    ]


def test_people_read_it_as_text(bank: Path, cli: Cli) -> None:
    text = cli("-b", bank, "info").out
    for message in (
        "run 1  news/bert\n",
        "finished 2020-01-01 10:00:00 UTC",
        "interrupted after 4 batches; run the same ingest to resume",
        "5 decimals",
        "random weights, seed 7",
        "text, silver annotation, predicted by en_core_web_trf 3.8.0",
        "2 documents, 3 sentences, 6 words, 0 mentions",
        "2 too-long  news/bert; e.g. 600 tokens (news.conllu:10)",
        "1 bad-id  corpus news, every run; e.g. IDs jump (news.conllu:40)",
        "word 6",
    ):
        assert message in text, message
    rows = text.splitlines()[-1].removeprefix("rows  ").split(", ")
    with open_bank(bank) as opened:
        found = opened.info()
    filled = {name for name, count in found.tables.rows() if count > 0}
    assert {row.split()[0] for row in rows} == filled == {"bank", *GIVEN}  # no table without a row
    page = found._repr_html_()
    assert ">word</td>" in page and ">attention</td>" not in page


def test_programs_read_it_as_json(bank: Path, cli: Cli) -> None:
    printed = json.loads(cli("info", "-b", bank, "-f", "json").out)
    assert printed["bytes"] == bank.stat().st_size
    assert [run["name"] for run in printed["runs"]] == ["news/bert", "news/bert-random-7"]
    assert printed["runs"][0]["finished"] == "2020-01-01T10:00:00"
    assert {"runs", "models", "corpora", "skipped", "tables"} <= printed.keys()
    assert cli("info", "-b", bank, "-f", "csv").out.startswith("id,name,model,corpus,context,")


def test_an_empty_bank_says_what_to_do(tmp_path: Path, cli: Cli) -> None:
    bank = make_bank(tmp_path / "empty.duckdb", {"run": "id,name\n"})
    assert "No runs yet: attnbank ingest CORPUS..." in cli("-b", bank, "info").out


@pytest.mark.slow
def test_the_schema_explains_itself(bank: Path, cli: Cli) -> None:
    with open_bank(bank) as opened:
        names = {name: kind for kind, name, _ in opened.schema().rows()}
        assert names["attention"] == "table" and names["dependency"] == "view"
        assert names["paper.table_1"] == "view" and names["best_head"] == "analysis"
        assert names["wilson_low"] == "function"
        assert not [name for name in names if name.startswith("_")]
        word = {column: (type_, comment) for column, type_, comment in opened.schema("word").rows()}
        assert word["head_index"][0] == "SMALLINT" and "0 for the root" in word["head_index"][1]
        assert opened.schema("best_head")["column"][0] == "relation"
        assert opened.schema("best_head()").equals(opened.schema("best_head"))
        assert opened.schema("table_1").equals(opened.schema("paper.table_1"))
        table = opened.schema("head_distance")["column"].to_list()
        assert table == opened.table("head_distance").collect_schema().names()
        assert opened.schema("main.head_distance")["column"].to_list() == table
        analysis = opened.schema("head_distance()")["column"].to_list()
        assert analysis == [each.name for each in analyses()["head_distance"].columns] != table
        with pytest.raises(CallError, match=r"Table wrod does not exist\.\nDid you mean word"):
            opened.schema("wrod")
    assert "weights" in cli("-b", bank, "schema", "attention").out
    assert "One attention distribution" in cli("-b", bank, "schema").out
