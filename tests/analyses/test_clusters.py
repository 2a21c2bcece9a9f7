"""Statistics go by documents where the source marks them, else by sentences, however it is cut."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bank_factory import BankFactory
from oracle_statistics import sign_flips
from polars.testing import assert_frame_equal

from attnbank.queries import Bank, open_bank

BY_CLUSTERS = (
    "head_score", "best_head", "best_head_held_out", "best_head_test", "gold_dependency",
    "entropy", "sink_head", "attention_sink",
)  # fmt: skip
FAR = -30  # an offset at which hardly any head stands


@pytest.fixture(scope="module")
def parts(sample: Path) -> list[str]:
    """Three treebanks of some sentences each, without a newdoc."""
    blocks = [
        "\n".join(
            line
            for line in block.split("\n")
            if not line.startswith(("# newdoc", "# newpar", "# meta", "# global"))
        )
        for block in (sample / "press.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    ]
    return ["\n\n".join(blocks[at::3]) + "\n\n" for at in range(3)]


@pytest.fixture(scope="module")
def banks(parts: list[str], bank_of: BankFactory) -> Iterator[dict[str, Bank]]:
    """The same sentences in one file, in three, as three documents, and one part as a document."""
    marked = [f"# newdoc id = d{at}\n{part}" for at, part in enumerate(parts)]
    texts = {
        "one": {"a.conllu": "".join(parts)},
        "three": {f"{at}.conllu": part for at, part in enumerate(parts)},
        "documents": {"a.conllu": "".join(marked)},
        "mixed": {"0.conllu": parts[0], "1.conllu": marked[1], "2.conllu": parts[2]},
    }
    found = {name: open_bank(bank_of(files)) for name, files in texts.items()}
    yield found
    for bank in found.values():
        bank.close()


@pytest.mark.usual("best_head_held_out", "entropy")
@pytest.mark.parametrize("analysis", BY_CLUSTERS)
def test_one_file_or_three_without_newdoc_give_the_same(
    analysis: str, banks: dict[str, Bank]
) -> None:
    one, three = (
        banks[name].query(analysis).drop("run", "document", strict=False)
        for name in ("one", "three")
    )
    assert one.height > 0
    assert_frame_equal(one, three, rel_tol=1e-12, abs_tol=1e-14)  # threads add up in any order


@pytest.mark.parametrize(
    ("name", "clustered_by"),
    [("one", "sentences"), ("documents", "documents"), ("mixed", "documents and sentences")],
)
def test_what_the_clusters_are(name: str, clustered_by: str, banks: dict[str, Bank]) -> None:
    bank = banks[name]
    pairs = bank.query("gold_dependency").rows(named=True)
    of_cluster = defaultdict(set)
    for pair in pairs:
        is_marked = name == "documents" or (name == "mixed" and pair["document"] == 2)
        unit = "document" if is_marked else "sentence"
        of_cluster[pair["cluster"]].add((unit, pair[unit]))
    assert all(len(units) == 1 for units in of_cluster.values())
    assert len({unit for units in of_cluster.values() for unit in units}) == len(of_cluster)
    for row in bank.query("head_score").rows(named=True):
        assert (row["clusters"], row["clustered_by"]) == (len(of_cluster), clustered_by)
    if name == "mixed":
        (tested,) = bank.query("best_head_test").rows(named=True)
        assert (tested["clusters"], tested["clustered_by"]) == (len(of_cluster), clustered_by)


def test_three_documents_have_no_p_value_and_their_sentences_have(banks: dict[str, Bank]) -> None:
    """Of three documents it would be an eighth at least: each sign is turned, one way of eight."""
    of_documents, of_sentences = (
        {
            (row["layer"], row["head"], row["direction"]): row["p_documents"]
            for row in banks[name].query("head_score", offsets=[FAR]).rows(named=True)
        }
        for name in ("documents", "three")
    )
    assert set(of_documents.values()) == {None}
    (layer, head, direction), p = min(of_sentences.items(), key=lambda item: (item[1], item[0]))
    assert p < 0.125
    other = "most_attended" if direction == "dependent_to_head" else "most_attending"
    differences: Counter[int] = Counter()
    for sentence, is_hit, is_there in (
        banks["three"]
        .sql(
            f"select gold.sentence, peak.{other} = gold.head_position,"
            f" gold.head_position = gold.position + {FAR}"
            " from gold_dependency() as gold inner join peak on peak.sequence = gold.sequence"
            f" and peak.position = gold.position where peak.layer = {layer} and peak.head = {head}"
        )
        .rows()
    ):
        differences[sentence] += bool(is_hit) - bool(is_there)
    assert p == pytest.approx(sign_flips([*differences.values()]), rel=1e-12)


FORMATS = {
    "a.relations": ("Rain 2-nsubj\nfell 0-root\n\n", [False]),
    "b.lines": ("Rain fell .\nIt stopped .\n\n", [False]),
    "c.lines": ("\n\nRain fell .\n\nIt stopped .\n", [True, True]),
    "d.conll": ("#begin document (d); part 000\nd 0 0 Rain NN (7)\n\n#end document\n", [True]),
}
"""Files of other formats, and of each of their documents whether the file marks it."""


def test_what_other_formats_mark(bank_of: BankFactory) -> None:
    texts: list[tuple[dict[str, str], str, dict[str, Any]]] = [
        ({name: text}, "none", {}) for name, (text, _) in FORMATS.items()
    ]
    with open_bank(bank_of.in_turn(*texts)) as bank:
        rows = bank.sql("select corpus, list(marked order by id) from document group by corpus")
    assert dict(rows.rows()) == {
        number: marked for number, (_, marked) in enumerate(FORMATS.values(), start=1)
    }
