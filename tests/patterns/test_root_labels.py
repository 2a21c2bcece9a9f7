"""Labels that fit the edge to a root, however the request says so and the corpus writes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bank_factory import BankFactory

from attnbank.queries import open_bank

ROOTS = ("root", "ROOT", "root:x", "Root:exroot")
"""How each sentence calls the relation of its root, in the tree."""
ENHANCED_ROOTS = ("root", "parataxis", "root:x", "root")
"""How its enhanced graph does, where any label may stand."""
LABELS = {  # what a label must be, in full
    "root": r"root",
    "ROOT|root:x": r"ROOT|root:x",
    "^root": r"(?!root$).*",
    're"root"': r"root",
    're"root.*"': r"root.*",
    're"ro\\(ot\\|pe\\).*"': r"ro(ot|pe).*",
    're".*t"': r".*t",
    're".*x"': r".*x",
    're".*oo.*"': r".*oo.*",
    're"R.*"': r"R.*",
    're".*"': r".*",
    're"nsubj"': r"nsubj",
    "1=root": r"root(:.*)?",
    "1=root, 2=x": r"root:x",
    "2=exroot": r"[^:]*:exroot",
    "1<>root": r"(?!root(:|$)).*",
    "1=root, !2": r"root",
}
ENHANCED = {
    "E:root": r"E:root",
    "E:root|E:parataxis": r"E:(root|parataxis)",
    're"E:root"': r"E:root",
    're"E:.*"': r"E:.*",
    're"E:r.*"': r"E:r.*",
    're"E:ro.*"': r"E:ro.*",
    're"E:\\(root\\|nsubj\\)"': r"E:(root|nsubj)",
    're"E:.*oo.*"': r"E:.*oo.*",
    're"E:nsubj"': r"E:nsubj",
}


@pytest.fixture(scope="module")
def bank(bank_of: BankFactory) -> Path:
    blocks = (
        f"# sent_id = s{at}\n"
        "1\tRain\train\tNOUN\t_\t_\t2\tnsubj\t2:nsubj\t_\n"
        f"2\tfell\tfall\tVERB\t_\t_\t0\t{root}\t0:{enhanced}\t_\n\n"
        for at, (root, enhanced) in enumerate(zip(ROOTS, ENHANCED_ROOTS, strict=True))
    )
    return bank_of({"roots.conllu": "".join(blocks)}, "none")


def _edges(is_wanted: Callable[[str], object], prefix: str, roots: tuple[str, ...]) -> int:
    return sum(bool(is_wanted(prefix + label)) for root in roots for label in (root, "nsubj"))


@pytest.mark.filterwarnings("ignore:No ")
def test_every_edge_that_fits_is_a_hit(bank: Path) -> None:
    with open_bank(bank) as opened:
        for label, pattern in LABELS.items():
            hits = opened.find(f"pattern {{ X -[{label}]-> Y }}").height
            assert hits == _edges(re.compile(pattern).fullmatch, "", ROOTS), label
        for label, pattern in ENHANCED.items():
            hits = opened.find(f"pattern {{ X -[{label}]-> Y }}").height
            assert hits == _edges(re.compile(pattern).fullmatch, "E:", ENHANCED_ROOTS), label
