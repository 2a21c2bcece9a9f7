"""The bounds of the tests hold, and are no wider than they have to be."""

from __future__ import annotations

import bounds
import numpy as np
import oracle_reference as slow
import pytest
import torch
import transformers
from fixture_types import Models

WORDS = ["The", "dogs", "barked", "at", "the", "old", "station", "."]


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_rounding_moves_attention_by_less_than_the_bound(tiny_model: Models, kind: str) -> None:
    """A text alone, in a padded batch, and in float64."""
    module = transformers.AutoModel.from_pretrained(tiny_model(kind), attn_implementation="eager")
    module.eval()
    rng = torch.Generator().manual_seed(0)
    texts = [torch.randint(5, 60, (1, length), generator=rng) for length in (5, 30, 60)]
    within = bounds.attention(module, [{"input_ids": text} for text in texts])
    padded = torch.cat([torch.nn.functional.pad(text, (0, 60 - text.shape[1])) for text in texts])
    mask = torch.stack([torch.arange(60) < text.shape[1] for text in texts]).long()
    with torch.no_grad():
        batch = module(input_ids=padded, attention_mask=mask, output_attentions=True).attentions
        alone = [module(input_ids=text, output_attentions=True).attentions for text in texts]
        module.double()
        exact = [module(input_ids=text, output_attentions=True).attentions for text in texts]
    apart, off = 0.0, 0.0
    for at, text in enumerate(texts):
        n = text.shape[1]
        for layer in range(3):
            one, other = alone[at][layer][0], batch[layer][at, :, :n, :n]
            apart = max(apart, float((one - other).abs().max()))
            off = max(off, float((one - exact[at][layer][0]).abs().max()))
    assert apart <= within
    assert 0 < 2 * off <= within < 100 * off


def test_a_result_that_does_not_look_at_the_model_has_no_bound() -> None:
    with pytest.raises(AssertionError):
        bounds.passes(torch.nn.Linear(3, 3), lambda _: np.ones(3))


def test_only_equal_weights_may_change_places() -> None:
    row = np.array([0.3, 0.3 * (1 - 0.5e-5), 0.3 * (1 - 2e-5), 0], np.float32)
    assert [slow.near_tie(row, 0, other) for other in (1, 2, 3, -1)] == [True, False, False, False]


def test_a_bank_settles_near_ties_and_nothing_else(tiny_model: Models) -> None:
    """What a bank took is no excuse for another count."""
    folder = tiny_model("bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    n = len(WORDS)
    tree = slow.Tree(WORDS, [True] * n, [3, 3, 0, 7, 7, 7, 3, 3], ["dep"] * n)
    expected = slow.count([[tree]], tokenizer, module, subword="mean")
    for word in range(n):
        other = np.full((2, 3, 4, n), word)
        assert slow.count([[tree]], tokenizer, module, subword="mean", peaks=[other]) == expected
    with torch.no_grad():  # heads that look at every word alike: all are near ties
        for layer in module.encoder.layer:
            layer.attention.self.query.weight.zero_()
            layer.attention.self.query.bias.zero_()
    with pytest.raises(AssertionError):
        slow.count([[tree]], tokenizer, module, subword="mean", peaks=[other])


def test_bounds_of_sums() -> None:
    """Any order of float64 terms, and a softmax in float32."""
    rng = np.random.default_rng(0)
    terms = rng.random(10_000)
    exact = float(np.sum(terms.astype(np.longdouble)))
    for order in (terms, np.sort(terms), np.sort(terms)[::-1]):
        assert abs(sum(order.tolist()) / exact - 1) <= bounds.sums(10_000)
    rows = torch.from_numpy(rng.normal(size=(200, 128)).astype(np.float32) * 5).softmax(-1)
    assert float((rows.double().sum(-1) - 1).abs().max()) <= bounds.row_sum(128)
