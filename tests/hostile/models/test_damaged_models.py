"""A model folder that somebody else made can ask for anything, and gets an error of two lines.

No code in it is run, no pickle is opened, no memory is taken for sizes that no model has, and
nothing is left behind: neither a bank nor any other file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostile
import pytest
import torch
from hostile import Refused
from safetensors.torch import load_file, save_file

Damage = Callable[[Path], object]


def _json(name: str, change: Callable[[dict[str, Any]], object]) -> Damage:
    """Change what a JSON file says."""

    def apply(folder: Path) -> None:
        state = json.loads((folder / name).read_text())
        change(state)
        (folder / name).write_text(json.dumps(state))

    return apply


def _config(**values: Any) -> Damage:
    return _json("config.json", lambda state: state.update(values))


def _tokenizer(**parts: Any) -> Damage:
    return _json("tokenizer.json", lambda state: state.update(parts))


def _vocabulary(change: Callable[[dict[str, int]], object]) -> Damage:
    return _json("tokenizer.json", lambda state: change(state["model"]["vocab"]))


def _cls_id(state: dict[str, Any]) -> None:
    """A special token around every text that the model has no embedding for."""
    state["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [70_000]


def _segment(state: dict[str, Any]) -> None:
    state["post_processor"]["pair"][3]["Sequence"]["type_id"] = 7


def _bytes(name: str, change: Callable[[bytes], bytes]) -> Damage:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def _text(name: str, text: str | bytes) -> Damage:
    return _bytes(name, lambda _: text if isinstance(text, bytes) else text.encode())


def _cut(name: str, share: float) -> Damage:
    return _bytes(name, lambda data: data[: int(len(data) * share)])


def _larger(folder: Path) -> None:
    """A file that is large and empty, and takes no room."""
    with (folder / "tokenizer.json").open("r+b") as file:
        file.truncate(400_000_000)


def _weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Damage:
    def apply(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return apply


def _only_vocabulary(text: str) -> Damage:
    def apply(folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.txt").write_text(text)

    return apply


def _index(text: str) -> Damage:
    def apply(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "part.safetensors")
        (folder / "model.safetensors.index.json").write_text(text)

    return apply


CONFIGURATIONS: dict[str, Damage] = {
    "no layers": _config(num_hidden_layers=0),
    "negative layers": _config(num_hidden_layers=-3),
    "a billion layers": _config(num_hidden_layers=10**9),
    "a million layers": _config(num_hidden_layers=10**6),
    "thirty thousand layers": _config(num_hidden_layers=30_000),
    "no heads": _config(num_attention_heads=0),
    "negative heads": _config(num_attention_heads=-4),
    "a million heads": _config(num_attention_heads=10**6),
    "a million heads in all": _config(num_hidden_layers=1000, num_attention_heads=1000),
    "heads that do not divide": _config(num_attention_heads=5),
    "heads in words": _config(num_attention_heads="four"),
    "half a head": _config(num_attention_heads=0.5),
    "layers in a list": _config(num_hidden_layers=[3]),
    "true layers": _config(num_hidden_layers=True),
    "no vocabulary": _config(vocab_size=0),
    "a negative vocabulary": _config(vocab_size=-400),
    "a vocabulary of a trillion": _config(vocab_size=10**12),
    "a vocabulary of two billion": _config(vocab_size=2 * 10**9),
    "a vocabulary in words": _config(vocab_size="many"),
    "a vocabulary too small": _config(vocab_size=7),
    "a vocabulary with a digit too many": _config(vocab_size=int("4" * 400)),
    "a huge width": _config(hidden_size=4 * 10**9),
    "a large width": _config(hidden_size=4 * 10**6),
    "no width": _config(hidden_size=0),
    "a negative width": _config(hidden_size=-32),
    "a huge inner width": _config(intermediate_size=2**31 - 1),
    "many positions": _config(max_position_embeddings=10**12),
    "two billion positions": _config(max_position_embeddings=2 * 10**9),
    "a billion labels": _config(num_labels=10**9),
    "labels in words": _config(id2label="none"),
    "no activation": _config(hidden_act="evil"),
    "activation of a number": _config(hidden_act=3),
    "an unknown type": _config(model_type="unheard-of"),
    "a type in a list": _config(model_type=["bert"]),
    "no type": _json("config.json", lambda state: state.pop("model_type")),
    "a type of images": _config(model_type="vit", image_size=32, patch_size=16),
    "a type of sounds": _config(model_type="wav2vec2"),
    "images and text": _config(model_type="clip"),
    "no attention": _config(model_type="fnet"),
    "an encoder-decoder": _config(model_type="bart", is_encoder_decoder=True),
    "a dropout of 7": _config(attention_probs_dropout_prob=7.0),
    "a padding token out of range": _config(pad_token_id=10**6),
    "not JSON": _text("config.json", "{"),
    "a list": _text("config.json", "[1, 2]"),
    "a number": _text("config.json", "7"),
    "nothing": _text("config.json", ""),
    "null": _text("config.json", "null"),
    "not UTF-8": _text("config.json", b"\xff\xfe{}"),
    "nested": _text("config.json", "[" * 200_000 + "]" * 200_000),
    "nested objects": _text("config.json", '{"a":' * 100_000 + "1" + "}" * 100_000),
    "digits": _text("config.json", '{"num_hidden_layers": ' + "9" * 6000 + "}"),
    "NaN layers": _text("config.json", '{"model_type": "bert", "num_hidden_layers": NaN}'),
    "20 MB": _text("config.json", '{"a": "' + "x" * 20_000_000 + '"}'),
}
TOKENIZERS: dict[str, Damage] = {
    "an id of 2^31": _vocabulary(lambda vocab: vocab.update(rain=2**31)),
    "an id of 2^32": _vocabulary(lambda vocab: vocab.update(rain=2**32)),
    "an id of 2^70": _vocabulary(lambda vocab: vocab.update(rain=2**70)),
    "a negative id": _vocabulary(lambda vocab: vocab.update(rain=-1)),
    "an id past the end": _vocabulary(lambda vocab: vocab.update(rain=4000)),
    "an id in words": _tokenizer(model={"type": "WordPiece", "vocab": {"rain": "one"}}),
    "an empty vocabulary": _vocabulary(lambda vocab: vocab.clear()),
    "an empty vocab.txt": _only_vocabulary(""),
    "a vocab.txt of lines": _only_vocabulary("\n" * 1000),
    "a vocab.txt too long": _only_vocabulary("".join(f"w{at}\n" for at in range(5000))),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "not JSON": _text("tokenizer.json", "{"),
    "a list": _text("tokenizer.json", "[]"),
    "nothing": _text("tokenizer.json", ""),
    "nested": _text("tokenizer.json", "[" * 200_000),
    "400 MB": _larger,
    "no model": _tokenizer(model=None),
    "an unknown model": _tokenizer(model={"type": "Evil"}),
    "an unknown normalizer": _tokenizer(normalizer={"type": "Evil"}),
    "a wrong pattern": _tokenizer(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": "(((("}, "behavior": "Isolated",
                       "invert": False}),
    "a special token without embedding": _json("tokenizer.json", _cls_id),
    "a segment without embedding": _json("tokenizer.json", _segment),
    "a configuration that is none": _text("tokenizer_config.json", "{"),
    "a configuration that is a list": _text("tokenizer_config.json", "[]"),
}  # fmt: skip
WEIGHTS: dict[str, Damage] = {
    "none": lambda folder: (folder / "model.safetensors").unlink(),
    "nothing": _text("model.safetensors", b""),
    "a few bytes": _text("model.safetensors", b"nothing"),
    "a header of 2^63 bytes": _text("model.safetensors", b"\xff" * 7 + b"\x7f{}"),
    "a header that is no JSON": _text("model.safetensors", b"\x02\0\0\0\0\0\0\0{{"),
    "cut in the header": _cut("model.safetensors", 0.001),
    "cut in the middle": _cut("model.safetensors", 0.5),
    "cut at the end": _cut("model.safetensors", 0.999),
    "other shapes": _config(hidden_size=64),
    "another vocabulary": _config(vocab_size=500),
    "an index that leads nowhere": _index('{"weight_map": {"a": "../../x"}}'),
    "an index that is none": _index("["),
    "no numbers": _weights(
        lambda weights: [weight.fill_(float("nan")) for weight in weights.values()]
    ),
    "fewer": _weights(lambda weights: weights.pop("encoder.layer.1.output.dense.weight")),
}  # fmt: skip


def _both(kind: str, cases: dict[str, Damage]) -> list[Any]:
    return [
        pytest.param(change, id=f"{kind}: {name}", marks=[pytest.mark.slow] * (name in SLOW))
        for name, change in cases.items()
    ]


SLOW = ("images and text",)
"""Those whose class takes seconds to import."""


READ_FIRST = _both("config", CONFIGURATIONS) + _both("tokenizer", TOKENIZERS)
"""What a dry run refuses too, though it reads no weights."""


@pytest.mark.usual(4)
@pytest.mark.few("-q-*")
@pytest.mark.parametrize(
    ("more", "damage"),
    [
        pytest.param(more, *case.values, id=f"{more}-{case.id}", marks=case.marks)
        for more, cases in (
            ("-q", READ_FIRST + _both("weights", WEIGHTS)), ("--dry-run", READ_FIRST),
        )
        for case in cases
    ],
)  # fmt: skip
def test_a_damaged_folder_ends_in_two_lines_and_leaves_nothing(
    corpus: Path, folder: Path, more: str, damage: Damage,
    refused: Refused,
) -> None:  # fmt: skip
    damage(folder)
    with hostile.nothing_made(corpus.parent):
        refused("ingest", corpus, "--model", folder, more, status=1)


_RANDOM = ["--random-weights", "1"]


@pytest.mark.few("width", "file")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "more"),
    [
        pytest.param(_config(vocab_size=10**12), [], id="vocabulary"),
        pytest.param(_config(num_hidden_layers=10**9), _RANDOM, id="layers"),
        pytest.param(_config(num_labels=10**9), [], id="labels"),
        pytest.param(_config(vocab_size=2 * 10**9), _RANDOM, id="rows"),
        pytest.param(_config(hidden_size=4 * 10**6), [], id="width"),
        pytest.param(_config(hidden_size=4 * 10**6), _RANDOM, id="width, random"),
        pytest.param(_vocabulary(lambda vocab: vocab.update(rain=2**31)), _RANDOM, id="id"),
        pytest.param(_larger, [], id="file"),
    ],
)
def test_absurd_sizes_take_neither_memory_nor_time(
    corpus: Path, folder: Path, change: Damage, more: list[str]
) -> None:
    change(folder)
    ended = hostile.measured(["ingest", "rain.conllu", "-m", "model", *more], corpus.parent)
    hostile.check_lines(ended.err.strip().splitlines())
    assert ended.memory < hostile.MOST_MEMORY
    assert ended.processor < 30  # of which 5 to 10 to start torch and transformers
    assert not (corpus.parent / "attnbank.duckdb").exists()
