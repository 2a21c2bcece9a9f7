-- title: Head functions: confidence, and whether a head attends to an offset, a relation or the rarest word
-- paper: Voita et al. 2019, sections 4 and 5 (confidence, positional, syntactic and rare-word heads)
-- grain: one row per (layer, head)
-- formula: to(i) = argmax_{j ∉ SEP} α(i, j), for every position i ∉ SEP
-- formula: confidence = mean over inputs and positions of α(i, to(i))
-- formula: positional = max_k |{i : to(i) − i = k}| / |{i}|; offset is that k
-- formula: syntactic = {r : max(share of to(dependent) = head, share of to(head) = dependent) ≥ max_k P_r(head −
--   dependent = k) + margin}, over the dependents of relation r
-- formula: of a causal model syntactic is over dependents whose head the direction can find: to the left for
--   to(dependent), to the right for to(head), and so is the offset; rare_word_chance weighs a position by how many see
--   it
-- formula: rare_word = share of the inputs s with argmax_j |{i : to(i) = j}| ∈ R(s); rare_word_maxima = |{i : to(i) ∈
--   R(s)}| / |{i}|; rare_word_chance = mean over inputs of |R(s)| / (number of positions ∉ SEP), where R(s) are the
--   positions of the rarest word
-- run: needs=shares favours=sentence/word
-- plot: grid color=confidence,positional,rare_word text=significant domain=0,1
-- caption confidence: Largest weight of a position, mean
-- caption positional: Maxima at the commonest offset
-- caption significant: Relation found significantly (+ others)
-- caption rare_word: Inputs where the head looks at the rarest word
-- note: every position except [SEP] has a maximum: the position, again except [SEP], that it attends to most. [SEP]
--   stands for their end of the sentence; [CLS], which their models do not have, counts like a word, and so does the
--   first word of a causal model. Ties go to the leftmost.
-- note: positional: of equally common offsets the nearest, then the left one. They call a head positional from 0.9.
-- note: syntactic: relations that the head finds, in either direction, in at least margin more of the cases (0.1: ten
--   of a hundred more) than the relation's commonest offset. These are the same maxima as above, so a word that attends
--   most to itself or to [CLS] finds none; head_accuracy leaves both out, and for the second direction takes the word
--   that attends to the dependent most. Punctuation is left out. Null where there is none, as in every run without
--   words that have trees.
-- note: Voita et al. ask for accuracy at least 10 % higher than the offset's; whether they mean a tenth of it, or ten
--   of a hundred cases, they do not say.
-- note: of many heads and relations some pass that margin by chance, in a short text many. significant are those that
--   are significantly above the best fixed offset in best_relation, too, whose maxima leave out the word itself and
--   special tokens, corrected for all heads, directions and relations. The picture has only these.
-- note: rare_word: inputs in which more maxima fall on the rarest word than on any other position (the leftmost, of
--   equals). Words as rare as the rarest count as well, so compare with rare_word_chance. Frequencies are those of
--   table word_frequency, where it has rows, else of the corpus itself; a word without one has frequency 0. Words that
--   share a position (du for de and le) are one word here. They leave out sentences whose rarest token is among the 500
--   most frequent; here none is.
-- note: positional and offset are words of SQL: write "positional" and "offset", or qualify them.
-- param margin, min_count of syntactic_head
-- column layer, head, confidence, positional, offset of head_confidence
-- column syntactic varchar: relations it finds better than their commonest offset, joined by commas; null for none
-- column significant varchar: those of them with a gain and a p_corrected below 0.05 in best_relation; null for none
-- column rare_word double: share of inputs whose commonest maximum is the rarest word; null where none has words
-- column rare_word_maxima double: share of all maxima that are on the rarest word of their input
-- column rare_word_chance double: share of the rarest word among the positions, a mean over inputs
-- column positions of head_confidence
-- column sequences bigint: inputs that rare_word is over
-- column run
with relation_run as (
    select candidate.name
    from run_candidate(unit := 'word', needs := 'trees', usual := 'sentence') as candidate
    inner join chosen_run using (id)
    where candidate.unusable_because is null
),

significant_relation as (
    select distinct layer, head, relation
    from best_relation(
        run := coalesce((select name from relation_run), ''), most := 1000000, min_count := 10
    ) as tested
    where gain > 0
        and p_corrected < 0.05
),

syntactic as (
    select
        found_relation.layer, found_relation.head,
        joined(list_sort(list(found_relation.relation))) as relations,
        nullif(joined(list_sort(list(significant_relation.relation))), '') as significant
    from syntactic_head(
        run := (select id from chosen_run), margin := $margin, min_count := $min_count
    ) as found_relation
    left join significant_relation using (layer, head, relation)
    group by all
)

select
    confidence.layer, confidence.head, confidence.confidence, confidence.positional, confidence."offset",
    syntactic.relations as syntactic,
    syntactic.significant,
    rare.rare_word,
    rare.maxima as rare_word_maxima,
    rare.chance as rare_word_chance,
    confidence.positions,
    coalesce(rare.sequences, 0) as sequences,
    (select name from chosen_run) as run
from head_confidence(run := (select id from chosen_run)) as confidence
left join syntactic using (layer, head)
left join rare_word_head(run := (select id from chosen_run)) as rare using (layer, head)
order by confidence.layer, confidence.head
