-- title: The result on each word and pair of some runs, with each set of heads ablated and with none
-- grain: one row per (outcome, item, ablation, number)
-- note: the values of a pair are 1 if the good one is more probable, else 0.
-- param runs, relation, saved
-- param classification varchar = null {relation, upos, repeated, cut}: how words are classed
-- column outcome varchar: surprisal, agreement, or the name of a file of pairs
-- column cluster bigint: its document, or its sentence if the source marks no documents or the run has only one; of a
--   file the pair itself
-- column class varchar: the class of the word or pair, where it is cut also of the set; all without a classification
-- column ablation, number
-- column whole double: surprisal, or 1 or 0, by the whole model
-- column without double: the same without the heads
with classed_word as (
    select
        word.id as word,
        cluster_of(clustered_document.clusters_before, clustered_document.by_sentences, sentence.index) as cluster,
        case
            when $classification = 'relation' then coalesce(without_subtype(word.deprel), 'none')
            when $classification = 'upos' then coalesce(word.upos, 'none')
            when $classification = 'repeated' then case
                when row_number() over (partition by word.sentence, word.form order by word.index) > 1
                    then 'repeated' else 'new'
            end
            else 'all'
        end as class,
        case
            when $relation is null or $relation = 'all' then true
            when $saved is not null then word.id in (select word from saved_pair where relation = $saved)
            else without_subtype(word.deprel) = $relation or word.deprel = $relation
        end as is_selected
    from word
    inner join sentence on sentence.id = word.sentence
    inner join corpus_document(runs := $runs) as clustered_document using (document)
),

-- The words that a set keeps from attending to another one.
cut_word as (
    select distinct run, ablation, number, word
    from ablated_edge
    where list_contains($runs, run)
        and $classification = 'cut'
)

select
    'surprisal' as outcome, classed_word.cluster,
    case
        when cut_word.word is not null then 'cut'
        when $classification = 'cut' then 'kept'
        else classed_word.class
    end as class,
    ablated.ablation, ablated.number,
    surprisal.nats as whole,
    ablated.nats as without
from ablated_surprisal as ablated
inner join surprisal using (run, word)
inner join classed_word using (word)
left join cut_word using (run, ablation, number, word)
where list_contains($runs, ablated.run)
    and classed_word.is_selected
    and surprisal.nats is not null
    and ablated.nats is not null
union all
select
    scored_pair.source, scored_pair.cluster,
    case
        when $classification = 'relation' then scored_pair.paradigm
        when cut_word.word is not null then 'cut'
        when $classification = 'cut' then 'kept'
        else 'all'
    end,
    ablated.ablation, ablated.number,
    case when scored_pair.margin > 0 then cast(1 as double) else cast(0 as double) end,
    case when ablated.good_nats < ablated.bad_nats then cast(1 as double) else cast(0 as double) end
from ablated_pair as ablated
inner join pair_margin(runs := $runs) as scored_pair using (run, source, pair)
left join cut_word
    on cut_word.run = ablated.run
    and cut_word.ablation = ablated.ablation
    and cut_word.number = ablated.number
    and cut_word.word = scored_pair.word
where ablated.good_nats is not null
    and ablated.bad_nats is not null
    and (
        $relation is null
        or $relation = 'all'
        or scored_pair.paradigm = $relation
        or without_subtype(scored_pair.paradigm) = $relation
        or scored_pair.word in (select word from saved_pair where relation = $saved)
    )
