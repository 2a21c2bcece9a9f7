"""The corpus that an ingest is asked for: what it is, whether the bank has it, reading it in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.ingest.corpora.document import CorpusError, Problem, Sentence
from attnbank.ingest.corpora.faults import FAULTS, LINES
from attnbank.ingest.corpora.shards import of_shard, read_shard
from attnbank.ingest.corpora.source import Source
from attnbank.ingest.corpora.sources import digest, find_sources, format_of, read
from attnbank.ingest.options import IngestOptions
from attnbank.ingest.progress import OnProgress, Progress
from attnbank.ingest.store.corpus_rows import CorpusFacts, write_corpus
from attnbank.ingest.store.language import language_of_files, language_tag
from attnbank.ingest.store.pipeline import forget_blocks
from attnbank.sql import registry
from attnbank.sql.bank.opening import open_unless_new
from attnbank.sql.bank.transactions import transaction
from attnbank.sql.errors import CallError

_OWN_NAME = "give this one a name of its own: --name NAME."


@dataclass(frozen=True)
class Corpus:
    """A corpus that was found, and how it goes into the bank."""

    sources: list[Source]
    facts: CorpusFacts
    options: IngestOptions
    bad: tuple[Problem, ...] = ()  # of files that are left out whole

    def items(self) -> Iterator[Sentence | Problem]:
        """Its sentences and its problems, read from the files; of a shard, those of the shard."""
        asked = self.options
        found = read(self.sources, asked.format, asked.spacy, asked.split, strict=asked.strict)
        return of_shard(chain(self.bad, found), read_shard(asked.shard))


def find(options: IngestOptions) -> Corpus:
    """The corpus that the options name. Raises as `find_sources` does."""
    bad: list[Problem] = []
    asked = bad if options.skip_bad else None
    sources = find_sources(options.corpora, options.format, bad=asked)
    formats = sorted({format_of(each, options.format, options.spacy) for each in sources})
    annotator, files = None, None
    shard = read_shard(options.shard)
    if "text" in formats and options.spacy is not None:
        from attnbank.ingest.corpora.formats.text import pipeline_identity

        annotator, files = pipeline_identity(options.spacy)
    facts = CorpusFacts(
        name=options.name or _name(options.corpora),
        format="+".join(formats),
        path="\n".join(options.corpora),
        sha256=digest(sources),
        annotation="none" if formats == [LINES] else "gold" if annotator is None else "silver",
        annotator=annotator,
        annotator_sha256=files,
        language=(
            language_of_files(each.path.name for each in sources)
            if options.language is None
            else language_tag(options.language)
        ),
        shard=None if shard is None else str(shard),
    )
    return Corpus(sources, facts, options, tuple(bad))


def _name(corpora: tuple[str, ...]) -> str:
    names = ["stdin" if each == "-" else _stem(Path(each)) for each in corpora]
    return "+".join(names) if len(names) <= 3 else f"{names[0]}+{len(names) - 1}"


def _stem(path: Path) -> str:
    if path.is_file():
        return Path(path.resolve().name.removesuffix(".gz")).stem
    return path.resolve().name if path.is_dir() else path.name  # a pipe: its target has a number


def check(corpus: Corpus, on_progress: OnProgress) -> list[Problem]:
    """Read the whole corpus once; its problems. Raises CorpusError unless they may be skipped.

    Raises CallError for a shard that no document belongs to.
    """
    problems: list[Problem] = []
    sentences = 0
    for item in corpus.items():
        if isinstance(item, Problem):
            problems.append(item)
            continue
        sentences += 1
        if sentences % 1000 == 0:
            on_progress(Progress("checking", sentences, None))
    if problems and not corpus.options.skip_bad:
        raise CorpusError(problems, "Mend them, or leave these sentences out with --skip-bad.")
    if not sentences and corpus.facts.shard is not None:
        raise CallError(
            f"The shard {corpus.facts.shard} of {corpus.facts.name} has no sentence: the corpus has"
            " fewer documents than shards.",
            "Divide it into fewer shards.",
        )
    if not sentences:
        raise CorpusError(problems, "No sentence is left to ingest.")
    return problems


def check_before(bank: Path, corpus: Corpus, on_progress: OnProgress) -> list[Problem]:
    """Check a corpus before anything is written: that the bank has it, or that it can be read.

    Raises CorpusError as `check` does, CallError as `in_bank` does.
    """
    connection = open_unless_new(bank)
    if connection is not None:
        try:
            if in_bank(connection, corpus, on_progress) is not None:
                return []
        finally:
            connection.close()
    return check(corpus, on_progress)


def write(connection: DuckDBPyConnection, corpus: Corpus, on_progress: OnProgress) -> int:
    """The corpus's id, after writing its text in one transaction where it is not there yet."""
    found = in_bank(connection, corpus, on_progress)
    if found is not None:
        connection.execute(  # in a bank of before it was kept, or a file whose name tells none
            "update corpus set language = ? where id = ? and language is null",
            [corpus.facts.language, found],
        )
        return found
    with transaction(connection):
        for done in write_corpus(connection, corpus.facts, corpus.items()):
            on_progress(Progress("reading", done, None))
    connection.execute("checkpoint")
    forget_blocks(connection)
    (made,) = connection.execute(
        "select id from corpus where name = ?", [corpus.facts.name]
    ).fetchall()
    return int(made[0])


def in_bank(connection: DuckDBPyConnection, corpus: Corpus, on_progress: OnProgress) -> int | None:
    """The id of this corpus in the bank; None where it has none of its name.

    A corpus is its name, its files, and everything that decides how they are read. Raises
    CallError, with what differs, where the bank's corpus of the name is another one; CorpusError
    where it left out what this command does not allow to be left out.
    """
    facts = corpus.facts
    row = connection.execute(
        "select id, sha256, format, annotator, annotator_sha256, language, shard from corpus"
        " where name = ?",
        [facts.name],
    ).fetchone()
    if row is None:
        return None
    id, sha256, format, annotator, files, language, shard = row
    its = f"The bank has another corpus called {facts.name}:"
    if sha256 != facts.sha256:
        raise CallError(f"{its} its content differs from this one's.", _OWN_NAME.capitalize())
    if shard != facts.shard:
        held = "all of it" if shard is None else f"its shard {shard}"
        asked = "all of it" if facts.shard is None else f"its shard {facts.shard}"
        raise CallError(
            f"The bank has {held} as the corpus {facts.name}, and this would be {asked}.",
            "Give each shard a bank of its own (-b FILE).",
        )
    if format != facts.format:
        fact = f"{its} it was read as {format}, and this one is read as {facts.format}."
        raise CallError(fact, _OWN_NAME.capitalize())
    if annotator != facts.annotator:
        fact = f"{its} it was annotated by {annotator}, and this one is by {facts.annotator}."
        raise CallError(fact, _OWN_NAME.capitalize())
    if files != facts.annotator_sha256:
        fact = f"{its} it was annotated by another {annotator}, whose files differ."
        raise CallError(fact, _OWN_NAME.capitalize())
    if corpus.options.language is not None and language not in (None, facts.language):
        fact = f"{its} its language is {language}, and --language is {facts.language}."
        raise CallError(fact, f"Leave --language out, or {_OWN_NAME}")
    _check_tokens(connection, int(id), corpus, its)
    _check_documents(connection, int(id), corpus, its)
    _check_left_out(connection, int(id), corpus, its, on_progress)
    return int(id)


def _check_tokens(connection: DuckDBPyConnection, id: int, corpus: Corpus, its: str) -> None:
    """Raise CallError where multiword tokens shall be read, and the bank lost where they begin.

    It is so in a bank of an earlier format, for words that an upgrade cannot tell apart.
    """
    if corpus.options.multiword == "parts":
        return
    rows = connection.execute(registry.statement("ingest/lost_tokens"), {"corpus": id}).fetchall()
    if rows:
        fact = f"{its} it was read by a version that did not keep where multiword tokens begin."
        raise CallError(fact, f"Give --multiword parts, or {_OWN_NAME}")


def _check_documents(connection: DuckDBPyConnection, id: int, corpus: Corpus, its: str) -> None:
    """Raise CallError where its documents come from other files or belong to other splits."""
    splits = {each.path.name: corpus.options.split or each.split for each in corpus.sources}
    named = {each.name: each.path.name for each in corpus.sources}
    rows = connection.execute(
        "select distinct file, split from document where corpus = ? order by file, split", [id]
    ).fetchall()
    for file, split in rows:
        name = named.get(file, Path(file).name)
        if name not in splits:
            own = ", ".join(sorted(splits))
            fact = f"{its} its documents come from {name}, and this one's from {own}."
            raise CallError(fact, _OWN_NAME.capitalize())
        if split != splits[name]:
            fact = f"{its} its split is {split or 'none'}, and this one's {splits[name] or 'none'}."
            same = f"Give --split {split}" if split else "Leave --split out"
            raise CallError(fact, f"{same}, or {_OWN_NAME}")


def _check_left_out(
    connection: DuckDBPyConnection, id: int, corpus: Corpus, its: str, on_progress: OnProgress
) -> None:
    """Raise CallError or CorpusError where this command reads what it left out, or not."""
    options = corpus.options
    left_out = dict(
        connection.execute(
            "select reason, count(*) from skipped where corpus = ? and run is null group by reason",
            [id],
        ).fetchall()
    )
    refused = {reason for reason in left_out if reason in FAULTS and FAULTS[reason].is_mended}
    mended = connection.execute("select count(*) from departure where corpus = ?", [id]).fetchall()[
        0
    ][0]
    if (left_out and not options.skip_bad) or (options.strict and mended and not options.skip_bad):
        check(corpus, on_progress)  # says what is bad, as it would have at first
    if options.strict and mended:
        fact = f"{its} it was read without --strict, with {mended:,} departures from its format."
        raise CallError(fact, f"Leave --strict out, or {_OWN_NAME}")
    if refused and not options.strict:
        count = sum(left_out[reason] for reason in refused)
        fact = f"{its} it left out {count:,} sentences, as --strict does ({', '.join(refused)})."
        raise CallError(fact, f"Give --strict --skip-bad, or {_OWN_NAME}")
    if left_out and not options.skip_bad:
        fact = f"{its} it left out {sum(left_out.values()):,} sentences that are read now."
        raise CallError(fact, f"Give --skip-bad, or {_OWN_NAME}")
