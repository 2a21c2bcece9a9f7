-- What heads attend to from the words of some sentences, as far as a line of words shows it: where the peaks are, and
-- the weights between words of the sentence that are 0.1 or more, a peak of an example's dependent, or between it and
-- its gold head. $examples has the sentence, the layer, the head, and the index of both words of each example.
with example as (
    select
        list_extract(entry, 1) as sentence,
        cast(list_extract(entry, 2) as smallint) as layer,
        cast(list_extract(entry, 3) as smallint) as head,
        list_extract(entry, 4) as dependent,
        list_extract(entry, 5) as gold
    from (select unnest($examples) as entry) as item
),

sentence_word as (
    select word.sentence, word.index, place.sequence, place.position
    from word
    inner join word_position as place on place.word = word.id
    inner join sequence on sequence.id = place.sequence
    where sequence.run = $run
        and word.sentence in (select sentence from example)
),

-- Of several words at one position one.
sentence_position as (
    select distinct sentence, sequence, position
    from sentence_word
),

wanted_peak as materialized (
    select example.sentence, peak.*
    from (select distinct sentence, layer, head from example) as example
    inner join sentence_position using (sentence)
    inner join peak using (sequence, position, layer, head)
),

example_pair as (
    select distinct
        example.sentence, example.layer, example.head, dependent.position,
        gold.position as gold_position
    from example
    inner join sentence_word as dependent
        on dependent.sentence = example.sentence
        and dependent.index = example.dependent
    inner join sentence_word as gold
        on gold.sentence = example.sentence
        and gold.index = example.gold
),

peak_weight as (
    select
        sentence, layer, head, position,
        position as from_position,
        most_attended as to_position,
        most_attended_weight as weight
    from wanted_peak
    union all
    select
        sentence, layer, head, position,
        most_attending as from_position,
        position as to_position,
        most_attending_weight as weight
    from wanted_peak
),

map_weight as (
    select
        wanted_peak.sentence, wanted_peak.layer, wanted_peak.head,
        wanted_peak.position as from_position,
        other.position as to_position,
        list_extract(distribution.weights, other.position + 1) as weight
    from wanted_peak
    inner join distribution
        on distribution.sequence = wanted_peak.sequence
        and distribution.layer = wanted_peak.layer
        and distribution.head = wanted_peak.head
        and distribution.from_position = wanted_peak.position
    inner join sentence_position as other
        on other.sentence = wanted_peak.sentence
        and other.sequence = wanted_peak.sequence
),

shown_weight as (
    select peak_weight.sentence, peak_weight.layer, peak_weight.head, from_position, to_position, weight
    from peak_weight
    left join example_pair using (sentence, layer, head, position)
    where weight >= 0.1
        or example_pair.position is not null
    union
    select map_weight.sentence, map_weight.layer, map_weight.head, from_position, to_position, weight
    from map_weight
    left join example_pair
        on example_pair.sentence = map_weight.sentence
        and example_pair.layer = map_weight.layer
        and example_pair.head = map_weight.head
        and least(example_pair.position, example_pair.gold_position)
            = least(map_weight.from_position, map_weight.to_position)
        and greatest(example_pair.position, example_pair.gold_position)
            = greatest(map_weight.from_position, map_weight.to_position)
    where weight >= 0.1
        or example_pair.position is not null
),

line as (
    select
        sentence, layer, head,
        from_position as position,
        list([to_position, round(cast(weight as double), 5)] order by to_position) as weights
    from shown_weight
    where from_position is not null
        and to_position is not null
        and weight is not null
    group by all
)

select
    wanted_peak.layer, wanted_peak.head, wanted_peak.sentence, wanted_peak.position, wanted_peak.most_attended,
    wanted_peak.most_attending, line.weights
from wanted_peak
left join line using (sentence, layer, head, position)
order by layer, head, sentence, position
