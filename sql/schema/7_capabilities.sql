-- What an analysis may need besides attention, which runs have it, and what to type for a run that has it; and whether a
-- relation was saved, and from a request about attention.

create or replace view run_capability as
select run.id as run, annotation.capability
from run
inner join (
    select document.corpus, 'trees' as capability
    from document
    inner join sentence on sentence.document = document.id
    inner join word on word.sentence = sentence.id
    where word.head_index is not null
    union
    select document.corpus, 'mentions' as capability
    from document
    inner join mention on mention.document = document.id
    union
    select document.corpus, 'constituents' as capability
    from document
    inner join sentence on sentence.document = document.id
    inner join constituent on constituent.sentence = sentence.id
) as annotation using (corpus)
union all
select run, capability
from (
    select sequence.run, 'gradients' as capability
    from gradient
    inner join sequence on sequence.id = gradient.sequence
    union
    select run, 'losses' as capability from ablation
    union
    -- They are measured after the pass: a run that is interrupted before has none yet.
    select id as run, 'gradients' as capability
    from run
    where finished is null
        and gradients
    union
    select id as run, 'losses' as capability
    from run
    where finished is null
        and ablate is not null
) as masked_measurement
union all
select distinct run, 'surprisals' as capability from surprisal
union all
select distinct run, 'ablations' as capability
from ablation_set
where finished is not null
union all
select distinct run, 'pairs' as capability from minimal_pair
union all
select distinct run, 'ensembles' as capability from tree_ensemble
union all
select distinct run, 'decoded_trees' as capability from attention_tree
union all
select distinct run, 'spans' as capability from attention_span
union all
select run.id as run, 'series' as capability
from run
inner join model on model.id = run.model
where model.series is not null
    and model.step is not null
union all
select id as run, 'shares' as capability
from run
where coalesce(measure, 'weights') not in ('norms', 'residual-norms')
union all
select run.id as run, 'sums' as capability
from run
inner join model on model.id = run.model
where coalesce(run.measure, 'weights') not in ('norms', 'residual-norms')
    and not coalesce(model.sinks, false);
comment on view run_capability is 'What each run has besides attention: one row per run and capability.';
comment on column run_capability.run is 'run.id of the run.';
comment on column run_capability.capability is 'What it has: trees, mentions, constituents, gradients, losses, surprisals, ablations, pairs, ensembles, decoded_trees, spans, series (its model is a checkpoint of a training), shares (its maps are not norms) or sums (rows of attention sum to 1).';

create or replace macro missing_because(capability) as
case capability
    when 'trees' then 'its corpus has no dependency trees'
    when 'mentions' then 'its corpus has no mentions'
    when 'constituents' then 'its corpus has no bracketed trees'
    when 'gradients' then 'it was ingested without --gradients'
    when 'losses' then 'it was ingested without --ablate'
    when 'surprisals' then 'its words have no surprisal'
    when 'ablations' then 'it has no finished ablation'
    when 'pairs' then 'it has no minimal pairs'
    when 'ensembles' then 'it has no ensembles of heads'
    when 'decoded_trees' then 'no trees were decoded from it'
    when 'spans' then 'no phrases were decoded from it'
    when 'series' then 'its model is not known to be a checkpoint of a training'
    when 'shares' then 'its measure gives no shares of attention'
    when 'sums' then 'the heads of its model have sinks, so that attention does not sum to 1'
    else concat('there is no capability ', capability)
end;
comment on macro missing_because is 'Why a run that lacks a capability cannot be read by an analysis that needs it.';

create or replace macro how_to_make(capability, input_context, has_runs, lacks_weights) as
case
    when has_runs and capability = 'surprisals' then 'surprisal RUN'
    when has_runs and capability = 'ablations' then 'ablate NAME --heads LAYER-HEAD'
    when has_runs and capability = 'pairs' then 'surprisal RUN --agreement'
    when has_runs and capability = 'ensembles' then 'compute tree_ensemble --run RUN'
    when has_runs and capability = 'decoded_trees' then 'compute attention_tree --run RUN'
    when has_runs and capability = 'spans' then 'compute attention_span --run RUN'
    else concat(
        'ingest CORPUS',
        case capability
            when 'gradients' then ' --context pair --unit token --gradients'
            when 'losses' then ' --context pair --unit token --ablate heads'
            when 'series' then ' --model FOLDER --series ''step*'''
            when 'shares' then ' --measure weights'
            when 'sums' then ' --model MODEL'
            else ''
        end,
        case when input_context <> 'sentence' then concat(' --context ', input_context) else '' end,
        case when lacks_weights then ' --keep weights' else '' end,
        case capability
            when 'trees' then ' (with trees: CoNLL-U, or text with --spacy PIPELINE)'
            when 'mentions' then ' (with coreference: CoNLL-U with Entity, or CoNLL-2012)'
            when 'constituents' then ' (with bracketed trees: CoNLL-2012)'
            when 'sums' then ' (without attention sinks)'
            else ''
        end
    )
end;
comment on macro how_to_make is 'The command of attnbank that makes a run with a capability (null for any run) and inputs of a context, or adds it to a run. Without runs it is an ingest; lacks_weights: a run does not keep weights that are needed.';

-- A run may have the id of another one as its name: the name counts, so that no other run answers in its place.
create or replace macro is_run_named(run_id, run_name, requested) as (
    run_name = requested
    or (cast(run_id as varchar) = requested and (select count(*) from run where name = requested) = 0)
);
comment on macro is_run_named is 'Whether a run, given by its id and its name, is the one that is requested by name or, if no run has that name, by id.';

create or replace macro saved_relation_name(requested_relation) as (
    select max(relation) from saved_pair where relation = requested_relation
);
comment on macro saved_relation_name is 'The name that is requested, if a saved relation has that name; else null.';

-- A relation that was saved from a request about attention, A =[3-1]=> B, is what heads attend to: they have no p value.
create or replace macro is_circular(requested_relation) as (
    select count(*) > 0
    from saved_relation
    where name = requested_relation
        and is_circular
);
comment on macro is_circular is 'Whether a relation was saved from a request about attention, so that it says nothing to test heads on it.';
