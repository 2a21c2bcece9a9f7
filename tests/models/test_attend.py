"""Calls of attention: seen, their heads replaced, their edges cut, in families of every kind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import bounds
import numpy as np
import oracle_attend
import pytest
import torch
import transformers
from fixture_types import Models
from torch import Tensor
from transformers import AttentionInterface

from attnbank.ingest.models.attend import (
    Call,
    Watcher,
    cut_edges,
    drop_edges,
    find_attention,
    replace_heads,
)
from attnbank.ingest.models.loading import Model, load
from attnbank.ingest.models.runtime import ModelError

pytestmark = pytest.mark.usefixtures("one_thread")

KINDS = [
    "bert", "roberta", "gpt2", "llama", "gemma2", "mistral-own", "t5", "gpt-oss", "albert",
    "gemma3", "qwen2", "gpt-neox", "distilbert", "electra",
]  # fmt: skip
"""Keys and values of fewer heads: llama, gemma2, gpt-oss; a window of 8: gemma2, mistral-own;
sinks: gpt-oss; biases by distance: t5; a layer that is called three times: albert."""
OWN_CODE = ["mpnet", "deberta", "deberta-v1", "big_bird"]
LENGTHS = 12, 9
HEADS = [0, 3]
SIZE = {
    "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def inputs_of(model: Model, *, padded: bool = True) -> dict[str, Tensor]:
    """Two inputs, the second of them padded."""
    torch.manual_seed(5)
    mask = torch.ones(2, LENGTHS[0], dtype=torch.int64)
    if padded:
        mask[1, LENGTHS[1] :] = 0
    return {"input_ids": torch.randint(10, 380, mask.shape) * mask, "attention_mask": mask}


def hidden(model: Model, inputs: dict[str, Tensor]) -> Tensor:
    """The last hidden states of the real tokens, [tokens, hidden]."""
    with torch.inference_mode():
        states: Tensor = model.module(**inputs).last_hidden_state
    return states[inputs["attention_mask"].bool()]


def rounding(model: Model, inputs: dict[str, Tensor]) -> float:
    """How far rounding may move a hidden state."""

    def states(module: Any) -> np.ndarray:
        if model.module.config.model_type == "gpt_oss":
            module.set_experts_implementation("eager")  # the other one has no float64
        with torch.no_grad():
            result: Tensor = module(**inputs).last_hidden_state
        return result[inputs["attention_mask"].bool()].numpy()

    return bounds.passes(model.module, states)


def edges_of(cut: set[oracle_attend.Edge], call: int) -> Tensor:
    edges = torch.zeros(2, 4, LENGTHS[0], LENGTHS[0], dtype=torch.bool)
    for at, *where in cut:
        if at == call:
            edges[tuple(where)] = True
    return edges


@pytest.mark.usual("bert-True", "gemma2-True")
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_cut_edges_are_left_out_of_the_softmax(tiny_model: Models, kind: str, padded: bool) -> None:
    """Of the first input alone, from token 6 on; one token of one head loses all its edges."""
    model = load(str(tiny_model(kind)))
    attention, inputs = model.attention, inputs_of(model, padded=padded)
    cut = {(1, 0, head, 6, 4) for head in range(4)} | {(1, 0, 2, 8, other) for other in (5, 7, 8)}
    cut |= {(2, 0, 1, 7, other) for other in range(LENGTHS[0])} | {(2, 0, 3, 9, 9)}
    whole = hidden(model, inputs)

    def cut_those(call: Call) -> None:
        if call.number in (1, 2):
            cut_edges(call, edges_of(cut, call.number))

    def check_weights(call: Call) -> None:
        if call.number in (1, 2):
            assert call.weights is not None and call.output is not None
            edges = edges_of(cut, call.number)
            assert not call.weights[edges].any()
            lost = edges.all(-1)
            assert not call.output.transpose(1, 2)[lost].any()
            kept = call.weights[~lost].sum(-1)
            assert kept.max() < 1.00001 and (kind == "gpt-oss" or kept.min() > 0.99999)

    with attention.watch(cut_those, check_weights):
        result = hidden(model, inputs)
    with oracle_attend.attention(model.module, cut=cut):
        expected = hidden(model, inputs)
    within = rounding(model, inputs)
    assert float((result - expected).abs().max()) <= within
    assert float((result - whole).abs().max()) > 100 * within
    # The same arithmetic, to the last bit: the other input, and, in a causal model, earlier tokens.
    assert torch.equal(result[LENGTHS[0] :], whole[LENGTHS[0] :])
    if model.facts.causal:
        assert torch.equal(result[:6], whole[:6])


@pytest.mark.usual("mpnet")
@pytest.mark.parametrize("kind", OWN_CODE)
def test_cut_edges_with_attention_code_of_its_own(tiny_model: Models, kind: str) -> None:
    """The weights are those of the whole model, divided by their sum without the edges."""
    model = load(str(tiny_model(kind)))
    attention, inputs = model.attention, inputs_of(model)
    assert attention.is_own_code and len(attention.sites) == 3
    cut = {(1, 0, 2, 6, other) for other in (3, 5, 6)} | {(1, 0, 1, 7, at) for at in range(12)}
    edges = edges_of(cut, 1)

    def maps(before: Watcher | None = None) -> list[Tensor]:
        seen: list[Tensor] = []

        def keep(call: Call) -> None:
            assert call.weights is not None
            seen.append(call.weights)

        with attention.watch(before, keep):
            hidden(model, inputs)
        return seen

    def cut_those(call: Call) -> None:
        if call.number == 1:
            cut_edges(call, edges)

    whole, result = maps(), maps(cut_those)
    kept = whole[1].double().masked_fill(edges, 0)
    expected = kept / kept.sum(-1, keepdim=True).clamp(min=1e-300)
    assert float((result[1] - expected).abs().max()) < 1e-6
    assert not result[1][0, 1, 7].any() and result[1][0, 2, 6, 4] > whole[1][0, 2, 6, 4]
    assert torch.equal(result[0], whole[0]) and torch.equal(result[1][1], whole[1][1])
    assert not torch.equal(result[2][0], whole[2][0]) and torch.equal(result[2][1], whole[2][1])


@pytest.mark.usual("bert-zero", "llama-given", "deberta-given")
@pytest.mark.parametrize("by", ["zero", "given"])
@pytest.mark.parametrize("kind", [*KINDS, *OWN_CODE])
def test_a_replaced_head_is_that_of_a_hook_on_the_output_projection(
    tiny_model: Models, kind: str, by: Any
) -> None:
    """To the bit: the input of the projection is all heads side by side."""
    model = load(str(tiny_model(kind)))
    attention, inputs = model.attention, inputs_of(model)
    projection = attention.sites[1].projection
    size = attention.sites[1].output_weights().shape[1]
    given = torch.linspace(-1, 1, len(HEADS) * size).reshape(len(HEADS), size)
    calls = 0

    def hook(_: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        nonlocal calls
        calls += 1
        if kind == "albert" and calls != 2:  # one layer, called three times
            return arguments
        by_head = arguments[0].clone()
        for head, own in zip(HEADS, given, strict=True):
            by_head[..., head * size : (head + 1) * size] = 0 if by == "zero" else own
        return by_head, *arguments[1:]

    with projection.register_forward_pre_hook(hook):
        expected = hidden(model, inputs)

    def put(call: Call) -> None:
        if call.number == 1:
            replace_heads(call, HEADS, "zero" if by == "zero" else given)

    with attention.watch(after=put):
        result = hidden(model, inputs)
    assert torch.equal(result, expected)
    assert not torch.allclose(result, hidden(model, inputs), atol=1e-3)


@pytest.mark.usual("mistral-own")
@pytest.mark.parametrize("kind", KINDS)
def test_uniform_attention_is_even_over_what_a_token_may_attend_to(
    tiny_model: Models, kind: str
) -> None:
    """Within a window, too, and without padding."""
    model = load(str(tiny_model(kind)))
    attention, inputs = model.attention, inputs_of(model)

    def even_out(call: Call) -> None:
        if call.number == 1:
            replace_heads(call, HEADS, "uniform")

    with attention.watch(after=even_out):
        result = hidden(model, inputs)
    with oracle_attend.attention(model.module, even={1: HEADS}):
        expected = hidden(model, inputs)
    within = rounding(model, inputs)
    assert float((result - expected).abs().max()) <= within
    assert float((result - hidden(model, inputs)).abs().max()) > 100 * within


@pytest.mark.usual("bert", "deepseek_v32")
@pytest.mark.parametrize("kind", [*KINDS, *OWN_CODE, "deepseek_v32"])
def test_a_pass_has_the_same_bits_whether_it_is_watched_or_not(
    tiny_model: Models, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of transformers without the function that is registered here."""
    if kind == "deepseek_v32":
        module = sparse_model()
        inputs = {"input_ids": torch.arange(24)[None] * 3 + 5}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        with torch.inference_mode():
            maps = module(**inputs, output_attentions=True).attentions
        attention = find_attention(module, inputs, maps)
    else:
        model = load(str(tiny_model(kind)))
        module, attention, inputs = model.module, model.attention, inputs_of(model)
    seen: list[int] = []

    def run() -> Tensor:
        with torch.inference_mode():
            states: Tensor = module(**inputs).last_hidden_state
        return states

    unwatched = run()
    with attention.watch(after=lambda call: seen.append(call.number)):
        watched = run()
    assert seen == list(range(len(attention.sites))) and len(seen) >= 2
    monkeypatch.delitem(transformers.AttentionInterface._global_mapping, "eager")
    plain = run()
    assert torch.equal(plain, unwatched) and torch.equal(plain, watched)


def test_another_name_than_eager_would_change_a_model_with_a_sparse_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Why the function has that name: DeepSeek 3.2 leaves out its index under any other."""
    module = sparse_model()
    ids = torch.arange(24)[None] * 3 + 5
    names = transformers.AttentionInterface._global_mapping
    monkeypatch.setitem(names, "other", names["eager"])
    masks = transformers.AttentionMaskInterface._global_mapping
    monkeypatch.setitem(masks, "other", masks["eager"])
    with torch.inference_mode():
        eager = module(ids).last_hidden_state
        monkeypatch.setattr(module.config, "_attn_implementation_internal", "other")
        other = module(ids).last_hidden_state
    assert float((eager - other).abs().max()) > 0.1


def sparse_model() -> Any:
    """A tiny DeepSeek 3.2, whose tokens attend to the four that its index finds."""
    config = transformers.DeepseekV32Config(
        vocab_size=100, hidden_size=32, intermediate_size=32, moe_intermediate_size=16,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, n_routed_experts=4,
        num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, kv_lora_rank=16,
        q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, index_topk=4,
        index_n_heads=2, index_head_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(3)
    return transformers.AutoModel.from_config(config, attn_implementation="eager").eval()


def test_a_pass_of_another_thread_is_not_watched(tiny_model: Models) -> None:
    model = load(str(tiny_model("bert")))
    attention, inputs = model.attention, inputs_of(model)
    whole, others = hidden(model, inputs), []

    def silence(call: Call) -> None:
        if call.number == 0:  # while this pass runs, another one does
            thread = threading.Thread(target=lambda: others.append(hidden(model, inputs)))
            thread.start()
            thread.join()
        replace_heads(call, range(4), "zero")

    with attention.watch(after=silence):
        silent = hidden(model, inputs)
    assert torch.equal(others[0], whole) and not torch.allclose(silent, whole, atol=1e-3)
    assert torch.equal(hidden(model, inputs), whole)


def test_the_sites_of_an_encoder_and_a_decoder() -> None:
    config = transformers.BartConfig(
        vocab_size=50, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
        max_position_embeddings=20,
    )  # fmt: skip
    torch.manual_seed(0)
    module = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    inputs = {"input_ids": torch.tensor([[5, 6, 7]]), "decoder_input_ids": torch.tensor([[8, 9]])}
    with torch.inference_mode():
        output = module(**inputs, output_attentions=True)
    decoder = zip(output.decoder_attentions, output.cross_attentions, strict=True)
    maps = [*output.encoder_attentions, *(each for pair in decoder for each in pair)]
    sites = find_attention(module, inputs, maps).sites
    assert [(site.name, site.is_cross) for site in sites] == [
        ("encoder.layers.0.self_attn", False),
        ("encoder.layers.1.self_attn", False),
        ("decoder.layers.0.self_attn", False),
        ("decoder.layers.0.encoder_attn", True),
        ("decoder.layers.1.self_attn", False),
        ("decoder.layers.1.encoder_attn", True),
    ]
    assert {site.layer for site in sites} == {
        f"{part}.layers.{number}" for part in ("encoder", "decoder") for number in (0, 1)
    }
    assert all(site.projection is module.get_submodule(f"{site.name}.out_proj") for site in sites)
    assert sites[0].output_weights().shape == (2, 8, 16)


@pytest.mark.parametrize(
    ("kind", "layers", "is_linear"),
    [
        ("t5", [f"encoder.block.{number}" for number in range(3)], True),  # not their parts
        ("albert", ["encoder.albert_layer_groups.0"] * 3, True),
        ("lfm2", ["layers.1", "layers.2"], True),
        ("qwen3-next", ["layers.1", "layers.2"], False),  # a gate comes before the projection
        ("mpnet", [f"encoder.layer.{number}" for number in range(3)], True),
    ],
)
def test_the_layers_of_sites_and_whether_their_heads_add_up(
    tiny_model: Models, kind: str, layers: list[str], is_linear: bool
) -> None:
    sites = load(str(tiny_model(kind))).attention.sites
    assert [site.layer for site in sites] == layers
    assert {site.is_linear for site in sites} == {is_linear}


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: transformers.DiffLlamaConfig(**SIZE), "computes attention 6 times for 3 maps"),
        (lambda: transformers.XLNetConfig(**SIZE | {"d_head": 8}), "in another way than as"),
    ],
)
def test_calls_that_are_not_the_maps_are_refused(make: Callable[[], Any], why: str) -> None:
    torch.manual_seed(0)
    module = transformers.AutoModel.from_config(make(), attn_implementation="eager").eval()
    inputs = {"input_ids": torch.tensor([[5, 6, 7, 8]])}
    with torch.inference_mode():
        maps = module(**inputs, output_attentions=True).attentions
    with pytest.raises(ModelError, match=why) as error:
        find_attention(module, inputs, maps)
    assert "\n" not in error.value.fact


@pytest.mark.usual("bert")
@pytest.mark.parametrize("kind", [*KINDS, *OWN_CODE, "qwen3-next", "granite-hybrid", "lfm2"])
def test_layers_are_not_run_again_below_the_first_one_that_changes(
    tiny_model: Models, kind: str
) -> None:
    model = load(str(tiny_model(kind)))
    attention, inputs = model.attention, inputs_of(model, padded=False)
    assert attention.can_replay
    last = len(attention.sites) - 1
    seen: list[int] = []

    def silence(call: Call) -> None:
        seen.append(call.number)
        if call.number == last:
            replace_heads(call, HEADS, "zero")

    outputs: list[Any] = []
    with attention.watch(outputs=outputs):
        whole = hidden(model, inputs)
    with attention.watch(after=silence):
        expected = hidden(model, inputs)
    for _ in range(2):
        with attention.watch(after=silence, outputs=outputs, below=last):
            assert torch.equal(hidden(model, inputs), expected)
    assert seen == [*range(last + 1), last, last]
    assert not torch.equal(whole, expected)


def test_layers_that_change_the_output_of_others_are_run_again(tiny_model: Models) -> None:
    model = load(str(tiny_model("bert")))

    def change(_: Any, arguments: tuple[Tensor, ...]) -> None:
        arguments[0].mul_(1.5)

    hook = model.module.encoder.layer[2].register_forward_pre_hook(change)
    attention, inputs = model.attention, inputs_of(model)
    assert not attention.can_replay
    outputs: list[Any] = []
    with attention.watch(outputs=outputs):
        whole = hidden(model, inputs)
    with attention.watch(outputs=outputs, below=2):
        assert torch.equal(hidden(model, inputs), whole)
    hook.remove()


def _plain(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **_: Any
) -> tuple[Tensor, Tensor]:
    """Attention as code outside of transformers may have it, under a name of its own."""
    weights = (query @ key.transpose(2, 3)).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


class _OfOthers(torch.nn.Module):
    def forward(self, states: Tensor) -> Any:
        attend = AttentionInterface().get_interface("eager", _plain)
        return attend(self, states, states, states, None)


class _WithoutAny(torch.nn.Module):
    def forward(self, states: Tensor) -> Any:
        return AttentionInterface().get_interface("eager", None)(self, *[states] * 3, None)


def test_models_outside_of_transformers_run_their_own_function() -> None:
    states = torch.randn(1, 2, 3, 4)
    output, _ = _OfOthers()(states)
    assert torch.equal(output, _plain(None, states, states, states, None)[0])
    with pytest.raises(ModelError, match="has none of its own"):
        _WithoutAny()(states)


@pytest.mark.usual("llama", "mpnet")
@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama", "mpnet", "deberta"])
def test_dropped_edges_leave_the_other_weights_as_they_are(tiny_model: Models, kind: str) -> None:
    """The output of each head is its weights, without those of the edges, times its values."""
    model = load(str(tiny_model(kind)))
    inputs = inputs_of(model)
    edges = torch.zeros(2, 1, LENGTHS[0], LENGTHS[0], dtype=torch.bool)
    edges[0, 0, 6, 4] = edges[0, 0, 8, 2] = True
    whole: list[Tensor] = []

    def note(call: Call) -> None:
        if call.number == 0:
            assert call.weights is not None
            whole.append(call.weights.clone())

    def drop(call: Call) -> None:
        if call.number == 0:
            drop_edges(call, edges)

    def check(call: Call) -> None:
        drop(call)
        if call.number == 0:
            assert call.weights is not None and call.output is not None
            kept_weights = whole[0].masked_fill(edges, 0)
            assert torch.equal(call.weights, kept_weights)
            expected = kept_weights.double() @ call.values_of(range(call.heads)).double()
            assert (call.output.double() - expected.transpose(1, 2)).abs().max() < 1e-6

    with model.attention.watch(after=note):
        before = hidden(model, inputs)
    with model.attention.watch(drop, check):
        after = hidden(model, inputs)
    assert not torch.equal(before[: LENGTHS[0]], after[: LENGTHS[0]])
    assert torch.equal(before[LENGTHS[0] :], after[LENGTHS[0] :])
