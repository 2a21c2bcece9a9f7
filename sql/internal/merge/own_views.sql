-- The views and macros of the attached source that the new bank has not, but for the analyses of another version of attnbank.
(
    select schema_name, view_name
    from duckdb_views()
    where not internal and database_name = 'source' and schema_name not in ('paper', 'saved')
    union
    select schema_name, function_name
    from duckdb_functions()
    where
        not internal and database_name = 'source' and schema_name <> 'paper'
        and coalesce(comment, '') not like 'The statement of %'
)
except (
    -- A table of an export is attached as a view.
    select schema_name, table_name from duckdb_tables()
    union
    select schema_name, view_name from duckdb_views() where database_name <> 'source'
    union
    select schema_name, function_name from duckdb_functions() where database_name <> 'source'
)
order by all
