"""Hits as a concordance: the matched words in their sentence, with the words left and right.

Left and right are sides of the page: in a sentence that runs from right to left, the words before
the hit are on its right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import polars as pl

from attnbank.queries.directions import is_right_to_left
from attnbank.sql import registry
from attnbank.sql.run_choice import SupportsExecute

# What is written, and whether white space follows it.
Word = tuple[str, bool]

# What is written of a sentence, and the place (from 1) at which each word of it stands.
#
# The words of a multiword token that they do not spell (French du: de + le) stand at one.
Sentence = tuple[list[Word], dict[int, int]]

_BATCH_SIZE = 10_000


def add_context(
    connection: SupportsExecute, hits: pl.DataFrame, context: int | None
) -> pl.DataFrame:
    """The hits with the columns `left`, `hit` and `right` instead of the indexes of their nodes.

    `found` has `sent_id`, `sentence` and one column of integers per node; if nodes may be in
    different sentences, `N.sentence` has that of each. Its other columns stay. `context` is the
    number of words left and right; None for all.
    """
    nodes = nodes_of(hits)
    own = [f"{name}.sentence" for name in nodes]
    of_node = own if own and own[0] in hits.columns else ["sentence"] * len(nodes)
    id_columns = dict.fromkeys(["sentence", *of_node])
    sentences = _read_sentences(
        connection, list({number for name in id_columns for number in hits[name]})
    )
    rows = []
    for row in hits.iter_rows(named=True):
        matched: dict[int, list[int]] = {}
        for node, sentence in zip(nodes, of_node, strict=True):
            if row[node]:
                matched.setdefault(row[sentence], []).append(row[node])
        parts = [
            _split_at_hit(sentences[sentence], indexes, context)
            for sentence, indexes in sorted((matched or {row["sentence"]: []}).items())
        ]
        before, hit, after = parts[0][0], " … ".join(hit for _, hit, _ in parts), parts[-1][2]
        rows.append((after, hit, before) if is_right_to_left(hit) else (before, hit, after))
    schema = dict.fromkeys(("left", "hit", "right"), pl.String)
    concordance = pl.DataFrame(rows, schema=schema, orient="row")
    other_columns = hits.drop("sent_id", "sentence", *nodes, *own, strict=False)
    return pl.concat([hits.select("sent_id"), concordance, other_columns], how="horizontal")


def nodes_of(hits: pl.DataFrame) -> list[str]:
    """The columns of a frame of hits that have the indexes of a node, one column a node.

    An index counts from 1 within the sentence; 0 is the node before the first word.
    """
    indexes = (name for name, dtype in hits.schema.items() if dtype == pl.Int16)
    return [name for name in indexes if not any(sign in name for sign in ".(")]


def _read_sentences(connection: SupportsExecute, sentences: Sequence[int]) -> dict[int, Sentence]:
    by_id: dict[int, Sentence] = defaultdict(lambda: ([], {}))
    for start in range(0, len(sentences), _BATCH_SIZE):
        part = {"sentences": list(sentences[start : start + _BATCH_SIZE])}
        rows = connection.execute(
            registry.internal_statement("patterns/surface_tokens"), part
        ).fetchall()
        for sentence, index, form, space_after, last_index in rows:
            words, positions = by_id[sentence]
            words.append((form, space_after))
            positions.update(dict.fromkeys(range(index, last_index + 1), len(words)))
    return by_id


def _split_at_hit(
    sentence: Sentence, matched: Sequence[int], context: int | None
) -> tuple[str, str, str]:
    """What stands before the matched words, they and what is between them, and what comes after."""
    words, position_of = sentence
    if not matched:
        return "", _join_words(words), ""
    positions = {position_of[index] for index in matched}
    first, last = min(positions), max(positions)
    begin = 0 if context is None else max(0, first - 1 - context)
    end = len(words) if context is None else last + context
    marked = (
        (f"[{form}]" if at in positions else form, space)
        for at, (form, space) in enumerate(words[first - 1 : last], first)
    )
    return _join_words(words[begin : first - 1]), _join_words(marked), _join_words(words[last:end])


def _join_words(words: Iterable[Word]) -> str:
    return "".join(form + (" " if space else "") for form, space in words).strip()
