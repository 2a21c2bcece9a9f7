"""`ingest --keep top:K`: the largest weights, what they answer, and what they refuse."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from duckdb_shell import query_in_shell
from polars.testing import assert_frame_equal

from attnbank.cli.app import run_command_line as attnbank
from attnbank.ingest import IngestOptions, estimate, ingest, merge_banks
from attnbank.queries import open_bank
from attnbank.sql.errors import AttnbankWarning, CallError

K = 4
MAPS: dict[str, dict[str, Any]] = {
    "encoder": {},
    "decoder": {},
    "minilm": {},
    "documents": {"context": "document", "max_tokens": 60},
    "tokens": {"unit": "token"},
    "norms": {"measure": "norms"},
}
Row = tuple[int, int, int, int]
Banks = dict[str, tuple[Path, Path]]


@pytest.fixture(scope="module")
def banks(few: Path, bank_of: BankFactory) -> Banks:
    """Banks of one run each by MAPS: all weights, and the K largest; rounded, after `-rounded`."""

    class Made(Banks):
        def __missing__(self, name: str) -> tuple[Path, Path]:  # made when it is asked for
            name_of_maps, _, is_rounded = name.partition("-")
            model = {"decoder": "gpt2", "minilm": "minilm"}.get(name_of_maps, "bert")
            largest: dict[str, Any] = {"keep": f"top:{K}"} | ({"decimals": 3} if is_rounded else {})
            stories, options = few / "stories.conllu", MAPS[name_of_maps]
            self[name] = (
                bank_of(stories, model, **options),
                bank_of(stories, model, **options, **largest),
            )
            return self[name]

    return Made()


def _table(bank: Path, name: str) -> list[tuple[Any, ...]]:
    return query_bank(bank, f"from {name} order by all")


def _weights(bank: Path) -> dict[Row, np.ndarray]:
    """Every distribution, as a list of float32, by sequence, layer, head and position."""
    return {row[:4]: np.array(row[4], np.float32) for row in _table(bank, "attention")}


def _largest(weights: np.ndarray) -> list[int]:
    """The positions of the K largest, in a slow and obvious way: the larger, then the leftmost."""
    return sorted(range(len(weights)), key=lambda at: (-float(weights[at]), at))[:K]


@pytest.mark.usual("*decoder*")
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("decimals", [None, 3])
def test_the_largest_are_those_of_a_slow_sort(
    banks: Banks, name: str, decimals: int | None
) -> None:
    whole, largest = banks[name if decimals is None else f"{name}-rounded"]
    wanted = _weights(whole)
    result = _table(largest, "attention_top")
    assert len(result) == len(wanted) > 500
    assert any(len(weights) > K for weights in wanted.values())
    for *key, to, kept, rest in result:
        weights = wanted[tuple(key)]
        places = _largest(weights)
        assert to == places
        others = [float(each) for at, each in enumerate(weights) if at not in places]
        sum_of_others = np.float32(math.fsum(others))
        if decimals is None:
            assert kept == weights[places].tolist()
            assert rest == pytest.approx(sum_of_others, rel=1e-6)
            assert (rest == 0) == (not any(others))
        else:
            assert kept == np.round(weights[places], decimals).tolist()
            assert rest == pytest.approx(sum_of_others, abs=0.51 * 10.0**-decimals)
    assert _table(largest, "attention") == []


@pytest.mark.usual("decoder")
@pytest.mark.parametrize("name", MAPS)
def test_peaks_and_sums_are_the_same(banks: Banks, name: str) -> None:
    for table in ("sequence", "position", "peak", "attention_map"):
        assert _table(banks[name][1], table) == _table(banks[name][0], table)


@pytest.mark.usual("decoder")
@pytest.mark.parametrize("name", MAPS)
def test_views_show_no_part_as_if_it_were_all(banks: Banks, name: str) -> None:
    wanted = _weights(banks[name][0])
    assert _table(banks[name][1], "attention_weight") == []
    result = _table(banks[name][1], "distribution")
    assert len(result) == len(wanted)
    for *key, weights, rest, is_whole in result:
        own = wanted[tuple(key)]
        places = _largest(own)
        assert not is_whole and len(weights) == len(own)
        for at, weight in enumerate(weights):
            if at in places or rest == 0:
                assert weight == own[at]
            else:
                assert weight is None
                assert own[at] <= min(rest, own[places[-1]])


def _hidden(weights: dict[Row, np.ndarray], layer: int, head: int) -> float:
    """How large a weight of a head that is not kept can be: as the last that is, or the rest."""
    result = [0.0]
    for (_, own_layer, own_head, _), each in weights.items():
        if (own_layer, own_head) == (layer, head) and len(each) > K:
            ordered = np.sort(each)[::-1]
            rest = np.float32(math.fsum(map(float, ordered[K:])))
            result.append(float(min(ordered[K - 1], rest)))
    return max(result)


@pytest.mark.usual(">=-decoder", "<-decoder")
@pytest.mark.few("*-encoder", "<*-decoder", ">=-decoder", "<=-norms")
@pytest.mark.parametrize("name", ["encoder", "decoder", "norms"])
@pytest.mark.parametrize("sign", [">", ">=", "<", "<="])
def test_a_threshold_is_answered_as_by_all_weights_or_refused(
    banks: Banks, name: str, sign: str
) -> None:
    weights = _weights(banks[name][0])
    answers = set()
    with open_bank(banks[name][0]) as whole, open_bank(banks[name][1]) as part:
        for layer, head, factors in ((1, 1, (0.9, 1.01)), (2, 2, (0, 0.9, 1.01, 2))):
            hidden = _hidden(weights, layer, head)
            for threshold in (hidden * factor for factor in factors):
                request = f"pattern {{ e: A =[{layer}-{head} {sign} {threshold:.6f}]=> B }}"
                if float(f"{threshold:.6f}") < hidden:
                    with pytest.raises(CallError, match="4 largest weights from each word"):
                        part.find(request, run=1, context=False)
                    answers.add("refused")
                    continue
                wanted = whole.find(request, run=1, context=False)
                hits = part.find(request, run=1, context=False)
                assert_frame_equal(hits.drop("run", strict=False), wanted.drop("run", strict=False))
                answers.add("some" if wanted.height else "none")
    assert {"refused", "some"} <= answers


def test_a_threshold_from_one_over_k_plus_one_is_always_answered(
    banks: Banks,
) -> None:
    request = "pattern { A =[* > 0.2]=> B }"  # of more than 4 weights the fifth is 0.2 at most
    with open_bank(banks["encoder"][0]) as whole, open_bank(banks["encoder"][1]) as part:
        wanted = whole.find(request, run=1, context=False)
        assert wanted.height > 30
        assert_frame_equal(part.find(request, run=1, context=False).drop("run"), wanted.drop("run"))
        named = "pattern { CLS =[* > 0.2]=> B }"
        wanted = whole.find(named, context=False)
        assert_frame_equal(part.find(named, context=False).drop("run"), wanted.drop("run"))


def test_the_refusal_says_which_threshold_can_be_asked_for(
    banks: Banks,
) -> None:
    with open_bank(banks["encoder"][1]) as bank:
        with pytest.raises(CallError) as refused:
            bank.count("pattern { A =[3-1 > 0.001]=> B }")
        enough = refused.value.remedy.split("Ask for ")[1].split()[0]
        assert "--keep weights" in refused.value.remedy
        bank.count(f"pattern {{ A =[3-1 > {enough}]=> B }}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_weights_to_be_shown_are_those_kept_and_else_empty(banks: Banks, name: str) -> None:
    request, head = "pattern { A -> B }", "2-1"
    keys = f"weight({head}, A, B), weight({head}, A, SEP), looks_at({head}, A)"
    column = f"weight({head}, A, B)"
    with open_bank(banks[name][0]) as whole, open_bank(banks[name][1]) as part:
        wanted = whole.find(request, columns=keys, context=False)
        with pytest.warns(AttnbankWarning, match="is empty where the weight is not kept"):
            hits = part.find(request, columns=keys, context=False)
    same = [
        column for column in wanted.columns if column != "run" and not column.startswith("weight")
    ]
    assert_frame_equal(hits.select(same), wanted.select(same))
    both = pl.DataFrame({"found": hits[column], "wanted": wanted[column]})
    kept = both.drop_nulls()
    assert kept.height > 0 and kept["found"].equals(kept["wanted"])
    assert both["found"].null_count() > both["wanted"].null_count()  # of A, the root itself


def test_show_draws_the_largest_and_the_rest_as_elsewhere(
    banks: Banks,
) -> None:
    with open_bank(banks["encoder"][0]) as whole, open_bank(banks["encoder"][1]) as part:
        sentence = int(whole.sql("select max(sentence) as last from sequence")["last"][0])
        wanted, result = whole.show(sentence, ["3-1", "1-2"]), part.show(sentence, ["3-1", "1-2"])
        drawn = result.svg
        assert "keeps the 4 largest weights" in drawn and "elsewhere" in drawn
        assert "keeps the" not in wanted.svg
    same = [column for column in wanted.rows.columns if column not in ("run", "special")]
    assert_frame_equal(result.rows.select(same), wanted.rows.select(same))
    special = pl.DataFrame({"found": result.rows["special"], "wanted": wanted.rows["special"]})
    assert_frame_equal(
        special.drop_nulls().select("found"), special.drop_nulls().select(found="wanted")
    )
    keys = ["layer", "head", "from_position"]
    for own, mine in zip(wanted.weights.partition_by(keys), result.weights.partition_by(keys),
                         strict=True):  # fmt: skip
        inside = mine.filter(pl.col("to_position").is_not_null())["weight"]
        weights = own["weight"].to_numpy().astype(np.float32)
        places = _largest(weights)
        assert [at for at, each in enumerate(inside) if each is not None] == sorted(places)
        assert inside.drop_nulls().to_list() == [float(weights[at]) for at in sorted(places)]
        assert sum(mine["weight"].drop_nulls().to_list()) == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_all_weights_answer_where_a_bank_has_them(bank_of: BankFactory) -> None:
    path = bank_of("stories", after=bank_of("stories", limit=5), keep="top:3", limit=5)
    request = "pattern { A =[1-1 > 0.001]=> B }"
    with open_bank(path) as bank:
        names = bank.runs()["name"].to_list()
        assert names[1].endswith("/top:3/limit5") and bank.runs()["keep"][1] == "top:3"
        assert bank.find(request)["run"].unique().to_list() == [names[0]]
        assert bank.find("pattern { A =[1-1]=> B }")["run"].unique().to_list() == [names[1]]
        with pytest.raises(CallError, match="3 largest"):
            bank.find(request, run=names[1])
        view = bank.sql("select distinct run from attention_weight join sequence"
                        " on sequence.id = attention_weight.sequence")  # fmt: skip
        assert view["run"].to_list() == [1]


@pytest.mark.slow
def test_what_is_kept_whole_answers_steps_requests_and_pictures(bank_of: BankFactory) -> None:
    computed = ("compute head_distance",)
    banks = [
        bank_of("stories", "gpt2", keep=keep, limit=9, then=computed)
        for keep in ("weights", "top:300")
    ]
    rows = [_table(bank, "attention_weight") for bank in banks]
    assert rows[0] == rows[1] and len(rows[0]) > 1000
    assert _table(banks[0], "head_distance") == _table(banks[1], "head_distance")
    request = "pattern { A =[1-1 > 0.001]=> B }"
    with open_bank(banks[0]) as whole, open_bank(banks[1]) as part:
        wanted = whole.find(request, columns="weight(1-2, A, B)")
        hits = part.find(request, columns="weight(1-2, A, B)")
        assert_frame_equal(hits.drop("run"), wanted.drop("run"))
        sentence = int(whole.sql("select max(sentence) as last from sequence")["last"][0])
        shown = [bank.show(sentence, "1-1") for bank in (whole, part)]
        assert_frame_equal(shown[1].weights, shown[0].weights)


@pytest.mark.slow
def test_merged_exported_imported_and_deleted(banks: Banks, tmp_path: Path) -> None:
    largest = banks["encoder"][1]
    wanted = [row[1:] for row in _table(largest, "attention_top")]
    merged, folder, again = tmp_path / "m.duckdb", tmp_path / "parquet", tmp_path / "i.duckdb"
    merge_banks(merged, [banks["documents"][1], largest])
    rows = query_bank(
        merged,
        "select attention_top.* exclude (sequence) from attention_top"
        " inner join sequence on sequence.id = attention_top.sequence where sequence.run = 2"
        " order by attention_top.sequence, layer, head, from_position",
    )
    assert rows == wanted
    assert attnbank(["-b", str(largest), "export", str(folder)]) == 0
    assert attnbank(["-b", str(again), "import", str(folder)]) == 0
    assert _table(again, "attention_top") == _table(largest, "attention_top")
    assert attnbank(["-b", str(merged), "delete", "1", "--yes"]) == 0
    assert len(_table(merged, "attention_top")) == len(wanted)


@pytest.mark.slow
def test_the_shell_reads_the_views_alike(banks: Banks) -> None:
    for statement in (
        "from top_run",
        "select * from distribution order by all limit 500",
        "select id, unusable_because from run_candidate(reads_weights := true)",
    ):
        with open_bank(banks["encoder"][1]) as bank:
            wanted = bank.sql(statement).to_dicts()
        result = query_in_shell(banks["encoder"][1], statement)
        assert len(result) == len(wanted) > 0 and result[0].keys() == wanted[0].keys()
        for mine, own in zip(result, wanted, strict=True):
            lists = [(mine.pop("weights", []), own.pop("weights", []))]
            numbers = [each.pop("rest", 0.0) for each in (mine, own)]
            assert mine == own and numbers[0] == pytest.approx(numbers[1], rel=1e-6)
            for left, right in lists:
                assert [each is None for each in left] == [each is None for each in right]
                assert sum(filter(None, left)) == pytest.approx(sum(filter(None, right)), rel=1e-6)


@pytest.mark.slow
def test_a_dry_run_tells_the_bytes(tmp_path: Path, sample: Path) -> None:
    result = {}
    for keep in ("weights", "top:8", "peaks"):
        options = IngestOptions((str(sample),), tmp_path / keep[:3], "minilm", keep=keep)
        result[keep] = estimate(options)
        ingest(options)
        size = (tmp_path / keep[:3]).stat().st_size
        assert result[keep].bytes == pytest.approx(size, rel=0.15)
    assert result["peaks"].bytes < result["top:8"].bytes < result["weights"].bytes
    assert len({each.weights for each in result.values()}) == 1


def test_the_commands_tell_what_is_kept(banks: Banks, cli: Cli) -> None:
    output = cli("-b", banks["encoder"][1], "info").out
    kept = len(_table(banks["encoder"][1], "attention_top"))
    every = sum(len(row[5]) for row in _table(banks["encoder"][1], "attention_top"))
    assert kept < every and f"{every:,} weights (the 4 largest from each position)" in output
