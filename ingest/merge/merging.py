"""Making one bank of several: shards of one run, or whatever people hand to each other.

The tables, the views and the analyses are this version's own: no SQL of an export is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.merge import user_tables
from attnbank.ingest.merge.sources import Source, check_rows, of_export, reading, source_of
from attnbank.ingest.store.writer import rows_by_name
from attnbank.sql import id_map, macros, provenance, registry
from attnbank.sql.bank.connections import connect_beside
from attnbank.sql.bank.opening import check_free, new_bank
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.id_map import OF, SOURCE, TEXT, Moved
from attnbank.sql.matching import TABLES, Catalog, Matched, Part, match, unfit
from attnbank.sql.quoting import qualified_name, quoted

ABLATION = ("ablated_head", "ablated_surprisal", "ablated_pair", "ablation_set")
"""The tables of an ablation. It is taken whole, or not if there is one of its name in the last."""
_LIMITS = {"memory_limit": "1GB"}
_COMPUTED = {
    "computation": ("run", "step", "options"),
    "head_distance": ("run", "smoothing"),
    "head_embedding": ("run", "smoothing", "seed"),
    "tree_ensemble": ("run",),
    "attention_tree": ("run", "root", "decoder"),
    "attention_span": ("run", "distance"),
    "probe": ("id",),
    "probe_score": ("probe",),
    "probe_weight": ("probe",),
    "surprisal": ("run", "word"),
    "minimal_pair": ("run", "source"),
    **dict.fromkeys(ABLATION, ("run", "ablation")),
}
"""The tables of what was computed, and by which columns it is known that the new bank has it."""
_SAME_PROBE = (
    "kind", "train_run", "test_run", "train_split", "test_split", "embeddings", "vectors_sha256",
    "root_at", "seed", "options",
)  # fmt: skip


@dataclass(frozen=True)
class Merged:
    """What a merge or an import did: rows by table, and what is to be known of it, as sentences.

    `written_by` is the version of attnbank that wrote the tables as they are now.
    """

    rows: dict[str, int]
    notes: tuple[str, ...]
    written_by: str


def merge_banks(out: str | Path, banks: Sequence[str | Path], *, partial: bool = False) -> Merged:
    """Make a new bank of several banks, or folders that `attnbank export` wrote.

    Corpora, models and runs are recognised by their digests and options: the same one in two banks
    is kept once, and shards of one run become that run. Documents stand in the order of
    `document.index`, and all ids are given anew. With `partial` a corpus may lack shards. The new
    bank appears only when it is whole.

    Raises CallError if there is a bank at `out` already, if a shard is missing, or if the banks do
    not go together; BankError if one of them cannot be read, has another format or is not as
    attnbank writes it, or if the new one cannot be written.
    """
    return _merged(Path(out), banks, source_of, partial)


def _merged(
    path: Path,
    banks: Sequence[str | Path],
    opened: Callable[[int, str | Path], Source],
    partial: bool,
) -> Merged:
    check_free(path)
    if not banks:
        raise CallError("No bank to merge was named.", "Name them: attnbank merge A B ... -b OUT")
    notes: list[str] = []
    sources: list[Source] = []
    for bank in banks:
        source = opened(len(sources), bank)
        if any(source.reads[0] == other.reads[0] for other in sources):
            notes.append(f"{source.shown} was named twice and is read once.")
        else:
            sources.append(source)
    reads = [file for source in sources for file in source.reads]
    with connect_beside(reads) as connection:
        catalogs = [_catalog(connection, source) for source in sources]
    matched = match(catalogs, partial=partial)
    notes += matched.notes
    with new_bank(path, provenance.version(), reads, "nothing was merged", _LIMITS) as connection:
        rows = _Merge(connection, sources, matched, notes).fill()
    return Merged(rows, tuple(dict.fromkeys(notes)), provenance.version())


def _catalog(connection: DuckDBPyConnection, source: Source) -> Catalog:
    """The catalog of a source, of which all rows are checked. Raises BankError."""
    with source.attached(connection):
        check_rows(connection, source)
        rows = {
            table: rows_by_name(connection.execute(f"select * from {OF}{table} order by all"))
            for table in TABLES
        }
        catalog = Catalog(source.number, source.shown, rows)
        catalog.read_inputs(
            connection.execute(registry.internal_statement("merge/inputs")).fetchall()
        )
        return catalog


@dataclass
class _Merge:
    connection: DuckDBPyConnection
    sources: Sequence[Source]
    matched: Matched
    notes: list[str]

    def fill(self) -> dict[str, int]:
        """Copy everything, source by source; the rows of each table of the new bank."""
        self.columns = user_tables.columns_of(self.connection, self.sources)
        self._each(self._gather)
        self._rows(
            f"create temp table merge_id_map as {registry.internal_statement('merge/id_map')}"
        )
        self._check_texts()
        self._check_inputs()
        self.parts = id_map.parts_of(self.matched, self._sentences())
        user_tables.begin(self.connection, self.matched, self.parts)
        self._each(self._copy_small_rows)
        self._each(self._copy)
        # When all trees are there, it is known which names are left.
        self._each(lambda source: user_tables.relations(self.connection, source, self.notes))
        self._join_losses()
        for run in self.matched.preferred:
            self._rows(f"insert into preferred_run (run) values ({run})")
        self._rows(registry.internal_statement("merge/looked_for"))
        if answers := [source.shown for source in self.sources if source.has_answers]:
            self.notes.append(
                f"Kept answers ({', '.join(answers)}) were not copied: attnbank compute --all"
                " computes them again."
            )
        return {table: self._count(f"from main.{table}") for table in self.columns}

    def _each(self, step: Callable[[Source], None]) -> None:
        for source in self.sources:
            with source.attached(self.connection):
                step(source)

    def _rows(self, statement: str, values: Mapping[str, Any] | None = None) -> list[Any]:
        return self.connection.execute(statement, dict(values or {})).fetchall()

    def _count(self, rest: str) -> int:
        ((rows,),) = self._rows(f"select count(*) {rest}")
        return int(rows)

    def _gather(self, source: Source) -> None:
        number = source.number
        made = "insert into merge_extent" if number else "create temp table merge_extent as"
        corpora, first = self.matched.ids("corpus", number), self.matched.first_corpora(number)
        self._rows(f"{made} {id_map.extent(number, corpora, first)}")

    def _sentences(self) -> dict[int, int]:
        """How many sentences each corpus has; BankError if one bank cannot number all rows."""
        rows = self._rows(
            "select corpus, sum(sentences)::bigint, sum(words)::bigint, sum(mentions)::bigint"
            " from merge_id_map where is_own group by corpus"
        )
        sentences = {corpus: count for corpus, count, *_ in rows}
        words, mentions = (sum(row[at] for row in rows) for at in (2, 3))
        inputs = sum(sentences.get(run.row["corpus"], 0) for run in self.matched.runs)
        if max(words, mentions, inputs) > id_map.MOST_IDS:
            raise BankError(
                f"Together they have {words:,} words and up to {inputs:,} inputs; a bank can"
                f" hold at most {id_map.MOST_IDS:,}.",
                "Merge fewer of them.",
            )
        return sentences

    def _check_texts(self) -> None:
        shared = "(corpus, index) in (select (corpus, index) from merge_id_map where not is_own)"
        first: dict[tuple[int, int], tuple[Source, list[int]]] = {}
        for (number,) in self._rows(
            f"select distinct source from merge_id_map where {shared} order by source"
        ):
            source = self.sources[number]
            every = " union all ".join(self._hashed(source, table) for table in TEXT)
            digests = f"select corpus, index, count(*), sum(each) from ({every}) where {shared}"
            with source.attached(self.connection):
                rows = self._rows(f"{digests} group by all order by all")
            for corpus, index, *digest in rows:
                other, expected = first.setdefault((corpus, index), (source, digest))
                if digest != expected:
                    raise BankError(
                        f"Document {index} of the corpus {self.matched.name('corpus', corpus)}"
                        f" differs between {other.shown} and {source.shown}.",
                        "It was read with other options (--split, --strict), or changed: ingest one"
                        " of them again.",
                    )

    def _hashed(self, source: Source, table: str) -> str:
        """The rows of a table of text by document, without what differs between its sources."""
        changed, rest = id_map.moved(table, source.number, is_own=False)
        if table == "document":
            changed["file"] = "parse_filename(own.file)"  # folders differ by machine
        if table == "departure":
            changed["place"] = "null"
        values = ", ".join(self._values(source, table, changed).values())
        return f"select home.corpus, home.index, hash('{table}', {values}) as each {rest}"

    def _check_inputs(self) -> None:
        digest = registry.internal_statement("merge/inputs_digest")
        for run in (run for run in self.matched.runs if run.duplicates):
            given = {}
            for number, old in (*run.places, *run.duplicates):
                with self.sources[number].attached(self.connection):
                    (given[number, old],) = self._rows(digest, {"source": number, "run": old})
            expected = tuple(map(sum, zip(*(given[at] for at in run.places), strict=True)))
            for number, old in run.duplicates:
                if given[number, old] != expected:
                    name = self.matched.catalogs[number].rows["run"][old]["name"]
                    raise BankError(
                        f"The run {name} of {self.sources[number].shown} has different inputs"
                        f" than in {self.sources[run.places[0][0]].shown}.",
                        "One of them is damaged, or was read by another tokenizer: ingest it"
                        " again.",
                    )

    def _insert(
        self, source: Source, table: str, moved: Moved, unless: str = "", known: str = "",
        **values: Any,
    ) -> int:  # fmt: skip
        """Insert rows of a table of the source, `own`; how many. A column that it lacks is null.

        Rows for which the table `known`, by default the same one, has a row, `there`, of which
        `unless` is true are left out.
        """
        changed, rest = moved
        select = f"select {id_map.listed(self._values(source, table, changed))} {rest}"
        if unless:
            select = (
                f"select own.* from ({select}) as own"
                f" where not exists (from main.{known or table} as there where {unless})"
            )
        ((rows,),) = self._rows(f"insert into main.{table} by name {select}", values)
        return int(rows)

    def _values(self, source: Source, table: str, changed: dict[str, str]) -> dict[str, str]:
        """The columns of a table of the new bank as SQL: changed, as the source has them, null."""
        own = {name: f"own.{quoted(name)}" for name in source.tables["main", table]} | changed
        return {name: own.get(name, "null") for name in self.columns[table]}

    def _copy_small_rows(self, source: Source) -> None:
        for table in ("corpus", "model", "run"):
            for entry in self.matched.of(table):
                number, old = entry.places[0]
                if number == source.number:
                    new = {name: it for name, it in entry.row.items() if it != entry.first[name]}
                    rest = f"from {OF}{table} as own where own.id = {old}"
                    self._insert(source, table, ({it: f"${it}" for it in new}, rest), **new)

    def _copy(self, source: Source) -> None:
        number = source.number
        parts = [part for part in self.parts if part.source == number]
        for table in TEXT:
            changed, rest = id_map.moved(table, number)
            self._insert(source, table, (changed, f"{rest} order by own.{next(iter(changed))}"))
        for part in parts:
            self._copy_inputs(source, part)
        runs = {part.old: part.run for part in parts}
        self._insert(
            source, "ablation", id_map.renumbered("ablation", source.number, {"run": runs})
        )
        self._copy_unread(source)
        self._name_rows_of_no_run(source)
        self._copy_computed(source)
        self._copy_frequencies(source)
        user_tables.tables(self.connection, source, self.notes)

    def _copy_inputs(self, source: Source, part: Part) -> None:
        for table in ("sequence", "skipped", *id_map.tables_by_sequence()):
            changed, rest = id_map.moved(table, source.number, part)
            order = " order by own.id" if table == "sequence" else ""
            rows = self._insert(source, table, (changed, rest + order))
            if table == "sequence" and rows != part.count:
                raise unfit(source.shown, f"inputs of its run {part.old} are of no document")
            if table == "position" and rows != self._count(
                f"from {OF}position as own where {part.among}"
            ):
                raise unfit(source.shown, "its table position has rows that belong to no input")

    def _name_rows_of_no_run(self, source: Source) -> None:
        ranges = " or ".join(
            input_.among for input_ in self.matched.catalogs[source.number].inputs.values()
        )
        for table in id_map.tables_by_sequence():
            outside = f"not coalesce({ranges or 'false'}, false)"
            if rows := self._count(f"from {OF}{table} as own where {outside}"):
                self.notes.append(
                    f"{rows:,} rows of {table} in {source.shown} belong to no run and were not"
                    " copied."
                )

    def _copy_unread(self, source: Source) -> None:
        """Copy what could not be read of a corpus: it is in every source that has the corpus."""
        unread = id_map.unread(source.number, self.matched.ids("corpus", source.number))
        same = _same("corpus", "name", "reason", "detail")
        place = "parse_filename(there.place) is not distinct from parse_filename(own.place)"
        self._insert(source, "skipped", unread, f"there.run is null and {same} and {place}")

    def _join_losses(self) -> None:
        joined = (
            ", ".join(str(run.id) for run in self.matched.runs if len(run.places) > 1) or "null"
        )
        keys = ("run", "disabled", "layer", "head", "replacement")
        self._rows(
            "update main.ablation as own set loss = there.loss, tokens = there.tokens from"
            f" (select {', '.join(keys)}, {id_map.JOINED_LOSS} as loss, sum(tokens) as tokens"
            f" from main.ablation where run in ({joined}) group by all) as there"
            f" where {_same(*keys)}"
        )
        self._rows(
            f"delete from main.ablation where run in ({joined}) and rowid not in"
            f" (select min(rowid) from main.ablation group by {', '.join(keys)})"
        )

    def _copy_computed(self, source: Source) -> None:
        """Copy what was computed from runs that are taken whole, none of it twice."""
        whole = self.matched.whole_runs(source.number)
        ids = {"run": whole, "probe": self._probes(source, whole)}
        inputs = self.matched.input_shifts(source.number)
        self._name_ablations_left_out(source, whole)
        for table, keys in _COMPUTED.items():
            moved = id_map.renumbered(table, source.number, ids, inputs)
            known = ABLATION[-1] if table in ABLATION else table
            self._insert(source, table, moved, _same(*keys), known)
        user_tables.add_shifts(self.connection, source.number, "probe", ids["probe"])
        left_out = registry.internal_statement("merge/computed_of_parts")
        for run, done in self._rows(left_out, {"runs": [*whole]}):
            self.notes.append(
                f"What was computed from {run} ({done}) was not copied: compute it again from the"
                " whole run."
            )
        for old, kind in self._rows(f"select id, kind from {OF}probe order by id"):
            if old not in ids["probe"]:
                self.notes.append(
                    f"The probe {old} ({kind}) of {source.shown} was not copied: it was trained on"
                    " part of a run. Train it again."
                )

    def _name_ablations_left_out(self, source: Source, whole: Mapping[int, int]) -> None:
        statement = registry.internal_statement("merge/ablations_left_out")
        runs = {"old": [*whole], "new": [*whole.values()]}
        for run, name in self._rows(statement, runs):
            self.notes.append(
                f"The ablation {name} of {run} in {source.shown} was not copied: an earlier bank"
                " has another one of that name, or less of it."
            )

    def _probes(self, source: Source, whole: Mapping[int, int]) -> dict[int, int]:
        changed, rest = id_map.renumbered("probe", source.number, {"run": whole})
        rows = self._rows(
            "select own.id, coalesce(min(there.id), (select coalesce(max(id), 0) from main.probe)"
            " + row_number() over (partition by min(there.id) is null order by own.id))"
            f" from (select {id_map.listed(self._values(source, 'probe', changed))} {rest}) as own"
            f" left join main.probe as there on {_same(*_SAME_PROBE)} group by own.id"
        )
        return dict(rows)

    def _copy_frequencies(self, source: Source) -> None:
        self._insert(source, "word_frequency", ({}, f"from {OF}word_frequency as own"), "true")
        digest = "select count(*), sum(hash(form, frequency)) from"
        own, there = (self._rows(f"{digest} {schema}word_frequency") for schema in (OF, "main."))
        if own[0][0] and own != there:
            self.notes.append(
                f"The frequencies of words (word_frequency) of {source.shown} were not copied: an"
                " earlier bank has others."
            )


def _same(*columns: str) -> str:
    return " and ".join(f"there.{column} is not distinct from own.{column}" for column in columns)


def import_export(folder: str | Path, bank: str | Path) -> Merged:
    """Make a new bank of the folder that `attnbank export` wrote, with its ids.

    The folder is checked against its manifest first: its format, every file's size and SHA-256,
    then the columns and the rows of every table. The bank appears only when it is whole.

    Raises CallError if there is no such folder, or a bank already; BankError if the export is not
    as it was written, if it has another format, or if the bank cannot be written.
    """
    path = Path(bank)
    check_free(path)
    source = of_export(0, folder)
    assert source.manifest is not None
    with connect_beside(source.reads) as connection:
        _catalog(connection, source)
    with (
        new_bank(path, provenance.version(), source.reads, settings=_LIMITS) as connection,
        source.attached(connection),
    ):
        user_tables.columns_of(connection, [source], apart=())
        connection.execute("delete from bank")
        for table in source.manifest.tables:
            name, columns = (
                qualified_name(table.schema, table.name),
                ", ".join(map(quoted, table.columns)),
            )
            with reading(source.shown, table):
                connection.execute(f"insert into {name} ({columns}) from {SOURCE}.{name}")
        connection.execute("update bank set analyses = ?", [macros.fingerprint()])
    rows = {table.name: table.rows for table in source.manifest.tables if table.schema == "main"}
    return Merged(rows, (), source.manifest.written_by)


def import_exports(
    folders: Sequence[str | Path], bank: str | Path, *, partial: bool = False
) -> Merged:
    """Make a new bank of one or several folders that `attnbank export` wrote.

    One is imported as it is; several are merged, and `partial` is as in `merge_banks`. Raises as
    `import_export` and `merge_banks` do, and CallError if a folder is none.
    """
    if len(folders) == 1:
        return import_export(folders[0], bank)
    return _merged(Path(bank), folders, of_export, partial)
