"""Effects of ablations and their intervals, beside those that loops and NumPy come to."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from bank_rows import query_bank
from oracle_statistics import difference_of_shares, interval, mean_difference

from attnbank.queries import open_bank

SETS = 20
DOCUMENTS = 16


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank with made-up losses: words of many documents, one set of heads and its controls."""
    from case_bank import make_bank

    rng = np.random.default_rng(3)
    words, losses, without = [], [], []
    number = 0
    for document in range(1, DOCUMENTS + 1):
        shift = rng.normal()
        for place in range(1, int(rng.integers(1, 9)) + 1):
            number += 1
            relation = ("nsubj", "obj:x", "det")[number % 3]
            words.append(f"{number},{document},{place},w{number % 5},{relation}")
            loss = rng.gamma(2.0)
            losses.append(f"1,{number},{loss}")
            for at in range(1, SETS + 1):
                worse = loss + (at == 1) * 0.3 + shift / 4 + rng.normal() / 3
                without.append(f"1,a,{at},{number},{worse}")
    pairs, judged = [], []
    sources = ["agreement"] * number + ["alone.tsv"] * 40 + ["same.tsv"] * 10
    for at, source in enumerate(sources, start=1):
        word = at if source == "agreement" else ""
        better = at % 3 > 0
        nouns = at % 2 if word else ""
        pairs.append(f"1,{source},{at},npi,{word},{nouns},{1 + (not better)},{1 + better}")
        for set_ in range(1, SETS + 1):
            still = better if source == "same.tsv" else rng.random() < 0.6
            judged.append(f"1,a,{set_},{source},{at},{1 + (not still)},{1 + still}")
    rows = "\n".join
    every = range(1, DOCUMENTS + 1)
    return make_bank(
        tmp_path_factory.mktemp("ablation") / "bank.duckdb",
        {
            "document": rows(["id,index", *(f"{each},{each}" for each in every)]),
            "sentence": rows(["id,document", *(f"{each},{each}" for each in every)]),
            "word": rows(["id,sentence,index,form,deprel", *words]),
            "sequence": rows(["id,run,document", *(f"{each},1,{each}" for each in every)]),
            "surprisal": rows(["run,word,nats", *losses]),
            "ablation_set": rows(
                ["run,ablation,number,name,control_of,replacement,finished"]
                + [
                    f"1,a,{at},s{at},{'' if at == 1 else 1},zero,2026-01-01 00:00:00"
                    for at in range(1, SETS + 1)
                ]
            ),
            "ablated_head": rows(
                ["run,ablation,number,layer,head"]
                + [f"1,a,{at},1,{at}" for at in range(1, SETS + 1)]
            ),
            "minimal_pair": rows(
                ["run,source,number,paradigm,word,attractors,good_nats,bad_nats", *pairs]
            ),
            "ablated_pair": rows(["run,ablation,number,source,pair,good_nats,bad_nats", *judged]),
            "ablated_surprisal": rows(["run,ablation,number,word,nats", *without]),
        },
    )


@pytest.fixture(scope="module")
def effects(bank: Path) -> pl.DataFrame:
    """The effects on words of each relation."""
    with open_bank(bank) as opened:
        return opened.query("ablation_effect", classification="relation")


@pytest.mark.parametrize("relation", ["all", "nsubj", "obj", "det"])
def test_effects_are_those_of_numpy(bank: Path, effects: pl.DataFrame, relation: str) -> None:
    own = "" if relation == "all" else f" where split_part(word.deprel, ':', 1) = '{relation}'"
    rows = query_bank(
        bank,
        "select word.sentence, ablated.number, ablated.nats - surprisal.nats, surprisal.nats"
        " from ablated_surprisal as ablated inner join surprisal using (run, word)"
        f" inner join word on word.id = ablated.word{own}",
    )
    own_class = (effects["class"] == relation) & (effects["outcome"] == "surprisal")
    (row,) = effects.filter(own_class).to_dicts()
    document = np.array([each[0] for each in rows])
    number = np.array([each[1] for each in rows])
    difference = np.array([each[2] for each in rows])
    means = [difference[number == each].mean() for each in range(1, SETS + 1)]
    chosen = number == 1
    assert row["n"] == chosen.sum() and row["controls"] == SETS - 1
    assert row["difference"] == pytest.approx(means[0])
    assert row["whole"] == pytest.approx(np.mean([each[3] for each in rows]))
    assert row["control_mean"] == pytest.approx(np.mean(means[1:]))
    assert row["p"] == pytest.approx((1 + sum(mean >= means[0] for mean in means[1:])) / SETS)
    told = mean_difference(
        [difference[chosen & (document == each)].tolist() for each in range(1, DOCUMENTS + 1)]
    )
    assert (row["difference"], row["low"], row["high"]) == pytest.approx(told, rel=2e-3)


@pytest.mark.usual("agreement", "same.tsv")
@pytest.mark.parametrize("source", ["agreement", "alone.tsv", "same.tsv"])
def test_of_pairs_those_count_that_are_judged_otherwise(bank: Path, source: str) -> None:
    """By documents, of a file by pairs; where all are judged alike there is an interval, too."""
    rows = query_bank(
        bank,
        "select coalesce(word.sentence, pair.number), ablated.good_nats < ablated.bad_nats,"
        " pair.good_nats < pair.bad_nats from ablated_pair as ablated"
        " inner join minimal_pair as pair"
        " on pair.source = ablated.source and pair.number = ablated.pair"
        " left join word on word.id = pair.word"
        " where pair.source = ? and ablated.number = 1",
        [source],
    )
    with open_bank(bank) as opened:
        found = opened.query("ablation_effect")
        beside = opened.query("minimal_pair", source=source)
        agreement = opened.query("agreement_accuracy")
    (row,) = found.filter(found["outcome"] == source).to_dicts()
    clusters = {cluster for cluster, _, _ in rows}
    told = difference_of_shares(
        [[(bool(a), bool(b)) for own, a, b in rows if own == cluster] for cluster in clusters]
    )
    assert (row["difference"], row["low"], row["high"]) == pytest.approx(told, abs=1e-3)
    names = ("difference", "difference_low", "difference_high")
    for frame in (beside, agreement) if source == "agreement" else (beside,):
        every = [each for each in frame.rows(named=True) if each["name"] == "s1"]
        (own,) = [
            each for each in every if each.get("paradigm", each.get("attractors")) in ("all", None)
        ]
        assert tuple(own[name] for name in names) == (row["difference"], row["low"], row["high"])
        assert all(
            each["difference"] is None
            for each in frame.rows(named=True)
            if each["name"] == "whole model"
        )
        share = interval([[bool(a) for at, a, _ in rows if at == cluster] for cluster in clusters])
        assert share is not None and (own["low"], own["high"]) == pytest.approx(share[1:], abs=1e-3)
    if source == "same.tsv":
        assert row["n"] == 10 and row["difference"] == 0
        assert -0.3 < row["low"] < -0.2 and 0.2 < row["high"] < 0.3


def test_draws_are_even_and_independent(bank: Path) -> None:
    """What stands for chance: each group is drawn as often, and draws do not go together."""
    with duckdb.connect(str(bank), read_only=True) as connection:
        found = connection.execute(
            "select list(pseudo_random(resample, draw) order by draw)"
            " from range(1, 1001) as r(resample), range(1, 101) as d(draw)"
            " group by resample order by resample"
        ).fetchnumpy()
    numbers = np.stack([*next(iter(found.values()))])
    for groups in (2, 3, 10, 37, 100):
        drawn = numbers[:, :groups] % groups
        times = np.stack([np.bincount(row, minlength=groups) for row in drawn])
        # 1,000 draws of each place: their counts differ from the mean by 4 standard errors at most.
        assert np.abs(times.sum(0) - 1000).max() < 4.5 * np.sqrt(1000)
        assert times.var(0).mean() == pytest.approx(1 - 1 / groups, rel=0.08)
        assert len({tuple(row) for row in times}) > min(900, 2**groups - 2 if groups < 4 else 900)
