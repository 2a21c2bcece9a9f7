-- title: How many gold dependencies the best trees of attention have, compared with chains, random weights and probes
-- paper: Htut et al. 2019 and Limisiewicz et al. 2020, beside Clark et al. 2019, section 5, table 3
-- grain: one row per (tree, class), of random weights per seed as well; the trees in a fixed order
-- formula: (head, direction)* = argmax of uuas (or uas) over the dependencies of one half of the documents
-- formula: uuas = |{(d, g) : the tree has d → g or g → d}| / |{(d, g)}|, over the other half; uas of d → g alone
-- formula: low, high: 95 % Wilson interval, where n is the effective number of independent dependencies (by documents)
-- formula: gain = (only_tree − only_chain) / n, where only_tree are the dependencies that the tree has and adjacent
--   words lack, only_chain the reverse; over_head likewise, compared with the best head; their 95 % intervals are those
--   of paired shares (Bonett and Price 2012), with n as above
-- run: unit=word needs=decoded_trees usual=sentence
-- plot: bars x=uuas y=tree,seed,class low=low high=high label=layer,head aside=n domain=0,1
-- empty: no tree was decoded in this way (attnbank compute attention_tree --root ROOT --decoder DECODER)
-- note: heads and layers are chosen on one half of the documents, those of the ensemble too, and all trees but those of
--   probes are scored on the other. Halves are every second document of the corpus, or every second sentence if the
--   source marks no documents or the run has only one.
-- note: random weights is the best head of each run of random weights of the same build over the corpus, one per seed,
--   if its trees were decoded (attnbank compute attention_tree --run CONTROL).
-- note: chains join neighbouring words: the head of each is the next word, or the previous; of adjacent words either.
-- note: two trees differ where the interval of their difference leaves out 0, whether or not their own intervals
--   overlap: the same dependencies are easy for both.
-- note: models must be compared on the same words: with words_of := 'a causal run' the trees of an encoder are chosen
--   and scored without the first word of each input.
-- note: a probe has learnt from another run's trees. It is scored on the whole run, without punctuation, and its uas
--   counts roots. Its intervals are of resampled documents. With a class of length it has no row.
-- note: with classification := 'relation' uuas is the recall of each relation.
-- param root, decoder
-- param measure varchar = 'uuas' {uuas, uas}: the score by which the best head and layer are chosen
-- param classification varchar = null {relation, length}: also one row for each relation, or range of sentence lengths
-- param punctuation
-- param words_of varchar = null: name or id of another run over the corpus; score only what its trees can have, too
-- param run
-- column tree varchar: best head, best layer, all heads, ensemble, random weights, adjacent words, next word, previous
--   word, or probe: and its kind
-- column seed integer: seed of the random weights; null for other trees
-- column layer smallint: 1-based layer; null where it is not of one
-- column head smallint: 1-based head; null where it is not of one
-- column direction varchar: dependent_to_head, head_to_dependent, both or later_to_earlier; null where it has none
-- column class varchar: the relation, or the range of the length of the sentence in words; all for all dependencies
-- column n bigint: gold dependencies that are scored
-- column findable double: their share of all, in [0, 1]: 1 unless a first word is set apart, as in causal models, or
--   the words of another run are scored; null for probes
-- column uuas double: share of the dependencies that the tree has in either direction, in [0, 1]
-- column low double: lower end of the 95 % interval of uuas; null, like the others, where all are in one document
-- column high double: upper end of the 95 % interval of uuas
-- column gain double: uuas minus that of adjacent words, on the same dependencies; null for chains and probes
-- column gain_low, gain_high
-- column over_head double: uuas minus the best head's on the same dependencies; null but for other attention trees
-- column over_head_low double: lower end of the 95 % interval of over_head
-- column over_head_high double: upper end of the 95 % interval of over_head
-- column uas double: share of the dependencies that the tree has, in [0, 1]; null for adjacent words
-- column uas_low double: lower end of the 95 % interval of uas
-- column uas_high double: upper end of the 95 % interval of uas
-- column chosen_uuas double: its uuas on the half that it was chosen on; null where nothing was chosen
-- column run varchar: name of the run whose attention it is; of chains, of the run whose text it is
with control_run as materialized (
    select coalesce(list(matching_control.id), []) as ids
    from corpus_run(run := (select name from chosen_run), is_control := true) as matching_control
    inner join run on run.id = matching_control.id
    inner join chosen_run on chosen_run.corpus = run.corpus
    inner join run_capability
        on run_capability.run = matching_control.id
        and run_capability.capability = 'decoded_trees'
),

other_run as materialized (
    select coalesce(list(run.id) filter (where run.id is not null), []) as ids
    from chosen_run
    left join run
        on run.corpus = chosen_run.corpus
        and run.unit = 'word'
        and run.finished is not null
        and is_run_named(run.id, run.name, $words_of)
    where require(
        $words_of is null or run.id is not null,
        concat(
            'There is no finished run ', $words_of, ' of words over the corpus of ', chosen_run.name,
            '. Type: attnbank info'
        )
    )
),

-- Of a control only its heads count.
hit as materialized (
    select
        case
            when list_contains((select ids from control_run), run) then 'random weights'
            when source = 'head' then 'best head'
            when source = 'layer' then 'best layer'
            when source = 'all' then 'all heads'
            else source
        end as tree,
        cluster_hit.*
    from tree_hit(
        runs := list_concat((select list(id) from chosen_run), (select ids from control_run)),
        root := $root, decoder := $decoder, punctuation := $punctuation, classification := $classification,
        within := (select ids from other_run)
    ) as cluster_hit
    where source = 'head'
        or not list_contains((select ids from control_run), run)
),

-- Chosen on the odd clusters; all that follows is scored on the even ones.
best as (
    select tree, run, source, layer, head, direction, ratio(sum(found), sum(n)) as chosen_uuas
    from hit
    where cluster % 2 = 1
    group by tree, run, source, layer, head, direction
    qualify row_number() over (
        partition by tree, run
        order by sum(case when $measure = 'uas' then correct else found end) desc, layer, head, direction
    ) = 1
),

gold as materialized (
    select tree_pair.*
    from gold_tree_pair(
        runs := list_concat((select list(id) from chosen_run), (select ids from control_run)),
        punctuation := $punctuation, classification := $classification,
        within := (select ids from other_run), is_whole := true
    ) as tree_pair
    where cluster % 2 = 0
        and exists (select run from hit)
),

tree_dependency as materialized (
    select
        best.tree, best.layer, best.head, best.direction, best.chosen_uuas, best.run, gold.dependent, gold.cluster,
        gold.class,
        has_edge(tree.heads, tree.first_position, gold.position, gold.head_position) as found,
        has_arc(tree.heads, tree.first_position, gold.position, gold.head_position) as correct,
        case when abs(gold.position - gold.head_position) = 1 then 1 else 0 end as adjacent
    from best
    inner join attention_tree as tree
        on tree.run = best.run
        and tree.source = best.source
        and tree.layer is not distinct from best.layer
        and tree.head is not distinct from best.head
        and tree.direction = best.direction
    inner join gold
        on gold.run = tree.run
        and gold.sequence = tree.sequence
        and gold.sentence = tree.sentence
    where tree.root = $root
        and tree.decoder = $decoder
        and gold.is_findable
),

-- found_by_head is null for the best head itself, and for dependencies that its tree cannot have.
compared_dependency as (
    select dependency.*, best_head.found as found_by_head
    from tree_dependency as dependency
    left join tree_dependency as best_head
        on best_head.dependent = dependency.dependent
        and best_head.tree = 'best head'
        and dependency.tree <> 'best head'
),

chain_hit as (
    select
        gold.run, gold.cluster, gold.class,
        count(*) as n,
        sum(case when abs(gold.position - gold.head_position) = 1 then 1 else 0 end) as found,
        sum(case when gold.head_position - gold.position = 1 then 1 else 0 end) as to_next,
        sum(case when gold.position - gold.head_position = 1 then 1 else 0 end) as to_previous
    from gold
    inner join chosen_run on chosen_run.id = gold.run
    where gold.is_findable
    group by all
),

-- only_tree and only_chain are null for chains, which are not compared with themselves.
class_count as (
    select
        tree, layer, head, direction, chosen_uuas, run, cluster,
        class as own_class,
        count(*) as n,
        sum(found) as found,
        sum(correct) as correct,
        sum(found * (1 - adjacent)) as only_tree,
        sum((1 - found) * adjacent) as only_chain,
        count(found_by_head) as n_of_head,
        coalesce(sum(found * (1 - found_by_head)), 0) as not_by_head,
        coalesce(sum((1 - found) * found_by_head), 0) as only_by_head
    from compared_dependency
    group by all
    union all
    select
        kind.tree, null, null, null, null, chain_hit.run, chain_hit.cluster, chain_hit.class, chain_hit.n,
        chain_hit.found,
        case kind.tree when 'next word' then chain_hit.to_next when 'previous word' then chain_hit.to_previous end,
        null, null, 0, 0, 0
    from chain_hit
    cross join (select unnest(['adjacent words', 'next word', 'previous word']) as tree) as kind
),

-- A dependency counts in its class and in all.
per_cluster as (
    select
        tree, layer, head, direction, chosen_uuas, run, class, cluster,
        sum(n) as n,
        sum(found) as found,
        sum(correct) as correct,
        sum(only_tree) as only_tree,
        sum(only_chain) as only_chain,
        sum(n_of_head) as n_of_head,
        sum(not_by_head) as not_by_head,
        sum(only_by_head) as only_by_head
    from (
        select class_count.*, unnest(case when own_class = 'all' then ['all'] else ['all', own_class] end) as class
        from class_count
    ) as counted_class
    group by all
),

-- n_of_head is 0 for trees that are not compared with the best head: null, so that over_head is null.
per_tree as (
    select
        tree, layer, head, direction, chosen_uuas, run, class,
        sum(n) as n,
        ratio(sum(found), sum(n)) as uuas,
        clustered_n(found, n) as effective,
        ratio(sum(correct), sum(n)) as uas,
        clustered_n(correct, n) as uas_effective,
        sum(only_tree) as only_tree,
        sum(only_chain) as only_chain,
        clustered_pairs(only_tree, only_chain, n) as gain_effective,
        nullif(sum(n_of_head), 0) as n_of_head,
        sum(not_by_head) as not_by_head,
        sum(only_by_head) as only_by_head,
        clustered_pairs(not_by_head, only_by_head, n_of_head) as over_head_effective
    from per_cluster
    group by all
),

coverage as (
    select run, class, share_of(is_findable) as findable
    from (
        select run, is_findable, unnest(case when class = 'all' then ['all'] else ['all', class] end) as class
        from gold
    ) as gold_class
    group by all
),

scored_tree as (
    select
        per_tree.tree,
        case when per_tree.tree = 'random weights' then model.random_seed end as seed,
        per_tree.layer, per_tree.head, per_tree.direction, per_tree.class,
        cast(per_tree.n as bigint) as n,
        coverage.findable, per_tree.uuas,
        wilson_low(per_tree.uuas * per_tree.effective, per_tree.effective) as low,
        wilson_high(per_tree.uuas * per_tree.effective, per_tree.effective) as high,
        ratio(per_tree.only_tree - per_tree.only_chain, per_tree.n) as gain,
        paired_low(per_tree.only_tree, per_tree.only_chain, per_tree.n, per_tree.gain_effective) as gain_low,
        paired_high(per_tree.only_tree, per_tree.only_chain, per_tree.n, per_tree.gain_effective) as gain_high,
        ratio(per_tree.not_by_head - per_tree.only_by_head, per_tree.n_of_head) as over_head,
        paired_low(
            per_tree.not_by_head, per_tree.only_by_head, per_tree.n_of_head, per_tree.over_head_effective
        ) as over_head_low,
        paired_high(
            per_tree.not_by_head, per_tree.only_by_head, per_tree.n_of_head, per_tree.over_head_effective
        ) as over_head_high,
        per_tree.uas,
        wilson_low(per_tree.uas * per_tree.uas_effective, per_tree.uas_effective) as uas_low,
        wilson_high(per_tree.uas * per_tree.uas_effective, per_tree.uas_effective) as uas_high,
        per_tree.chosen_uuas,
        run.name as run
    from per_tree
    inner join run on run.id = per_tree.run
    inner join model on model.id = run.model
    inner join coverage using (run, class)
    union all
    select
        concat('probe: ', probe.kind) as tree,
        null as seed, null as layer, null as head, null as direction,
        probe_score.relation as class,
        probe_score.edges as n,
        null as findable, probe_score.uuas,
        probe_score.uuas_low as low,
        probe_score.uuas_high as high,
        null as gain, null as gain_low, null as gain_high, null as over_head, null as over_head_low,
        null as over_head_high, probe_score.uas, probe_score.uas_low, probe_score.uas_high, null as chosen_uuas,
        chosen_run.name as run
    from probe_score
    inner join probe on probe.id = probe_score.probe
    inner join chosen_run on chosen_run.id = probe.test_run
    where probe_score.edges > 0
        and exists (select run from hit)
        and (probe_score.relation = 'all' or $classification = 'relation')
        and $words_of is null
)

select scored_tree.*
from scored_tree
order by
    case class when 'all' then 0 else 1 end,
    case when $classification = 'relation' then class end,
    list_position(['1-10 words', '11-20 words', '21-30 words', '31-40 words', 'over 40 words'], class),
    coalesce(nullif(list_position(
        [
            'best head', 'best layer', 'all heads', 'ensemble', 'random weights', 'adjacent words', 'next word',
            'previous word'
        ],
        tree
    ), 0), 9),
    tree, seed, n desc, uuas desc
