"""A run that is given (`add_run`) compared with an ingest of the same maps, in processor seconds.

    python benchmarks/bench_given.py CORPUS [--model minilm] [--rounds 3]

Every map is computed before the clock starts, so that what is left is reading the text, tokens,
merging and writing. Each round runs the two in turn, over copies of one bank with the text.
"""

# ruff: noqa: E402 (wait_passively must be called before torch is imported)

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import cast

from attnbank.ingest import wait_passively

wait_passively()

import torch
import transformers
from bench_ingest import Remembered

from attnbank.ingest import IngestOptions, add_run, add_text
from attnbank.ingest import run as ingesting
from attnbank.ingest.models import loading as models
from attnbank.ingest.models.files import locate_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    model = cast(models.Model, Remembered(models.load(arguments.model)))
    ingesting.load_model = lambda options, device=None: (model, None)
    folder = Path(arguments.model)
    folder = folder if folder.is_dir() else Path(locate_model(arguments.model)[0])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    own = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    facts = model.facts
    given = {}
    ratios = []
    with tempfile.TemporaryDirectory() as place:
        text = Path(place, "text.duckdb")
        name = add_text(IngestOptions((arguments.corpus,), text))
        for number in range(arguments.rounds + 1):
            one, two = Path(place, f"{number}.a.duckdb"), Path(place, f"{number}.b.duckdb")
            shutil.copy(text, one)
            shutil.copy(text, two)
            start = time.process_time()
            ingesting.ingest(IngestOptions((arguments.corpus,), one, model=arguments.model))
            took = time.process_time() - start
            start = time.process_time()
            apart = 0.0  # what the caller does: tokens, and the maps
            with add_run(
                two, name, "given", layers=facts.layers, heads=facts.heads,
                causal=bool(facts.causal),
            ) as run:  # fmt: skip
                for sentence in run.sentences():
                    if sentence.name not in given:
                        begun = time.process_time()
                        read = tokenizer([*sentence.words], is_split_into_words=True)
                        with torch.inference_mode():
                            found = own(
                                **read.convert_to_tensors("pt", prepend_batch_axis=True),
                                output_attentions=True,
                            )
                        given[sentence.name] = (
                            read.tokens(),
                            read.word_ids(),
                            list(found.attentions),
                        )
                        apart += time.process_time() - begun
                    run.add(sentence, *given[sentence.name])
            other = time.process_time() - start - apart
            if number:  # the first round computes, and warms up
                ratios.append(other / took)
                print(f"ingest {took:.2f}, given {other:.2f} processor seconds: {ratios[-1]:.2f}")
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
