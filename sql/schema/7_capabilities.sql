-- What an analysis may need besides attention: the ids of the runs that have trees, mentions, gradients, losses, ...,
-- whose maps are shares, or whose rows sum to 1; and whether and from what a relation was saved.

create or replace macro runs_with_trees() as coalesce(
    (
        select list(run.id)
        from run
        where run.corpus in (
            select document.corpus
            from document
            inner join sentence on sentence.document = document.id
            inner join word on word.sentence = sentence.id
            where word.head_index is not null
        )
    ),
    []
);
comment on macro runs_with_trees is 'The runs over a corpus with dependency trees.';

create or replace macro runs_with_mentions() as coalesce(
    (
        select list(run.id)
        from run
        where run.corpus in (
            select document.corpus
            from document
            inner join mention on mention.document = document.id
        )
    ),
    []
);
comment on macro runs_with_mentions is 'The runs over a corpus in which mentions are marked.';

create or replace macro runs_with_gradients() as coalesce(
    (
        select list(distinct sequence.run)
        from gradient
        inner join sequence on sequence.id = gradient.sequence
    ),
    []
);
comment on macro runs_with_gradients is 'The runs that were ingested with --gradients.';

create or replace macro runs_with_losses() as coalesce((select list(distinct ablation.run) from ablation), []);
comment on macro runs_with_losses is 'The runs that were ingested with --ablate.';

create or replace macro runs_with_surprisals() as coalesce((select list(distinct surprisal.run) from surprisal), []);
comment on macro runs_with_surprisals is 'The runs whose words have a surprisal.';

create or replace macro runs_with_ablations() as coalesce(
    (select list(distinct ablation_set.run) from ablation_set where ablation_set.finished is not null), []
);
comment on macro runs_with_ablations is 'The runs with a finished ablation of sets of heads.';

create or replace macro runs_with_pairs() as coalesce((select list(distinct minimal_pair.run) from minimal_pair), []);
comment on macro runs_with_pairs is 'The runs whose model was asked for minimal pairs.';

create or replace macro runs_with_ensembles() as coalesce(
    (select list(distinct tree_ensemble.run) from tree_ensemble), []
);
comment on macro runs_with_ensembles is 'The runs for which attnbank compute tree_ensemble chose heads.';

create or replace macro runs_with_decoded_trees() as coalesce(
    (select list(distinct attention_tree.run) from attention_tree), []
);
comment on macro runs_with_decoded_trees is 'The runs whose attention was decoded to trees.';

create or replace macro runs_with_constituents() as coalesce(
    (
        select list(run.id)
        from run
        where run.corpus in (
            select document.corpus
            from document
            inner join sentence on sentence.document = document.id
            inner join constituent on constituent.sentence = sentence.id
        )
    ),
    []
);
comment on macro runs_with_constituents is 'The runs over a corpus with bracketed trees.';

create or replace macro runs_with_spans() as coalesce(
    (select list(distinct attention_span.run) from attention_span), []
);
comment on macro runs_with_spans is 'The runs whose attention was decoded to phrases.';

create or replace macro runs_with_series() as coalesce(
    (
        select list(run.id)
        from run
        inner join model on model.id = run.model
        where model.series is not null
            and model.step is not null
    ),
    []
);
comment on macro runs_with_series is 'The runs of a checkpoint of a training whose step is known.';

create or replace macro runs_with_shares() as coalesce(
    (
        select list(run.id)
        from run
        where coalesce(run.measure, 'weights') not in ('norms', 'residual-norms')
    ),
    []
);
comment on macro runs_with_shares is 'The runs whose maps are shares of attention, and not norms (run.measure).';

create or replace macro runs_with_sums() as coalesce(
    (
        select list(run.id)
        from run
        inner join model on model.id = run.model
        where not coalesce(model.sinks, false)
            and list_contains(runs_with_shares(), run.id)
    ),
    []
);
comment on macro runs_with_sums is 'The runs whose rows of attention sum to 1: of models without sinks, and not of norms.';

create or replace macro as_saved(asked_relation) as (
    select max(saved_pair.relation) from saved_pair where saved_pair.relation = asked_relation
);
comment on macro as_saved is 'The name that is asked for, if a saved relation has that name; else null.';

-- A relation that was saved from a request about attention, A =[3-1]=> B, is what heads look at: they have no p value.
create or replace macro is_circular(asked_relation) as (
    select count(*) > 0
    from saved_relation
    where saved_relation.name = asked_relation
        and contains(saved_relation.request, ']=>')
);
comment on macro is_circular is 'Whether a relation was saved from a request about attention, so that it says nothing to test heads on it.';
