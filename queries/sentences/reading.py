"""From the tables of a bank to the frames of one sentence: its rows, and its panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

import polars as pl
from duckdb import DuckDBPyConnection

from attnbank.queries.pictures.sentence.panel import ELSEWHERE, Panel, Tree
from attnbank.queries.results import frame_of
from attnbank.queries.sentences.choosing import Chosen, as_analysis
from attnbank.queries.sentences.marks import (
    NO_MENTIONS,
    Asked,
    as_saved,
    frame,
    gold_arcs,
    gold_pairs,
    is_saved_relation,
    mentions_of,
    tree_of,
)
from attnbank.sql import registry, runs
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.runs import Run

MOST = 150
"""Positions of a sentence that are shown at most."""
_KINDS = ("word", "token")


@dataclass(frozen=True)
class Read:
    """What one sentence has to show: a row a word of it and head, a panel a head, and the tree.

    `left_out` are whole sentences about what of it is not shown; `notes` about what else there is.
    """

    rows: pl.DataFrame
    panels: tuple[Panel, ...]
    tree: Tree | None
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def needs(connection: DuckDBPyConnection, asked: Asked, tree: bool) -> str | None:
    """What the run's corpus must have for what is asked for: mentions, trees, or nothing."""
    if asked.coreference:
        return "mentions"
    if tree or (asked.relation is not None and not is_saved_relation(connection, asked.relation)):
        return "trees"
    return None


def check_relation(connection: DuckDBPyConnection, relation: str | None, run: Run) -> None:
    """Raise CallError for a relation that no word of the run's corpus has, and that is not saved.

    It may be one with its subtype (nmod:poss), one without, or all.
    """
    rows = frame_of(
        connection.query(registry.statement("corpus_relations"), params={"corpus": run.corpus})
    ).rows()
    folded = {str(name).split(":")[0] for name, *_ in rows}
    if (
        relation is not None
        and relation not in folded
        and not is_saved_relation(connection, relation)
    ):
        runs.check_relation(connection, as_analysis(None), {"relation": relation}, run)


def names(connection: DuckDBPyConnection, run: Run) -> dict[str, str]:
    """Return what a title says of a run: its name (run), its model and its corpus."""
    found = frame(connection, "facts", run=run.id).row(0, named=True)
    random = found["random_seed"] is not None
    model = found["model"]
    if model.count("/") > 1 or "\\" in model:  # a folder: the path to it is nobody's business
        model = PurePath(model.replace("\\", "/")).name
    return {
        "run": found["name"],
        "model": f"{model}{' (random weights)' if random else ''}",
        "corpus": found["corpus"],
    }


def read(
    connection: DuckDBPyConnection,
    run: Run,
    chosen: Chosen,
    heads: Sequence[tuple[int, int]],
    asked: Asked,
) -> Read:
    """Read what some heads look at in a sentence that an input of the run holds.

    Raises CallError where none of its words is in the range that is asked for.
    """
    inputs = frame(connection, "inputs", run=run.id, sentence=chosen.id)
    sequence, size, in_input, all_words = inputs.row(0)
    by_word = frame(connection, "positions", sequence=sequence)
    every = by_word.unique(["position"], keep="first", maintain_order=True)
    own = (pl.col("sentence") == chosen.id).fill_null(False)
    before = _before(every, chosen, asked.before)
    shown, left_out = _shown(every, own, before, asked)
    if len(before) < asked.before:
        left_out.append(f"The input holds {len(before)} sentences before {chosen.name}, of the"
                        f" {asked.before} that are asked for.")  # fmt: skip
    if in_input < all_words:
        left_out.append(f"The input holds {in_input} of the {all_words} words of {chosen.name}.")
    is_word = pl.col("kind").is_in(_KINDS)
    notes = []
    if every.filter(is_word).height > shown.filter(is_word).height:
        notes.append(
            f"The input has {size} positions; what goes to words that are not shown is elsewhere."
        )
    if not asked.special and every.height > every.filter(is_word).height:
        notes.append("Special tokens are left out, and what goes to them.")
    names = [f"{layer}-{head}" for layer, head in heads]
    maps = frame(connection, "maps", sequence=sequence, heads=names)
    _check_maps(maps, len(names), every)
    peaks = frame(connection, "peaks", sequence=sequence, heads=names)
    is_saved = asked.relation is not None and is_saved_relation(connection, asked.relation)
    pairs = gold_pairs(connection, by_word, [*before, chosen.id], asked, is_saved=is_saved)
    # Of several words in one position each has a row of its own in what follows.
    of_shown = by_word.join(shown.select("position"), on="position", how="semi")
    judged = as_saved(by_word, of_shown, pairs, asked) if is_saved else of_shown
    matched = set(
        of_shown.filter(own & pl.col("index").is_in(list(chosen.matched)))["position"].to_list()
    )
    words = shown.select(
        "position",
        "text",
        pl.col("index").cast(pl.Int64),
        is_special=pl.col("kind").is_in(_KINDS).not_(),
        is_matched=pl.col("position").is_in(list(matched)),
    )
    mentions = mentions_of(connection, of_shown) if asked.coreference else NO_MENTIONS
    tops, panels = [], []
    for layer, head in heads:
        of_head = (pl.col("layer") == layer) & (pl.col("head") == head)
        top = _tops(by_word, judged.filter(own), maps.filter(of_head), peaks.filter(of_head), asked)
        tops.append(top.with_columns(
            pl.lit(layer, pl.Int16).alias("layer"), pl.lit(head, pl.Int16).alias("head")
        ))  # fmt: skip
        panels.append(
            Panel(chosen.name, layer, head, words, _lines(maps.filter(of_head), every, shown),
                  gold_arcs(pairs, by_word, of_shown, peaks.filter(of_head), asked), mentions)
        )  # fmt: skip
    rows = pl.concat(tops).select(
        pl.lit(chosen.name).alias("sent_id"), "layer", "head",
        *(name for name in tops[0].columns if name not in ("layer", "head")),
        pl.lit(run.name).alias("run"),
    )  # fmt: skip
    return Read(rows, tuple(panels), tree_of(of_shown), tuple(left_out), tuple(notes))


def _check_maps(maps: pl.DataFrame, heads: int, every: pl.DataFrame) -> None:
    """Raise BankError where an input has not one weight for each pair of positions and head."""
    size = every.height
    weights = maps["weights"].explode()
    is_whole = (
        every["position"].to_list() == list(range(size))
        and maps.height == heads * size
        and (maps["weights"].list.len() == size).all()
        and weights.is_finite().sum() == maps.height * size
        and maps.select("layer", "head", "from_position").is_unique().all()
    )
    if not is_whole:
        raise BankError(
            "The bank is damaged: the attention maps of an input are not whole.",
            "Use a copy of it that is whole, or ingest again into a new file (-b FILE).",
        )


def _before(every: pl.DataFrame, chosen: Chosen, count: int) -> list[int]:
    """The sentences that stand before the chosen one in its input, so many at most."""
    ids = [each for each in every["sentence"].unique(maintain_order=True) if each is not None]
    at = ids.index(chosen.id)
    return ids[max(0, at - count) : at]


def _shown(
    every: pl.DataFrame, own: pl.Expr, before: list[int], asked: Asked
) -> tuple[pl.DataFrame, list[str]]:
    """The positions of an input that are shown, and a word about those that are not."""
    notes = []
    kept = own
    if asked.words is not None:
        first, last = asked.words
        kept = own & pl.col("index").is_between(first, last)
    words = every.filter(kept)
    if words.height:
        words = every.filter(kept | pl.col("sentence").is_in(before).fill_null(False))
    else:
        least, most = every.filter(own).select(
            pl.col("index").min().alias("least"), pl.col("index").max().alias("most")
        ).row(0)  # fmt: skip
        raise CallError(
            "The sentence has no such words.", f"It has the words {least} to {most} (--words)."
        )
    if words.height > MOST:
        words = words.tail(MOST) if before else words.head(MOST)
        part = "The last" if before else "The first"
        notes.append(
            f"{part} {MOST} positions alone are shown, up to word {words['index'][-1]}; for others:"
            " --words FROM-TO."
        )
    special = every.filter(pl.col("kind").is_in(_KINDS).not_()) if asked.special else every.clear()
    return pl.concat([words, special]).sort("position"), notes


def _lines(maps: pl.DataFrame, every: pl.DataFrame, shown: pl.DataFrame) -> pl.DataFrame:
    """The weights between the positions that are shown, and the sum of those to other words.

    Special tokens that are left out are left out of the sum, too.
    """
    places = shown["position"].to_list()
    words = every.filter(pl.col("kind").is_in(_KINDS))["position"]
    others = sorted(set(words) - set(places))
    weights_of = dict(maps.select("from_position", "weights").rows())
    rows = []
    for place in places:
        weights = weights_of[place]
        rows += [(place, to, weights[to]) for to in places]
        if others:
            rows.append((place, ELSEWHERE, sum(weights[to] for to in others)))
    schema = {"from_position": pl.Int64, "to_position": pl.Int64, "weight": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _tops(
    every: pl.DataFrame, shown: pl.DataFrame, maps: pl.DataFrame, peaks: pl.DataFrame, asked: Asked
) -> pl.DataFrame:
    """One row per word: what it looks at most (or what looks at it), and whether that is its head.

    As in table `peak`, special tokens and the word itself are left out. `every` and `shown` have
    one row per word of a position; that the head stands at the same position cannot be found, and
    is neither right nor wrong.
    """
    backward = asked.direction == "head_to_dependent"
    found = "looked_at_by" if backward else "looks_at"
    taken = "most_attending" if backward else "most_attended"
    at = every.select(
        pl.col("position").alias(f"{found}_position"), pl.col("text").alias(found)
    ).unique([f"{found}_position"], keep="first", maintain_order=True)
    stands = set(every.select("position", "word").rows())
    special = every.filter(pl.col("kind").is_in(_KINDS).not_())["position"].to_list()
    rests = pl.DataFrame(
        [(place, sum(weights[to] for to in special)) for place, weights in
         maps.select("from_position", "weights").rows()],
        schema={"position": pl.Int16, "special": pl.Float64}, orient="row",
    )  # fmt: skip
    return (
        shown.filter(pl.col("kind").is_in(_KINDS))
        .join(peaks, on="position", how="left")
        .rename({taken: f"{found}_position", f"{taken}_weight": "weight"})
        .join(at, on=f"{found}_position", how="left")
        .join(rests, on="position", how="left")
        .sort("position", "index")
        .select(
            "position",
            "index",
            pl.col("text").alias("dependent"),
            f"{found}_position",
            found,
            "weight",
            pl.col("head_form").alias("gold_head"),
            "relation",
            pl.struct("position", f"{found}_position", "head_word")
            .map_elements(
                lambda row: (
                    None
                    if row["head_word"] is None or (row["position"], row["head_word"]) in stands
                    else (row[f"{found}_position"], row["head_word"]) in stands
                ),
                return_dtype=pl.Boolean,
            )
            .alias("correct"),
            "special",
        )
    )
