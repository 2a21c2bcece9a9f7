"""From the tables of a bank to the frames of one sentence: its rows, and its panels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from attnbank.queries.pictures.sentence.panel import ELSEWHERE, Panel, Tree
from attnbank.queries.results import frame_of
from attnbank.queries.sentences.choosing import Chosen, as_analysis
from attnbank.sql import registry, runs
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.runs import Run

MOST = 150
"""Positions of a sentence that are shown at most."""
_KINDS = ("word", "token")


@dataclass(frozen=True)
class Asked:
    """What of a sentence is asked for, beside its heads.

    `relation` is one of the trees (without subtype all of its subtypes, or all), or a saved one.
    `words` are the first and the last index of the words that are shown, `before` is how many
    sentences of the same input are shown before the sentence.
    """

    relation: str | None = None
    direction: str = "dependent_to_head"
    coreference: bool = False
    special: bool = True
    words: tuple[int, int] | None = None
    before: int = 0


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
    if tree or (asked.relation is not None and not _is_saved(connection, asked.relation)):
        return "trees"
    return None


def _is_saved(connection: DuckDBPyConnection, relation: str) -> bool:
    rows = connection.execute("select 1 from saved_relation where name = ?", [relation])
    return bool(rows.fetchall())


def check_relation(connection: DuckDBPyConnection, relation: str | None, run: Run) -> None:
    """Raise CallError for a relation that no word of the run's corpus has, and that is not saved.

    It may be one with its subtype (nmod:poss), one without, or all.
    """
    rows = frame_of(
        connection.query(registry.statement("corpus_relations"), params={"corpus": run.corpus})
    ).rows()
    folded = {str(name).split(":")[0] for name, *_ in rows}
    if relation is not None and relation not in folded and not _is_saved(connection, relation):
        runs.check_relation(connection, as_analysis(None), {"relation": relation}, run)


def names(connection: DuckDBPyConnection, run: Run) -> dict[str, str]:
    """What a title says of a run: its name, its model and its corpus."""
    found = _frame(connection, "facts", run=run.id).row(0, named=True)
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
    inputs = _frame(connection, "inputs", run=run.id, sentence=chosen.id)
    sequence, size, in_input, all_words = inputs.row(0)
    every = _frame(connection, "positions", sequence=sequence)
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
    maps = _frame(connection, "maps", sequence=sequence, heads=names)
    _check_maps(maps, len(names), every)
    peaks = _frame(connection, "peaks", sequence=sequence, heads=names)
    is_saved = asked.relation is not None and _is_saved(connection, asked.relation)
    pairs = _gold(connection, every, [*before, chosen.id], asked, is_saved=is_saved)
    judged = _as_saved(every, shown, pairs, asked) if is_saved else shown
    words = shown.select(
        "position",
        "text",
        pl.col("index").cast(pl.Int64),
        is_special=pl.col("kind").is_in(_KINDS).not_(),
        is_matched=own & pl.col("index").is_in(list(chosen.matched)).fill_null(False),
    )
    mentions = _mentions(connection, shown) if asked.coreference else _NO_MENTIONS
    tops, panels = [], []
    for layer, head in heads:
        of_head = (pl.col("layer") == layer) & (pl.col("head") == head)
        top = _tops(every, judged.filter(own), maps.filter(of_head), peaks.filter(of_head), asked)
        tops.append(top.with_columns(
            pl.lit(layer, pl.Int16).alias("layer"), pl.lit(head, pl.Int16).alias("head")
        ))  # fmt: skip
        panels.append(
            Panel(chosen.name, layer, head, words, _lines(maps.filter(of_head), every, shown),
                  _arcs(pairs, every, shown, peaks.filter(of_head), asked), mentions)
        )  # fmt: skip
    rows = pl.concat(tops).select(
        pl.lit(chosen.name).alias("sent_id"), "layer", "head",
        *(name for name in tops[0].columns if name not in ("layer", "head")),
        pl.lit(run.name).alias("run"),
    )  # fmt: skip
    return Read(rows, tuple(panels), _tree(shown), tuple(left_out), tuple(notes))


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
    """A row a word: what it looks at most (or what looks at it), and whether that is its head.

    As table `peak` has it, special tokens and the word itself left out.
    """
    backward = asked.direction == "head_to_dependent"
    found = "looked_at_by" if backward else "looks_at"
    taken = "most_attending" if backward else "most_attended"
    at = every.select(
        pl.col("position").alias(f"{found}_position"),
        pl.col("text").alias(found),
        pl.col("word").alias("found_word"),
    )
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
        .sort("position")
        .select(
            "position",
            "index",
            pl.col("text").alias("dependent"),
            f"{found}_position",
            found,
            "weight",
            pl.col("head_form").alias("gold_head"),
            "relation",
            pl.when(pl.col("head_word").is_null())
            .then(None)
            .otherwise((pl.col("found_word") == pl.col("head_word")).fill_null(False))
            .alias("correct"),
            "special",
        )
    )


def _gold(
    connection: DuckDBPyConnection,
    every: pl.DataFrame,
    sentences: list[int],
    asked: Asked,
    *,
    is_saved: bool,
) -> list[tuple[int, int]]:
    """The pairs (dependent, head), both word.id, of the relation that is asked for."""
    if asked.relation is None:
        return []
    if is_saved:
        saved = _frame(connection, "saved_pairs", relation=asked.relation, sentences=sentences)
        return [(word, head) for word, head in saved.rows()]
    own = every.filter(
        pl.col("sentence").is_in(sentences) & pl.col("head_word").is_not_null()
    ).unique(["word"], maintain_order=True)
    return [
        (word, head)
        for word, head, relation in own.select("word", "head_word", "relation").rows()
        if asked.relation in ("all", relation, str(relation).split(":")[0])
    ]


def _as_saved(
    every: pl.DataFrame, shown: pl.DataFrame, pairs: Sequence[tuple[int, int]], asked: Asked
) -> pl.DataFrame:
    """The positions with the pairs of a saved relation in the place of the tree's.

    Of a word with several heads the rows have the first; the arcs have all.
    """
    heads = dict(reversed(pairs))
    forms = dict(every.select("word", "form").rows())
    of_word = [heads.get(word) for word in shown["word"]]
    return shown.with_columns(
        pl.Series("head_word", of_word, pl.Int32),
        pl.Series("head_form", [forms.get(head) for head in of_word], pl.String),
        pl.Series("relation", [head and asked.relation for head in of_word], pl.String),
    )


def _arcs(
    pairs: Sequence[tuple[int, int]],
    every: pl.DataFrame,
    shown: pl.DataFrame,
    peaks: pl.DataFrame,
    asked: Asked,
) -> pl.DataFrame:
    """The gold arcs as lines: from the word that should look to the one that it should look at.

    Of words in several tokens, the line joins their first ones; it is found where one of the
    dependent's tokens has one of the head's at its peak.
    """
    backward = asked.direction == "head_to_dependent"
    taken = "most_attending" if backward else "most_attended"
    word_at = dict(every.select("position", "word").rows())
    peak_of = {
        (word_at[place], word_at.get(found))
        for place, found in peaks.select("position", taken).rows()
    }
    first: dict[int, int] = {}
    for place, word in shown.select("position", "word").rows():
        if word is not None:
            first.setdefault(word, place)
    rows = []
    for word, head in pairs:
        if word in first and head in first:
            ends = (first[head], first[word]) if backward else (first[word], first[head])
            rows.append((*ends, (word, head) in peak_of))
    schema = {"from_position": pl.Int64, "to_position": pl.Int64, "is_found": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


_NO_MENTIONS = pl.DataFrame(
    schema={"entity": pl.Int64, "first": pl.Int64, "last": pl.Int64, "head": pl.Int64}
)


def _mentions(connection: DuckDBPyConnection, shown: pl.DataFrame) -> pl.DataFrame:
    """The mentions of entities that have several among the words shown, as spans of positions."""
    words = shown["word"]
    found = _frame(connection, "mentions", first=words.min(), last=words.max())
    spans: list[tuple[int, int, int, int]] = []
    places: dict[int, list[int]] = {}
    for place, word in shown.select("position", "word").rows():
        if word is not None:
            places.setdefault(word, []).append(place)
    for entity, first, last, head in found.select(
        "entity", "first_word", "last_word", "head_word"
    ).rows():
        inner = [place for word in range(first, last + 1) for place in places.get(word, [])]
        if inner and head in places:
            spans.append((entity, min(inner), max(inner), places[head][0]))
    times = Counter(span[0] for span in spans)
    several = list(dict.fromkeys(span[0] for span in spans if times[span[0]] > 1))
    rows = [(several.index(span[0]), *span[1:]) for span in spans if span[0] in several]
    return pl.DataFrame(rows, schema=_NO_MENTIONS.schema, orient="row")


def _tree(shown: pl.DataFrame) -> Tree | None:
    """The tree over the words that are shown; None where the sentence has none."""
    words = shown.filter(pl.col("word").is_not_null()).unique(["word"], maintain_order=True)
    words = words.sort("position")
    if words["head_index"].null_count() == words.height:
        return None
    place = {word: at for at, word in enumerate(words["word"])}
    return Tree(
        words=tuple(words["form"]),
        tags=tuple(upos or "" for upos in words["upos"]),
        heads=tuple(place.get(head) for head in words["head_word"]),
        relations=tuple(words["relation"]),
    )


def _frame(connection: DuckDBPyConnection, name: str, /, **values: Any) -> pl.DataFrame:
    return frame_of(connection.query(registry.statement(f"sentences/{name}"), params=values))
