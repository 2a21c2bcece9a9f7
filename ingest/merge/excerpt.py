"""An excerpt of a bank: some of its runs, with less of each if asked, in a new file.

Ids stay, so that a number that was noted of one is right in the other. If only the first inputs of
a run are taken, so is only the text that they read. Tables that everyone reads first are written
first, and the maps last, so that what is read together stands together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from duckdb import DuckDBPyConnection

from attnbank.ingest.merge.sources import OF, SOURCE, Source, source_of
from attnbank.ingest.progress import OnProgress, Progress, ignore_progress
from attnbank.ingest.store.saved import SavedRelation, create_view
from attnbank.sql import provenance, registry
from attnbank.sql.bank import bank_format
from attnbank.sql.bank.connections import transaction
from attnbank.sql.bank.new_banks import check_free, new_bank
from attnbank.sql.bank.opening import open_to_read
from attnbank.sql.errors import FINISH_IT, CallError
from attnbank.sql.export_format import condition
from attnbank.sql.ids import OF_WORDS, ordinal_of, refers_to
from attnbank.sql.matching import unique
from attnbank.sql.messages import join_names
from attnbank.sql.names import literal
from attnbank.sql.run_choice import find_run

Keep = Literal["weights", "peaks"]
# The tables of single weights, which a run of --keep peaks does not have.
_MAPS = ("attention", "attention_top", "gradient")
# The tables of what was computed from all inputs of a run, or measured on them.
_COMPUTED = (
    "head_distance", "head_embedding", "tree_ensemble", "attention_tree", "attention_span",
    "computation", "probe", "probe_score", "probe_weight", "surprisal", "ablation",
    "ablation_set", "ablated_head", "ablated_edge", "ablated_surprisal", "minimal_pair",
    "ablated_pair",
)  # fmt: skip
_OWN = ("bank", "used_id")
# What stands together in the file: the peaks of a head, which is what most questions are about.
_ORDER = {"sequence": "id", "word": "id", "sentence": "id",
          "peak": "(select run from main.sequence where id = own.sequence), layer, head, sequence,"
                  " position"}  # fmt: skip


@dataclass(frozen=True)
class Excerpt:
    """The rows of a new bank by table, and notes for the user."""

    rows: dict[str, int]
    notes: tuple[str, ...]


def chosen_runs(bank: str | Path, runs: Sequence[str] = ()) -> dict[int, str]:
    """Return the ids and names of some runs, by name or id; of none, all that are finished.

    Raises CallError for an unknown or an unfinished run, and for a bank without runs.
    """
    with open_to_read(bank) as connection:
        finished = dict(
            connection.execute(
                "select id, name from run where finished is not null order by id"
            ).fetchall()
        )
        names = dict(find_run(connection, bank, run) for run in runs) or finished
    for number, name in names.items():
        if number not in finished:
            raise CallError(f"The run {name} is not finished.", FINISH_IT)
    if not names:
        raise CallError(f"{bank} has no finished run.", "Ingest a corpus first.")
    return names


def take(
    bank: str | Path,
    out: Path,
    runs: Sequence[str] = (),
    *,
    keep: Mapping[str, Keep] | None = None,
    inputs: int | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Excerpt:
    """Make a bank of some runs of another one, all that are finished if none is named.

    `keep` is, by the name of a run, whether only its peaks and sums are taken. `inputs` is how many
    inputs of each run are taken, the first ones: such a run gets a name of its own, and what was
    computed from the whole of it is left out. Only the sentences of these inputs are taken then,
    with what is annotated on them, and a corpus that has others gets a name and a digest of its
    own. Tables and views of the user are left out, too.

    Raises CallError for runs as `chosen_runs`, and if there is a file at `out`; BankError if one of
    the banks cannot be read or written.
    """
    check_free(out)
    chosen = chosen_runs(bank, runs)
    source = source_of(0, bank)
    version = provenance.version()
    settings = {"memory_limit": "1GB", "threads": "1"}  # one: rows stay in the order of the text
    with (
        new_bank(out, version, source.reads, "nothing was taken", settings) as connection,
        source.attached(connection),
    ):
        bare = [run for run, name in chosen.items() if (keep or {}).get(name) == "peaks"]
        return _Taking(connection, source, chosen, bare, inputs).fill(on_progress)


@dataclass
class _Taking:
    connection: DuckDBPyConnection
    source: Source
    chosen: dict[int, str]
    bare: list[int]  # runs of which no single weight is taken
    inputs: int | None
    notes: list[str] = field(default_factory=list)
    corpora: str = "null"  # of the runs, once these are taken
    cut: list[int] = field(default_factory=list)  # runs that have more inputs than are taken
    partial: list[int] = field(default_factory=list)  # corpora that have sentences not taken

    def fill(self, on_progress: OnProgress) -> Excerpt:
        self.runs = _listed(self.chosen)
        with transaction(self.connection):
            self._copy("run")
            self.corpora = _listed(
                corpus for (corpus,) in self._rows("select distinct corpus from main.run")
            )
            if self.inputs is not None:
                self._choose_inputs()
            self.notes += [
                f"Of {self.chosen[run]} the first {self.inputs:,} inputs are taken, without what"
                " was computed from all of them."
                for run in self.cut
            ]
            last = ("peak", *_MAPS)
            first = [name for name in registry.tables() if name not in (*_OWN, "run", *last)]
            tables = [*first, *last]
            sizes = self._sizes()
            done, total = 0, sum(sizes.get(table, 0) for table in tables)
            for at, table in enumerate(tables):
                share = done / total if total else None
                on_progress(Progress("copying", at, len(tables), share=share))
                self._copy(table)
                done += sizes.get(table, 0)
            on_progress(Progress("copying", len(tables), len(tables), share=1.0))
            self._rename()
            self._rename_corpora()
            for name, *own in self._rows(
                "select name, request, from_node, to_node, meaning, statement from"
                " main.saved_relation order by name"
            ):
                create_view(self.connection, SavedRelation(name, *own))
        left = [
            name if schema == "main" else f"{schema}.{name}"
            for schema, name in self.source.tables
            if schema != "main" or name not in bank_format.columns_of_this_format()
        ]
        if left:
            self.notes.append(f"Tables of your own are left out: {join_names(left)}.")
        counts = {name: f"select count(*) from main.{name}" for name in registry.tables()}
        return Excerpt(
            {name: int(self._rows(count)[0][0]) for name, count in counts.items()},
            tuple(self.notes),
        )

    def _choose_inputs(self) -> None:
        """Make the tables of the inputs and of the sentences that are taken."""
        self._rows(
            f"create temp table taken_sequence as (from (select id, run, sentence from {OF}sequence"
            f" where run in ({self.runs}) qualify row_number() over"
            f" (partition by run order by document, sentence, id) <= {self.inputs}))"
        )
        # An input of a document has the sentences of its words.
        self._rows(
            "create temp table taken_sentence as"
            " select sentence as id from taken_sequence where sentence is not null"
            f" union select word.sentence from {OF}word as word where word.id in"
            f" (select unnest([word, last_word]) from {OF}position"
            " where sequence in (select id from taken_sequence))"
        )
        left = f"select run from {OF}sequence where id not in (select id from taken_sequence)"
        rows = self._rows(f"select id from main.run where id in ({left}) order by id")
        self.cut = [run for (run,) in rows]
        rows = self._rows(
            f"select distinct document.corpus from {OF}sentence as own"
            f" inner join {OF}document as document on document.id = own.document"
            f" where document.corpus in ({self.corpora})"
            " and own.id not in (select id from taken_sentence) order by all"
        )
        self.partial = [corpus for (corpus,) in rows]

    def _sizes(self) -> dict[str, int]:
        """The rows of the tables of the source; of an export nothing is known."""
        select = "select table_name, estimated_size from duckdb_tables() where database_name"
        return dict(self._rows(f"{select} = {literal(SOURCE)} and schema_name = 'main'"))

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement).fetchall()

    def _copy(self, table: str) -> None:
        columns = bank_format.columns_of_this_format()[table]
        rest = condition(table, columns, self.runs, self.corpora)
        if table in _MAPS and self.bare:
            inputs = f"select id from main.sequence where run in ({_listed(self.bare)})"
            rest += f" and sequence not in ({inputs})"
        if self.partial:
            rest += self._only_taken_text(table, columns)
        cut = _listed(self.cut)
        if cut and table == "sequence":
            rest += " and id in (select id from taken_sequence)"
        elif cut and table == "probe":
            rest += f" and coalesce(train_run not in ({cut}), true) and test_run not in ({cut})"
        elif cut and (table == "skipped" or (table in _COMPUTED and "run" in columns)):
            rest += f" and coalesce(run not in ({cut}), true)"
        order = f" order by {_ORDER[table]}" if table in _ORDER else ""
        taken = f"select own.* from {OF}{table} as own where {rest}{order}"
        self._rows(f"insert into main.{table} by name {taken}")

    def _only_taken_text(self, table: str, columns: Collection[str]) -> str:
        """Return SQL for the rows of a table that name no document, sentence or word left out."""
        if (
            table == "skipped"
        ):  # what could not be read may be quoted there, and belongs to no sentence
            whole = f"corpus not in ({_listed(self.partial)})"
            return f" and ({whole} or sentence in (select id from taken_sentence))"
        taken = {
            "sentence": "select id from taken_sentence",
            "word": f"select id from {OF}word where sentence in (select id from taken_sentence)",
            "document": f"select document from {OF}sentence"
            " where id in (select id from taken_sentence)",
        }
        conditions = []
        for column in columns:
            kind = table if column == "id" else column
            kind = "word" if kind in OF_WORDS else kind
            if kind in taken and refers_to(table, column) == "corpus":
                conditions.append(f" and (own.{column} is null or own.{column} in ({taken[kind]}))")
        return "".join(conditions)

    def _rename(self) -> None:
        """Say in the rows of the runs what of them is here."""
        if self.bare:
            self._rows(f"update main.run set keep = 'peaks' where id in ({_listed(self.bare)})")
        for run in self.cut:
            name = literal(f"{self.chosen[run]}, first {self.inputs}")
            self._rows(
                f'update main.run set name = {name}, "limit" = {self.inputs}, options ='
                f" map_concat(coalesce(options, map {{}}), map {{'taken': 'first'}})"
                f" where id = {run}"
            )
            self._rows(
                "update main.run_part set unknown_words = null, misspelled_words = null,"
                f" joined_words = null where run = {run}"
            )

    def _rename_corpora(self) -> None:
        """Say in the rows of the corpora which of their text is here: with less, it is another."""
        for corpus in self.partial:
            facts = f"select name, sha256 from {OF}corpus where id = {corpus}"
            ((name, digest),) = self._rows(facts)
            statement = (
                "select own.id from {0}sentence as own inner join {0}document as document"
                f" on document.id = own.document where document.corpus = {corpus} order by own.id"
            )
            taken = [id for (id,) in self._rows(statement.format("main."))]
            text = "\n".join([digest, *(str(ordinal_of(id)) for id in taken)])
            others = [other for (other,) in self._rows("select name from main.corpus")]
            new = unique(f"{name}, first {self.inputs}", others)
            self.connection.execute(
                "update main.corpus set name = ?, sha256 = ? where id = ?",
                [new, sha256(text.encode()).hexdigest(), corpus],
            )
            self.notes.append(
                f"Of the text of {name} the {len(taken):,} sentences of these inputs are taken, of"
                f" {len(self._rows(statement.format(OF))):,}; it is called {new}."
            )


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids))
