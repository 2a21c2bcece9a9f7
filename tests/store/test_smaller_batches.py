"""A device that runs out of memory: what is whole is kept, and smaller batches go on from there."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import hostile
import numpy as np
import pytest
from bank_rows import query_bank
from crashes import ingest_part
from fixture_types import Models, Options

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.store.runs import StoredRun, check_resumable
from attnbank.sql import provenance
from attnbank.sql.errors import AttnbankError, CallError

_SCARCE = """
import torch
from transformers import BertConfig, BertModel
class ScarceConfig(BertConfig):
    model_type = "scarce"
class Scarce(BertModel):
    config_class = ScarceConfig
    def forward(self, input_ids=None, **named):
        inputs, tokens = input_ids.shape
        if 20 < tokens < 64 and inputs * tokens > 64:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return super().forward(input_ids=input_ids, **named)
"""
"""A BERT for which batches of longer inputs are too large, once it is loaded."""


Stopped = tuple[IngestOptions, AttnbankError]
_PEAKS = "select layer, head, sequence, position, most_attended_weight from peak order by all"


def _scarce(plain: Path, folder: Path) -> Path:
    shutil.copytree(plain, folder)
    (folder / "modeling_scarce.py").write_text(_SCARCE)
    names = {"AutoConfig": "modeling_scarce.ScarceConfig", "AutoModel": "modeling_scarce.Scarce"}
    hostile.change_json(folder / "config.json", auto_map=names, model_type="scarce")
    return folder


def _check_same_figures(one: Path, other: Path) -> None:
    """But for rounding, which batches decide."""
    peaks = [np.array(query_bank(bank, _PEAKS), dtype=float) for bank in (one, other)]
    np.testing.assert_allclose(peaks[0], peaks[1], rtol=0, atol=1e-5)


@pytest.fixture
def stopped(tmp_path: Path, few: Path, tiny_model: Models, options_for: Options) -> Stopped:
    """An ingest whose model has too little memory for a later batch, and its error."""
    model = _scarce(tiny_model("bert"), tmp_path / "scarce")
    options = options_for(
        tmp_path / "bank.duckdb", few, model, batch_tokens=128, trust_remote_code=True
    )
    with pytest.raises(AttnbankError) as caught:
        ingest(options)
    return options, caught.value


def test_smaller_batches_go_on_after_too_little_memory(stopped: Stopped, tmp_path: Path) -> None:
    options, error = stopped
    ((batches, inputs),) = query_bank(
        options.bank, "select batches, (from sequence select count(*)) from run_part"
    )
    assert batches > 0
    assert error.fact == (
        f"The device ran out of memory; {batches} batches ({inputs} inputs) are saved."
    )
    assert error.remedy == (
        "Repeat the command with --batch-tokens 64: it resumes where it stopped."
    )
    with pytest.raises(CallError, match="has batches of 128 tokens") as caught:
        ingest(replace(options, batch_tokens=256))
    assert f"deletes its {batches} batches" in caught.value.remedy
    smaller = replace(options, batch_tokens=64)
    assert ingest(smaller).state == "resumed"
    budgets = "select batch_tokens, earlier_batch_tokens from run_part"
    assert query_bank(options.bank, budgets) == [
        (64, [{"last_batch": batches, "batch_tokens": 128}])
    ]
    assert query_bank(
        options.bank, "select max(batch) = (from run_part select batches) from sequence"
    ) == [(True,)]
    whole = replace(smaller, bank=tmp_path / "whole.duckdb")
    ingest(whole)
    _check_same_figures(options.bank, whole.bank)
    assert ingest(smaller).state == "unchanged"


@pytest.mark.slow
def test_batches_get_smaller_twice(stopped: Stopped, tmp_path: Path) -> None:
    """The plan of every stretch is kept, so that the next finds its place."""
    options, _ = stopped
    ((batches,),) = query_bank(options.bank, "select batches from run_part")

    ((inputs,),) = query_bank(options.bank, "select count(*) from sequence")
    ingest_part(replace(options, batch_tokens=64), inputs + 3)
    ((more,),) = query_bank(options.bank, "select batches from run_part")
    assert more > batches
    assert ingest(replace(options, batch_tokens=32)).state == "resumed"
    budgets = "select batch_tokens, earlier_batch_tokens from run_part"
    assert query_bank(options.bank, budgets) == [(32, [
        {"last_batch": batches, "batch_tokens": 128}, {"last_batch": more, "batch_tokens": 64},
    ])]  # fmt: skip
    whole = replace(options, bank=tmp_path / "whole.duckdb", batch_tokens=32)
    ingest(whole)
    _check_same_figures(options.bank, whole.bank)


@pytest.mark.parametrize(
    ("begun", "here", "goes_on"),
    [
        ("cuda", "cuda:0", True), ("cuda:0", "cuda", True), ("cuda:0", "cuda:0", True),
        ("cuda:0", "cuda:1", False), ("cuda", "cpu", False), ("cpu", "cuda:0", False),
    ],
)  # fmt: skip
def test_devices_are_compared_by_what_both_say(begun: str, here: str, goes_on: bool) -> None:
    run = StoredRun(1, "r", 256, 4, False, begun, {"attnbank": provenance.version()})
    options = IngestOptions(("x",), Path("x.duckdb"), device=here, batch_tokens=256)
    if goes_on:
        check_resumable(run, options, here)
    else:
        with pytest.raises(CallError, match=f"made on the device {begun}, but this is {here}"):
            check_resumable(run, options, here)


def test_versions_of_half_a_run_are_those_that_finish_it() -> None:
    options = IngestOptions(("x",), Path("x.duckdb"), batch_tokens=256)
    here = {"attnbank": provenance.version()}
    for finished, versions in ((False, {"attnbank": "0.0.1"}), (True, here), (False, here)):
        run = StoredRun(1, "r", 256, 4, finished, "cpu", versions)
        if versions == here:
            check_resumable(run, options, "cpu")
        else:
            with pytest.raises(CallError, match=r"attnbank 0\.0\.1") as caught:
                check_resumable(run, options, "cpu")
            assert "--replace, which deletes its 4 batches" in caught.value.remedy


_CHILD = """
import os, signal, sys
from pathlib import Path
from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.store import pipeline
pipeline.WEIGHTS_AT_ONCE = 1
corpus, bank, model = sys.argv[1:]
stops = [signal.SIGSTOP]
def stop(progress):
    print(progress.stage, progress.done, flush=True)
    if progress.stage == "running" and progress.done and stops:
        os.kill(os.getpid(), stops.pop())

ingest(IngestOptions((corpus,), Path(bank), model, batch_tokens=256), stop)
"""
"""It stops itself when the first batch is written."""


@pytest.mark.slow
def test_info_beside_an_ingest_says_who_writes_and_an_interrupt_keeps_whole_batches(
    tmp_path: Path, options_for: Options
) -> None:
    options = options_for(tmp_path / "bank.duckdb", "sample", batch_tokens=256)
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, *options.corpora, str(options.bank), options.model],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("running") and not line.endswith(" 0\n"):
            break
    try:
        command = [sys.executable, "-m", "attnbank", "-b", str(options.bank), "info"]
        info = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGCONT)
    _, error = child.communicate(timeout=120)
    assert info.returncode == 1 and f"process {child.pid}" in info.stderr
    assert child.returncode != 0 and "are saved" in error
    ((batches, last),) = query_bank(
        options.bank, "select batches, (from sequence select max(batch)) from run_part"
    )
    assert batches == last > 0
    assert ingest(options).state == "resumed"
