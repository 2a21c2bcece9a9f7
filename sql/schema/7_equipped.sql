-- What an analysis may need besides attention: the ids of the runs that have trees, mentions, gradients or losses, and
-- whether a relation was saved.

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

create or replace macro as_saved(asked_relation) as (
    select max(saved_pair.relation) from saved_pair where saved_pair.relation = asked_relation
);
comment on macro as_saved is 'The name that is asked for, if a saved relation has that name; else null.';
