"""The offset baseline equals a loop over the trees, clamped as in the published code or not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import oracle_reference as slow
import pytest
from bank_factory import BankFactory
from bank_rows import query_bank

OFFSETS = (-5, -3, -2, -1, 0, 1, 2, 3, 7)


@pytest.fixture(scope="module", params=["sentence", "document"])
def bank(request: pytest.FixtureRequest, bank_of: BankFactory) -> Path:
    return bank_of("sample", context=request.param)


@pytest.mark.slow
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("possessive", [False, True])
def test_on_the_sample(bank: Path, sample: Path, clamped: bool, possessive: bool) -> None:
    """In documents, too, an offset ends at the edges of the sentence."""
    trees = slow.trees(sorted(sample.glob("*.conllu")))
    rows = query_bank(
        bank,
        'select relation, "offset", correct, n from offset_baseline(offsets := $offsets,'
        " clamped := $clamped, possessive := $possessive, run := '1')",
        {"offsets": list(OFFSETS), "clamped": clamped, "possessive": possessive},
    )
    counts = {(row[0], row[1]): (row[2], row[3]) for row in rows}
    assert counts == _expected(trees, clamped=clamped, possessive=possessive)
    # Roots are among the first words, and some heads come last.
    for relation, offset in (("all", -3), ("punct", 7)):
        plain = _expected(trees, clamped=False, possessive=possessive)[relation, offset]
        assert clamped == (counts[relation, offset] > plain)


def _expected(
    trees: list[slow.Tree], *, clamped: bool, possessive: bool
) -> dict[tuple[str, int], tuple[int, int]]:
    """(correct, n) by relation and offset, a word at a time; 0 is the root."""
    correct: Counter[tuple[str, int]] = Counter()
    total: Counter[tuple[str, int]] = Counter()
    for tree in trees:
        length = len(tree.words)
        for word in range(length):
            judged = (slow.judged_at(tree, word) if possessive else word) + 1
            names = ["all"] if tree.heads[word] == 0 else ["all", tree.relations[word]]
            for offset in OFFSETS:
                guess: int | None = judged + offset
                assert guess is not None
                if clamped:
                    guess = max(0, min(guess, length))
                elif not 1 <= guess <= length:
                    guess = None
                for name in names:
                    key = (name.split(":")[0], offset)
                    total[key] += 1
                    correct[key] += guess == tree.heads[word]
    return {key: (correct[key], n) for key, n in total.items()}
