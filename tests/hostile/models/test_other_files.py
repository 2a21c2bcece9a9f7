"""Which files a model is read from: those in its folder, and none that takes more than it has."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import hostile
import pytest
import torch
from hostile import Refused
from safetensors.torch import load_file

from attnbank.ingest.models.loading import load


def _index(folder: Path, shard: str) -> None:
    """Say that all weights are in one other file."""
    keys = load_file(folder / "model.safetensors")
    text = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(keys, shard)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(text))


def _pickled(folder: Path) -> Path:
    """Save the weights of a folder as a pickle instead."""
    file = folder / "pytorch_model.bin"
    torch.save(load_file(folder / "model.safetensors"), file)
    (folder / "model.safetensors").unlink()
    return file


def _digest(folder: Path) -> str:
    return load(str(folder)).facts.sha256


def test_weights_beside_the_index_are_read(folder: Path) -> None:
    whole = _digest(folder)
    _index(folder, "part-1.safetensors")
    (folder / "model.safetensors").rename(folder / "part-1.safetensors")
    assert _digest(folder) == whole
    (folder / "model.safetensors.index.json").unlink()
    (folder / "part-1.safetensors").rename(folder / "model.safetensors")
    _pickled(folder)
    assert _digest(folder) == whole


def test_links_are_followed_as_in_the_cache_of_the_hub(folder: Path) -> None:
    whole = _digest(folder)
    blobs = folder.parent / "blobs"
    blobs.mkdir()
    for number, file in enumerate(sorted(folder.iterdir())):
        file.rename(blobs / str(number))
        file.symlink_to(Path("..") / "blobs" / str(number))
    assert _digest(folder) == whole


@pytest.mark.parametrize("shard", ["../elsewhere.safetensors", "{}/elsewhere.safetensors", ".."])
def test_weights_elsewhere_are_refused(
    shard: str, corpus: Path, folder: Path, refused: Refused
) -> None:
    named = shard.format(folder.parent)
    _index(folder, named)
    (folder / "model.safetensors").rename(folder.parent / "elsewhere.safetensors")
    with hostile.nothing_made(corpus.parent):
        error = refused("ingest", corpus, "--model", folder, "-q", status=1)
    assert "names a file outside its folder" in str(error)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"transformers_weights": "../elsewhere.safetensors"}),
        ("tokenizer_config.json", {"fast_tokenizer_files": ["../tokenizer.1.0.json"]}),
    ],
)
def test_other_files_elsewhere_are_refused(
    file: str, values: dict[str, object], corpus: Path, folder: Path,
    refused: Refused,
) -> None:  # fmt: skip
    hostile.change_json(folder / file, **values)
    error = refused("ingest", corpus, "--model", folder, "-q", status=1)
    assert f"The {file} of" in str(error) and "outside its folder" in str(error)


@pytest.mark.slow
def test_weights_that_unpack_to_far_more_are_refused_before_they_do(
    corpus: Path, folder: Path
) -> None:
    file = _pickled(folder)
    small = file.with_name("small.bin")
    with zipfile.ZipFile(file) as own, zipfile.ZipFile(small, "w", zipfile.ZIP_DEFLATED) as new:
        for name in own.namelist():
            new.writestr(name, own.read(name))
        with new.open(
            f"{own.namelist()[0].split('/')[0]}/data/999", "w", force_zip64=True
        ) as zeros:
            for _ in range(1500):
                zeros.write(bytes(2**20))
    small.replace(file)
    ended = hostile.measured(["ingest", "rain.conllu", "-m", "model"], corpus.parent)
    error = ended.err.strip().splitlines()
    hostile.check_lines(error)
    assert "pytorch_model.bin of model has" in error[-2] and "but unpacks to 1,5" in error[-2]
    assert ended.memory < hostile.MOST_MEMORY
