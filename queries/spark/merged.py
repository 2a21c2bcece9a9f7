"""Several exports read as one: their tables, with the ids that `attnbank merge` gives them.

In the big tables a number is added to an id and nothing else is done; only the tables of text, and
`position`, are joined with something: a few dozen bytes for each document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from attnbank.queries.dialects import render_statement
from attnbank.queries.spark.tables import Export, spark_rows, types_of
from attnbank.sql import id_map, registry
from attnbank.sql.errors import CallError
from attnbank.sql.id_map import Moved
from attnbank.sql.matching import TABLES, Catalog, Part, match
from attnbank.sql.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PROBES = 1_000_000  # how far apart the ids of the probes of two exports are
_SUMS = {
    "ablation": (
        ("run", "disabled", "layer", "head", "replacement"),
        (f"{id_map.JOINED_LOSS} as loss", "sum(tokens) as tokens"),
    ),
    "head_distance": (
        ("run", "smoothing", "layer_a", "head_a", "layer_b", "head_b"),
        ("sum(js_divergence) as js_divergence", "sum(n_tokens) as n_tokens"),
    ),
}
"""What was computed of the shards of a run and can be added up to that of the run, and how."""


class UnionExport:
    """The tables of several exports as those of one."""

    def __init__(self, exports: Sequence[Export]) -> None:
        """Raises CallError or BankError if the exports cannot be one: see `matching.match`."""
        self.session = exports[0].session
        self.folder = ", ".join(export.folder for export in exports)
        self._exports = exports
        self._numbers = range(len(exports))
        catalogs = []
        for number, export in enumerate(exports):
            rows = {table: self._collected(number, table) for table in TABLES}
            catalogs.append(Catalog(number, export.folder, rows))
        self._matched = match(catalogs, to_read=True)

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has. Raises as `Export.table`."""
        rows = self._few(name)
        if rows is not None:
            return spark_rows(self.session, name, rows)
        if name == "word_frequency":  # it belongs to no corpus or run: the first that is not empty
            tables = [export.table(name) for export in self._exports]
            return next((table for table in tables if table.take(1)), tables[0])
        union = _union(part for number in self._numbers for part in self._selected(name, number))
        if name == "saved_pair":
            union = union.distinct()
        if name in _SUMS:
            union = self._summed(name, union)
        union = union.select(
            *(union[column].cast(type_) for column, type_ in types_of(name).items())
        )
        # What is joined is done once; the big tables are read where they are.
        is_big = name in id_map.tables_by_sequence() and name != "position"
        return union if is_big else union.localCheckpoint()

    def _few(self, name: str) -> Sequence[Mapping[str, Any]] | None:
        """The rows of a table that never has many; None for any other table."""
        if name in ("corpus", "model", "run"):
            if name == "run" and not self._parts:  # made now: they set each `first_sequence`
                return []
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
        for number in self._numbers:
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

    def _selected(self, name: str, number: int) -> Iterator[DataFrame]:
        parts = [part for part in self._parts if part.source == number]
        if name in id_map.TEXT or name == "saved_pair":
            yield self._select(name, number, id_map.moved(name, number))
        elif name in ("sequence", "skipped", *id_map.tables_by_sequence()):
            yield spark_rows(self.session, name, [])
            for part in parts:
                yield self._select(name, number, id_map.moved(name, number, part), part)
            if name == "skipped":
                unread = id_map.unread(number, self._matched.first_corpora(number))
                yield self._select(name, number, unread)
        else:
            # What was computed of a shard is not that of the run, except for sums.
            whole = self._matched.whole_runs(number)
            runs = {part.old: part.run for part in parts if name in _SUMS or part.old in whole}
            rows = self._collected(number, "probe") if name.startswith("probe") else []
            probes = {
                row["id"]: row["id"] + number * _PROBES
                for row in rows
                if {row["train_run"], row["test_run"]} <= {None, *runs}
            }
            ids = {"run": runs, "probe": probes}
            inputs = self._matched.input_shifts(number)
            yield self._select(name, number, id_map.renumbered(name, number, ids, inputs))

    def _select(self, name: str, number: int, moved: Moved, part: Part | None = None) -> DataFrame:
        changed, rest = moved
        columns = {column: f"own.{quoted(column)}" for column in types_of(name)} | changed
        statement = f"select {id_map.listed(columns)} {rest}"
        return self._sql(number, statement, None if part is None else part.old)

    def _sql(self, number: int, statement: str, run: int | None = None) -> DataFrame:
        """The rows of a SELECT over an export as the source; of tables by run, those of a run."""
        export = self._exports[number]
        tree = sqlglot.parse_one(statement, dialect="duckdb")
        for table in tree.find_all(exp.Table):
            name = table.name
            if table.catalog == id_map.SOURCE:
                by_run = run is not None and name in id_map.tables_by_sequence()
                rows = export.table_of_runs(name, [run or 0]) if by_run else export.table(name)
                for part, text in (("catalog", None), ("db", None), ("this", f"source_{name}")):
                    table.set(part, text and exp.to_identifier(text))
                rows.createOrReplaceTempView(table.name)
            elif name == "merge_id_map":
                self._id_map.createOrReplaceTempView(name)
        return self.session.sql(render_statement(tree.sql(dialect="duckdb"), "spark", {}))

    @cached_property
    def _parts(self) -> list[Part]:
        """The runs of the exports, with what is added to the ids of their inputs."""
        for catalog in self._matched.catalogs:
            catalog.read_inputs(
                self._sql(catalog.number, registry.internal_statement("merge/inputs")).collect()
            )
        counts = "select corpus, sum(sentences) from merge_id_map where is_own group by corpus"
        return id_map.parts_of(self._matched, dict(self._sql(0, counts).collect()))

    @cached_property
    def _id_map(self) -> DataFrame:
        """Where each document goes. Raises CallError if one is not the same in two exports."""
        from pyspark.sql.functions import broadcast

        matched = self._matched
        _union(
            self._sql(
                number,
                id_map.extent(number, matched.ids("corpus", number), matched.first_corpora(number)),
            )
            for number in self._numbers
        ).createOrReplaceTempView("merge_extent")
        new_ids = self._sql(0, registry.internal_statement("merge/id_map")).localCheckpoint()
        new_ids.createOrReplaceTempView("merge_id_map")
        statement = registry.internal_statement("merge/differing_documents")
        differing = self.session.sql(render_statement(statement, "spark", {}))
        for corpus, index in differing.collect():
            raise CallError(
                f"Document {index} of the corpus {matched.name('corpus', corpus)} differs"
                f" between the exports {self.folder}.",
                "Query them one by one, or ingest one of them again.",
            )
        return broadcast(new_ids)

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
