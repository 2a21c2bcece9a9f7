-- title: The heads in a plane, placed by the distances between them, and the behaviour of each
-- paper: Clark et al. 2019, section 6, figure 6
-- grain: one row per (layer, head)
-- formula: δ(a, b) = js_divergence(a, b) / n_tokens, of head_distance
-- formula: stress = √(Σ_{a<b} (δ(a, b) − |z_a − z_b|)² / Σ_{a<b} δ(a, b)²), where the places z = (x, y) make it small
-- run: needs=sums favours=pair/token
-- plot: scatter x=x y=y color=behaviour label=layer,head
-- caption x: MDS dimension 1 (nats per token)
-- caption y: MDS dimension 2 (nats per token)
-- note: metric multidimensional scaling of head_distance, computed once and stored in table head_embedding by attnbank
--   compute head_embedding. It starts once from classical scaling and several times at random and keeps the result with
--   the least stress; the published code keeps the best of five random starts.
-- note: behaviour is the first that holds of: the relation for which it is the best head by more than min_gain over the
--   best fixed offset, with a p_corrected (of best_relation) below p_below (the largest gain, of several; best_head with
--   its defaults), punctuation, sep, cls, first (mean weight over target_threshold; first is a first word that is set
--   apart), broad (entropy over broad_threshold; inputs of n tokens cannot exceed ln n), previous, next (mean weight over
--   position_threshold), other. So does the published code, where the later label hides the earlier. The thresholds are
--   its own, but for min_gain and p_below: it names six heads by hand, one of them for coreference.
-- note: relations need a run of the same model over single sentences of words, with trees: ingest an annotated corpus
--   into the same bank. syntax_run names one.
-- param smoothing
-- param position_threshold double = 0.5: mean weight above which a head attends to the next or the previous token
-- param broad_threshold double = 3.8: entropy in nats above which a head attends broadly
-- param target_threshold double = 0.6: mean weight above which a head attends to [CLS], [SEP] or punctuation
-- param min_gain double = 0.1: gain over the best offset above which a best head has a linguistic role
-- param p_below double = 0.05: p_corrected below which a best head has a linguistic role; 2 asks for none
-- param run
-- param syntax_run varchar = null: run that relations are read from; by default the bank's default run, else the newest
--   finished one of single sentences of words, of the same model
-- column layer, head
-- column x double: place along the axis on which the heads differ most, in nats per token
-- column y double: place along the other axis, in nats per token
-- column stress double: normalised stress of the whole picture: 0 keeps every distance
-- column behaviour varchar: a relation, punctuation, sep, cls, first, broad, previous, next, or other
-- column strength double: the figure that decides it: mean weight, entropy, or accuracy; null for other
-- column run
with relation_run as (
    select candidate.name
    from run_candidate(unit := 'word', needs := 'trees', usual := 'sentence') as candidate
    inner join chosen_run using (model)
    where candidate.unusable_because is null
        and case
            when $syntax_run is null
                then candidate.not_default_because is null or candidate.not_default_because = 'its weights are random'
            else is_run_named(candidate.id, candidate.name, $syntax_run)
        end
    order by
        case when candidate.is_preferred then 0 else 1 end,
        case when candidate.is_whole then 0 else 1 end,
        candidate.id desc
    limit 1
),

role as (
    select layer, head, relation, best.accuracy
    from best_head(run := coalesce((select name from relation_run), '')) as best
    inner join best_relation(
        run := coalesce((select name from relation_run), ''), min_count := 10, most := 1000000
    ) as tested using (relation, layer, head, direction)
    where relation <> 'all'
        and relation <> 'punct'
        and relation <> 'p'
        and best.gain > $min_gain
        and coalesce(tested.p_corrected, cast(1 as double)) < $p_below
    qualify row_number() over (partition by layer, head order by best.gain desc, relation) = 1
),

computed_run as (
    select id, name
    from chosen_run
    where require(
        id in (
            select run
            from head_embedding
            where abs(smoothing - $smoothing) < cast(0.000000000001 as double)
        ),
        concat(
            'The map of the heads has not been computed for ', name, '. Type: attnbank compute head_embedding --run ',
            cast(id as varchar), ' --smoothing ', cast($smoothing as varchar)
        )
    )
),

-- What a head does is the first of these that holds of it.
head_behaviour as (
    select
        computed_run.name as run,
        embedded_head.layer, embedded_head.head, embedded_head.x, embedded_head.y, embedded_head.stress,
        case
            when role.relation is not null then {'behaviour': role.relation, 'strength': role.accuracy}
            when special.punctuation > $target_threshold
                then {'behaviour': 'punctuation', 'strength': special.punctuation}
            when special.sep > $target_threshold then {'behaviour': 'sep', 'strength': special.sep}
            when special.cls > $target_threshold then {'behaviour': 'cls', 'strength': special.cls}
            when special.first > $target_threshold then {'behaviour': 'first', 'strength': special.first}
            when breadth.entropy > $broad_threshold then {'behaviour': 'broad', 'strength': breadth.entropy}
            when relative.previous > $position_threshold then {'behaviour': 'previous', 'strength': relative.previous}
            when relative.next > $position_threshold then {'behaviour': 'next', 'strength': relative.next}
            else {'behaviour': 'other', 'strength': cast(null as double)}
        end as label
    from computed_run
    left join head_embedding as embedded_head
        on embedded_head.run = computed_run.id
        and abs(embedded_head.smoothing - $smoothing) < cast(0.000000000001 as double)
    left join relative_position(run := $run) as relative using (layer, head)
    left join entropy(run := $run) as breadth using (layer, head)
    left join special_tokens(run := $run) as special using (layer, head)
    left join role using (layer, head)
)

select layer, head, x, y, stress, label.behaviour as behaviour, label.strength as strength, run
from head_behaviour
order by layer, head
