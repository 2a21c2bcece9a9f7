-- title: The arcs of the trees that are decoded from attention, with the gold heads
-- paper: Htut et al. 2019; Limisiewicz et al. 2020; beside Clark et al. 2019, section 5
-- grain: one row per word of a sentence, in the order of the text
-- formula: tree = argmax over the trees of the words of Σ_{(d, g)} w(d, g), where w is α(d, g), α(g, d) or their mean
-- run: unit=word needs=decoded_trees usual=sentence
-- empty: no tree was decoded in this way (attnbank compute attention_tree --root ROOT --decoder DECODER)
-- note: by default the tree of the head and direction that finds most gold dependencies in the run (tree_accuracy), or
--   of the named layer or head. A layer without a head is the mean of its heads with source := 'layer'.
-- note: words of one position (a multiword token that is read as written) have one place in the tree. A first word that
--   is set apart has none.
-- param root, decoder
-- param source varchar = 'head' {head, layer, all, ensemble}: whose attention
-- param layer smallint = null: layer; by default the one that finds most
-- param head smallint = null: head; by default the one that finds most
-- param direction varchar = null {dependent_to_head, head_to_dependent, both, later_to_earlier}: what the weight of an
--   arc is; by default the one that finds most
-- param sentence, run
-- column sentence
-- column dependent bigint: word.id of the word
-- column position smallint: position of the word
-- column form varchar: the word
-- column found_head varchar: its head in the tree; null for the root
-- column gold_head varchar: its gold head; null for a root
-- column relation varchar: its gold relation
-- column is_correct boolean: whether the two are one; null for a gold root
-- column is_found boolean: whether the tree joins the word and its gold head in either direction; null for a gold root
-- column found_position smallint: position of its head in the tree
-- column source, layer, head, direction of tree_hit
-- column run

-- The source that finds the most gold dependencies, of those that the parameters allow.
with best as (
    select source, layer, head, direction
    from tree_hit(runs := (select list(id) from chosen_run), root := $root, decoder := $decoder) as hit
    where source = $source
        and ($layer is null or layer = $layer)
        and ($head is null or head = $head)
        and ($direction is null or direction = $direction)
    group by all
    order by sum(found) desc, layer, head, direction
    limit 1
),

tree as (
    select attention_tree.*
    from attention_tree
    inner join chosen_run on chosen_run.id = attention_tree.run
    inner join best
        on best.source = attention_tree.source
        and best.layer is not distinct from attention_tree.layer
        and best.head is not distinct from attention_tree.head
        and best.direction = attention_tree.direction
    where attention_tree.root = $root
        and attention_tree.decoder = $decoder
        and ($sentence is null or attention_tree.sentence = $sentence)
),

arc as (
    select
        tree.sequence, tree.sentence, tree.source, tree.layer, tree.head, tree.direction, tree.heads,
        tree.first_position, word_position.position, word_position.word,
        list_extract(tree.heads, word_position.position - tree.first_position + 1) as found_position
    from tree
    inner join word_position using (sequence)
    inner join word on word.id = word_position.word
    where word.sentence = tree.sentence
        and word_position.kind = 'word'
)

select
    arc.sentence,
    arc.word as dependent,
    arc.position, word.form,
    tree_head.text as found_head,
    gold_head.form as gold_head,
    word.deprel as relation,
    case when word.head_index > 0 then coalesce(arc.found_position = gold.head_position, false) end as is_correct,
    case
        when word.head_index > 0
            then coalesce(
                arc.found_position = gold.head_position
                or list_extract(arc.heads, gold.head_position - arc.first_position + 1) = arc.position,
                false
            )
    end as is_found,
    arc.found_position, arc.source, arc.layer, arc.head, arc.direction,
    (select name from chosen_run) as run
from arc
inner join word on word.id = arc.word
left join word as gold_head
    on gold_head.sentence = word.sentence
    and gold_head.index = word.head_index
left join position as tree_head
    on tree_head.sequence = arc.sequence
    and tree_head.position = arc.found_position
left join gold_pair(runs := (select list(id) from chosen_run)) as gold
    on gold.sequence = arc.sequence
    and gold.dependent = arc.word
order by arc.sentence, word.index
