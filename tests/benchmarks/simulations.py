"""What the intervals and the p values of the analyses are worth, on corpora that are drawn at random.

    python tests/benchmarks/simulations.py [--draws 2000] [--write]

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
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from attnbank.sql import registry
from attnbank.sql.macros import macros

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"
BEGIN, END = "<!-- simulations: begin -->", "<!-- simulations: end -->"
SPREADS = (0.0, 0.3, 0.6)
DOCUMENTS = (2, 4, 8, 16, 30, 100)
TESTED = (5, 8, 16, 30, 100)
HEADS, LAYERS, RELATIONS = 144, 12, 30
Z80, Z95 = 0.8416212335729, 1.6448536269515

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
    layers = numbers.normal(0, spread * 0.5**0.5, (draws, LAYERS, documents))
    own += layers[:, np.arange(len(gains)) * LAYERS // len(gains)]
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
            logistic(
                intercept(base, spread * 2**0.5) + text + numbers.normal(0, spread, n.shape)
            ),
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
        (drawn,) = self.connection.execute(
            "select drawn(flip, place) // 65536 % 2 as bit from range(2000) as flips(flip),"
            f" range({documents}) as places(place) order by flip, place"
        ).fetchnumpy().values()
        signs = 1.0 - 2 * np.asarray(drawn).reshape(2000, documents)
        signs[0] = 1
        return np.asarray(signs)

    def corrected(self, differences: Counts, *, is_two_sided: bool = False) -> float:
        """The least p_corrected of one corpus by flip_test itself; differences by head, document."""
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
        """Of each corpus what has the largest statistic, and p_corrected: never below its p_value."""
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
    """A table of the page: a row for each thing and spread, a column for each number of documents."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        lines = ["| " + " | ".join(each) + " |" for each in (self.columns, *self.rows)]
        lines.insert(1, "|" + " --- |" * 2 + " ---: |" * (len(self.columns) - 2))
        return f"{self.title}\n\n" + "\n".join(lines)


def per_cent(share: float | None, decimals: int = 1) -> str:
    return "" if share is None else f"{100 * share:.{decimals}f}"


Measured = dict[str, float | None]


def rows_of(measure: Callable[[int, float], Measured], documents: Sequence[int]) -> list[list[str]]:
    """The rows of a table: `measure` gives the shares of a number of documents and a spread."""
    told = {(many, spread): measure(many, spread) for spread in SPREADS for many in documents}
    names = list(told[documents[0], SPREADS[0]])
    return [
        [name, f"{spread:g}", *(per_cent(told[many, spread][name]) for many in documents)]
        for name in names
        for spread in SPREADS
    ]


class Simulations:
    """All cells, each from a seed of its own, so that one more does not change the others."""

    def __init__(self, draws: int = 2000) -> None:
        self.macros = Macros()
        self.draws = draws

    def numbers(self, *cell: float) -> np.random.Generator:
        return np.random.default_rng([int(1000 * each) for each in cell])

    def chunks(self, documents: int) -> Iterable[int]:
        """How many corpora at a time, so that the heads of all of them fit into memory."""
        most = max(1, 40_000 // documents)
        done = 0
        while done < self.draws:
            yield min(most, self.draws - done)
            done += most

    def coverage(self, documents: int, spread: float) -> Measured:
        """How often 95 % intervals have the true figure."""
        numbers = self.numbers(1, documents, spread)
        populations = {
            "": Population(spread),
            ", 5 words a document": Population(spread, words=5),
            ", accuracy 0.9": Population(spread, base=0.9),
            ", uneven": Population(spread, shape=0.4),
        }
        wilson, paired, mean = [], [], []
        for population in populations.values():
            pairs = draw_pairs(numbers, 2 * self.draws, documents, population, 0.05)
            wilson.append(holds(self.macros.wilson(pairs.n, pairs.right), population.base + 0.05))
            paired.append(holds(self.macros.paired(pairs), 0.05))
            skewed = numbers.gamma(pairs.n) - pairs.n  # sums of exponential differences
            total = pairs.n * (0.1 + numbers.normal(0, spread, pairs.n.shape)) + skewed
            mean.append(holds(self.macros.mean(pairs.n, total), 0.1))
        measured: Measured = {}
        for title, shares in (("accuracy", wilson), ("gain", paired), ("nats", mean)):
            for name, share in zip(populations, shares, strict=True):
                measured[f"{title}{name}"] = share
        return measured


    def selection(self, documents: int, spread: float) -> Measured:
        """How often the interval of a chosen head has its true accuracy: all heads are equal."""
        numbers = self.numbers(2, documents, spread)
        same, other = [], []
        for draws in self.chunks(documents):
            n, _, right = draw_heads(numbers, draws, documents, Population(spread), [0.0] * HEADS)
            each = np.arange(draws)
            same.append(self.macros.wilson(n, right[each, best_of(right)]))
            chosen = best_of(right[:, :, ::2])
            other.append(self.macros.wilson(n[:, 1::2], right[each, chosen][:, 1::2]))
        return {
            "best of 144 heads, on the words it was chosen on": holds(joined(same), 0.4),
            "best of 144 heads, held out": holds(joined(other), 0.4) if documents >= 4 else None,
        }

    def false_positives(self, documents: int, spread: float) -> Measured:
        """How often p is below 0.05 where nothing is better than anything."""
        numbers = self.numbers(3, documents, spread)
        pairs = draw_pairs(numbers, 2 * self.draws, documents, Population(spread), 0)
        one = self.macros.sign_flips(pairs.differences)
        other = self.macros.sign_flips(-pairs.differences)
        both = 2 * np.minimum(one, other)
        mcnemar = self.macros.mcnemar(pairs)
        uneven = draw_pairs(numbers, 2 * self.draws, documents, Population(spread, shape=0.4), 0)
        max_t, bonferroni, held_out = [], [], []
        for draws in self.chunks(documents):
            n, offset, right = draw_heads(
                numbers, draws, documents, Population(spread), [0.0] * HEADS
            )
            differences = right - offset[:, None]
            max_t.append(self.macros.max_t(differences)[1])
            bonferroni.append(self.macros.bonferroni(differences)[1])
            chosen = differences[np.arange(draws), best_of(right[:, :, ::2])]
            held_out.append(self.macros.sign_flips(chosen[:, 1::2]))
        relations = draw_relations(numbers, self.draws, documents, Population(spread))
        return {
            "one head (p_value of head_score)": below(one),
            "one head, documents of very uneven size": below(
                self.macros.sign_flips(uneven.differences)
            ),
            "best of 144 heads (p_corrected of head_score)": below(np.concatenate(max_t)),
            "best of 144 heads, by Bonferroni": below(np.concatenate(bonferroni)),
            "best of 144 heads, held out (held_out_p)": (
                below(np.concatenate(held_out)) if documents >= 10 else None
            ),
            "30 relations (p_corrected of best_head_held_out)": below(
                self.macros.max_t(relations)[1]
            ),
            "two models (p_value of compare_runs)": below(both) if documents >= 6 else None,
            "two models, 30 relations (p_corrected of compare_runs)": (
                below(self.macros.max_t(relations, is_two_sided=True)[1])
                if documents >= 6
                else None
            ),
            "one head, by McNemar's test (printed nowhere)": below(mcnemar),
        }


def joined(parts: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def below(p: Floats) -> float:
    return float((p <= 0.05).mean())


if __name__ == "__main__":
    s = Simulations()
    t = time.time()
    for r in []:
        print(r, flush=True)
    print(time.time() - t)
    for r in rows_of(s.false_positives, TESTED):
        print(r, flush=True)
    print(time.time() - t)
