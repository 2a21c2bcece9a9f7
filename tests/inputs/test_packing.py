"""Packing: every sentence ends in one input or is left out with its reason, and inputs are full.

The reference packs sentences in another way than the package: by documents held in memory, trying
every length from scratch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import planning
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbank.ingest.candidate_inputs import Draft, Skip, Span, TokenisedSentence
from attnbank.ingest.models.tokenizer import Piece
from attnbank.ingest.options import MINILM
from attnbank.ingest.planning import (
    TokenBudget,
    document_drafts,
    pair_drafts,
    sentence_drafts,
)

# Exact inputs of a text that anyone can pack by hand.


def test_document_inputs_by_hand(tmp_path: Path) -> None:
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path)) as connection:

        def inputs(max_tokens: int, **options: Any) -> list[str]:
            return planning.made_of(
                planning.plan(
                    connection, MINILM, context="document", max_tokens=max_tokens, **options
                )
            )

        first, second, third = "rain fell .", "the dogs barked .", "it stopped ."
        assert inputs(128) == [
            f"[CLS] {first} {second} {third} [SEP]",
            "[CLS] a door closed . [SEP]",
        ]
        assert inputs(12) == inputs(128)  # exactly full
        assert inputs(11) == [
            f"[CLS] {first} {second} [SEP]",
            f"[CLS] {third} [SEP]",
            "[CLS] a door closed . [SEP]",
        ]
        assert inputs(6) == [
            f"[CLS] {first} [SEP]",
            f"[CLS] {second} [SEP]",
            f"[CLS] {third} [SEP]",
            "[CLS] a door closed . [SEP]",
        ]
        assert inputs(11, truncate=True) == [
            f"[CLS] {first} {second} [SEP]",
            "[CLS] a door closed . [SEP]",
        ]
        assert inputs(5) == [f"[CLS] {first} [SEP]", f"[CLS] {third} [SEP]"]


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path)) as connection:

        def left_out(**options: Any) -> list[tuple[str, str, str]]:
            batches = planning.plan(connection, MINILM, context="document", **options)
            skips = sorted((s for b in batches for s in b.skips), key=lambda s: s.sentence)
            return [(skip.place.rsplit("/", 1)[-1], skip.reason, skip.detail) for skip in skips]

        assert left_out(max_tokens=5) == [
            ("story.txt:2", "too-long", "6 tokens, more than 5"),
            ("story.txt:5", "too-long", "6 tokens, more than 5"),
        ]
        cut = "the document is cut after its first input"
        assert left_out(max_tokens=11, truncate=True) == [("story.txt:3", "truncated", cut)]
        assert left_out(max_tokens=5, truncate=True) == [
            ("story.txt:2", "too-long", "6 tokens, more than 5"),
            ("story.txt:3", "truncated", cut),
            ("story.txt:5", "too-long", "6 tokens, more than 5"),
        ]


def test_words_and_positions_of_a_document_input(tmp_path: Path) -> None:
    """Words are numbered on through the sentences, and their pieces stay together."""
    text = "Rain unbelievably fell.\nThe dogs barked.\n"
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path, text)) as connection:
        (batch,) = planning.plan(connection, MINILM, context="document", unit="word")
        (one,) = batch.inputs
        assert one.words == (1, 2, 3, 4, 5, 6, 7, 8)
        assert [position.text for position in one.encoded.positions] == [
            "[CLS]", "Rain", "unbelievably", "fell", ".", "The", "dogs", "barked", ".", "[SEP]",
        ]  # fmt: skip
        split = one.encoded.positions[2]
        assert split.end - split.start > 1
        assert [position.word for position in one.encoded.positions] == [None, *range(8), None]
        assert {position.segment for position in one.encoded.positions} == {0}
        assert [sentence.id for sentence in one.sentences] == [1, 2]


# The contexts against slow references, on any lengths.

Lengths = list[list[tuple[int, int]]]  # of each document's sentences: opening and following


@st.composite
def corpora_of_lengths(draw: st.DrawFn) -> Lengths:
    """Documents of sentences: (pieces at the start of an input, pieces elsewhere); 0: unusable."""
    sentence = st.one_of(
        st.just((0, 0)),
        st.tuples(st.integers(1, 6), st.integers(0, 1)).map(lambda pair: (pair[0], sum(pair))),
    )
    return draw(st.lists(st.lists(sentence, min_size=1, max_size=9), max_size=4))


def sentences(lengths: Lengths) -> list[TokenisedSentence]:
    found: list[TokenisedSentence] = []
    for document, sizes in enumerate(lengths, start=1):
        for index, (opening, following) in enumerate(sizes, start=1):
            id = len(found) + 1

            def pieces(count: int, id: int = id) -> tuple[Piece, ...]:
                return tuple(Piece(1000 * id + at, "x", at) for at in range(count))

            fault = None if opening else Skip(id, None, "", "no-pieces", "")
            found.append(
                TokenisedSentence(
                    id=id, document=70 + document, document_index=document, index=index,
                    name=None, place="",
                    spans=tuple(Span(at, at, "x", True) for at in range(following)),
                    opening=pieces(opening), following=pieces(following), fault=fault,
                )
            )  # fmt: skip
    return found


def results(items: Any) -> tuple[list[tuple[int, ...]], dict[int, str]]:
    """The sentences of each input, and the reason of each sentence left out."""
    inputs: list[tuple[int, ...]] = []
    reasons: dict[int, str] = {}
    for item in items:
        if isinstance(item, Draft):
            inputs.append(tuple(sentence.id for sentence in item.sentences))
            skips: tuple[Skip, ...] = item.cut
        else:
            skips = (item,)
        for skip in skips:
            assert skip.sentence not in reasons
            reasons[skip.sentence] = skip.reason
    return inputs, reasons


def slow_documents(
    lengths: Lengths, room: int, first_only: bool
) -> tuple[list[tuple[int, ...]], dict[int, str]]:
    inputs: list[tuple[int, ...]] = []
    reasons: dict[int, str] = {}
    number = 0
    for sizes in lengths:
        ids = list(range(number + 1, number + 1 + len(sizes)))
        number += len(sizes)
        mine: list[tuple[int, ...]] = []
        at = 0
        while at < len(sizes):
            if not 0 < sizes[at][0] <= room:
                reasons[ids[at]] = "too-long" if sizes[at][0] else "no-pieces"
                at += 1
                continue
            best = at + 1
            for end in range(at + 1, len(sizes) + 1):
                inside = sizes[at:end]
                usable = all(0 < opening <= room for opening, _ in inside)
                if usable and inside[0][0] + sum(each for _, each in inside[1:]) <= room:
                    best = end
            mine.append(tuple(ids[at:best]))
            at = best
        if first_only:
            reasons.update((id, "truncated") for later in mine[1:] for id in later)
            mine = mine[:1]
        inputs += mine
    return inputs, reasons


@pytest.mark.slow
@settings(max_examples=300)
@given(corpora_of_lengths(), st.integers(1, 12), st.booleans())
def test_documents_are_packed_as_by_the_oracle(
    lengths: Lengths, room: int, first_only: bool
) -> None:
    drafts = document_drafts(sentences(lengths), TokenBudget(room + 2, 2), first_only=first_only)
    found = results(drafts)
    assert found == slow_documents(lengths, room, first_only)


@settings(max_examples=40)
@given(corpora_of_lengths(), st.integers(2, 20), st.integers(0, 3), st.booleans())
def test_every_sentence_is_accounted_for_once_in_any_context(
    lengths: Lengths, room: int, seed: int, flag: bool
) -> None:
    every = sorted(sentence.id for sentence in sentences(lengths))
    single, pair = TokenBudget(room + 2, 2), TokenBudget(room + 3, 3)
    for most, found in (
        (single, sentence_drafts(iter(sentences(lengths)), single)),
        (single, document_drafts(iter(sentences(lengths)), single, first_only=flag)),
        (pair, pair_drafts(iter(sentences(lengths)), pair, seed=seed, parted=flag)),
    ):
        drafts = list(found)
        inputs, reasons = results(drafts)
        assert sorted([id for each in inputs for id in each] + list(reasons)) == every
        for draft in drafts:
            if isinstance(draft, Draft):
                assert draft.tokens <= most.max_tokens
                assert all(draft.segments)
                assert len({sentence.document for sentence in draft.sentences}) == 1
                owners = [each.id for segment in draft.segments for each, _ in segment]
                assert owners == sorted(owners)
                assert set(owners) == {sentence.id for sentence in draft.sentences}
