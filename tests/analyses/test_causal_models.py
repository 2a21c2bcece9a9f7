"""What stands first in the inputs of causal models, and what their heads can find.

The counts are compared with a slow loop over the model's own attentions: with the first word set
apart, kept as a word, and behind a token that was put before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import new_banks
import numpy as np
import oracle_reference as slow
import pytest
import transformers
from fixture_types import Models
from oracle_statistics import interval

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.reports import Report
from attnbank.queries import open_bank

WAYS: dict[str, dict[str, Any]] = {
    "special": {},
    "word": {"first_word": "word"},
    "bos": {"bos": True},
    "named": {"bos_token": "a"},
}
"""Ways to treat what is first, and the options that ask for them."""
Runs = tuple[Path, dict[str, Report], Path]


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def runs(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    few_stories: Path,
    tiny_model: Models,
) -> Runs:
    """A bank with a run of each way of one model, their reports, and the model."""
    folder = tiny_model(request.param)
    path = new_banks.put(tmp_path_factory.mktemp("causal") / "b.duckdb")
    reports = {
        way: ingest(IngestOptions((str(few_stories),), path, str(folder), **options))
        for way, options in WAYS.items()
    }
    return path, reports, folder


@pytest.fixture
def connection(runs: Runs) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(runs[0]), read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def trees(few_stories: Path) -> list[slow.Tree]:
    return slow.trees([few_stories])


def _model(folder: Path) -> tuple[Any, Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
    return tokenizer, module.eval()


def _put(way: str, tokenizer: Any) -> int | None:
    if way == "bos":
        return int(tokenizer.bos_token_id)
    return int(tokenizer.convert_tokens_to_ids("a")) if way == "named" else None


@pytest.mark.usual("gpt2-special", "gpt2-word", "gpt2-bos")
@pytest.mark.parametrize("way", WAYS)
def test_every_count_is_that_of_a_slow_loop(
    runs: Runs, connection: duckdb.DuckDBPyConnection, trees: list[slow.Tree], way: str
) -> None:
    tokenizer, module = _model(runs[2])
    name = runs[1][way].run
    found = {
        tuple(row[:4]): (row[4], row[5])
        for row in connection.execute(
            "select relation, layer, head, direction, correct, n from head_accuracy(run := $run)",
            {"run": name},
        ).fetchall()
    }
    batches: dict[int, list[slow.Tree]] = {}
    for batch, sentence in connection.execute(
        "select sequence.batch, sequence.sentence - (select min(id) from sentence) from sequence"
        " inner join run on run.id = sequence.run where run.name = ? order by sequence.id",
        [name],
    ).fetchall():
        batches.setdefault(batch, []).append(trees[sentence])
    expected = slow.count(
        list(batches.values()), tokenizer, module, subword="mean", byte_level=True,
        causal=True, apart=way == "special", bos=_put(way, tokenizer),
    )  # fmt: skip
    assert found == expected


@pytest.mark.usual("gpt2-special", "gpt2-bos")
@pytest.mark.parametrize("way", WAYS)
def test_the_mass_of_what_is_first_and_what_uniform_attention_gives(
    runs: Runs, connection: duckdb.DuckDBPyConnection, trees: list[slow.Tree], way: str
) -> None:
    """Of one head over all inputs, added up weight by weight."""
    name = runs[1][way].run
    maps: dict[int, list[list[float]]] = {}
    for sequence, weights in connection.execute(
        "select attention.sequence, weights from attention"
        " inner join sequence on sequence.id = attention.sequence"
        " inner join run on run.id = sequence.run"
        " where run.name = ? and layer = 2 and head = 3 order by sequence, from_position",
        [name],
    ).fetchall():
        maps.setdefault(sequence, []).append(weights)
    mass, even, even_self, even_before, even_entropy = [], [], [], [], []
    for rows in maps.values():
        size = len(rows)
        uniform = np.array([[(j <= i) / (i + 1) for j in range(size)] for i in range(size)])
        mass.append(sum(row[0] for row in rows) / size)
        even.append(uniform[:, 0].mean())
        even_self.append(np.trace(uniform) / size)
        even_before.append(np.trace(uniform, -1) / size)
        logarithms = np.log(np.where(uniform > 0, uniform, 1))
        even_entropy.append(-(uniform * logarithms).sum(1).mean())
    with open_bank(runs[0]) as bank:
        one = {
            analysis: bank.query(analysis, run=name).filter(layer=2, head=3).row(0, named=True)
            for analysis in ("special_tokens", "relative_position", "entropy", "head_pattern")
        }
        points = bank.query("figure_2", run=name).filter(layer=2, head=3)
    special = one["special_tokens"]
    own, other = ("first", "cls") if way == "special" else ("cls", "first")
    assert special["sep"] is special["sep_chance"] is special[other] is None
    if way == "word":
        assert special["cls"] is special["first"] is special["cls_chance"] is None
        assert one["head_pattern"]["vertical_mass"] is None
    else:
        assert special[own] == pytest.approx(np.mean(mass))
        assert special[f"{own}_chance"] == pytest.approx(np.mean(even))
        assert one["head_pattern"]["vertical_mass"] == pytest.approx(np.mean(mass))
    every = [special[each] or 0 for each in ("cls", "sep", "first", "punctuation", "other")]
    assert sum(every) == pytest.approx(1, abs=1e-5)
    chances = [special[f"{each}_chance"] or 0
               for each in ("cls", "sep", "first", "punctuation", "other")]  # fmt: skip
    assert sum(chances) == pytest.approx(1)
    beside = one["relative_position"]
    assert beside["chance"] == pytest.approx(np.mean(even_self))
    assert beside["previous_chance"] == pytest.approx(np.mean(even_before))
    assert beside["next_chance"] is beside["next"] is None
    assert one["entropy"]["uniform"] == pytest.approx(np.mean(even_entropy))
    shown = dict(points.select("target", "attention").rows())
    assert shown["[SEP]"] is None and (shown["[CLS]"] is None) == (way in ("special", "word"))
    assert ("first word" in shown) == (way == "special")


@pytest.mark.usual("gpt2")
def test_each_way_is_a_run_of_its_own_that_says_so(
    runs: Runs, connection: duckdb.DuckDBPyConnection
) -> None:
    told = connection.execute("select name, first_word, bos from run order by id").fetchall()
    own = "<|endoftext|>"
    suffixes = ["", "/first-word", "/bos", "/bos-a"]
    assert [name[len(told[0][0]) :] for name, _, _ in told] == suffixes
    assert [row[1:] for row in told] == [
        ("special", None), ("word", None), (None, own), (None, "a"),
    ]  # fmt: skip
    assert [(run.first_word, run.bos) for run in runs[1].values()] == [row[1:] for row in told]
    assert connection.execute("select causal from model").fetchall() == [(True,)]


@pytest.mark.usual("gpt2")
def test_the_share_that_can_be_found_is_that_of_the_trees(
    runs: Runs, connection: duckdb.DuckDBPyConnection, trees: list[slow.Tree]
) -> None:
    """Roots, and pairs with a first word that is set apart, are in no direction."""
    for way, first in (("special", 0), ("word", -1)):
        every = [(word, head - 1) for tree in trees for word, head in enumerate(tree.heads)]
        left = [1 for word, head in every if first < head < word and word > first]
        right = [1 for word, head in every if head > word > first]
        both = [abs(head - word) for word, head in every if head > first < word]
        assert len(left) > 20 and len(right) > 20 and len(both) == len(left) + len(right)
        rows = connection.execute(
            "select distinct direction, n, findable from head_accuracy(run := $run)"
            " where relation = 'all' order by direction",
            {"run": runs[1][way].run},
        ).fetchall()
        assert rows == [
            ("dependent_to_head", len(left), pytest.approx(len(left) / len(every))),
            ("head_to_dependent", len(right), pytest.approx(len(right) / len(every))),
            ("later_to_earlier", len(both), pytest.approx(len(both) / len(every))),
        ]
        offsets = connection.execute(
            'select "offset", n, side, correct from offset_baseline(run := $run)'
            " where relation = 'all'",
            {"run": runs[1][way].run},
        ).fetchall()
        assert sorted(row[:2] for row in offsets if row[2] != "either") == [
            (offset, len(left) if offset < 0 else len(right)) for offset in (-3, -2, -1, 1, 2, 3)
        ]
        assert sorted(row for row in offsets if row[2] == "either") == [
            (-distance, len(both), "either", both.count(distance)) for distance in (3, 2, 1)
        ]


def test_encoders_are_judged_in_both_directions(full_bank: Path) -> None:
    with duckdb.connect(str(full_bank), read_only=True) as connection:
        assert connection.execute("select distinct causal from model").fetchall() == [(False,)]
        assert connection.execute("select distinct first_word from run").fetchall() == [(None,)]
        sides = connection.execute("select distinct side from gold_dependency()").fetchall()
        assert sides == [("both",)]
        findable = connection.execute("select distinct findable from head_accuracy()").fetchall()
        assert findable == [(1.0,)]


@pytest.mark.filterwarnings("ignore:.* cannot attend to it")
@pytest.mark.usual("gpt2-True")
@pytest.mark.parametrize("each", [False, True])
def test_a_document_counts_once_in_the_interval_of_a_group(runs: Runs, each: bool) -> None:
    """Heads may stand on either side, and what is left and right of a document is one."""
    name = runs[1]["special"].run
    with open_bank(runs[0]) as bank:
        groups = bank.score(
            "pattern { H -> D }", dependent="D", head="H", by="D.upos", each=each, run=name
        )
        pairs = bank.sql(
            "select word.upos, sentence.document, sequence.id, one.position, other.position as to"
            " from sequence join run on run.id = sequence.run"
            " join position as one on one.sequence = sequence.id and one.kind = 'word'"
            " join word on word.id = one.word join sentence on sentence.id = word.sentence"
            " join word as gold on gold.sentence = sentence.id and gold.index = word.head_index"
            " join position as other on other.sequence = sequence.id and other.kind = 'word'"
            " and other.word = gold.id where run.name = $name",
            {"name": name},
        ).rows()
        peaks = {
            tuple(row[:4]): row[4:]
            for row in bank.sql(
                "select layer, head, sequence, position, most_attended, most_attending from peak"
            ).rows()
        }
    judged = [row for row in groups.to_dicts() if row["direction"] == "later_to_earlier"]
    assert len(judged) > 3
    for row in judged:
        outcomes: dict[int, list[bool]] = defaultdict(list)
        for upos, document, sequence, position, to in pairs:
            if upos == row["D.upos"]:
                attended, attending = peaks[row["layer"], row["head"], sequence, position]
                outcomes[document].append(to == (attended if to < position else attending))
        assert row["n"] == sum(map(len, outcomes.values()))
        told = interval(list(outcomes.values()))
        wanted = (None, None) if told is None else pytest.approx(told[1:], rel=2e-3, abs=1e-12)
        assert (row["low"], row["high"]) == wanted, row
