"""`attnbank plot` and `bank.plot`: from the bank to the file, and what is refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from case_bank import make_bank
from command_line import Cli

from attnbank.cli.commands.pictures import ENDINGS
from attnbank.queries import open_bank, pictures
from attnbank.queries.pictures.charts import MOST_PANELS
from attnbank.sql import registry
from attnbank.sql.errors import CallError
from attnbank.sql.registry import QUERIES_VARIABLE

CASES = Path(__file__).parents[1] / "cases"
OWN = """\
-- title: Words by their length
-- grain: one row per length
-- plot: bars x=n y=letters
-- column letters bigint: how many letters
-- column n bigint: how many words
select length(word.form) as letters, count(*) as n from word group by length(word.form)
"""


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bank of the case of best_head, not to be written to."""
    told = tomllib.loads((CASES / "best_head.toml").read_text(encoding="utf-8"))
    return make_bank(tmp_path_factory.mktemp("plot") / "case.duckdb", told["given"])


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of queries of the user's own; what joins in a test leaves with it."""
    monkeypatch.delenv(QUERIES_VARIABLE, raising=False)
    folder = tmp_path / "own"
    folder.mkdir()
    yield folder
    registry.user_analyses.clear()


@pytest.mark.slow
def test_each_ending_is_a_format(bank: Path, tmp_path: Path, cli: Cli) -> None:
    assert ENDINGS == pictures.ENDINGS
    starts = (b"<svg", b"\x89PNG", b"%PDF", b"<!DOC", b"{")
    for ending, start in zip(ENDINGS, starts, strict=True):
        file = tmp_path / f"picture{ending}"
        call = ["-b", str(bank), "plot", "best-head", "--min-count", "1", "-o", str(file)]
        cli(*call)
        assert file.read_bytes().startswith(start)


def test_sizes_may_be_in_halves(bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "picture.png"
    call = ["-b", str(bank), "plot", "best-head", "--min-count", "1", "-o", str(file)]
    cli(*call, "--font-size", "8.5", "--scale", "1.5")
    cli(*call, "--scale", "0.4", status=2)


@pytest.mark.slow
def test_the_command_draws_what_python_draws(bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "picture.json"
    look = ("--theme", "dark", "--width", "200")
    cli("-b", bank, "plot", "best_head", "--min-count", "1", *look, "-o", file)
    with open_bank(bank) as opened:
        rows = opened.query("best_head", min_count=1)
        chart = opened.plot("best_head", theme="dark", size=pictures.Size(200), min_count=1)
        shown = chart._repr_mimebundle_(include=None)
    assert list(shown) == ["image/svg+xml"] and shown["image/svg+xml"].startswith("<svg")
    assert "http" not in shown["image/svg+xml"].replace("http://www.w3.org/", "")
    with open_bank(bank) as opened:
        assert {"find", "plot", "queries", "score"} <= set(dir(opened))
        assert not {"beside", "run_request", "answering"} & set(dir(opened))
        assert opened.queries().row(by_predicate=pl.col("name") == "best_head")[0] == "syntax"
        facts = opened.run_of("best_head")
    made = json.loads(file.read_text(encoding="utf-8"))
    assert made["datasets"] == chart.to_dict()["datasets"]
    assert [row["accuracy"] for row in made["datasets"]["rows"]] == rows["accuracy"].to_list()
    assert made["width"] == 200 and made["config"]["background"] == "#14161a"
    assert facts is not None
    assert " · ".join(made["title"]["subtitle"][:2]) == (
        f"Run {facts.name} · model x · corpus {facts.corpus_name} (2 sentences, 6 words)"
        " · Min count: 1"
    )


def test_a_file_is_replaced_whole(bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "picture.svg"
    file.write_text("before")
    cli("-b", bank, "plot", "best_head", "--relation", "none", "-o", file, status=2)
    assert file.read_text() == "before"
    call = ["-b", str(bank), "plot", "best_head", "--min-count", "1", "-o", str(file)]
    cli(*call)
    assert file.read_text().startswith("<svg")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["best_head"], 2, "plot needs -o FILE.\nType: attnbank -b "),
        (["best_head", "-o", "-"], 2, "duckdb plot best_head -o best_head.svg"),
        (["best_head", "-o", "a.jpg"], 2, "Cannot infer a format from a.jpg."),
        (["best_head", "-o", "a"], 2, "The name must end in .svg, .png, .pdf, .html, .json."),
        (["gold_dependency", "-o", "a.svg"], 2, "gold_dependency has no picture.\nThese have one"),
        (["best_hed", "-o", "a.svg"], 2, "There is no analysis best_hed. Did you mean best_head"),
        (["best_head", "-o", "no/such/a.svg"], 2, "There is no folder"),
        (
            ["best_head", "--column", "8cm", "--width", "300", "-o", "a.svg"],
            2,
            "cannot be combined",
        ),
        (["figure_3", "-o", "a.svg"], 1, "is suitable for figure_3"),
        (["best_head", "--min-count", "99", "-o", "a.svg"], 1, "best_head has no rows to draw"),
    ],
)
def test_what_cannot_be_drawn_is_told(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    cli: Cli, args: list[str], status: int, message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    printed = cli("-b", bank, "plot", *args, status=status).err
    assert message in printed and "Traceback" not in printed
    assert not list(tmp_path.iterdir())


def test_the_bank_is_not_drawn_over(bank: Path, cli: Cli) -> None:
    named = bank.with_suffix(".svg")
    named.symlink_to(bank)
    assert "is the bank itself" in cli("-b", bank, "plot", "best_head", "-o", named, status=2).err
    named.unlink()


def _many(tmp_path: Path) -> pl.DataFrame:
    """Rows of head_accuracy for 20 relations; r00 is the rarest, r19 the most frequent."""
    told = tomllib.loads((CASES / "head_accuracy.toml").read_text(encoding="utf-8"))
    with open_bank(make_bank(tmp_path / "case.duckdb", told["given"])) as bank:
        frame = bank.query("head_accuracy", **told.get("params", {}))
    one = frame.filter(pl.col("relation") == frame["relation"][0])
    return pl.concat(
        one.with_columns(relation=pl.lit(f"r{at:02}"), n=pl.col("n") + at) for at in range(20)
    )


def test_of_many_relations_the_most_frequent_are_drawn(tmp_path: Path) -> None:
    many = _many(tmp_path)
    made = pictures.specification(registry.find_analysis("head_accuracy"), many)
    drawn = {row["relation"] for row in made["datasets"]["rows"]}
    assert drawn == {f"r{at:02}" for at in range(8, 20)}
    directions = many["direction"].n_unique()
    assert len(made["concat"]) == 12 * directions <= MOST_PANELS
    told = " ".join(made["title"]["subtitle"])
    assert "The most frequent 12 of 20 relations; choose one: --relation (relation=)" in told
    few = pictures.specification(
        registry.find_analysis("head_accuracy"), many.filter(pl.col("relation") >= "r17")
    )
    assert len(few["concat"]) == 3 * directions
    assert "most frequent" not in " ".join(few["title"]["subtitle"])


def test_a_wall_of_panels_says_what_to_choose(tmp_path: Path) -> None:
    """Where the rows do not say what is frequent, nobody guesses which ones are meant."""
    analysis = registry.find_analysis("head_accuracy")
    unknown = replace(
        analysis, columns=tuple(column for column in analysis.columns if column.name != "n")
    )
    with pytest.raises(
        CallError, match=r"panels.*\nChoose one \(--relation, relation=\): r00, r01"
    ):
        pictures.specification(unknown, _many(tmp_path).drop("n"))


def test_a_picture_of_ones_own_needs_no_python(
    bank: Path, own: Path, tmp_path: Path, cli: Cli
) -> None:
    (own / "lengths.sql").write_text(OWN)
    (own / "plain.sql").write_text(OWN.replace("-- plot: bars x=n y=letters\n", ""))
    file = tmp_path / "lengths.json"
    call = ["-b", str(bank), "plot", "--queries", str(own)]
    cli(*call, "lengths", "-o", file)
    made = json.loads(file.read_text(encoding="utf-8"))
    with open_bank(bank, queries=own) as opened:
        assert made["datasets"]["rows"][0]["n"] == opened.query("lengths")["n"][0]
        with pytest.raises(CallError, match=r"plain has no picture.*\n.*lengths"):
            opened.plot("plain")
    assert made["title"]["text"] == ["Words by their length"]
    assert made["title"]["subtitle"][0].startswith("Model x · corpus x")
