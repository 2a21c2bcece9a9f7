-- title: The heads in a plane, near each other where they attend alike, and what each of them does
-- paper: Clark et al. 2019, section 6, figure 6
-- grain: one row per (layer, head)
-- formula: δ(a, b) = js_divergence(a, b) / n_tokens, of head_distance
-- formula: stress = √(Σ_{a<b} (δ(a, b) − |z_a − z_b|)² / Σ_{a<b} δ(a, b)²), where z = (x, y) are the places that
--   make it small
-- run: favours=pair/token
-- plot: scatter x=x y=y color=behaviour label=layer,head
-- note: metric multidimensional scaling of head_distance, computed once and kept in table head_embedding. Where the
--   run has none, type: attnbank compute head_embedding. Of one start from classical scaling and several random ones
--   the picture with the least stress is kept; the published code keeps the best of five random ones.
-- note: behaviour is the first that holds of: the relation for which it is the best head by more than min_gain over the
--   best fixed offset (the largest gain, of several; best_head with its defaults), punctuation, sep, cls (mean weight
--   over target_threshold), broad (entropy over broad_threshold; inputs of n tokens cannot exceed ln n), previous, next
--   (mean weight over position_threshold), other. So does the published code, where the later label hides the earlier.
--   The thresholds are its own, but for min_gain: it names six heads by hand, one of them for coreference.
-- note: relations need a run of the same model over single sentences of words, with trees: ingest an annotated corpus
--   into the same bank. syntax_run names one.
-- param smoothing double = 0.001: share of a uniform distribution that is mixed into every one (published code:
--   0.001)
-- param position_threshold double = 0.5: mean weight from which a head looks at the next or the previous token
-- param broad_threshold double = 3.8: entropy in nats from which a head attends broadly
-- param target_threshold double = 0.6: mean weight from which a head looks at [CLS], [SEP] or punctuation
-- param min_gain double = 0.1: accuracy over the best offset from which a best head has a linguistic role
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights that fits, of token pairs before others
-- param syntax_run varchar = null: run that relations are read from; by default the bank's own choice, else the newest
--   finished one of single sentences of words, of the same model
-- column layer smallint: 1-based layer
-- column head smallint: 1-based head
-- column x double: place along the axis on which the heads differ most, in nats per token
-- column y double: place along the other axis, in nats per token
-- column stress double: normalised stress of the whole picture: 0 keeps every distance
-- column behaviour varchar: a relation, punctuation, sep, cls, broad, previous, next, or other
-- column strength double: the figure that decides it: mean weight, entropy, or accuracy; null for other
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name, chosen.model
    from chosen_run(asked := $run, favours := 'pair/token') as chosen
),

read_for_syntax as (
    select fit.name
    from run_fit(unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence') as fit
    inner join chosen_run on chosen_run.model = fit.model
    where fit.misfit is null
        and case
            when $syntax_run is null then fit.reserve is null or fit.reserve = 'its weights are random'
            else fit.name = $syntax_run or cast(fit.id as varchar) = $syntax_run
        end
    order by case when fit.is_preferred then 0 else 1 end, fit.id desc
    limit 1
),

role as (
    select best.layer, best.head, best.relation, best.accuracy
    from best_head(run := coalesce((select read_for_syntax.name from read_for_syntax), '')) as best
    where best.relation <> 'all'
        and best.relation <> 'punct'
        and best.relation <> 'p'
        and best.gain > $min_gain
    qualify row_number() over (
        partition by best.layer, best.head
        order by best.gain desc, best.relation
    ) = 1
),

measured as (
    select
        head_embedding.layer,
        head_embedding.head,
        head_embedding.x,
        head_embedding.y,
        head_embedding.stress,
        role.relation,
        role.accuracy,
        relative.next,
        relative.previous,
        broad.entropy,
        special.cls,
        special.sep,
        special.punctuation
    from head_embedding
    inner join chosen_run on chosen_run.id = head_embedding.run
    inner join relative_position(run := $run) as relative
        on relative.layer = head_embedding.layer
        and relative.head = head_embedding.head
    inner join entropy(run := $run) as broad
        on broad.layer = head_embedding.layer
        and broad.head = head_embedding.head
    inner join special_tokens(run := $run) as special
        on special.layer = head_embedding.layer
        and special.head = head_embedding.head
    left join role
        on role.layer = head_embedding.layer
        and role.head = head_embedding.head
    where abs(head_embedding.smoothing - $smoothing) < cast(0.000000000001 as double)
),

named as (
    select
        measured.*,
        case
            when measured.relation is not null then measured.relation
            when measured.punctuation > $target_threshold then 'punctuation'
            when measured.sep > $target_threshold then 'sep'
            when measured.cls > $target_threshold then 'cls'
            when measured.entropy > $broad_threshold then 'broad'
            when measured.previous > $position_threshold then 'previous'
            when measured.next > $position_threshold then 'next'
            else 'other'
        end as behaviour
    from measured
),

shown as (
    select
        named.layer,
        named.head,
        named.x,
        named.y,
        named.stress,
        named.behaviour,
        case
            when named.behaviour = 'next' then named.next
            when named.behaviour = 'previous' then named.previous
            when named.behaviour = 'broad' then named.entropy
            when named.behaviour = 'cls' then named.cls
            when named.behaviour = 'sep' then named.sep
            when named.behaviour = 'punctuation' then named.punctuation
            when named.behaviour <> 'other' then named.accuracy
        end as strength,
        chosen_run.name as run
    from named
    cross join chosen_run
),

refused as (
    select
        cast(null as smallint) as layer,
        cast(null as smallint) as head,
        cast(null as double) as x,
        cast(null as double) as y,
        cast(null as double) as stress,
        cast(null as varchar) as behaviour,
        cast(null as double) as strength,
        cast(null as varchar) as run
    from chosen_run
    where not refuse_unless(
        chosen_run.id in (
            select head_embedding.run
            from head_embedding
            where abs(head_embedding.smoothing - $smoothing) < cast(0.000000000001 as double)
        ),
        concat(
            'The heads of ',
            chosen_run.name,
            ' have no places yet. Type: attnbank compute head_embedding --run ',
            cast(chosen_run.id as varchar),
            ' --smoothing ',
            cast($smoothing as varchar)
        )
    )
)

select shown.layer, shown.head, shown.x, shown.y, shown.stress, shown.behaviour, shown.strength, shown.run
from shown
union all
select
    refused.layer,
    refused.head,
    refused.x,
    refused.y,
    refused.stress,
    refused.behaviour,
    refused.strength,
    refused.run
from refused
order by layer, head
