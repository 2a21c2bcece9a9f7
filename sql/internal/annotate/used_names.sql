-- The names that a new table of a user cannot have, and their kind; "a table of yours" is one that may be replaced.
with used_name as (
    select duckdb_tables.table_name as name, 'a table of yours' as kind, 5 as rank
    from duckdb_tables()
    where duckdb_tables.database_name = current_database() and duckdb_tables.schema_name = 'main'
    union all
    select duckdb_views.view_name, 'a view', 4
    from duckdb_views()
    where
        (duckdb_views.database_name = current_database() and duckdb_views.schema_name = 'main')
        or duckdb_views.internal
    union all
    select duckdb_functions.function_name, 'a function or an analysis', 3
    from duckdb_functions()
    where duckdb_functions.database_name = current_database() and not duckdb_functions.internal
    union all
    select duckdb_schemas.schema_name, 'a schema', 2
    from duckdb_schemas()
    union all
    select duckdb_keywords.keyword_name, 'a word of SQL', 1
    from duckdb_keywords()
    where duckdb_keywords.keyword_category in ('reserved', 'type_function')
)

select lower(name), arg_min(kind, rank)
from used_name
group by all
