-- Contradictions in the text of a bank: in its documents, sentences, words and mentions, and their ids.
with recursive words_of_sentence as (
    select
        sentence, count(*) as words, count(distinct index) as indexes, min(index) as first_index,
        max(index) as last_index, min(id) as first_word, max(id) as last_word,
        min(id - index) as least_start, max(id - index) as largest_start,
        min(head_index) as least_head, max(head_index) as largest_head,
        count(*) filter (where head_index = 0) as roots, count(*) = count(head_index) as has_whole_tree
    from word
    group by all
),

checked_sentence as (
    select
        sentence.id, sentence.document, sentence.words, words_of_sentence.first_word, words_of_sentence.last_word,
        coalesce(words_of_sentence.words, 0) <> sentence.words
        or words_of_sentence.indexes <> words_of_sentence.words or words_of_sentence.first_index <> 1
        or words_of_sentence.last_index <> words_of_sentence.words
        or words_of_sentence.least_head < 0 or words_of_sentence.largest_head > sentence.words
            as is_faulty,
        words_of_sentence.roots > 1 or words_of_sentence.roots = 0 and words_of_sentence.has_whole_tree as has_no_root,
        coalesce(words_of_sentence.least_start <> words_of_sentence.largest_start, false) as is_mixed
    from sentence
    left join words_of_sentence on words_of_sentence.sentence = sentence.id
),

-- The sentences, words and mentions of a document are read as ranges of ids. There may be gaps: an excerpt, or a shard,
-- has not all of them.
ordered_sentence as (
    select
        checked_sentence.*,
        lag(document) over (partition by document >> 40 order by id) as document_before,
        max(last_word) over (
            partition by document >> 40 order by id rows between unbounded preceding and 1 preceding
        ) as word_before
    from checked_sentence
),

document_extent as (
    select document.id, min(checked_sentence.first_word) as first_word, max(checked_sentence.last_word) as last_word
    from document
    left join checked_sentence on checked_sentence.document = document.id
    group by all
),

-- In each step the ancestor of every word that is twice as far away as before: a sentence has at most 32,767 words, so
-- that only on the way to a cycle are there any after 15 steps.
ancestor as (
    select sentence, index, head_index as ancestor_index, 0 as step
    from word
    where head_index > 0
    union all
    select below.sentence, below.index, above.ancestor_index, below.step + 1
    from ancestor as below
    inner join ancestor as above on above.sentence = below.sentence and above.index = below.ancestor_index
    where below.step < 15
),

mention_extent as (
    select
        document, min(id) as first_mention, max(id) as last_mention, min(entity) as first_entity,
        max(entity) as last_entity,
        min(least(first_word, last_word, head_word)) as least_word,
        max(greatest(first_word, last_word, head_word)) as largest_word,
        bool_or(first_word > last_word) as is_reversed,
        bool_or(head_word not between first_word and last_word) as has_head_outside
    from mention
    group by all
),

ordered_mention as (
    select
        document,
        first_mention <= max(last_mention) over earlier_document
        or first_entity <= max(last_entity) over earlier_document
            as is_out_of_order
    from mention_extent
    window earlier_document as (
        partition by document >> 40 order by document rows between unbounded preceding and 1 preceding
    )
)

select 'its table ' || name || ' has ids twice' as reason
from (
    select 'document' as name, count(*) as rows, count(distinct id) as ids from document
    union all
    select 'sentence', count(*), count(distinct id) from sentence
    union all
    select 'word', count(*), count(distinct id) from word
    union all
    select 'mention', count(*), count(distinct id) from mention
) as id_count
where rows <> ids
union all
select 'two documents of a corpus have the same place (document.index)'
from document
group by corpus, index
having count(*) > 1
union all
select 'the id of document ' || id || ' is not that of its place in its corpus'
from document
where id <> ((cast(corpus as bigint) - 1) << 40) + index
union all
select 'the ids of document ' || document || ' are those of another corpus'
from ordered_sentence
where id >> 40 <> document >> 40 or first_word >> 40 <> document >> 40
union all
select 'the ids of document ' || document || ' are those of another corpus'
from mention_extent
where first_mention >> 40 <> document >> 40 or first_entity >> 40 <> document >> 40
union all
select 'the words of sentence ' || id || ' are not the ' || words || ' that it should have'
from checked_sentence
where is_faulty
union all
select 'the words of sentence ' || id || ' do not have one root'
from checked_sentence
where has_no_root
union all
select 'the heads of sentence ' || sentence || ' form a cycle'
from ancestor
where step = 15
union all
select 'the ids of document ' || document || ' are not in the order of the text'
from ordered_sentence
where is_mixed or document < document_before or first_word <= word_before
union all
select 'the ids of document ' || document || ' are not in the order of the text'
from ordered_mention
where is_out_of_order
union all
select 'a mention of document ' || document_extent.id || ' has words of another document'
from mention_extent
inner join document_extent on document_extent.id = mention_extent.document
where not coalesce(
    mention_extent.least_word >= document_extent.first_word
    and mention_extent.largest_word <= document_extent.last_word,
    false
)
union all
select 'a mention of document ' || document || ' ends before it begins'
from mention_extent
where is_reversed
union all
select 'a mention of document ' || document || ' has its head outside'
from mention_extent
where has_head_outside
limit 1
