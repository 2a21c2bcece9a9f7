"""A model folder that somebody else made can ask for anything, and gets an error of two lines.

No code in it is run, no pickle is opened, no memory is taken for sizes that no model has, and
nothing is left behind: neither a bank nor any other file.
"""

from __future__ import annotations

import http.server
import json
import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hostile
import pytest
import torch
from safetensors.torch import load_file, save_file

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.models.hub import unreachable
from attnbank.ingest.models.loading import describe, load

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of one sentence, in the folder that everything runs in."""
    path = tmp_path / "rain.conllu"
    path.write_text(hostile.RAIN * 2, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def folder(tmp_path: Path, tiny_model: Callable[[str], Path]) -> Path:
    """A copy of a tiny BERT, to be damaged."""
    return Path(shutil.copytree(tiny_model("bert"), tmp_path / "model"))


def _json(path: Path, **values: Any) -> None:
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | values))


def _config(**values: Any) -> Callable[[Path], None]:
    return lambda folder: _json(folder / "config.json", **values)


def _without(*keys: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        state = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(
            json.dumps({key: value for key, value in state.items() if key not in keys})
        )

    return change


def _text(name: str, text: str | bytes) -> Callable[[Path], None]:
    data = text if isinstance(text, bytes) else text.encode()

    def apply(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return apply


def _vocabulary(change: Callable[[dict[str, int]], Any]) -> Callable[[Path], None]:
    """Change the vocabulary in tokenizer.json."""

    def apply(folder: Path) -> None:
        path = folder / "tokenizer.json"
        state = json.loads(path.read_text())
        change(state["model"]["vocab"])
        path.write_text(json.dumps(state))

    return apply


def _tokenizer(**parts: Any) -> Callable[[Path], None]:
    return lambda folder: _json(folder / "tokenizer.json", **parts)


def _larger(folder: Path) -> None:
    """A file that is large and empty, and takes no room."""
    with (folder / "tokenizer.json").open("r+b") as file:
        file.truncate(400_000_000)


def _weights(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return apply


def _cut(name: str, share: float) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(len(data) * share)])

    return apply


def _only(name: str, text: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        (folder / name).write_text(text)

    return apply


def _index(text: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "part.safetensors")
        (folder / "model.safetensors.index.json").write_text(text)

    return apply


def _special(folder: Path) -> None:
    """A special token around every text that the model has no embedding for."""
    state = json.loads((folder / "tokenizer.json").read_text())
    state["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [70_000]
    (folder / "tokenizer.json").write_text(json.dumps(state))


def _types(folder: Path) -> None:
    state = json.loads((folder / "tokenizer.json").read_text())
    state["post_processor"]["pair"][3]["Sequence"]["type_id"] = 7
    (folder / "tokenizer.json").write_text(json.dumps(state))


CONFIGURATIONS: dict[str, Callable[[Path], None]] = {
    "no layers": _config(num_hidden_layers=0),
    "negative layers": _config(num_hidden_layers=-3),
    "a billion layers": _config(num_hidden_layers=10**9),
    "a million layers": _config(num_hidden_layers=10**6),
    "thirty thousand layers": _config(num_hidden_layers=30_000),
    "no heads": _config(num_attention_heads=0),
    "negative heads": _config(num_attention_heads=-4),
    "a million heads": _config(num_attention_heads=10**6),
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
    "no type": _without("model_type"),
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
TOKENIZERS: dict[str, Callable[[Path], None]] = {
    "an id of 2^31": _vocabulary(lambda vocab: vocab.update(rain=2**31)),
    "an id of 2^32": _vocabulary(lambda vocab: vocab.update(rain=2**32)),
    "an id of 2^70": _vocabulary(lambda vocab: vocab.update(rain=2**70)),
    "a negative id": _vocabulary(lambda vocab: vocab.update(rain=-1)),
    "an id past the end": _vocabulary(lambda vocab: vocab.update(rain=4000)),
    "an id in words": _tokenizer(model={"type": "WordPiece", "vocab": {"rain": "one"}}),
    "an empty vocabulary": _vocabulary(lambda vocab: vocab.clear()),
    "an empty vocab.txt": _only("vocab.txt", ""),
    "a vocab.txt of lines": _only("vocab.txt", "\n" * 1000),
    "a vocab.txt too long": _only("vocab.txt", "".join(f"w{at}\n" for at in range(5000))),
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
    "a special token without embedding": _special,
    "a segment without embedding": _types,
    "a configuration that is none": _text("tokenizer_config.json", "{"),
    "a configuration that is a list": _text("tokenizer_config.json", "[]"),
}  # fmt: skip
WEIGHTS: dict[str, Callable[[Path], None]] = {
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
        lambda weights: [each.fill_(float("nan")) for each in weights.values()]
    ),
    "fewer": _weights(lambda weights: weights.pop("encoder.layer.1.output.dense.weight")),
}  # fmt: skip


def _both(kind: str, cases: dict[str, Callable[[Path], None]]) -> list[Any]:
    return [pytest.param(change, id=f"{kind}: {name}") for name, change in cases.items()]


@pytest.mark.parametrize(
    "damage",
    _both("config", CONFIGURATIONS) + _both("tokenizer", TOKENIZERS) + _both("weights", WEIGHTS),
)
def test_a_damaged_folder_ends_in_two_lines_and_leaves_nothing(
    corpus: Path,
    folder: Path,
    damage: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    damage(folder)
    with hostile.nothing_made(corpus.parent):
        hostile.refused(["ingest", str(corpus), "--model", str(folder), "-q"], capsys, 1)


@pytest.mark.parametrize("damage", _both("config", CONFIGURATIONS) + _both("tokenizer", TOKENIZERS))
def test_a_dry_run_refuses_the_same(
    corpus: Path,
    folder: Path,
    damage: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All of it, though it reads no weights."""
    damage(folder)
    with hostile.nothing_made(corpus.parent):
        hostile.refused(["ingest", str(corpus), "--model", str(folder), "--dry-run"], capsys, 1)


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
    _json(folder / "config.json", auto_map=names, **({} if known else {"model_type": "evil"}))
    _json(folder / "tokenizer_config.json", auto_map=names)
    return marker


@pytest.mark.parametrize(
    "more",
    [
        [],
        pytest.param(["--dry-run"], marks=pytest.mark.slow),
        pytest.param(["--random-weights", "1"], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_code_in_a_folder_is_not_run_whoever_says_yes(
    corpus: Path, folder: Path, more: list[str]
) -> None:
    marker = _evil(folder)
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as yes:
        assert yes.stdout is not None
        ended = hostile.measured(
            ["ingest", "rain.conllu", "--model", "model", *more],
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
    corpus: Path, folder: Path, masked: bool, tiny_masked_lm: Callable[[str], Path]
) -> None:
    """The model is loaded by the class that transformers has for it."""
    if masked:
        shutil.rmtree(folder)
        shutil.copytree(tiny_masked_lm("bert"), folder)
    marker = _evil(folder, known=True)
    assert load(str(folder), masked_lm=masked).facts.architecture == "BertModel"
    assert describe(str(folder), masked_lm=masked).layers == 3
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
def test_a_pickle_is_never_opened(
    corpus: Path, folder: Path, shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
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
        hostile.refused(["ingest", str(corpus), "--model", str(folder), "-q"], capsys, 1)
    assert not marker.exists()


def test_pickled_weights_that_are_numbers_are_read(folder: Path) -> None:
    first = load(str(folder)).facts.sha256
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert load(str(folder)).facts.sha256 == first


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [_config(vocab_size=10**12), _config(num_hidden_layers=10**9), _config(num_labels=10**9),
     _config(vocab_size=2 * 10**9), _config(hidden_size=4 * 10**6),
     _vocabulary(lambda vocab: vocab.update(rain=2**31)), _larger],
    ids=["vocabulary", "layers", "labels", "rows", "width", "id", "file"],
)  # fmt: skip
@pytest.mark.parametrize("more", [[], ["--random-weights", "1"]], ids=["trained", "random"])
def test_absurd_sizes_take_neither_memory_nor_time(
    corpus: Path, folder: Path, change: Callable[[Path], None], more: list[str]
) -> None:
    change(folder)
    ended = hostile.measured(["ingest", "rain.conllu", "-m", "model", *more], corpus.parent)
    hostile.check_lines(ended.err.strip().splitlines())
    assert ended.memory < hostile.MOST_MEMORY
    assert ended.seconds < 30  # of which 5 to 10 to start torch and transformers
    assert not (corpus.parent / "attnbank.duckdb").exists()


@pytest.mark.parametrize(
    "more",
    [
        ["--device", "meta"], ["--device", "abacus"], ["--device", ""],
        ["--device", "cuda:99"], ["--device", "xla"],
        ["--seed", "99999999999999999999", "--limit", "1"], ["--seed", "-1"],
        ["--mask-seed", "99999999999999999999"],
        ["--random-weights", "99999999999999999999"], ["--random-weights", "2147483648"],
        ["--batch-tokens", "99999999999999999999"], ["--max-tokens", "99999999999999999999"],
        ["--limit", "99999999999999999999"], ["--decimals", "99999999999999999999"],
        ["--model", "./nowhere"], ["--model", "a/b/c"], ["--model", ""], ["--model", "a\0b"],
        ["--model", "\udcff"], ["--name", "\udcff"], ["--split", "\udcff"], ["--name", "a\0b"],
        ["--model", "x" * 5000], ["--model", "../" * 2000],
    ],
    ids=lambda more: f"{more[0]} {more[1][:22]}".encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_an_option_that_nothing_can_take(
    corpus: Path, folder: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    model = [] if "--model" in more else ["--model", str(folder)]
    with hostile.nothing_made(corpus.parent):
        hostile.refused(["ingest", str(corpus), *model, *more], capsys, 2)


@pytest.mark.parametrize(
    ("option", "value"), [("random_weights", 2**31 - 1), ("seed", 2**63 - 1), ("seed", 2**40)]
)
def test_the_largest_number_that_it_takes(
    corpus: Path, folder: Path, option: str, value: int, tmp_path: Path
) -> None:
    options: dict[str, Any] = {option: value, "limit": 1}
    report = ingest(IngestOptions((str(corpus),), tmp_path / "b.duckdb", str(folder), **options))
    assert report.state == "new"


@pytest.mark.parametrize("hub", ["closed", "silent", "nowhere", "offline"])
def test_that_a_hub_does_not_answer_is_known_soon(corpus: Path, hub: str) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if hub == "silent":  # connects, and says nothing
            listening.listen()
        place = f"http://127.0.0.1:{listening.getsockname()[1]}"
        env = {
            "HF_ENDPOINT": "http://nowhere.invalid" if hub == "nowhere" else place,
            "HF_HUB_OFFLINE": "1" if hub == "offline" else "0",
        }
        code = (
            "import time; import huggingface_hub;"
            " from attnbank.ingest.models.hub import unreachable;"
            " began = time.monotonic(); print(unreachable()); print(time.monotonic() - began)"
        )
        said = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | env, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
    reason, seconds = said.stdout.splitlines()
    assert reason not in ("", "None")
    assert float(seconds) < 4.5


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["ingest", "dry run"])
def test_a_name_without_a_network_ends_in_two_lines(
    corpus: Path,
    dry: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(corpus.parent / "none"))
    began = time.monotonic()
    with hostile.nothing_made(corpus.parent):
        told = hostile.refused(["ingest", str(corpus), "-m", "no-such-owner/none", *dry], capsys, 2)
    assert "not on this machine" in told and "minilm" in told
    assert time.monotonic() - began < 4.5


@pytest.fixture
def hub(folder: Path) -> Iterator[str]:
    """The address of a hub with one model, `owner/tiny`, which is the folder."""
    commit = "0123456789abcdef0123456789abcdef01234567"

    class Hub(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, *, with_body: bool) -> None:
            *_, name = self.path.partition("?")[0].split("/")
            path = folder / name
            is_file = "/owner/tiny/resolve/" in self.path and path.is_file()
            if is_file:
                body = path.read_bytes()
            elif self.path.startswith("/api/models/owner/tiny") and "/tree/" not in self.path:
                listed = [{"rfilename": each.name} for each in folder.iterdir()]
                body = json.dumps({"id": "owner/tiny", "sha": commit, "siblings": listed}).encode()
            else:
                self.send_response(200 if self.path == "/" else 404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("X-Repo-Commit", commit)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("ETag", f'"{name}-{len(body)}"')
            self.send_header("X-Repo-Commit", commit)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *parts: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_hub_that_answers_is_asked_and_what_was_fetched_is_kept(corpus: Path, hub: str) -> None:
    command = ["ingest", "rain.conllu", "-m", "owner/tiny", "-q"]
    asked = {"HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0"}
    first = hostile.measured(command, corpus.parent, env=asked)
    assert first.status == 0, first.err
    (corpus.parent / "attnbank.duckdb").unlink()
    again = hostile.measured(command, corpus.parent)
    assert again.status == 0, again.err
    gone = hostile.measured([*command[:-2], "owner/none", "-q"], corpus.parent, env=asked)
    assert gone.status == 2
    hostile.check_lines(gone.err.strip().splitlines())


def test_whether_the_hub_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert unreachable() == "HF_HUB_OFFLINE is set"
