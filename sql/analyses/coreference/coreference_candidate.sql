-- title: The candidate antecedents of each mention that has an antecedent
-- paper: Clark et al. 2019, section 4.3
-- grain: one row per (mention with an antecedent in its input, mention that starts before it there)
-- formula: C(m) = {c : c starts before m in the same input, and has its head word at another position, of a causal
--   model at one before it}
-- formula: A(m) = {c ∈ C(m) : entity(c) = entity(m)}; a row for every c ∈ C(m) of every m whose A(m) is not empty
-- run: unit=word contexts=document,sentence needs=mentions usual=document
-- empty: no mention of the run has an antecedent in its own input
-- note: the other analyses of coreference read this one, so that all of them score the same mentions by the same rule.
--   An antecedent is a mention of the same entity that starts earlier in the same input. A mention that shares the
--   other's head word, or the position of it in a multiword token that is read as written, is not a candidate.
-- note: nearness goes by the start; of equal starts the longest is the nearest.
-- note: a causal model sees only what stands before a word, so that no mention is a candidate whose head word comes
--   later (the German company, for German), and neither is one whose head word is a first word that is set apart
--   (run.first_word). The baselines choose among the same candidates.
-- note: number, gender and person come from the universal features of the head word (not of a verb, whose features are
--   its subject's), else, unless the corpus is of another language, from the view english_pronoun. A mention that is no
--   pronoun is of third person. Mentions agree unless both are known to differ: in a text without features a noun
--   agrees with he, she and they.
-- note: all inputs of a document are scored; the paper scores only its first 128 tokens (ingest --truncate).
-- param singletons
-- column sequence, document
-- column mention bigint: mention.id of the anaphor
-- column entity bigint: its entity
-- column kind, position
-- column candidate bigint: mention.id of the candidate
-- column candidate_position smallint: position of the candidate's head word
-- column nearness bigint: place of the candidate among them: 1 for the nearest, 2 for the next
-- column is_antecedent boolean: whether the candidate is an antecedent
-- column is_right boolean: whether its head word is the head of an antecedent, this one or another
-- column same_text boolean: whether all words of the two are the same but for case
-- column same_head boolean: whether their head words are the same but for case
-- column agrees boolean: whether they agree in number, gender and person
-- column run
with english_text as (
    select coalesce(corpus.language = 'en' or starts_with(corpus.language, 'en-'), true) as is_english
    from chosen_run
    inner join corpus on corpus.id = chosen_run.corpus
),

mentions_of_entity as (
    select entity, count(*) as mentions
    from mention
    group by all
),

placed_mention as (
    select
        sequence.id as sequence,
        mention.document,
        mention.id as mention,
        mention.entity, mention.kind, mention.first_word, mention.last_word, mention.head_word, word_position.position,
        word.sentence,
        lower(word.form) as head_form,
        -- The features of a verb are those of its subject.
        case when word.upos in ('VERB', 'AUX') then null else word.feats end as feats
    from sequence
    inner join chosen_run on chosen_run.id = sequence.run
    inner join word_position on word_position.sequence = sequence.id
    inner join mention on mention.head_word = word_position.word
    inner join word on word.id = mention.head_word
    where word_position.kind = 'word'
),

mention_text as (
    select placed_mention.sequence, placed_mention.mention, string_agg(lower(word.form), ' ' order by word.id) as text
    from placed_mention
    inner join word
        on word.sentence = placed_mention.sentence
        and word.id between placed_mention.first_word and placed_mention.last_word
    group by all
),

described_mention as (
    select
        placed_mention.*,
        mention_text.text,
        case feature(placed_mention.feats, 'Number')
            when 'Ptan' then 'Plur'
            else coalesce(feature(placed_mention.feats, 'Number'), pronoun.number)
        end as number,
        coalesce(feature(placed_mention.feats, 'Gender'), pronoun.gender) as gender,
        case
            when placed_mention.kind = 'pronoun' then coalesce(feature(placed_mention.feats, 'Person'), pronoun.person)
            else '3'
        end as person,
        mentions_of_entity.mentions > 1 as is_in_chain
    from placed_mention
    inner join mention_text using (sequence, mention)
    inner join mentions_of_entity using (entity)
    cross join english_text
    left join english_pronoun as pronoun
        on pronoun.form = placed_mention.head_form
        and placed_mention.kind = 'pronoun'
        and english_text.is_english
),

pair as (
    select
        later.sequence, later.document, later.mention, later.entity, later.kind, later.position,
        earlier.mention as candidate,
        earlier.position as candidate_position,
        row_number() over (
            partition by later.sequence, later.mention
            order by earlier.first_word desc, earlier.last_word desc, earlier.mention desc
        ) as nearness,
        earlier.entity = later.entity as is_antecedent,
        bool_or(earlier.entity = later.entity) over (
            partition by later.sequence, later.mention, earlier.position
        ) as is_right,
        earlier.text = later.text as same_text,
        earlier.head_form = later.head_form as same_head,
        -- A feature that is not known agrees with any.
        coalesce(earlier.number = later.number, true)
            and coalesce(earlier.gender = later.gender, true)
            and coalesce(earlier.person = later.person, true) as agrees
    from chosen_run
    cross join described_mention as later
    inner join described_mention as earlier
        on earlier.sequence = later.sequence
        and earlier.first_word < later.first_word
        and earlier.position <> later.position
        and (not chosen_run.is_causal or earlier.position < later.position)
    where $singletons or earlier.is_in_chain
    -- Only mentions that have an antecedent.
    qualify bool_or(earlier.entity = later.entity) over (partition by later.sequence, later.mention)
)

select pair.*, (select name from chosen_run) as run
from pair
order by sequence, mention, nearness
