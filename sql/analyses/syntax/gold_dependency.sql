-- title: Every gold dependency of a run, and where its two words stand in the attention maps
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per word that has a syntactic head or is a root, in the inputs of the run
-- formula: the pairs (d, head(d)) of the trees, as positions of the inputs: head(d) is the gold head of the
--   dependent d
-- run: unit=word needs=trees usual=sentence
-- note: the other analyses of dependency relations read this one, so that all of them judge the same words.
-- note: the words of a multiword token that is read as written share a position (du for de and le): each of them is a
--   dependent there. A dependency between two of them is no pair of positions, and is left out (view inner_dependency).
-- note: a pair of a saved relation whose two words are not in one input of the run is left out.
-- note: the possessive 's of a possessor (relation poss or nmod:poss) is the next word, where it is a dependent of the
--   possessor with the relation case (Stanford Dependencies: possessive) and is written 's, s', ' or s, with either
--   apostrophe. An opening quotation mark is no such dependent. The published code takes only possessors of the relation
--   poss and next words of the forms 's and s', whatever their relation; so it judges dogs' tails, where the clitic is ',
--   by the word dogs.
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- param saved varchar = null: the pairs of this saved relation instead of the dependencies (attnbank save)
-- column sequence integer: sequence.id of the input
-- column document integer: document.id
-- column split varchar: split of the document
-- column sentence integer: sentence.id
-- column dependent integer: word.id of the dependent
-- column head integer: word.id of its head; null for a root
-- column relation varchar: the relation of the dependent to its head
-- column is_root boolean: whether the word is the root of its sentence, which has no head to find
-- column position smallint: position whose prediction is judged: the dependent's, or that of its possessive 's
-- column head_position smallint: position of the head; null for a root
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
)

select
    judged.sequence,
    judged.document,
    document.split,
    judged.sentence,
    judged.dependent,
    judged.head,
    judged.relation,
    judged.is_root,
    judged.position,
    judged.head_position,
    chosen_run.name as run
from gold_pair(
    runs := (select list(chosen_run.id) from chosen_run),
    subtypes := $subtypes,
    possessive := $possessive,
    saved := $saved
) as judged
inner join chosen_run on chosen_run.id = judged.run
inner join document on document.id = judged.document
order by judged.sequence, judged.position, judged.dependent, judged.head_position
