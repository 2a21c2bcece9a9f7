"""`attnbank report`: one file, whole or not at all, whatever the names in the bank are."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bank_factory import BankFactory
from command_line import Cli
from new_banks import put
from report_pages import read

from attnbank.queries import open_bank
from attnbank.sql.bank.opening import open_to_write
from attnbank.sql.errors import CallError

SCRIPT = "<script>alert(1)</script>"
QUOTES = "\"'><img"
HEBREW = "שלום"
OVERRIDE = "a\u202eb"
SENTENCE = f"""\
1\t{SCRIPT}\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\t{QUOTES}\t_\tVERB\t_\t_\t0\troot\t_\t_
3\t{HEBREW}\t_\tNOUN\t_\t_\t2\tobj\t_\t_
4\t{OVERRIDE}\t_\tADJ\t_\t_\t3\tamod\t_\t_
5\t&amp;\t_\tADJ\t_\t_\t3\tamod\t_\t_
6\t</style>\t_\tADJ\t_\t_\t3\tamod\t_\t_

"""


@pytest.mark.slow
def test_the_command_writes_the_page(sample_bank: Path, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "report.html"
    printed = cli("-b", sample_bank, "report", "-o", file)
    assert not printed.out and "Answering: 21 of 21 sections" in printed.err
    assert "table-1" in read(file.read_text(encoding="utf-8")).ids
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        ([], 2, "report needs -o FILE.\nType: attnbank -b "),
        (["-o", "-"], 2, "bank.duckdb report -o report.html"),
        (["-o", "a.pdf"], 2, "A report is an HTML page; a.pdf does not end in .html."),
        (["-o", "no/such/a.html"], 2, "There is no folder"),
        (["-o", "a.html", "--run", "elsewhere"], 2, "There is no run elsewhere"),
    ],
)
def test_what_cannot_be_written_is_told(
    sample_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    cli: Cli, args: list[str], status: int, message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    printed = cli("-b", sample_bank, "report", *args, status=status).err
    assert message in printed and "Traceback" not in printed
    assert not list(tmp_path.iterdir())


def test_an_empty_bank_has_a_report_too(tmp_path: Path, cli: Cli) -> None:
    bank, file = put(tmp_path / "empty.duckdb"), tmp_path / "report.html"
    open_to_write(bank, "test").close()
    assert "Answering: 21 of 21 sections" in cli("-b", bank, "report", "-o", file).err
    page = read(file.read_text(encoding="utf-8"))
    assert "missing-table-1" in page.ids and "table-1" not in page.ids


@pytest.mark.slow
def test_names_of_a_corpus_are_no_markup(tmp_path: Path, cli: Cli, bank_of: BankFactory) -> None:
    corpus = tmp_path / "<img src=x onerror=alert(1)>.conllu"
    corpus.write_text(SENTENCE * 12, encoding="utf-8")
    bank, file = tmp_path / 'b"><b>.duckdb', tmp_path / "report.html"
    bank_of(corpus, to=bank)
    cli("-b", bank, "report", "-q", "-o", file)
    html = file.read_text(encoding="utf-8")
    page = read(html)
    assert not {"script", "img", "b"} & {*page.tags}
    assert page.tags.count("style") == 1 and "<script" not in html and "\u202e" not in html
    words = set()
    for part in html.split("<svg")[1:]:
        root = ElementTree.fromstring("<svg" + part[: part.index("</svg>") + len("</svg>")])
        words |= {"".join(element.itertext()).strip("\u2067\u2069") for element in root.iter()}
    assert {SCRIPT, QUOTES, HEBREW, "a\\u202eb", "&amp;", "</style>"} <= words
    assert "<img src=x onerror=alert(1)>" in html.replace("&lt;", "<").replace("&gt;", ">")


@pytest.mark.slow
def test_it_says_which_rows_were_kept(sample_bank: Path, tmp_path: Path, cli: Cli) -> None:
    bank, page = shutil.copy(sample_bank, tmp_path / "bank.duckdb"), tmp_path / "page.html"
    cli("-b", bank, "compute", "best_head_held_out", "-q")
    cli("-b", bank, "report", "-o", page)
    html = page.read_text(encoding="utf-8")
    (names, *rows), *_ = read(html).tables["seconds"]
    assert names == ["section", "seconds", "rows"] and len(rows) > 5
    assert all(0 <= float(seconds) < 60 for _, seconds, _ in rows)
    kept = [title for title, _, told in rows if told.startswith("cached on 20")]
    assert kept == ["Relations, chosen on one half and scored on the other"]
    assert {told for title, _, told in rows if title not in kept} == {"computed"}
    found = html.split("Rows cached on 20")
    assert len(found) == 2
    assert found[0].rindex('id="held-out') > found[0].rindex('id="table-1')


@pytest.mark.soak
def test_python_writes_the_same_page(sample_bank: Path, tmp_path: Path, cli: Cli) -> None:
    """Without a path the page is a text."""
    commanded, called = tmp_path / "a.html", tmp_path / "b.html"
    cli("-b", sample_bank, "report", "-q", "-o", commanded)
    with open_bank(sample_bank) as bank:
        bank.report(called)
        text = bank.report()
    pages = [commanded.read_text(encoding="utf-8"), called.read_text(encoding="utf-8"), text]
    first, *others = map(read, pages)
    for other in others:
        assert (other.ids, other.headings, other.tags) == (first.ids, first.headings, first.tags)
        assert {**other.tables, "seconds": None} == {**first.tables, "seconds": None}
    assert sorted(tmp_path.iterdir()) == [commanded, called]


def test_python_is_told_what_cannot_be_written(sample_bank: Path, tmp_path: Path) -> None:
    with open_bank(sample_bank) as bank:
        with pytest.raises(CallError, match=r"does not end in \.html"):
            bank.report(tmp_path / "report.pdf")
        with pytest.raises(CallError, match="There is no folder"):
            bank.report(tmp_path / "no" / "report.html")
        with pytest.raises(CallError, match="There is no run elsewhere"):
            bank.report(tmp_path / "report.html", run="elsewhere")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def two_corpora(tmp_path: Path, bank_of: BankFactory) -> Path:
    """A bank of two models over two corpora, one of them a decoder in a folder."""
    decoder = bank_of("stories", "gpt2", after=bank_of("press"))
    return bank_of("stories", after=decoder, to=tmp_path / "two.duckdb")


@pytest.mark.slow
def test_several_runs_stand_side_by_side(two_corpora: Path, tmp_path: Path, cli: Cli) -> None:
    """Each figure of the table is one that the analysis gives for that run."""
    file = tmp_path / "report.html"
    with open_bank(two_corpora) as bank:
        names = bank.runs()["name"].to_list()
        words = [word for name in names for word in ("--run", name)]
    cli("-b", two_corpora, "report", "-q", "-o", file, *words)
    page = read(file.read_text(encoding="utf-8"))
    assert {"beside", "beside-1"} <= set(page.ids)
    header, *rows = page.tables["beside-1"][0]
    assert header == ["relation", *names]
    with open_bank(two_corpora) as bank:
        for at, name in enumerate(names, 1):
            best = bank.query("best_head", run=name)
            wanted = {
                row["relation"]: f"{row['accuracy']:.3f} ({row['layer']}-{row['head']})"
                for row in best.iter_rows(named=True)
            }
            assert {row[0]: row[at] for row in rows if row[at]} == wanted
    with open_bank(two_corpora) as bank:
        alone = bank.report(run=names[0])
    assert "beside" not in read(alone).ids and f"Run: {names[0]} (named)" in _told(alone)


@pytest.mark.slow
def test_it_says_by_which_rule_a_run_was_taken_and_where_no_file_is(
    two_corpora: Path, tmp_path: Path, cli: Cli
) -> None:
    with open_bank(two_corpora) as bank:
        page = bank.report()
        newest = bank.runs()["name"][-1]
    assert f"Run: {newest} (the newest of 3 that fit)" in _told(page)
    assert str(tmp_path) not in page and str(tmp_path.parent) not in page
    cli("-b", two_corpora, "use", newest)
    with open_bank(two_corpora) as bank:
        assert f"Run: {newest} (preferred in this bank, attnbank use)" in _told(bank.report())


def _told(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page))
