"""What a position is: pieces, words, the weights between positions and the largest of them."""

from __future__ import annotations

import bounds
import numpy as np
import pytest
from multiword_cases import Case


def _check_pieces(case: Case) -> None:
    rows = case.rows(
        "select position.sequence, position.kind, position.text, position.pieces,"
        " position.word - $first, position.last_word - $first from position"
        " order by position.sequence, position.position",
        first=case.first_word,
    )
    expected = [
        (
            sequence,
            position.kind,
            position.text,
            position.pieces,
            min(position.words, default=None),
            max(position.words) if len(position.words) > 1 else None,
        )
        for sequence, input in zip(case.sequences, case.inputs, strict=True)
        for position in input.positions
    ]
    assert rows == sorted(expected, key=lambda row: row[0])


def test_pieces_and_words(case: Case) -> None:
    _check_pieces(case)


def test_pieces_and_words_of_documents(documents: Case) -> None:
    _check_pieces(documents)


def _check_weights(case: Case) -> None:
    """The weights of the bank are those of a pass over one input at a time, but for rounding."""
    inputs = [case.model.tensors(input.ids) for input in case.inputs]
    allowed = bounds.attention(case.model.module, inputs)
    for mine, theirs in zip(case.own(), case.inputs, strict=True):
        longest = max(len(position.tokens) for position in mine.positions)
        assert np.abs(mine.maps - theirs.maps).max() <= allowed * longest


def _check_peaks(case: Case) -> None:
    rows = case.rows(
        "select sequence, list([coalesce(most_attended, -1), coalesce(most_attending, -1)]"
        " order by layer, head, position) from peak group by sequence"
    )
    of = dict(rows)
    for sequence, input in zip(case.sequences, case.inputs, strict=True):
        words = input.word_positions
        expected = np.stack([input.attended[:, :, words], input.attending[:, :, words]], axis=-1)
        assert of[sequence] == expected.reshape(-1, 2).tolist()


@pytest.mark.slow
def test_weights_between_positions(case: Case) -> None:
    _check_weights(case)


def test_the_largest_weights(case: Case) -> None:
    _check_peaks(case)


def test_weights_within_documents(documents: Case) -> None:
    _check_weights(documents)
    _check_peaks(documents)


@pytest.mark.slow
def test_pieces_of_tokens(tokens: Case) -> None:
    """Each piece has the words of its token; its kind is token."""
    rows = tokens.rows(
        "select sequence, kind, text, pieces, word - $first, last_word - $first from position"
        " order by sequence, position",
        first=tokens.first_word,
    )
    expected = [
        (
            sequence,
            "token" if position.words else position.kind,
            position.text,
            position.pieces,
            min(position.words, default=None),
            max(position.words) if len(position.words) > 1 else None,
        )
        for sequence, input in sorted(
            zip(tokens.sequences, tokens.inputs, strict=True), key=lambda pair: pair[0]
        )
        for position in input.positions
    ]
    assert rows == expected
    _check_weights(tokens)
