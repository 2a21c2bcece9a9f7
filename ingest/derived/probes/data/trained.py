"""The input embeddings of the trained model that a run names, for probes with words.

A bank may come from somebody else, and what it says of its model is a name like any other. A hub
name and the packaged minilm are followed; a folder is opened only where the user names it, no code
in it is run, and its weights have to be the ones that the bank has the digest of.
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
    """The matrix of input embeddings [V, D] float32, and the vocabulary, of a run's model.

    `named` is where the user says that the model is: a folder, a hub name or minilm.
    `trust_remote_code` runs Python code that comes with it. Raises CallError for a folder that
    the bank names alone, for a model that cannot be loaded, and for one with other weights.
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
    """Whether a name can only be one of the hub: there is nothing of that name here."""
    return _HUB_NAME.fullmatch(name) is not None and not Path(name).exists()
