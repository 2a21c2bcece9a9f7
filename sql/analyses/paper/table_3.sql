-- title: Table 3 as the paper prints it: the accuracy of each probe, in per cent of the words
-- paper: Clark et al. 2019, section 5, table 3
-- grain: one row per kind of probe that the bank has, in the paper's order; of random weights per (kind, seed)
-- formula: uas = 100 × |{d : found head = gold head}| / |{d}| over words d, uuas over the edges, as in probe_accuracy
-- empty: no probe of that run keeps the word vector of ROOT in its place
-- note: the newest probe on trained weights decides which model and which part of which corpus are shown. Each row is
--   the newest probe of its kind for these; random weights are the controls, and run tells their seed. Probes with ROOT
--   at the published place are left out, and so is punctuation.
-- note: the paper's structural probe is not here: it does not probe attention.
-- note: the training differs from the published one, and no word is its own candidate: see probe_accuracy.
-- param run varchar = null: name or id of the run they are scored on; by default that of the newest on trained weights
-- column probe varchar: what the probe reads
-- column embeddings varchar: where its word vectors come from; null where it uses none
-- column uas decimal(4,1): per cent of the words whose head it finds
-- column interval varchar: 95 % interval of uas
-- column uuas decimal(4,1): per cent of the edges between words that it finds in either direction
-- column run varchar: name of the run that it is scored on
with named_probe as (
    select
        probe.id,
        case
            when probe.kind = 'right_branching' then 'Right-branching'
            when probe.kind = 'distance_words' then 'Distances + words'
            else concat(
                case when model.random_seed is null then 'Attention' else 'Random attention' end,
                case when probe.kind = 'attention_words' then ' + words' else '' end
            )
        end as name,
        probe.embeddings, probe.test_run, probe.test_split, test_run.corpus,
        test_run.name as run,
        model.name as model,
        model.random_seed is not null as is_random,
        case when probe.kind in ('attention', 'attention_words') then model.random_seed end as seed
    from requested_probe() as requested
    inner join probe on probe.id = requested.id
    inner join run as test_run on test_run.id = probe.test_run
    inner join model on model.id = test_run.model
    where probe.root_at = 'root'
),

-- The model, corpus and split of the newest probe: of trained weights, if there is one.
newest_setting as (
    select model, corpus, test_split
    from named_probe
    where $run is null
        or is_run_named(test_run, run, $run)
    order by is_random, id desc
    limit 1
),

newest_probe as (
    select named_probe.*
    from named_probe
    inner join newest_setting
        on newest_setting.model = named_probe.model
        and newest_setting.corpus = named_probe.corpus
        and newest_setting.test_split is not distinct from named_probe.test_split
    qualify row_number() over (partition by named_probe.name, named_probe.seed order by named_probe.id desc) = 1
)

select
    newest_probe.name as probe,
    newest_probe.embeddings,
    cast(100 * probe_score.uas as decimal(4, 1)) as uas,
    concat(
        cast(cast(100 * probe_score.uas_low as decimal(4, 1)) as varchar), ' - ',
        cast(cast(100 * probe_score.uas_high as decimal(4, 1)) as varchar)
    ) as interval,
    cast(100 * probe_score.uuas as decimal(4, 1)) as uuas,
    newest_probe.run
from newest_probe
inner join probe_score on probe_score.probe = newest_probe.id
where probe_score.relation = 'all'
order by list_position(
    [
        'Right-branching', 'Distances + words', 'Random attention', 'Random attention + words', 'Attention',
        'Attention + words'
    ],
    newest_probe.name
), newest_probe.seed
