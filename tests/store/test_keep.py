"""`ingest --keep`: the same answers from a small part of the rows, or a refusal."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bank_factory import BankFactory
from command_line import Cli
from fixture_types import Models, Options
from polars.testing import assert_frame_equal
from starlette.testclient import TestClient

from attnbank.cli.viewer.request import BankCache
from attnbank.cli.viewer.site import make_site
from attnbank.ingest import estimate, ingest
from attnbank.ingest import run as running
from attnbank.ingest.derived.computations import compute
from attnbank.ingest.derived.probes import train_probe
from attnbank.ingest.derived.probes.probe_options import ProbeOptions
from attnbank.ingest.merge.merging import merge_banks
from attnbank.queries import Bank, open_bank
from attnbank.sql.errors import AttnbankWarning, CallError, QueryError
from attnbank.sql.registry import analyses
from attnbank.sql.run_choice import resolve_weights, run_candidates

KINDS: dict[str, dict[str, Any]] = {
    "sentences": {},
    "documents": {"context": "document"},
    "pairs": {"context": "pair", "unit": "token", "max_tokens": 48},
}
READ_WEIGHTS: dict[str, dict[str, Any] | None] = {  # with the values at which they need no weights
    "table_2": None,
    "coreference_prediction": {"candidates": "words"},
    "coreference_accuracy": {"candidates": "words"},
    "best_coreference_head": {"candidates": "words"},
    "best_coreference_head_held_out": {"candidates": "words"},
    "coreference_distance": {"candidates": "words"},
    "duplicate_token_head": None,
    "induction_head": None,
}
OF_A_STEP = {"head_distance", "layer_similarity", "head_embedding", "figure_6"}
NOT_HERE = {
    "ablation_effect", "agreement_accuracy", "attention_span", "attention_tree", "best_tree",
    "constituent_accuracy", "figure_3", "gradient_importance", "head_ablation", "head_agreement",
    "head_history", "head_onset", "minimal_pair", "relation_history", "special_tokens_by_measure",
    "surprisal_by_class", "table_2", "tree_accuracy", "tree_by_corpus", "tree_ensemble",
}  # fmt: skip
REASON = "only its peaks and sums are kept"
KEEPS = {
    "peaks": REASON,
    "top:3": "only the 3 largest weights of each distribution are kept",
    "top:400": None,
}
"""What is kept, and why an analysis that reads weights refuses that; of 400, no input has more."""


@pytest.fixture(scope="module")
def banks(bank_of: BankFactory) -> tuple[Path, ...]:
    """A bank with all weights, and one for each of KEEPS, of the same three kinds of inputs."""
    return tuple(
        bank_of.in_turn(*(("sample", "bert", {"keep": keep} | own) for own in KINDS.values()))
        for keep in ("weights", *KEEPS)
    )


@cache
def _of(bank: Path) -> dict[str, str]:
    """The name of the run of each kind."""
    with open_bank(bank) as opened:
        return dict(zip(KINDS, opened.runs()["name"], strict=True))


@cache
def _answers_of_all_weights(
    bank: Path, name: str, **values: Any
) -> tuple[bool, dict[str, pl.DataFrame]]:
    """Whether an analysis reads weights, and its rows of each kind of run that it can read."""
    with open_bank(bank) as whole:
        choice = resolve_weights(whole.connection, analyses()[name])
        candidates = run_candidates(whole.connection, choice)
        rows = {
            kind: _answers(whole, name, run, **values)
            for (kind, run), candidate in zip(_of(bank).items(), candidates, strict=True)
            if candidate.unusable_because is None
        }
    return choice.weights is not None, rows


def _answers(bank: Bank, name: str, run: str, **values: Any) -> pl.DataFrame:
    return bank.query(name, run=run, **values).drop("run")


@pytest.mark.few("*-peaks", "table_2-*", "coreference_accuracy-*", "entropy-*", "best_head-*")
@pytest.mark.slow
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize(
    "name", [name for name, each in analyses().items() if each.run and name not in OF_A_STEP]
)
def test_an_analysis_answers_the_same_or_refuses(
    name: str, keep: str, banks: tuple[Path, ...]
) -> None:
    reason = KEEPS[keep]
    without_weights = READ_WEIGHTS.get(name, {}) if reason is not None else {}
    values = without_weights or {}
    if name == "figure_5":  # the weights are random
        values = {**values, "p_below": 2}
    reads_weights, wanted = _answers_of_all_weights(banks[0], name, **values)
    bank = banks[[*KEEPS].index(keep) + 1]
    with open_bank(bank) as part:
        for kind, rows in wanted.items():
            run = _of(bank)[kind]
            if reads_weights and reason is not None:
                with pytest.raises(CallError, match=reason) as refused:
                    part.query(name, run=run)
                assert "--keep weights" in refused.value.remedy
            if without_weights is not None:
                answers = _answers(part, name, run, **values)
                assert_frame_equal(answers, rows, rel_tol=1e-12, abs_tol=1e-12)
    if without_weights is not None:
        has_rows = name not in NOT_HERE - ({"table_2"} if reason is None else set())
        assert any(rows.height for rows in wanted.values()) == has_rows


@pytest.mark.slow
def test_the_analyses_that_read_weights_are_these(banks: tuple[Path, ...]) -> None:
    with open_bank(banks[0]) as bank:
        reading = {
            name
            for name, each in analyses().items()
            if each.run and resolve_weights(bank.connection, each).weights
        }
    assert reading == READ_WEIGHTS.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values"),
    [("entropy", {"smoothing": 0.0001}), ("offset_profile", {"offsets": [0, 11]})],
)
def test_a_value_that_needs_the_weights_is_refused(
    banks: tuple[Path, ...], name: str, values: dict[str, Any]
) -> None:
    for path, reason in zip(banks[1:], KEEPS.values(), strict=True):
        with open_bank(path) as bank:
            assert bank.query(name).height
            if reason is not None:
                with pytest.raises(QueryError, match=reason) as refused:
                    bank.query(name, **values)
                assert "--keep weights" in refused.value.remedy
    with open_bank(banks[0]) as bank, open_bank(banks[3]) as every:
        wanted = bank.query(name, **values).drop("run")
        assert wanted.height
        assert_frame_equal(every.query(name, **values).drop("run"), wanted)


@pytest.mark.slow
def test_a_bank_with_both_takes_the_run_that_has_the_weights(
    few: Path, tmp_path: Path, bank_of: BankFactory
) -> None:
    stories = few / "stories.conllu"
    with open_bank(bank_of(stories, after=bank_of(stories), keep="peaks", to=tmp_path)) as bank:
        names = bank.runs()["name"].to_list()
        assert names[1] == f"{names[0]}/peaks"
        assert bank.query("entropy")["run"].unique().to_list() == [names[1]]
        assert bank.query("entropy", smoothing=0.1)["run"].unique().to_list() == [names[0]]
        assert bank.query("entropy")["run"].unique().to_list() == [names[1]]
        assert bank.runs()["weights"].to_list()[1] == 0


@pytest.mark.slow
def test_requests_read_peaks_and_refuse_weights(banks: tuple[Path, ...]) -> None:
    run = _of(banks[1])["sentences"]
    peak = "pattern { A =[1-1]=> B }"
    with open_bank(banks[0]) as whole, open_bank(banks[1]) as peaks:
        own = _of(banks[0])["sentences"]
        wanted = whole.find(peak, run=own, context=False)
        assert wanted.height
        assert_frame_equal(peaks.find(peak, run=run, context=False).drop("run"), wanted.drop("run"))
        for request, columns in (
            ("pattern { A =[1-1 > 0.1]=> B }", ""),
            ("pattern { A -[nsubj]-> B }", "weight(1-1, A, B)"),
        ):
            with pytest.raises(CallError, match=REASON):
                peaks.find(request, run=run, columns=columns)
            with pytest.raises(QueryError, match=REASON):
                peaks.find(request, columns=columns)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["dependent_to_head", "head_to_dependent"])
def test_a_sentence_is_shown_by_its_peaks(banks: tuple[Path, ...], direction: str) -> None:
    """The rows are those of all weights; the lines are the largest of each row and column."""
    run = _of(banks[1])["sentences"]
    options: dict[str, Any] = {"head": ["1-1", "2-2"], "relation": "all", "direction": direction}
    with open_bank(banks[0]) as whole, open_bank(banks[1]) as peaks:
        drawn = peaks.show(1, run=run, **options)
        full = whole.show(1, run=_of(banks[0])["sentences"], **options)
    left_out = ("special", "run")
    assert_frame_equal(drawn.rows.drop(left_out), full.rows.drop(left_out))
    assert drawn.rows["special"].null_count() == drawn.rows.height > 0
    assert "The run keeps only peaks" in " ".join(drawn.facts.notes)
    words = set(full.rows["position"])
    for head in (1, 2):
        weights = {
            (row["from_position"], row["to_position"]): row["weight"]
            for row in full.weights.filter(layer=head, head=head).to_dicts()
            if {row["from_position"], row["to_position"]} <= words
            and row["from_position"] != row["to_position"]
        }
        largest = {
            (one, other): weight
            for (one, other), weight in weights.items()
            if weight == max(each for (place, _), each in weights.items() if place == one)
            or weight == max(each for (_, place), each in weights.items() if place == other)
        }
        own = {
            (row["from_position"], row["to_position"]): row["weight"]
            for row in drawn.weights.filter(layer=head, head=head).drop_nulls().to_dicts()
        }
        assert own and own == pytest.approx(largest)


@pytest.mark.slow
def test_the_run_that_keeps_its_weights_is_shown_unless_another_is_named(
    banks: tuple[Path, ...], tmp_path: Path
) -> None:
    both = tmp_path / "both.duckdb"
    merge_banks(both, [banks[0], banks[1]])
    of = _of(banks[1])["sentences"]
    with open_bank(both) as bank:
        assert bank.show(1, "1-1").run.name != of
        assert bank.show(1, "1-1", run=of).run.name == of


@pytest.mark.slow
def test_maps_steps_and_probes_are_refused(banks: tuple[Path, ...]) -> None:
    options = ProbeOptions(train_split="train", test_split="dev")
    for path, reason in zip(banks[1:3], KEEPS.values(), strict=False):
        run = _of(path)["sentences"]
        with pytest.raises(QueryError, match=reason):
            compute(path, "head_distance")
        with pytest.raises(CallError, match=reason):
            compute(path, "head_distance", run=run)
        with pytest.raises(CallError, match=reason):
            train_probe(path, "attention", run, run, options)


@pytest.mark.slow
def test_a_report_leaves_out_what_is_not_there(banks: tuple[Path, ...]) -> None:
    with open_bank(banks[1]) as bank:
        page = bank.report(run=_of(banks[1])["sentences"])
    assert REASON in page and "special_tokens" in page and "best_head" in page


@pytest.mark.slow
def test_the_explorer_shows_what_there_is(banks: tuple[Path, ...]) -> None:
    cache = BankCache(banks[1], 30.0, 1_000_000_000)
    run = _of(banks[1])["sentences"]
    site, address = make_site(cache, "token", 8417), "http://127.0.0.1:8417"
    try:
        with TestClient(site, base_url=address) as client:
            assert client.get("/?token=token").status_code == 200
            for path in ("/bank.json", "/answers/any/entropy.json", "/contents.json"):
                assert client.get(path).status_code == 200, path
            values = {"run": run, "sentence": "1", "head": "1-1"}
            shown = client.get("/shown.json", params=values).json()
            assert any("The run keeps only peaks" in fact for fact in shown["facts"])
            assert any(weight is not None for _, _, weight in shown["panels"][0]["weights"])
    finally:
        cache.close()


@pytest.mark.slow
def test_the_command(
    options_for: Options, tmp_path: Path, sample: Path, tiny_model: Models,
    cli: Cli,
) -> None:  # fmt: skip
    bank, corpus = tmp_path / "b.duckdb", str(sample / "stories.conllu")
    call = ["-b", str(bank), "ingest", corpus, "--model", str(tiny_model("bert"))]
    options = options_for(bank)
    whole = estimate(options)
    message = int(
        cli(*call, "--keep", "peaks", "--dry-run").out.split("bytes")[1].split()[0].replace(",", "")
    )
    assert message < whole.bytes
    error = cli(*call, "--keep", "peaks").err
    assert "weights, of which only peaks and sums are kept" in error and "query best_head" in error
    assert "nothing was added" in cli(*call, "--keep", "peaks").err
    assert "peaks" in cli("-b", bank, "info").out


@pytest.mark.slow
def test_a_large_run_is_told_before_it_is_begun(
    options_for: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights, to the last one, and what peaks take; peaks themselves are not told."""
    monkeypatch.setattr(running, "LARGE", 100_000)
    messages = []
    for keep in ("weights", "peaks"):
        options = options_for(
            tmp_path / keep, "sample", context="document", max_tokens=96, keep=keep
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AttnbankWarning)
            report = ingest(options)
        messages.append([str(warning.message) for warning in caught])
        if keep == "weights":
            written = report.weights
            with warnings.catch_warnings(record=True) as again:
                warnings.simplefilter("always", AttnbankWarning)
                ingest(options)
            assert not again  # it is there already
    ((warning,), nothing) = messages
    assert nothing == []
    assert f"({written:,} weights)" in warning and "--keep peaks takes about" in warning
