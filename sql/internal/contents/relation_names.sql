-- Everything that a query on a bank can use: tables, views, analyses and functions, each with its comment.
select 'table' as kind, schema_name as schema, table_name as name, comment
from duckdb_tables()
where database_name = current_database()
union all
select 'view' as kind, schema_name as schema, view_name as name, comment
from duckdb_views()
where database_name = current_database()
    and not internal
union all
select
    case when function_type = 'table_macro' then 'analysis' else 'function' end as kind,
    schema_name as schema,
    function_name as name,
    comment
from duckdb_functions()
where database_name = current_database()
    and not internal
    and not starts_with(function_name, '_')
order by kind, schema, name
