"""Compares the corpus of an ingest with the bank, and writes it."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from attnbank.ingest.corpora.corpus import Corpus, find_corpus_files
from attnbank.ingest.corpora.document import (
    FAULTS,
    LEFT_OUT,
    CorpusError,
    Departures,
    Problem,
    Sentence,
)
from attnbank.ingest.options import IngestOptions, check_options
from attnbank.ingest.progress import OnProgress, Progress, ignore_progress
from attnbank.ingest.store.writer import Rows, forget_blocks, insert_row, next_id, open_for_ingest
from attnbank.sql import registry
from attnbank.sql.bank.bank_format import columns_of_this_format
from attnbank.sql.bank.connections import closed_on_error, connected, transaction
from attnbank.sql.bank.opening import open_unless_new
from attnbank.sql.errors import AttnbankError, CallError, first_line
from attnbank.sql.ids import read_shards, renumbered

_TABLES = (
    "document", "sentence", "word", "enhanced_dependency", "constituent", "mention", "skipped",
    "departure",
)  # fmt: skip
_ROWS_AT_ONCE = 10_000
MEMORY = "1GB"  # of a corpus that is read


@dataclass
class CheckedCorpus:
    """A corpus that was read once, with its problems, which may be skipped.

    `text` is a database in memory whose only corpus it is; None if the bank had the corpus.
    """

    corpus: Corpus
    problems: list[Problem] = field(default_factory=list)
    text: DuckDBPyConnection | None = None


@dataclass(frozen=True)
class TextReport:
    """The result of an ingest without a model."""

    corpus: str
    problems: list[Problem]
    departures: list[Departures]
    notes: list[str]


def add_text(options: IngestOptions, on_progress: OnProgress = ignore_progress) -> str:
    """Write a corpus without a run into a bank, and return its name.

    Runs can be added later, by an ingest or by `add_run`. No package of the extra `ingest` is
    needed. Raises what `ingest` raises for a corpus.
    """
    return write_text(options, on_progress).corpus


def write_text(options: IngestOptions, on_progress: OnProgress) -> TextReport:
    """Write a corpus as `add_text` does, and return a report."""
    check_options(options)
    checked = find_and_check(options, on_progress)
    with open_for_ingest(options.bank) as connection:
        id = write_corpus_once(connection, checked, on_progress)
        departures = count_violations(connection, id)
    corpus = checked.corpus
    return TextReport(corpus.facts.name, checked.problems, departures, corpus.notes)


def find_and_check(
    options: IngestOptions, on_progress: OnProgress, *, reads_bank: bool = True
) -> CheckedCorpus:
    """Find the corpus of the options, and read it, unless the bank has it.

    Without `reads_bank` the bank is not opened.
    """
    corpus = find_corpus_files(options)
    connection = open_unless_new(options.bank) if reads_bank else None
    if connection is not None:
        with closing(connection):
            if find_in_bank(connection, corpus, on_progress) is not None:
                return CheckedCorpus(corpus)
    return read_text(corpus, on_progress)


def count_violations(connection: DuckDBPyConnection, corpus: int) -> list[Departures]:
    """Count by kind where the source of a corpus violates its format."""
    statement = registry.internal_statement("ingest/departures_of_corpus")
    rows = connection.execute(statement, {"corpus": corpus}).fetchall()
    return [Departures(*row) for row in rows]


def read_text(corpus: Corpus, on_progress: OnProgress) -> CheckedCorpus:
    """Read the whole corpus into a database in memory, so that a bank gets all of it or nothing.

    Raises CorpusError for problems that may not be skipped, CallError for a shard without
    documents, AttnbankError if neither memory nor the folder for temporary files has room.
    """
    # What does not fit into memory goes there; DuckDB makes the folder if need be, and removes it.
    spills = Path(tempfile.gettempdir(), f"attnbank-{uuid.uuid4().hex}.tmp")
    text = connected(settings={"memory_limit": MEMORY, "temp_directory": str(spills)})
    checked = CheckedCorpus(corpus, text=text)
    with closed_on_error(text):
        try:
            for table in _TABLES:
                text.execute(registry.tables()[table])
            for sentences in _read_items(text, corpus, checked.problems):
                on_progress(Progress("reading", sentences, None))
        except duckdb.Error as error:
            raise AttnbankError(
                f"The text of {corpus.facts.name} does not fit into memory, and cannot be put into"
                f" {spills.parent}: {first_line(error)}",
                "Free some space there, or name another folder for temporary files (TMPDIR).",
            ) from error
        ((sentences,),) = text.execute("select count(*) from sentence").fetchall()
        if checked.problems and not corpus.options.skip_bad:
            remedy = "Correct them, or leave these sentences out with --skip-bad."
            raise CorpusError(checked.problems, remedy)
        if not sentences and corpus.facts.shard is not None:
            raise CallError(
                f"The shard {corpus.facts.shard} of {corpus.facts.name} is empty: the corpus has"
                " fewer documents than shards.",
                "Divide it into fewer shards.",
            )
        if not sentences:
            raise CorpusError(checked.problems, "No sentence is left to ingest.")
    return checked


def write_corpus_once(
    connection: DuckDBPyConnection, checked: CheckedCorpus, on_progress: OnProgress
) -> int:
    """Write the corpus in one transaction, unless the bank has it, and return its id."""
    corpus = checked.corpus
    existing = find_in_bank(connection, corpus, on_progress)
    if existing is not None:
        _complete_facts(connection, corpus, existing)
        return existing
    text = checked.text or read_text(corpus, on_progress).text
    assert text is not None
    with closing(text), transaction(connection):
        id = next_id(connection, "corpus")
        insert_row(connection, "corpus", id=id, **asdict(corpus.facts))
        for table in _TABLES:
            rows = text.query(f"from {table}").to_arrow_reader()
            moved = ", ".join(
                renumbered(table, column, {"corpus": {1: id}})
                for column in columns_of_this_format()[table]
            )
            connection.register("own", rows)
            connection.execute(f"insert into {table} select {moved} from own")
            connection.unregister("own")
    checked.text = None  # a bank for which it is written again reads it again
    connection.execute("checkpoint")
    forget_blocks(connection)
    return id


def _complete_facts(connection: DuckDBPyConnection, corpus: Corpus, id_: int) -> None:
    """Add what is known now of a corpus in the bank; options correct its licence and citation."""
    columns = ("language", "licence", "citation")
    select = f"select {', '.join(columns)} from corpus where id = ?"
    (row,) = connection.execute(select, [id_]).fetchall()
    for column, stored in zip(columns, row, strict=True):
        known = getattr(corpus.facts, column)
        is_requested = column != "language" and getattr(corpus.options, column) is not None
        if known != stored and (stored is None or is_requested):
            with transaction(connection):
                connection.execute(f"update corpus set {column} = ? where id = ?", [known, id_])


def find_in_bank(
    connection: DuckDBPyConnection, corpus: Corpus, on_progress: OnProgress
) -> int | None:
    """Return the id of this corpus in the bank; None if it has none of this name.

    Raises CallError, which says what differs, if the bank has another corpus of this name;
    CorpusError if sentences were skipped that may not be skipped by this command.
    """
    facts = corpus.facts
    rows = connection.execute(
        "select id, sha256, shard, format, annotator, annotator_sha256, language from corpus"
        " where name = ?",
        [facts.name],
    ).fetchall()
    if not rows:
        return None
    ((id, sha256, shard, format, annotator, files, language),) = rows
    if sha256 != facts.sha256:
        raise corpus.conflict_error("its content differs from this one's.")
    if shard != facts.shard:
        has, requested = (
            f"shard {shard}" if shard else "the whole corpus" for shard in (shard, facts.shard)
        )
        raise CallError(
            f"The corpus {facts.name} in the bank is {has}, but this one is {requested}.",
            "Give each shard a bank of its own (-b FILE).",
        )
    if format != facts.format:
        raise corpus.conflict_error(
            f"it was read as {format}, and this one is read as {facts.format}."
        )
    if annotator != facts.annotator:
        fact = f"it was annotated by {annotator}, and this one is by {facts.annotator}."
        raise corpus.conflict_error(fact)
    if files != facts.annotator_sha256:
        raise corpus.conflict_error(f"it was annotated by another {annotator}, whose files differ.")
    if corpus.options.language is not None and language not in (None, facts.language):
        fact = f"its language is {language}, and --language is {facts.language}."
        raise corpus.conflict_error(fact, "Leave --language out")
    _check_tokens(connection, id, corpus)
    _check_documents(connection, id, corpus)
    _check_left_out(connection, id, corpus, on_progress)
    return int(id)


def _check_tokens(connection: DuckDBPyConnection, id: int, corpus: Corpus) -> None:
    """Raise CallError if multiword tokens are read whole, but the bank has no starts of them."""
    if corpus.options.multiword == "parts":
        return
    rows = connection.execute(
        registry.internal_statement("ingest/tokens_without_start"), {"corpus": id}
    ).fetchall()
    if rows:
        raise corpus.conflict_error(
            "it was read by a version that did not store where multiword tokens begin.",
            "Give --multiword parts",
        )


def _check_documents(connection: DuckDBPyConnection, id: int, corpus: Corpus) -> None:
    """Raise CallError if its documents are of other files or of other splits."""
    splits = {source.path.name: corpus.options.split or source.split for source in corpus.sources}
    named = {source.name: source.path.name for source in corpus.sources}
    files = "select distinct file, split from document where corpus = ? order by file, split"
    for file, split in connection.execute(files, [id]).fetchall():
        name = named.get(file, Path(file).name)
        if name not in splits:
            file_names = ", ".join(sorted(splits))
            raise corpus.conflict_error(
                f"its documents are from {name}, and those of this one from {file_names}."
            )
        if split != splits[name]:
            raise corpus.conflict_error(
                f"its split is {split or 'none'}, and this one's {splits[name] or 'none'}.",
                f"Give --split {split}" if split else "Leave --split out",
            )


def _check_left_out(
    connection: DuckDBPyConnection, id: int, corpus: Corpus, on_progress: OnProgress
) -> None:
    """Raise CallError or CorpusError if this command would skip or read other sentences."""
    options = corpus.options
    left_out = dict(
        connection.execute(
            "select reason, count(*) from skipped where corpus = ? and run is null group by reason",
            [id],
        ).fetchall()
    )
    refused = [reason for reason in left_out if reason in FAULTS and FAULTS[reason].is_mended]
    counted = "select count(*) from departure where corpus = ? and not list_contains(?, reason)"
    ((mended,),) = connection.execute(counted, [id, [*LEFT_OUT]]).fetchall()
    if not options.skip_bad and (left_out or (options.strict and mended)):
        read_text(corpus, on_progress)  # raises the same error as for a new corpus
    if options.strict and mended:
        raise corpus.conflict_error(
            f"it was read without --strict, with {mended:,} departures from its format.",
            "Leave --strict out",
        )
    if refused and not options.strict:
        count = sum(left_out[reason] for reason in refused)
        raise corpus.conflict_error(
            f"it skipped {count:,} sentences, as --strict does ({', '.join(refused)}).",
            "Give --strict --skip-bad",
        )
    if left_out and not options.skip_bad:
        raise corpus.conflict_error(
            f"it skipped {sum(left_out.values()):,} sentences that are read now.", "Give --skip-bad"
        )


def _read_items(text: DuckDBPyConnection, corpus: Corpus, problems: list[Problem]) -> Iterator[int]:
    """Write the sentences of a corpus, as corpus 1, and collect its problems.

    A problem belongs to the document it is in (or the first), so that it is reported by one shard
    only. Yields the number of sentences so far whenever some were written.
    """
    shard = read_shards(corpus.facts.shard)
    rows = _TextRows()
    for item in corpus.items():
        if isinstance(item, Problem):
            if shard.has_document(max(rows.documents, 1)):
                problems.append(item)
                rows.add_problem(item)
            continue
        rows.count_sentence(item)
        if shard.has_document(rows.documents):
            rows.add_sentence(item)
        rows.words += len(item.words)
        rows.mentions += len(item.mentions)
        if len(rows.tables["word"]) >= _ROWS_AT_ONCE:
            rows.insert(text)
            yield rows.sentences
    rows.insert(text)
    yield rows.sentences


class _TextRows:
    """Rows of corpus 1 that are not inserted yet, and how many came before them.

    Every row is counted, those of other shards too, since its ordinal is its id.
    """

    def __init__(self) -> None:
        self.tables = {name: Rows(name) for name in _TABLES}
        self.documents = self.sentences = self.words = self.mentions = 0
        self.in_document = 0  # sentences of the document
        self.entities: dict[str, int] = {}  # of the document
        self.all_entities = 0

    def add_problem(self, problem: Problem) -> None:
        place = f"{problem.file}:{problem.line}"
        self.tables["skipped"].add(
            1, None, None, None, problem.sentence, place, problem.id, problem.fact
        )

    def count_sentence(self, sentence: Sentence) -> None:
        """Count a sentence, and the document and the entities that begin with it."""
        if sentence.document is not None:
            self.documents += 1
            self.in_document = 0
            self.entities = {}
        self.sentences += 1
        self.in_document += 1
        for mention in sentence.mentions:
            if mention.entity not in self.entities:
                self.all_entities += 1
                self.entities[mention.entity] = self.all_entities

    def add_sentence(self, sentence: Sentence) -> None:
        """Add the rows of the sentence that was counted last."""
        tables, document, id = self.tables, self.documents, self.sentences
        words, mentions = self.words, self.mentions
        if (start := sentence.document) is not None:
            tables["document"].add(
                document, 1, document, start.name, start.is_marked, start.split, start.file,
                list(start.metadata.items()),
            )  # fmt: skip
        tables["sentence"].add(
            id, document, self.in_document, sentence.paragraph, sentence.name,
            sentence.full_text, len(sentence.words), sentence.empty_nodes,
            sentence.line, list(sentence.metadata.items()) or None,
        )  # fmt: skip
        tables["word"].extend(
            (words + at, id, at, word.form, word.lemma, word.upos, word.xpos, word.feats,
             word.head_index, word.deprel, word.deps, word.space_after, word.surface, word.misc,
             word.token_start)
            for at, word in enumerate(sentence.words, 1)
        )  # fmt: skip
        tables["enhanced_dependency"].extend(
            (id, at, head, relation)
            for at, word in enumerate(sentence.words, 1)
            for head, relation in word.edges
        )
        tables["constituent"].extend(
            (id, number, phrase.parent, phrase.label, phrase.first, phrase.last)
            for number, phrase in enumerate(sentence.constituents, 1)
        )
        tables["mention"].extend(
            (mentions + at, document, self.entities[mention.entity], mention.entity,
             words + mention.first, words + mention.last, words + mention.head, mention.head_rule,
             mention.kind, mention.kind_rule, mention.type, mention.identity, mention.parts)
            for at, mention in enumerate(sentence.mentions, 1)
        )  # fmt: skip
        tables["departure"].extend(
            (1, id, f"{departure.file}:{departure.line}", departure.id, departure.fact)
            for departure in sentence.departures
        )

    def insert(self, text: DuckDBPyConnection) -> None:
        for rows in self.tables.values():
            rows.insert(text)
