-- The columns of a table or view, each with its type and comment.
select column_name as "column", data_type as type, comment
from duckdb_columns()
where database_name = current_database()
    and schema_name = $schema
    and table_name = $name
order by column_index
