"""Make `format-1.duckdb.xz`: run it with the code that wrote format 1, as README.md says."""

from __future__ import annotations

import lzma
import os
import sys
import tempfile
from pathlib import Path

import tiny_models
import torch

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import ProbeOptions, train_probe
from attnbank.ingest.derived.steps import compute
from attnbank.sql import registry


def main(made: Path, sample: Path) -> None:
    """Write the bank, compressed, from a few sentences of the sample corpus."""
    assert registry.FORMAT == 1, f"this code writes format {registry.FORMAT}"
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that the bank holds no path of the machine
        for source, name, sentences in (("press", "train", 5), ("stories", "test", 4)):
            blocks = (sample / f"{source}.conllu").read_text(encoding="utf-8").split("\n\n")
            Path(f"{name}.conllu").write_text("\n\n".join(blocks[:sentences]) + "\n\n")
        text = [
            line.removeprefix("# text = ")
            for name in ("train", "test")
            for line in Path(f"{name}.conllu").read_text(encoding="utf-8").splitlines()
            if line.startswith("# text = ")
        ]
        tiny_models._SIZE.update(hidden_size=16, num_hidden_layers=2, num_attention_heads=2)
        tiny_models.save("bert", Path("tiny"), text, masked_lm=True)
        bank = Path("format-1.duckdb")
        train, test = ("train.conllu",), ("test.conllu",)
        ingest(IngestOptions(train, bank, "tiny"))
        ingest(IngestOptions(test, bank, "tiny"))
        ingest(IngestOptions(test, bank, "tiny", context="document", max_tokens=48, decimals=5))
        ingest(
            IngestOptions(
                test, bank, "tiny", context="pair", max_tokens=40, unit="token", limit=2,
                gradients=True, ablate="heads",
            )
        )  # fmt: skip
        ingest(
            IngestOptions(
                test, bank, "tiny", random_weights=7, context="document", max_tokens=48, decimals=3
            )
        )
        compute(bank, "head_distance", run=4)
        compute(bank, "head_embedding", run=4)
        train_probe(bank, "attention", 1, 2, ProbeOptions(epochs=2, resamples=10))
        train_probe(bank, "right_branching", None, 2, ProbeOptions(resamples=10))
        made.write_bytes(lzma.compress(bank.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
