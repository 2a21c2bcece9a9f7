"""A bank of tiny models over one text: sentences, documents, pairs of tokens, a decoder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bank_factory import BankFactory
from fixture_types import Models
from once import Once

from attnbank.queries import open_bank

ODD = """# newdoc id = odd
# sent_id = <script>alert("x")</script>
# text = odd
1	<script>alert(1)</script>	x	NOUN	_	_	3	nsubj	_	_
2	&	x	CCONJ	_	_	1	cc	_	_
3	שלום)	x	VERB	_	_	0	root	_	Entity=(e1-person-1-new)
4	"漢字'	x	NOUN	_	_	3	obj	_	Entity=(e1-person-1-giv)
5	مرحبا	x	NOUN	_	_	4	nmod:<poss>	_	_

# sent_id = same
1	A	a	DET	_	_	2	det	_	_
2	lamp	lamp	NOUN	_	_	0	root	_	_

"""
PLAIN = """# sent_id = same
1	The	_	_	_	_	_	_	_	_
2	lamp	_	_	_	_	_	_	_	_

# sent_id = long
"""


@pytest.fixture(scope="session")
def shown_bank(once: Once, tiny_model: Models, bank_of: BankFactory) -> Path:
    """A bank of the sample's stories in four runs (see run_names), not to be written to.

    Of odd, and of two of these runs, trees are decoded.

    Beside them corpora odd, whose words are hostile, and bare, which has no trees and a sentence
    of 200 words that only a model of more positions can read.
    """
    words = "".join(
        f"{n}\t{'lamp' if n == 1 else 'the'}\t_\t_\t_\t_\t_\t_\t_\t_\n" for n in range(1, 201)
    )
    bare = {"bare.conllu": f"{PLAIN}{words}\n"}
    longer = once("long", lambda folder: _with_more_positions(tiny_model("bert"), folder))
    bank = bank_of({"odd.conllu": ODD})
    bank = bank_of(bare, longer / "long-bert", after=bank, unit="token")
    bank = bank_of(bare, after=bank, unit="token")
    bank = bank_of("stories", after=bank, context="document", max_tokens=90)
    bank = bank_of("stories", after=bank, context="pair", unit="token", max_tokens=60)
    bank = bank_of("stories", "gpt2", after=bank)
    trees = tuple(f"compute attention_tree --run {run}" for run in (1, 6, 7))
    return bank_of("stories", after=bank, then=trees)


def _with_more_positions(model: Path, home: Path) -> None:
    """A random model like a tiny BERT, for inputs of up to 256 tokens."""
    import torch
    import transformers

    folder = shutil.copytree(model, home / "long-bert")
    config = transformers.AutoConfig.from_pretrained(model)
    config.max_position_embeddings = 256
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.AutoModel.from_config(config).save_pretrained(folder)


@pytest.fixture(scope="session")
def run_names(shown_bank: Path) -> dict[str, str]:
    """The runs over the stories: single, document, pair (of tokens), decoder; and those of bare."""
    with open_bank(shown_bank) as bank:
        names = bank.runs()["name"].to_list()
    keys = ("odd", "long", "short", "document", "pair", "decoder", "single")
    return dict(zip(keys, names, strict=True))
