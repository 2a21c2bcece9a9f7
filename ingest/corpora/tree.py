"""Checks that the heads of a sentence form a tree."""

from __future__ import annotations

from collections.abc import Sequence


def tree_fault(heads: Sequence[int]) -> tuple[str, int, str] | None:
    """Find the first fault of a tree.

    Args:
        heads: for each word the 1-based index of its head, 0 for the root; not negative.

    Returns:
        None for a tree; else the fault's id, the 1-based index of a word at fault, and the fact.

    """
    count = len(heads)
    if max(heads) > count:
        word = next(i for i, head in enumerate(heads, start=1) if head > count)
        return "head-out-of-range", word, f"head {heads[word - 1]} in a sentence of {count} words"
    for word, head in enumerate(heads, start=1):
        if word == head:
            return "head-self", word, f"word {word} is its own head"
    roots = heads.count(0)
    if roots == 0:
        return "no-root", 1, "no word has head 0"
    if roots > 1:
        both = [i for i, head in enumerate(heads, start=1) if head == 0]
        listed = ", ".join(map(str, both))
        return "two-roots", both[1], f"words {listed} all have head 0"
    # Climb from each word until the root or a word of an earlier climb: every word is met once.
    climb = [0] * (count + 1)
    climb[0] = -1
    for start in range(1, count + 1):
        word = start
        while not climb[word]:
            climb[word] = start
            word = heads[word - 1]
        if climb[word] == start:
            return "cycle", word, f"the heads of word {word} lead back to it: {_cycle(heads, word)}"
    return None


def _cycle(heads: Sequence[int], word: int) -> str:
    path = [word, heads[word - 1]]
    while path[-1] != word:
        path.append(heads[path[-1] - 1])
    return " -> ".join(map(str, path))
