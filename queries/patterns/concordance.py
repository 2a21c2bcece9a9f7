"""Show hits as a concordance: the matched words, with the words of the sentence left and right.

Left and right are sides of the page: in a right-to-left sentence, the words before the hit are on
its right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from attnbank.sql.messages import is_right_to_left

if TYPE_CHECKING:
    from attnbank.queries.backend import Backend

# A surface form, and whether white space follows it.
Word = tuple[str, bool]

# The surface forms of a sentence, and for each word index the number (from 1) of its form.
#
# Words that do not spell their multiword token (French du: de + le) share its one form.
Sentence = tuple[list[Word], dict[int, int]]

_BATCH_SIZE = 10_000  # sentences read by one statement


def add_context(backend: Backend, hits: pl.DataFrame, context: int | None = None) -> pl.DataFrame:
    """Replace the node columns of hits by the text columns `left`, `hit` and `right`.

    `hits` has `sent_id`, `sentence` (`HitOptions.keys`) and one column of word indexes per node,
    and also `N.sentence` for each node N if nodes may be in different sentences. Other columns are
    kept. `context` is the number of words left and right; None for all.
    """
    nodes = node_columns(hits)
    node_sentences = [f"{name}.sentence" for name in nodes]
    is_cross_sentence = bool(nodes) and node_sentences[0] in hits.columns
    of_node = node_sentences if is_cross_sentence else ["sentence"] * len(nodes)
    id_columns = dict.fromkeys(["sentence", *of_node])
    with backend.answering():
        sentences = _read_sentences(
            backend, list({number for name in id_columns for number in hits[name]})
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
    other_columns = hits.drop("sent_id", "sentence", *nodes, *node_sentences, strict=False)
    return pl.concat([hits.select("sent_id"), concordance, other_columns], how="horizontal")


def node_columns(hits: pl.DataFrame) -> list[str]:
    """The node columns of a frame of hits; they hold word indexes.

    An index counts from 1 within the sentence; 0 is the node before the first word.
    """
    # Keys such as delta(A, B) or N.__id__ may be 16-bit integers too, but have a sign in the name.
    indexes = (name for name, dtype in hits.schema.items() if dtype == pl.Int16)
    return [name for name in indexes if not any(sign in name for sign in ".(")]


def _read_sentences(backend: Backend, sentences: list[int]) -> dict[int, Sentence]:
    by_id: dict[int, Sentence] = defaultdict(lambda: ([], {}))
    for start in range(0, len(sentences), _BATCH_SIZE):
        part = sentences[start : start + _BATCH_SIZE]
        rows = backend.internal("patterns/surface_tokens", sentences=part)
        for sentence, index, form, space_after, last_index in rows.iter_rows():
            words, positions = by_id[sentence]
            words.append((form, space_after))
            positions.update(dict.fromkeys(range(index, last_index + 1), len(words)))
    return by_id


def _split_at_hit(
    sentence: Sentence, matched: Sequence[int], context: int | None
) -> tuple[str, str, str]:
    """The text before the matched words, from the first to the last of them, and after them."""
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
