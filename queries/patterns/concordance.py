"""Hits as people read them: the matched words in their sentence, with what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from duckdb import DuckDBPyConnection

Word = tuple[str, bool]
"""A form, and whether white space follows it."""

_SENTENCES_AT_ONCE = 10_000


def lines(connection: DuckDBPyConnection, found: pl.DataFrame, context: int | None) -> pl.DataFrame:
    """The hits with `left`, `hit` and `right` in the place of the indexes of their nodes.

    `found` has `sent_id`, `sentence` and a column of integers for each node; where nodes may stand
    in several sentences, `N.sentence` has that of each. What else it has stays.
    """
    nodes = nodes_of(found)
    own = [f"{name}.sentence" for name in nodes]
    of_node = own if own and own[0] in found.columns else ["sentence"] * len(nodes)
    places = dict.fromkeys(["sentence", *of_node])
    words = _words(connection, list({each for name in places for each in found[name]}))
    rows = []
    for row in found.iter_rows(named=True):
        matched: dict[int, list[int]] = {}
        for node, sentence in zip(nodes, of_node, strict=True):
            if row[node]:
                matched.setdefault(row[sentence], []).append(row[node])
        rows.append(_line(words, matched or {row["sentence"]: []}, context))
    parts = pl.DataFrame(
        rows, schema={"left": pl.String, "hit": pl.String, "right": pl.String}, orient="row"
    )
    gone = {"sent_id", "sentence", *nodes, *own}
    rest = [name for name in found.columns if name not in gone]
    return pl.concat([found.select("sent_id"), parts, found.select(rest)], how="horizontal")


def nodes_of(found: pl.DataFrame) -> list[str]:
    """The columns of a frame of hits that have the indexes of a node, one column a node.

    An index counts from 1 within the sentence; 0 is the node before the first word.
    """
    return [
        name
        for name, dtype in found.schema.items()
        if dtype == pl.Int16 and not any(sign in name for sign in ".(")
    ]


def _line(
    words: dict[int, list[Word]], matched: dict[int, list[int]], context: int | None
) -> tuple[str, str, str]:
    """One hit: left of its first sentence, what is matched in each, right of its last one."""
    parts = [
        _parts(words.get(sentence, []), indexes, context)
        for sentence, indexes in sorted(matched.items())
    ]
    return parts[0][0], " … ".join(hit for _, hit, _ in parts), parts[-1][2]


def _words(connection: DuckDBPyConnection, sentences: Sequence[int]) -> dict[int, list[Word]]:
    """The words of some sentences, by the sentence's id."""
    found: dict[int, list[Word]] = {}
    for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
        rows = connection.execute(
            "select sentence, form, space_after from word"
            " where sentence in (select unnest($sentences)) order by sentence, index",
            {"sentences": list(sentences[start : start + _SENTENCES_AT_ONCE])},
        ).fetchall()
        for sentence, form, space_after in rows:
            found.setdefault(sentence, []).append((form, space_after))
    return found


def _parts(words: list[Word], matched: Sequence[int], context: int | None) -> tuple[str, str, str]:
    """What stands left of the matched words, they and what is between them, and what is right."""
    if not matched:
        return "", _text(words), ""
    first, last = min(matched), max(matched)
    begin = 0 if context is None else max(0, first - 1 - context)
    end = len(words) if context is None else last + context
    chosen = set(matched)
    marked = [
        (f"[{form}]" if index in chosen else form, space)
        for index, (form, space) in enumerate(words[first - 1 : last], first)
    ]
    return _text(words[begin : first - 1]), _text(marked), _text(words[last:end])


def _text(words: Sequence[Word]) -> str:
    return "".join(form + (" " if space else "") for form, space in words).strip()
