-- title: Every gold dependency of a run, with the positions of its two words in the attention maps
-- paper: Clark et al. 2019, section 4.2
-- grain: one row per word that has a syntactic head or is a root, in the inputs of the run
-- formula: the pairs (d, head(d)) of the trees, as positions of the inputs: head(d) is the gold head of the dependent d
-- run: unit=word needs=trees usual=sentence
-- note: the other analyses of dependency relations read this one, so that all of them score the same words.
-- note: words of a multiword token that is read as written share a position (du for de and le): each is a dependent
--   there. One between two of them is no pair of positions, and is left out (view inner_dependency).
-- note: a pair of a saved relation whose two words are not in one input of the run is left out.
-- note: the possessive 's of a possessor (relation poss or nmod:poss) is the next word, where it is a dependent of the
--   possessor with the relation case (Stanford Dependencies: possessive) and is written 's, s', ' or s, with either
--   apostrophe. An opening quotation mark is not such a dependent. The published code takes only possessors of the
--   relation poss and next words of the forms 's and s', whatever their relation; so it scores dogs' tails, where the
--   clitic is ', by the word dogs.
-- note: side says which directions can find the head, and are scored on the pair. In a causal model (model.causal) a
--   word sees only what stands before it: dependent_to_head finds heads to the left, head_to_dependent those to the
--   right, and later_to_earlier, from the later word to the earlier, whichever is the dependent, finds both. A pair
--   with a first word that is set apart (run.first_word) is scored in no direction, as special tokens are, and of a
--   causal model neither is a root, which has no head to find. findable is the share that is scored.
-- note: a head farther away than a sliding window reaches (model.sliding_window) counts as one that can be found.
-- param run, subtypes, possessive, saved
-- column sequence, document, split, sentence, dependent, head, relation, is_root, position, head_position, side, cluster
--   of gold_pair
-- column run
select
    gold.sequence, gold.document, gold.split, gold.sentence, gold.dependent, gold.head, gold.relation, gold.is_root,
    gold.position, gold.head_position, gold.side, gold.cluster,
    chosen_run.name as run
from gold_pair(
    runs := (select list(id) from chosen_run), subtypes := $subtypes, possessive := $possessive, saved := $saved
) as gold
inner join chosen_run on chosen_run.id = gold.run
order by gold.sequence, gold.position, gold.dependent, gold.head_position
