-- The names that a new table of a user cannot have, and their kind; "a table of yours" is one that may be replaced.
with used_name as (
    select table_name as name, 'a table of yours' as kind, 5 as rank
    from duckdb_tables()
    where database_name = current_database() and schema_name = 'main'
    union all
    select view_name, 'a view', 4
    from duckdb_views()
    where (database_name = current_database() and schema_name = 'main') or internal
    union all
    select function_name, 'a function or an analysis', 3
    from duckdb_functions()
    where database_name = current_database() and not internal
    union all
    select schema_name, 'a schema', 2
    from duckdb_schemas()
    union all
    select keyword_name, 'a word of SQL', 1
    from duckdb_keywords()
    where keyword_category in ('reserved', 'type_function')
)

select lower(name), arg_min(kind, rank)
from used_name
group by all
