"""Every view of the explorer: that it answers, and that its figures are those of the analyses."""

from __future__ import annotations

import math
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import browsers
import duckdb
import polars as pl
import pytest
from command_line import Cli
from explored_pages import Client, Read, drawn, exploring, hit_rows, seen, story, taken
from fixture_types import Models

from attnbank.ingest import AblateOptions, HeadSet, ablate
from attnbank.queries import open_bank
from attnbank.sql.registry import all_analyses

REQUEST = "pattern { V -[obj]-> O }"


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("by", "analysis", "column", "given"),
    [
        ("relation", "head_accuracy", "accuracy", {"relation": "obj"}),
        ("previous", "relative_position", "previous", {}),
        ("sep", "special_tokens", "sep", {}),
        ("entropy", "entropy", "entropy", {}),
        ("head_score.gain", "head_score", "gain", {"relation": "obj"}),
        ("universal_head.accuracy", "universal_head", "accuracy", {"relation": "obj"}),
    ],
)
def test_the_grid_has_the_rows_of_the_analysis(
    client: Client, explored: Path, runs: dict[str, str], by: str, analysis: str, column: str,
    given: dict[str, str],
) -> None:  # fmt: skip
    page = seen(client, "/", by=by, run=runs["single"], **given)
    told = {
        found[1]: float(found[2])
        for tag, given_ in page.tags
        if tag == "a"
        and (found := re.fullmatch(r"(\d+-\d+): (-?[\d.]+)", given_.get("title") or ""))
    }
    with open_bank(explored) as bank:
        frame = bank.query(analysis, run=runs["single"], **given)
    if "direction" in frame.columns:
        frame = frame.filter(frame["direction"] == "dependent_to_head")
    expected = {f"{row['layer']}-{row['head']}": row[column] for row in frame.to_dicts()}
    assert told.keys() == expected.keys() and len(told) > 1
    assert all(told[name] == pytest.approx(expected[name], abs=5e-4) for name in told)
    assert len(told) == sum("data-head" in given_ for tag, given_ in page.tags if tag == "a")
    boxes = {given_["name"] for tag, given_ in page.tags if tag == "select"}
    assert ("relation" in boxes) == ("obj" in given.values())
    title = re.search(r"for obj\b[^.]*, dependent to head", page.text)
    assert (title is not None) == ("relation" in boxes)
    assert ("direction" in boxes) == ("direction" in frame.columns)


@pytest.mark.slow
def test_the_grid_of_a_subtype_has_its_own_rows(client: Client, explored: Path) -> None:
    seen(client, "/", relation="obj")
    titles = client.page.locator("select[name=relation] option").all_text_contents()
    title = next(title for title in titles if ":" in title)
    client.page.locator("select[name=relation]").select_option(label=title)
    client.page.wait_for_url(re.compile("relation=\\w+%3A"))
    client.page.wait_for_selector("#atlas[data-settled]")
    subtype = title.strip()
    assert title == f"\u2003{subtype}"  # the bank has several corpora: the number is not the run's
    with open_bank(explored) as bank:
        frame = bank.query("head_accuracy", relation=subtype, subtypes=True)
    frame = frame.filter(direction="dependent_to_head").sort("layer", "head")
    cells = client.page.locator("#atlas .grid td a").evaluate_all("all => all.map(a => a.title)")
    assert cells == [f"{r['layer']}-{r['head']}: {r['accuracy']:.3f}" for r in frame.to_dicts()]
    assert f", {subtype}: " in client.page.inner_text("#atlas")


@pytest.mark.slow
def test_a_relation_that_does_not_count_is_kept_for_the_next_measure(client: Client) -> None:
    page = seen(client, "/", by="entropy", relation="obj")
    assert " obj" not in page.text.split("Entropy in nats")[-1].split("Highest")[0]
    client.page.locator("select[name=measure]").select_option("relation")
    client.page.wait_for_url(re.compile("relation=obj"))
    client.page.wait_for_selector("#atlas[data-settled]")
    assert "Accuracy for obj" in client.page.locator(".grid caption").inner_text()


@pytest.mark.usual("*-given10-*")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("path", "given", "command"),
    [
        ("/", {"relation": "obj", "direction": "head_to_dependent"}, "sql"),
        ("/", {"by": "head_score.gain", "relation": "obj"}, "sql"),
        ("/", {"by": "entropy"}, "query"),
        ("/", {"by": "coreference"}, "query"),
        ("/map", {}, "query"),
        ("/", {"by": "gain"}, "query"),
        ("/head/1-1", {}, "sql"),
        ("/head/1-1", {"relation": "obj", "direction": "head_to_dependent"}, "sql"),
        ("/sentences", {"pattern": REQUEST}, "find"),
        ("/sentences", {"pattern": REQUEST, "head": "1-1,2-3"}, "find"),
        ("/sentences", {"pattern": "pattern { A []; B [] }", "head": "1-1", "limit": 7}, "find"),
        ("/sentences", {"pattern": REQUEST, "sample": 1, "limit": 7}, "find"),
        ("/sentences", {"pattern": f"{REQUEST} with {{ O =[1-1]=> V }}"}, "find"),
        ("/sentences", {"pattern": REQUEST, "by": "O.upos"}, "count"),
        (
            "/sentence",
            {"sentence": story(2), "head": "1-1,2-1", "relation": "all", "tree": 1},
            "show",
        ),
        ("/sentence", {"sentence": story(2), "head": "1-1,2-1", "mean": 1}, "show"),
        ("/model", {"sentence": story(3)}, "show"),
        ("/compare", {}, "query"),
        ("/tables/best_head", {"min_count": 2, "subtypes": "true", "offsets": "-2,-1"}, "query"),
        ("/sql", {"statement": "select upos, count(*) as n from word group by all order by 1"},
         "sql"),
    ],
)  # fmt: skip
def test_the_command_of_a_view_gives_its_rows(
    client: Client, path: str, given: dict[str, object], command: str, tmp_path: Path, cli: Cli
) -> None:
    name, *words = shlex.split(_commands(client, path, **given)["gives the rows"])
    assert (name, words[2]) == ("attnbank", command)
    file = tmp_path / "rows.csv"
    cli(*words, "-o", file)
    rows, printed = pl.read_csv(taken(client, "Download CSV")), pl.read_csv(file)
    if path in ("/sentence", "/sentences"):  # in words, as on the page
        assert {*rows.columns} - {*printed.columns} <= {"left", "hit", "right"}
        same = [
            name for name in rows.columns if name not in ("left", "hit", "right", "head", *"ABOV")
        ]
        assert len(same) > 1 or "hit" in rows.columns
        rows, printed = rows.select(same), printed.select(same)
    assert rows.columns == printed.columns and rows.height
    assert rows.equals(printed)


@pytest.mark.few("*-given1")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/tables/best_head", {"min_count": 2, "subtypes": "true"}),
        ("/tables/figure_5", {"min_count": 2, "p_below": 2}),
    ],
)
def test_the_other_command_of_a_view_draws_its_file(
    client: Client, path: str, given: dict[str, object], tmp_path: Path, cli: Cli
) -> None:
    name, *words = shlex.split(_commands(client, path, **given)["plots the analysis"])
    assert (name, words[2]) == ("attnbank", "plot")
    words[-1] = str(tmp_path / words[-1])
    cli(*words)
    assert Path(words[-1]).read_bytes() == taken(client, "Download SVG")


def _commands(client: Client, path: str, **given: object) -> dict[str, str]:
    """The commands below a view, by what they are told to do."""
    text = " ".join(seen(client, path, **given).text.split())
    parts = (part.split(" Copy")[0].split(": ", 1) for part in text.split("The command that ")[1:])
    return dict(parts)


@pytest.mark.slow
def test_a_run_of_a_training_has_a_slider_over_its_steps(
    explored: Path, tmp_path: Path, client: Client
) -> None:
    assert not any("step" in str(given.get("class")) for _, given in seen(client, "/").tags)
    own = Path(shutil.copy(explored, tmp_path / "bank.duckdb"))
    with duckdb.connect(str(own)) as connection:  # a second run like the newest, a step earlier
        connection.execute("create temporary table newest as from run order by id desc limit 1")
        connection.execute(
            "insert into model select * replace (99 as id, 'b' as sha256, 't' as series, 5 as step)"
            " from model where id = (select model from newest)"
        )
        connection.execute(
            "update model set series = 't', step = 2000 where id = (select model from newest)"
        )
        connection.execute(
            "insert into run select * replace (99 as id, 'early' as name, 99 as model,"
            " timestamp '2020-01-01' as started) from newest"
        )
        ((newest,),) = connection.execute("select name from newest").fetchall()
    with exploring(own) as opened:
        page = seen(opened, "/", run=newest, by="entropy")
        slider = next(
            given for tag, given in page.tags if tag == "input" and given.get("class") == "step"
        )
        assert (slider["min"], slider["max"], slider["value"]) == ("0", "1", "1")
        steps = [link for link in page.links if "by=entropy" in link and "run=early" in link]
        assert steps and "Step 2,000" in " ".join(page.text.split())
        opened.page.get_by_text("Play").click()
        opened.page.wait_for_url(re.compile("run=early"))


def test_a_head_tells_what_it_finds_and_misses(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        held_out = bank.query("best_head_held_out")
        best = bank.query("best_relation", most=10, min_count=10)
        scores = bank.query("head_accuracy")
        offsets = bank.query("offset_baseline")
        one = held_out.row(0, named=True)
        name, own = f"{one['layer']}-{one['head']}", {key: one[key] for key in ("layer", "head")}
        errors = bank.query("head_error", head=name, relation="obj", direction="dependent_to_head")
    page = seen(client, f"/head/{name}", relation="obj")
    gains = best.filter(**own)
    above = gains.filter(gains["gain"] > 0)
    assert 0 < above.height < gains.height
    said = [
        str(given["aria-label"])
        for tag, given in page.tags
        if tag == "g" and "row" in str(given.get("class")) and given.get("role") == "button"
    ]
    assert len(said) == min(above.height, 8)
    for line, row in zip(said, above.to_dicts(), strict=False):
        same = {key: row[key] for key in ("relation", "direction", "layer", "head")}
        (score,) = scores.filter(**same).to_dicts()
        of_offset = max(offsets.filter(relation=row["relation"])["accuracy"].to_list())
        begin = f"{row['relation']}, {row['direction'].replace('_', ' ')}:"
        assert line.startswith(f"{begin} {_percent(score['accuracy'])} of {score['n']};")
        assert f"fixed offset {row['offset']}: {_percent(of_offset)}" in line
        chosen = held_out.filter(**same)
        assert ("held out" in line) == bool(chosen.height)
        if chosen.height:
            assert f"held out {_percent(chosen['accuracy'][0])}" in line
    assert "Nearest heads" in page.text
    (score,) = scores.filter(relation="obj", direction="dependent_to_head", **own).to_dicts()
    lines = _check_examples(page, score["correct"], score["n"])
    _check_errors(page, errors)
    shown = seen(client, lines[0])
    assert "The word that each word attends to most" in shown.text


def _percent(share: float) -> str:
    return f"{math.floor(100 * share + 0.5)} %"


def _check_examples(page: Read, correct: int, n: int) -> list[str]:
    """Assert that up to 12 dependents are shown as right and as wrong; the links of their lines."""
    lines = [link for link in page.links if link.startswith("/sentence?") and "example=" in link]
    right, wrong = min(correct, 12), min(n - correct, 12)
    assert len(lines) == right + wrong and right and wrong
    labels = [str(given.get("aria-label")) for tag, given in page.tags if tag == "svg"]
    assert sum(": missed: " in label for label in labels) == wrong
    marks = [
        given["class"] for tag, given in page.tags if str(given.get("class")).startswith("mark-")
    ]
    assert marks.count("mark-dependent") == len(lines)
    return lines


def _check_errors(page: Read, errors: pl.DataFrame) -> None:
    """Assert that the bars of what is found instead are the rows of head_error."""
    said = [str(given["title"]) for tag, given in page.tags if given.get("class") == "bar"]
    best = errors.group_by("breakdown", maintain_order=True).head(4)
    assert [line for line in said if " errors, " in line] == [
        f"{row['value']}: {row['n']} errors, {_percent(row['share'])} of all"
        for row in best.to_dicts()
    ]


@pytest.mark.slow
def test_a_head_tells_what_got_worse_without_it(
    explored: Path, runs: dict[str, str], tiny_model: Models, tmp_path: Path
) -> None:
    own = Path(shutil.copy(explored, tmp_path / "bank.duckdb"))
    heads = [HeadSet("two heads", ((1, 1), (2, 3)), "hand")]
    ablate(own, "two", heads, 4, AblateOptions(controls=2, model=str(tiny_model("gpt2"))))
    with open_bank(own) as bank:
        (row,) = bank.query("ablation_effect", run=runs["decoder"]).to_dicts()
    with exploring(own) as client:
        page = seen(client, "/head/2-3", run=runs["decoder"])
        assert "Ablation" in page.text and f"--run {runs['decoder']}" in page.text
        (shown,) = (cells for cells in page.rows if cells[:2] == ["two", "two heads"])
        assert shown[2:4] == ["1-1, 2-3", "zero"]
        assert [shown[at] for at in (6, 7, 8)] == [
            f"{row[name]:.3f}" for name in ("whole", "without", "difference")
        ]
        for head, run in (("2-2", runs["decoder"]), ("2-3", runs["single"])):
            assert "Ablation" not in seen(client, f"/head/{head}", run=run).text


def test_sentences_are_those_that_find_finds(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        found = bank.find(REQUEST, context=False)
    page = seen(client, "/sentences", pattern=REQUEST, limit=500)
    names = [row[0] for row in hit_rows(page)]
    assert names == found["sent_id"].to_list()
    assert f"{found.height} hits." in page.text
    few = seen(client, "/sentences", pattern=REQUEST, limit=3)
    assert [row[0] for row in hit_rows(few)] == names[:3]
    assert f"Hits 1 to 3 of {found.height}" in few.text
    sample = seen(client, "/sentences", pattern=REQUEST, limit=3, sample=1)
    assert len(hit_rows(sample)) == 3


def test_counts_are_those_of_count(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        found = bank.count(REQUEST, by="O.upos")
    page = seen(client, "/sentences", pattern=REQUEST, by="O.upos")
    expected = [[row["O.upos"] or "", str(row["n"])] for row in found.to_dicts()]
    assert [row[:2] for row in page.rows[1:]] == expected


@pytest.mark.slow
def test_a_request_about_attention_names_its_run(client: Client, runs: dict[str, str]) -> None:
    text = "pattern { V -[obj]-> O; O =[1-1]=> V }"
    page = seen(client, "/sentences", pattern=text, run=runs["decoder"])
    assert f"Run: {runs['decoder']}" in page.text


@pytest.mark.slow
def test_a_sentence_has_the_lines_of_show(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        name = bank.find(REQUEST, limit=1, context=False)["sent_id"][0]
        shown = bank.show(name, "1-1", relation="obj")
    given = {"sentence": name, "head": "1-1", "relation": "obj", "layout": "columns"}
    page = seen(client, "/sentence", **given, special=1)
    drawn = [
        given["data-weight"] for _, given in page.tags
        if str(given.get("class")).startswith("line ")
    ]  # fmt: skip
    expected = re.findall(r'data-weight="([^"]*)"', shown.draw())
    assert (
        sorted(float(str(weight)) for weight in drawn)
        == pytest.approx(sorted(map(float, expected)))
        and drawn
    )  # a picture has the lines of special tokens below all others
    assert any(link.startswith("/sentence?sentence=") for link in page.links)
    assert not any("style" in given for _, given in page.tags)


@pytest.mark.slow
def test_a_sentence_has_its_tree_and_mentions_and_no_style_within(
    client: Client, runs: dict[str, str]
) -> None:
    page = seen(client, "/sentence", sentence="1", head="1-1", decoded="head", coreference=1,
                 run=runs["odd"])  # fmt: skip
    assert page.text.count("The gold tree of") == 0, "it is above the words"
    assert "gold dependencies" in page.text
    arcs = [given for _, given in page.tags if str(given.get("class")).startswith("tree-arc")]
    assert len(arcs) > 4
    assert not any("style" in given for _, given in page.tags)
    page = seen(client, "/sentence", sentence="1", head="1-1", decoded="head", coreference=1,
                layout="columns", run=runs["odd"])  # fmt: skip
    assert "The gold tree of" in page.text
    assert any(str(given.get("class")).startswith("mention") for _, given in page.tags)


@pytest.mark.slow
def test_two_runs_stand_side_by_side(client: Client, explored: Path, runs: dict[str, str]) -> None:
    page = seen(client, "/compare", run_a=runs["single"], run_b=runs["decoder"])
    with open_bank(explored) as bank:
        found = bank.query("compare_runs", run_a=runs["single"], run_b=runs["decoder"])
    names = ["relation", "n"]
    start = next(at for at, row in enumerate(page.rows) if row[:2] == names)
    table = page.rows[start + 1 :]
    assert [row[:2] for row in table] == [[r["relation"], str(r["n"])] for r in found.to_dicts()]
    for run in ("single", "decoder"):
        assert any(f"run={runs[run].replace('/', '%2F')}" in link for link in page.links)


def test_words_that_changed_are_those_that_the_peaks_tell_apart(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    names = runs["single"], runs["decoder"]
    row = _comparable(explored, names)
    first, second = (
        _judged(explored, run, row["relation"], *(row[f"{column}_{side}"] for column in JUDGED))
        for side, run in zip("ab", names, strict=True)
    )
    changes = _changes(client, row)
    kinds = {(True, True): "both", (True, False): "only_a", (False, True): "only_b",
             (False, False): "neither"}  # fmt: skip
    words = first.keys() & second.keys()
    expected = Counter(kinds[first[word], second[word]] for word in words)
    assert {change["kind"]: change["n"] for change in changes if change["n"]} == expected
    examples = [change for change in changes if change["n"] is None]
    assert Counter(change["kind"] for change in examples) == {
        kind: min(3, expected[kind]) for kind in ("only_a", "only_b") if expected[kind]
    }
    with open_bank(explored) as bank:
        ids = dict(bank.sql("select sentence || ':' || index, id from word").rows())
    for change in examples:
        word = ids[f"{change['sentence']}:{change['dependent']}"]
        assert kinds[first[word], second[word]] == change["kind"]


@pytest.mark.slow
def test_words_that_changed_stand_on_the_page_of_two_runs(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    names = runs["single"], runs["decoder"]
    row = _comparable(explored, names)
    counts = {change["kind"]: change["n"] for change in _changes(client, row) if change["n"]}
    seen(client, "/compare", run_a=names[0], run_b=names[1], relation=row["relation"])
    text = client.page.locator(".changes").inner_text()
    told = {key: int(n) for key, n in re.findall(r"Only \S+ of (\S+): (\d+)", text)}
    assert told == {names[0]: counts.get("only_a", 0), names[1]: counts.get("only_b", 0)}
    total = sum(counts.values())
    assert f"Of {total} dependents that both heads can see the head of" in text
    both, neither = counts.get("both", 0), counts.get("neither", 0)
    assert f"both find {both} and neither {neither}." in text
    lines = client.page.locator(".changes .where").count()
    assert lines == 2 * sum(min(3, n) for n in told.values()) > 0


JUDGED = ("layer", "head", "direction")


def _comparable(bank: Path, names: tuple[str, str]) -> dict[str, Any]:
    """The row of compare_runs of a relation whose words both best heads can see the head of."""
    with open_bank(bank) as opened:
        rows = opened.query("compare_runs", run_a=names[0], run_b=names[1]).to_dicts()
    return next(row for row in rows[1:] if row["findable"] == 1)


def _changes(client: Client, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The record of the words that the best heads of a relation judge differently."""
    given = {"relation": row["relation"]}
    for side in "ab":
        given[f"head_{side}"] = f"{row[f'layer_{side}']}-{row[f'head_{side}']}"
        given[f"direction_{side}"] = row[f"direction_{side}"]
    answer: list[dict[str, Any]] = client.get("/changes/5/4.json", params=given).json()
    return answer


def _judged(
    bank: Path, run: str, relation: str, layer: int, head: int, direction: str
) -> dict[int, bool]:
    """Whether a head finds the head of each dependent of a relation, from the peaks alone."""
    with duckdb.connect(bank, read_only=True) as connection:
        places = connection.execute(
            "select word.id, place.position, gold_place.position, most_attended, most_attending"
            " from word"
            " join word as gold"
            " on gold.sentence = word.sentence and gold.index = word.head_index"
            " join word_position as place on place.word = word.id"
            " join word_position as gold_place"
            " on gold_place.word = gold.id and gold_place.sequence = place.sequence"
            " join sequence on sequence.id = place.sequence join run on run.id = sequence.run"
            " join peak on peak.sequence = place.sequence and peak.position = place.position"
            " where run.name = ? and word.deprel = ? and peak.layer = ? and peak.head = ?",
            [run, relation, layer, head],
        ).fetchall()
    right = {}
    for word, own, gold, attended, attending in places:
        is_later = direction == "later_to_earlier" and own > gold
        to_head = direction == "dependent_to_head" or is_later
        right[word] = (attended if to_head else attending) == gold
    return right


@pytest.mark.slow
def test_a_request_has_the_score_of_every_head_beside_its_hits(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    seen(client, "/sentences", pattern=REQUEST, run=runs["single"])
    page = client.page
    with open_bank(explored) as bank:
        scores = bank.score(REQUEST, dependent="O", head="V", every=True, run=runs["single"])
    scores = scores.filter(direction="dependent_to_head").sort("layer", "head")
    titles = page.locator(".scores [data-head]").evaluate_all(
        "cells => cells.map(cell => cell.title)"
    )
    assert titles == [f"{r['layer']}-{r['head']}: {r['accuracy']:.3f}" for r in scores.to_dicts()]
    row = scores.filter(pl.col("correct") > 0).row(-1, named=True)
    head = f"{row['layer']}-{row['head']}"
    page.locator(f".scores [data-head='{head}']").click()
    sentence = f"Head {head} finds {round(100 * row['accuracy'])} %"
    assert sentence in page.locator(".scores").inner_text()
    page.wait_for_selector(f".scores h3 a[href*='{head}']")
    links = page.locator(".scores h3 a").evaluate_all("links => links.map(link => link.href)")
    counts = []
    for link in links:
        page.goto(link)
        browsers.filled(page)
        counts.append(re.search(r"(\d+) hits?\.", page.locator("main").inner_text())[1])  # type: ignore[index]
    assert [*map(int, counts)] == [row["correct"], row["n"] - row["correct"]]


@pytest.mark.slow
def test_the_catalogue_has_a_picture_of_each_analysis_that_is_drawn(client: Client) -> None:
    seen(client, "/tables")
    drawn_ones = client.page.locator(".titles li:has(picture)").evaluate_all(
        "entries => entries.map(entry => entry.querySelector('code').textContent)"
    )
    bank, analyses = client.get("/bank.json").json(), client.get("/analyses.json").json()
    assert sorted(drawn_ones) == sorted(
        name
        for name, analysis in analyses["analyses"].items()
        if analysis["plot"] and name not in bank["unanswered"]
    )
    entry = client.page.locator(".titles li", has=client.page.get_by_text("entropy", exact=True))
    entry.scroll_into_view_if_needed()
    client.page.wait_for_function(
        "image => image.naturalWidth > 100", arg=entry.locator("img").element_handle()
    )


@pytest.mark.slow
def test_every_analysis_has_a_view(client: Client) -> None:
    index = seen(client, "/tables")
    links = [link.partition("?")[0] for link in index.links if link.startswith("/tables/")]
    names = [link.removeprefix("/tables/") for link in links]
    assert set(names) == set(all_analyses())
    for name in ("table_1", "head_function", "gold_dependency", "figure_6"):
        page = seen(client, f"/tables/{name}")
        assert name in page.text and len(page.rows) > 1


@pytest.mark.slow
def test_a_table_is_that_of_the_analysis_and_cut_with_a_word(
    client: Client, explored: Path
) -> None:
    with open_bank(explored) as bank:
        found = bank.query("best_head", relation="obj", min_count=1)
        long = bank.query("head_accuracy").height
    assert long > 500
    page = seen(client, "/tables/best_head", relation="obj", min_count=1)
    assert page.rows[1][:2] == ["obj", str(found["n"][0])]
    cut = seen(client, "/tables/head_accuracy")
    assert len(cut.rows) == 501
    assert f"Rows 1 to 500 of {long:,}" in cut.text


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_is_drawn_here(client: Client, theme: str) -> None:
    answer = client.get(f"/answers/any/best_head.svg?min_count=1&theme={theme}")
    assert answer.status_code == 200 and answer.headers["content-type"] == "image/svg+xml"
    assert answer.text.startswith("<svg") and "<script" not in answer.text
    page = seen(client, "/tables/best_head", min_count=1)
    images = [given for tag, given in page.tags if tag in ("img", "source")]
    assert len(images) == 2


@pytest.mark.slow
def test_a_statement_has_its_rows(client: Client) -> None:
    page = seen(client, "/sql", statement="select i as n, i / 2 as half from range(3) as r(i)")
    assert page.rows == [["n", "half"], ["0", "0.000"], ["1", "0.500"], ["2", "1.000"]]
    cut = seen(client, "/sql", statement="select i from range(100000) as r(i)")
    assert len(cut.rows) == 501 and "Rows 1 to 500 of the first 10,000" in cut.text


def test_the_bank_is_told(client: Client, runs: dict[str, str]) -> None:
    page = seen(client, "/bank")
    assert all(name in page.text for name in runs.values())
    assert ["kept.result", "1"] in page.rows  # what was computed is a table of another schema
    assert not [row for row in page.rows if len(row) == 2 and row[1] == "0"]
    assert any(re.fullmatch(r"\d+,\d{3}", row[-1]) for row in page.rows if row)


@pytest.mark.slow
def test_every_link_of_every_page_answers(client: Client) -> None:
    """A walk from the first page over one link of each kind, without the runs and relations."""
    waiting, kinds = ["/", "/map", "/compare", f"/sentence?sentence={story(1)}"], set[str]()
    while waiting:
        address = waiting.pop()
        page = drawn(client, address)
        if page.fault:
            assert address.startswith("/tables/")  # the bank has no gradients, probes, ...
            continue
        for link in page.links:
            kind = re.sub(r"\d+-\d+", "N-N", link.split("?")[0])
            if link.startswith("/") and kind not in kinds and not re.search(r"\.\w+$", kind):
                kinds.add(kind)
                waiting.append(link)
    assert {"/head/N-N", "/sentence", "/tables", "/sql", "/bank", "/tables/entropy"} <= kinds


@pytest.mark.slow
def test_hostile_words_are_words(client: Client, runs: dict[str, str]) -> None:
    odd = runs["odd"]
    name = '"><script>alert(3)</script>'
    addresses: list[tuple[str, dict[str, object]]] = [
        ("/", {"run": odd}),
        ("/head/1-1", {"run": odd, "relation": "obj"}),
        ("/sentences", {"pattern": REQUEST, "corpus": "<i>odd&'"}),
        ("/sentences", {"pattern": REQUEST, "by": "V.form, O.form, sentence.speaker, document.x"}),
        ("/sentence", {"sentence": name, "run": odd, "tree": 1, "coreference": 1}),
        ("/sentence", {"sentence": name, "run": odd, "layout": "columns"}),
        ("/sentence", {"sentence": name, "run": odd, "decoded": "all"}),
        ("/compare", {"run_a": odd, "run_b": odd}),
        ("/tables/gold_dependency", {"run": odd}),
        ("/sql", {"statement": "select form, '<b>x</b>' as \"<u>\" from word order by id limit 9"}),
        ("/bank", {"run": odd}),
    ]
    for path, values in addresses:
        page = drawn(client, path, **values)
        tags = {tag for tag, _ in page.tags}
        assert not tags & {"i", "u", "img"} or path == "/sentences", path
        scripts = [given.get("src") for tag, given in page.tags if tag == "script"]
        assert scripts == [f"/static/{name}.js" for name in ("old_browser", "hover", "main")], path
        assert not any(key.startswith("on") for _, given in page.tags for key in given), path
    page = seen(client, "/sentence", sentence=name, run=odd)
    assert "<script>alert(1)</script>" in page.text and "שלום" in page.text


@pytest.mark.slow
def test_a_relation_that_no_word_has_is_told_on_the_page_of_a_head(client: Client) -> None:
    fault = drawn(client, "/head/1-2", relation="objx").fault
    assert "has the relation objx" in fault and "Did you mean obj" in fault
