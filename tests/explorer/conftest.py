"""A bank with hostile words and names, the explorer on it, and a client that has its token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bank_factory import BankFactory
from explored_pages import Client, exploring

from attnbank.cli.viewer.request import BankCache

ODD = """# newdoc id = <img src=x onerror=alert(2)>
# sent_id = "><script>alert(3)</script>
# speaker = '<b>&
# text = odd
1	<script>alert(1)</script>	x	NOUN	_	_	3	nsubj	_	_
2	&"'	x	CCONJ	_	_	1	cc	_	_
3	שלום	x	VERB	_	_	0	root	_	Entity=(e1-person-1-new)
4	"漢字'	x	NOUN	_	_	3	obj	_	Entity=(e1-person-1-giv)
5	مرحبا	x	NOUN	_	_	4	obj	_	_

"""
PLAIN = """# sent_id = plain-1
1	The	_	_	_	_	_	_	_	_
2	lamp	_	_	_	_	_	_	_	_

"""


@pytest.fixture(scope="session")
def explored(bank_of: BankFactory) -> Path:
    """A bank, not to be written to: two runs over the sample's stories, one of them of pairs.

    Beside them corpora whose words and names are hostile, and one without trees. The heads of the
    pairs have their distances and places.
    """
    bank = bank_of({"<i>odd&'.conllu": ODD})
    bank = bank_of({"plain.conllu": PLAIN}, after=bank, unit="token")
    bank = bank_of("stories", after=bank, context="pair", unit="token", max_tokens=60)
    bank = bank_of("stories", "gpt2", after=bank)
    computed = ("head_distance", "head_embedding --starts 1", "entropy", "attention_tree --run 1")
    return bank_of("stories", after=bank, then=tuple(f"compute {name}" for name in computed))


@pytest.fixture(scope="session")
def runs(explored: Path) -> dict[str, str]:
    """The names of the runs: odd, plain, pair, decoder and single."""
    from attnbank.queries import open_bank

    with open_bank(explored) as bank:
        names = bank.runs()["name"].to_list()
    return dict(zip(("odd", "plain", "pair", "decoder", "single"), names, strict=True))


@pytest.fixture
def cache(explored: Path) -> Iterator[BankCache]:
    """The open bank of an explorer."""
    made = BankCache(explored, 30.0, 1_000_000_000)
    yield made
    made.close()


@pytest.fixture(scope="session")
def client(explored: Path) -> Iterator[Client]:
    """Somebody who has the token; all tests share the pages and what was answered."""
    with exploring(explored) as made:
        yield made
