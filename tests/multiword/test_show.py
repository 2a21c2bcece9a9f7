"""One sentence as it is shown: a row for each word, where its position looks, and its own arc."""

from __future__ import annotations

import json

import pytest
from multiword import trees
from multiword_cases import Case

from attnbank.cli.app import run_command_line


@pytest.mark.slow
def test_a_row_for_each_word(documents: Case, capfd: pytest.CaptureFixture[str]) -> None:
    """Whether a head finds an arc within a position is not asked; of others it is, word by word."""
    judged = {arc.word.place: arc for arc in documents.judged}
    inside = {arc.word.place for arc in documents.inside}
    sentences = documents.rows(
        "select sentence.name, min(word.id) from sentence"
        " inner join word on word.sentence = sentence.id group by all order by 2"
    )
    for name, first in sentences[::3]:
        args = ["-b", str(documents.path), "show", name, "--head", "1-2", "-f", "jsonl"]
        assert run_command_line(args) == 0
        start = first - documents.first_word - 1
        rows = [json.loads(line) for line in capfd.readouterr()[0].splitlines()]
        sentence = documents.corpus.words[start + 1].sentence
        words = [word for word in documents.corpus.words if word.sentence == sentence]
        assert [row["index"] for row in rows] == [each.index for each in words]
        for row in rows:
            place = start + row["index"]
            if place in inside:
                assert row["correct"] is None
                continue
            arc = judged[place]
            input = documents.inputs[arc.input]
            found = trees.found(input, arc, (1, 2, "dependent_to_head"))
            assert row["position"] == arc.position
            assert row["dependent"] == input.positions[arc.position].text
            assert row["looks_at_position"] == found
            assert row["looks_at"] == input.positions[found].text
            assert row["weight"] == pytest.approx(
                float(input.maps[0, 1, arc.position, found]), rel=1e-6
            )
            if arc.gold is not None:
                assert row["correct"] == (found == arc.gold)
                assert row["relation"] == arc.word.relation
