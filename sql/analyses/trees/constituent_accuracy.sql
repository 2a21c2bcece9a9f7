-- title: How many gold phrases are in the binary trees that are split from attention
-- paper: Kim et al. 2020 (Are pre-trained language models aware of phrases?), section 3
-- grain: one row per (source, layer, head), the best first, and one per baseline
-- formula: f1 = mean over the sentences of 2 |G ∩ P| / (|G| + |P|), of gold phrases G and phrases P of the tree
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
-- param label varchar = null: score only gold phrases of this label (NP, VP, ...) in recall; by default all
-- param run
-- column source varchar: head, layer (mean), all (mean), or a baseline: left-branching, right-branching, balanced
-- column layer, head
-- column f1 double: mean over the sentences of their F1, in [0, 1]
-- column low double: lower end of the 95 % interval of f1; null, like high, where all are in one document
-- column high double: upper end of the 95 % interval of f1
-- column gain double: f1 minus that of right-branching trees, on the same sentences; null for these
-- column gain_low double: lower end of the 95 % interval of gain, from the variance of the difference among documents;
--   null, like gain_high, where all are in one, or where it is the same in all
-- column gain_high double: upper end of the 95 % interval of gain
-- column precision double: share of the phrases of the trees that are gold, in [0, 1]
-- column recall double: share of the gold phrases (with that label) that the trees have, in [0, 1]
-- column sentences bigint: sentences with a gold phrase
-- column n bigint: gold phrases (with that label)
-- column run

-- Each word, and how many words that count there are up to it.
with counted_word as materialized (
    select
        sequence.id as sequence,
        sequence.document, word.sentence, word.index, word_position.position,
        sum(case when word_kind.counts then 1 else 0 end) over (
            partition by sequence.id, word.sentence order by word.index
        ) as up_to,
        case when word_kind.counts then 1 else 0 end as counts
    from sequence
    inner join chosen_run on chosen_run.id = sequence.run
    inner join word_position on word_position.sequence = sequence.id
    inner join word on word.id = word_position.word
    inner join (
        select
            id,
            $punctuation or not (
                coalesce(upos = 'PUNCT', false)
                or coalesce(without_subtype(deprel) in ('punct', 'p'), false)
                or not regexp_matches(form, '[\pL\pN]')
            ) as counts
        from word as any_word
    ) as word_kind on word_kind.id = word.id
),

sentence_size as materialized (
    select sequence, sentence, min(document) as document, max(up_to) as words
    from counted_word
    group by all
),

gold_phrase as materialized (
    select
        first_place.sequence, first_place.sentence,
        first_place.up_to - first_place.counts + 1 as first_word,
        last_place.up_to as last_word,
        max(case when $label is null or constituent.label = $label then 1 else 0 end) as has_label
    from constituent
    inner join counted_word as first_place
        on first_place.sentence = constituent.sentence
        and first_place.index = constituent.first_index
    inner join counted_word as last_place
        on last_place.sequence = first_place.sequence
        and last_place.sentence = constituent.sentence
        and last_place.index = constituent.last_index
    inner join sentence_size
        on sentence_size.sequence = first_place.sequence
        and sentence_size.sentence = first_place.sentence
    where last_place.up_to > first_place.up_to - first_place.counts + 1
        and last_place.up_to - (first_place.up_to - first_place.counts) < sentence_size.words
    group by all
),

scored_sentence as materialized (
    select
        sentence_size.sequence, sentence_size.sentence, sentence_size.words,
        count(*) as phrases,
        sum(gold_phrase.has_label) as labelled,
        min(cluster_of(clustered_document.clusters_before, clustered_document.by_sentences, sentence.index)) as cluster
    from gold_phrase
    inner join sentence_size using (sequence, sentence)
    inner join corpus_document(runs := (select list(id) from chosen_run)) as clustered_document using (document)
    inner join sentence on sentence.id = sentence_size.sentence
    group by all
),

-- Where a position begins and ends, in words that count.
position_range as materialized (
    select sequence, sentence, position, min(up_to - counts) + 1 as first_word, max(up_to) as last_word
    from counted_word
    group by all
),

decoded_phrase as (
    select
        span.source, span.layer, span.head, span.sequence, span.sentence, first_place.first_word, last_place.last_word
    from (
        select attention_span.*, unnest(range(1, len(attention_span.firsts) + 1)) as at
        from attention_span
        inner join chosen_run on chosen_run.id = attention_span.run
        where attention_span.distance = $distance
    ) as span
    inner join position_range as first_place
        on first_place.sequence = span.sequence
        and first_place.sentence = span.sentence
        and first_place.position = list_extract(span.firsts, span.at)
    inner join position_range as last_place
        on last_place.sequence = span.sequence
        and last_place.sentence = span.sentence
        and last_place.position = list_extract(span.lasts, span.at)
),

-- Halves of halves of ...: the parts of a sentence at a depth.
balanced_phrase as (
    select
        scored_sentence.sequence, scored_sentence.sentence,
        part.number * scored_sentence.words // part.parts + 1 as first_word,
        (part.number + 1) * scored_sentence.words // part.parts as last_word
    from scored_sentence
    inner join (
        select parts, unnest(range(0, parts)) as number
        from (select unnest([1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) as parts) as depth
    ) as part on part.parts < scored_sentence.words
),

branch as (
    select scored_sentence.sequence, scored_sentence.sentence, scored_sentence.words, depth.place
    from scored_sentence
    inner join (select unnest(range(1, 1001)) as place) as depth on depth.place < scored_sentence.words
),

proposed_phrase as (
    select decoded_phrase.* from decoded_phrase
    union all
    select 'left-branching', null, null, sequence, sentence, 1, place + 1
    from branch
    union all
    select 'right-branching', null, null, sequence, sentence, place, words
    from branch
    union all
    select 'balanced', null, null, sequence, sentence, first_word, last_word
    from balanced_phrase
),

tree_phrase as (
    select distinct
        proposed_phrase.source, proposed_phrase.layer, proposed_phrase.head, proposed_phrase.sequence,
        proposed_phrase.sentence, proposed_phrase.first_word, proposed_phrase.last_word
    from proposed_phrase
    inner join scored_sentence using (sequence, sentence)
    where proposed_phrase.last_word > proposed_phrase.first_word
        and proposed_phrase.last_word - proposed_phrase.first_word + 1 < scored_sentence.words
),

per_sentence as (
    select
        tree_phrase.source, tree_phrase.layer, tree_phrase.head, tree_phrase.sequence, tree_phrase.sentence,
        count(*) as proposed,
        count(gold_phrase.has_label) as found,
        sum(coalesce(gold_phrase.has_label, 0)) as found_labelled
    from tree_phrase
    left join gold_phrase using (sequence, sentence, first_word, last_word)
    group by all
),

per_cluster as (
    select
        per_sentence.source, per_sentence.layer, per_sentence.head, scored_sentence.cluster,
        count(*) as sentences,
        sum(ratio(2 * per_sentence.found, per_sentence.proposed + scored_sentence.phrases)) as f1,
        sum(per_sentence.proposed) as proposed,
        sum(per_sentence.found) as found,
        sum(per_sentence.found_labelled) as found_labelled,
        sum(scored_sentence.labelled) as labelled
    from per_sentence
    inner join scored_sentence using (sequence, sentence)
    group by all
),

per_tree as (
    select
        per_cluster.source, per_cluster.layer, per_cluster.head,
        sum(per_cluster.f1) / sum(per_cluster.sentences) as f1,
        clustered_margin(per_cluster.f1, per_cluster.sentences) as margin,
        sum(per_cluster.f1 - right_branching.f1) / sum(per_cluster.sentences) as gain,
        nullif(clustered_margin(per_cluster.f1 - right_branching.f1, per_cluster.sentences), 0) as gain_margin,
        ratio(sum(per_cluster.found), sum(per_cluster.proposed)) as precision,
        case
            when sum(per_cluster.labelled) > 0 then ratio(sum(per_cluster.found_labelled), sum(per_cluster.labelled))
        end as recall,
        sum(per_cluster.sentences) as sentences,
        sum(per_cluster.labelled) as n
    from per_cluster
    left join per_cluster as right_branching
        on right_branching.source = 'right-branching'
        and right_branching.cluster = per_cluster.cluster
        and per_cluster.source <> 'right-branching'
    group by all
)

select
    source, layer, head, f1,
    within_share(f1 - margin) as low,
    within_share(f1 + margin) as high,
    gain,
    case when gain_margin is not null then greatest(cast(-1 as double), gain - gain_margin) end as gain_low,
    case when gain_margin is not null then least(cast(1 as double), gain + gain_margin) end as gain_high,
    precision, recall,
    cast(sentences as bigint) as sentences,
    cast(n as bigint) as n,
    (select name from chosen_run) as run
from per_tree
where exists (select source from decoded_phrase)
order by
    case when source in ('left-branching', 'right-branching', 'balanced') then 1 else 0 end,
    round(f1, 12) desc,
    source, layer, head
