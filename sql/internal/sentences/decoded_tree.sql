-- The tree that was decoded of a sentence, from one source: one row per word. If it was decoded in several ways,
-- preferably without a known root, and spanning.
select dependent, found_position, relation, is_found, layer, head, direction
from attention_tree(
    run := $run, sentence := $sentence, source := $source, layer := $layer, head := $head,
    root := (select max(root) from main.attention_tree as tree where run = cast($run as integer)),
    decoder := (select max(decoder) from main.attention_tree as tree where run = cast($run as integer))
) as arc
