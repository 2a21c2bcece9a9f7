"""Heads of a tiny model of every type of transformers: they can be replaced, or it is refused."""

from __future__ import annotations

from typing import Any

import pytest
import tiny_types
import torch
from torch import Tensor

from attnbank.ingest.models.attend import Call, find_attention, replace_heads
from attnbank.ingest.models.attention_behaviour import find_shape
from attnbank.ingest.models.runtime import ModelError

pytestmark = pytest.mark.usefixtures("one_thread")

REFUSED = {
    "cpmant": "in another way",  # masks after its softmax
    "diffllama": "8 times for 4 maps",
    "prophetnet": "in another way",  # multiplies by einsum
    "squeezebert": "the attention that it returns",  # it returns scores
    "xlnet": "in another way",  # multiplies by einsum
}
HEADS = [1]


@pytest.mark.usual(
    "albert", "modernbert", "opt", "olmo2", "phi3", "granite", "bloom", "falcon", "diffllama",
    "qwen3_next",
)  # fmt: skip
@pytest.mark.parametrize("kind", tiny_types.TYPES)
def test_heads_are_replaced_or_the_model_is_refused(kind: str) -> None:
    """As by a hook on the output projection, where there is one, and with layers used again."""
    try:
        model = tiny_types.build(kind)
        shape = find_shape(kind, model.base_model, model.config)
    except (tiny_types.CannotBuild, ModelError) as error:
        pytest.skip(f"{kind} cannot be built, or not ingested: {error}"[:200])
    ids = torch.tensor([[5 + 7 * at for at in range(8)]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.inference_mode():
        maps = model.base_model(**inputs, output_attentions=True).attentions
    maps = [maps[at] for at in shape.map_indices]
    if kind in REFUSED:
        with pytest.raises(ModelError, match=REFUSED[kind]) as caught:
            find_attention(model, inputs, maps)
        assert "\n" not in caught.value.fact
        return
    attention = find_attention(model, inputs, maps)
    assert attention.can_replay
    last = len(attention.sites) - 1
    site = attention.sites[last]

    def logits() -> Tensor:
        with torch.inference_mode():
            result: Tensor = model(**inputs)[0]
        return result

    def silence(call: Call) -> None:
        if call.number == last:
            replace_heads(call, HEADS, "zero")

    outputs: list[Any] = []
    whole = logits()
    with attention.watch(outputs=outputs):
        assert torch.equal(logits(), whole)
    with attention.watch(after=silence):
        silent = logits()
    with attention.watch(after=silence, outputs=outputs, below=last):
        assert torch.equal(logits(), silent)
    # Something comes between: a gate, a norm, or what a convolution of the values adds.
    if site.projection is None or kind == "nystromformer":
        return
    calls = 0

    def hook(_: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        nonlocal calls
        calls += 1
        sharing = [other for other in attention.sites if other.projection is site.projection]
        if calls < len(sharing):
            return arguments
        by_head = torch.unflatten(arguments[0].clone(), -1, (site.heads, -1))
        by_head[..., HEADS, :] = 0
        return by_head.flatten(-2), *arguments[1:]

    with site.projection.register_forward_pre_hook(hook):
        assert torch.equal(logits(), silent)
    assert not torch.equal(whole, silent)
