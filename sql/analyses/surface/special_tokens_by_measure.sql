-- title: Attention of each head to special tokens by weight and by norm, side by side
-- paper: after Kobayashi et al. 2020, section 4, figure 4; Clark et al. 2019, figure 2
-- grain: one row per (layer, head)
-- formula: weight_on_cls, norm_on_cls, ... are cls, sep, punctuation and first of special_tokens, in the two runs
-- run: favours=pair/token
-- plot: grid color=weight_on_cls,norm_on_cls,weight_on_sep,norm_on_sep domain=0,1
-- empty: no run of norms is like the run of weights. Make one: the same ingest with --measure norms
-- note: a head can put all its weight on [CLS] and take nothing from there if the value vector of [CLS] is short: the
--   weight on [CLS] is then a way to attend to nothing.
-- note: the run of norms is of the same model, corpus, context, unit and sample; the newest, unless one is named.
-- param norms_run varchar = null: name or id of the run of norms; by default the newest that is like the run of weights
-- column layer, head
-- column weight_on_cls double: mean weight on [CLS]; null where no input has it
-- column norm_on_cls double: share of all norms that [CLS] has; null where no input has it
-- column weight_on_sep double: mean weight on [SEP]; null where no input has it
-- column norm_on_sep double: share of all norms that [SEP] has; null where no input has it
-- column weight_on_punctuation double: mean weight on . and ,
-- column norm_on_punctuation double: share of all norms that . and , have
-- column weight_on_first double: mean weight on a first word that is set apart; null where none is
-- column norm_on_first double: share of all norms that it has, without what it keeps of itself; null for none
-- column norms_run varchar: name of the run of norms
-- column run
with matching_norms_run as (
    select max(run.id) as id
    from run
    inner join chosen_run on chosen_run.model = run.model and chosen_run.corpus = run.corpus
    inner join run as weights_run on weights_run.id = chosen_run.id
    where run.finished is not null
        and run.measure = 'norms'
        and run.context = weights_run.context
        and run.unit = weights_run.unit
        and run.subword = weights_run.subword
        and run.first_word is not distinct from weights_run.first_word
        and run.bos is not distinct from weights_run.bos
        and run."limit" is not distinct from weights_run."limit"
        and run.seed is not distinct from weights_run.seed
        and ($norms_run is null or is_run_named(run.id, run.name, $norms_run))
)

select
    by_weight.layer, by_weight.head,
    by_weight.cls as weight_on_cls,
    by_norm.cls as norm_on_cls,
    by_weight.sep as weight_on_sep,
    by_norm.sep as norm_on_sep,
    by_weight.punctuation as weight_on_punctuation,
    by_norm.punctuation as norm_on_punctuation,
    by_weight.first as weight_on_first,
    by_norm.first as norm_on_first,
    by_norm.run as norms_run,
    by_weight.run
from special_tokens(run := $run) as by_weight
inner join special_tokens(run := (select coalesce(cast(id as varchar), '') from matching_norms_run)) as by_norm
    using (layer, head)
order by by_weight.layer, by_weight.head
