"""Which columns of a bank's tables, a user's own too, refer to rows of which other tables.

A column refers to a table that has the same name and a column `id` (`run`, `sequence`, `probe`,
...), and a column whose name ends in `_run` (`train_run`) refers to `run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnbank.sql.names import qualified_name, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class TableReference:
    """A column that refers to rows of the table `target`: by id, or (`by_name`) by name or id."""

    schema: str
    table: str
    column: str
    target: str
    by_name: bool

    @property
    def qualified_table(self) -> str:
        """The table that has the column, quoted for SQL."""
        return qualified_name(self.schema, self.table)

    @property
    def label(self) -> str:
        """The table that has the column, as people read it."""
        return self.table if self.schema == "main" else f"{self.schema}.{self.table}"

    def condition(self, of_target: str) -> str:
        """SQL for the rows that refer to a target row for which the SQL `of_target` is true."""
        target = qualified_name("main", self.target)
        ids = f"select id from {target} where {of_target}"
        column = quoted(self.column)
        if not self.by_name:
            return f"{column} in ({ids})"
        names = f"select name from {target} where {of_target}"
        return f"{column} in (select cast(id as varchar) from ({ids}) union all {names})"


def table_references(connection: DuckDBPyConnection) -> list[TableReference]:
    """Every reference between tables of the bank."""
    columns = connection.execute(
        "select duckdb_columns.schema_name, duckdb_columns.table_name, column_name, data_type"
        " from duckdb_columns() inner join duckdb_tables() using (table_oid, database_name)"
        " where database_name = current_database() and not duckdb_tables.temporary"
        " and not duckdb_tables.internal order by table_oid, column_index"
    ).fetchall()
    targets = {table for schema, table, name, _ in columns if (schema, name) == ("main", "id")}
    references = []
    for schema, table, name, type_ in columns:
        target = "run" if name.endswith("_run") else name
        by_name = type_ == "VARCHAR" and target == "run"
        if target in targets and (type_.endswith("INT") or type_ == "INTEGER" or by_name):
            references.append(TableReference(schema, table, name, target, by_name))
    return references
