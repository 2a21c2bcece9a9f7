"""Special tokens that no text has, and for which the model has no embedding."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from bank_factory import BankFactory
from bank_rows import query_bank
from fixture_types import Models

from attnbank.ingest.models.loading import load
from attnbank.ingest.models.runtime import ModelError
from attnbank.sql.errors import CallError

TEXT = "The old lamp of the house glows. Rain fell on it and a <pad> was there.\n\nIt stopped.\n"


@pytest.fixture
def padded(tmp_path: Path, tiny_model: Models) -> Path:
    """A decoder to whose tokenizer a token for padding was added, but no embedding."""
    folder = Path(shutil.copytree(tiny_model("gpt2"), tmp_path / "padded"))
    return _with_token(folder, "<pad>", "pad_token", special=True)


def _with_token(folder: Path, token: str, role: str | None, *, special: bool) -> Path:
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text("utf-8"))
    tokenizer["added_tokens"].append(
        {
            "id": len(tokenizer["model"]["vocab"]), "content": token, "special": special,
            "single_word": False, "lstrip": False, "rstrip": False, "normalized": not special,
        }
    )  # fmt: skip
    file.write_text(json.dumps(tokenizer), "utf-8")
    if role:
        settings = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
        (folder / "tokenizer_config.json").write_text(json.dumps(settings | {role: token}), "utf-8")
    return folder


def test_padding_that_has_no_embedding(padded: Path, bank_of: BankFactory) -> None:
    """Also in batches of inputs of different lengths, and in a text that spells the token."""
    model = load(str(padded))
    assert model.input_tokenizer.padding < model.module.get_input_embeddings().num_embeddings
    weights = []
    for folder in (padded, "gpt2"):
        bank = bank_of({"text.txt": TEXT}, folder, format="lines", batch_tokens=500)
        weights.append(query_bank(bank, "select weights from attention order by all"))
    assert weights[0] == weights[1] and weights[0]


def test_what_needs_such_a_token_is_refused(padded: Path, bank_of: BankFactory) -> None:
    with pytest.raises(CallError, match="has no embedding for that token"):
        bank_of({"text.txt": TEXT}, padded, format="lines", bos_token="<pad>")


def test_an_ordinary_token_without_an_embedding_is_refused(
    tmp_path: Path, tiny_model: Models
) -> None:
    folder = Path(shutil.copytree(tiny_model("gpt2"), tmp_path / "more"))
    with pytest.raises(ModelError, match=r"has ids up to .* \('lamplight'\), but the model has"):
        load(str(_with_token(folder, "lamplight", None, special=False)))


def test_outputs_are_read_by_name_whatever_the_configuration_says(
    tmp_path: Path, tiny_model: Models
) -> None:
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "tuple"))
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"return_dict": False}), "utf-8")
    ids = torch.tensor([[2, 7, 8, 3]])
    ones = torch.ones_like(ids)
    own, plain = (
        load(str(path)).attentions(ids, ones, torch.zeros_like(ids))
        for path in (folder, tiny_model("bert"))
    )
    assert all(torch.equal(one, other) for one, other in zip(own, plain, strict=True))
