"""A trained decoder over real French text: pieces, weights, and what its heads find."""

from __future__ import annotations

from pathlib import Path

import bounds
import numpy as np
import pytest
import real_models
from multiword import trees
from multiword_cases import Case, Make

pytestmark = pytest.mark.slow

SENTENCES = 13  # the last has a dependency within a multiword token


@pytest.fixture(scope="module")
def french(read: Make, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = real_models.get("smollm2")
    if folder is None:
        pytest.skip("smollm2 is not here")
    source = tmp_path_factory.mktemp("french") / "fr-dev.conllu"
    text = (corpora / "fr-dev.conllu").read_text(encoding="utf-8").split("\n\n")
    source.write_text("\n\n".join(text[:SENTENCES]) + "\n\n", encoding="utf-8")
    return read(source, folder, "written", "sentence", "--first-word", "word")


def test_pieces(french: Case) -> None:
    rows = french.rows(
        "select sequence, text, pieces, last_word is not null from position"
        " order by sequence, position"
    )
    found: dict[int, list[tuple[str, list[str], bool]]] = {}
    for sequence, *row in rows:
        found.setdefault(sequence, []).append(tuple(row))
    for sequence, input in zip(french.sequences, french.inputs, strict=True):
        assert found[sequence] == [
            (position.text, position.pieces, len(position.words) > 1)
            for position in input.positions
        ]


def test_weights(french: Case) -> None:
    """Of every third sentence, as a pass takes long."""
    chosen = french.inputs[::3]
    model = french.model
    allowed = bounds.attention(model.module, [model.tensors(each.ids) for each in chosen])
    for each in chosen:
        own = model.read((each.positions, each.ids))
        longest = max(len(position.tokens) for position in each.positions)
        assert np.abs(own.maps - each.maps).max() <= allowed * longest


def test_heads(french: Case) -> None:
    expected = trees.accuracy(french.judged, french.inputs, causal=True)
    found = {
        (row["relation"], (row["layer"], row["head"], row["direction"])): (row["correct"], row["n"])
        for row in french.query("head_accuracy")
    }
    assert found == expected
    assert len(french.inside) == french.rows("select count(*) from inner_dependency")[0][0] > 0
