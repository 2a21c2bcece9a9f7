"""The input embeddings of the trained model of a run, for probes with words.

A bank may come from somebody else, so the name of its model cannot be trusted. A hub name and the
packaged minilm are loaded; a folder is opened only if the user names it. No code of the model is
run unless the user says so, and if the bank has the digest of the trained weights, the model must
have these weights.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnbank.ingest.derived.probes.data.runs import ProbeRun
from attnbank.sql.errors import AttnbankError, CallError
from attnbank.sql.extras import need

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_OTHERWISE = (
    "Name the folder of the model (--model FOLDER), check the network, or use other embeddings"
    " (a GloVe or word2vec text file)."
)


def input_embeddings(
    run: ProbeRun, named: str | None = None, *, trust_remote_code: bool = False
) -> tuple[NDArray[np.float32], dict[str, int]]:
    """The input embeddings [V, D] float32 of a run's model, and its vocabulary (ids by token).

    `named` is where the model is, if the user says so: a folder, a hub name or minilm.
    `trust_remote_code` runs Python code that comes with it. Raises CallError for a folder that only
    the bank names, for a model that cannot be loaded, and for one with other weights.
    """
    need("Reading the embeddings of a model", "transformers")
    from attnbank.ingest.models.loading import MINILM, load

    name = run.model if named is None else named
    if named is None and name != MINILM and not _is_hub_name(name):
        raise CallError(
            f"The run {run.name} was made with a model in the folder {name}, and no folder is"
            " opened because a bank names it.",
            "Name it yourself (--model FOLDER), or give other word vectors (--embeddings FILE).",
        )
    revision = None if name == MINILM or Path(name).is_dir() else run.revision
    try:
        model = load(name, revision=revision, device="cpu", trust_remote_code=trust_remote_code)
    except AttnbankError as error:
        remedy = error.remedy if "trust-remote-code" in error.remedy else _OTHERWISE
        fact = f"The embeddings of {name} cannot be loaded: {error.fact}"
        raise CallError(fact, remedy) from error
    if run.trained_sha256 is not None and model.facts.sha256 != run.trained_sha256:
        raise CallError(
            f"The model {name} is not the one that {run.name} was made with: its weights differ.",
            "Name the right one (--model FOLDER), or give other word vectors (--embeddings FILE).",
        )
    weight = model.module.get_input_embeddings().weight
    return weight.detach().float().numpy(), model.input_tokenizer.tokenizer.get_vocab(
        with_added_tokens=True
    )


def _is_hub_name(name: str) -> bool:
    """Whether a name must be one of the hub: it has the form, and nothing here has that name."""
    return _HUB_NAME.fullmatch(name) is not None and not Path(name).exists()
