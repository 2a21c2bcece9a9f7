"""What is marked in a sentence: gold arcs, mentions, the tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from attnbank.queries.pictures.sentence.panel import Tree
from attnbank.queries.results import frame_of
from attnbank.sql import registry


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


def frame(connection: DuckDBPyConnection, name: str, /, **values: Any) -> pl.DataFrame:
    """Return what a statement of sql/internal/sentences gives, with the columns that it names."""
    return frame_of(connection.query(registry.statement(f"sentences/{name}"), params=values))


def is_saved_relation(connection: DuckDBPyConnection, relation: str) -> bool:
    """Return whether a relation is one that a user saved."""
    rows = connection.execute("select 1 from saved_relation where name = ?", [relation])
    return bool(rows.fetchall())


def gold_pairs(
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
        saved = frame(connection, "saved_pairs", relation=asked.relation, sentences=sentences)
        return [(word, head) for word, head in saved.rows()]
    own = every.filter(
        pl.col("sentence").is_in(sentences) & pl.col("head_word").is_not_null()
    ).unique(["word"], maintain_order=True)
    return [
        (word, head)
        for word, head, relation in own.select("word", "head_word", "relation").rows()
        if asked.relation in ("all", relation, str(relation).split(":")[0])
    ]


def as_saved(
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


def gold_arcs(
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
    words_at: dict[int, list[int]] = {}
    for place, word in every.select("position", "word").rows():
        words_at.setdefault(place, []).append(word)
    peak_of = {
        (word, other)
        for place, found in peaks.select("position", taken).rows()
        for word in words_at[place]
        for other in words_at.get(found, [])
    }
    first: dict[int, int] = {}
    for place, word in shown.select("position", "word").rows():
        if word is not None:
            first.setdefault(word, place)
    rows = []
    for word, head in pairs:
        if word in first and head in first and first[word] != first[head]:
            ends = (first[head], first[word]) if backward else (first[word], first[head])
            rows.append((*ends, (word, head) in peak_of))
    schema = {"from_position": pl.Int64, "to_position": pl.Int64, "is_found": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


NO_MENTIONS = pl.DataFrame(
    schema={"entity": pl.Int64, "first": pl.Int64, "last": pl.Int64, "head": pl.Int64}
)


def mentions_of(connection: DuckDBPyConnection, shown: pl.DataFrame) -> pl.DataFrame:
    """The mentions of entities that have several among the words shown, as spans of positions."""
    words = shown["word"]
    found = frame(connection, "mentions", first=words.min(), last=words.max())
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
    return pl.DataFrame(rows, schema=NO_MENTIONS.schema, orient="row")


def tree_of(shown: pl.DataFrame) -> Tree | None:
    """Return the tree over the words that are shown, or None where the sentence has none."""
    words = shown.filter(pl.col("word").is_not_null()).unique(["word"], maintain_order=True)
    words = words.sort("position", "index")
    if words["head_index"].null_count() == words.height:
        return None
    place = {word: at for at, word in enumerate(words["word"])}
    return Tree(
        words=tuple(words["form"]),
        tags=tuple(upos or "" for upos in words["upos"]),
        heads=tuple(place.get(head) for head in words["head_word"]),
        relations=tuple(words["relation"]),
    )
