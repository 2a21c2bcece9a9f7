-- The tree that was decoded of a sentence, from one source: one row per word. If it was decoded in several ways,
-- preferably without a known root, and spanning.
select
    arc.dependent,
    arc.found_position,
    arc.relation,
    arc.is_found,
    arc.layer,
    arc.head,
    arc.direction
from attention_tree(
    run := $run,
    sentence := $sentence,
    source := $source,
    layer := $layer,
    head := $head,
    root := (select max(tree.root) from main.attention_tree as tree where tree.run = cast($run as integer)),
    decoder := (select max(tree.decoder) from main.attention_tree as tree where tree.run = cast($run as integer))
) as arc
