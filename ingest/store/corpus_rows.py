"""Writing annotated text into the bank: documents, sentences, words and mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields

from duckdb import DuckDBPyConnection

from attnbank.ingest.corpora.document import Problem, Sentence
from attnbank.ingest.store.arrow import BOOL, INT, MAP, SMALL, TEXT, Rows, schema
from attnbank.sql import registry

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class CorpusFacts:
    """What table `corpus` says of a corpus."""

    name: str
    format: str
    path: str
    sha256: str
    annotation: str
    annotator: str | None
    annotator_sha256: str | None = None
    language: str | None = None  # a BCP 47 tag
    shard: str | None = None  # 3/16: the third of 16 parts of its documents


def next_ids(connection: DuckDBPyConnection) -> dict[str, int]:
    """The first id of each kind that no row has or ever had, by kind."""
    return dict(connection.execute(registry.statement("ingest/next_ids")).fetchall())


@dataclass
class _Tables:
    document: Rows = field(
        default_factory=lambda: Rows(
            "document",
            schema(id=INT, corpus=INT, index=INT, name=TEXT, split=TEXT, file=TEXT, metadata=MAP),
        )
    )
    sentence: Rows = field(
        default_factory=lambda: Rows(
            "sentence",
            schema(
                id=INT, document=INT, index=INT, paragraph=INT, name=TEXT, text=TEXT, words=INT,
                empty_nodes=SMALL, line=INT, metadata=MAP,
            ),
        )
    )  # fmt: skip
    word: Rows = field(
        default_factory=lambda: Rows(
            "word",
            schema(
                id=INT, sentence=INT, index=SMALL, form=TEXT, lemma=TEXT, upos=TEXT, xpos=TEXT,
                feats=TEXT, head_index=SMALL, deprel=TEXT, deps=TEXT, space_after=BOOL,
                surface=TEXT, misc=TEXT, token_start=SMALL,
            ),
        )
    )  # fmt: skip
    mention: Rows = field(
        default_factory=lambda: Rows(
            "mention",
            schema(
                id=INT, document=INT, entity=INT, entity_name=TEXT, first_word=INT,
                last_word=INT, head_word=INT, head_rule=TEXT, kind=TEXT, kind_rule=TEXT,
                type=TEXT, identity=TEXT, parts=SMALL,
            ),
        )
    )  # fmt: skip
    skipped: Rows = field(
        default_factory=lambda: Rows(
            "skipped",
            schema(
                corpus=INT, run=INT, batch=INT, sentence=INT, name=TEXT, place=TEXT, reason=TEXT,
                detail=TEXT,
            ),
        )
    )  # fmt: skip

    departure: Rows = field(
        default_factory=lambda: Rows(
            "departure",
            schema(corpus=INT, sentence=INT, place=TEXT, reason=TEXT, detail=TEXT),
        )
    )

    def insert(self, connection: DuckDBPyConnection) -> None:
        for each in fields(self):
            getattr(self, each.name).insert(connection)


def write_corpus(
    connection: DuckDBPyConnection, facts: CorpusFacts, items: Iterable[Sentence | Problem]
) -> Iterator[int]:
    """Write a corpus, in one transaction that the caller begins and commits.

    Yields the number of sentences so far, each time some were written; the problems among the
    items become rows of `skipped`, the departures of its sentences rows of `departure`.
    """
    ids = next_ids(connection)
    corpus = ids["corpus"]
    connection.execute(
        "insert into corpus (id, name, format, path, sha256, annotation, annotator,"
        " annotator_sha256, language, shard) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [corpus, facts.name, facts.format, facts.path, facts.sha256, facts.annotation,
         facts.annotator, facts.annotator_sha256, facts.language, facts.shard],
    )  # fmt: skip
    tables = _Tables()
    document, sentence, word = ids["document"] - 1, ids["sentence"], ids["word"]
    mention, next_entity = ids["mention"], ids["entity"]
    documents = in_document = done = 0
    entities: dict[str, int] = {}
    for item in items:
        if isinstance(item, Problem):
            tables.skipped.add(
                corpus, None, None, None, item.sentence, f"{item.file}:{item.line}", item.id,
                item.fact,
            )  # fmt: skip
            continue
        if item.document is not None:
            document += 1
            documents += 1
            in_document = 0
            entities = {}
            start = item.document
            tables.document.add(
                document, corpus, start.index or documents, start.name, start.split, start.file,
                list(start.metadata.items()),
            )  # fmt: skip
        in_document += 1
        done += 1
        tables.sentence.add(
            sentence, document, in_document, item.paragraph, item.name, item.text or _text(item),
            len(item.words), item.empty_nodes, item.line, list(item.metadata.items()) or None,
        )  # fmt: skip
        tables.word.extend(
            (word + at, sentence, at + 1, each.form, each.lemma, each.upos, each.xpos, each.feats,
             each.head_index, each.deprel, each.deps, each.space_after, each.surface, each.misc,
             each.token_start)
            for at, each in enumerate(item.words)
        )  # fmt: skip
        for each in item.mentions:
            if each.entity not in entities:
                entities[each.entity] = next_entity
                next_entity += 1
            tables.mention.add(
                mention, document, entities[each.entity], each.entity, word + each.first - 1,
                word + each.last - 1, word + each.head - 1, each.head_rule, each.kind,
                each.kind_rule, each.type, each.identity, each.parts,
            )  # fmt: skip
            mention += 1
        for departure in item.departures:
            place = f"{departure.file}:{departure.line}"
            tables.departure.add(corpus, sentence, place, departure.id, departure.fact)
        word += len(item.words)
        sentence += 1
        if len(tables.word) >= _ROWS_AT_ONCE:
            tables.insert(connection)
            yield done
    tables.insert(connection)
    yield done


def _text(sentence: Sentence) -> str:
    """The text of a sentence, rebuilt from its words and the white space after them."""
    parts = [word.form + (" " if word.space_after else "") for word in sentence.words]
    return "".join(parts).rstrip()
