-- title: What models were asked of the words and pairs of a run, with all heads and without sets of them
-- grain: one row per (outcome, item, ablation, number)
-- note: of a pair the value is 1 where the good one is the more probable, else 0.
-- param runs
-- param relation
-- param classification varchar = null {relation, upos, repeated}: how words are classed
-- param saved
-- column outcome varchar: surprisal, agreement, or the name of a file of pairs
-- column cluster bigint: its document, or its sentence where the run reads one document; of a file the pair itself
-- column class varchar: the class of the word or pair; all without a classification
-- column ablation varchar: name of the ablation; null, like number, for the whole model
-- column number integer: number of the set
-- column value double: what it came to
with

asked_word as (
    select
        word.id as word,
        cast(case when placed.is_single then word.sentence else placed.number end as bigint) as cluster,
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
            when $saved is not null then word.id in (
                select saved_pair.word from saved_pair where saved_pair.relation = $saved
            )
            else without_subtype(word.deprel) = $relation or word.deprel = $relation
        end as is_asked
    from word
    inner join sentence on sentence.id = word.sentence
    inner join corpus_document(runs := $runs) as placed on placed.document = sentence.document
),

asked_pair as (
    select
        minimal_pair.run,
        minimal_pair.source,
        minimal_pair.number as pair,
        case
            when placed.number is null then cast(minimal_pair.number as bigint)
            when placed.is_single then cast(word.sentence as bigint)
            else placed.number
        end as cluster,
        case when $classification = 'relation' then minimal_pair.paradigm else 'all' end as class,
        minimal_pair.good_nats,
        minimal_pair.bad_nats
    from minimal_pair
    left join word on word.id = minimal_pair.word
    left join sentence on sentence.id = word.sentence
    left join corpus_document(runs := $runs) as placed on placed.document = sentence.document
    where list_contains($runs, minimal_pair.run)
        and (
            $relation is null
            or $relation = 'all'
            or minimal_pair.paradigm = $relation
            or without_subtype(minimal_pair.paradigm) = $relation
            or word.id in (select saved_pair.word from saved_pair where saved_pair.relation = $saved)
        )
)

select
    'surprisal' as outcome,
    asked_word.cluster,
    asked_word.class,
    cast(null as varchar) as ablation,
    cast(null as integer) as number,
    surprisal.nats as value
from surprisal
inner join asked_word on asked_word.word = surprisal.word
where list_contains($runs, surprisal.run)
    and asked_word.is_asked
    and surprisal.nats is not null
union all
select 'surprisal', asked_word.cluster, asked_word.class, ablated.ablation, ablated.number, ablated.nats
from ablated_surprisal as ablated
inner join asked_word on asked_word.word = ablated.word
where list_contains($runs, ablated.run)
    and asked_word.is_asked
    and ablated.nats is not null
union all
select
    asked_pair.source,
    asked_pair.cluster,
    asked_pair.class,
    null,
    null,
    case when asked_pair.good_nats < asked_pair.bad_nats then cast(1 as double) else cast(0 as double) end
from asked_pair
where asked_pair.good_nats is not null
    and asked_pair.bad_nats is not null
union all
select
    asked_pair.source,
    asked_pair.cluster,
    asked_pair.class,
    ablated.ablation,
    ablated.number,
    case when ablated.good_nats < ablated.bad_nats then cast(1 as double) else cast(0 as double) end
from ablated_pair as ablated
inner join asked_pair
    on asked_pair.run = ablated.run
    and asked_pair.source = ablated.source
    and asked_pair.pair = ablated.pair
where ablated.good_nats is not null
    and ablated.bad_nats is not null
