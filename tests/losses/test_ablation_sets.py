"""Sets of heads: how they are named, what their controls are, and what is measured without them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import oracle_ablation
import oracle_words
import pytest
import transformers
from bank_factory import BankFactory
from bank_rows import model_of, query_bank
from fixture_types import Models

from attnbank.cli.app import run_command_line
from attnbank.ingest import (
    AblateOptions,
    HeadSet,
    ablate,
    add_run,
    save_relation,
)
from attnbank.ingest.losses.head_sets import add_controls
from attnbank.ingest.progress import Progress
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError

LAYERS, HEADS = 3, 4


@pytest.fixture
def causal(tiny_model: Models) -> Path:
    """A tiny GPT-2 of 3 layers of 4 heads; its head is its embeddings."""
    return tiny_model("gpt2")


@pytest.fixture
def bank(causal: Path, few: Path, bank_of: BankFactory, tmp_path: Path) -> Path:
    """A bank with one run over two sentences."""
    return bank_of(few / "press.conllu", causal, to=tmp_path)


def _sets(bank: Path, name: str = "a") -> dict[str, set[tuple[int, int]]]:
    result: dict[str, set[tuple[int, int]]] = {}
    for own, layer, head in query_bank(
        bank,
        "select name, layer, head from ablated_head inner join ablation_set"
        f" using (run, ablation, number) where ablation = '{name}' order by number",
    ):
        result.setdefault(own, set()).add((layer, head))
    return result


def _ablate(bank: Path, *flags: str, name: str = "a") -> int:
    return run_command_line(
        ["-b", str(bank), "ablate", name, "-q", "--model", model_of(bank), *flags]
    )


@pytest.mark.usual("mean")
@pytest.mark.parametrize("cut", ["zero", "mean", "uniform"])
def test_words_without_heads_are_those_of_surgery(bank: Path, causal: Path, cut: str) -> None:
    sets = ("1-2", "2-1,3-4")
    heads = ["--heads", sets[0], "--heads", sets[1]]
    assert _ablate(bank, *heads, "--with", cut, "--controls", "0") == 0
    tokenizer = transformers.AutoTokenizer.from_pretrained(causal)
    model = transformers.AutoModelForCausalLM.from_pretrained(causal).eval()
    boundary = oracle_words.boundaries(tokenizer.backend_tokenizer, {"<|endoftext|>"})
    texts: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}
    words = []
    for sequence, pieces, word in query_bank(
        bank, "select sequence, pieces, word from position order by sequence, position"
    ):
        ids, spans = texts.setdefault(sequence, ([], []))
        spans.append((len(ids), len(ids) + len(pieces)))
        ids += tokenizer.convert_tokens_to_ids(pieces)
        words.append(word)
    plain: list[oracle_ablation.Text] = [
        (tuple(ids), (0,) * len(ids), tuple(spans)) for ids, spans in texts.values()
    ]

    for number, text in enumerate(sets, start=1):
        request = [(int(part[0]) - 1, int(part[2]) - 1) for part in text.split(",")]
        cut_off = oracle_ablation.operated(model, request, cut, plain)
        expected = dict(zip(words, oracle_ablation.causal(cut_off, plain, boundary), strict=True))
        rows = dict(
            query_bank(bank, f"select word, nats from ablated_surprisal where number = {number}")
        )
        assert rows.keys() == expected.keys()
        own = np.array([np.nan if rows[word] is None else rows[word] for word in words])
        other = np.array([expected[word] for word in words])
        # float32 against float64, over a few pieces of some 6 nats.
        assert np.allclose(own, other, atol=1e-4, equal_nan=True)
        assert abs(np.nanmean(own) - np.nanmean(other)) < 1e-5
    assert len(query_bank(bank, "select distinct nats from surprisal")) > 15
    of_pieces = dict(query_bank(bank, "select word, nats_of_pieces from surprisal"))
    whole = oracle_ablation.causal(copy.deepcopy(model).double(), plain)
    for word, nats in zip(words, whole, strict=True):
        assert of_pieces[word] == (None if np.isnan(nats) else pytest.approx(nats, abs=1e-4))


@pytest.mark.slow
def test_ways_to_name_sets(bank: Path) -> None:
    with open_bank(bank) as opened:
        best = opened.query("head_accuracy", relation="det").sort(
            ["accuracy", "layer", "head"], descending=[True, False, False]
        )
        save_relation(opened, "dets", "pattern { N -[det]-> D }", dependent="D", head="N")
    select = "select layer, head from best_head(min_count := 1) where relation = 'punct'"
    flags = ["--heads", "1-1,1-2", "--query", select, "--best", "det", "--top", "2"]
    assert _ablate(bank, *flags, "--best", "dets", "--together", "--controls", "0") == 0
    sets = _sets(bank)
    assert list(sets) == ["1-1,1-2", "query", "det", "dets", "together"]
    assert sets["1-1,1-2"] == {(1, 1), (1, 2)} and len(sets["query"]) == 1
    top = list(dict.fromkeys(best.select("layer", "head").rows()))[:2]
    assert sets["det"] == sets["dets"] == set(top)
    assert sets["together"] == set.union(*(sets[name] for name in list(sets)[:4]))
    assert _ablate(bank, "--each", name="each") == 0
    every = _sets(bank, "each")
    assert len(every) == LAYERS * HEADS and every["2-3"] == {(2, 3)}
    ((count,),) = query_bank(bank, "select count(*) from ablated_surprisal where ablation = 'each'")
    ((words,),) = query_bank(bank, "select count(*) from surprisal")
    assert count == words * LAYERS * HEADS


def test_controls_have_no_head_of_any_set() -> None:
    """Two heads of layer 1 and one of layer 2, of four in each: all sets that can be drawn."""
    of_one, of_two = ((1, 1), (1, 2)), ((2, 1),)
    head_sets = [HeadSet("one", of_one, "hand"), HeadSet("two", of_two, "hand")]
    sets = add_controls(head_sets, (1, 2), 4, AblateOptions())
    assert sets[:2] == head_sets and all(each.seed == 0 for each in sets[2:])
    drawn = {each.name: ({*each.heads}, each.control_of) for each in sets[2:]}
    assert drawn.pop("control 1 of one") == ({(1, 3), (1, 4)}, 1)
    assert sorted(drawn) == [f"control {number} of two" for number in (1, 2, 3)]
    assert [{head} for head in ((2, 2), (2, 3), (2, 4))] == sorted(
        (heads for heads, control_of in drawn.values() if control_of == 2), key=min
    )
    with pytest.raises(CallError, match="Only 1 control can be drawn for one: each has 2 heads"):
        add_controls(head_sets, (1, 2), 4, AblateOptions(controls=2))
    anywhere = add_controls(head_sets, (1, 2), 4, AblateOptions(controls=5, controls_from="any"))
    free = {(1, 3), (1, 4), (2, 2), (2, 3), (2, 4)}
    assert {head for each in anywhere[7:] for head in each.heads} == free  # all five, of `two`
    of_one_anywhere = [{*each.heads} for each in anywhere[2:7]]
    assert all(len(heads) == 2 and heads <= free for heads in of_one_anywhere)
    assert len({*map(frozenset, of_one_anywhere)}) == 5


@pytest.mark.slow
@pytest.mark.parametrize("where", ["layers", "any"])
def test_controls_are_like_the_set_and_apart_from_it(bank: Path, where: str) -> None:
    flags = ["--heads", "1-1,1-2,3-1", "--heads", "2-1", "--controls", "3"]
    flags += ["--controls-from", where]
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert _ablate(bank, *flags, "--seed", str(seed), name=name) == 0
    sets = _sets(bank)
    chosen = sets["1-1,1-2,3-1"] | sets["2-1"]
    for own in ("1-1,1-2,3-1", "2-1"):
        controls = [heads for name, heads in sets.items() if name.endswith(f" of {own}")]
        assert len(controls) == 3 and len({frozenset(control) for control in controls}) == 3
        for heads in controls:
            assert len(heads) == len(sets[own]) and not heads & chosen
            if where == "layers":
                assert sorted(layer for layer, _ in heads) == sorted(
                    layer for layer, _ in sets[own]
                )
    assert sets == _sets(bank, "b") != _sets(bank, "c")
    with open_bank(bank) as opened:
        effects = opened.query("ablation_effect", ablation="a")
    assert effects["controls"].to_list() == [3, 3]
    assert effects["name"].sort().to_list() == ["1-1,1-2,3-1", "2-1"]


@pytest.mark.slow
def test_as_many_controls_as_there_are(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _ablate(bank, "--heads", "1-1,1-2,1-3") == 0  # one head is left
    assert list(_sets(bank)) == ["1-1,1-2,1-3"]
    assert _ablate(bank, "--heads", "2-1,2-2", name="b") == 0
    assert len(_sets(bank, "b")) == 2
    capsys.readouterr()
    assert _ablate(bank, "--heads", "2-1,2-2", "--controls", "2", name="c") == 2
    error = capsys.readouterr().err
    assert "Only 1 control can be drawn for 2-1,2-2" in error
    assert "--controls-from any" in error
    assert _sets(bank, "c") == {}


WRONG: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "No set of heads was named."),
    "no head": (["--heads", "4-1"], "The model has no head 4-1."),
    "no number": (["--heads", "1-x"], "'1-x' is not a valid head."),
    "zero": (["--heads", "0-1"], "The model has no head 0-1."),
    "twice": (["--heads", "1-1,1-1"], "names 1-1 twice"),
    "columns": (["--query", "select 1 as layer"], "has no columns layer and head"),
    "text": (["--query", "select 'a' as layer, 1 as head"], "are not whole numbers"),
    "empty": (["--query", "select layer, head from best_head() limit 0"], "is empty"),
    "writes": (["--query", "delete from word"], "Error"),
    "two": (["--query", "select 1; select 2"], "Error"),
    "relation": (["--best", "nonsense"], "has the relation nonsense"),
    "top": (["--heads", "1-1", "--top", "3"], "--top needs --best"),
    "together": (["--heads", "1-1", "--together"], "at least two sets"),
    "file": (["--heads", "1-1", "--pairs", "missing.tsv"], "missing.tsv"),
    "run": (["--heads", "1-1", "--run", "9"], "There is no run 9"),
}


@pytest.mark.usual("no head", "writes")
@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told(what: str, bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags, message = WRONG[what]
    assert _ablate(bank, *flags) in (1, 2)
    error = capsys.readouterr().err
    assert message in error and error.count("\n") <= 3 and "Traceback" not in error
    assert query_bank(bank, "select count(*) from ablation_set") == [(0,)]
    assert query_bank(bank, "select count(*) > 0 from word") == [(True,)]


@pytest.mark.usual(3)
@pytest.mark.parametrize("name", ["", "a\nb", "x" * 101, "\x1b[31m"])
def test_names_that_cannot_be_used(name: str, bank: Path) -> None:
    assert _ablate(bank, "--heads", "1-1", name=name) == 2
    assert (
        _ablate(bank, "--heads", "1-1", "--controls", "1", name="it's; drop table word -- é") == 0
    )


def test_a_model_whose_heads_cannot_be_replaced_is_refused_before_anything_is_written(
    tiny_masked_lm: Models, few: Path, tmp_path: Path, bank_of: BankFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    model = tiny_masked_lm("reformer")
    bank = bank_of(few / "press.conllu", model, to=tmp_path / "bank.duckdb")
    capsys.readouterr()
    assert _ablate(bank, "--heads", "1-1") == 1
    error = capsys.readouterr().err
    assert "The heads of ReformerForMaskedLM" in error and error.count("\n") == 2
    assert query_bank(bank, "from ablation_set") == []


@pytest.mark.slow
def test_another_ablation_of_the_name_is_refused(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _ablate(bank, "--heads", "2-1,1-1", "--controls", "2") == 0
    before = query_bank(bank, "from ablated_surprisal order by all")
    capsys.readouterr()
    command = ["-b", str(bank), "ablate", "a", "--heads", "2-1,1-1", "--controls", "2"]
    assert run_command_line(command) == 0
    assert "nothing was measured" in capsys.readouterr().err
    for flags in (
        ["--heads", "1-2", "--controls", "2"],
        ["--heads", "2-1,1-1", "--controls", "3"],
        ["--heads", "2-1,1-1", "--controls", "2", "--with", "mean"],
        ["--heads", "2-1,1-1", "--controls", "2", "--seed", "5"],
    ):
        assert _ablate(bank, *flags) == 2
        assert "already has an ablation a" in capsys.readouterr().err
    assert query_bank(bank, "from ablated_surprisal order by all") == before
    assert _ablate(bank, "--heads", "1-2", "--controls", "0", "--replace") == 0
    assert list(_sets(bank)) == ["1-2"]


def test_a_run_that_was_given_has_no_model(bank: Path) -> None:
    with add_run(bank, "press", "mine", layers=1, heads=1) as given:
        for sentence in given.sentences():
            size = len(sentence.words)
            given.add(
                sentence,
                list(sentence.words),
                list(range(size)),
                np.ones((1, 1, size, size)) / size,
            )
    with pytest.raises(CallError, match="was added by add_run"):
        ablate(bank, "a", [HeadSet("s", ((1, 1),), "hand")], run="press/mine")


@pytest.mark.slow
def test_pairs_without_heads(bank: Path, causal: Path, tmp_path: Path) -> None:
    """Sums over the words that are asked for, of both texts, by the oracle."""
    pairs = tmp_path / "pairs.tsv"
    lines = [("The cat sleeps.", "The cat sleep."), ("He saw her now.", "He saw she now.")]
    pairs.write_text("good\tbad\n" + "".join(f"{a}\t{b}\n" for a, b in lines), encoding="utf-8")
    options = AblateOptions(controls=1, pairs=(str(pairs),), model=str(causal))
    done = ablate(bank, "a", [HeadSet("s", ((2, 2),), "hand")], options=options)
    assert done.pairs["pairs.tsv"] == 2 and (done.sets, done.controls) == (1, 1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(causal)
    model = transformers.AutoModelForCausalLM.from_pretrained(causal).eval()
    boundary = oracle_words.boundaries(tokenizer.backend_tokenizer, {"<|endoftext|>"})
    for number, tried in enumerate((model, oracle_ablation.operated(model, [(1, 1)], "zero", []))):
        expected = []
        for text in (each for line in lines for each in line):
            spans: list[tuple[int, int]] = []
            ids: list[int] = []
            for at, word in enumerate(text.split()):
                own = tokenizer(word if at == 0 else f" {word}")["input_ids"]
                spans.append((len(ids), len(ids) + len(own)))
                ids += own
            one: oracle_ablation.Text = (tuple(ids), (0,) * len(ids), tuple(spans))
            expected.append(np.nansum(oracle_ablation.causal(tried.double(), [one], boundary)))
        where = "minimal_pair where source = 'pairs.tsv' order by number"
        if number:
            where = "ablated_pair where source = 'pairs.tsv' and number = 1 order by pair"
        rows = [
            each
            for row in query_bank(bank, f"select good_nats, bad_nats from {where}")
            for each in row
        ]
        assert rows == pytest.approx(expected, abs=1e-4)
    with open_bank(bank) as opened:
        accuracy = opened.query("minimal_pair", source="pairs.tsv")
        assert accuracy["name"].to_list() == ["whole model"] * 2 + ["s"] * 2
    pairs.write_text("good\tbad\nA b.\tA c.\n", encoding="utf-8")
    with pytest.raises(CallError, match=r"other pairs called pairs\.tsv"):
        ablate(bank, "b", [HeadSet("s", ((2, 2),), "hand")], options=options)


def test_pairs_are_known_by_their_file(bank: Path, causal: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a" / "p.tsv", tmp_path / "b" / "p.tsv", tmp_path / "agreement"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("good\tbad\nA b.\tA c.\n", encoding="utf-8")
    for given, error in (
        ((files[0], files[1]), "p.tsv is used twice"),
        ((files[2],), "of the trees"),
    ):
        options = AblateOptions(pairs=tuple(map(str, given)), model=str(causal))
        with pytest.raises(CallError, match=error):
            ablate(bank, "a", [HeadSet("s", ((2, 2),), "hand")], options=options)


def test_options_out_of_range_are_refused(bank: Path, causal: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"replacement": "nothing"}, "'nothing' is not a valid value of --with."),
        ({"controls": -1}, "--controls is out of range."),
        ({"batch_tokens": 0}, "--batch-tokens is out of range."),
    ]
    head_sets = [HeadSet("s", ((2, 2),), "hand")]
    for options, fact in wrong:
        with pytest.raises(CallError) as error:
            ablate(bank, "a", head_sets, options=AblateOptions(model=str(causal), **options))
        assert error.value.fact == fact


def test_where_no_verb_agrees_it_is_told(bank: Path, causal: Path) -> None:
    """No other form of the only verb is in the text."""
    head_sets = [HeadSet("s", ((2, 2),), "hand")]
    options = AblateOptions(agreement=True, model=str(causal))
    with pytest.raises(CallError, match="has no agreement pairs"):
        ablate(bank, "a", head_sets, options=options)


@pytest.mark.slow
def test_pairs_that_come_later_leave_it_unfinished_until_they_are_there(
    bank: Path, causal: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("good\tbad\nThe cat sleeps.\tThe cat sleep.\n", encoding="utf-8")
    heads = [HeadSet("s", ((2, 2),), "hand")]
    ablate(bank, "a", heads, options=AblateOptions(controls=0, model=str(causal)))
    later = AblateOptions(controls=0, model=str(causal), pairs=(str(pairs),))

    def stop(progress: Progress) -> None:
        if progress.stage == "judging":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ablate(bank, "a", heads, None, later, stop)
    assert query_bank(bank, "select finished is null from ablation_set") == [(True,)]
    ablate(bank, "a", heads, options=later)
    assert query_bank(bank, "select finished is null from ablation_set") == [(False,)]
    assert query_bank(bank, "select count(*) from ablated_pair") == [(1,)]
