-- title: Every run, and why an analysis cannot read it
-- grain: one row per run
-- param unit, contexts, needs, usual, reads_weights, reads_largest
-- column id integer: run.id
-- column name
-- column corpus integer: corpus.id of its corpus
-- column model integer: model.id of its model
-- column is_causal boolean: whether its tokens see only those before them (model.causal)
-- column context varchar: what one input is: a sentence, a document, or a pair
-- column unit varchar: what a position is: a word or a token
-- column is_finished boolean: whether all its batches are in the bank
-- column is_whole boolean: whether it is over all inputs of its corpus, and not over as many as --limit said
-- column is_preferred boolean: whether the bank prefers it (attnbank use)
-- column is_usual boolean: whether its figures are about the usual context: any is, where that is single sentences
-- column lacks_weights boolean: whether it does not keep weights that the analysis reads
-- column unusable_because varchar: why the analysis cannot read it; null if it can
-- column not_default_because varchar: why it is read only if it is named; null if it may be the default
select
    run.id, run.name, run.corpus, run.model,
    coalesce(model.causal, false) as is_causal,
    run.context, run.unit,
    run.finished is not null as is_finished,
    run."limit" is null as is_whole,
    preferred_run.run is not null as is_preferred,
    $usual is null or $usual = 'sentence' or run.context = $usual as is_usual,
    coalesce(
        ($reads_weights or $reads_largest) and run.keep = 'peaks' or $reads_weights and not top_run.is_whole, false
    ) as lacks_weights,
    case
        when $unit is not null and run.unit <> $unit then concat('its positions are ', run.unit, 's')
        when $contexts is not null and not list_contains($contexts, run.context)
            then concat('its inputs are ', run.context, 's')
        when ($reads_weights or $reads_largest) and run.keep = 'peaks' then 'only its peaks and sums are kept'
        when $reads_weights and not top_run.is_whole
            then concat('only the ', top_run.largest, ' largest weights of each distribution are kept')
        when $needs is null or run_capability.run is not null then null
        when $needs in ('shares', 'sums') and run.measure in ('norms', 'residual-norms')
            then concat('its measure is ', run.measure, ', which are not shares')
        else missing_because($needs)
    end as unusable_because,
    case
        when $usual is not null and run.context <> $usual then concat('its inputs are ', run.context, 's')
        when run.finished is null then 'it is not finished'
        when model.random_seed is not null then 'its weights are random'
        when corpus.format = 'repeat' then 'its text is made of random tokens'
        when run.measure <> 'weights' then concat('its measure is ', run.measure)
    end as not_default_because
from run
inner join model on model.id = run.model
left join corpus on corpus.id = run.corpus
left join preferred_run on preferred_run.run = run.id
left join top_run on top_run.run = run.id
left join run_capability
    on run_capability.run = run.id
    and run_capability.capability = $needs
