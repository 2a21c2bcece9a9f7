"""The tables of an export, or of several as one, as Spark reads them.

An export comes from outside: only tables and columns that a bank of this format has are read, and
their types are checked first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnbank.queries.dialects import render_statement
from attnbank.sql import registry
from attnbank.sql.bank.upgrading import columns_of_this_format
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.export_format import check_format, is_by_run
from attnbank.sql.ids import BITS, ordinal_of, refers_to, renumbered
from attnbank.sql.matching import TABLES, Catalog, match
from attnbank.sql.names import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What Spark calls the types of the columns of a bank, as it reads them from Parquet.
_TYPES = {
    "BIGINT": "bigint",
    "BOOLEAN": "boolean",
    "DOUBLE": "double",
    "DOUBLE[]": "array<double>",
    "FLOAT": "float",
    "FLOAT[]": "array<float>",
    "INTEGER": "int",
    "MAP(VARCHAR, VARCHAR)": "map<string,string>",
    "SMALLINT": "smallint",
    "SMALLINT[]": "array<smallint>",
    "TIMESTAMP": "timestamp_ntz",
    "VARCHAR": "string",
    "VARCHAR[]": "array<string>",
}
_WHOLE = "Name a complete folder that attnbank export wrote: --data DIR."


class Export:
    """The tables of one export."""

    def __init__(self, session: SparkSession, folder: str) -> None:
        """Check that a folder, a path or an address for Spark, is an export of this format.

        Raises CallError if a path is not a folder, BankError if it holds no export of this format.
        """
        self.session = session
        self.folder = folder
        self._root = _root(folder)
        self._read_before: dict[tuple[str, ...], DataFrame] = {}
        formats = [row["format"] for row in self.table("bank").collect()]
        format_ = formats[0] if len(formats) == 1 else None
        if format_ is None:
            raise BankError(f"{self.folder} does not say which format it is in.", _WHOLE)
        remedy = "Upgrade the bank, and export it again: attnbank upgrade, attnbank export."
        check_format(self.folder, format_, remedy)

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has.

        Raises BankError if the table is missing, or has other columns than a bank of this format.
        """
        if is_by_run(columns_of_this_format()[name]):
            return self.table_of_runs(name, self._run_ids)
        return self._read_files(name, [f"{name}.parquet"])

    def table_of_runs(self, name: str, runs: Sequence[int]) -> DataFrame:
        """The rows of some runs in a table whose files are divided by run. Raises as `table`."""
        return self._read_files(name, [f"{name}/run={run}" for run in runs])

    def _read_files(self, name: str, files: list[str]) -> DataFrame:
        """The rows of some files, or folders of files, of a table; opened once."""
        if not files:
            return spark_rows(self.session, name, [])
        if tuple(files) in self._read_before:
            return self._read_before[tuple(files)]
        from pyspark.errors import AnalysisException

        try:
            frame = self.session.read.parquet(*(f"{self._root}/{file}" for file in files))
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            missing = files[0] if len(files) == 1 else f"{name}/run=..."
            raise BankError(
                f"{self.folder} is not a complete export: it has no {missing}.", _WHOLE
            ) from error
        types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        columns = types_of(name)
        for column, type_ in columns.items():
            if types.get(column) != type_:
                has = f"is {types[column]}" if column in types else "is missing"
                raise BankError(
                    f"{self.folder} is not an export of this version: {name}.{column} {has}.",
                    "Export the bank again with this version: attnbank export.",
                )
        frame = frame.select(*(f"`{column}`" for column in columns))
        self._read_before[tuple(files)] = frame
        return frame

    @cached_property
    def _run_ids(self) -> list[int]:
        return sorted(int(row["id"]) for row in self.table("run").select("id").collect())


def spark_rows(session: SparkSession, table: str, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Rows that are given by column, with the columns and types of a table of a bank."""
    types = types_of(table)
    shape = ", ".join(f"`{column}` {type_}" for column, type_ in types.items())
    return session.createDataFrame([tuple(row[column] for column in types) for row in rows], shape)


def types_of(table: str) -> dict[str, str]:
    """The columns of a table of a bank, and what Spark calls their types."""
    columns = columns_of_this_format()[table]
    return {column: _TYPES[type_] for column, type_ in columns.items()}


def _root(folder: str) -> str:
    """The folder as Spark takes it: an address, with what would be a pattern in it escaped."""
    if "://" in folder:
        return folder.rstrip("/")
    path = Path(folder).expanduser()
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        raise CallError(
            f"Folder {folder} does not exist.", "Make one of a bank: attnbank -b BANK export DIR."
        )
    escaped = "".join(f"\\{sign}" if sign in "\\*?[]{}," else sign for sign in str(path.resolve()))
    return f"file://{escaped}"


_PROBES = 1_000_000  # how far apart the ids of the probes of two exports are

# What was computed of the shards of a run and can be added up to that of the run, and how.
_SUMS = {
    "ablation": (
        ("run", "disabled", "layer", "head", "replacement"),
        ("sum(loss * tokens) / greatest(sum(tokens), 1) as loss", "sum(tokens) as tokens"),
    ),
    "head_distance": (
        ("run", "smoothing", "layer_a", "head_a", "layer_b", "head_b"),
        ("sum(js_divergence) as js_divergence", "sum(n_tokens) as n_tokens"),
    ),
}
# Tables of which every shard of a run has its own rows.
_OF_PARTS = ("run_part", "sequence", "skipped", *_SUMS)


class UnionExport:
    """The tables of several exports as those of one."""

    def __init__(self, exports: Sequence[Export]) -> None:
        """Raises CallError or BankError if the exports cannot be one: see `matching.match`."""
        self.session = exports[0].session
        self.folder = ", ".join(export.folder for export in exports)
        self._exports = exports
        catalogs = []
        for number, export in enumerate(exports):
            rows = {table: self._collected(number, table) for table in TABLES}
            catalogs.append(Catalog(number, export.folder, rows))
        self._matched = match(catalogs, to_read=True)
        self._is_checked = False

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has. Raises as `Export.table`."""
        rows = self._few(name)
        if rows is not None:
            return spark_rows(self.session, name, rows)
        if name == "word_frequency":  # it belongs to no corpus or run: the first that is not empty
            tables = [export.table(name) for export in self._exports]
            return next((table for table in tables if table.take(1)), tables[0])
        if not self._is_checked:
            self._check_texts()
            self._is_checked = True
        union = _union(self._moved(name, number) for number in range(len(self._exports)))
        if name == "saved_pair":
            union = union.distinct()
        if name in _SUMS:
            union = self._summed(name, union)
        types = types_of(name).items()
        return union.select(*(union[column].cast(type_) for column, type_ in types))

    def _few(self, name: str) -> Sequence[Mapping[str, Any]] | None:
        """The rows of a table that never has many; None for any other table."""
        if name in ("corpus", "model", "run"):
            return [entry.row for entry in self._matched.of(name)]
        if name == "preferred_run":
            return [{"run": run} for run in self._matched.preferred]
        if name == "saved_relation":
            return self._saved_relations()
        return self._collected(0, name) if name in ("bank", "used_id") else None

    def _collected(self, number: int, name: str) -> list[dict[str, Any]]:
        rows = self._exports[number].table(name)
        rows = rows.orderBy("id") if "id" in rows.columns else rows
        return [row.asDict() for row in rows.collect()]

    def _saved_relations(self) -> list[dict[str, Any]]:
        relations: dict[str, dict[str, Any]] = {}
        for number in range(len(self._exports)):
            for row in self._collected(number, "saved_relation"):
                other = relations.setdefault(row["name"], row)
                if any(
                    row[column] != other[column] for column in ("request", "from_node", "to_node")
                ):
                    raise CallError(
                        f"Two exports have a saved relation called {row['name']}, for"
                        " different requests.",
                        "Query them one by one.",
                    )
        return [*relations.values()]

    def _moved(self, name: str, number: int) -> DataFrame:
        """The rows of a table of an export that no earlier export has, with their new ids."""
        matched, export, columns = self._matched, self._exports[number], types_of(name)
        is_of_run = is_by_run(columns) or "run" in columns
        is_of_part = is_by_run(columns) or name in _OF_PARTS
        numbers = {
            # The text of a run may be that of an earlier export.
            "corpus": matched.ids("corpus", number) if is_of_run else matched.first_corpora(number),
            # What was computed of a shard is not that of the run, except for sums.
            "run": (
                matched.ids("run", number, duplicates=False)
                if is_of_part
                else matched.whole_runs(number)
            ),
        }
        if name.startswith("probe"):
            numbers["probe"] = {
                row["id"]: row["id"] + number * _PROBES
                for row in self._collected(number, "probe")
                if {row["train_run"], row["test_run"]} <= {None, *numbers["run"]}
            }
        new = {column: renumbered(name, column, numbers) for column in columns}
        conditions = [  # an id of what is not taken is null
            f"(own.{quoted(column)} is null or {new[column]} is not null)"
            for column in columns
            if refers_to(name, column) in numbers
        ]
        if name == "skipped":  # what could not be read is in every export of the corpus
            first = ", ".join(map(str, matched.first_corpora(number))) or "null"
            conditions.append(f"(own.run is not null or own.corpus in ({first}))")
        rows = export.table_of_runs(name, [*numbers["run"]]) if is_by_run(columns) else None
        statement = (
            f"select {', '.join(f'{value} as {quoted(column)}' for column, value in new.items())}"
            f" from own_rows as own where {' and '.join(conditions) or 'true'}"
        )
        return self._sql(statement, own_rows=export.table(name) if rows is None else rows)

    def _sql(self, statement: str, **views: DataFrame) -> DataFrame:
        for name, rows in views.items():
            rows.createOrReplaceTempView(name)
        return self.session.sql(render_statement(statement, "spark", {}))

    def _check_texts(self) -> None:
        """Raise CallError if a document of one place is not the same in two exports."""
        sizes = []
        for number, export in enumerate(self._exports):
            tables = {f"own_{name}": export.table(name) for name in ("document", "sentence")}
            tables["own_mention"] = export.table("mention")
            size = self._sql(registry.internal_statement("merge/document_size"), **tables)
            corpora = {"corpus": self._matched.ids("corpus", number)}
            id = renumbered("document", "id", corpora)
            shards = self._matched.catalogs[number].shards["corpus"]
            cases = " ".join(
                f"when {old} then {literal(shards[old].text or '')}" for old in corpora["corpus"]
            )
            sizes.append(
                self._sql(
                    f"select {number} as export, {id} as document, {id} >> {BITS} as corpus,"
                    f" case own.corpus {cases} end as shard, own.sentences, own.words,"
                    " own.mentions, own.entities from own_size as own",
                    own_size=size,
                )
            )
        statement = registry.internal_statement("merge/differing_documents")
        differing = self._sql(statement, document_size=_union(sizes))
        for (document,) in differing.collect():
            corpus = self._matched.name("corpus", (document >> BITS) + 1)
            raise CallError(
                f"Document {ordinal_of(document)} of the corpus {corpus} differs between the"
                f" exports {self.folder}.",
                "Query them one by one, or ingest one of them again.",
            )

    def _summed(self, name: str, rows: DataFrame) -> DataFrame:
        from pyspark.sql.functions import expr

        keys, sums = _SUMS[name]
        cases = " ".join(f"when {run.id} then {len(run.places)}" for run in self._matched.runs)
        if not cases:
            return rows
        grouped = rows.groupBy(*keys).agg(*map(expr, sums), expr("count(*) as parts"))
        return grouped.where(f"parts = case run {cases} end")


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), frames)
