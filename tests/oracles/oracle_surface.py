"""The measures of the paper's section 3 the slow, obvious way: loops over whole attention maps.

So are those of Kovaleva et al. 2019, Voita et al. 2019 and the paper's section 6. It was written
apart from the package: it reads only maps, tokens and words from a bank, finds special tokens and
punctuation by their spelling, and takes means with plain loops.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import bounds
import numpy as np
from oracle_maps import maps_of

Key = tuple[Any, ...]

CLS = {"[CLS]", "<s>"}
SEP = {"[SEP]", "</s>"}


@dataclass
class Input:
    """One input: its tokens and its maps [L, H, n, n], from a token to a token."""

    tokens: list[str]
    maps: np.ndarray
    words: list[int | None] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)

    def role(self, at: int) -> str:
        token = self.tokens[at].lstrip("Ġ▁").removeprefix("##")
        if token in CLS:
            return "cls"
        if token in SEP:
            return "sep"
        return "punctuation" if token in (".", ",") else "other"


def inputs(connection: Any, run: int = 1, table: str = "attention") -> list[Input]:
    """The inputs of a run with their maps, or for table gradient with their gradients."""
    found = []
    rows = connection.execute("select id from sequence where run = ? order by id", [run])
    for (sequence,) in rows.fetchall():
        positions = connection.execute(
            "select text, word, segment from position where sequence = ? order by position",
            [sequence],
        ).fetchall()
        texts, words_, segments = (list(column) for column in zip(*positions, strict=True))
        found.append(Input(texts, maps_of(connection, sequence, table), words_, segments))
    return found


def mean_of_means(per_input: Iterable[dict[Key, float]]) -> dict[Key, float]:
    """The mean of each key over the inputs that have it."""
    values: defaultdict[Key, list[float]] = defaultdict(list)
    for one in per_input:
        for key, value in one.items():
            values[key].append(value)
    return {key: float(np.mean(each)) for key, each in values.items()}


def heads(one: Input) -> Iterable[tuple[int, int, np.ndarray]]:
    """Layer, head (from 1) and map [n, n] of every head."""
    for layer, maps in enumerate(one.maps):
        for head, each in enumerate(maps):
            yield layer + 1, head + 1, each


def offsets(found: Iterable[Input], tried: Iterable[int]) -> dict[Key, float]:
    """Mean weight by (layer, head, offset): the sum of the diagonal over the input's length.

    By (layer, head, offset, "present") it is divided by the number of weights instead.
    """
    tried = list(tried)
    per_input = []
    for one in found:
        values: dict[Key, float] = {}
        for layer, head, weights in heads(one):
            n = len(weights)
            for offset in tried:
                on = [weights[i, i + offset] for i in range(n) if 0 <= i + offset < n]
                values[layer, head, offset] = sum(on) / n
                if on:
                    values[layer, head, offset, "present"] = sum(on) / len(on)
        per_input.append(values)
    return mean_of_means(per_input)


def special_tokens(found: Iterable[Input]) -> dict[Key, float]:
    """Mean weight by (layer, head, target), and the chance level of each target."""
    per_input = []
    for one in found:
        n = len(one.tokens)
        roles = [one.role(at) for at in range(n)]
        values: dict[Key, float] = {}
        for layer, head, weights in heads(one):
            for role in ("cls", "sep", "punctuation", "other"):
                on = sum(weights[i, j] for i in range(n) for j in range(n) if roles[j] == role)
                values[layer, head, role] = on / n
                values[layer, head, f"{role}_chance"] = roles.count(role) / n
            seps = [at for at in range(n) if roles[at] == "sep"]
            rest = [at for at in range(n) if roles[at] != "sep"]
            values[layer, head, "sep_to_sep"] = weights[np.ix_(seps, seps)].sum() / len(seps)
            values[layer, head, "other_to_sep"] = weights[np.ix_(rest, seps)].sum() / len(rest)
        per_input.append(values)
    return mean_of_means(per_input)


def entropies(found: Iterable[Input], smoothing: float = 0.0) -> dict[Key, float]:
    """Mean entropy in nats by (layer, head, which): all, cls or uniform."""
    per_input = []
    for one in found:
        n = len(one.tokens)
        values: dict[Key, float] = {}
        for layer, head, weights in heads(one):
            smoothed = (1 - smoothing) * weights + smoothing / n
            rows = [-sum(p * np.log(p) for p in row if p > 0) for row in smoothed]
            values[layer, head, "all"] = float(np.mean(rows))
            values[layer, head, "cls"] = float(
                np.mean([rows[at] for at in range(n) if one.role(at) == "cls"])
            )
            values[layer, head, "uniform"] = float(np.log(n))
        per_input.append(values)
    return mean_of_means(per_input)


def gradients(found: Iterable[Input]) -> dict[Key, float]:
    """Mean absolute value by (layer, head, target), over the weights to a target."""
    per_input = []
    for one in found:
        n = len(one.tokens)
        roles = [one.role(at) for at in range(n)]
        values: dict[Key, float] = {}
        for layer, head, weights in heads(one):
            for role in ("cls", "sep", "punctuation", "other"):
                on = [abs(weights[i, j]) for i in range(n) for j in range(n) if roles[j] == role]
                if on:
                    values[layer, head, role] = float(np.mean(on))
        per_input.append(values)
    return mean_of_means(per_input)


def assert_close(found: dict[Key, float], expected: dict[Key, float]) -> None:
    """Assert that two results have the same keys and the same values, up to the order of sums.

    Both are float64. The longest sum is over all the weights of a map of at most 128 tokens. A
    logarithm near 1 is only as exact as 1 itself, so for values below 1 the bound is absolute.
    """
    assert found.keys() == expected.keys()
    within = bounds.sums(128 * 128)
    keys = list(found)
    np.testing.assert_allclose(
        [found[key] for key in keys], [expected[key] for key in keys], rtol=within, atol=within
    )


@dataclass
class Word:
    """What the classes of a word are read from."""

    form: str
    upos: str | None
    relation: str | None
    feats: str | None


def words(connection: Any) -> dict[int, Word]:
    """The words of a bank by id."""
    rows = connection.execute("select id, form, upos, deprel, feats from word").fetchall()
    return {row[0]: Word(*row[1:]) for row in rows}


def classes(one: Input, at: int, known: dict[int, Word]) -> set[tuple[str, str]]:
    """The pairs (classification, class) of a position."""
    found = set()
    if one.role(at) in ("cls", "sep"):
        found.add(("class", one.role(at)))
    number = one.words[at]
    if number is None:
        return found
    word = known[number]
    if word.upos is not None:
        found.add(("upos", word.upos))
        name = {"NOUN": "noun", "PROPN": "noun", "VERB": "verb", "PRON": "pronoun"}.get(word.upos)
        if name is not None:
            found.add(("class", name))
    if word.relation is not None:
        relation = word.relation.split(":")[0]
        found.add(("relation", relation))
        if relation in ("nsubj", "csubj"):
            found.add(("class", "subject"))
        if relation in ("obj", "iobj"):
            found.add(("class", "object"))
    if "Polarity=Neg" in (word.feats or "").split("|") or word.form.lower() in ("not", "n't"):
        found.add(("class", "negation"))
    return found


def by_class(
    found: Iterable[Input], known: dict[int, Word], *, is_causal: bool = False
) -> dict[Key, float]:
    """Mean weight received and given by (classification, class, layer, head, which)."""
    per_input = []
    for one in found:
        n = len(one.tokens)
        members: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for at in range(n):
            for class_ in classes(one, at, known):
                members[class_].append(at)
        real = [at for at in range(n) if one.words[at] is not None]
        values: dict[Key, float] = {}
        for layer, head, weights in heads(one):
            for (classification, name), places in members.items():
                key = (classification, name, layer, head)
                on = [weights[i, j] for i in range(n) for j in places]
                values[*key, "received"] = float(np.mean(on))
                even = [[1 / (i + 1) if j <= i else 0 for i in range(n)] for j in places]
                values[*key, "chance"] = float(np.mean(even)) if is_causal else 1 / n
                others = [[j for j in real if j < i or (j > i and not is_causal)] for i in places]
                given = [
                    np.mean([weights[i, j] for j in own])
                    for i, own in zip(places, others, strict=True)
                    if own
                ]
                if given:
                    values[*key, "given"] = float(np.mean(given))
        per_input.append(values)
    return mean_of_means(per_input)


def patterns(
    found: Iterable[Input],
    *,
    vertical: float = 0.5,
    diagonal: float = 0.5,
    both: float = 0.25,
    block: float = 0.5,
) -> dict[Key, float]:
    """Shares of maps of each pattern, and means of the deciding measures, by (layer, head, what).

    The parameters are the thresholds of analysis head_pattern.
    """
    per_input = []
    for one in found:
        n = len(one.tokens)
        values: dict[Key, float] = {}
        special = [at for at in range(n) if one.role(at) in ("cls", "sep")]
        first, second = (
            [at for at in range(n) if at not in special and one.segments[at] == segment]
            for segment in (0, 1)
        )
        for layer, head, weights in heads(one):
            up = weights[:, special].sum() / n
            along = (
                sum(
                    weights[i, j]
                    for i in range(n)
                    for j in (i - 1, i, i + 1)
                    if 0 <= j < n and j not in special
                )
                / n
            )
            within = None
            if first and second:
                own = weights[np.ix_(first, first)].sum() + weights[np.ix_(second, second)].sum()
                either = weights[np.ix_(first + second, first + second)].sum()
                even = (len(first) ** 2 + len(second) ** 2) / (len(first) + len(second)) ** 2
                within = (own / either - even) / (1 - even)
                values[layer, head, "blockness"] = within
            if up > both and along > both:
                pattern = "vertical_diagonal"
            elif up > vertical:
                pattern = "vertical"
            elif along > diagonal:
                pattern = "diagonal"
            elif within is not None and within > block:
                pattern = "block"
            else:
                pattern = "heterogeneous"
            for name in ("vertical", "diagonal", "vertical_diagonal", "block", "heterogeneous"):
                values[layer, head, name] = float(pattern == name)
            values[layer, head, "vertical_mass"] = up
            values[layer, head, "diagonal_mass"] = along
        per_input.append(values)
    return mean_of_means(per_input)


def functions(found: Iterable[Input], known: dict[int, Word]) -> dict[Key, Any]:
    """Confidence, positional, offset and rare-word figures by (layer, head, which)."""
    found = list(found)
    frequency = Counter(word.form.lower() for word in known.values())
    largest: defaultdict[Key, list[float]] = defaultdict(list)
    at_offset: defaultdict[Key, list[int]] = defaultdict(list)
    on_rarest: defaultdict[Key, list[bool]] = defaultdict(list)
    maxima_on_rarest: defaultdict[Key, list[bool]] = defaultdict(list)
    chances = []
    for one in found:
        n = len(one.tokens)
        places = [at for at in range(n) if one.role(at) != "sep"]
        forms = {at: known[one.words[at]].form.lower() for at in places if one.words[at]}  # type: ignore[index]
        least = min(frequency[form] for form in forms.values())
        rarest = {at for at, form in forms.items() if frequency[form] == least}
        chances.append(len(rarest) / len(places))
        for layer, head, weights in heads(one):
            pointed = []
            for i in places:
                best = places[0]
                for j in places:
                    if weights[i, j] > weights[i, best]:
                        best = j
                largest[layer, head].append(weights[i, best])
                at_offset[layer, head].append(best - i)
                pointed.append(best)
            counted = Counter(pointed)
            commonest = min(counted, key=lambda at: (-counted[at], at))
            on_rarest[layer, head].append(commonest in rarest)
            maxima_on_rarest[layer, head] += [at in rarest for at in pointed]
    values: dict[Key, Any] = {}
    for key in largest:
        offsets_of = Counter(at_offset[key])
        offset = min(offsets_of, key=lambda each: (-offsets_of[each], abs(each), each))
        values[*key, "confidence"] = float(np.mean(largest[key]))
        values[*key, "positional"] = offsets_of[offset] / len(at_offset[key])
        values[*key, "offset"] = offset
        values[*key, "rare_word"] = float(np.mean(on_rarest[key]))
        values[*key, "rare_word_maxima"] = float(np.mean(maxima_on_rarest[key]))
        values[*key, "rare_word_chance"] = float(np.mean(chances))
    return values


def syntactic(
    found: Iterable[Input], gold: dict[int, tuple[str, int]], margin: float, least: int
) -> dict[Key, set[str]]:
    """Relations that a head finds better than their commonest offset, by (layer, head).

    `gold` has, by the id of each word with a head, the relation and the id of the head. Maxima are
    those of `functions`: over the whole row except [SEP], including the word itself and [CLS].
    """
    hits: Counter[Key] = Counter()
    offsets_of: defaultdict[str, Counter[int]] = defaultdict(Counter)
    every: set[Key] = set()
    for one in found:
        n = len(one.tokens)
        places = [at for at in range(n) if one.role(at) != "sep"]
        place_of = {word: at for at, word in enumerate(one.words) if word is not None}
        pairs = [
            (gold[word][0], at, place_of[gold[word][1]])
            for word, at in place_of.items()
            if word in gold
        ]
        for relation, dependent, head_word in pairs:
            offsets_of[relation][head_word - dependent] += 1
        for layer, head, weights in heads(one):
            every.add((layer, head))
            maxima = {i: max(places, key=lambda j: (weights[i, j], -j)) for i in places}
            for relation, dependent, head_word in pairs:
                hits[layer, head, relation, "from_dependent"] += maxima[dependent] == head_word
                hits[layer, head, relation, "from_head"] += maxima[head_word] == dependent
    values: dict[Key, set[str]] = {key: set() for key in every}
    for relation, distances in offsets_of.items():
        total = distances.total()
        wanted = max(distances.values()) / total + margin
        for layer, head in every:
            best = max(
                hits[layer, head, relation, way] / total for way in ("from_dependent", "from_head")
            )
            if total >= least and best >= wanted:
                values[layer, head].add(relation)
    return values


def divergences(found: Iterable[Input], smoothing: float) -> dict[Key, float]:
    """Sum over tokens of the Jensen-Shannon divergence by (layer, head, layer, head)."""
    total: defaultdict[Key, float] = defaultdict(float)
    for one in found:
        n = len(one.tokens)
        every = [
            (layer, head, (1 - smoothing) * weights + smoothing / n)
            for layer, head, weights in heads(one)
        ]
        for at, (layer_a, head_a, p) in enumerate(every):
            for layer_b, head_b, q in every[at + 1 :]:
                middle = (p + q) / 2
                total[layer_a, head_a, layer_b, head_b] += (
                    _divergence(p, middle) + _divergence(q, middle)
                ) / 2
    return dict(total)


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Kullback-Leibler divergence in nats, summed over rows."""
    there = p > 0
    return float((p[there] * np.log(p[there] / q[there])).sum())
