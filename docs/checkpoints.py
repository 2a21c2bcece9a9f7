"""Train a small decoder and keep thirty checkpoints, in which heads that copy appear.

    python docs/checkpoints.py FOLDER

Two layers of eight heads, trained on real text (CoNLL-U files, those of ATTNBANK_CORPORA, or the
sample that comes with attnbank) and, a quarter of the inputs, on random tokens that come twice: on
these an induction head (Olsson et al. 2022) is what helps. Each checkpoint is a folder of FOLDER,
step0, step1, step2, step4, ..., that transformers loads. Chen et al. (2024) watch heads over a
training of BERT in this way. The same machine gives the same weights each time.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from attnbank.ingest.models.runtime import quiet

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "ingest" / "corpora" / "sample"
STEPS = (
    0, 1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320, 384, 448, 512,
    640, 768, 896, 1024, 1280, 1536, 1792, 2048,
)  # fmt: skip
END = "<|endoftext|>"


@dataclass(frozen=True)
class Settings:
    """How large the model is, and how it is trained; `steps` are those that are kept."""

    steps: Sequence[int] = STEPS
    vocabulary: int = 1000
    hidden: int = 128
    heads: int = 8
    layers: int = 2
    length: int = 64
    batch: int = 32
    rate: float = 2e-3
    warmup: int = 100
    seed: int = 0


def texts(folders: Sequence[Path]) -> list[str]:
    """The sentences of the English CoNLL-U files of the first folder that has some."""
    for folder in folders:
        files = sorted(folder.glob("*.conllu"))
        english = [each for each in files if each.name.startswith(("gum", "ewt"))] or files
        found = [
            line.removeprefix("# text = ")
            for each in english
            for line in each.read_text(encoding="utf-8").splitlines()
            if line.startswith("# text = ")
        ]
        if found:
            return found
    raise SystemExit("There is no CoNLL-U file to learn from.")


def tokenizer_of(lines: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with that many pieces, learnt from the text."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    found.train_from_iterator(lines, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=found, eos_token=END, pad_token=END)


def batches(
    ids: torch.Tensor, settings: Settings, generator: torch.Generator
) -> Iterator[torch.Tensor]:
    """Inputs [B, T] without end: a quarter of them random tokens twice over, the others text."""
    made = settings.batch // 4
    read, span = settings.batch - made, settings.length // 2
    while True:
        starts = torch.randint(0, len(ids) - settings.length, (read,), generator=generator)
        text = torch.stack([ids[at : at + settings.length] for at in starts.tolist()])
        once = torch.randint(1, settings.vocabulary, (made, span), generator=generator)
        yield torch.cat([text, torch.cat([once, once], dim=1)])


def train(folder: Path, lines: Sequence[str], settings: Settings) -> list[float]:
    """Train a model and write its checkpoints; the loss at each of them, in nats a token."""
    torch.manual_seed(settings.seed)
    torch.use_deterministic_algorithms(True)
    tokenizer = tokenizer_of(lines, settings.vocabulary)
    told = tokenizer("\n".join(lines), add_special_tokens=False)["input_ids"]
    generator = torch.Generator().manual_seed(settings.seed)
    given = batches(torch.tensor(told), settings, generator)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.hidden,
            intermediate_size=2 * settings.hidden,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            num_key_value_heads=settings.heads,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / settings.warmup)
    )
    losses = []
    for step in range(max(settings.steps) + 1):
        batch = next(given)
        loss = model(input_ids=batch, labels=batch).loss
        if step in settings.steps:
            losses.append(loss.item())
            save(model, tokenizer, folder / f"step{step}")
            print(f"step {step:>5}  loss {losses[-1]:.3f}", file=sys.stderr)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return losses


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write a checkpoint, which takes its name when it is whole."""
    part = folder.with_name(f".{folder.name}.part")
    with quiet():
        model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    part.rename(folder)


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description="Train a small decoder; keep its checkpoints.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: remove it, or name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(2)
    named = os.environ.get("ATTNBANK_CORPORA")
    train(folder, texts([*([Path(named)] if named else []), SAMPLE]), Settings())


if __name__ == "__main__":
    main()
