"""Antecedents among mentions that stand where their head words do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from multiword.passes import Input
from multiword.text import Corpus, Mention
from multiword.trees import places


@dataclass
class Judged:
    """A mention with an antecedent in its input, and the earlier mentions, nearest first."""

    input: int
    mention: Mention
    candidates: list[Mention]
    stands: dict[int, int]

    def at(self, mention: Mention) -> int:
        return self.stands[mention.head]

    @property
    def right(self) -> set[int]:
        """The positions of the head words of its antecedents."""
        return {self.at(each) for each in self.candidates if each.entity == self.mention.entity}


def judged(corpus: Corpus, inputs: Sequence[Input]) -> list[Judged]:
    """The mentions of the inputs that have an antecedent there, with their candidates."""
    result = []
    for number, input in enumerate(inputs):
        stands = places(input)
        inside = [each for each in corpus.mentions if each.head in stands]
        for mention in inside:
            candidates = []
            for each in inside:
                starts_before = each.first < mention.first
                if starts_before and stands[each.head] != stands[mention.head]:
                    candidates.append(each)
            candidates.sort(key=lambda each: (each.first, each.last), reverse=True)
            if any(each.entity == mention.entity for each in candidates):
                result.append(Judged(number, mention, candidates, stands))
    return result


def predictions(
    found: Sequence[Judged], inputs: Sequence[Input], candidates: str = "mentions"
) -> dict[tuple[tuple[int, int, str], int, int], int | None]:
    """The position that each head takes, by mention, layer and head; the leftmost of equals.

    `candidates`: the positions of earlier mentions, or all other positions of words.
    """
    taken: dict[tuple[tuple[int, int, str], int, int], int | None] = {}
    layers, numbers = inputs[0].maps.shape[:2]
    for each in found:
        own = each.at(each.mention)
        among = sorted({each.at(candidate) for candidate in each.candidates})
        if candidates == "words":
            among = [at for at in inputs[each.input].word_positions if at != own]
        for layer in range(layers):
            for number in range(numbers):
                row = inputs[each.input].maps[layer, number, own].tolist()
                best: int | None = None
                for at in among:
                    if row[at] > (0.0 if best is None else row[best]):
                        best = at
                taken[each.mention.key, layer + 1, number + 1] = best
    return taken


def accuracy(
    found: Sequence[Judged], inputs: Sequence[Input], candidates: str = "mentions"
) -> dict[tuple[int, int, str], tuple[int, int]]:
    """(correct, n) by (layer, head, kind), `all` included."""
    of = {each.mention.key: each for each in found}
    right: Counter[tuple[int, int, str]] = Counter()
    total: Counter[tuple[int, int, str]] = Counter()
    for (key, layer, head), at in predictions(found, inputs, candidates).items():
        for kind in ("all", of[key].mention.kind):
            total[layer, head, kind] += 1
            right[layer, head, kind] += at in of[key].right
    return {key: (right[key], n) for key, n in total.items()}


def baselines(corpus: Corpus, each: Judged) -> dict[str, Mention | None]:
    """The mention that is nearest, and the nearest with the same head word."""
    form = corpus.words[each.mention.head].form.lower()
    same = [other for other in each.candidates if corpus.words[other.head].form.lower() == form]
    return {"nearest": each.candidates[0], "head_match": same[0] if same else None}


def baseline_accuracy(
    corpus: Corpus, found: Sequence[Judged]
) -> dict[tuple[str, str], tuple[int, int]]:
    """(correct, n) by (baseline, kind): right where an antecedent stands, as heads are judged."""
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for each in found:
        for name, taken in baselines(corpus, each).items():
            for kind in ("all", each.mention.kind):
                total[name, kind] += 1
                right[name, kind] += taken is not None and each.at(taken) in each.right
    return {key: (right[key], n) for key, n in total.items()}


def same_text(corpus: Corpus, one: Mention, other: Mention) -> bool:
    """Whether all words of two mentions are the same but for case."""
    texts = [
        [word.form.lower() for word in corpus.words[each.first : each.last + 1]]
        for each in (one, other)
    ]
    return texts[0] == texts[1]
