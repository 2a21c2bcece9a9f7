"""The loss with heads and layers disabled: a slow implementation, known answers, and the bank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bounds
import duckdb
import numpy as np
import oracle_masked_lm as slow
import pytest
import torch
from bank_rows import query_bank
from fixture_types import Models
from torch import Tensor

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.losses.masked import Ablation, InputMask
from attnbank.ingest.models import loading
from attnbank.ingest.models.runtime import ModelError

pytestmark = pytest.mark.usefixtures("one_thread")

Row = tuple[str, int | None, int | None, str | None, float, int]


def options(bank: Path, corpus: Path, model: Path | str, **others: Any) -> IngestOptions:
    """Of four sentences of the corpus."""
    path = str(corpus / "instructions.conllu")
    return IngestOptions((path,), bank, str(model), **{"ablate": "heads"} | others)


def rows(bank: Path, run: int = 1) -> list[Row]:
    return query_bank(
        bank,
        "select disabled, layer, head, replacement, loss, tokens from ablation where run = ?"
        " order by layer nulls first, head",
        [run],
    )


def slow_losses(
    bank: Path, folder: Path, variants: list[tuple[Any, Any]], replacement: str, seed: int
) -> tuple[np.ndarray, int, float]:
    """The mean loss of each variant, the number of masked tokens, and what rounding may change."""
    tokenizer, model = slow.load(folder)
    draw = slow.masking(tokenizer, seed)
    with duckdb.connect(str(bank), read_only=True) as connection:
        inputs = slow.inputs(connection, tokenizer)
    masked = [(one, draw.draw_mask(one)) for one in inputs.values()]
    tokens = sum(len(each.tokens) for _, each in masked)

    def means(model: Any) -> np.ndarray:
        return np.array([_slow_mean(model, masked, variant, replacement) for variant in variants])

    return means(model), tokens, bounds.passes(model, means)


def _slow_mean(
    model: Any, inputs: list[Any], variant: tuple[int | None, int | None], replacement: str
) -> float:
    """The mean loss over all masked tokens: one input at a time."""
    layer, head = variant

    def edit(now: int, weights: Tensor) -> Tensor:
        if now == layer:
            chosen = range(weights.shape[1]) if head is None else [head - 1]
            for each in chosen:
                size = weights.shape[-1]
                weights[0, each] = 1 / size if replacement == "uniform" else 0.0
        return weights

    total, tokens = 0.0, 0
    for one, masked in inputs:
        with torch.no_grad(), slow.attention(model, edit):
            mean = float(slow.loss(model, one, masked).loss)
        total += mean * len(masked.tokens)
        tokens += len(masked.tokens)
    return total / tokens


@pytest.mark.usual("roberta-*", "albert-*")
@pytest.mark.parametrize(
    ("kind", "ablate", "replacement"),
    [
        ("bert", "heads", "uniform"),
        ("bert", "layers", "zero"),
        ("roberta", "heads", "zero"),
        ("electra", "layers", "uniform"),
        ("distilbert", "heads", "uniform"),
        ("albert", "heads", "uniform"),  # one layer, called three times
        ("mpnet", "heads", "uniform"),  # with attention code of its own
        ("mpnet", "layers", "zero"),
    ],
)
def test_the_losses_are_those_of_a_slow_implementation(
    tiny_masked_lm: Models, few: Path, tmp_path: Path, kind: str, ablate: str, replacement: str
) -> None:
    folder, path = tiny_masked_lm(kind), tmp_path / "x.duckdb"
    ingest(options(path, few, folder, ablate=ablate, replacement=replacement, mask_seed=2))
    result = rows(path)
    what = "head" if ablate == "heads" else "layer"
    assert result[0][:4] == ("none", None, None, None)
    assert [row[:4] for row in result[1:]] == [
        (what, layer, head, replacement)
        for layer in (1, 2, 3)
        for head in ((1, 2, 3, 4) if ablate == "heads" else (None,))
    ]
    expected, tokens, within = slow_losses(
        path, folder, [(row[1], row[2]) for row in result], replacement, 2
    )
    losses = [row[4] for row in result]
    np.testing.assert_allclose(losses, expected, rtol=0, atol=within)
    assert {row[5] for row in result} == {tokens}
    # Every variant does something of its own.
    assert np.diff(np.sort(expected)).min() > 1e-12 and len(set(losses)) == len(losses)
    assert within < np.ptp(expected) / 1000


@pytest.mark.slow
def test_a_head_with_equal_values_loses_nothing_by_uniform_weights(
    tiny_masked_lm: Models, few: Path, tmp_path: Path
) -> None:
    """Head 2-3 hands on its bias whatever it looks at; without weights it hands on nothing."""
    tokenizer, model = slow.load(tiny_masked_lm("bert"))
    with torch.no_grad():
        value = model.bert.encoder.layer[1].attention.self.value
        value.weight[16:24] = 0
        value.bias[16:24] = 3
    model.save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    change = {}
    for replacement in ("uniform", "zero"):
        path = tmp_path / f"{replacement}.duckdb"
        ingest(options(path, few, tmp_path / "m", replacement=replacement))
        result = rows(path)
        change[replacement] = {row[1:3]: abs(row[4] - result[0][4]) for row in result[1:]}
    *_, within = slow_losses(path, tmp_path / "m", [(None, None), (2, 3)], "uniform", 0)
    assert change["uniform"].pop((2, 3)) <= within < min(change["uniform"].values())
    assert change["zero"][2, 3] > 100 * within


def test_padding_is_no_part_of_the_uniform_weights(tiny_masked_lm: Models) -> None:
    loaded = loading.load(str(tiny_masked_lm("bert")), head="masked")
    ablation = Ablation(loaded, "heads", "uniform")
    ids = torch.tensor([[2, 40, 50, 60, 3]])
    masked = [InputMask((2,), (4,), (50,))]
    alone = ablation.losses(ids, torch.ones_like(ids), torch.zeros_like(ids), masked)
    wide = torch.nn.functional.pad(ids, (0, 4))
    padded = ablation.losses(wide, (wide > 0).long(), torch.zeros_like(wide), masked)
    _, model = slow.load(tiny_masked_lm("bert"))

    def loss(model: Any) -> np.ndarray:
        seen = ids.clone()
        seen[0, 2] = 4
        with torch.no_grad():
            logits = model(seen, token_type_ids=torch.zeros_like(ids)).logits[0, 2]
        return -torch.log_softmax(logits, 0)[50].numpy()

    within = bounds.passes(model, loss)
    assert float(alone[0, 0]) == pytest.approx(float(loss(model)), abs=within)
    assert padded == pytest.approx(alone, rel=0, abs=within)
    assert np.ptp(alone) > 100 * within


def test_the_model_is_left_as_it_was(tiny_masked_lm: Models) -> None:
    loaded = loading.load(str(tiny_masked_lm("albert")), head="masked")
    ids = torch.tensor([[2, 40, 50, 60, 3]])
    ones = torch.ones_like(ids)
    before = loaded.attentions(ids, ones, ones - 1)
    ablation = Ablation(loaded, "layers", "zero")
    for _ in range(2):
        ablation.losses(ids, ones, ones - 1, [InputMask((2,), (4,), (50,))])
    after = loaded.attentions(ids, ones, ones - 1)
    # The same arithmetic twice: to the last bit.
    assert all(torch.equal(*each) for each in zip(before, after, strict=True))
    assert loaded.module_with_head.config._attn_implementation == "eager"
    assert not [module for module in loaded.module.modules() if "forward" in vars(module)]


def test_layers_below_the_disabled_one_are_not_computed_again(tiny_masked_lm: Models) -> None:
    loaded = loading.load(str(tiny_masked_lm("bert")), head="masked")
    ablation = Ablation(loaded, "heads", "uniform")
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    for layer in loaded.module.encoder.layer:
        layer.attention.register_forward_hook(count)
    ids = torch.tensor([[2, 40, 50, 60, 3]])
    ones = torch.ones_like(ids)
    ablation.losses(ids, ones, ones - 1, [InputMask((2,), (4,), (50,))])
    assert calls == 3 + 4 * (3 + 2 + 1)


@pytest.mark.slow
def test_words_and_tokens_give_the_same_losses_and_attention_stays(
    tiny_masked_lm: Models, few: Path, tmp_path: Path
) -> None:
    path, folder = tmp_path / "x.duckdb", tiny_masked_lm("bert")
    ingest(options(path, few, folder, ablate="layers"))
    ingest(options(path, few, folder, ablate="layers", unit="token"))
    assert rows(path, 1) == rows(path, 2)
    other = tmp_path / "plain.duckdb"
    ingest(options(other, few, folder, ablate=None))
    attention = []
    for bank in (path, other):
        attention.append(
            query_bank(
                bank,
                "select attention.* from attention"
                " inner join sequence on sequence.id = sequence where run = 1 order by all",
            )
        )
    assert attention[0] == attention[1]
    assert rows(other) == []


@pytest.mark.slow
def test_every_option_of_an_ablation_makes_a_run_of_its_own(
    tiny_masked_lm: Models, few: Path, tmp_path: Path
) -> None:
    path, folder = tmp_path / "x.duckdb", tiny_masked_lm("bert")
    request: list[dict[str, Any]] = [
        {},
        {"replacement": "zero"},
        {"ablate": "layers"},
        {"ablate": "layers", "mask_seed": 4},
    ]
    for one in request:
        assert ingest(options(path, few, folder, **one)).state == "new"
    for one in request:
        assert ingest(options(path, few, folder, **one)).state == "unchanged"
    result = query_bank(
        path,
        "select name, ablate, replacement, mask_seed from run order by id",
    )
    model = folder.name
    assert result == [
        (f"instructions/{model}/ablate-heads", "heads", "uniform", 0),
        (f"instructions/{model}/ablate-heads/zero", "heads", "zero", 0),
        (f"instructions/{model}/ablate-layers", "layers", "uniform", 0),
        (f"instructions/{model}/ablate-layers/mask4", "layers", "uniform", 4),
    ]
    assert [len(rows(path, run)) for run in (1, 2, 3, 4)] == [13, 13, 4, 4]
    whole = [rows(path, run)[0][4] for run in (1, 2, 3, 4)]
    assert whole[0] == whole[1] == whole[2] != whole[3]
    assert ingest(options(path, few, folder, replace=True)).state == "new"
    assert [len(rows(path, run)) for run in (1, 2, 3, 4, 5)] == [0, 13, 4, 4, 13]


def test_heads_that_cannot_be_replaced_are_refused_before_anything_is_written(
    tiny_masked_lm: Models, few: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"ReformerForMaskedLM .* cannot be reached"):
        ingest(options(tmp_path / "x.duckdb", few, tiny_masked_lm("reformer")))
    assert not (tmp_path / "x.duckdb").exists()


def test_minilm_has_no_head_to_lose(few: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a complete masked language model"):
        ingest(options(tmp_path / "x.duckdb", few, "minilm"))
