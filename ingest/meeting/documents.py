"""The documents of several banks, put in order: which ids their rows get in the new bank.

The ids of a document's sentences, words, mentions and entities follow each other, so that one
number added to each gives the new ones. These numbers are in the temporary table `met_home`, one
row for each document of each source. All tables that a merge makes for itself are called `met_...`,
since a temporary table hides one of the bank that has its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting.same import Corpus
from attnbank.ingest.meeting.sources import SOURCE, Source
from attnbank.sql.errors import BankError

_MOST_IDS = 2**31 - 1

KINDS = ("sentence", "word", "mention", "entity")

TEXT: Mapping[str, Mapping[str, str]] = {
    "document": {"id": "document", "corpus": "corpus"},
    "sentence": {"id": "sentence", "document": "document"},
    "word": {"id": "word", "sentence": "sentence"},
    "mention": {
        "id": "mention", "document": "document", "entity": "entity", "first_word": "word",
        "last_word": "word", "head_word": "word",
    },
    "departure": {"corpus": "corpus", "sentence": "sentence"},
}  # fmt: skip
"""The tables of annotated text, and what their columns of ids mean."""

_EXTENT = f"""
with

sentences as (
    select
        sentence.document, count(*) as sentences, min(sentence.id) as first_sentence,
        max(sentence.id) as last_sentence
    from {SOURCE}.main.sentence
    group by sentence.document
),

words as (
    select
        sentence.document, count(*) as words, min(word.id) as first_word, max(word.id) as last_word
    from {SOURCE}.main.word
    inner join {SOURCE}.main.sentence on sentence.id = word.sentence
    group by sentence.document
),

mentions as (
    select
        mention.document, count(*) as mentions, min(mention.id) as first_mention,
        max(mention.id) as last_mention, count(distinct mention.entity) as entities,
        min(mention.entity) as first_entity, max(mention.entity) as last_entity,
        min(least(mention.first_word, mention.last_word, mention.head_word)) as least_word,
        max(greatest(mention.first_word, mention.last_word, mention.head_word)) as largest_word
    from {SOURCE}.main.mention
    group by mention.document
)

select
    $source as source, document.id as old, met_corpus_home.corpus, document.index,
    coalesce(sentences.sentences, 0) as sentences, sentences.first_sentence,
    sentences.last_sentence,
    coalesce(words.words, 0) as words, words.first_word, words.last_word,
    coalesce(mentions.mentions, 0) as mentions, mentions.first_mention, mentions.last_mention,
    coalesce(mentions.entities, 0) as entities, mentions.first_entity, mentions.last_entity,
    mentions.least_word, mentions.largest_word
from {SOURCE}.main.document
inner join met_corpus_home
    on met_corpus_home.source = $source and met_corpus_home.old = document.corpus
left join sentences on sentences.document = document.id
left join words on words.document = document.id
left join mentions on mentions.document = document.id
"""

_HOME = """
create temp table met_home as
with

owned as (
    select
        met_extent.*,
        row_number() over (partition by corpus, index order by source) = 1 as is_own
    from met_extent
),

numbered as (
    select
        corpus, index,
        row_number() over following as document,
        sum(sentences) over following - sentences + 1 as sentence,
        sum(words) over following - words + 1 as word,
        sum(mentions) over following - mentions + 1 as mention,
        sum(entities) over following - entities + 1 as entity
    from owned
    where is_own
    window following as (order by corpus, index rows unbounded preceding)
)

select
    owned.*,
    numbered.document,
    numbered.sentence - owned.first_sentence as sentence_shift,
    numbered.word - owned.first_word as word_shift,
    numbered.mention - owned.first_mention as mention_shift,
    numbered.entity - owned.first_entity as entity_shift
from owned
inner join numbered on numbered.corpus = owned.corpus and numbered.index = owned.index
"""


def begin(connection: DuckDBPyConnection, corpora: Sequence[Corpus]) -> None:
    """Make the tables of the connection that the documents are gathered in."""
    connection.execute(
        "create temp table met_corpus_home (source integer, old integer, corpus integer)"
    )
    for corpus in corpora:
        for source, old in corpus.rows:
            connection.execute(
                "insert into met_corpus_home values (?, ?, ?)", [source, old, corpus.id]
            )


def gather(connection: DuckDBPyConnection, source: Source) -> None:
    """Take up the documents of an attached source.

    Raises BankError if the ids of a document's rows do not follow each other, or if rows belong to
    no document.
    """
    number = {"source": source.number}
    is_first = source.number == 0
    made = "create temp table met_extent as" if is_first else "insert into met_extent"
    connection.execute(f"{made} {_EXTENT}", number)
    counts = connection.execute(
        "select count(*), sum(sentences), sum(words), sum(mentions),"
        " count(distinct (corpus, index)) from met_extent where source = $source",
        number,
    ).fetchall()[0]
    tables = ("document", "sentence", "word", "mention")
    for table, count in zip(tables, counts, strict=False):
        ((rows,),) = connection.execute(f"select count(*) from {SOURCE}.main.{table}").fetchall()
        if rows != (count or 0):
            raise source.unfit(f"its table {table} has rows that belong to nothing, or twice")
    if counts[4] != counts[0]:
        raise source.unfit("two documents of a corpus have one place (document.index)")
    broken = " or ".join(
        f"last_{kind} - first_{kind} + 1 <> {'entities' if kind == 'entity' else f'{kind}s'}"
        for kind in KINDS
    )
    found = connection.execute(
        f"select index from met_extent where source = $source and ({broken}"
        " or least_word < first_word or largest_word > last_word"
        " or (least_word is not null and first_word is null)) limit 1",
        number,
    ).fetchall()
    if found:
        raise source.unfit(f"the ids of the document at {found[0][0]} do not follow each other")


def arrange(connection: DuckDBPyConnection) -> dict[int, int]:
    """Give every document its place and its ids; the number of sentences of each corpus, by id.

    Raises BankError if there are more words than one bank can number.
    """
    connection.execute(_HOME)
    ((most,),) = connection.execute(
        "select max(greatest(words, mentions)) from"
        " (select sum(words) as words, sum(mentions) as mentions from met_home where is_own)"
    ).fetchall()
    if (most or 0) > _MOST_IDS:
        raise BankError(f"Together they have {most:,} words: a bank can number {_MOST_IDS:,}.")
    return dict(
        connection.execute(
            "select met_corpus_home.corpus, cast(coalesce(max(own.sentences), 0) as bigint)"
            " from met_corpus_home left join (select corpus, sum(sentences) as sentences"
            " from met_home where is_own group by corpus) as own"
            " on own.corpus = met_corpus_home.corpus group by 1"
        ).fetchall()
    )


def shared_by(connection: DuckDBPyConnection) -> list[int]:
    """The numbers of the sources that have a document that another has, too."""
    found = connection.execute(
        "select distinct source from met_home as home where (corpus, index) in"
        " (select (corpus, index) from met_home as home where not is_own) order by source"
    ).fetchall()
    return [number for (number,) in found]


def from_text(table: str) -> str:
    """The FROM of a table of the attached source, joined to `home`; its own rows are `own`."""
    own = f"from {SOURCE}.main.{table} as own"
    if table == "document":
        joined = "inner join met_home as home on home.old = own.id"
    elif "document" in TEXT[table]:
        joined = "inner join met_home as home on home.old = own.document"
    else:
        joined = (
            f"inner join {SOURCE}.main.sentence as inside on inside.id = own.sentence"
            " inner join met_home as home on home.old = inside.document"
        )
    return f"{own} {joined} and home.source = $source"


def moved(column: str, kind: str) -> str:
    """The new value of a column of ids."""
    if kind in ("document", "corpus"):
        return f"home.{kind}"
    return f"{column} + home.{kind}_shift"


def relative(column: str, kind: str) -> str:
    """A column of ids without what differs between two banks of the same text."""
    return "0" if kind in ("document", "corpus") else f"{column} - home.first_{kind}"
