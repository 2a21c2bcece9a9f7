-- What an analysis may need besides attention, which runs have it, and what to type for a run that has it; and whether a
-- relation was saved, and from a request about attention.

create or replace view run_capability as
select run.id as run, 'trees' as capability
from run
where run.corpus in (
    select document.corpus
    from document
    inner join sentence on sentence.document = document.id
    inner join word on word.sentence = sentence.id
    where word.head_index is not null
)
union all
select run.id as run, 'mentions' as capability
from run
where run.corpus in (
    select document.corpus
    from document
    inner join mention on mention.document = document.id
)
union all
select run.id as run, 'constituents' as capability
from run
where run.corpus in (
    select document.corpus
    from document
    inner join sentence on sentence.document = document.id
    inner join constituent on constituent.sentence = sentence.id
)
union all
select distinct sequence.run, 'gradients' as capability
from gradient
inner join sequence on sequence.id = gradient.sequence
union all
select distinct ablation.run, 'losses' as capability
from ablation
union all
select distinct surprisal.run, 'surprisals' as capability
from surprisal
union all
select distinct ablation_set.run, 'ablations' as capability
from ablation_set
where ablation_set.finished is not null
union all
select distinct minimal_pair.run, 'pairs' as capability
from minimal_pair
union all
select distinct tree_ensemble.run, 'ensembles' as capability
from tree_ensemble
union all
select distinct attention_tree.run, 'decoded_trees' as capability
from attention_tree
union all
select distinct attention_span.run, 'spans' as capability
from attention_span
union all
select run.id as run, 'series' as capability
from run
inner join model on model.id = run.model
where model.series is not null
    and model.step is not null
union all
select run.id as run, 'shares' as capability
from run
where coalesce(run.measure, 'weights') not in ('norms', 'residual-norms')
union all
select run.id as run, 'sums' as capability
from run
inner join model on model.id = run.model
where coalesce(run.measure, 'weights') not in ('norms', 'residual-norms')
    and not coalesce(model.sinks, false);
comment on view run_capability is 'What each run has besides attention: one row per run and capability.';
comment on column run_capability.run is 'run.id of the run.';
comment on column run_capability.capability is 'What it has: trees, mentions, gradients, ... (see capability.name).';

create or replace view capability as
select listed.name, listed.unusable_because, listed.command, listed.note
from (
    values
    (
        'trees', 'its corpus has no dependency trees', 'ingest CORPUS',
        'with trees: CoNLL-U, or text with --spacy PIPELINE'
    ),
    ('mentions', 'its corpus has no mentions', 'ingest CORPUS', 'with coreference: CoNLL-U with Entity, or CoNLL-2012'),
    ('constituents', 'its corpus has no bracketed trees', 'ingest CORPUS', 'with bracketed trees: CoNLL-2012'),
    ('gradients', 'it was ingested without --gradients', 'ingest CORPUS --context pair --unit token --gradients', ''),
    ('losses', 'it was ingested without --ablate', 'ingest CORPUS --context pair --unit token --ablate heads', ''),
    ('surprisals', 'its words have no surprisal', 'surprisal RUN', ''),
    ('ablations', 'it has no finished ablation', 'ablate NAME --heads LAYER-HEAD', ''),
    ('pairs', 'it has no minimal pairs', 'surprisal RUN --agreement', ''),
    ('ensembles', 'it has no ensembles of heads', 'compute tree_ensemble --run RUN', ''),
    ('decoded_trees', 'no trees were decoded from it', 'compute attention_tree --run RUN', ''),
    ('spans', 'no phrases were decoded from it', 'compute attention_span --run RUN', ''),
    (
        'series', 'its model is not known to be a checkpoint of a training',
        'ingest CORPUS --model FOLDER --series ''step*''', ''
    ),
    ('shares', 'its measure gives no shares of attention', 'ingest CORPUS --measure weights', ''),
    (
        'sums', 'the heads of its model have sinks, so that attention does not sum to 1',
        'ingest CORPUS --model MODEL', 'without attention sinks'
    )
) as listed(name, unusable_because, command, note);
comment on view capability is 'What an analysis may need of a run besides attention: one row per capability.';
comment on column capability.name is 'Its name, as the header line of an analysis says it (-- run: needs=trees).';
comment on column capability.unusable_because is 'Why an analysis that needs it cannot read a run without it.';
comment on column capability.command is 'The command of attnbank that makes a run with it, or adds it to the run RUN.';
comment on column capability.note is 'What CORPUS or MODEL must be; may be empty.';

create or replace macro how_to_make(wanted, input_context, has_runs, lacks_weights) as (
    select
        concat(
            made.command,
            case
                when made.is_ingest and input_context <> 'sentence' then concat(' --context ', input_context)
                else ''
            end,
            case when made.is_ingest and lacks_weights then ' --keep weights' else '' end,
            case when made.note <> '' then concat(' (', made.note, ')') else '' end
        )
    from (
        select
            coalesce(max(capability.command), 'ingest CORPUS') as command,
            coalesce(max(capability.command), 'ingest CORPUS') like 'ingest%' as is_ingest,
            coalesce(max(capability.note), '') as note
        from capability
        where capability.name = wanted
            and (has_runs or capability.command like 'ingest%')
    ) as made
);
comment on macro how_to_make is 'The command of attnbank that makes a run with a capability (null for any run) and inputs of a context. Without runs it is an ingest; lacks_weights says that a run did not keep the weights.';

create or replace macro saved_relation_name(requested_relation) as (
    select max(saved_pair.relation) from saved_pair where saved_pair.relation = requested_relation
);
comment on macro saved_relation_name is 'The name that is requested, if a saved relation has that name; else null.';

-- A relation that was saved from a request about attention, A =[3-1]=> B, is what heads attend to: they have no p value.
create or replace macro is_circular(requested_relation) as (
    select count(*) > 0
    from saved_relation
    where saved_relation.name = requested_relation
        and saved_relation.is_circular
);
comment on macro is_circular is 'Whether a relation was saved from a request about attention, so that it says nothing to test heads on it.';
