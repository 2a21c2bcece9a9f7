"""`attnbank publish`: what is refused, what stands in the folder, and what happens half-way."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
import zipfile
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bank_rows import change_bank
from browsers import ROOT
from crashes import run_on_disk

from attnbank.cli.app import run_command_line
from attnbank.cli.viewer import publishing
from attnbank.queries import Bank, analyses, open_bank

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / ".src")}


@pytest.fixture(scope="module", autouse=True)
def needs_the_programs() -> None:
    try:
        publishing.need_bundle()
    except Exception as error:
        pytest.skip(str(error))


def _publish(bank: Path, folder: Path, *options: str) -> int:
    return run_command_line(["-b", str(bank), "publish", str(folder), *options])


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def _with_licence(bank: Path, made: Path, licence: str | None) -> Path:
    shutil.copy(bank, made)
    with duckdb.connect(str(made)) as connection:
        connection.execute("update corpus set licence = $1 where name = 'stories'", [licence])
    return made


@pytest.mark.usual(3)
@pytest.mark.parametrize(
    ("licence", "why"),
    [
        ("LDC User Agreement", "its licence is LDC User Agreement"),
        ("CC BY-NC-SA 4.0, without text", "its licence is CC BY-NC-SA 4.0, without text"),
        (None, "its licence is unknown"),
    ],
)
def test_a_text_that_may_not_be_passed_on_stays(
    few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], licence: str | None,
    why: str,
) -> None:  # fmt: skip
    bank = _with_licence(few_words, tmp_path / "closed.duckdb", licence)
    assert _publish(bank, tmp_path / "site") == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f"Error: Refusing to publish the text of stories: {why}."
    assert told[1].startswith("If you have permission, add --i-may.")
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--name", "page"], "page cannot be the name of a published bank."),
        (["--name", "index.html"], "index.html cannot be the name of a published bank."),
        (["--name", "Index.HTML"], "Index.HTML cannot be the name of a published bank."),
        (["--name", "Page"], "Page cannot be the name of a published bank."),
        (["--name", "../up"], "../up cannot be the name of a published bank."),
        (["--run", "none"], "no run none"),
        (["--keep", "maps"], "'maps' is not a valid value of --keep."),
        (["--keep", "none=peaks"], "--keep none=peaks names no run that is published."),
        (["--sentences", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_written(
    few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str],
    told: str,
) -> None:  # fmt: skip
    assert _publish(few_words, tmp_path / "site", *options) == 2
    error = capsys.readouterr().err
    assert told in error and len(error.splitlines()) == 2
    assert not (tmp_path / "site").exists()


@pytest.mark.usual("page/app.js-*", "page/pyodide-*", "odd/bank*", "index.html/*")
@pytest.mark.parametrize(
    ("mine", "options"),
    [
        ("page/app.js", []),
        ("page/pyodide/attnbank.zip", []),
        ("page/colours.css", []),
        ("page/pyodide", []),
        ("odd/bank.duckdb", ["--force"]),
        ("odd/sheets", ["--force"]),
        ("index.html/", []),
    ],
)
def test_what_is_in_the_way_is_said_before_the_work(
    few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], mine: str,
    options: list[str],
) -> None:  # fmt: skip
    site = tmp_path / "site"
    file = site / mine
    file.parent.mkdir(parents=True)
    if mine.endswith("/"):
        file.mkdir()
    else:
        file.write_text("mine")
    assert _publish(few_words, site, "--add", "--name", "odd", *options) == 2
    told = capsys.readouterr().err
    assert f"{file} is" in told and "The bank takes" not in told and len(told.splitlines()) == 2
    assert [each for each in site.rglob("*") if each.is_file()] == [file] * file.is_file()


def test_the_paths_of_this_machine_are_named(few_words: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copyfile(few_words, tmp_path / "copy.duckdb"))
    change_bank(
        copy,
        "update corpus set path = '/home/ada/a.conllu' || chr(10) || '/b.conllu'",
        "update model set name = if(id = 1, '/home/ada/tiny', 'tiny')",
    )
    assert [*publishing.notes_on_paths(copy)] == [
        "The bank contains the path of its model on this machine: /home/ada/tiny.",
        "The bank contains the path of its corpus on this machine: /home/ada/a.conllu.",
    ]


def test_what_is_looked_for_is_what_is_written(tmp_path: Path) -> None:
    publishing.write_programs(tmp_path)
    made = {(each.relative_to(tmp_path), each.is_dir()) for each in tmp_path.rglob("*")}
    assert set(publishing.program_paths()) == made


def test_the_first_page_says_which_model_finds_what(tmp_path: Path) -> None:
    """Of banks with trees: the best heads of all of them, and that equal ones differ in n."""
    share = {"accuracy": 0.75, "low": 0.5, "high": 0.9, "offset_accuracy": 0.25}
    head = {"relation": "obj", "layer": 3, "head": 1, "direction": "dependent_to_head"} | share
    head |= {"is_whole": True, "control_accuracy": None}
    rows = {
        "one": head | {"run": "a/m", "corpus": "a", "n": 26, "overall": 0.75, "p_corrected": 0.38},
        "two": head | {"run": "b/m", "corpus": "b", "n": 1664, "overall": 0.8, "p_corrected": 0.01},
        "bare": None,
    }
    for bank, row in rows.items():
        (tmp_path / bank / "answers" / "any").mkdir(parents=True)
        runs = [{"name": row["run"], "model": "<m>"}] if row else []
        manifest = {
            "format": publishing.FORMAT,
            "name": bank,
            "runs": runs,
            "corpora": [],
            "bank": {"bytes": 1},
        }
        (tmp_path / bank / "bank.json").write_text(json.dumps(manifest))
        if row:
            row |= {"model": "/home/ada/m"}
            columns = [{"name": name} for name in row]
            record = {"columns": columns, "values": [[value] for value in row.values()]}
            file = tmp_path / bank / "answers" / "any" / "leaderboard.json"
            file.write_text(json.dumps(record))
    publishing.write_gallery(tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "/home/ada" not in page and "<m>" not in page
    told = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("in words")[1])).strip()
    assert told == (
        "obj &lt;m&gt; b two 3-1 75 % 50 % to 90 % 1,664 25 % Better than the best fixed offset"
        " (p = 0.010). The same head as in one , where n is 26."
        " &lt;m&gt; a one 3-1 75 % 50 % to 90 % 26 25 % Not shown to be better than the best fixed"
        " offset (p = 0.38). The same head as in two , where n is 1,664."
    )


IN_A_BROWSER = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pwd", "resource", "termios"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
sys.platform = "emscripten"
sys.path[:0] = sys.argv[1:]
from attnbank.cli.viewer.in_browser import compiled
"""


def test_the_compiler_needs_no_more_than_a_browser_s_python_has(tmp_path: Path) -> None:
    """Nothing but lark, and not the modules that Pyodide has removed."""
    publishing.write_programs(tmp_path)
    for name in ("attnbank", "lark"):
        with zipfile.ZipFile(tmp_path / "pyodide" / f"{name}.zip") as packed:
            packed.extractall(tmp_path / "unpacked")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IN_A_BROWSER, tmp_path / "unpacked"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_port_that_is_taken_is_said_before_the_work(
    few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        site = tmp_path / "site"
        assert _publish(few_words, site, "--serve", "--port", str(port)) == 2
    assert f"Cannot listen on port {port}" in capsys.readouterr().err
    assert not site.exists()


@pytest.mark.slow
def test_pictures_are_those_of_plot(publication: Path) -> None:
    """In both themes, of charts and of sentences."""
    with open_bank(publication / "odd" / "bank.duckdb") as bank:
        run = bank.run_of("best_head")
        assert run is not None
        pictures = sorted((publication / "odd" / "answers" / str(run.id)).glob("*.svg"))
        assert {"figure_1.dark.svg", "entropy.light.svg"} < {file.name for file in pictures}
        for file in pictures:
            name, theme, _ = file.name.split(".")
            drawn = bank.picture(name, theme=theme, run=run.name).as_bytes(".svg")
            assert file.read_bytes() == drawn, file.name


@pytest.mark.slow
def test_folders_of_others_are_left_alone(
    few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "thesis.txt").write_text("mine")
    assert _publish(few_words, site) == 2
    assert "is not empty" in capsys.readouterr().err
    (site / "index.html").write_text("<h1>My own page</h1>")
    assert _publish(few_words, site, "--add") == 2
    assert "was not written by attnbank publish" in capsys.readouterr().err
    (site / "index.html").unlink()
    (site / "bank").mkdir()
    (site / "bank" / "bank.json").mkdir()
    assert _publish(few_words, site, "--add") == 2
    assert "is not empty" in capsys.readouterr().err
    (tmp_path / "file").write_text("mine")
    assert _publish(few_words, tmp_path / "file") == 2
    assert "is not a folder" in capsys.readouterr().err
    assert (site / "thesis.txt").read_text() == "mine" and not (site / "page").exists()


def test_without_the_programs_it_says_what_to_type(
    few_words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(publishing, "WEB", tmp_path)
    assert _publish(few_words, tmp_path / "site") == 2
    assert "type in a clone of it: make web" in capsys.readouterr().err
    web = Path(publishing.__file__).parent / "web"
    shutil.copytree(web, tmp_path, dirs_exist_ok=True)
    (tmp_path / "app.js").write_text("cut short")
    assert _publish(few_words, tmp_path / "site") == 2


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.slow
def test_a_publication_is_whole_and_escaped(publication: Path) -> None:
    odd = publication / "odd"
    digest = hashlib.sha256((odd / "bank.duckdb").read_bytes()).hexdigest()
    manifest = json.loads((odd / "bank.json").read_text(encoding="utf-8"))
    size = (odd / "bank.duckdb").stat().st_size
    assert (manifest["bank"]["bytes"], manifest["bank"]["sha256"]) == (size, digest)
    assert not any(each["steps"] for each in manifest["runs"])
    places = [each for pair in manifest["bank"]["opening"] for each in pair]
    assert places[0] == 0 and places == sorted(places) and places[-1] < size
    for file in (odd / "answers").rglob("*.json"):  # no path of the machine that published it
        assert ".part" not in file.read_text(encoding="utf-8"), file
    assert (odd / "bank.duckdb.sha256").read_text() == f"{digest}  bank.duckdb\n"
    for page in (publication / "index.html", odd / "index.html"):
        text = page.read_text(encoding="utf-8")
        assert digest in text and "CC BY-SA 4.0" in text
        tags = _Tags(text).found
        assert not any(tag in ("img", "i", "b") for tag, _ in tags)
        assert not any(name.startswith("on") for _, given in tags for name in given)
        scripts = [given.get("src") for tag, given in tags if tag == "script"]
        own = [f"../page/{name}.js" for name in ("old_browser", "hover", "app")]
        assert scripts == (own if page.parent == odd else [])
        (policy,) = [
            given["content"] or "" for tag, given in tags
            if given.get("http-equiv") == "Content-Security-Policy"
        ]  # fmt: skip
        assert "default-src 'none'" in policy and "unsafe-inline" not in policy
        assert "'unsafe-eval'" not in policy and "http" not in policy
    assert (publication / "page" / "pyodide" / "attnbank.zip").is_file()
    licences = (publication / "page" / "LICENSES.txt").read_text(encoding="utf-8")
    named = (
        "Stichting DuckDB Foundation",
        "pyodide 3",
        "lark (PyPI) 1",
        "apache-arrow 1",
    )
    assert all(name in licences for name in named) and "nunjucks" not in licences


@pytest.mark.slow
def test_answers_have_all_digits_of_the_bank(publication: Path) -> None:
    with open_bank(publication / "odd" / "bank.duckdb") as bank:
        names = {row["name"]: row["id"] for row in bank.runs().to_dicts()}
        for name, number in names.items():
            for analysis in ("head_accuracy", "entropy", "best_head", "special_tokens"):
                file = publication / "odd" / "answers" / str(number) / f"{analysis}.json"
                told = json.loads(file.read_text(encoding="utf-8"))
                frame = bank.query(analysis, run=name)
                columns = [each["name"] for each in told["columns"]]
                assert columns == frame.columns
                assert told["values"] == [list(each) for each in frame.get_columns()]
                assert frame.height or analysis == "best_head"


@pytest.mark.slow
def test_example_requests_have_the_scores_of_the_command(publication: Path) -> None:
    """All but those whose pairs are circular, or not in the run."""
    folder, scored = publication / "odd", 0
    manifest = json.loads((folder / "bank.json").read_text(encoding="utf-8"))
    saved = [relation["request"] for relation in manifest["saved"]]
    assert [*manifest["requests"]] == [*saved, *manifest["examples"]] and len(saved) == 2
    with open_bank(folder / "bank.duckdb") as bank:
        for request, compiled in manifest["requests"].items():
            dependent, head = compiled["pair"]
            assert compiled["is_circular"] == ("=[1-1]=>" in request)
            for run in manifest["runs"]:
                score = partial(bank.score, request, dependent=dependent, head=head)
                file = manifest["scored"].get(f"{run['id']} {dependent} {head} {request}")
                if compiled["is_circular"] or not score(run=run["name"]).height:
                    assert file is None, (request, run["name"])
                    continue
                answer = json.loads((folder / file).read_text(encoding="utf-8"))
                for name, every in (("every", True), ("best", False)):
                    frame = score(run=run["name"], every=every)
                    assert [column["name"] for column in answer[name]["columns"]] == frame.columns
                    assert answer[name]["values"] == [
                        list(values) for values in frame.get_columns()
                    ]
                scored += 1
    assert scored == len(manifest["scored"]) > 6


@pytest.mark.slow
def test_examples_are_of_what_heads_find_best(publication: Path) -> None:
    """With the peaks of their sentences, and all weights that a line of words shows."""
    folder, lines = publication / "odd" / "examples", 0
    with open_bank(publication / "odd" / "bank.duckdb") as bank:
        for run, keep in bank.sql("select id, keep from run where unit = 'word'").rows():
            for best in bank.query("best_head", run=str(run)).to_dicts()[1:]:  # without all
                head = f"{best['layer']}-{best['head']}"
                file = json.loads((folder / str(run) / f"{head}.json").read_text(encoding="utf-8"))
                told = file["of"][f"{best['relation']} {best['direction']}"]
                kinds = [row["breakdown"] for row in told]
                correct = round(best["accuracy"] * best["n"])
                wrong = best["n"] - correct
                assert (kinds.count("right"), kinds.count("wrong")) == (
                    min(3, correct),
                    min(3, wrong),
                )
                assert {row["dependents"] for row in told} == {best["n"]}
                of_dependents = [row for row in told if row["breakdown"].startswith("of ")]
                assert sum(row["correct"] for row in of_dependents) == 3 * correct
                for sentence, own in file["sentences"].items():
                    wanted = _attention_in(bank, run, int(sentence), best["layer"], best["head"])
                    assert [[*peak.values()] for peak in own["peaks"]] == wanted[0]
                    arcs = {
                        (row["from_position"], int(to)): weight
                        for row in own["maps"]
                        for to, weight in row["weights"].items()
                    }
                    large = {pair for pair, weight in wanted[1].items() if weight >= 0.1}
                    assert large <= arcs.keys()
                    assert keep == "peaks" or all(
                        arcs[pair] == round(wanted[1][pair], 5) for pair in arcs
                    )
                    lines += len(own["maps"])
    assert lines > 1000


def _attention_in(
    bank: Bank, run: int, sentence: int, layer: int, head: int
) -> tuple[list[list[int]], dict[tuple[int, int], float]]:
    """The peaks of the words of a sentence, and the weights between them."""
    of = {"run": run, "sentence": sentence, "layer": layer, "head": head}
    peaks = bank.sql(
        "select position, most_attended, most_attending from peak where layer = $layer"
        " and head = $head and (sequence, position) in (select place.sequence, place.position"
        " from word_position as place, word, sequence where word.id = place.word"
        " and sequence.id = place.sequence and run = $run and word.sentence = $sentence)"
        " order by position", of,
    ).rows()  # fmt: skip
    weights = bank.sql(
        "select from_position, to_position, weight from attention_weight where layer = $layer"
        " and head = $head and sequence = (select id from sequence where run = $run"
        " and sentence = $sentence)", of,
    ).rows()  # fmt: skip
    words = bank.sql(
        "select position from word_position, word where word.id = word_position.word"
        " and sentence = $sentence and sequence in (select id from sequence where run = $run)",
        {"run": run, "sentence": sentence},
    )["position"].to_list()
    froms = {position for position, *_ in peaks}
    between = {(one, to): weight for one, to, weight in weights if one in froms and to in words}
    return [list(row) for row in peaks], between


@pytest.mark.slow
def test_of_the_text_only_the_first_inputs_are_published(
    two_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the bank, in the pages and in the results that are computed for them."""
    site = tmp_path / "site"
    options = ["--run", "stories/tiny-bert", "--sentences", "3", "--name", "few"]
    assert _publish(two_runs, site, *options) == 0
    told = capsys.readouterr().err
    stages = dict.fromkeys(re.findall(r"^([A-Z][a-z ]+): \d", told, re.MULTILINE))
    results = "Writing results and pictures"
    assert [*stages] == [
        "Copying the bank", "Caching results", results, "Writing scores", "Writing examples",
        "Writing sentences",
    ]  # fmt: skip
    done = re.findall(r"^[A-Z][a-z ]+: (\d+) of (\d+) \w+, 0 s left$", told, re.MULTILINE)
    assert {total for count, total in done if count == total} >= {"3", str(len(analyses()))}
    with open_bank(two_runs) as bank:
        rows = bank.sql(
            "select word.form, word.sentence <= (select list(id order by id)[3] from sentence"
            " where document in (select id from document where corpus = 1)) as is_first from word"
            " inner join sentence on sentence.id = word.sentence inner join document"
            " on document.id = sentence.document where document.corpus = 1"
        ).rows()
    first, later = ({form for form, own in rows if own is is_first} for is_first in (True, False))
    # Statements and pages have words of their own, of which one is in the text.
    left = {form.encode() for form in later - first - {"answered"} if len(form) > 6}
    assert len(left) > 10
    text = b"\n".join(file.read_bytes() for file in (site / "few").rglob("*") if file.is_file())
    assert all(form.encode() in text for form in first if len(form) > 6)
    assert not [form for form in left if re.search(rb"\b" + re.escape(form) + rb"\b", text)]
    with open_bank(site / "few" / "bank.duckdb") as bank:
        assert bank.sql("select count(*) as n from sentence")["n"].item() == 3


@pytest.mark.soak
def test_a_second_bank_stands_beside_the_first(
    publication: Path, two_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Path(shutil.copytree(publication, tmp_path / "site"))
    assert _publish(two_runs, site, "--name", "second") == 2
    assert "has other banks: odd" in capsys.readouterr().err
    manifest = site / "odd" / "bank.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 1}))
    (site / "second").mkdir()
    (site / "second" / "thesis.txt").write_text("mine")
    closed = _with_licence(two_runs, tmp_path / "closed.duckdb", None)
    options = ["--name", "second", "--run", "stories/tiny-bert", "--keep", "peaks", "--i-may"]
    assert _publish(closed, site, "--add", "--force", *options, "--sentences", "6") == 0
    lines = capsys.readouterr().err.splitlines()
    first = next(line for line in lines if line.startswith(("The bank is ", "Caching results")))
    assert first.startswith("The bank is "), "its size is told before the long work"
    assert any(line.startswith("Publish again: odd.") for line in lines), "it is an older one"
    assert (site / "second" / "thesis.txt").read_text() == "mine"
    text = (site / "index.html").read_text(encoding="utf-8")
    links = [given["href"] for tag, given in _Tags(text).found if tag == "a"]
    assert links[:2] == ["odd/", "second/"]  # the others are of the leaderboard
    with open_bank(site / "second" / "bank.duckdb") as bank:
        (row,) = bank.runs().to_dicts()
        assert (row["keep"], row["name"]) == ("peaks", "stories/tiny-bert, first 6")
        assert bank.sql("select count(*) as n from sequence")["n"].item() == 6
    (site / "index.html").unlink()  # as if it had been killed before its last step
    assert _publish(two_runs, site, "--add", "--name", "odd") == 2
    assert "is not empty" in capsys.readouterr().err
    assert (site / "index.html").read_text(encoding="utf-8") == text


@pytest.mark.soak
def test_killed_at_any_time_the_same_command_ends_it(
    publication: Path, two_runs: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "attnbank", "-b", str(two_runs), "publish", "site",
               "--name", "odd", "--run", "stories/tiny-bert"]  # fmt: skip
    for after, number in ((2, signal.SIGKILL), (9, signal.SIGINT), (20, signal.SIGKILL)):
        running = subprocess.Popen(
            command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        try:
            running.wait(after)
        except subprocess.TimeoutExpired:
            running.send_signal(number)
        assert running.wait(60) in (0, 1, -signal.SIGKILL)
        assert not (tmp_path / "site" / "odd").exists() or running.returncode == 0
    ended = subprocess.run(
        [*command, "--force"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    site = tmp_path / "site"
    assert _names(site) == [".nojekyll", "index.html", "odd", "page"]
    assert _names(site / "page") == _names(publication / "page")
    assert _names(site / "odd") == _names(publication / "odd")


@pytest.mark.slow
def test_a_full_disk_is_said_and_leaves_nothing(two_runs: Path, tmp_path: Path) -> None:
    args = ["-b", two_runs, "publish", "site", "--run", "stories/tiny-bert"]
    for limit in (100_000, 2_000_000):
        done = run_on_disk(limit, *args, cwd=tmp_path)
        assert done.returncode == 1 and "is full" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "site" / "bank").exists()
        assert not [each for each in tmp_path.rglob("*") if each.is_file()]


@pytest.mark.slow
def test_it_serves_ranges_to_this_machine_alone(publication: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "attnbank", "publish", str(publication), "--serve", "--port", "0"],
        env=ENVIRONMENT, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("The published bank is at http://127.0.0.1:"), line
        address = line.split()[-1]

        def ask(path: str, **headers: str) -> tuple[int, Any, bytes]:
            asked = urllib.request.Request(f"{address}{path}", headers=headers)
            try:
                with urllib.request.urlopen(asked) as answer:
                    return answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                return error.code, error.headers, b""

        bank = (publication / "odd" / "bank.duckdb").read_bytes()
        status, headers, body = ask("odd/bank.duckdb", Range="bytes=8-11")
        assert (status, body) == (206, b"DUCK") and headers["Content-Range"].endswith(
            f"/{len(bank)}"
        )
        assert ask("odd/bank.duckdb")[2] == bank
        assert ask("", Host="evil.example")[0] == 400
        assert ask("../../../../etc/passwd")[0] == 404
        assert ask("%2e%2e/%2e%2e/%2e%2e/etc/passwd")[0] == 404
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    finally:
        running.kill()
        running.wait()
