"""What a view leads to: files, the sentences of a count, pages of examples, maps, a text typed."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import polars as pl
import pytest
import torch
import transformers
from bank_factory import BankFactory
from explored_pages import HOST, PORT, TOKEN, Client, Read, exploring, seen, story, taken
from fixture_types import Models
from starlette.testclient import TestClient

from attnbank.cli.viewer.request import BankCache
from attnbank.cli.viewer.site import make_site
from attnbank.ingest.models.loading import load
from attnbank.queries import open_bank
from attnbank.sql import registry

REQUEST = "pattern { V -[obj]-> O }"


@pytest.mark.slow
def test_a_picture_is_given_as_a_file(client: Client) -> None:
    seen(client, "/tables/best_head", min_count=1)
    for kind, begin in (("SVG", b"<svg"), ("PDF", b"%PDF"), ("PNG", b"\x89PNG")):
        assert taken(client, f"Download {kind}").startswith(begin)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/head/2-1"])
def test_what_is_on_screen_is_given_as_a_file(
    client: Client, path: str, runs: dict[str, str]
) -> None:
    """With its words and the run that they are of."""
    page = seen(client, path, relation="obj", by="relation", run=runs["single"])
    file = taken(client, "Download SVG").decode()
    assert file.startswith("<svg") and f">{runs['single']}: model" in file
    written = re.findall(r">([^<>]+)</text>", re.sub(r"<!--.*?-->", "", file))
    if path == "/":
        numbers = [cell for row in page.rows for cell in row if re.fullmatch(r"\d+", cell)]
        assert [text for text in written if re.fullmatch(r"\d+", text)] == numbers != []
    assert taken(client, "Download PNG").startswith(b"\x89PNG")


def test_a_head_that_is_always_right_pages_on_too(client: Client, explored: Path) -> None:
    """How many there are was once read from the rows of errors, of which such a head has none."""
    with open_bank(explored) as bank:
        run = bank.run_of("head_error")
        assert run is not None
        found = bank.backend.fetch(
            registry.internal_statement("examples/head_examples"),
            {"run": run.name, "relation": "obj", "layer": 1, "head": 1,
             "direction": "dependent_to_head", "most": 3},
        )  # fmt: skip
    assert found["dependents"].null_count() == found["errors"].null_count() == 0
    assert found.filter(pl.col("breakdown").is_in(["right", "wrong"])).height > 0


def test_a_kept_link_asks_for_the_token_and_goes_on(cache: BankCache) -> None:
    """The explorer was started again, and has another token than the cookie."""
    stranger = TestClient(make_site(cache, TOKEN, PORT), base_url=HOST, follow_redirects=False)
    kept = f"/sentence?sentence={story(3)}&head=1-1&pattern=%22%3E%3Cscript%3E"
    answer = stranger.get(kept)
    page = Read(answer.text)
    assert answer.status_code == 403 and "<script>" not in answer.text
    (form,) = (given for tag, given in page.tags if tag == "form")
    hidden: dict[str, str] = {
        str(given["name"]): str(given["value"])
        for tag, given in page.tags
        if tag == "input" and given.get("type") == "hidden"
    }
    assert form["action"] == "/sentence"
    pattern = '"><script>'
    assert hidden == {"sentence": str(story(3)), "head": "1-1", "pattern": pattern}
    for typed in (TOKEN, f"{HOST}/?token={TOKEN}"):  # or the whole address
        gone = stranger.get(f"/sentence?{urlencode({**hidden, 'token': typed})}")
        assert gone.status_code == 303
        assert parse_qs(urlsplit(gone.headers["location"]).query) == {
            name: [value] for name, value in hidden.items()
        }
    stranger.cookies.clear()
    assert stranger.get(f"/sentence?{urlencode({**hidden, 'token': 'no'})}").status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["dependent_to_head", "head_to_dependent"])
def test_counts_lead_to_their_words(client: Client, explored: Path, direction: str) -> None:
    """Each number of the bars is that of the sentences behind it, and all of them are there."""
    with open_bank(explored) as bank:
        errors = bank.query("head_error", relation="all", head="3-2", direction=direction)
    page = seen(client, "/head/3-2", relation="all", direction=direction)
    links = [each for each in page.links if "/examples" in each]
    asked = [parse_qs(urlsplit(each).query) for each in links]
    found = {(each["breakdown"][0], each.get("value", [""])[0]): link
             for each, link in zip(asked, links, strict=True)}  # fmt: skip
    counts = {(row["breakdown"], row["value"]): row["n"] for row in errors.iter_rows(named=True)}
    of_dependents = {
        (row["breakdown"], row["value"]): (row["n"], row["correct"])
        for row in client.get(
            f"/examples/5/3-2.json?{urlencode({'relation': 'all', 'direction': direction})}"
        ).json()
        if row["breakdown"].startswith("of ")
    }
    counts |= {key: n for key, (n, _) in of_dependents.items()}
    checked = set()
    for (breakdown, value), address in found.items():
        wanted = counts.get((breakdown, value))
        if breakdown == "right":
            wanted = errors["dependents"][0] - errors["errors"][0]
        elif breakdown == "wrong":
            wanted = errors["errors"][0]
        told = seen(client, address)
        rows = list(csv.DictReader(io.StringIO(taken(client, "Download CSV").decode())))
        assert len(rows) == (wanted or 0), (breakdown, value)  # of all pages
        if (breakdown, value) in of_dependents:
            correct = sum(row["is_right"] == "true" for row in rows)
            assert correct == of_dependents[breakdown, value][1]
        links = [each for each in told.links if each.startswith("/sentence?")]
        assert len(links) == min(len(rows), 50)
        if (wanted or 0) > 50:
            assert f"of {wanted}" in told.text
        checked.add(breakdown)
    assert checked == {
        "right", "wrong", "relation", "upos", "distance", "of upos", "of order", "of distance"
    }  # fmt: skip


@pytest.mark.slow
def test_examples_mark_what_is_found_and_page_on(client: Client, explored: Path) -> None:
    asked = {"relation": "all", "direction": "dependent_to_head", "breakdown": "wrong"}
    with open_bank(explored) as bank:
        errors = bank.query("head_error", relation="all", head="3-2")["errors"][0]
    links: list[str] = []
    address: str | None = f"/head/3-2/examples?{urlencode(asked)}"
    while address:
        page = seen(client, address)
        links += [each for each in page.links if each.startswith("/sentence?")]
        address = next(
            (each for each in page.links if f"page={1 + len(links) // 50}" in each), None
        )
        address = address if len(links) % 50 == 0 else None
    assert len(links) == errors > 50
    with open_bank(explored) as bank:
        run = parse_qs(urlsplit(links[0]).query)["run"][0]
        for each in links[:3]:
            given = {key: value[0] for key, value in parse_qs(urlsplit(each).query).items()}
            sentence, _, words = given["example"].partition(":")
            dependent, gold = map(int, words.split(","))
            rows = bank.show(int(sentence), "3-2", run=run).rows
            (row,) = rows.filter(index=dependent).to_dicts()
            forms = dict(rows.select("index", "dependent").rows())
            opened = seen(client, each)
            kinds = [str(given["class"]) for tag, given in opened.tags if tag == "mark"]
            marked = dict(zip(kinds, opened.marked, strict=True))
            expected = {"dependent": row["dependent"], "gold": forms[gold]}
            assert marked == expected | ({"found": row["looks_at"]} if row["looks_at"] else {})
            drawn = {str(given.get("class")) for tag, given in opened.tags if tag == "rect"}
            assert {f"mark-{kind}" for kind in marked} <= drawn


@pytest.mark.slow
def test_a_count_of_a_request_leads_to_its_hits(client: Client, explored: Path) -> None:
    with open_bank(explored) as bank:
        counts = bank.count(REQUEST, by="O.upos")
    page = seen(client, "/sentences", pattern=REQUEST, by="O.upos")
    links = [each for each in page.links if "+with+" in each and "by=" not in each]
    numbers = [
        int(re.search(r"([\d,]+) hits?\.", seen(client, each).text)[1].replace(",", ""))  # type: ignore[index]
        for each in links
    ]
    assert sorted(numbers) == sorted(counts["n"].to_list())


@pytest.mark.slow
def test_all_heads_on_one_sentence_are_small_maps(
    client: Client, explored: Path, runs: dict[str, str]
) -> None:
    page = seen(client, "/model", sentence=story(3), run=runs["single"])
    with open_bank(explored) as bank:
        shown = bank.show(story(3), [f"{a}-{b}" for a in (1, 2, 3) for b in (1, 2, 3, 4)],
                          run=runs["single"])  # fmt: skip
    links = [each for each in page.links if each.startswith("/sentence?") and "head=" in each]
    assert len(links) == 12
    drawn = sum((given.get("d") or "").count("M") for tag, given in page.tags if tag == "path")
    weights = [weight for panel in shown.panels for weight in panel.weights["weight"]]
    assert drawn == sum(each >= 0.05 for each in weights)


@pytest.mark.slow
def test_the_overview_names_relations_that_are_above_chance(client: Client, explored: Path) -> None:
    """The heads are those of an untrained model: a relation above its offset is luck, or rare."""
    page = seen(client, "/", by="gain")
    with open_bank(explored) as bank:
        rows = bank.query("best_relation", min_count=10).to_dicts()
    values = {
        str(given["data-head"]): str(given["title"]).split(": ")[1]
        for tag, given in page.tags
        if tag == "a" and "data-head" in given
    }
    labels = dict(zip(values, client.page.locator(".grid td").all_inner_texts(), strict=True))
    assert values.keys() == {f"{row['layer']}-{row['head']}" for row in rows}
    certain = [row for row in rows if (row["p_corrected"] or 1) < 0.05]
    assert len(certain) < sum(row["gain"] > 0 for row in rows)
    for row in rows:
        head = f"{row['layer']}-{row['head']}"
        expected = (
            (row["relation"], f"{row['gain']:.3f}") if row in certain else ("\u2013", "no value")
        )
        assert (labels[head], values[head]) == expected
    assert f"{len(certain)} of {len(rows)} heads" in page.text
    assert f"corrected for the {rows[0]['tried']:,} combinations" in page.text


@pytest.mark.slow
def test_colours_are_on_the_scale_of_the_picture_unless_stretched(client: Client) -> None:
    fixed = seen(client, "/", relation="obj")
    stretched = seen(client, "/", relation="obj", stretch=1)

    def classes(page: Read) -> set[int]:
        return {
            int(found[1])
            for tag, given in page.tags
            if tag == "td" and (found := re.match(r"v(\d+)\b", given.get("class") or ""))
        }

    shares = [
        float(found[1])
        for tag, given in fixed.tags
        if tag == "a" and (found := re.fullmatch(r"\d+-\d+: ([\d.]+)", given.get("title") or ""))
    ]
    assert classes(fixed) == {round(each * 20) for each in shares}
    assert {0, 20} <= classes(stretched)


def drawn_of(client: Client, **given: object) -> list[dict[str, Any]]:
    """The panels of a sentence that is typed."""
    answer = client.get(f"/typed.json?{urlencode(given)}")
    assert answer.status_code == 200, answer.text
    drawn: list[dict[str, Any]] = answer.json()["typed"]["panels"]
    return drawn


@pytest.mark.slow
def test_a_sentence_that_is_typed_is_read_and_not_kept(
    explored: Path, runs: dict[str, str], tiny_model: Models
) -> None:
    before = explored.read_bytes()
    with exploring(explored, model=str(tiny_model("bert"))) as client:
        page = seen(
            client, "/typed", text="The <b>lamp</b> is new .", head="1-1,2-1",
            sentence=story(3), run=runs["single"],
        )  # fmt: skip
        answer = client.get(f"/typed.json?{urlencode({'text': 'x ' * 600})}")
    assert page.text.count("[CLS]") >= 4 and "The sentence of the bank" in page.text
    assert "b" not in {tag for tag, _ in page.tags}
    assert any(given.get("value") == "The <b>lamp</b> is new ." for _, given in page.tags)
    assert explored.read_bytes() == before
    assert answer.status_code == 400 and "characters" in answer.text


def test_no_folder_is_read_because_a_bank_names_it(
    explored: Path, runs: dict[str, str], client: Client
) -> None:
    assert "reads it here" in seen(client, "/typed", run=runs["single"]).text
    answer = client.get(f"/typed.json?{urlencode({'text': 'The lamp', 'run': runs['single']})}")
    assert answer.status_code == 400 and "A folder that a bank names is not opened" in answer.text


@pytest.mark.slow
def test_a_word_that_is_masked_is_the_models_mask(
    explored: Path, runs: dict[str, str], tiny_model: Models
) -> None:
    """Read apart: the maps of the model for the ids of the text, with its mask in the place."""
    folder = tiny_model("bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = tokenizer("The [MASK], is new")["input_ids"]
    assert tokenizer.mask_token_id in ids
    with torch.no_grad():
        maps = model(torch.tensor([ids]), output_attentions=True).attentions
    given = {"text": "The [MASK], is new", "head": "1-1,2-3", "run": runs["single"]}
    with exploring(explored, model=str(folder)) as client:
        page = seen(client, "/typed", **given)
        for drawn in drawn_of(client, **given):
            for start, end, weight in drawn["weights"]:
                expected = float(maps[drawn["layer"] - 1][0, drawn["head"] - 1, start, end])
                assert weight == pytest.approx(expected, rel=1e-4)
        assert [each["head"] for each in drawn_of(client, **given, mean=1)] == [None]
        other = seen(client, "/typed", **given | {"run": runs["decoder"]}).text
    assert "[MASK]" in page.text and "read as text" not in page.text
    assert "is not the one that the run" not in page.text
    assert "is not the one that the run" in other
    with exploring(explored, model=str(tiny_model("gpt2"))) as client:
        told = seen(client, "/typed", **given | {"run": runs["decoder"]}).text
    assert "has no mask: [MASK] was read as text" in told


@pytest.mark.slow
def test_a_typed_sentence_is_read_by_the_weights_of_the_run(
    tiny_model: Models, bank_of: BankFactory
) -> None:
    """Beside a random control the trained model would be another one."""
    folder = tiny_model("bert")
    bank = bank_of("stories", after=bank_of("stories", limit=3), random_weights=1, limit=3)
    with open_bank(bank) as opened:
        names = opened.runs()["name"].to_list()
    weights = []
    with exploring(bank, model=str(folder)) as client:
        for name, seed in zip(names, (None, 1), strict=True):
            model = load(str(folder), random_seed=seed)
            ids = torch.tensor([model.input_tokenizer.tokenizer.encode("The lamp").ids])
            maps = model.attentions(ids, torch.ones_like(ids), torch.zeros_like(ids))
            given = {"text": "The lamp", "head": "2-1", "run": name}
            (drawn,) = drawn_of(client, **given)
            for start, end, weight in drawn["weights"]:
                assert weight == pytest.approx(float(maps[1][0, 0, start, end]), rel=1e-4), name
            weights.append(drawn["weights"])
            told = seen(client, "/typed", **given).text
            assert ("(random weights, seed 1)" in told) == (seed is not None)
            assert "is not the one that the run" not in told
    assert weights[0] != weights[1]
