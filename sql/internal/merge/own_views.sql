-- The views and macros of the attached source that the new bank has not, but for the analyses of another version of attnbank.
(
    select duckdb_views.schema_name, duckdb_views.view_name
    from duckdb_views()
    where
        not duckdb_views.internal and duckdb_views.database_name = 'source'
        and duckdb_views.schema_name not in ('paper', 'saved')
    union
    select duckdb_functions.schema_name, duckdb_functions.function_name
    from duckdb_functions()
    where
        not duckdb_functions.internal and duckdb_functions.database_name = 'source'
        and duckdb_functions.schema_name <> 'paper'
        and coalesce(duckdb_functions.comment, '') not like 'The statement of %'
)
except (
    -- A table of an export is attached as a view.
    select duckdb_tables.schema_name, duckdb_tables.table_name from duckdb_tables()
    union
    select duckdb_views.schema_name, duckdb_views.view_name
    from duckdb_views()
    where duckdb_views.database_name <> 'source'
    union
    select duckdb_functions.schema_name, duckdb_functions.function_name
    from duckdb_functions()
    where duckdb_functions.database_name <> 'source'
)
order by all
