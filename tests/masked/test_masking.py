"""BERT's masking: how many tokens, which, what stands in their place, and under which seed."""

from __future__ import annotations

from collections import Counter

import oracle_masked_lm as slow
import pytest
from fixture_types import Models
from hypothesis import given
from hypothesis import strategies as st

from attnbank.ingest.losses.masked import InputMask, Masking
from attnbank.ingest.models import loading
from attnbank.ingest.models.tokenizer import Encoded, Position

pytestmark = pytest.mark.usefixtures("one_thread")

CLS, SEP, MASK, UNKNOWN, FIRST, LAST = 0, 1, 2, 3, 10, 1009
MASKING = Masking(0, MASK, frozenset({CLS, SEP, MASK}), tuple(range(FIRST, LAST + 1)))


def encoded(*words: int) -> Encoded:
    """[CLS], a token for each word, [SEP]."""
    ids = (CLS, *words, SEP)
    kinds = ["cls", *["token"] * len(words), "sep"]
    positions = [
        Position(kind, None if kind != "token" else at - 1, str(id), at, at + 1)
        for at, (id, kind) in enumerate(zip(ids, kinds, strict=True))
    ]
    return Encoded(ids, (0,) * len(ids), tuple(map(str, ids)), tuple(positions))


ENCODED = st.lists(st.integers(FIRST, LAST), min_size=1, max_size=126).map(
    lambda words: encoded(*words)
)


@given(ENCODED)
def test_fifteen_percent_are_masked_and_at_least_one(one: Encoded) -> None:
    masked = MASKING.draw_mask(one)
    share = 0.15 * len(one.ids)
    assert len(masked.tokens) == min(len(one.ids) - 2, max(1, round(share)))
    assert list(masked.tokens) == sorted(set(masked.tokens))


@given(ENCODED)
def test_special_tokens_are_neither_masked_nor_put_in_for_others(one: Encoded) -> None:
    masked = MASKING.draw_mask(one)
    assert not {0, len(one.ids) - 1} & set(masked.tokens)
    assert masked.target == tuple(one.ids[token] for token in masked.tokens)
    assert {CLS, SEP, UNKNOWN}.isdisjoint(masked.input_ids)


def test_a_special_token_that_the_text_spells_is_not_masked_but_an_unknown_word_is() -> None:
    assert MASKING.draw_mask(encoded(SEP, MASK, 20)).tokens == (3,)
    assert MASKING.draw_mask(encoded(UNKNOWN)) == InputMask(
        (1,), MASKING.draw_mask(encoded(UNKNOWN)).input_ids, (3,)
    )
    assert MASKING.draw_mask(encoded(SEP, MASK)).tokens == ()


def test_eighty_percent_become_the_mask_ten_another_token_and_ten_stay() -> None:
    result: Counter[str] = Counter()
    places: Counter[int] = Counter()
    for start in range(2000):
        one = encoded(*(FIRST + (start * 7 + at * 13) % 1000 for at in range(38)))
        masked = MASKING.draw_mask(one)
        places.update(masked.tokens)
        for seen, target in zip(masked.input_ids, masked.target, strict=True):
            result["mask" if seen == MASK else "same" if seen == target else "other"] += 1
    total = result.total()
    assert total == 2000 * 6
    # Five standard errors of a share; a random token is the same one in a thousand times.
    assert result["mask"] / total == pytest.approx(0.8, abs=0.019)
    assert result["same"] / total == pytest.approx(0.1, abs=0.014)
    assert result["other"] / total == pytest.approx(0.1, abs=0.014)
    assert set(places) == set(range(1, 39))
    assert max(places.values()) - min(places.values()) < 0.45 * total / 38


@given(ENCODED, st.integers(0, 5))
def test_the_seed_and_the_tokens_decide_and_nothing_else(one: Encoded, seed: int) -> None:
    here = Masking(seed, MASK, MASKING.never_masked, MASKING.vocabulary)
    MASKING.draw_mask(encoded(11, 12, 13))  # whatever was masked before
    copy = Encoded(one.ids, one.segments, one.pieces, one.positions)
    assert here.draw_mask(one) == here.draw_mask(copy)


def test_another_seed_and_another_text_give_another_mask() -> None:
    text = encoded(*range(20, 120))
    seeds = {
        Masking(seed, MASK, MASKING.never_masked, MASKING.vocabulary).draw_mask(text)
        for seed in range(20)
    }
    assert len(seeds) == 20
    texts = {MASKING.draw_mask(encoded(first, *range(21, 120))).tokens for first in range(200, 220)}
    assert len(texts) == 20


def test_the_masks_of_a_seed_stay_what_they_are() -> None:
    # Figures in people's banks hang on these draws: a change of them is a change of results.
    assert MASKING.draw_mask(encoded(*range(20, 58))) == InputMask(
        tokens=(4, 9, 25, 27, 32, 37),
        input_ids=(MASK, MASK, MASK, 372, MASK, MASK),
        target=(23, 28, 44, 46, 51, 56),
    )


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_model_says_which_tokens_are_special(tiny_masked_lm: Models, kind: str) -> None:
    model = loading.load(str(tiny_masked_lm(kind)), head="masked")
    masking = Masking.of_model(model, 0)
    tokenizer, _ = slow.load(tiny_masked_lm(kind))
    names = tokenizer.convert_ids_to_tokens
    assert names(masking.mask_token) == tokenizer.mask_token
    special = {"[PAD]", "[CLS]", "[SEP]", "[MASK]", "<s>", "<pad>", "</s>", "<mask>"}
    unknown = {"[UNK]", "<unk>"}
    assert {names(each) for each in masking.never_masked} == set(tokenizer.get_vocab()) & special
    others = {names(each) for each in masking.vocabulary}
    assert others == set(tokenizer.get_vocab()) - special - unknown
