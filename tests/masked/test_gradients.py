"""Gradients of the masked-LM loss: finite differences, a slow implementation, and the bank."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bounds
import duckdb
import numpy as np
import oracle_masked_lm as slow
import pytest
import torch
import transformers
from bank_rows import query_bank
from command_line import Cli
from crashes import ingest_part
from fixture_types import Models
from torch import Tensor

from attnbank.ingest import IngestOptions, estimate, ingest
from attnbank.ingest.attention.rows import pad_batch
from attnbank.ingest.losses import masked
from attnbank.ingest.losses.masked import Gradients
from attnbank.ingest.models import loading
from attnbank.ingest.models.runtime import ModelError
from attnbank.ingest.progress import Progress
from attnbank.ingest.store import pipeline
from attnbank.sql.errors import AttnbankError

pytestmark = pytest.mark.usefixtures("one_thread")

STEP = 1e-4
"""Of a weight in [0, 1]: small beside it, and large beside what rounding does to a loss."""
TABLES = ("sequence", "position", "attention", "gradient", "peak", "skipped")


def options(bank: Path, corpus: Path, model: Path | str, **others: Any) -> IngestOptions:
    chosen: dict[str, Any] = {"unit": "token", "gradients": True}
    return IngestOptions((str(corpus),), bank, str(model), **chosen | others)


def rows(bank: Path, table: str) -> list[tuple[Any, ...]]:
    return query_bank(bank, f"select * from {table} order by all")


def stored(connection: duckdb.DuckDBPyConnection, sequence: int) -> np.ndarray:
    """The gradients of a sequence as [L, H, T, T]."""
    result = connection.execute(
        "select layer, head, from_position, gradients from gradient where sequence = ?"
        " order by layer, head, from_position",
        [sequence],
    ).fetchall()
    layers, heads = result[-1][0], result[-1][1]
    flat = np.array([row[3] for row in result], dtype=np.float32)
    assert [row[:3] for row in result] == [
        (layer, head, place)
        for layer in range(1, layers + 1)
        for head in range(1, heads + 1)
        for place in range(flat.shape[1])
    ]
    return flat.reshape(layers, heads, flat.shape[1], flat.shape[1])


def gradients_of(one: Any, draw: Any) -> Callable[[Any], np.ndarray]:
    """From a model to the gradients of an input, for bounds.passes."""
    return lambda model: slow.gradients(model, one, draw.draw_mask(one))


def check_gradients(path: Path, folder: Path, seed: int, inputs: int, segments: set[int]) -> None:
    """Check that a bank has the gradients that a model gives for each of its inputs alone."""
    tokenizer, model = slow.load(folder)
    draw = slow.masking(tokenizer, seed)
    with duckdb.connect(str(path), read_only=True) as connection:
        texts = slow.inputs(connection, tokenizer)
        assert len(texts) == inputs
        assert {segment for text in texts.values() for segment in text.segments} == segments
        for sequence, text in texts.items():
            expected = slow.gradients(model, text, draw.draw_mask(text))
            within = bounds.passes(model, gradients_of(text, draw))
            assert np.abs(expected).max() > max(1e-3, 1000 * within)
            assert np.abs(stored(connection, sequence) - expected).max() <= within


@pytest.fixture(scope="module")
def press(few: Path) -> Path:
    """Four sentences of the sample."""
    return few / "instructions.conllu"


@pytest.fixture(scope="module")
def bank(tiny_masked_lm: Models, press: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gradients") / "bert.duckdb"
    ingest(options(path, press, tiny_masked_lm("bert")))
    return path


@pytest.mark.usual(3)
@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_a_gradient_is_what_a_small_change_of_the_weight_does_to_the_loss(
    tiny_masked_lm: Models, kind: str
) -> None:
    """Central differences, in float64, of the transformers' own loss of a single input."""
    loaded = loading.load(str(tiny_masked_lm(kind)), head="masked")
    loaded.module_with_head.double()
    tokenizer, model = slow.load(tiny_masked_lm(kind))
    model = model.double()
    draw = slow.masking(tokenizer, 5)
    texts = [["The", "dogs", "barked", "at", "the", "old", "station", "."], ["Rain", "fell", "."]]
    batch = _batch(loaded, texts)
    masked = [draw.draw_mask(each.encoded) for each in batch.inputs]
    gradients = Gradients(loaded).compute(*pad_batch(batch, loaded.input_tokenizer.padding), masked)

    rng = np.random.default_rng(1)
    largest = 0.0
    for at, each in enumerate(batch.inputs):
        length = len(each.encoded.ids)
        for _ in range(12):
            layer, head = int(rng.integers(1, 4)), int(rng.integers(4))
            to = int(rng.integers(length))
            # In the last layer the loss sees the masked tokens alone.
            choices = range(length) if layer < 3 else masked[at].tokens
            place = int(rng.choice(list(choices)))

            def moved(
                step: float, layer: int = layer, spot: tuple[int, ...] = (head, place, to)
            ) -> Callable[[int, Tensor], Tensor]:
                def edit(now: int, weights: Tensor) -> Tensor:
                    if now == layer:
                        weights[0][spot] += step
                    return weights

                return edit

            def difference(step: float, moved: Any = moved, at: int = at, one: Any = each) -> float:
                ends = []
                for signed in (step, -step):
                    with torch.no_grad(), slow.attention(model, moved(signed)):
                        ends.append(float(slow.loss(model, one.encoded, masked[at]).loss))
                return (ends[0] - ends[1]) / (2 * step)

            wide, narrow = difference(STEP), difference(STEP / 2)
            largest = max(largest, abs(narrow))
            got = gradients[layer - 1][at, head, place, to]
            # Half the step cuts off a quarter: what is still cut off is a third of the change.
            within = abs(wide - narrow) / 3 + bounds.slope(STEP / 2, 10, 64 * 64, 0)
            # Gradients are handed out in float32.
            assert got == pytest.approx(narrow, rel=bounds.SINGLE, abs=2 * within)
    assert largest > 0.01


def _batch(loaded: loading.Model, texts: list[list[str]]) -> Any:
    from attnbank.ingest.candidate_inputs import Input
    from attnbank.ingest.planning import Batch

    batch = Batch(1)
    for words in texts:
        (pieces,) = loaded.input_tokenizer.pieces([(words, [True] * len(words))])
        assert isinstance(pieces, tuple)
        encoded = loaded.input_tokenizer.assemble([pieces], words, "token")
        batch.inputs.append(Input(0, 1, (), (), encoded))
    return batch


@pytest.mark.usual("roberta", "deberta")
@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "deberta"])
def test_the_bank_holds_the_gradients_of_each_input_alone(
    tiny_masked_lm: Models, press: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches, padding and the choice of the masked tokens change nothing."""
    if kind == "roberta":
        monkeypatch.setattr(masked, "TOKENS_AT_ONCE", 30)  # one or two inputs at a time
    folder = tiny_masked_lm(kind)
    path = tmp_path / "x.duckdb"
    assert ingest(options(path, press, folder, mask_seed=7)).sentences == 4
    check_gradients(path, folder, 7, 4, segments={0})


@pytest.mark.slow
def test_gradients_of_pairs_of_segments(
    tiny_masked_lm: Models, corpora: Path, tmp_path: Path
) -> None:
    folder = tiny_masked_lm("bert")
    path = tmp_path / "x.duckdb"
    ingest(options(path, corpora / "wiki-text.txt", folder, context="pair", limit=6, max_tokens=60))
    check_gradients(path, folder, 0, 6, segments={0, 1})


def test_gradients_are_signed_and_stand_beside_every_row_of_attention(bank: Path) -> None:
    counts = query_bank(
        bank,
        "select count(*), count(*) filter (where len(weights) = len(gradients)) from attention"
        " full join gradient using (sequence, layer, head, from_position)",
    )[0]
    signs = query_bank(
        bank,
        "select count(*) filter (where g > 0), count(*) filter (where g < 0)"
        " from (select unnest(gradients) as g from gradient)",
    )[0]
    assert counts is not None and counts[0] == counts[1] > 0
    assert signs is not None and min(signs) > 1_000


def test_in_the_last_layer_only_masked_tokens_have_gradients(
    bank: Path, tiny_masked_lm: Models
) -> None:
    """Nothing else of what the last layer hands on reaches the loss."""
    tokenizer, _ = slow.load(tiny_masked_lm("bert"))
    draw = slow.masking(tokenizer, 0)
    with duckdb.connect(str(bank), read_only=True) as connection:
        for sequence, one in slow.inputs(connection, tokenizer).items():
            by_row = np.abs(stored(connection, sequence)).max(axis=(1, 3))  # [L, T]
            assert tuple(np.flatnonzero(by_row[-1])) == draw.draw_mask(one).tokens
            assert by_row[0].all()


def test_the_attention_is_that_of_the_text_and_not_of_the_masked_input(
    bank: Path, tiny_masked_lm: Models, press: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain.duckdb"
    ingest(options(plain, press, tiny_masked_lm("bert"), gradients=False))
    assert rows(plain, "attention") == rows(bank, "attention")
    assert rows(plain, "gradient") == []


@pytest.mark.usual("masking-True", "masking-False")
@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("stage", ["running", "masking"])
def test_an_interrupted_run_ends_with_the_same_rows(
    tiny_masked_lm: Models, press: Path, tmp_path: Path, stage: str, gradients: bool, cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Within its pass, or while its masked inputs are measured: until then it is not finished."""
    monkeypatch.setattr(pipeline, "WEIGHTS_AT_ONCE", 10**9)  # of the whole run, and of the rest
    whole, broken = tmp_path / "whole.duckdb", tmp_path / "broken.duckdb"
    folder = tiny_masked_lm("bert")
    more = {"batch_tokens": 32, "ablate": "layers", "gradients": gradients}
    ingest(options(whole, press, folder, **more))
    ingest_part(options(broken, press, folder, **more), stage=stage)  # a transaction a batch
    assert (len(rows(broken, "sequence")) < 4) is (stage == "running")
    tokens = [{row[6] for row in rows(bank, "ablation")} for bank in (broken, whole)]
    if stage == "masking":
        assert 0 < max(tokens[0]) < max(tokens[1])
        assert 0 < len(rows(broken, "gradient")) < len(rows(whole, "gradient")) or not gradients
    assert "it is not finished" in cli("-b", broken, "query", "head_ablation", status=1).err
    assert ingest(options(broken, press, folder, **more)).state == "resumed"
    for table in (*TABLES, "ablation"):
        assert rows(broken, table) == rows(whole, table), table
    assert rows(whole, "ablation")
    assert ingest(options(broken, press, folder, **more)).state == "unchanged"


@pytest.mark.slow
@pytest.mark.parametrize("gradients", [True, False])
def test_masked_inputs_are_measured_to_the_end_in_smaller_batches(
    tiny_masked_lm: Models, press: Path, tmp_path: Path, gradients: bool
) -> None:
    """As the error says where memory is short; what was measured is not measured again."""
    whole, broken = tmp_path / "whole.duckdb", tmp_path / "broken.duckdb"
    folder, more = tiny_masked_lm("bert"), {"ablate": "layers", "gradients": gradients}
    ingest(options(whole, press, folder, batch_tokens=32, **more))
    ingest_part(options(broken, press, folder, batch_tokens=64, **more), stage="masking")
    seen: list[Progress] = []
    ingest(options(broken, press, folder, batch_tokens=32, **more), seen.append)
    assert [one.done for one in seen if one.stage == "masking"][-1] == 4
    sizes = query_bank(broken, "select sum(tokens) from sequence")
    assert sizes == query_bank(whole, "select sum(tokens) from sequence")
    for (*key, mean, tokens), (*other_key, other, other_tokens) in zip(
        query_bank(broken, "select disabled, layer, head, loss, tokens from ablation order by all"),
        query_bank(whole, "select disabled, layer, head, loss, tokens from ablation order by all"),
        strict=True,
    ):
        assert (key, tokens) == (other_key, other_tokens)
        assert mean == pytest.approx(other, abs=1e-5)
    assert len(rows(broken, "gradient")) == len(rows(whole, "gradient"))


def test_an_interrupt_says_how_much_is_measured(
    tiny_masked_lm: Models, press: Path, tmp_path: Path
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.stage == "masking" and progress.done:
            signal.raise_signal(signal.SIGINT)

    bank = tmp_path / "x.duckdb"
    # A shell lets what it starts in the background ignore SIGINT.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"the gradients of \d+ sentences"):
            ingest(options(bank, press, tiny_masked_lm("bert"), batch_tokens=32), interrupt)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert rows(bank, "gradient")
    assert query_bank(bank, "select finished from run") == [(None,)]


@pytest.mark.slow
def test_the_mask_seed_is_part_of_what_a_run_is(
    tiny_masked_lm: Models, press: Path, tmp_path: Path
) -> None:
    path, folder = tmp_path / "x.duckdb", tiny_masked_lm("bert")
    first = ingest(options(path, press, folder))
    assert (first.state, ingest(options(path, press, folder)).state) == ("new", "unchanged")
    second = ingest(options(path, press, folder, mask_seed=1))
    third = ingest(options(path, press, folder, gradients=False))
    assert (second.state, third.state) == ("new", "new")
    result = query_bank(path, "select name, gradients, mask_seed from run order by id")
    same = query_bank(
        path,
        "select count(*) from (select first.gradients from gradient as first"
        " where gradients in (select gradients from gradient where sequence > 4)"
        " and sequence <= 4 and layer = 1)",
    )[0]
    assert [row[1:] for row in result] == [(True, 0), (True, 1), (False, None)]
    assert result[0][0].endswith("/token/gradients")
    assert result[1][0].endswith("/token/gradients/mask1")
    assert same == (0,)


@pytest.mark.slow
def test_an_estimate_counts_the_gradients(tiny_masked_lm: Models, press: Path) -> None:
    path = Path("never-made.duckdb")
    without = estimate(options(path, press, tiny_masked_lm("bert"), gradients=False))
    expected = estimate(options(path, press, tiny_masked_lm("bert")))
    assert expected.weights == without.weights
    assert expected.bytes - without.bytes == pytest.approx(4.2 * expected.weights, abs=1)


def test_a_checkpoint_without_the_head_is_refused_and_leaves_no_bank(
    press: Path, tmp_path: Path, tiny_model: Models
) -> None:
    for model in ("minilm", str(tiny_model("roberta"))):
        with pytest.raises(
            ModelError, match=r"not a complete masked language model.* lacks"
        ) as error:
            ingest(options(tmp_path / "x.duckdb", press, model))
        assert "google-bert/bert-base-uncased" in error.value.remedy
    assert not (tmp_path / "x.duckdb").exists()


def test_one_lost_weight_of_the_head_is_enough_to_be_refused(
    tiny_masked_lm: Models, press: Path, tmp_path: Path
) -> None:
    tokenizer, model = slow.load(tiny_masked_lm("bert"))
    weights = model.state_dict()
    del weights["cls.predictions.transform.dense.bias"]
    model.save_pretrained(tmp_path / "cut", state_dict=weights)
    tokenizer.save_pretrained(tmp_path / "cut")
    with pytest.raises(ModelError) as error:
        ingest(options(tmp_path / "x.duckdb", press, tmp_path / "cut"))
    assert error.value.fact.endswith("lacks cls.predictions.transform.dense.bias.")


@pytest.mark.slow
def test_random_weights_have_a_random_head(tiny_model: Models, press: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    ingest(options(path, press, tiny_model("bert"), random_weights=3))
    assert rows(path, "model")[0][4] == "BertModel"
    assert len(rows(path, "gradient")) == len(rows(path, "attention")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_run_with_gradients_after_one_without_is_of_the_same_model(
    tiny_masked_lm: Models, press: Path, tmp_path: Path, kind: str
) -> None:
    path, model = tmp_path / "x.duckdb", tiny_masked_lm(kind)
    for seed in (None, 3):
        for asked in (False, True):
            ingest(options(path, press, model, gradients=asked, random_weights=seed))
    result = query_bank(path, "select model, count(*) from run group by model")
    peaks = query_bank(
        path,
        "select count(distinct (position, most_attended, most_attended_weight)) from peak"
        " inner join sequence on sequence.id = peak.sequence"
        " inner join run on run.id = sequence.run"
        " group by run.model, sequence.document, sequence.sentence, layer, head, position",
    )
    assert sorted(result) == [(1, 2), (2, 2)]
    assert set(peaks) == {(1,)}


def test_a_decoder_is_refused(tiny_model: Models, press: Path, tmp_path: Path) -> None:
    for call in (ingest, estimate):
        with pytest.raises(ModelError, match="is not a masked language model"):
            call(options(tmp_path / "x.duckdb", press, tiny_model("gpt2")))


def test_a_tokenizer_without_a_mask_token_is_refused(
    tiny_masked_lm: Models, press: Path, tmp_path: Path
) -> None:
    tokenizer, model = slow.load(tiny_masked_lm("bert"))
    model.save_pretrained(tmp_path / "m")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
    ).save_pretrained(tmp_path / "m")
    with pytest.raises(ModelError, match="has no mask token"):
        ingest(options(tmp_path / "x.duckdb", press, tmp_path / "m"))


def test_an_input_with_nothing_to_mask_is_skipped_in_words(
    tiny_masked_lm: Models, tmp_path: Path
) -> None:
    """Where words are cut at white space alone, a vocabulary may have one like a special token."""
    model = tmp_path / "model"
    shutil.copytree(tiny_masked_lm("bert"), model)
    tokenizer = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer |= {"pre_tokenizer": {"type": "WhitespaceSplit"}, "normalizer": None}
    (model / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    text = tmp_path / "text.conllu"
    words = [["Rain", "fell", "."], ["[SEP]"], ["Dogs", "barked", "."]]
    text.write_text(
        "".join(
            "".join(f"{at}\t{word}" + "\t_" * 8 + "\n" for at, word in enumerate(each, 1)) + "\n"
            for each in words
        ),
        encoding="utf-8",
    )
    path = tmp_path / "x.duckdb"
    report = ingest(options(path, text, model, ablate="layers"))
    assert report.skipped == {"nothing-to-mask": 1}
    assert estimate(options(path, text, model, ablate="layers")).skipped == report.skipped
    assert len(rows(path, "sequence")) == 2
    assert len({row[0] for row in rows(path, "gradient")}) == 2
    assert {row[6] for row in rows(path, "ablation")} == {2}


def test_attention_that_the_model_does_not_use_is_refused(tiny_masked_lm: Models) -> None:
    """A model that hands out copies would have no gradients, or wrong ones."""
    loaded = loading.load(str(tiny_masked_lm("bert")), head="masked")
    module = loaded.module_with_head

    def copies(_: Any, arguments: Any, output: Any) -> Any:
        output.attentions = tuple(layer.clone() for layer in output.attentions)
        return output

    module.register_forward_hook(copies)
    with pytest.raises(AttnbankError, match="are not the ones that it computes with"):
        Gradients(loaded)
