-- Views in the shapes that people expect: dependencies, heads, and one row per weight.

create or replace view dependency as
select
    dependent.sentence,
    dependent.id as dependent,
    gold_head.id as head,
    dependent.deprel as relation,
    dependent.index as dependent_index,
    dependent.head_index,
    dependent.form as dependent_form,
    gold_head.form as head_form
from word as dependent
left join word as gold_head
    on gold_head.sentence = dependent.sentence
    and gold_head.index = dependent.head_index
where dependent.head_index is not null;
comment on view dependency is 'The dependency trees: one row per dependent.';
comment on column dependency.sentence is 'sentence.id of the sentence.';
comment on column dependency.dependent is 'word.id of the dependent.';
comment on column dependency.head is 'word.id of its syntactic head; null for the root.';
comment on column dependency.relation is 'The relation, subtype included.';
comment on column dependency.dependent_index is '1-based place of the dependent in the sentence.';
comment on column dependency.head_index is '1-based place of the head; 0 for the root.';
comment on column dependency.dependent_form is 'The dependent as it is written.';
comment on column dependency.head_form is 'The head as it is written; null for the root.';

create or replace view head as
select
    layered.model,
    cast(layered.layer as smallint) as layer,
    cast(layered.head as smallint) as head,
    concat(cast(layered.layer as varchar), '-', cast(layered.head as varchar)) as name
from (
    select each_layer.model, each_layer.layer, unnest(range(1, each_layer.heads + 1)) as head
    from (
        select model.id as model, model.heads, unnest(range(1, model.layers + 1)) as layer
        from model
    ) as each_layer
) as layered;
comment on view head is 'The attention heads of each model.';
comment on column head.model is 'model.id of the model.';
comment on column head.layer is '1-based layer.';
comment on column head.head is '1-based head.';
comment on column head.name is 'layer-head, as the paper writes it: 8-10.';

-- One unnest, and not two side by side, because Spark allows only one per SELECT.
create or replace view attention_weight as
select
    placed.sequence,
    placed.layer,
    placed.head,
    placed.from_position,
    cast(placed.place - 1 as smallint) as to_position,
    list_extract(placed.weights, placed.place) as weight
from (
    select
        attention.sequence,
        attention.layer,
        attention.head,
        attention.from_position,
        attention.weights,
        unnest(range(1, len(attention.weights) + 1)) as place
    from attention
) as placed;
comment on view attention_weight is 'The attention maps in long form: one row per weight. Filter by sequence, layer or head first.';
comment on column attention_weight.sequence is 'sequence.id of the sequence.';
comment on column attention_weight.layer is '1-based layer.';
comment on column attention_weight.head is '1-based head.';
comment on column attention_weight.from_position is 'Position that attends.';
comment on column attention_weight.to_position is 'Position that is attended to.';
comment on column attention_weight.weight is 'The weight, in [0, 1].';
