-- From format 0 to format 1: the tables and columns that came with it, filled from what the bank has. Their comments,
-- and all functions and views, are those of sql/schema, which run after this. In a causal model no word attends most
-- to a later one.

create table if not exists enhanced_dependency (
    sentence integer not null,
    dependent_index smallint not null,
    head_index smallint not null,
    relation varchar not null
);
create table if not exists preferred_run (
    run integer not null
);
create table if not exists attention_top (
    sequence integer not null,
    layer smallint not null,
    head smallint not null,
    from_position smallint not null,
    to_positions smallint[] not null,
    weights float[] not null,
    rest float not null
);
create table if not exists surprisal (
    run integer not null,
    word integer not null,
    nats double,
    nats_of_pieces double,
    words smallint not null
);
create table if not exists ablation_set (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    name varchar not null,
    control_of integer,
    replacement varchar not null check (replacement in ('zero', 'mean', 'uniform')),
    head_count smallint not null,
    chosen_by varchar not null,
    seed bigint,
    code_version varchar not null,
    libraries map(varchar, varchar) not null,
    started timestamp not null,
    finished timestamp
);
create table if not exists ablated_head (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    layer smallint not null,
    head smallint not null
);
create table if not exists ablated_surprisal (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    word integer not null,
    nats double
);
create table if not exists minimal_pair (
    run integer not null,
    source varchar not null,
    number integer not null,
    paradigm varchar not null,
    good varchar not null,
    bad varchar not null,
    word integer,
    attractors smallint,
    distance smallint,
    good_nats double,
    bad_nats double
);
create table if not exists ablated_pair (
    run integer not null,
    ablation varchar not null,
    number integer not null,
    source varchar not null,
    pair integer not null,
    good_nats double,
    bad_nats double
);
alter table sentence add column if not exists metadata map(varchar, varchar);
alter table model add column if not exists causal boolean;
alter table model add column if not exists sliding_window integer;
alter table model add column if not exists kv_heads smallint;
alter table run add column if not exists measure varchar;
alter table run add column if not exists heads smallint;

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
