"""Folders that are no model as attnbank reads them, and what is said of them."""

from __future__ import annotations

import functools
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from fixture_types import Models
from safetensors.torch import load_file
from transformers.models.bart.modeling_bart import BartEncoder

from attnbank.ingest.models import files, loading
from attnbank.ingest.models.loading import describe, load
from attnbank.ingest.models.runtime import ModelError
from attnbank.sql.errors import AttnbankWarning, CallError


def test_a_gguf_file(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    for given in (file, tmp_path):
        with pytest.raises(CallError, match="is a GGUF model") as error:
            load(str(given))
        assert "made from" in error.value.remedy
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"")
    with pytest.raises(CallError, match="is a file, but a model is a folder"):
        load(str(other))


@pytest.mark.parametrize("is_beside", [True, False])
def test_an_adapter(tmp_path: Path, tiny_model: Models, *, is_beside: bool) -> None:
    """It was left unread beside the weights, so that the maps were not of the model as it is."""
    if is_beside:
        shutil.copytree(tiny_model("bert"), tmp_path, dirs_exist_ok=True)
    state = {"peft_type": "LORA", "base_model_name_or_path": "bert"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(state))
    told = "beside its weights, which would not be applied" if is_beside else "not a whole model"
    for read in (load, describe):
        with pytest.raises(ModelError, match=told) as error:
            read(str(tmp_path))
        assert "merge_and_unload" in error.value.remedy


@pytest.mark.parametrize(
    "settings",
    [
        {"quant_method": "gptq", "bits": 4, "group_size": 128},
        {"quant_method": "awq", "bits": 4, "group_size": 128},
        {"quant_method": "bitsandbytes", "load_in_8bit": True},
        {"quant_method": "fp8", "activation_scheme": "dynamic"},
    ],
    ids=lambda each: each["quant_method"],
)
def test_quantised_weights(tmp_path: Path, tiny_model: Models, settings: dict[str, Any]) -> None:
    shutil.copytree(tiny_model("llama"), tmp_path, dirs_exist_ok=True)
    state = json.loads((tmp_path / "config.json").read_text()) | {"quantization_config": settings}
    (tmp_path / "config.json").write_text(json.dumps(state))
    with pytest.raises(ModelError, match=f"are quantised .{settings['quant_method']}") as error:
        load(str(tmp_path))
    assert "full or half precision" in error.value.remedy


def test_the_encoder_of_bart_alone(tmp_path: Path, tiny_model: Models) -> None:
    shutil.copytree(tiny_model("bert"), tmp_path, dirs_exist_ok=True)
    config = transformers.BartConfig(
        vocab_size=400, d_model=32, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_position_embeddings=96,
    )  # fmt: skip
    whole = transformers.BartModel(config)
    whole.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="encoder-decoder") as error:
        load(str(tmp_path))
    assert "BartModel.from_pretrained(NAME).get_encoder().save_pretrained" in error.value.remedy
    whole.get_encoder().save_pretrained(tmp_path)
    model = load(str(tmp_path))
    assert (model.facts.architecture, model.facts.layers, model.facts.heads) == (
        "BartEncoder", 2, 4,
    )  # fmt: skip
    assert describe(str(tmp_path)).layers == 2
    assert load(str(tmp_path), random_seed=1).facts.sha256 != model.facts.sha256
    ids = torch.tensor([[5, 6, 7]])
    module = BartEncoder.from_pretrained(tmp_path, attn_implementation="eager").eval()
    with torch.inference_mode():
        expected = module(input_ids=ids, output_attentions=True).attentions
    found = model.attentions(ids, torch.ones_like(ids), torch.zeros_like(ids))
    assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))


def test_big_bird_has_full_attention(tiny_model: Models) -> None:
    """Its sparse attention is not returned; up to 56 tokens this one has none by itself."""
    with pytest.warns(AttnbankWarning, match=r"attention_type original_full.* up to 56 tokens"):
        model = load(str(tiny_model("big_bird")))
    assert model.module.config.attention_type == "original_full"
    ids = torch.randint(5, 300, (1, 96))
    maps = model.attentions(ids, torch.ones_like(ids), torch.zeros_like(ids))
    assert float(maps[0].min()) > 0  # from everywhere to everywhere


class _Opened:
    """What a pickle can hold: a call, which unpickling makes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_pickled_weights_are_numbers_only(tmp_path: Path, tiny_model: Models) -> None:
    """pytorch_model.bin is a pickle: one of numbers is read, one of anything else is refused."""
    shutil.copytree(tiny_model("bert"), tmp_path, dirs_exist_ok=True)
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    assert load(str(tmp_path)).facts.sha256 == load(str(tiny_model("bert"))).facts.sha256
    trace = tmp_path / "trace"
    torch.save(weights | {"more": _Opened(trace)}, tmp_path / "pytorch_model.bin")
    for data in ((tmp_path / "pytorch_model.bin").read_bytes(), pickle.dumps(_Opened(trace))):
        (tmp_path / "pytorch_model.bin").write_bytes(data)
        with pytest.raises(ModelError, match="Cannot load"):
            load(str(tmp_path))
    assert not trace.exists()
    pickle.loads((tmp_path / "pytorch_model.bin").read_bytes()).close()
    assert trace.exists()  # so it would have run


def _cannot_allocate(module: Any, **given: Any) -> None:
    torch.empty(2**60, dtype=torch.uint8)


@pytest.mark.parametrize("passes", [0, 1], ids=["three tokens", "two inputs"])
def test_too_little_memory_to_try_a_model(
    tiny_model: Models, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    """It was said that the model did not take text."""
    forward, seen = transformers.BertModel.forward, []

    @functools.wraps(forward)
    def fails_after(module: Any, **given: Any) -> Any:
        seen.append(given)
        return (forward if len(seen) <= passes else _cannot_allocate)(module, **given)

    monkeypatch.setattr(transformers.BertModel, "forward", fails_after)
    with pytest.raises(ModelError, match="The device cpu has too little free memory") as error:
        load(str(tiny_model("bert")), device="cpu")
    assert "use a smaller model" in error.value.remedy and "--device" not in error.value.remedy


@pytest.mark.parametrize("where", ["to", "forward"])
def test_too_little_memory_on_a_gpu(
    tiny_model: Models, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Moving the weights ended in "Give a hub name"."""
    real = getattr(transformers.BertModel, where)

    @functools.wraps(real)
    def fails(module: Any, *given: Any, **others: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    if where == "forward":  # so that it is reached without a GPU
        monkeypatch.setattr(transformers.BertModel, "to", lambda module, device: module)
    monkeypatch.setattr(transformers.BertModel, where, fails)
    monkeypatch.setattr(loading, "device_of", lambda name: torch.device("cuda:0"))
    with pytest.raises(ModelError, match="The device cuda:0 has too little free memory") as error:
        load(str(tiny_model("bert")))
    assert "add --device cpu" in error.value.remedy


def test_a_model_of_too_many_tensors_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_TENSORS", 3)
    with (
        pytest.raises(ModelError, match="the model deep takes more than 3 tensors"),
        files.on_meta_device("deep"),
    ):
        torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
