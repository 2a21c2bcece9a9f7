-- From format 0 to format 1: the columns that came with it, filled from what the bank has. Tables that it lacks are
--   made
-- from sql/schema before this, and comments, functions and views after it. In a causal model no word attends most to a
-- later one.

alter table corpus add column if not exists licence varchar;
alter table corpus add column if not exists citation varchar;
alter table document add column if not exists marked boolean;
alter table sentence add column if not exists metadata map(varchar, varchar);
alter table model add column if not exists causal boolean;
alter table model add column if not exists sliding_window integer;
alter table model add column if not exists kv_heads smallint;
alter table run add column if not exists measure varchar;
alter table run add column if not exists heads smallint;

-- A document that no mark began has the name of its file, without what follows the last dot.
update document
set marked = name <> regexp_replace(regexp_replace(coalesce(file, ''), '^.*[/\\]', ''), '\.[^.]*$', '')
where marked is null;

update model
set causal = found.is_causal
from (
    select
        run.model,
        count(*) filter (where peak.most_attended > peak.position) = 0 as is_causal
    from run
    inner join sequence on sequence.run = run.id
    inner join peak on peak.sequence = sequence.id
    where peak.most_attended is not null
    group by run.model
) as found
where found.model = model.id
    and model.causal is null;

update run
set measure = 'weights', heads = model.heads
from model
where model.id = run.model
    and run.measure is null;
