"""No code that a model folder brings is run, and no pickle in it is opened."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import hostile
import pytest
import torch
from fixture_types import Models
from hostile import Refused
from safetensors.torch import load_file

from attnbank.ingest.models.loading import describe, load

pytestmark = pytest.mark.usefixtures("one_thread")


_EVIL = """
from pathlib import Path
Path({marker!r}).write_text("ran")
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
class EvilConfig(BertConfig):
    model_type = "evil"
class Evil(BertModel):
    config_class = EvilConfig
class EvilTokenizer(PreTrainedTokenizerFast):
    pass
"""


def _evil(folder: Path, *, known: bool = False) -> Path:
    """Let a model bring Python code, which writes a file; the file."""
    marker = folder.parent / "marker"
    (folder / "modeling_evil.py").write_text(_EVIL.format(marker=str(marker)))
    names = {
        "AutoConfig": "modeling_evil.EvilConfig",
        "AutoModel": "modeling_evil.Evil",
        "AutoModelForMaskedLM": "modeling_evil.Evil",
        "AutoTokenizer": ["modeling_evil.EvilTokenizer", "modeling_evil.EvilTokenizer"],
    }
    hostile.change_json(
        folder / "config.json", auto_map=names, **({} if known else {"model_type": "evil"})
    )
    hostile.change_json(folder / "tokenizer_config.json", auto_map=names)
    return marker


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--random-weights", "1"]], ids=str)
def test_code_in_a_folder_is_not_run(
    corpus: Path, folder: Path, more: list[str], refused: Refused
) -> None:
    marker = _evil(folder)
    with hostile.nothing_made(corpus.parent):
        error = refused("ingest", corpus, "--model", folder, *more)
    assert "--trust-remote-code" in error and not marker.exists()


@pytest.mark.slow
def test_code_in_a_folder_is_not_run_whoever_says_yes(corpus: Path, folder: Path) -> None:
    marker = _evil(folder)
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as yes:
        assert yes.stdout is not None
        ended = hostile.measured(
            ["ingest", "rain.conllu", "--model", "model"],
            corpus.parent,
            stdin=yes.stdout.fileno(),
        )
        yes.kill()
    hostile.check_lines(ended.err.strip().splitlines())
    assert ended.status == 1 and ended.out == ""
    assert "--trust-remote-code" in ended.err
    assert not marker.exists() and not (corpus.parent / "attnbank.duckdb").exists()
    assert not list((corpus.parent / "home").rglob("*.py"))


@pytest.mark.parametrize("masked", [False, True])
def test_code_beside_a_known_model_is_left_alone(
    corpus: Path, folder: Path, masked: bool, tiny_masked_lm: Models
) -> None:
    """The model is loaded by the class that transformers has for it."""
    if masked:
        shutil.rmtree(folder)
        shutil.copytree(tiny_masked_lm("bert"), folder)
    marker = _evil(folder, known=True)
    assert load(str(folder), head="masked" if masked else None).facts.architecture == "BertModel"
    assert describe(str(folder), head="masked" if masked else None).layers == 3
    assert not marker.exists()


@pytest.mark.slow
def test_code_is_run_for_those_who_ask_for_it(corpus: Path, folder: Path, tmp_path: Path) -> None:
    marker = _evil(folder)
    command = ["ingest", "rain.conllu", "--model", "model", "-q"]
    ended = hostile.measured([*command, "--trust-remote-code"], corpus.parent)
    assert ended.status == 0, ended.err
    assert marker.exists()
    said = hostile.measured(
        ["sql", "-f", "csv", "select options['trust_remote_code'] as trusted from run"],
        corpus.parent,
    )
    assert said.out.split() == ["trusted", "True"]


class _Evil:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("shape", ["pickle", "zip", "torch", "tar"])
def test_a_pickle_is_never_opened(corpus: Path, folder: Path, shape: str, refused: Refused) -> None:
    """In any of the shapes that torch.load takes."""
    marker = corpus.parent / "marker"
    path = folder / "pytorch_model.bin"
    (folder / "model.safetensors").unlink()
    evil = {"embeddings.word_embeddings.weight": _Evil(marker)}
    if shape == "torch":
        torch.save(evil, path)
    elif shape == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps(evil, 2))
            archive.writestr("archive/version", "3")
    elif shape == "tar":
        import io
        import tarfile

        with tarfile.open(path, "w") as tar:
            for name in ("storages", "tensors", "pickle"):
                data = pickle.dumps(evil, 2)
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    else:
        path.write_bytes(pickle.dumps(evil, 2))
    with hostile.nothing_made(corpus.parent):
        refused("ingest", corpus, "--model", folder, "-q", status=1)
    assert not marker.exists()


def test_pickled_weights_that_are_numbers_are_read(folder: Path) -> None:
    first = load(str(folder)).facts.sha256
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert load(str(folder)).facts.sha256 == first
