"""Where documents of several sources go, and what is added to the ids of what is in them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from attnbank.sql import registry
from attnbank.sql.id_map import JOINED_LOSS

DIFFERING = registry.internal_statement("merge/differing_documents")
_EXTENT = (
    "create table merge_extent (source integer, old integer, corpus integer, index integer,"
    " is_first boolean,"
    " sentences bigint, first_sentence integer, last_sentence integer,"
    " words bigint, first_word integer, last_word integer,"
    " mentions bigint, first_mention integer, last_mention integer,"
    " entities bigint, first_entity integer, last_entity integer)"
)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(_EXTENT)
        yield opened


def _document(
    connection: duckdb.DuckDBPyConnection, source: int, old: int, index: int, first: int, count: int
) -> None:
    """A document of `count` sentences of ten words; with a mention where these are several.

    Source 2 has the shards of an earlier one.
    """
    mention = [1, first, first] if count > 1 else [0, None, None]
    row = [source, old, 1, index, source < 2, count, first, first + count - 1]
    row += [10 * count, 10 * first, 10 * (first + count) - 1, *mention, *mention]
    connection.execute(f"insert into merge_extent values ({', '.join('?' * len(row))})", row)


def _placed(connection: duckdb.DuckDBPyConnection, source: int) -> list[tuple[object, ...]]:
    connection.execute(
        f"create or replace table merge_id_map as {registry.internal_statement('merge/id_map')}"
    )
    return connection.execute(
        "select old, document, is_own, sentence_shift, word_shift, mention_shift, entity_shift"
        f" from merge_id_map where source = {source} order by old"
    ).fetchall()


def test_documents_stand_in_the_order_of_the_corpus(connection: duckdb.DuckDBPyConnection) -> None:
    _document(connection, 0, 1, 1, 1, 2)
    _document(connection, 0, 2, 3, 3, 1)
    _document(connection, 1, 1, 2, 1, 2)
    # Each row: old and new document, is_own, and what is added to sentence, word, mention, entity.
    assert _placed(connection, 0) == [(1, 1, True, 0, -9, 0, 0), (2, 3, True, 2, 11, None, None)]
    assert _placed(connection, 1) == [(1, 2, True, 2, 11, 1, 1)]
    _document(connection, 2, 9, 1, 5, 2)
    assert _placed(connection, 2) == [(9, 1, False, -4, -49, -4, -4)]
    assert connection.execute(DIFFERING).fetchall() == []


@pytest.mark.parametrize(("index", "sentences"), [(1, 3), (4, 2)])
def test_a_document_that_is_not_the_same_is_found(
    index: int, sentences: int, connection: duckdb.DuckDBPyConnection
) -> None:
    """One of other sentences, and one that an earlier source of the same shards does not have."""
    _document(connection, 0, 1, 1, 1, 2)
    _document(connection, 1, 1, 2, 1, 2)
    _document(connection, 2, 9, index, 5, sentences)
    _placed(connection, 2)
    assert connection.execute(DIFFERING).fetchall() == [(1, index)]


def test_a_whole_corpus_moves_by_one_number(connection: duckdb.DuckDBPyConnection) -> None:
    """Its ids follow each other, so that the shift of all its documents is the same."""
    for source, first in ((0, 1), (1, 101)):
        for index in (1, 2, 3):
            _document(connection, source, index, index, first + 2 * (index - 1), 2)
    found = _placed(connection, 1)
    assert len(found) == 3 and {row[3:5] for row in found} == {(-100, -1009)}


def test_the_loss_of_shards_is_the_mean_over_all_tokens(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Ten tokens that lose 1 and two that lose 4 lose 1.5 on average, not 2.5."""
    shards = "(values (1.0, 10), (4.0, 2)) as own(loss, tokens)"
    assert connection.execute(f"select {JOINED_LOSS} from {shards}").fetchall() == [(1.5,)]
