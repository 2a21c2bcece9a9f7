"""Confidence, positional, syntactic and rare-word heads equal a slow implementation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import slow_surface as slow

from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.opening import open_to_read

FIGURES = (
    "confidence",
    "positional",
    "offset",
    "rare_word",
    "rare_word_maxima",
    "rare_word_chance",
)


@pytest.mark.parametrize("name", ["sample", "wiki", "bert"])
def test_of_tokens(token_bank: Callable[[str], Path], name: str) -> None:
    columns = ", ".join(f'"{column}"' for column in FIGURES)
    with open_to_read(token_bank(name)) as connection:
        rows = connection.execute(
            f"select layer, head, syntactic, {columns} from head_function()"
        ).fetchall()
        expected = slow.functions(slow.inputs(connection), slow.words(connection))
    assert {row[2] for row in rows} == {None}  # relations are of words
    found = {
        (layer, head, figure): value
        for layer, head, _, *values in rows
        for figure, value in zip(FIGURES, values, strict=True)
    }
    slow.assert_close(found, expected)


def test_relations_found_better_than_their_commonest_offset(tmp_path: Path, sample: Path) -> None:
    path = tmp_path / "bank.duckdb"
    ingest(IngestOptions((str(sample),), path, "minilm"))
    margin, least = 0.1, 10
    with open_to_read(path) as connection:
        found = connection.execute("select layer, head, syntactic from head_function()").fetchall()
        words = connection.execute(
            "select sequence, position, word.index, word.head_index, word.deprel"
            " from position join word on word.id = position.word"
        ).fetchall()
        peaks = connection.execute(
            "select sequence, position, layer, head, most_attended, most_attending from peak"
        ).fetchall()
    gold = {}
    distances: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for sequence, position, index, head_index, deprel in words:
        relation = deprel.split(":")[0]
        if head_index and relation != "punct":
            gold[sequence, position] = (relation, position + head_index - index)
            distances[relation][head_index - index] += 1
    hits: Counter[tuple[int, int, str, str]] = Counter()
    for sequence, position, layer, head, attended, attending in peaks:
        if (sequence, position) in gold:
            relation, place = gold[sequence, position]
            hits[layer, head, relation, "to"] += attended == place
            hits[layer, head, relation, "from"] += attending == place
    expected: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for relation in sorted(distances):
        n = distances[relation].total()
        baseline = max(distances[relation].values()) / n
        for layer in range(1, 7):
            for head in range(1, 13):
                best = max(hits[layer, head, relation, way] for way in ("to", "from")) / n
                if n >= least and best >= baseline + margin:
                    expected[layer, head].append(relation)
    assert len(expected) > 5
    assert {(row[0], row[1]): row[2] for row in found} == {
        (layer, head): ", ".join(expected[layer, head]) or None
        for layer in range(1, 7)
        for head in range(1, 13)
    }
