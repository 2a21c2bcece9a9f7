"""Finds the corpus of an ingest, compares it with the bank, and writes it."""

from __future__ import annotations

import hashlib
import re
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import langcodes
from duckdb import DuckDBPyConnection

from attnbank.ingest.corpora.document import FAULTS, LEFT_OUT, LINES, CorpusError, Problem, Sentence
from attnbank.ingest.corpora.format import STDIN, CorpusFile
from attnbank.ingest.corpora.licences import licence_of_files
from attnbank.ingest.corpora.random_tokens import DEFAULT_INPUTS, REPEAT, RandomTokens
from attnbank.ingest.corpora.sources import digest_corpus, find_sources, read_corpus
from attnbank.ingest.options import Departures, IngestOptions, TextReport, check_options
from attnbank.ingest.progress import OnProgress, Progress, ignore_progress
from attnbank.ingest.store.writer import Rows, forget_blocks, insert_row, next_ids, open_for_ingest
from attnbank.sql import registry
from attnbank.sql.bank.connections import closed_on_error, connected, transaction
from attnbank.sql.bank.opening import open_unless_new
from attnbank.sql.bank.upgrading import columns_of_this_format
from attnbank.sql.errors import AttnbankError, CallError, first_line
from attnbank.sql.ids import read_shards, renumbered

if TYPE_CHECKING:
    from attnbank.ingest.models.tokenizer import InputTokenizer

# A file of Universal Dependencies, fr_gsd-ud-dev.conllu: the language, the treebank, the split.
_TREEBANK = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-(train|dev|test)\b")
# A name such as fr-dev.conllu. Not three letters: gum-dev is not in Guambiano.
_SHORT = re.compile(r"([a-z]{2})-(train|dev|test)\b")
_TABLES = (
    "document", "sentence", "word", "enhanced_dependency", "constituent", "mention", "skipped",
    "departure",
)  # fmt: skip
_ROWS_AT_ONCE = 10_000
MEMORY = "1GB"  # of a corpus that is read


@dataclass(frozen=True)
class CorpusFacts:
    """A row of table `corpus`."""

    name: str
    format: str
    path: str
    sha256: str
    annotation: str
    annotator: str | None
    annotator_sha256: str | None = None
    language: str | None = None  # a BCP 47 tag
    shard: str | None = None  # 3/16: the third of 16 parts of the documents
    licence: str | None = None
    citation: str | None = None


@dataclass(frozen=True)
class Corpus:
    """A corpus to ingest: its files, or its generated sentences."""

    sources: list[CorpusFile]
    facts: CorpusFacts
    options: IngestOptions
    bad: tuple[Problem, ...] = ()  # of files that are skipped
    generated: tuple[Sentence, ...] = ()  # the whole corpus, if it has no files

    def items(self) -> Iterator[Sentence | Problem]:
        """Yield the sentences and the problems of the whole corpus."""
        options = self.options
        items = self.generated or read_corpus(
            self.sources, options.spacy, options.split, strict=options.strict
        )
        return chain(self.bad, items)

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the corpus was made."""
        options = self.options
        if LINES in {source.format for source in self.sources} and options.format is None:
            return ["read as one sentence per line, without annotation"]
        draws = [
            sentence.document.metadata
            for sentence in self.generated
            if sentence.document is not None
        ]
        tokens = sum(len(draw["tokens"].split()) for draw in draws)
        passed = sum(int(draw["passed_over"]) for draw in draws)
        if not draws:
            return []
        return [f"{tokens:,} tokens drawn; skipped {passed:,} whose text is tokenized differently"]

    def conflict_error(self, fact: str, remedy: str = "") -> CallError:
        """Return the error for a bank whose corpus of this name differs, as `fact` says."""
        remedy = f"{remedy}, or give" if remedy else "Give"
        return CallError(
            f"The bank has another corpus called {self.facts.name}: {fact}",
            f"{remedy} this one another name: --name NAME.",
        )


@dataclass
class CheckedCorpus:
    """A corpus that was read once, with its problems, which may be skipped.

    `text` is a database in memory whose only corpus it is; None if the bank had the corpus.
    """

    corpus: Corpus
    problems: list[Problem] = field(default_factory=list)
    text: DuckDBPyConnection | None = None


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


def find_corpus_files(options: IngestOptions) -> Corpus:
    """Find the files of the options' corpus."""
    bad: list[Problem] = []
    sources = find_sources(
        options.corpora,
        options.format,
        options.spacy,
        name=options.name,
        bad=bad if options.skip_bad else None,
    )
    formats = sorted({source.format for source in sources})
    annotator = files = None
    beside = licence_of_files(source.path for source in sources if Path(source.name).exists())
    if "text" in formats and options.spacy is not None:
        from attnbank.ingest.corpora.formats.spacy_docs import pipeline_identity

        annotator, files = pipeline_identity(options.spacy)
    facts = CorpusFacts(
        name=options.name or _default_corpus_name(options.paths),
        format="+".join(formats),
        path="\n".join(options.paths),
        sha256=digest_corpus(sources),
        annotation="none" if formats == [LINES] else "gold" if annotator is None else "silver",
        annotator=annotator,
        annotator_sha256=files,
        language=(
            language_of_files(source.path.name for source in sources)
            if options.language is None
            else language_tag(options.language)
        ),
        shard=read_shards(options.shard).text,
        licence=options.licence or beside.licence,
        citation=options.citation or beside.citation,
    )
    return Corpus(sources, facts, options, tuple(bad))


def random_corpus(options: IngestOptions, input_tokenizer: InputTokenizer) -> Corpus:
    """Generate the corpus of random tokens of --repeat.

    Its number of inputs and its seed (--limit and --seed) belong to the corpus, not to the run.
    """
    repeated = RandomTokens(options.repeat or 0, options.limit or DEFAULT_INPUTS, options.seed)
    source = CorpusFile(repeated.name, Path(repeated.name), REPEAT)
    sentences = tuple(
        replace(
            sentence,
            document=sentence.document
            and replace(sentence.document, file=repeated.name, split=options.split),
        )
        for sentence in repeated.draw_sentences(input_tokenizer)
    )
    text = "".join(
        f"{sentence.document and sentence.document.metadata}\t{_rebuild_text(sentence)}\n"
        for sentence in sentences
    )
    facts = CorpusFacts(
        name=options.name or repeated.name,
        format=REPEAT,
        path=str(repeated),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        annotation="none",
        annotator=None,
        language=None if options.language is None else language_tag(options.language),
        shard=read_shards(options.shard).text,
        licence=options.licence,
        citation=options.citation,
    )
    of_run = replace(options, corpora=(str(repeated),), limit=None, seed=IngestOptions.seed)
    return Corpus([source], facts, of_run, generated=sentences)


def language_tag(tag: str) -> str:
    """Return the standard form of a tag: fr for "FR", he for "iw". Raises CallError if invalid."""
    try:
        if langcodes.tag_is_valid(tag):
            return langcodes.standardize_tag(tag)
    except ValueError:
        pass
    raise CallError(
        f"{tag[:40]!r} is not a valid language tag.",
        "Give a BCP 47 tag, such as fr, he, grc or zh-Hant.",
    )


def language_of_files(names: Iterable[str]) -> str | None:
    """Return the language in the names of all files; None if they differ or lack one."""
    languages: set[str | None] = set()
    for name in names:
        match = _TREEBANK.match(name) or _SHORT.match(name)
        tag = match[1] if match else ""
        is_known = bool(tag) and langcodes.tag_is_valid(tag)
        languages.add(langcodes.standardize_tag(tag) if is_known else None)
    return languages.pop() if len(languages) == 1 else None


def _default_corpus_name(corpora: tuple[str, ...]) -> str:
    names = []
    for corpus in corpora:
        path = Path(corpus)
        if corpus == STDIN:
            names.append("stdin")
        elif path.is_file():
            names.append(Path(path.resolve().name.removesuffix(".gz")).stem)
        else:  # the target of a pipe has a number
            names.append(path.resolve().name if path.is_dir() else path.name)
    return "+".join(names) if len(names) <= 3 else f"{names[0]}+{len(names) - 1}"


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
        id = next_ids(connection)["corpus"]
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
            sentence.text or _rebuild_text(sentence), len(sentence.words), sentence.empty_nodes,
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


def _rebuild_text(sentence: Sentence) -> str:
    """Return the text of a sentence, from its words and the white space after them."""
    parts = [word.form + (" " if word.space_after else "") for word in sentence.words]
    return "".join(parts).rstrip()
