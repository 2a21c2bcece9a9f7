-- Everything that a query on a bank can use: tables, views, analyses and functions, each with its comment.
select 'table' as kind, duckdb_tables.schema_name as schema, duckdb_tables.table_name as name, duckdb_tables.comment
from duckdb_tables()
where duckdb_tables.database_name = current_database()
union all
select 'view' as kind, duckdb_views.schema_name as schema, duckdb_views.view_name as name, duckdb_views.comment
from duckdb_views()
where duckdb_views.database_name = current_database()
    and not duckdb_views.internal
union all
select
    case when duckdb_functions.function_type = 'table_macro' then 'analysis' else 'function' end as kind,
    duckdb_functions.schema_name as schema,
    duckdb_functions.function_name as name,
    duckdb_functions.comment
from duckdb_functions()
where duckdb_functions.database_name = current_database()
    and not duckdb_functions.internal
    and not starts_with(duckdb_functions.function_name, '_')
order by kind, schema, name
