"""Makes one bank of several: shards of one run, or what people hand to each other.

An id says where a row stands in its corpus or run (`sql/ids.py`), so that rows move by adding a
number, and what two sources share has the same ids. The tables, the views and the analyses are this
version's own: no SQL of an export is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.ingest.losses.head_sets import ABLATION
from attnbank.ingest.merge.sources import (
    OF,
    SOURCE,
    Source,
    Table,
    check_rows,
    of_export,
    reading,
    source_of,
)
from attnbank.ingest.store.saved import SavedRelation, create_view, is_of_trees
from attnbank.ingest.store.writer import rows_by_name
from attnbank.sql import provenance, registry
from attnbank.sql.bank.bank_format import columns_of_this_format
from attnbank.sql.bank.connections import connect_beside
from attnbank.sql.bank.new_banks import check_free, new_bank
from attnbank.sql.bank.opening import reinstall
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.export_format import further, is_by_run
from attnbank.sql.ids import BITS, OF_WORDS, Numbers, ordinal_of, refers_to, renumbered
from attnbank.sql.matching import TABLES, Catalog, Matched, match, unique
from attnbank.sql.names import literal, qualified_name, quoted

_LIMITS = {"memory_limit": "1GB"}

# The tables of text, by the column that leads a row to its document.
_TEXT = {
    "document": "id", "sentence": "document", "mention": "document", "word": "sentence",
    "enhanced_dependency": "sentence", "constituent": "sentence", "departure": "sentence",
}  # fmt: skip
# What of a row of text, or of an input, differs between machines or shards.
_OF_A_SOURCE = {"document": "file", "departure": "place", "sequence": "batch"}

# The tables of what was computed, and by which columns it is known that the new bank has it.
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
_SAME_PROBE = (
    "kind", "train_run", "test_run", "train_split", "test_split", "embeddings", "vectors_sha256",
    "root_at", "seed", "options",
)  # fmt: skip
_WHOLE_NUMBERS = ("SMALLINT", "INTEGER", "BIGINT")


@dataclass(frozen=True)
class Merged:
    """The rows that were inserted, by table, and notes for the user.

    `written_by` is the version of attnbank that wrote the tables as they are now.
    """

    rows: dict[str, int]
    notes: tuple[str, ...]
    written_by: str


def merge_banks(out: str | Path, banks: Sequence[str | Path], *, partial: bool = False) -> Merged:
    """Make a new bank of several banks, or folders that `attnbank export` wrote.

    Corpora, models and runs are recognised by their digests and options: the same one in two banks
    is kept once, and shards of one run become that run. They get new numbers, and with them all
    ids. With `partial` a corpus may lack shards. The new bank appears only when it is whole.

    Raises CallError if there is a bank at `out` already, if a shard is missing, or if the banks do
    not go together; BankError if one of them cannot be read, has another format or is not as
    attnbank writes it, or if the new one cannot be written.
    """
    return _merged(Path(out), banks, source_of, partial)


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
        _make_columns(connection, [source], apart=())
        connection.execute("delete from bank")
        for table in source.manifest.tables:
            name = qualified_name(table.schema, table.name)
            columns = ", ".join(map(quoted, table.columns))
            with reading(source.label, table):
                connection.execute(f"insert into {name} ({columns}) from {SOURCE}.{name}")
        connection.execute("update bank set analyses = ?", [registry.fingerprint()])
    rows = {table.name: table.rows for table in source.manifest.tables if table.schema == "main"}
    return Merged(rows, (), source.manifest.written_by)


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
            notes.append(f"{source.label} was named twice and is read once.")
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
    """Check all rows of a source, and return its catalog. Raises BankError."""
    with source.attached(connection):
        check_rows(connection, source)
        rows = {
            table: rows_by_name(connection.execute(f"select * from {OF}{table} order by all"))
            for table in TABLES
        }
        return Catalog(source.number, source.label, rows)


class _Merge:
    """A new bank that is filled from the sources, one after the other."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        sources: Sequence[Source],
        matched: Matched,
        notes: list[str],
    ) -> None:
        self.connection, self.matched, self.notes = connection, matched, notes
        self.columns = _make_columns(connection, sources)
        self.copies = [_SourceCopy(self, source) for source in sources]

    def fill(self) -> dict[str, int]:
        """Copy everything, source by source; return the number of rows of each table."""
        self.rows("create temp table merge_searched (relation varchar, sentence bigint)")
        self.rows("create temp table merge_document (id bigint, source integer)")
        for step in (
            _SourceCopy.copy_small_rows,
            _SourceCopy.copy,
            _SourceCopy.check_duplicates,
            _SourceCopy.copy_relations,  # last: relations of the trees keep their names
        ):
            for copy in self.copies:
                with copy.source.attached(self.connection):
                    step(copy)
        self.rows(registry.internal_statement("merge/last_searched"))
        # The losses of the shards of a run are replaced by the mean over all their tokens.
        joined = ", ".join(str(run.id) for run in self.matched.runs if len(run.places) > 1)
        statement = registry.internal_statement("merge/joined_losses")
        self.rows(f"create temp table merge_loss as {statement}")
        self.rows(f"delete from main.ablation where run in ({joined or 'null'})")
        self.rows(f"insert into main.ablation from merge_loss where run in ({joined or 'null'})")
        for run in self.matched.preferred:
            self.rows(f"insert into preferred_run (run) values ({run})")
        if answers := [copy.source.label for copy in self.copies if copy.source.has_answers]:
            self.notes.append(
                f"Kept answers ({', '.join(answers)}) were not copied: attnbank compute --all"
                " computes them again."
            )
        return {table: self.count(f"from main.{table}") for table in self.columns}

    def rows(self, statement: str, values: Mapping[str, Any] | None = None) -> list[Any]:
        return self.connection.execute(statement, dict(values or {})).fetchall()

    def count(self, rest: str) -> int:
        ((rows,),) = self.rows(f"select count(*) {rest}")
        return int(rows)


class _SourceCopy:
    """What the new bank takes of one source, which is attached meanwhile."""

    def __init__(self, merge: _Merge, source: Source) -> None:
        self.merge, self.matched = merge, merge.matched
        self.source, self.label = source, source.label
        self.rows, self.count, self.note = merge.rows, merge.count, merge.notes.append
        # The new number of each corpus, model and run that is taken, and of each probe.
        self.numbers: dict[str, Mapping[int, int]] = {
            kind: self.matched.ids(kind, source.number) for kind in ("corpus", "model", "run")
        }

    def copy_small_rows(self) -> None:
        for table in ("corpus", "model", "run"):
            for entry in self.matched.of(table):
                number, old = entry.places[0]
                if number == self.source.number:
                    new = {name: it for name, it in entry.row.items() if it != entry.first[name]}
                    self._insert(table, f"own.id = {old}", **new)

    def copy(self) -> None:
        self._copy_text()
        self._copy_inputs()
        self._copy_computed()
        self._copy_frequencies()
        self._copy_user_tables()

    def _insert(
        self,
        table: str,
        where: str = "true",
        *,
        numbers: Numbers | None = None,
        unless: str = "",
        known: str = "",
        **values: Any,
    ) -> None:
        """Insert rows of a table of the source, `own`. A column that it lacks is null.

        `values` are columns with other values. Rows for which the table `known`, by default the
        same one, has a row, `there`, of which `unless` is true are left out.
        """
        changed = self._values(table, {**self.numbers, **(numbers or {})})
        changed |= {name: f"${name}" for name in values}
        listed = ", ".join(f"{value} as {quoted(name)}" for name, value in changed.items())
        select = f"select {listed} from {OF}{table} as own where {where}"
        if unless:
            select = (
                f"select own.* from ({select}) as own"
                f" where not exists (from main.{known or table} as there where {unless})"
            )
        self.rows(f"insert into main.{table} by name {select}", values)

    def _values(self, table: str, numbers: Numbers) -> dict[str, str]:
        """Return the columns of a table of the new bank as SQL over `own`, that of the source."""
        has = self.source.tables["main", table]
        return {
            name: renumbered(table, name, numbers) if name in has else "null"
            for name in self.merge.columns[table]
        }

    def _copy_text(self) -> None:
        """Copy the documents that no earlier source has, and what could not be read."""
        id = renumbered("document", "id", self.numbers)
        self.rows(
            f"create or replace temp table merge_arriving as select own.id, {id} as new, {id} in"
            f" (select id from main.document) as is_here from {OF}document as own"
        )
        documents = "select id from merge_arriving where not is_here"
        sentences = f"select id from {OF}sentence where document in ({documents})"
        if self.count("from merge_arriving where is_here"):
            self._check_text()
        self._check_places()
        for table, column in _TEXT.items():
            arriving = sentences if column == "sentence" else documents
            self._insert(table, f"own.{column} in ({arriving})")
        self.rows(
            f"insert into merge_document select new, {self.source.number} from merge_arriving"
            " where not is_here"
        )
        # What could not be read is in every source that has the corpus.
        same = _same("corpus", "name", "reason", "detail")
        place = "parse_filename(there.place) is not distinct from parse_filename(own.place)"
        unless = f"there.run is null and {same} and {place}"
        self._insert("skipped", "own.run is null", unless=unless)

    def _check_text(self) -> None:
        """Raise BankError if a document of the source is another one in the new bank."""
        documents = "select new from merge_arriving where is_here"
        sentences = f"select id from main.sentence where document in ({documents})"
        for table, column in _TEXT.items():
            among = sentences if column == "sentence" else documents
            id = self._first_difference(table, column, among)
            if id is None:
                continue
            if column == "sentence":
                ((id,),) = self.rows(f"select document from main.sentence where id = {id}")
            index, corpus = ordinal_of(id), (id >> BITS) + 1
            ((number,),) = self.rows(f"select source from merge_document where id = {id}")
            first = self.matched.catalogs[number].label
            raise BankError(
                f"Document {index} of the corpus {self.matched.name('corpus', corpus)}"
                f" differs between {first} and {self.label}.",
                "It was read with other options (--split, --strict), or changed: ingest one"
                " of them again.",
            )

    def _check_places(self) -> None:
        """Raise BankError if a document that arrives has ids of one that is there.

        A sentence that one shard left out, and another did not, moves the ids of all that follow.
        """
        document, sentence = (
            renumbered("sentence", column, self.numbers) for column in ("document", "id")
        )
        rows = self.rows(
            f"select min({document}) from {OF}sentence as own where document in"
            " (select id from merge_arriving where not is_here)"
            f" and {sentence} in (select id from main.sentence)"
        )
        if (id := rows[0][0]) is not None:
            corpus = self.matched.name("corpus", (id >> BITS) + 1)
            raise BankError(
                f"Document {ordinal_of(id)} of the corpus {corpus} stands at another place in"
                f" {self.label} than in an earlier bank.",
                "They were read with different options (--strict, --skip-bad): ingest one of them"
                " again.",
            )

    def _first_difference(self, table: str, column: str, among: str) -> int | None:
        """Compare the rows of a source with those of the new bank, by the id that they belong to.

        `column` has this id, `among` is a SELECT of those to compare. Returns the smallest for
        which they differ, in the new bank's numbers. What differs between machines is left out.
        """
        changed = self._values(table, self.numbers)
        listed = ", ".join(f"{value} as {quoted(name)}" for name, value in changed.items())
        compared = [
            "parse_filename(file)" if name == "file" else quoted(name)
            for name in changed
            if name != _OF_A_SOURCE.get(table) or name == "file"
        ]
        own, there = (
            f"select {column} as id, count(*) as n, sum(hash({', '.join(compared)})) as digest"
            f" from {rows} where {column} in ({among}) group by {column}"
            for rows in (f"(select {listed} from {OF}{table} as own)", f"main.{table}")
        )
        rows = self.rows(
            f"select id from ({own}) as own full join ({there}) as there using (id)"
            " where (own.n, own.digest) is distinct from (there.n, there.digest)"
            " order by id limit 1"
        )
        return rows[0][0] if rows else None

    def _copy_inputs(self) -> None:
        """Copy the inputs of the runs that no earlier source has, and their attention."""
        runs = self.matched.ids("run", self.source.number, duplicates=False)
        inputs = f"select id from {OF}sequence where {_among('run', runs, '')}"
        tables = [name for name, columns in columns_of_this_format().items() if is_by_run(columns)]
        for table in ("run_part", "sequence", "skipped", "ablation"):
            self._insert(table, _among("run", runs))
        for table in tables:
            self._insert(table, f"own.sequence in ({inputs})")
            of_no_run = f"own.sequence not in (select id from {OF}sequence)"
            if rows := self.count(f"from {OF}{table} as own where {of_no_run}"):
                self.note(
                    f"{rows:,} rows of {table} in {self.label} belong to no run and were not"
                    " copied."
                )

    def check_duplicates(self) -> None:
        """Raise BankError if a run that an earlier source has has other inputs there."""
        for run in self.matched.runs:
            for number, old in run.duplicates:
                if number != self.source.number:
                    continue
                inputs = f"select id from main.sequence where run = {run.id}"
                for table, column in (("sequence", "id"), ("position", "sequence")):
                    if self._first_difference(table, column, inputs) is not None:
                        name = self.matched.catalogs[number].rows["run"][old]["name"]
                        raise BankError(
                            f"The run {name} of {self.label} has different inputs than in"
                            f" {self.matched.catalogs[run.places[0][0]].label}.",
                            "One of them is damaged, or was read by another tokenizer: ingest it"
                            " again.",
                        )

    def _copy_computed(self) -> None:
        """Copy what was computed from runs that are taken whole, none of it twice."""
        whole = self.matched.whole_runs(self.source.number)
        numbers = {"run": whole, "probe": self._probe_numbers(whole)}
        self.numbers["probe"] = numbers["probe"]
        statement = registry.internal_statement("merge/ablations_left_out")
        runs = {"old": [*whole], "new": [*whole.values()]}
        for run, name in self.rows(statement, runs):
            self.note(
                f"The ablation {name} of {run} in {self.label} was not copied: an earlier bank"
                " has another one of that name, or less of it."
            )
        for table, keys in _COMPUTED.items():
            # An ablation is taken whole, or not if the new bank has one of its name.
            known = ABLATION[-1] if table in ABLATION else table
            where = self._refers_only_to(table, numbers)
            self._insert(table, where, numbers=numbers, unless=_same(*keys), known=known)
        left_out = registry.internal_statement("merge/computed_of_parts")
        for run, done in self.rows(left_out, {"runs": [*whole]}):
            self.note(
                f"What was computed from {run} ({done}) was not copied: compute it again from the"
                " whole run."
            )
        for old, kind in self.rows(f"select id, kind from {OF}probe order by id"):
            if old not in numbers["probe"]:
                self.note(
                    f"The probe {old} ({kind}) of {self.label} was not copied: it was trained on"
                    " part of a run. Train it again."
                )

    def _refers_only_to(self, table: str, numbers: Numbers) -> str:
        """Return SQL for the rows of a table that refer to no other runs and probes than these."""
        conditions = [
            f"(own.{name} is null or {_among(name, numbers[target])})"
            for name in columns_of_this_format()[table]
            if (target := refers_to(table, name)) is not None
            and target in numbers
            and name != "sequence"
        ]
        return " and ".join(conditions)

    def _probe_numbers(self, whole: Mapping[int, int]) -> dict[int, int]:
        """Return the new number of each probe on whole runs: that of the same one, or the next."""
        numbers = {**self.numbers, "run": whole}
        changed = self._values("probe", numbers)
        listed = ", ".join(f"{value} as {quoted(name)}" for name, value in changed.items())
        where = self._refers_only_to("probe", {"run": whole})
        rows = self.rows(
            "select own.id, coalesce(min(there.id), (select coalesce(max(id), 0) from main.probe)"
            " + row_number() over (partition by min(there.id) is null order by own.id))"
            f" from (select {listed} from {OF}probe as own where {where}) as own"
            f" left join main.probe as there on {_same(*_SAME_PROBE)} group by own.id"
        )
        return dict(rows)

    def _copy_frequencies(self) -> None:
        self._insert("word_frequency", unless="true")
        digest = "select count(*), sum(hash(form, frequency)) from"
        own, there = (self.rows(f"{digest} {schema}word_frequency") for schema in (OF, "main."))
        if own[0][0] and own != there:
            self.note(
                f"The frequencies of words (word_frequency) of {self.label} were not copied: an"
                " earlier bank has others."
            )

    def _copy_user_tables(self) -> None:
        """Copy the tables that users made, with new ids, and note the views, which stay.

        A column refers to a table by its name, as `store.deleting` says. Rows that refer to
        what is left out are left out.
        """
        numbers = self.numbers
        # A column of texts may have names or ids of runs; a run of the name comes first.
        runs = self.matched.catalogs[self.source.number].rows["run"]
        names = {str(old): str(new) for old, new in numbers["run"].items()}
        names |= {
            runs[old]["name"]: self.matched.name("run", new) for old, new in numbers["run"].items()
        }
        for table, types in self.source.tables.items():
            if table[0] == "main" and table[1] in columns_of_this_format():
                continue
            values, lost, changed = {}, ["false"], []
            for name, type_ in types.items():
                values[name] = old = f"own.{quoted(name)}"
                target = _target(name, type_)
                if target is None:
                    continue
                changed.append(name)
                if type_ == "VARCHAR":
                    cases = " ".join(
                        f"when {literal(old_name)} then {literal(new_name)}"
                        for old_name, new_name in names.items()
                    )
                    values[name] = f"case {old} {cases} end" if cases else "null"
                    lost.append(f"({old} is not null and {values[name]} is null)")
                else:
                    values[name] = new = renumbered("", name, numbers)
                    known = f"{new} in (select id from main.{target})"
                    lost.append(f"({old} is not null and not coalesce({known}, false))")
            self._copy_user_table(table, values, " or ".join(lost), changed)
        statement = registry.internal_statement("merge/own_views")
        if views := self.rows(statement):
            listed = ", ".join(map(_table_label, views))
            self.note(f"Views and macros of {self.label} were not copied: {listed}.")

    def _copy_user_table(
        self, table: Table, values: Mapping[str, str], lost: str, changed: Sequence[str]
    ) -> None:
        new = qualified_name(*table)
        listed = ", ".join(f"{value} as {quoted(name)}" for name, value in values.items())
        rest = f"from {SOURCE}.{new} as own"
        self.rows(
            f"insert into {new} select it.* from (from {new} where false union all by name select"
            f" {listed} {rest} where not ({lost})) as it"
            f" where not exists (from {new} as there where there is not distinct from it)"
        )
        label = f"{_table_label(table)} of {self.label}"
        types = self.source.tables[table]
        if others := [
            name for name in types if name not in changed and types[name] in _WHOLE_NUMBERS
        ]:
            self.note(
                f"In {label} the numbers in {', '.join(others)} were copied unchanged: ids are"
                " recognised by the names of their columns (word, run, ...)."
            )
        if changed:
            self.note(
                f"In {label} the ids in {', '.join(changed)} were changed to those of the new bank."
            )
        if gone := self.count(f"{rest} where {lost}"):
            self.note(
                f"{gone:,} rows of {label} were not copied: they refer to nothing in the new bank."
            )

    def copy_relations(self) -> None:
        """Copy the relations that users saved; those of one name and request are one.

        The text of all sources is there already: a name that its trees, or another request, have
        gets a number.
        """
        numbers = self.numbers
        columns = "name, request, from_node, to_node, meaning, statement"
        for name, *own, last in self.rows(
            f"select {columns}, last_sentence from {OF}saved_relation order by name"
        ):
            select = "select name, request, from_node, to_node from saved_relation order by name"
            known = {name: other for name, *other in self.rows(select)}
            numbered = re.compile(rf"{re.escape(name)}(_\d+)?")
            same = (name for name in known if known[name] == own[:3] and numbered.fullmatch(name))
            now = next(same, "")
            if not now:
                taken = [*known]
                while is_of_trees(self.merge.connection, now := unique(name, taken, "_")):
                    taken.append(now)
                self._insert("saved_relation", f"own.name = {literal(name)}", name=now)
                create_view(self.merge.connection, SavedRelation(now, *own))
            if now != name:
                self.note(
                    f"The saved relation {name} of {self.label} is called {now} here: another"
                    " one or a relation of the trees has that name."
                )
            sentence = renumbered("sentence", "id", numbers)
            self.rows(
                f"insert into merge_searched select $now, {sentence} from {OF}sentence as own"
                " where own.id <= $last",
                {"now": now, "last": last},
            )
            word, head_word = (
                renumbered("saved_pair", column, numbers) for column in ("word", "head_word")
            )
            self.rows(
                f"insert into saved_pair (relation, word, head_word) select $now, {word},"
                f" {head_word} from {OF}saved_pair as own where own.relation = $name"
                " except select relation, word, head_word from saved_pair",
                {"name": name, "now": now},
            )


def _make_columns(
    connection: DuckDBPyConnection, sources: Sequence[Source], apart: Sequence[str] = ("bank",)
) -> dict[str, dict[str, str]]:
    """Make the tables and columns that users made in the sources, but none in the tables `apart`.

    Returns the columns of the tables of every bank, with their types. Raises CallError if a column
    has another type in two sources.
    """
    usual = {("main", name): own for name, own in columns_of_this_format().items()}
    tables = {table: dict(own) for table, own in usual.items()}
    for source in sources:
        for table, types in source.tables.items():
            columns = tables.setdefault(table, {})
            for name, type_ in types.items():
                if table[1] not in apart and columns.setdefault(name, type_) != type_:
                    raise CallError(
                        f"The column {_table_label(table)}.{name} is {type_} in {source.label}, and"
                        f" {columns[name]} in another bank.",
                        "Rename it in one of them (the DuckDB shell does), or leave that bank out.",
                    )
    if apart:  # the ids of a second corpus need more digits than an INTEGER has
        for table in tables.keys() - usual.keys():
            for name, type_ in tables[table].items():
                if _target(name, type_) is not None and type_ in _WHOLE_NUMBERS:
                    tables[table][name] = "BIGINT"
    for statement in further(tables):
        connection.execute(statement)
    of_every_bank = {table: tables[table] for table in usual}
    if of_every_bank != usual:
        reinstall(connection)  # the bank's views show columns of users too
    return {name: columns for (_, name), columns in of_every_bank.items()}


def _target(column: str, type_: str) -> str | None:
    """Return the table that a column of a user's table refers to, by its name, or None."""
    if column in ("id", "entity") or refers_to("", column) is None:
        return None
    target = "run" if column.endswith("_run") else column
    if type_ == "VARCHAR":
        return target if target == "run" else None
    target = "word" if column in OF_WORDS else target
    return target if type_ in _WHOLE_NUMBERS else None


def _table_label(table: Table) -> str:
    return table[1] if table[0] == "main" else ".".join(table)


def _among(column: str, ids: Mapping[int, int], own: str = "own.") -> str:
    return f"{own}{column} in ({', '.join(map(str, ids)) or 'null'})"


def _same(*columns: str) -> str:
    return " and ".join(f"there.{column} is not distinct from own.{column}" for column in columns)
