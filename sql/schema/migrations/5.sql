-- From format 4 to format 5. Runs of before kept every weight. The sums of their attention maps, table attention_map, are
-- computed when the functions of this version are there: internal/attention_maps.sql.

alter table if exists run add column if not exists keep varchar;

update run set keep = 'weights'
where run.keep is null;
