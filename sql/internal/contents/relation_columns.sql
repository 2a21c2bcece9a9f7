-- The columns of a table or view, each with its type and comment.
select duckdb_columns.column_name as "column", duckdb_columns.data_type as type, duckdb_columns.comment
from duckdb_columns()
where duckdb_columns.database_name = current_database()
    and duckdb_columns.schema_name = $schema
    and duckdb_columns.table_name = $name
order by duckdb_columns.column_index
