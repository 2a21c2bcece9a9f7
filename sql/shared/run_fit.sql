-- title: Every run, and why an analysis does not read it
-- grain: one row per run
-- param unit, contexts, needs, equipped, usual, reads_weights, reads_largest
-- column id integer: run.id
-- column name
-- column corpus integer: corpus.id of its corpus
-- column model integer: model.id of its model
-- column context varchar: what one input is: a sentence, a document, or a pair
-- column unit varchar: what a position is: a word or a token
-- column is_finished boolean: whether all its batches are in the bank
-- column is_whole boolean: whether it is over all inputs of its corpus, and not over as many as --limit said
-- column is_preferred boolean: whether the bank prefers it (attnbank use)
-- column misfit varchar: why the analysis cannot read it; null if it can
-- column reserve varchar: why it is read only if it is named; null if it may be chosen without that
select
    run.id,
    run.name,
    run.corpus,
    run.model,
    run.context,
    run.unit,
    run.finished is not null as is_finished,
    map_extract_value(run.options, 'limit') is null as is_whole,
    preferred_run.run is not null as is_preferred,
    case
        when $unit is not null and run.unit <> $unit then concat('its positions are ', run.unit, 's')
        when $contexts is not null and not list_contains($contexts, run.context)
            then concat('its inputs are ', run.context, 's')
        when ($reads_weights or $reads_largest) and run.keep = 'peaks' then 'only its peaks and sums are kept'
        when $reads_weights and not top_run.is_whole
            then concat('only the ', top_run.largest, ' largest weights of each distribution are kept')
        when $needs is null or list_contains($equipped, run.id) then null
        when $needs = 'trees' then 'its corpus has no dependency trees'
        when $needs = 'mentions' then 'its corpus has no mentions'
        when $needs = 'gradients' then 'it was ingested without --gradients'
        when $needs = 'losses' then 'it was ingested without --ablate'
        when $needs = 'surprisals' then 'its words have no surprisal'
        when $needs = 'ablations' then 'it has no finished ablation'
        when $needs = 'ensembles' then 'it has no ensembles of heads'
        when $needs = 'decoded_trees' then 'no trees were decoded from it'
        when $needs = 'constituents' then 'its corpus has no bracketed trees'
        when $needs = 'spans' then 'no phrases were decoded from it'
        when $needs = 'series' then 'its model is not known to be a checkpoint of a training'
        when $needs in ('shares', 'sums') and run.measure in ('norms', 'residual-norms')
            then concat('its measure is ', run.measure, ', which are not shares')
        when $needs = 'sums' then 'the heads of its model have sinks, so that attention does not sum to 1'
        else concat('it has no ', $needs)
    end as misfit,
    case
        when $usual is not null and run.context <> $usual then concat('its inputs are ', run.context, 's')
        when run.finished is null then 'it is not finished'
        when model.random_seed is not null then 'its weights are random'
        when corpus.format = 'repeat' then 'its text is made of random tokens'
        when run.measure <> 'weights' then concat('its measure is ', run.measure)
    end as reserve
from run
inner join model on model.id = run.model
left join corpus on corpus.id = run.corpus
left join preferred_run on preferred_run.run = run.id
left join top_run on top_run.run = run.id
