-- title: How many bracketed phrases are in the binary trees that are split from attention
-- paper: Kim et al. 2020 (Are pre-trained language models aware of phrases?), section 3
-- grain: one row per (source, layer, head), the best first, and one per baseline
-- formula: f1 = mean over the sentences of 2 |G ∩ P| / (|G| + |P|), where G are the gold phrases and P those of the
--   tree
-- formula: low, high: 95 % interval of f1, from the variance among documents
-- formula: recall = Σ |G ∩ P| / Σ |G|; precision = Σ |G ∩ P| / Σ |P|
-- run: unit=word needs=spans usual=sentence
-- plot: grid color=f1 domain=0,1
-- empty: no phrases were split in this way (attnbank compute attention_span --distance DISTANCE)
-- note: a tree is split where two neighbouring words attend most differently, and so are its parts (attention_span).
-- note: phrases of one word and whole sentences are left out, and of equal phrases all but one; so are sentences
--   without a gold phrase. Without punctuation := true phrases are those of the other words.
-- note: a binary tree has as many phrases as words, more than the annotation, so that precision is low for all of them.
-- param distance varchar = 'jensen_shannon' {jensen_shannon, hellinger}: how unlike two distributions are
-- param punctuation boolean = false: count punctuation among the words of phrases
-- param label varchar = null: judge only gold phrases of this label (NP, VP, ...) in recall; by default all
-- param run
-- column source varchar: head, layer (mean), all (mean), or a baseline: left-branching, right-branching, balanced
-- column layer, head
-- column f1 double: mean over the sentences of their F1, in [0, 1]
-- column low double: lower end of the 95 % interval of f1; null, like high, where all are in one document
-- column high double: upper end of the 95 % interval of f1
-- column gain double: f1 minus that of right-branching trees, on the same sentences; null for these
-- column gain_low double: lower end of the 95 % interval of gain, from the variance of the difference among documents; null,
--   like gain_high, where all are in one, or where it is the same in all
-- column gain_high double: upper end of the 95 % interval of gain
-- column precision double: share of the phrases of the trees that are gold, in [0, 1]
-- column recall double: share of the gold phrases (with that label) that the trees have, in [0, 1]
-- column sentences bigint: sentences with a gold phrase
-- column n bigint: gold phrases (with that label)
-- column run
with

read_run as materialized (
    select coalesce(list(chosen_run.id), []) as ids from chosen_run
),

-- Each word, and how many words that count there are up to it.
place as materialized (
    select
        sequence.id as sequence,
        sequence.document,
        word.sentence,
        word.index,
        word_position.position,
        sum(case when counted.counts then 1 else 0 end) over (
            partition by sequence.id, word.sentence order by word.index
        ) as up_to,
        case when counted.counts then 1 else 0 end as counts
    from sequence
    inner join chosen_run on chosen_run.id = sequence.run
    inner join word_position on word_position.sequence = sequence.id
    inner join word on word.id = word_position.word
    inner join (
        select
            each.id,
            $punctuation or not (
                coalesce(each.upos = 'PUNCT', false)
                or coalesce(without_subtype(each.deprel) in ('punct', 'p'), false)
                or not regexp_matches(each.form, '[\pL\pN]')
            ) as counts
        from word as each
    ) as counted on counted.id = word.id
),

sentence_size as materialized (
    select
        place.sequence,
        place.sentence,
        min(place.document) as document,
        max(place.up_to) as words
    from place
    group by place.sequence, place.sentence
),

gold as materialized (
    select
        first_place.sequence,
        first_place.sentence,
        first_place.up_to - first_place.counts + 1 as first_word,
        last_place.up_to as last_word,
        max(case when $label is null or constituent.label = $label then 1 else 0 end) as is_asked
    from constituent
    inner join place as first_place
        on first_place.sentence = constituent.sentence
        and first_place.index = constituent.first_index
    inner join place as last_place
        on last_place.sequence = first_place.sequence
        and last_place.sentence = constituent.sentence
        and last_place.index = constituent.last_index
    inner join sentence_size
        on sentence_size.sequence = first_place.sequence
        and sentence_size.sentence = first_place.sentence
    where last_place.up_to > first_place.up_to - first_place.counts + 1
        and last_place.up_to - (first_place.up_to - first_place.counts) < sentence_size.words
    group by
        first_place.sequence, first_place.sentence, first_place.up_to - first_place.counts + 1, last_place.up_to
),

judged_sentence as materialized (
    select
        sentence_size.sequence,
        sentence_size.sentence,
        sentence_size.words,
        count(*) as phrases,
        sum(gold.is_asked) as asked,
        min(cluster_of(placed.clusters_before, placed.by_sentences, sentence.index)) as cluster
    from gold
    inner join sentence_size
        on sentence_size.sequence = gold.sequence
        and sentence_size.sentence = gold.sentence
    inner join corpus_document(runs := (select read_run.ids from read_run)) as placed
        on placed.document = sentence_size.document
    inner join sentence on sentence.id = sentence_size.sentence
    group by sentence_size.sequence, sentence_size.sentence, sentence_size.words
),

-- Where a position begins and ends, in words that count.
position_place as materialized (
    select
        place.sequence,
        place.sentence,
        place.position,
        min(place.up_to - place.counts) + 1 as first_word,
        max(place.up_to) as last_word
    from place
    group by place.sequence, place.sentence, place.position
),

decoded as (
    select
        split.source,
        split.layer,
        split.head,
        split.sequence,
        split.sentence,
        first_place.first_word,
        last_place.last_word
    from (
        select
            each.source,
            each.layer,
            each.head,
            each.sequence,
            each.sentence,
            list_extract(each.firsts, each.at) as first_position,
            list_extract(each.lasts, each.at) as last_position
        from (
            select span.*, unnest(range(1, len(span.firsts) + 1)) as at
            from attention_span as span
            inner join chosen_run on chosen_run.id = span.run
            where span.distance = $distance
        ) as each
    ) as split
    inner join position_place as first_place
        on first_place.sequence = split.sequence
        and first_place.sentence = split.sentence
        and first_place.position = split.first_position
    inner join position_place as last_place
        on last_place.sequence = split.sequence
        and last_place.sentence = split.sentence
        and last_place.position = split.last_position
),

-- Halves of halves of ...: the parts of a sentence at a depth.
balanced as (
    select
        judged_sentence.sequence,
        judged_sentence.sentence,
        part.number * judged_sentence.words // part.parts + 1 as first_word,
        (part.number + 1) * judged_sentence.words // part.parts as last_word
    from judged_sentence
    inner join (
        select each.parts, unnest(range(0, each.parts)) as number
        from (select unnest([1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) as parts) as each
    ) as part on part.parts < judged_sentence.words
),

branching as (
    select judged_sentence.sequence, judged_sentence.sentence, judged_sentence.words, each.place
    from judged_sentence
    inner join (select unnest(range(1, 1001)) as place) as each on each.place < judged_sentence.words
),

proposed as (
    select decoded.* from decoded
    union all
    select
        'left-branching' as source,
        null as layer,
        null as head,
        branching.sequence,
        branching.sentence,
        1 as first_word,
        branching.place + 1 as last_word
    from branching
    union all
    select
        'right-branching' as source,
        null as layer,
        null as head,
        branching.sequence,
        branching.sentence,
        branching.place as first_word,
        branching.words as last_word
    from branching
    union all
    select
        'balanced' as source,
        null as layer,
        null as head,
        balanced.sequence,
        balanced.sentence,
        balanced.first_word,
        balanced.last_word
    from balanced
),

phrase as (
    select distinct
        proposed.source,
        proposed.layer,
        proposed.head,
        proposed.sequence,
        proposed.sentence,
        proposed.first_word,
        proposed.last_word
    from proposed
    inner join judged_sentence
        on judged_sentence.sequence = proposed.sequence
        and judged_sentence.sentence = proposed.sentence
    where proposed.last_word > proposed.first_word
        and proposed.last_word - proposed.first_word + 1 < judged_sentence.words
),

in_sentence as (
    select
        phrase.source,
        phrase.layer,
        phrase.head,
        phrase.sequence,
        phrase.sentence,
        count(*) as proposed,
        sum(case when gold.sentence is not null then 1 else 0 end) as found,
        sum(coalesce(gold.is_asked, 0)) as found_asked
    from phrase
    left join gold
        on gold.sequence = phrase.sequence
        and gold.sentence = phrase.sentence
        and gold.first_word = phrase.first_word
        and gold.last_word = phrase.last_word
    group by phrase.source, phrase.layer, phrase.head, phrase.sequence, phrase.sentence
),

in_document as (
    select
        in_sentence.source,
        in_sentence.layer,
        in_sentence.head,
        judged_sentence.cluster,
        count(*) as sentences,
        sum(ratio(2 * in_sentence.found, in_sentence.proposed + judged_sentence.phrases)) as f1,
        sum(in_sentence.proposed) as proposed,
        sum(in_sentence.found) as found,
        sum(in_sentence.found_asked) as found_asked,
        sum(judged_sentence.asked) as asked
    from in_sentence
    inner join judged_sentence
        on judged_sentence.sequence = in_sentence.sequence
        and judged_sentence.sentence = in_sentence.sentence
    group by in_sentence.source, in_sentence.layer, in_sentence.head, judged_sentence.cluster
),

scored as (
    select
        in_document.source,
        in_document.layer,
        in_document.head,
        sum(in_document.f1) / sum(in_document.sentences) as f1,
        clustered_margin(in_document.f1, in_document.sentences) as margin,
        sum(in_document.f1 - chain.f1) / sum(in_document.sentences) as gain,
        nullif(clustered_margin(in_document.f1 - chain.f1, in_document.sentences), 0) as gain_margin,
        ratio(sum(in_document.found), sum(in_document.proposed)) as precision,
        case
            when sum(in_document.asked) > 0
                then ratio(sum(in_document.found_asked), sum(in_document.asked))
        end as recall,
        sum(in_document.sentences) as sentences,
        sum(in_document.asked) as n
    from in_document
    left join in_document as chain
        on chain.source = 'right-branching'
        and chain.cluster = in_document.cluster
        and in_document.source <> 'right-branching'
    group by in_document.source, in_document.layer, in_document.head
)

select
    scored.source,
    scored.layer,
    scored.head,
    scored.f1,
    within_share(scored.f1 - scored.margin) as low,
    within_share(scored.f1 + scored.margin) as high,
    scored.gain,
    case
        when scored.gain_margin is not null then greatest(cast(-1 as double), scored.gain - scored.gain_margin)
    end as gain_low,
    case
        when scored.gain_margin is not null then least(cast(1 as double), scored.gain + scored.gain_margin)
    end as gain_high,
    scored.precision,
    scored.recall,
    cast(scored.sentences as bigint) as sentences,
    cast(scored.n as bigint) as n,
    (select chosen_run.name from chosen_run) as run
from scored
where exists (select decoded.source from decoded)
order by
    case when scored.source in ('left-branching', 'right-branching', 'balanced') then 1 else 0 end,
    round(scored.f1, 12) desc,
    scored.source,
    scored.layer,
    scored.head
