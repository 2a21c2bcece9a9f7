-- Each finite verb of a corpus that agrees with its subject in number, and its form for the other number: one row per
-- verb, in the order of the text, with the words of its sentence as ingest/sentence_window gives them.
--
-- Only annotation is read, so that it works for every language. A treebank that does not mark the number of its verbs,
-- or has each form for one number only, has no rows.
with corpus_word as (
    select
        word.id, word.sentence, word.index, word.form, word.lemma, word.upos, word.feats, word.head_index, word.deprel,
        without_subtype(word.deprel) as relation,
        word.space_after or coalesce(word.upos in ('PUNCT', 'SYM'), false) as ends_free,
        word.token_start,
        feature(word.feats, 'Person') as person,
        case feature(word.feats, 'Number')
            when 'Ptan' then 'Plur'
            else feature(word.feats, 'Number')
        end as number
    from word
    inner join sentence on sentence.id = word.sentence
    inner join document on document.id = sentence.document
    where document.corpus = $corpus
),

-- Some treebanks leave VerbForm=Fin out, and say of other forms alone what they are (Turkish, Hebrew).
finite_verb as (
    select
        corpus_word.*,
        lower(form) as lower_form,
        coalesce(feature(feats, 'Gender'), '') as gender,
        -- What two forms have to share. A plural often does not tell the gender, which is compared by itself.
        array_to_string(
            list_sort(list_filter(
                string_split(feats, '|'), lambda trait: split_part(trait, '=', 1) not in ('Number', 'Gender', 'Animacy')
            )),
            '|'
        ) as traits
    from corpus_word
    where upos in ('VERB', 'AUX')
        and (
            feature(feats, 'VerbForm') = 'Fin'
            or (feature(feats, 'VerbForm') is null and feature(feats, 'Tense') is not null)
        )
),

-- A verb that is written onto the word before it (he's, n'est, evdeydi) is left out, as a site and as the other form.
-- Its other form would need another spelling of that word (ne sont), or is rarely written after it (the dog're)
-- in either number: a model's preference would be about spelling. A form that the treebank marks as a mistake is left
-- out too.
inflected_verb as (
    select finite_verb.*
    from finite_verb
    anti join multiword_token as token
        on token.sentence = finite_verb.sentence
        and token.token_start = finite_verb.token_start
        and token.last_word > token.first_word
        and not token.is_spelled
    left join corpus_word as before
        on before.sentence = finite_verb.sentence
        and before.index = finite_verb.index - 1
    where finite_verb.number in ('Sing', 'Plur')
        and coalesce(feature(finite_verb.feats, 'Mood'), 'Ind') = 'Ind'
        and coalesce(feature(finite_verb.feats, 'Typo'), 'No') <> 'Yes'
        and coalesce(before.ends_free, true)
),

form_count as (
    select lemma, traits, number, gender, lower_form as form, count(*) as n
    from inflected_verb
    group by all
),

-- The usual form for a number. A rarer one may be of a dialect, or cut off as in speech ("I kn-"): what it is for the
-- other number is not known.
usual_form as (
    select form_count.*
    from form_count
    qualify row_number() over (partition by lemma, traits, number, gender order by n desc, form) = 1
),

other_form as (
    select
        usual_form.lemma, usual_form.traits, usual_form.number, usual_form.gender, usual_form.form,
        other.form as other
    from usual_form
    inner join form_count as other
        on other.lemma = usual_form.lemma
        and other.traits = usual_form.traits
        and other.number <> usual_form.number
        and (
            '' in (other.gender, usual_form.gender)
            or list_has_any(string_split(other.gender, ','), string_split(usual_form.gender, ','))
        )
    group by usual_form.lemma, usual_form.traits, usual_form.number, usual_form.gender, usual_form.form, other.form
    qualify row_number() over (
        partition by usual_form.lemma, usual_form.traits, usual_form.number, usual_form.gender
        order by sum(other.n) desc, other.form
    ) = 1
),

-- Of "does not have been" the first one agrees, also where it does not tell the number (can).
first_auxiliary as (
    select sentence, head_index, min(index) as index
    from finite_verb
    where relation in ('aux', 'cop')
    group by all
),

-- Of "The trouble is that he is late" the tree does not tell which verb has which subject: all four depend on "late".
-- A verb of two subjects is left out.
verb_of_subject as (
    select
        subject.sentence, subject.index, subject.upos, subject.number, subject.person, subject.relation, subject.deprel,
        subject.head_index,
        coalesce(governor.index, first_auxiliary.index) as verb_index
    from corpus_word as subject
    left join finite_verb as governor
        on governor.sentence = subject.sentence
        and governor.index = subject.head_index
    left join first_auxiliary
        on first_auxiliary.sentence = subject.sentence
        and first_auxiliary.head_index = subject.head_index
    where subject.relation in ('nsubj', 'csubj')
        and (governor.index is not null or first_auxiliary.index is not null)
    qualify count(*) over (partition by subject.sentence, coalesce(governor.index, first_auxiliary.index)) = 1
),

-- The number of a coordinated subject is that of all its members, and beside an expletive (there) the verb may agree
-- with either.
plain_subject as (
    select verb_of_subject.*
    from verb_of_subject
    anti join corpus_word as conjunct
        on conjunct.sentence = verb_of_subject.sentence
        and conjunct.head_index = verb_of_subject.index
        and conjunct.relation = 'conj'
    anti join corpus_word as expletive
        on expletive.sentence = verb_of_subject.sentence
        and expletive.head_index = verb_of_subject.head_index
        and expletive.deprel in ('expl', 'expl:subj')
    where relation = 'nsubj'
        and upos in ('NOUN', 'PROPN', 'PRON')
),

site as (
    select
        verb.id as word,
        verb.sentence, verb.number, plain_subject.deprel,
        case
            when length(verb.form) > 1 and verb.form <> verb.lower_form and verb.form = upper(verb.form)
                then upper(other_form.other)
            when left(verb.form, 1) <> left(verb.lower_form, 1)
                then concat(upper(left(other_form.other, 1)), substr(other_form.other, 2))
            else other_form.other
        end as other,
        least(plain_subject.index, verb.index) as first_index,
        greatest(plain_subject.index, verb.index) as last_index,
        plain_subject.index > verb.index as is_inverted
    from plain_subject
    inner join inflected_verb as verb
        on verb.sentence = plain_subject.sentence
        and verb.index = plain_subject.verb_index
        and verb.number = plain_subject.number
        and coalesce(verb.person = plain_subject.person, true)
    inner join other_form
        on other_form.lemma = verb.lemma
        and other_form.traits = verb.traits
        and other_form.number = verb.number
        and other_form.gender = verb.gender
        and other_form.form = verb.lower_form
        and other_form.other <> verb.lower_form
),

attractor_count as (
    select site.word, count(*) as attractors
    from site
    inner join corpus_word as noun
        on noun.sentence = site.sentence
        and noun.index > site.first_index
        and noun.index < site.last_index
    where noun.upos in ('NOUN', 'PROPN')
        and noun.number in ('Sing', 'Plur')
        and noun.number <> site.number
    group by all
),

sentence_words as (
    select
        sentence,
        list(id order by index) as words,
        list(form order by index) as forms,
        list(space_after order by index) as spaces,
        list(surface order by index) as surfaces,
        list(token_start order by index) as token_starts
    from word
    where sentence in (select sentence from site)
    group by all
)

select
    site.word, site.deprel, site.other,
    coalesce(attractor_count.attractors, 0) as attractors,
    site.last_index - site.first_index as distance,
    site.is_inverted, sentence_words.words, sentence_words.forms, sentence_words.spaces, sentence_words.surfaces,
    sentence_words.token_starts
from site
inner join sentence_words on sentence_words.sentence = site.sentence
left join attractor_count on attractor_count.word = site.word
order by site.word
