"""The head and the offset of one half, on the other: against loops over the dependents."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from bank_factory import BankFactory
from oracle_heads import Reading
from oracle_statistics import corrected, paired_interval, sign_flips

from attnbank.ingest.options import MINILM
from attnbank.queries import open_bank

RUN = "sample/tiny"


@pytest.fixture(scope="module")
def by_sentences(sample: Path, bank_of: BankFactory) -> Path:
    """A bank of a text that marks no documents, so that each sentence is a cluster."""
    lines = (sample / "stories.conllu").read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("# newdoc"))
    return bank_of({"s.conllu": text}, MINILM)


@pytest.mark.usual("full_bank-*")
@pytest.mark.parametrize(
    ("name", "run", "offsets"),
    [("full_bank", RUN, [-1, 1, -2, 2, -3, 3]), ("by_sentences", "s/minilm", [4])],
)
def test_head_and_offset_are_chosen_on_one_half_and_compared_on_the_other(
    name: str, run: str, offsets: list[int], request: pytest.FixtureRequest
) -> None:
    """Of documents; and of sentences, beside an offset that all heads together are above."""
    path = request.getfixturevalue(name)
    one = Reading(path, run)
    asked = {"run": run, "offsets": offsets}
    with open_bank(path) as bank:
        rows = bank.query("best_head_held_out", **asked).to_dicts()
        every = bank.query("best_head_held_out", min_count=1, **asked).to_dicts()
        chosen = {row["relation"]: row for row in bank.query("best_head", run=run).to_dicts()}
    # Which relations are shown does not change what is said of them.
    assert rows == [row for row in every if min(row["chosen_n"], row["n"]) >= 10]
    assert len(rows) > 5 and len(every) > len(rows)
    differences: dict[str, dict[int, int]] = {}
    for row in rows:
        words = one.dependents(row["relation"])
        scored = [word for word in words if one.cluster[word] % 2 == 0]
        choosing = [word for word in words if one.cluster[word] % 2 == 1]
        head, _ = one.best(choosing)
        assert (row["layer"], row["head"], row["direction"]) == head
        offset = max(offsets, key=lambda k: sum(_away(one, word) == k for word in choosing))
        assert row["offset"] == offset
        counts: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        right = there = 0
        for word in scored:
            is_right = bool(one.head(word)) and one.found[word][head] == one.head(word)
            is_there = _away(one, word) == offset
            right, there = right + is_right, there + is_there
            counted = counts[one.cluster[word]]
            counted[0] += is_right and not is_there
            counted[1] += is_there and not is_right
            counted[2] += 1
        assert (row["n"], row["clusters"]) == (len(scored), len(counts))
        assert row["accuracy"] == right / len(scored)
        assert row["offset_accuracy"] == there / len(scored)
        assert row["gain"] == pytest.approx((right - there) / len(scored))
        ends = paired_interval([(a, b, n) for a, b, n in counts.values()])
        told_ends = (row["gain_low"], row["gain_high"])
        assert told_ends == ((None, None) if ends is None else pytest.approx(ends, abs=2e-3))
        differences[row["relation"]] = {
            cluster: only_head - only_offset
            for cluster, (only_head, only_offset, _) in counts.items()
        }
        if len(counts) < 5:
            assert row["p_value"] is row["p_corrected"] is None
        else:
            flips = sign_flips([*differences[row["relation"]].values()])
            assert row["p_value"] == pytest.approx(flips, rel=1e-12)
        assert chosen[row["relation"]]["held_out_accuracy"] == row["accuracy"]
    of_all = rows.pop(0)
    # Of 12 sentences a corrected p is 1 of 2,000 flips at least; that of all is less.
    assert name == "full_bank" or of_all["p_value"] < 1 / 2000
    assert of_all["relation"] == "all" and of_all["p_corrected"] == of_all["p_value"]
    del differences["all"]
    largest = corrected(differences)
    tested = [row for row in rows if row["p_value"] is not None]
    assert len(tested) == len(rows) == 5 or len(tested) > 10
    for row in tested:
        wanted = max(row["p_value"], largest.get(row["relation"], 1.0))
        assert row["p_corrected"] == pytest.approx(wanted, rel=1e-12)


def _away(one: Reading, word: int) -> int | None:
    head = one.head(word)
    return None if head is None else one.place[head][1] - one.place[word][1]


@pytest.mark.usual("True")
@pytest.mark.parametrize("clamped", [False, True])
def test_the_interval_of_a_gain_is_of_the_same_offset(full_bank: Path, clamped: bool) -> None:
    """Each gain of `best_head` is what the pairs add up to that only one of the two finds."""
    with open_bank(full_bank) as bank:
        best = bank.query("best_head", run=RUN, clamped=clamped, min_count=1).to_dicts()
        run = str(bank.runs().filter(name=RUN)["id"].item())
        names = ("relation", "layer", "head", "direction", "offset")
        heads = [[run, *(str(row[name]) for name in names)] for row in best]
        sums = bank.sql(
            "select relation, sum(n), sum(only_head) - sum(only_offset) from head_against_offset("
            "runs := (select list(id) from run where name = $run), clamped := $clamped,"
            " heads := $heads) group by relation",
            {"run": RUN, "clamped": clamped, "heads": heads},
        ).rows()
    told = {relation: (n, ahead / n) for relation, n, ahead in sums}
    assert len(best) > 10
    for row in best:
        assert told[row["relation"]] == (row["n"], pytest.approx(row["gain"]))
        if row["gain_low"] is not None:
            assert row["gain_low"] < row["gain"] < row["gain_high"]
