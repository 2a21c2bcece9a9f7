"""What the intervals and p values of the analyses are worth, on corpora that are drawn at random.

    python benchmarks/simulations.py [--draws 2000] [--write]

prints the tables of docs/trust.md, or with --write puts them there, between the markers. In each
corpus the truth is known: how often a head finds the words of a relation in the documents that the
corpus was drawn from. So it can be counted how often an interval has the true figure, how often a
test finds a difference where there is none, and how often one that is there.

The figures are those of the macros that the analyses read (sql/schema/0_functions.sql): DuckDB
computes them over a table of all the drawn corpora. Of max-T, which takes thousands of flips for
each corpus, NumPy makes the same computation in less time, with the signs that the macro `drawn`
gives, and some corpora of each cell are compared with sql/shared/flip_test.sql.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from attnbank.sql import registry
from attnbank.sql.registry import macros

PAGE = Path(__file__).resolve().parents[1] / "docs" / "trust.md"
BEGIN, END = "<!-- simulations: begin -->", "<!-- simulations: end -->"
SPREADS = (0.0, 0.3, 0.6)
DOCUMENTS = (2, 4, 8, 16, 30, 100)
TESTED = (5, 8, 16, 30, 100)
HEADS, HEADS_OF_LAYER, LARGER_HEADS, RELATIONS = 144, 12, 540, 30
GAINS = (0.05, 0.1, 0.2)

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Population:
    """What corpora are drawn from.

    `base` is the accuracy of the offset, over all documents; `spread` the standard deviation of the
    log odds among documents, both of what is right in a document at all and of what one head does
    there. `words` is how many dependents a document has on average, and `shape` how uneven that is:
    the smaller, the more.
    """

    spread: float
    base: float = 0.4
    words: float = 40
    shape: float = 3

    def sizes(self, numbers: np.random.Generator, *size: int) -> Counts:
        lengths = numbers.gamma(self.shape, self.words / self.shape, size)
        return np.maximum(1, numbers.poisson(lengths))


@dataclass(frozen=True)
class Pairs:
    """A head and an offset on the same dependents, by corpus and document."""

    n: Counts
    right: Counts
    only_head: Counts
    only_offset: Counts

    @property
    def differences(self) -> Counts:
        return self.only_head - self.only_offset


def intercept(share: float, spread: float) -> float:
    """The log odds around which documents lie whose mean share is this."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = float((weights * logistic(middle + spread * points)).sum() / weights.sum())
        low, high = (middle, high) if mean < share else (low, middle)
    return low


def logistic(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)))


def draw_pairs(
    numbers: np.random.Generator, draws: int, documents: int, population: Population, gain: float
) -> Pairs:
    """Corpora in which a head is better than the offset by `gain`; words that are easy for one are
    somewhat easier for the other, too (a correlation of 0.3)."""
    spread, base = population.spread, population.base
    n = population.sizes(numbers, draws, documents)
    text = numbers.normal(0, spread, n.shape)
    offset = logistic(intercept(base, spread) + text)
    own = numbers.normal(0, spread, n.shape)
    head = logistic(intercept(base + gain, spread * 2**0.5) + text + own)
    together = offset * head + 0.3 * np.sqrt(offset * (1 - offset) * head * (1 - head))
    together = np.clip(together, np.maximum(0, offset + head - 1), np.minimum(offset, head))
    both = numbers.binomial(n, together)
    only_head = numbers.binomial(n - both, np.clip((head - together) / (1 - together), 0, 1))
    left = np.clip((offset - together) / np.maximum(1 - head, 1e-12), 0, 1)
    only_offset = numbers.binomial(n - both - only_head, left)
    return Pairs(n, both + only_head, only_head, only_offset)


def draw_heads(
    numbers: np.random.Generator,
    draws: int,
    documents: int,
    population: Population,
    gains: Sequence[float],
) -> tuple[Counts, Counts, Counts]:
    """Sizes and what the offset finds, by corpus and document; what each head finds, by head, too.

    Half of what a head does in a document by itself it has in common with the others of its layer.
    """
    spread, base = population.spread, population.base
    n = population.sizes(numbers, draws, 1, documents)
    text = numbers.normal(0, spread, n.shape)
    offset = numbers.binomial(n, logistic(intercept(base, spread) + text))
    size = (draws, len(gains), documents)
    own = numbers.normal(0, spread * 0.5**0.5, size)
    of_layer = np.arange(len(gains)) // HEADS_OF_LAYER
    layers = numbers.normal(0, spread * 0.5**0.5, (draws, of_layer[-1] + 1, documents))
    own += layers[:, of_layer]
    at = {gain: intercept(base + gain, spread * 2**0.5) for gain in set(gains)}
    odds = np.array([at[gain] for gain in gains])[:, None]
    right = numbers.binomial(np.broadcast_to(n, size), logistic(odds + text + own))
    return n[:, 0], offset[:, 0], right


def draw_relations(
    numbers: np.random.Generator, draws: int, documents: int, population: Population
) -> Counts:
    """What the head of each of thirty relations finds beyond the offset, by corpus and document,
    where none is better; the r-th relation has 90 / r dependents in a document, and one with fewer
    than 10 in all is not in the family: its differences are 0."""
    spread, base = population.spread, population.base
    length = numbers.gamma(population.shape, 1 / population.shape, (draws, 1, documents))
    n = numbers.poisson(90 * length / np.arange(1, RELATIONS + 1)[:, None])
    text = numbers.normal(0, spread, (draws, 1, documents))
    sides = [
        numbers.binomial(
            n,
            logistic(intercept(base, spread * 2**0.5) + text + numbers.normal(0, spread, n.shape)),
        )
        for _ in range(2)
    ]
    return np.where(n.sum(2, keepdims=True) >= 10, sides[0] - sides[1], 0)


class Macros:
    """The functions of a bank, over tables of drawn corpora."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 2})
        for script in ("0_functions", "0_lists"):
            self.connection.execute(registry.script(script))
        for statement in macros(registry.shared()["flip_test"], temporary=True):
            self.connection.execute(statement)

    def per_corpus(
        self, columns: str, then: str, **of_documents: npt.NDArray[np.generic]
    ) -> tuple[Floats, ...]:
        """Columns of aggregates over the documents of each corpus, and what then follows of these,
        in the order of the corpora; nan for null."""
        draws, documents = next(iter(of_documents.values())).shape
        frame = pl.DataFrame(
            {"draw": np.repeat(np.arange(draws), documents)}
            | {name: values.ravel() for name, values in of_documents.items()}
        )
        self.connection.register("of_documents", frame.to_arrow())
        answer = self.connection.execute(
            f"with told as (select draw, {columns} from of_documents group by draw)"
            f" select {then} from told order by draw"
        ).fetchnumpy()
        return tuple(np.ma.filled(each.astype(float), np.nan) for each in answer.values())

    def wilson(self, n: Counts, right: Counts) -> tuple[Floats, ...]:
        """The intervals of accuracy, low and high of head_score."""
        return self.per_corpus(
            "sum(k) / sum(n) as p, clustered_n(k, n) as m",
            "wilson_low(p * m, m), wilson_high(p * m, m)",
            n=n,
            k=right,
        )

    def paired(self, pairs: Pairs) -> tuple[Floats, ...]:
        """The intervals of the gain, gain_low and gain_high of head_score."""
        return self.per_corpus(
            "sum(a) as a, sum(b) as b, sum(n) as n, clustered_pairs(a, b, n) as m",
            "paired_low(a, b, n, m), paired_high(a, b, n, m)",
            n=pairs.n,
            a=pairs.only_head,
            b=pairs.only_offset,
        )

    def mean(self, n: Counts, total: Floats) -> tuple[Floats, ...]:
        """The intervals of a mean over words, as of ablation_effect."""
        return self.per_corpus(
            "sum(total) / sum(n) as mean, clustered_margin(total, n) as margin",
            "mean - margin, mean + margin",
            n=n,
            total=total,
        )

    def needed(self, pairs: Pairs) -> Floats:
        """clusters_needed of head_score."""
        (needed,) = self.per_corpus(
            "clusters_to_detect(0.05, clustered_variance(x, n), count(*)) as needed",
            "needed",
            n=pairs.n,
            x=pairs.differences,
        )
        return needed

    def mcnemar(self, pairs: Pairs) -> Floats:
        """McNemar's p, which takes dependents for independent."""
        (p,) = self.per_corpus(
            "mcnemar_better(sum(a), sum(b)) as p", "p", a=pairs.only_head, b=pairs.only_offset
        )
        return p

    def sign_flips(self, differences: Counts) -> Floats:
        """The p values of sums of differences, a row each."""
        if not len(differences):
            return np.zeros(0)
        frame = pl.DataFrame({"x": np.sort(differences, axis=1).tolist()}).with_row_index()
        self.connection.register("tested", frame.to_arrow())
        answer = self.connection.execute("select sign_flips(x) as p from tested order by index")
        return np.asarray(answer.fetchnumpy()["p"])

    def signs(self, documents: int) -> Floats:
        """The signs that flip_test tries, a row each: first those as they are."""
        if documents <= 11:
            flips = np.arange(2**documents)[:, None] >> np.arange(documents)
            return np.asarray(1.0 - 2 * (flips % 2))
        (drawn,) = (
            self.connection.execute(
                "select pseudo_random(flip, place) // 65536 % 2 as bit"
                f" from range(2000) as flips(flip), range({documents}) as places(place)"
                " order by flip, place"
            )
            .fetchnumpy()
            .values()
        )
        signs = 1.0 - 2 * np.asarray(drawn).reshape(2000, documents)
        signs[0] = 1
        return np.asarray(signs)

    def corrected(self, differences: Counts, *, is_two_sided: bool = False) -> float:
        """The least p_corrected of a corpus by flip_test itself; differences by head, document."""
        entries = [
            [head, document, int(difference)]
            for head, of_head in enumerate(differences)
            for document, difference in enumerate(of_head)
        ]
        ((least,),) = self.connection.execute(
            "select min(p_corrected)"
            " from flip_test(differences := $entries, is_two_sided := $is_two_sided)",
            {"entries": entries, "is_two_sided": is_two_sided},
        ).fetchall()
        return 1.0 if least is None else float(least)

    def largest(
        self, differences: Counts, *, is_two_sided: bool = False, compared: int = 2
    ) -> tuple[Counts, Floats]:
        """Of each corpus what has the largest statistic, and its p corrected by max-T.

        The first `compared` corpora are compared with flip_test.
        """
        signs = self.signs(differences.shape[2])
        scale = np.sqrt((differences.astype(float) ** 2).sum(2, keepdims=True))
        scaled = differences / np.where(scale > 0, scale, 1)
        best = np.zeros(len(differences), dtype=np.int64)
        p = np.ones(len(differences))
        for draw, of_corpus in enumerate(scaled):
            statistics = of_corpus @ signs.T
            statistics = np.abs(statistics) if is_two_sided else statistics
            best[draw] = statistics[:, 0].argmax()
            largest = statistics.max(0)
            p[draw] = (largest >= largest[0] - 1e-9).mean()
        for draw in range(min(compared, len(differences))):
            by_sql = self.corrected(differences[draw], is_two_sided=is_two_sided)
            assert abs(by_sql - p[draw]) < 1e-9, (by_sql, p[draw])
        return best, p

    def max_t(self, differences: Counts, *, is_two_sided: bool = False) -> tuple[Counts, Floats]:
        """Of each corpus what has the largest statistic, and p_corrected: at least its p_value."""
        best, p = self.largest(differences, is_two_sided=is_two_sided)
        chosen = differences[np.arange(len(best)), best]
        if is_two_sided:
            chosen = chosen * np.where(chosen.sum(1, keepdims=True) < 0, -1, 1)
        alone = self.sign_flips(chosen) * (2 if is_two_sided else 1)
        return best, np.maximum(p, np.minimum(1, alone))

    def bonferroni(self, differences: Counts) -> tuple[Counts, Floats]:
        """Of each corpus the head with the least p, and that times the number of heads.

        Heads whose sum is below 2 of its standard deviations have no p near 0.05 / 144.
        """
        scale = np.sqrt((differences.astype(float) ** 2).sum(2))
        statistics = differences.sum(2) / np.where(scale > 0, scale, 1)
        draws, heads = np.nonzero(statistics > 2)
        p = np.ones(statistics.shape)
        p[draws, heads] = self.sign_flips(differences[draws, heads])
        return p.argmin(1), np.minimum(1, p.min(1) * differences.shape[1])


def best_of(right: Counts) -> Counts:
    """Of each corpus the head that finds most, the first of equals."""
    return np.asarray(right.sum(2).argmax(1))


def holds(ends: tuple[Floats, ...], truth: float) -> float:
    low, high = ends
    return float(((low <= truth) & (truth <= high)).mean())


@dataclass(frozen=True)
class Table:
    """A table of the page, with what it shows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        lines = ["| " + " | ".join(each) + " |" for each in (self.columns, *self.rows)]
        lines.insert(1, "|" + " --- |" + " ---: |" * (len(self.columns) - 1))
        return f"{self.title}\n\n" + "\n".join(lines)


Measured = dict[str, float | None]


def per_cent(share: float | None, decimals: int = 0) -> str:
    return "" if share is None else f"{100 * share:.{decimals}f}"


def by_documents(
    title: str,
    what: str,
    measure: Callable[[int, float], Measured],
    documents: Sequence[int],
    decimals: int = 0,
) -> Table:
    """A table with a row for each thing and a column for each number of documents.

    `measure` gives the shares of a number of documents and a spread; a cell has those of all
    spreads.
    """
    told = {many: [measure(many, spread) for spread in SPREADS] for many in documents}
    rows = [
        [
            name,
            *(
                " / ".join(per_cent(each[name], decimals) for each in told[many]).strip("/ ")
                for many in documents
            ),
        ]
        for name in told[documents[0]][0]
    ]
    return Table(title, (what, *(f"{many} documents" for many in documents)), rows)


class Simulations:
    """All cells, each from a seed of its own, so that one more does not change the others."""

    def __init__(self, draws: int = 2000) -> None:
        self.macros = Macros()
        self.draws = draws

    def numbers(self, *cell: float) -> np.random.Generator:
        return np.random.default_rng([int(1000 * each) for each in cell])

    @staticmethod
    def chunks(draws: int, documents: int) -> Iterable[int]:
        """How many corpora at a time, so that the heads of all of them fit into memory."""
        most = max(1, 40_000 // documents)
        for done in range(0, draws, most):
            yield min(most, draws - done)

    def coverage(self, documents: int, spread: float) -> Measured:
        """How often 95 % intervals have the true figure."""
        numbers = self.numbers(1, documents, spread)
        populations = {
            "": Population(spread),
            ", 5 words a document": Population(spread, words=5),
            ", of 0.95": Population(spread, base=0.9),
            ", documents of very uneven size": Population(spread, shape=0.4),
        }
        accuracy, gain, nats = [], [], []
        for population in populations.values():
            pairs = draw_pairs(numbers, 2 * self.draws, documents, population, 0.05)
            accuracy.append(holds(self.macros.wilson(pairs.n, pairs.right), population.base + 0.05))
            gain.append(holds(self.macros.paired(pairs), 0.05))
            skewed = numbers.gamma(pairs.n) - pairs.n  # sums of exponential differences
            total = pairs.n * (0.1 + numbers.normal(0, spread, pairs.n.shape)) + skewed
            nats.append(holds(self.macros.mean(pairs.n, total), 0.1))
        named = {"accuracy": accuracy, "gain": gain, "mean of nats": nats}
        return {
            f"{name}{of}": share
            for name, shares in named.items()
            for of, share in zip(populations, shares, strict=True)
            if name == "accuracy" or of != ", of 0.95"
        }

    def selection(self, documents: int, spread: float) -> Measured:
        """How often the interval of a chosen head has its true accuracy: all heads are equal."""
        numbers = self.numbers(2, documents, spread)
        same, other = [], []
        for draws in self.chunks(self.draws, documents):
            n, _, right = draw_heads(numbers, draws, documents, Population(spread), [0.0] * HEADS)
            each = np.arange(draws)
            same.append(self.macros.wilson(n, right[each, best_of(right)]))
            chosen = best_of(right[:, :, ::2])
            other.append(self.macros.wilson(n[:, 1::2], right[each, chosen][:, 1::2]))
        return {
            "on the words that it was chosen on": holds(joined(same), 0.4),
            "on the other half of the documents": holds(joined(other), 0.4)
            if documents >= 4
            else None,
        }

    def false_positives(self, documents: int, spread: float) -> Measured:
        """How often p is below 0.05 where nothing is better than anything."""
        numbers = self.numbers(3, documents, spread)
        pairs = draw_pairs(numbers, 2 * self.draws, documents, Population(spread), 0)
        one = self.macros.sign_flips(pairs.differences)
        other = self.macros.sign_flips(-pairs.differences)
        both = 2 * np.minimum(one, other)
        mcnemar = self.macros.mcnemar(pairs)
        uneven = draw_pairs(numbers, self.draws, documents, Population(spread, shape=0.4), 0)
        max_t, bonferroni, held_out = [], [], []
        for draws in self.chunks(self.draws, documents):
            _, offset, right = draw_heads(
                numbers, draws, documents, Population(spread), [0.0] * HEADS
            )
            differences = right - offset[:, None]
            max_t.append(self.macros.max_t(differences)[1])
            bonferroni.append(self.macros.bonferroni(differences)[1])
            chosen = differences[np.arange(draws), best_of(right[:, :, ::2])]
            held_out.append(self.macros.sign_flips(chosen[:, 1::2]))
        relations = draw_relations(numbers, self.draws, documents, Population(spread))
        return {
            "one head (`p_value` of `head_score`)": below(one),
            "one head, documents of very uneven size": below(
                self.macros.sign_flips(uneven.differences)
            ),
            "the best of 144 heads (`p_corrected` of `head_score`)": below(np.concatenate(max_t)),
            "the same by Bonferroni": below(np.concatenate(bonferroni)),
            "the best of 144 heads, held out (`held_out_p`)": (
                below(np.concatenate(held_out)) if documents >= 10 else None
            ),
            "30 relations (`p_corrected` of `best_head_held_out`)": below(
                self.macros.max_t(relations)[1]
            ),
            "two models (`p_value` of `compare_runs`)": below(both) if documents >= 6 else None,
            "two models, 30 relations (`p_corrected` of `compare_runs`)": (
                below(self.macros.max_t(relations, is_two_sided=True)[1])
                if documents >= 6
                else None
            ),
            "one head by McNemar's test, which no command prints": below(mcnemar),
        }

    def power(self, documents: int, spread: float) -> Measured:
        """How often the one head of 144 that is better is the best one and p_corrected is small."""
        measured: Measured = {}
        for gain in GAINS:
            numbers = self.numbers(4, documents, spread, gain)
            found: dict[str, list[Floats]] = {"max-T": [], "Bonferroni": []}
            for draws in self.chunks(self.draws // 2, documents):
                _, offset, right = draw_heads(
                    numbers, draws, documents, Population(spread), [gain] + [0.0] * (HEADS - 1)
                )
                differences = right - offset[:, None]
                tests = (self.macros.max_t, self.macros.bonferroni)
                for test, by_test in zip(tests, found.values(), strict=True):
                    best, p = test(differences)
                    by_test.append(np.where(best == 0, p, 1))
            for name, p_values in found.items():
                measured[f"{gain:g}, {name}"] = below(np.concatenate(p_values))
        return measured

    def needed(self, spread: float, words: float) -> list[str]:
        """How many documents a gain of 0.05 takes, and what clusters_needed of few ones tells."""
        numbers = self.numbers(5, spread, words)
        population = Population(spread, words=words)
        (many,) = self.macros.needed(draw_pairs(numbers, 1, 20_000, population, 0.05))
        documents = int(many)
        pairs = draw_pairs(numbers, self.draws, documents, population, 0.05)
        row = [
            f"{words:g}",
            f"{spread:g}",
            f"{documents}",
            per_cent(below(self.macros.sign_flips(pairs.differences))),
        ]
        for pilot in (8, 16, 30):
            told = self.macros.needed(draw_pairs(numbers, self.draws, pilot, population, 0.05))
            low, high = np.quantile(told, [0.1, 0.9])
            row.append(f"{low:.0f} to {high:.0f}")
        return row

    def larger_model(self, documents: int, spread: float) -> Measured:
        """How often the model with more heads is ahead, where all heads of both are equal."""
        numbers = self.numbers(6, documents, spread)
        ahead: dict[str, list[Floats]] = {"`--choose all`": [], "`--choose half`": []}
        for draws in self.chunks(self.draws // 2, documents):
            _, _, right = draw_heads(
                numbers, draws, documents, Population(spread), [0.0] * (HEADS + LARGER_HEADS)
            )
            each = np.arange(draws)
            smaller, larger = right[:, :HEADS], right[:, HEADS:]
            for name, part in zip(ahead, (slice(None), slice(0, None, 2)), strict=True):
                rest = part if part == slice(None) else slice(1, None, 2)
                difference = larger[each, best_of(larger[:, :, part])][:, rest].sum(1) - smaller[
                    each, best_of(smaller[:, :, part])
                ][:, rest].sum(1)
                ahead[name].append((np.sign(difference) + 1) / 2)
        return {name: float(np.concatenate(parts).mean()) for name, parts in ahead.items()}


def joined(parts: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def below(p: Floats) -> float:
    return float((p <= 0.05).mean())


def tables(simulations: Simulations) -> Iterable[Table]:
    """The tables of the page, in order."""
    yield by_documents(
        "**How often a 95 % interval has the true figure**, in per cent:",
        "interval of",
        simulations.coverage,
        DOCUMENTS,
    )
    yield by_documents(
        "**What choosing does to an interval.** 144 heads are equally good, and one of them is"
        " chosen: how often the interval of its accuracy has its true accuracy, in per cent:",
        "the best head of 144",
        simulations.selection,
        DOCUMENTS,
    )
    yield by_documents(
        "**How often p is 0.05 or less where nothing is better than anything**, in per cent (at"
        " most 5 are wanted):",
        "p of",
        simulations.false_positives,
        TESTED,
        1,
    )
    yield by_documents(
        "**How often the one better head of 144 is found**, that is, has the most to show for it"
        " and a corrected p of 0.05 or less, in per cent:",
        "its gain, and the correction",
        simulations.power,
        TESTED,
    )
    yield Table(
        "**How many documents show that one head is better by 0.05**, by `clusters_needed` of a"
        " very large corpus; in how many of a hundred corpora of that size p is 0.05 or less (80"
        " are wanted); and what `clusters_needed` says in eight of ten corpora that have only 8, 16"
        " or 30 documents:",
        (
            "words a document",
            "spread",
            "documents needed",
            "found in",
            "told by 8 documents",
            "told by 16",
            "told by 30",
        ),
        [simulations.needed(spread, words) for words in (5, 40) for spread in SPREADS],
    )
    yield by_documents(
        f"**How often a model of {LARGER_HEADS} heads is ahead of one of {HEADS}** when every head"
        " of both is equally good, in per cent (50 are wanted):",
        "`compare_runs` with",
        simulations.larger_model,
        DOCUMENTS[1:],
    )


def report(simulations: Simulations) -> str:
    """What stands between the markers."""
    error = 100 * (0.05 * 0.95 / simulations.draws) ** 0.5
    start = (
        f"Each figure is of {simulations.draws:,} corpora or more (of how many are found and who is"
        f" ahead: of half as many); one of 5 % or of 95 % has a standard error of {error:.1f}. A"
        " cell has three figures, for a spread of 0 / 0.3 / 0.6."
    )
    return "\n\n".join([start, *(table.text() for table in tables(simulations))])


def between_markers(page: str, text: str) -> str:
    """The page with the text in the place of what is between its markers."""
    before, found, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"{PAGE.name} lacks a line {BEGIN} or, after it, {END}")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def main() -> None:
    asked = argparse.ArgumentParser(description="Simulate the intervals and p values.")
    asked.add_argument("--draws", type=int, default=2000, help="corpora a cell (2000)")
    asked.add_argument("--write", action="store_true", help="put the tables into docs/trust.md")
    given = asked.parse_args()
    text = report(Simulations(given.draws))
    if not given.write:
        print(text)
        return
    PAGE.write_text(between_markers(PAGE.read_text("utf-8"), text), "utf-8")


if __name__ == "__main__":
    main()
