-- title: How many gold dependencies the best trees of attention have, beside chains, random weights and probes
-- paper: Htut et al. 2019 and Limisiewicz et al. 2020, beside Clark et al. 2019, section 5, table 3
-- grain: one row per (tree, class), of random weights per seed as well; the trees in a fixed order
-- formula: (head, direction)* = argmax of uuas (or uas) over the dependencies of one half of the documents
-- formula: uuas = |{(d, g) : the tree has d → g or g → d}| / |{(d, g)}|, over the dependencies of the other half;
--   uas of d → g alone
-- formula: low, high: 95 % Wilson interval, where n is the number of independent dependencies that tell as much (by
--   documents)
-- formula: gain = (only_tree − only_chain) / n, where only_tree are the dependencies that the tree has and adjacent words
--   lack, only_chain those the other way round; over_head likewise, beside the best head; their 95 % intervals are
--   those of paired shares (Bonett and Price 2012), with n as above
-- run: unit=word needs=decoded_trees usual=sentence
-- plot: bars x=uuas y=tree,seed,class low=low high=high label=layer,head aside=n domain=0,1
-- empty: no tree was decoded in this way (attnbank compute attention_tree --root ROOT --decoder DECODER)
-- note: halves are every second document of the corpus, or every second sentence where the source marks none or the run
--   reads one. All trees but those of probes are scored on the half that chose nothing; the ensemble took its heads
--   from the other half too.
-- note: random weights is the best head of each run of random weights of the same build over the corpus, one per seed,
--   if its trees were decoded (attnbank compute attention_tree --run CONTROL).
-- note: chains join neighbouring words: the head of each is the next word, or the previous word; of adjacent words it
--   is either.
-- note: two trees differ where the interval of their difference leaves out 0, whether or not their own intervals
--   overlap: the same dependencies are easy for both.
-- note: models that are set side by side must be judged on the same words: with words_of := 'a causal run' the trees of
--   an encoder are chosen and scored without the first word of each input.
-- note: a probe has learnt from another run's trees. It is scored on the whole run, without punctuation, and its
--   uas counts roots. Its intervals are of resampled documents. With a class of length it has no row.
-- note: with classification := 'relation' uuas is the recall of each relation.
-- param root varchar = 'none' {none, gold}: what the trees know of the root
-- param decoder varchar = 'spanning' {spanning, projective}: the trees that were decoded with it
-- param measure varchar = 'uuas' {uuas, uas}: by what the best head and layer are chosen
-- param classification varchar = null {relation, length}: also one row for each relation, or range of sentence lengths
-- param punctuation boolean = false: judge dependencies of punctuation too
-- param words_of varchar = null: name or id of another run over the corpus; judge only dependencies that its trees can
--   have, too
-- param run
-- column tree varchar: best head, best layer, all heads, ensemble, random weights, adjacent words, next word,
--   previous word, or probe: and its kind
-- column seed integer: seed of the random weights; null for other trees
-- column layer smallint: 1-based layer; null where it is not of one
-- column head smallint: 1-based head; null where it is not of one
-- column direction varchar: dependent_to_head, head_to_dependent, both or later_to_earlier; null where it has none
-- column class varchar: the relation, or the range of the length of the sentence in words; all for all dependencies
-- column n bigint: gold dependencies that are judged
-- column findable double: their share of all between two words, in [0, 1]: 1 unless a first word is set apart, as in
--   causal models, or the words of another run are judged; null for probes
-- column uuas double: share of the dependencies that the tree has in either direction, in [0, 1]
-- column low double: lower end of the 95 % interval of uuas; null, like the others, where all are in one document
-- column high double: upper end of the 95 % interval of uuas
-- column gain double: uuas minus that of adjacent words, on the same dependencies; null for chains and probes
-- column gain_low, gain_high
-- column over_head double: uuas minus that of the best head, on the same dependencies; null but for other trees of
--   attention
-- column over_head_low double: lower end of the 95 % interval of over_head
-- column over_head_high double: upper end of the 95 % interval of over_head
-- column uas double: share of the dependencies that the tree has, in [0, 1]; null for adjacent words
-- column uas_low double: lower end of the 95 % interval of uas
-- column uas_high double: upper end of the 95 % interval of uas
-- column chosen_uuas double: its uuas on the half that it was chosen on; null where nothing was chosen
-- column run varchar: name of the run whose attention it is; of chains, of the run whose text it is
with

read_run as materialized (
    select max(chosen_run.name) as name, coalesce(list(chosen_run.id), []) as ids from chosen_run
),

control_run as materialized (
    select coalesce(list(control.id), []) as ids
    from corpus_run(run := (select read_run.name from read_run), is_control := true) as control
    inner join run on run.id = control.id
    inner join chosen_run on chosen_run.corpus = run.corpus
    inner join run_capability
        on run_capability.run = control.id
        and run_capability.capability = 'decoded_trees'
),

other_run as materialized (
    select coalesce(list(run.id) filter (where run.id is not null), []) as ids
    from chosen_run
    left join run
        on run.corpus = chosen_run.corpus
        and run.unit = 'word'
        and run.finished is not null
        and (run.name = $words_of or cast(run.id as varchar) = $words_of)
    where require(
        $words_of is null or run.id is not null,
        concat(
            'There is no finished run ', $words_of, ' of words over the corpus of ', chosen_run.name,
            '. Type: attnbank info'
        )
    )
),

hit as materialized (
    select each.*, list_contains((select control_run.ids from control_run), each.run) as is_control
    from tree_hit(
        runs := list_concat((select read_run.ids from read_run), (select control_run.ids from control_run)),
        root := $root, decoder := $decoder, punctuation := $punctuation, classification := $classification,
        within := (select other_run.ids from other_run)
    ) as each
),

named as (
    select
        case
            when hit.is_control then 'random weights'
            when hit.source = 'head' then 'best head'
            when hit.source = 'layer' then 'best layer'
            when hit.source = 'all' then 'all heads'
            else hit.source
        end as tree,
        hit.*
    from hit
    where hit.source = 'head'
        or not hit.is_control
),

best as (
    select each.tree, each.run, each.source, each.layer, each.head, each.direction, each.chosen_uuas
    from (
        select
            named.tree,
            named.run,
            named.source,
            named.layer,
            named.head,
            named.direction,
            ratio(sum(named.found), sum(named.n)) as chosen_uuas,
            row_number() over (
                partition by named.tree, named.run
                order by
                    sum(case when $measure = 'uas' then named.correct else named.found end) desc,
                    named.layer, named.head, named.direction
            ) as place
        from named
        where named.cluster % 2 = 1
        group by named.tree, named.run, named.source, named.layer, named.head, named.direction
    ) as each
    where each.place = 1
),

gold as materialized (
    select each.*
    from tree_gold(
        runs := list_concat((select read_run.ids from read_run), (select control_run.ids from control_run)),
        punctuation := $punctuation, classification := $classification,
        within := (select other_run.ids from other_run), is_whole := true
    ) as each
    where each.cluster % 2 = 0
        and exists (select hit.run from hit)
),

of_attention as materialized (
    select
        best.tree,
        best.layer,
        best.head,
        best.direction,
        best.chosen_uuas,
        best.run,
        gold.dependent,
        gold.cluster,
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
        and gold.is_judged
),

beside_head as (
    select own.*, best_head.found as found_by_head
    from of_attention as own
    left join of_attention as best_head
        on best_head.dependent = own.dependent
        and best_head.tree = 'best head'
        and own.tree <> 'best head'
),

chain as (
    select
        gold.run,
        gold.cluster,
        gold.class,
        count(*) as n,
        sum(case when abs(gold.position - gold.head_position) = 1 then 1 else 0 end) as found,
        sum(case when gold.head_position - gold.position = 1 then 1 else 0 end) as to_next,
        sum(case when gold.position - gold.head_position = 1 then 1 else 0 end) as to_previous
    from gold
    inner join chosen_run on chosen_run.id = gold.run
    where gold.is_judged
    group by gold.run, gold.cluster, gold.class
),

counted as (
    select
        beside_head.tree,
        beside_head.layer,
        beside_head.head,
        beside_head.direction,
        beside_head.chosen_uuas,
        beside_head.run,
        beside_head.cluster,
        beside_head.class,
        count(*) as n,
        sum(beside_head.found) as found,
        sum(beside_head.correct) as correct,
        sum(beside_head.found * (1 - beside_head.adjacent)) as only_tree,
        sum((1 - beside_head.found) * beside_head.adjacent) as only_chain,
        count(beside_head.found_by_head) as n_of_head,
        coalesce(sum(beside_head.found * (1 - beside_head.found_by_head)), 0) as not_by_head,
        coalesce(sum((1 - beside_head.found) * beside_head.found_by_head), 0) as only_by_head
    from beside_head
    group by
        beside_head.tree, beside_head.layer, beside_head.head, beside_head.direction, beside_head.chosen_uuas,
        beside_head.run, beside_head.cluster, beside_head.class
    union all
    select
        kind.tree,
        null as layer,
        null as head,
        null as direction,
        null as chosen_uuas,
        chain.run,
        chain.cluster,
        chain.class,
        chain.n,
        chain.found,
        case kind.tree
            when 'next word' then chain.to_next
            when 'previous word' then chain.to_previous
        end as correct,
        null as only_tree,
        null as only_chain,
        0 as n_of_head,
        0 as not_by_head,
        0 as only_by_head
    from chain
    cross join (select unnest(['adjacent words', 'next word', 'previous word']) as tree) as kind
),

classed as (
    select
        counted.*,
        unnest(case when counted.class = 'all' then ['all'] else ['all', counted.class] end) as counted_as
    from counted
),

cluster_sum as (
    select
        classed.tree,
        classed.layer,
        classed.head,
        classed.direction,
        classed.chosen_uuas,
        classed.run,
        classed.counted_as as class,
        classed.cluster,
        sum(classed.n) as n,
        sum(classed.found) as found,
        sum(classed.correct) as correct,
        sum(classed.only_tree) as only_tree,
        sum(classed.only_chain) as only_chain,
        sum(classed.n_of_head) as n_of_head,
        sum(classed.not_by_head) as not_by_head,
        sum(classed.only_by_head) as only_by_head
    from classed
    group by
        classed.tree, classed.layer, classed.head, classed.direction, classed.chosen_uuas, classed.run,
        classed.counted_as, classed.cluster
),

scored as (
    select
        cluster_sum.tree,
        cluster_sum.layer,
        cluster_sum.head,
        cluster_sum.direction,
        cluster_sum.chosen_uuas,
        cluster_sum.run,
        cluster_sum.class,
        sum(cluster_sum.n) as n,
        ratio(sum(cluster_sum.found), sum(cluster_sum.n)) as uuas,
        clustered_n(cluster_sum.found, cluster_sum.n) as effective,
        ratio(sum(cluster_sum.correct), sum(cluster_sum.n)) as uas,
        clustered_n(cluster_sum.correct, cluster_sum.n) as uas_effective,
        sum(cluster_sum.only_tree) as only_tree,
        sum(cluster_sum.only_chain) as only_chain,
        clustered_pairs(cluster_sum.only_tree, cluster_sum.only_chain, cluster_sum.n) as gain_effective,
        nullif(sum(cluster_sum.n_of_head), 0) as n_of_head,
        sum(cluster_sum.not_by_head) as not_by_head,
        sum(cluster_sum.only_by_head) as only_by_head,
        clustered_pairs(
            cluster_sum.not_by_head, cluster_sum.only_by_head, cluster_sum.n_of_head
        ) as over_head_effective
    from cluster_sum
    group by
        cluster_sum.tree, cluster_sum.layer, cluster_sum.head, cluster_sum.direction, cluster_sum.chosen_uuas,
        cluster_sum.run, cluster_sum.class
),

extent as (
    select each.run, each.class, share_of(each.is_judged) as findable
    from (
        select
            gold.run,
            gold.is_judged,
            unnest(case when gold.class = 'all' then ['all'] else ['all', gold.class] end) as class
        from gold
    ) as each
    group by each.run, each.class
),

every_tree as (
    select
        scored.tree,
        case when scored.tree = 'random weights' then model.random_seed end as seed,
        scored.layer,
        scored.head,
        scored.direction,
        scored.class,
        cast(scored.n as bigint) as n,
        extent.findable,
        scored.uuas,
        wilson_low(scored.uuas * scored.effective, scored.effective) as low,
        wilson_high(scored.uuas * scored.effective, scored.effective) as high,
        ratio(scored.only_tree - scored.only_chain, scored.n) as gain,
        paired_low(scored.only_tree, scored.only_chain, scored.n, scored.gain_effective) as gain_low,
        paired_high(scored.only_tree, scored.only_chain, scored.n, scored.gain_effective) as gain_high,
        ratio(scored.not_by_head - scored.only_by_head, scored.n_of_head) as over_head,
        paired_low(
            scored.not_by_head, scored.only_by_head, scored.n_of_head, scored.over_head_effective
        ) as over_head_low,
        paired_high(
            scored.not_by_head, scored.only_by_head, scored.n_of_head, scored.over_head_effective
        ) as over_head_high,
        scored.uas,
        case
            when scored.uas is not null
                then wilson_low(scored.uas * scored.uas_effective, scored.uas_effective)
        end as uas_low,
        case
            when scored.uas is not null
                then wilson_high(scored.uas * scored.uas_effective, scored.uas_effective)
        end as uas_high,
        scored.chosen_uuas,
        run.name as run
    from scored
    inner join run on run.id = scored.run
    inner join model on model.id = run.model
    inner join extent
        on extent.run = scored.run
        and extent.class = scored.class
    union all
    select
        concat('probe: ', probe.kind) as tree,
        null as seed,
        null as layer,
        null as head,
        null as direction,
        probe_score.relation as class,
        probe_score.edges as n,
        null as findable,
        probe_score.uuas,
        probe_score.uuas_low as low,
        probe_score.uuas_high as high,
        null as gain,
        null as gain_low,
        null as gain_high,
        null as over_head,
        null as over_head_low,
        null as over_head_high,
        probe_score.uas,
        probe_score.uas_low,
        probe_score.uas_high,
        null as chosen_uuas,
        chosen_run.name as run
    from probe_score
    inner join probe on probe.id = probe_score.probe
    inner join chosen_run on chosen_run.id = probe.test_run
    where probe_score.edges > 0
        and exists (select hit.run from hit)
        and (probe_score.relation = 'all' or $classification = 'relation')
        and $words_of is null
)

select every_tree.*
from every_tree
order by
    case every_tree.class when 'all' then 0 else 1 end,
    case when $classification = 'relation' then every_tree.class end,
    case every_tree.class
        when '1-10 words' then 1
        when '11-20 words' then 2
        when '21-30 words' then 3
        when '31-40 words' then 4
        else 5
    end,
    case every_tree.tree
        when 'best head' then 1
        when 'best layer' then 2
        when 'all heads' then 3
        when 'ensemble' then 4
        when 'random weights' then 5
        when 'adjacent words' then 6
        when 'next word' then 7
        when 'previous word' then 8
        else 9
    end,
    every_tree.tree,
    every_tree.seed,
    every_tree.n desc,
    every_tree.uuas desc
