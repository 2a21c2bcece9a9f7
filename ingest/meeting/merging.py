"""Making one bank of several: shards of one run, or whatever people hand to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from attnbank.ingest.meeting import computed, copying, documents, people
from attnbank.ingest.meeting.copying import Columns
from attnbank.ingest.meeting.held import Held, held_by
from attnbank.ingest.meeting.runs import Run, number_inputs, runs
from attnbank.ingest.meeting.same import Corpus, Model, corpora, models
from attnbank.ingest.meeting.sources import Source, source_of
from attnbank.sql import provenance
from attnbank.sql.bank import formats
from attnbank.sql.bank.making import check_free, connect_beside, new_bank
from attnbank.sql.bank.opening import reinstall
from attnbank.sql.errors import BankError, CallError

_MEMORY = "1GB"
_MOST_IDS = 2**31 - 1


@dataclass(frozen=True)
class Merged:
    """What a merge did: rows by table, and what is to be known of it, a sentence each."""

    rows: dict[str, int]
    notes: tuple[str, ...]


def merge_banks(out: str | Path, banks: Sequence[str | Path], *, partial: bool = False) -> Merged:
    """Make a new bank of several banks, or folders that `attnbank export` wrote.

    Corpora, models and runs are recognised by their digests and options: the same one in two banks
    is kept once, and shards of one run become that run. Documents stand in the order of
    `document.index`, and all ids are given anew. With `partial` a corpus may lack shards, and says
    then which ones it has.

    Nothing is written to `banks`, and the new bank appears only when it is whole. Raises CallError
    if there is a bank at `out` already, if a shard is missing, or if the banks do not go together;
    BankError if one of them cannot be read, has another format or is not as attnbank writes it, or
    if the new one cannot be written.
    """
    path = Path(out)
    check_free(path)
    if not banks:
        raise CallError("No bank is named to merge.", "Name them: attnbank merge OUT A B ...")
    notes: list[str] = []
    sources = _sources(banks, notes)
    reads = [file for each in sources for file in each.reads]
    with connect_beside(reads) as connection:
        same = _recognised(connection, sources, notes, partial=partial)
    settings = {"memory_limit": _MEMORY}
    with new_bank(path, provenance.version(), reads, "nothing was merged", settings) as connection:
        columns = _arrange(connection, same)
        rows = _fill(connection, same, columns, notes)
    return Merged(rows, tuple(dict.fromkeys(notes)))


def _sources(banks: Sequence[str | Path], notes: list[str]) -> list[Source]:
    """The banks, each once, checked."""
    found: list[Source] = []
    places: list[Path] = []
    for each in banks:
        source = source_of(len(found), each)
        if source.reads[0] in places:
            notes.append(f"{source.shown} is named twice, and read once.")
            continue
        places.append(source.reads[0])
        found.append(source)
    return found


@dataclass(frozen=True)
class _Same:
    """What is the same in the sources, as far as their small tables tell."""

    sources: list[Held]
    corpora: list[Corpus]
    models: list[Model]
    runs: list[Run]


def _recognised(
    connection: DuckDBPyConnection, sources: list[Source], notes: list[str], *, partial: bool
) -> _Same:
    """What of the sources is the same. Raises CallError if a shard is missing."""
    held = []
    for each in sources:
        with each.attached(connection):
            held.append(held_by(connection, each))
    own_corpora = corpora(held, notes)
    own_models = models(held, notes)
    if not partial:
        _check_whole(own_corpora, notes)
    own_runs = runs(held, own_corpora, own_models, notes, partial=partial)
    return _Same(held, own_corpora, own_models, own_runs)


def _arrange(connection: DuckDBPyConnection, same: _Same) -> Columns:
    """Find which ids everything gets, in tables of the connection; the columns of the new bank.

    Raises BankError if a document, or what a run was given of it, is not the same in two sources.
    """
    sources = [each.source for each in same.sources]
    columns = people.columns_of(connection, sources)
    documents.begin(connection, same.corpora)
    for each in sources:
        with each.attached(connection):
            documents.gather(connection, each)
    sentences = documents.arrange(connection)
    shared = documents.shared_by(connection)
    for number in shared:
        with sources[number].attached(connection):
            copying.digests(connection, sources[number], columns)
    if shared:
        copying.check_digests(connection, same.sources, same.corpora)
    copying.check_inputs(connection, same.sources, same.runs)
    if number_inputs(same.runs, same.sources, sentences) > _MOST_IDS:
        raise BankError("Together they have more inputs than a bank can number.")
    people.begin(connection, same.runs, same.models)
    return columns


def _check_whole(made: Sequence[Corpus], notes: Sequence[str]) -> None:
    """Raise CallError if a corpus lacks a shard."""
    for each in made:
        if not each.parts.is_whole:
            ends = f"another corpus called {each.name}:", f"It is {each.name} here."
            apart = next((note for note in notes if any(end in note for end in ends)), "")
            several = "+" in each.parts.missing or "-" in each.parts.missing
            raise CallError(
                f"The shard{'s' if several else ''} {each.parts.missing} of the corpus {each.name}"
                f" {'are' if several else 'is'} in none of the banks. {apart}".rstrip(),
                "Name its bank too, or give --partial: the corpus then says which shards it has.",
            )


def _fill(
    connection: DuckDBPyConnection, plan: _Same, columns: Columns, notes: list[str]
) -> dict[str, int]:
    """Copy everything, source by source; the rows of each table of the new bank."""
    for held in plan.sources:
        with held.source.attached(connection):
            copying.small_rows(
                connection, held.source, columns, plan.corpora, plan.models, plan.runs
            )
    for held in plan.sources:
        with held.source.attached(connection):
            _copy(connection, plan, columns, held, notes)
    joined = [run.id for run in plan.runs if run.is_joined]
    copying.join_losses(connection, joined, columns)
    people.finish_relations(connection, notes)
    computed.told_of_answers([each.source for each in plan.sources], notes)
    people.told_of_views(connection, [each.source for each in plan.sources], notes)
    usual = formats.columns_of_this_format()
    if any(columns[table].keys() != usual[table].keys() for table in usual):
        reinstall(connection)  # a view of all columns of a table must know its further ones
    return {
        table: connection.execute(f"select count(*) from main.{table}").fetchall()[0][0]
        for table in usual
    }


def _copy(
    connection: DuckDBPyConnection, plan: _Same, columns: Columns, held: Held, notes: list[str]
) -> None:
    """Copy what an attached source has to give."""
    source, number = held.source, held.source.number
    copying.text(connection, source, columns)
    corpus_of = {old: each.id for each in plan.corpora for at, old in each.rows if at == number}
    own = [(run, part) for run in plan.runs for part in run.parts if part.place[0] == number]
    for run, part in own:
        copying.inputs(connection, held, columns, run, part)
        told = held.inputs_of(part.place[1])
        connection.execute(
            "insert into met_sequence_home values (?, ?, ?, ?)",
            [number, told.first, told.last, part.sequence_shift],
        )
    taken = {part.place[1]: (run.id, part.batch_shift) for run, part in own}
    copying.skipped(connection, source, columns, corpus_of, taken)
    copying.losses(connection, source, columns, {old: run for old, (run, _) in taken.items()})
    for table, rows in copying.of_no_run(connection, held).items():
        notes.append(f"{rows:,} rows of {table} in {source.shown} are of no run, and left out.")
    whole = {
        old: run.id
        for run in plan.runs
        for at, old in (*run.alike, *(() if run.is_joined else run.places))
        if at == number
    }
    in_runs = {old: run.id for run in plan.runs for at, old in run.places if at == number} | whole
    computed.steps(connection, held, columns, whole, notes)
    for old, new in computed.probes(connection, held, columns, whole, notes).items():
        connection.execute("insert into met_probe_home values (?, ?, ?)", [number, old, new])
    computed.preferences(connection, held, in_runs, notes)
    computed.frequencies(connection, source, columns, notes)
    people.relations(connection, source, notes)
    people.tables(connection, source, notes)
