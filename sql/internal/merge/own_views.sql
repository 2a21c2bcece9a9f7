-- The views and macros of the file, but for the analyses of another version of attnbank.
select schema_name, view_name
from duckdb_views()
where not internal and database_name = current_database() and schema_name not in ('paper', 'saved')
union
select schema_name, function_name
from duckdb_functions()
where
    not internal and database_name = current_database() and schema_name <> 'paper'
    and coalesce(comment, '') not like 'The statement of %'
order by all
