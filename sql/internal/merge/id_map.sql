-- Where each document of each source goes, in the order of corpora and of document.index, and what is added to its ids.
-- A document that several sources have is the own one (is_own) of the first of them.
with

owned as (
    select
        merge_extent.*,
        row_number() over (
            partition by merge_extent.corpus, merge_extent.index order by merge_extent.source
        ) = 1 as is_own
    from merge_extent
),

numbered as (
    select
        owned.corpus, owned.index,
        row_number() over (order by owned.corpus, owned.index) as document,
        coalesce(sum(owned.sentences) over before, 0) + 1 as sentence,
        coalesce(sum(owned.words) over before, 0) + 1 as word,
        coalesce(sum(owned.mentions) over before, 0) + 1 as mention,
        coalesce(sum(owned.entities) over before, 0) + 1 as entity
    from owned
    where owned.is_own
    window before as (
        order by owned.corpus, owned.index rows between unbounded preceding and 1 preceding
    )
)

select
    owned.*,
    numbered.document,
    numbered.sentence - owned.first_sentence as sentence_shift,
    numbered.word - owned.first_word as word_shift,
    numbered.mention - owned.first_mention as mention_shift,
    numbered.entity - owned.first_entity as entity_shift
from owned
inner join numbered on numbered.corpus = owned.corpus and numbered.index = owned.index
