-- title: The attention patterns of each head: vertical, diagonal, vertical + diagonal, block or heterogeneous
-- paper: Kovaleva et al. 2019, section 4.1 (BERT's self-attention patterns)
-- grain: one row per (layer, head)
-- formula: vertical_mass = mean over inputs of 1/n Σ_i Σ_{j ∈ CLS ∪ SEP ∪ F} α(i, j), where F is a first word that is
--   set apart (run.first_word)
-- formula: diagonal_mass = mean over inputs of 1/n Σ_i Σ_{j ∈ W, |i − j| ≤ 1} α(i, j); without j = i if not itself
-- formula: blockness = mean over inputs of (b − e) / (1 − e), with b = Σ_{i,j in the same segment} α(i, j) / Σ_{i,j ∈
--   W} α(i, j) and e = (n_A² + n_B²) / (n_A + n_B)²
-- formula: W are the positions of words (tokens); n_A and n_B of them are in the first and in the second segment
-- run: needs=shares favours=pair/token
-- plot: grid color=pattern
-- note: Kovaleva et al. labelled 400 maps by hand and trained a classifier on them; the rules here are our own, with
--   thresholds as parameters. A map is the first that applies of: vertical_diagonal (mass on special tokens and on the
--   diagonal, each over min_both), vertical (on special tokens, over min_vertical), diagonal (over min_diagonal), block
--   (blockness over min_block), heterogeneous.
-- note: blockness is 0 for uniform attention, and 1 if all weight between words stays in its segment. It needs inputs
--   of two segments (ingest --context pair); others are never blocks.
-- param min_vertical double = 0.5: mass on special tokens from which a map is vertical
-- param min_diagonal double = 0.5: mass on the diagonal from which a map is diagonal
-- param min_both double = 0.25: mass on each of them from which a map is vertical and diagonal
-- param min_block double = 0.5: blockness from which a map is made of blocks
-- param itself boolean = true: whether the main diagonal (a word itself) is part of the diagonal
-- column layer, head
-- column vertical double: share of maps that are vertical; null, as vertical_diagonal, if no input has special tokens
-- column diagonal double: share that are diagonal
-- column vertical_diagonal double: share that are both
-- column block double: share that are made of blocks
-- column heterogeneous double: share that are none of these
-- column pattern varchar: the commonest of these (the first, of equals)
-- column vertical_mass double: mean mass on special tokens; null where no input has any
-- column diagonal_mass double: mean mass on the diagonal, special tokens left out, so that the two do not overlap
-- column blockness double: mean blockness; null where no input has two segments
-- column sequences bigint: maps of the head
-- column run
with input as (
    select
        placement.sequence,
        cast(placement.positions as double) as positions,
        placement.first_word,
        place_count(placement.cls) + place_count(placement.sep) + place_count(placement.first_word) as special,
        cast(place_count(placement.first_segment) as double) as first_words,
        cast(place_count(placement.second_segment) as double) as second_words
    from placement
    inner join chosen_run on chosen_run.id = placement.run
),

-- own is the share of the weights between words that stays in its segment under uniform attention.
input_chance as (
    select
        input.*,
        case
            when first_words > 0 and second_words > 0
                then (first_words * first_words + second_words * second_words)
                    / ((first_words + second_words) * (first_words + second_words))
        end as own
    from input
),

map_mass as (
    select
        attention_map.layer, attention_map.head,
        case
            when input_chance.special > 0
                then (
                    attention_map.to_cls
                    + attention_map.to_sep
                    + weight_on(attention_map.received, input_chance.first_word)
                ) / input_chance.positions
        end as vertical,
        (
            attention_map.word_before
            + case when $itself then attention_map.word_itself else cast(0 as double) end
            + attention_map.word_after
        ) / input_chance.positions as diagonal,
        case
            when attention_map.word_to_word > 0
                then (attention_map.same_segment / attention_map.word_to_word - input_chance.own)
                    / (1 - input_chance.own)
        end as block
    from attention_map
    inner join input_chance using (sequence)
),

labelled_map as (
    select
        map_mass.*,
        case
            when vertical > $min_both and diagonal > $min_both then 'vertical_diagonal'
            when vertical > $min_vertical then 'vertical'
            when diagonal > $min_diagonal then 'diagonal'
            when block > $min_block then 'block'
            else 'heterogeneous'
        end as pattern
    from map_mass
),

per_head as (
    select
        layer, head,
        share_of(pattern = 'vertical') as vertical,
        share_of(pattern = 'diagonal') as diagonal,
        share_of(pattern = 'vertical_diagonal') as vertical_diagonal,
        share_of(pattern = 'block') as block,
        share_of(pattern = 'heterogeneous') as heterogeneous,
        avg(vertical) as vertical_mass,
        avg(diagonal) as diagonal_mass,
        avg(block) as blockness,
        count(*) as sequences
    from labelled_map
    group by all
)

select
    layer, head,
    case when vertical_mass is not null then vertical end as vertical,
    diagonal,
    case when vertical_mass is not null then vertical_diagonal end as vertical_diagonal,
    block, heterogeneous,
    -- Of equal shares the first pattern.
    case greatest(vertical, diagonal, vertical_diagonal, block, heterogeneous)
        when vertical then 'vertical'
        when diagonal then 'diagonal'
        when vertical_diagonal then 'vertical_diagonal'
        when block then 'block'
        else 'heterogeneous'
    end as pattern,
    vertical_mass, diagonal_mass, blockness, sequences,
    (select name from chosen_run) as run
from per_head
order by layer, head
