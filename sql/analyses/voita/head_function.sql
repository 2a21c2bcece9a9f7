-- title: Head functions: confidence, and whether a head attends to an offset, a relation or the rarest word
-- paper: Voita et al. 2019, sections 4 and 5 (confidence, positional, syntactic and rare-word heads)
-- grain: one row per (layer, head)
-- formula: to(i) = argmax_{j ∉ SEP} α(i, j), for every position i ∉ SEP
-- formula: confidence = mean over inputs and positions of α(i, to(i))
-- formula: positional = max_k |{i : to(i) − i = k}| / |{i}|; offset is that k
-- formula: syntactic = {r : max(share of to(dependent) = head, share of to(head) = dependent) ≥ max_k P_r(head −
--   dependent = k) + margin}, over the dependents of relation r
-- formula: of a causal model, syntactic is over the dependents whose head the direction can find: to the left for
--   to(dependent), to the right for to(head), and so is the offset; rare_word_chance weighs a position by how many see
--   it
-- formula: rare_word = share of the inputs s with argmax_j |{i : to(i) = j}| ∈ R(s); rare_word_maxima = |{i : to(i)
--   ∈ R(s)}| / |{i}|; rare_word_chance = mean over inputs of |R(s)| / (number of positions ∉ SEP), where R(s) are
--   the positions of the rarest word
-- run: needs=shares favours=sentence/word
-- plot: grid color=confidence,positional,rare_word text=syntactic domain=0,1
-- note: every position except [SEP] has a maximum: the position, again except [SEP], that it attends to most. [SEP]
--   stands for their end of the sentence; [CLS], which their models do not have, counts like a word, and so does the
--   first word of a causal model. Ties go to the leftmost.
-- note: positional: of all maxima, the share at the commonest offset (the nearest, then the left one, of equals).
--   They call a head positional from 0.9.
-- note: syntactic: relations that the head finds, in either direction, in at least margin more of the cases (0.1: ten
--   of a hundred more) than the relation's commonest offset. From the dependent it finds one where the dependent's
--   maximum is on the head; from the head, where the head's maximum is on the dependent. These are the same maxima as
--   above, so a word that attends most to itself or to [CLS] finds none; head_accuracy leaves both out, and for the
--   second direction takes the word that attends to the dependent most. Punctuation is left out. Null where there is
--   none, as in every run without words that have trees.
-- note: Voita et al. ask for accuracy at least 10 % higher than the offset's; whether they mean a tenth of it, or ten
--   of a hundred cases, they do not say.
-- note: rare_word: inputs in which more maxima fall on the rarest word than on any other position (the leftmost, of
--   equals). Words as rare as the rarest count as well, so compare with rare_word_chance. Frequencies are those of
--   table word_frequency, where it has rows, else of the corpus itself; a word without one has frequency 0. Words
--   that share a position (du for de and le) are one word here. They leave out sentences whose rarest token is among
--   the 500 most frequent; here none is.
-- note: positional and offset are words of SQL: write "positional" and "offset", or qualify them.
-- param margin double = 0.1: accuracy above the commonest offset from which a head is syntactic for a relation
-- param min_count
-- column layer, head
-- column confidence double: mean of the largest weight of a position
-- column positional double: share of maxima at the commonest offset
-- column offset integer: that offset: 1 is the next position
-- column syntactic varchar: relations that it finds better than their commonest offset, separated by commas; null for
--   none
-- column rare_word double: share of inputs whose commonest maximum is the rarest word; null where none has words
-- column rare_word_maxima double: share of all maxima that are on the rarest word of their input
-- column rare_word_chance double: share of the rarest word among the positions, a mean over inputs
-- column positions bigint: positions whose maxima are counted
-- column sequences bigint: inputs that rare_word is over
-- column run
with

tree_run as (
    select candidate.name
    from run_candidate(unit := 'word', needs := 'trees') as candidate
    inner join chosen_run on chosen_run.id = candidate.id
    where candidate.unusable_because is null
),

input as materialized (
    select position.sequence, sum(case when position.kind <> 'sep' then 1 else 0 end) as places
    from position
    inner join sequence on sequence.id = position.sequence
    inner join chosen_run on chosen_run.id = sequence.run
    group by position.sequence
    having max(case when position.kind <> 'sep' then 1 else 0 end) = 1
),

map_position as (
    select
        attention_map.sequence,
        attention_map.layer,
        attention_map.head,
        attention_map.largest_positions,
        attention_map.largest_weights,
        unnest(range(0, cast(len(attention_map.largest_positions) as integer))) as from_position
    from attention_map
    inner join input on input.sequence = attention_map.sequence
),

maximum as materialized (
    select
        map_position.sequence,
        map_position.layer,
        map_position.head,
        cast(map_position.from_position as smallint) as from_position,
        cast(list_extract(map_position.largest_positions, map_position.from_position + 1) as smallint) as to_position,
        list_extract(map_position.largest_weights, map_position.from_position + 1) as weight
    from map_position
    where list_extract(map_position.largest_positions, map_position.from_position + 1) is not null
),

offset_count as (
    select
        maximum.layer,
        maximum.head,
        cast(maximum.to_position as integer) - maximum.from_position as distance,
        sum(cast(maximum.weight as double)) as weight,
        count(*) as n
    from maximum
    group by maximum.layer, maximum.head, cast(maximum.to_position as integer) - maximum.from_position
),

per_head as (
    select
        offset_count.layer,
        offset_count.head,
        sum(offset_count.weight) / cast(sum(offset_count.n) as double) as confidence,
        ratio(max(offset_count.n), sum(offset_count.n)) as positional,
        arg_max(
            offset_count.distance, (offset_count.n, -abs(offset_count.distance), -offset_count.distance)
        ) as "offset",
        cast(sum(offset_count.n) as bigint) as positions
    from offset_count
    group by offset_count.layer, offset_count.head
),

dependency as (
    select gold.sequence, gold.position as dependent, gold.head_position, gold.relation, gold.side
    from gold_dependency(run := coalesce((select tree_run.name from tree_run), '')) as gold
    where not gold.is_root
        and gold.relation <> 'punct'
        and gold.relation <> 'p'
),

relation_at_offset as (
    select
        dependency.relation,
        dependency.side,
        dependency.head_position - dependency.dependent as distance,
        count(*) as n
    from dependency
    where dependency.side is not null
    group by dependency.relation, dependency.side, dependency.head_position - dependency.dependent
),

relation_baseline as (
    select
        relation_at_offset.relation,
        relation_at_offset.side,
        ratio(
            max(case when relation_at_offset.distance is null then 0 else relation_at_offset.n end),
            sum(relation_at_offset.n)
        ) as accuracy,
        sum(relation_at_offset.n) as n
    from relation_at_offset
    group by relation_at_offset.relation, relation_at_offset.side
),

gold_maximum as (
    select
        dependency.sequence,
        in_direction(
            scored_direction.direction, dependency.side, dependency.dependent, dependency.head_position
        ) as from_position,
        in_direction(
            scored_direction.direction, dependency.side, dependency.head_position, dependency.dependent
        ) as to_position,
        dependency.relation,
        dependency.side,
        dense_rank() over (order by dependency.relation, scored_direction.direction) as number
    from dependency
    inner join (select unnest(directions()) as direction) as scored_direction
        on applies_to_side(scored_direction.direction, dependency.side)
        and scored_direction.direction <> 'later_to_earlier'
),

-- By number, since names take several times as long to group.
relation_hit as (
    select
        maximum.layer,
        maximum.head,
        gold_maximum.number,
        count(*) filter (where maximum.to_position = gold_maximum.to_position) as correct
    from maximum
    inner join gold_maximum
        on gold_maximum.sequence = maximum.sequence
        and gold_maximum.from_position = maximum.from_position
    group by maximum.layer, maximum.head, gold_maximum.number
),

syntactic as (
    select
        relation_hit.layer,
        relation_hit.head,
        joined(list_sort(list(distinct numbered_relation.relation))) as relations
    from relation_hit
    inner join (
        select distinct gold_maximum.number, gold_maximum.relation, gold_maximum.side from gold_maximum
    ) as numbered_relation
        on numbered_relation.number = relation_hit.number
    inner join relation_baseline
        on relation_baseline.relation = numbered_relation.relation
        and relation_baseline.side = numbered_relation.side
    where ratio(relation_hit.correct, relation_baseline.n) >= relation_baseline.accuracy + $margin
        and relation_baseline.n >= $min_count
    group by relation_hit.layer, relation_hit.head
),

loaded_frequency as (
    select lower(word_frequency.form) as form, sum(word_frequency.frequency) as frequency
    from word_frequency
    group by lower(word_frequency.form)
),

-- Multiword tokens that the run reads as written: each is a form of its own, and its words are none.
whole_token as (
    select token.sentence, token.token_start, token.form
    from multiword_token as token
    inner join sentence on sentence.id = token.sentence
    inner join document on document.id = sentence.document
    inner join chosen_run on chosen_run.corpus = document.corpus
    inner join run on run.id = chosen_run.id
    where not token.is_spelled
        and run.multiword = 'written'
),

-- Words that a piece of the tokenizer joins (--edges share).
shared_position as (
    select position.sequence, position.position, position.text
    from position
    inner join input on input.sequence = position.sequence
    inner join word on word.id = position.word
    left join whole_token
        on whole_token.sentence = word.sentence
        and whole_token.token_start = word.token_start
        and whole_token.form = position.text
    where position.kind = 'word'
        and position.last_word is not null
        and whole_token.form is null
),

text_form as (
    select lower(word.form) as form
    from word
    inner join sentence on sentence.id = word.sentence
    inner join document on document.id = sentence.document
    inner join chosen_run on chosen_run.corpus = document.corpus
    left join whole_token
        on whole_token.sentence = word.sentence
        and whole_token.token_start = word.token_start
    where whole_token.form is null
        and word.id not in (
            select word_position.word
            from shared_position
            inner join word_position
                on word_position.sequence = shared_position.sequence
                and word_position.position = shared_position.position
        )
    union all
    select lower(whole_token.form) as form
    from whole_token
    union all
    select lower(shared_position.text) as form
    from shared_position
),

frequency as (
    select loaded_frequency.form, loaded_frequency.frequency
    from loaded_frequency
    union all
    select text_form.form, cast(count(*) as double) as frequency
    from text_form
    where not exists (select 1 from loaded_frequency)
    group by text_form.form
),

position_frequency as (
    select position.sequence, position.position, coalesce(frequency.frequency, cast(0 as double)) as frequency
    from position
    inner join input on input.sequence = position.sequence
    inner join word on word.id = position.word
    left join frequency
        on frequency.form = lower(
            case
                when position.last_word is null then word.form
                when position.kind = 'word' then position.text
                else coalesce(word.surface, word.form)
            end
        )
),

rarest_position as (
    select position_frequency.sequence, position_frequency.position
    from position_frequency
    qualify rank() over (partition by position_frequency.sequence order by position_frequency.frequency) = 1
),

maximum_count as (
    select maximum.sequence, maximum.layer, maximum.head, maximum.to_position, count(*) as n
    from maximum
    group by maximum.sequence, maximum.layer, maximum.head, maximum.to_position
),

input_maximum as (
    select
        maximum_count.sequence,
        maximum_count.layer,
        maximum_count.head,
        arg_max(
            case when rarest_position.position is null then 0 else 1 end,
            (maximum_count.n, -maximum_count.to_position)
        ) as is_on_rarest,
        sum(case when rarest_position.position is null then 0 else maximum_count.n end) as on_rarest,
        sum(maximum_count.n) as n
    from maximum_count
    left join rarest_position
        on rarest_position.sequence = maximum_count.sequence
        and rarest_position.position = maximum_count.to_position
    where maximum_count.sequence in (select rarest_position.sequence from rarest_position)
    group by maximum_count.sequence, maximum_count.layer, maximum_count.head
),

rare_word as (
    select
        input_maximum.layer,
        input_maximum.head,
        avg(cast(input_maximum.is_on_rarest as double)) as rare_word,
        ratio(sum(input_maximum.on_rarest), sum(input_maximum.n)) as maxima,
        count(*) as sequences
    from input_maximum
    group by input_maximum.layer, input_maximum.head
),

-- Of a causal model, a position has a share of the maxima of those that see it.
visible_rarest as (
    select rarest_position.sequence, chosen_run.is_causal, count(position.position) as before
    from rarest_position
    cross join chosen_run
    left join position
        on position.sequence = rarest_position.sequence
        and position.position < rarest_position.position
        and position.kind <> 'sep'
        and chosen_run.is_causal
    group by rarest_position.sequence, rarest_position.position, chosen_run.is_causal
),

rarest_chance as (
    select
        visible_rarest.sequence,
        sum(
            case
                when visible_rarest.is_causal then harmonic(input.places) - harmonic(visible_rarest.before)
                else cast(1 as double)
            end
        ) as n
    from visible_rarest
    inner join input on input.sequence = visible_rarest.sequence
    group by visible_rarest.sequence
),

chance as (
    select avg(ratio(rarest_chance.n, input.places)) as chance
    from rarest_chance
    inner join input on input.sequence = rarest_chance.sequence
)

select
    per_head.layer,
    per_head.head,
    per_head.confidence,
    per_head.positional,
    per_head."offset",
    syntactic.relations as syntactic,
    rare_word.rare_word,
    rare_word.maxima as rare_word_maxima,
    chance.chance as rare_word_chance,
    per_head.positions,
    coalesce(rare_word.sequences, 0) as sequences,
    (select chosen_run.name from chosen_run) as run
from per_head
cross join chance
left join syntactic
    on syntactic.layer = per_head.layer
    and syntactic.head = per_head.head
left join rare_word
    on rare_word.layer = per_head.layer
    and rare_word.head = per_head.head
order by per_head.layer, per_head.head
