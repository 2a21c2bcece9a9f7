"""Make `format-4.duckdb.xz`: run it with the code that wrote format 4, as README.md says."""

from __future__ import annotations

import lzma
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import tiny_models
import torch

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.derived.probes import ProbeOptions, train_probe
from attnbank.ingest.derived.steps import compute
from attnbank.ingest.store.preferences import prefer
from attnbank.sql import registry

FRENCH = """\
# sent_id = fr-1
# text = Elle parle du temps.
1\tElle\til\tPRON\t_\tPerson=3\t2\tnsubj\t_\t_
2\tparle\tparler\tVERB\t_\t_\t0\troot\t_\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\t_\t_\t5\tcase\t_\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t_\t_
5\ttemps\ttemps\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


def main(made: Path, sample: Path) -> None:
    """Write the bank, compressed, from a few sentences of the sample corpus and one in French."""
    assert registry.FORMAT == 4, f"this code writes format {registry.FORMAT}"
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that the bank holds no path of the machine
        for source, name, sentences in (("press", "train", 5), ("stories", "test", 4)):
            blocks = (sample / f"{source}.conllu").read_text(encoding="utf-8").split("\n\n")
            Path(f"{name}.conllu").write_text("\n\n".join(blocks[:sentences]) + "\n\n")
        Path("fr_one-ud-test.conllu").write_text(FRENCH)
        text = [
            line.removeprefix("# text = ")
            for path in sorted(Path().glob("*.conllu"))
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("# text = ")
        ]
        tiny_models._SIZE.update(hidden_size=16, num_hidden_layers=2, num_attention_heads=2)
        tiny_models.save("bert", Path("tiny"), text, masked_lm=True)
        bank = Path("format-4.duckdb")
        train, test = ("train.conllu",), ("test.conllu",)
        document: dict[str, Any] = {"context": "document", "max_tokens": 48}
        ingest(IngestOptions(train, bank, "tiny"))
        ingest(IngestOptions(test, bank, "tiny"))
        ingest(IngestOptions(test, bank, "tiny", decimals=5, **document))
        ingest(
            IngestOptions(
                test, bank, "tiny", context="pair", max_tokens=40, unit="token", limit=2,
                gradients=True, ablate="heads",
            )
        )  # fmt: skip
        ingest(IngestOptions(test, bank, "tiny", random_weights=7, decimals=3, **document))
        ingest(IngestOptions(("fr_one-ud-test.conllu",), bank, "tiny"))
        compute(bank, "head_distance", run=4)
        compute(bank, "head_embedding", run=4)
        train_probe(bank, "attention", 1, 2, ProbeOptions(epochs=2, resamples=10))
        train_probe(bank, "right_branching", None, 2, ProbeOptions(resamples=10))
        prefer(bank, 2)
        made.write_bytes(lzma.compress(bank.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
