-- What the analyses read from a list of weights. Engines disagree on whether lists count from 0 or 1, so the analyses
-- use only these functions, which other engines can define to count in the same way.

create or replace macro weight_at(weights, at_position) as
case when at_position >= 0 then cast(list_extract(weights, at_position + 1) as double) end;
comment on macro weight_at is 'The weight on one position, which counts from 0; null outside the sequence.';

create or replace macro weights_by_position(to_positions, weights, rest, positions) as list_transform(
    range(0, positions),
    lambda place: coalesce(
        list_extract(weights, list_position(to_positions, cast(place as smallint))),
        case when rest = 0 then cast(0 as float) end
    )
);
comment on macro weights_by_position is 'The largest weights of a distribution (attention_top) as a list of as many as there are positions, as in attention. Null for a weight that is not kept; 0 where the rest is 0.';

create or replace macro weight_at_offset(offsets, distance) as
case when distance between -10 and 10 then cast(list_extract(offsets, distance + 11) as double) end;
comment on macro weight_at_offset is 'The sum of the weights at an offset, of attention_map.offsets; null beyond ten.';

create or replace macro weight_on(weights, list_indexes) as
coalesce(cast(list_sum(list_select(weights, list_indexes)) as double), cast(0 as double));
comment on macro weight_on is 'The sum of the weights at some places of the list, which count from 1; 0 if there are none.';

create or replace macro weight_under(weights, mask) as list_inner_product(cast(weights as double[]), mask);
comment on macro weight_under is 'The sum of the weights where the mask is 1. For many places it is several times as fast as weight_on.';

create or replace macro weight_total(weights) as
coalesce(cast(list_sum(weights) as double), cast(0 as double));
comment on macro weight_total is 'The sum of a whole list of weights.';

create or replace macro is_place_in(at_position, list_indexes) as
coalesce(list_contains(list_indexes, cast(at_position + 1 as integer)), false);
comment on macro is_place_in is 'Whether a position, which counts from 0, is one of the given places, which count from 1.';

create or replace macro mask_of(list_indexes, positions) as list_transform(
    range(0, positions),
    lambda place: case when is_place_in(place, list_indexes) then cast(1 as double) else cast(0 as double) end
);
comment on macro mask_of is 'A list of as many numbers as there are positions: 1 at the given places, 0 elsewhere. Places count from 1.';

create or replace macro mask_without(first_indexes, second_indexes, third_indexes, positions) as list_transform(
    range(0, positions),
    lambda place: case
        when is_place_in(place, first_indexes)
            or is_place_in(place, second_indexes)
            or is_place_in(place, third_indexes)
            then cast(0 as double)
        else cast(1 as double)
    end
);
comment on macro mask_without is 'A list of as many numbers as there are positions: 0 at the places of the three lists, 1 elsewhere. Places count from 1.';

create or replace macro place_count(list_indexes) as coalesce(len(list_indexes), 0);
comment on macro place_count is 'How many places a list has; 0 for null.';

create or replace macro plain_text(written) as
replace(replace(replace(replace(written, 'Ġ', ''), '▁', ''), '##', ''), '</w>', '');
comment on macro plain_text is 'A token without the marks by which vocabularies show that it follows a space or continues a word.';

create or replace macro require(condition, message) as
case when condition then true else cast(error(message) as boolean) end;
comment on macro require is 'True where the condition holds; else the query ends with this message.';

create or replace macro asks_another_bank(name, database_name) as
regexp_matches(
    lower(current_query()),
    '(^|[^a-z0-9_"])"?' || regexp_escape(lower(database_name))
    || '"?\s*\.\s*("?(paper|main)"?\s*\.\s*)?"?' || name || '"?($|[^a-z0-9_])'
);
comment on macro asks_another_bank is 'Whether the query names an analysis of an attached database, as in other.best_head().';

create or replace macro is_asked_of_its_bank(name) as (
    select
        require(
            min(database_name) is null,
            concat(name, ' would read the bank ', current_database(), '. Type first: use ', min(database_name))
        )
    from duckdb_databases()
    where not internal and database_name <> current_database() and asks_another_bank(name, database_name)
);
comment on macro is_asked_of_its_bank is 'True unless the query asks for an analysis of another attached bank, which DuckDB would answer from the default one; then it ends.';

create or replace macro largest_on(weights, list_indexes) as
cast(list_max(list_select(weights, list_indexes)) as double);
comment on macro largest_on is 'The largest weight at some places of the list, which count from 1.';

create or replace macro first_largest_on(weights, list_indexes) as
list_extract(
    list_indexes, list_position(list_select(weights, list_indexes), list_max(list_select(weights, list_indexes)))
);
comment on macro first_largest_on is 'The place, of those given, that has the largest weight; the first of equals. Places count from 1.';

create or replace macro joined(texts) as array_to_string(texts, ', ');
comment on macro joined is 'Texts, separated by commas.';

create or replace macro values_of(placed) as list_transform(placed, lambda entry: entry.value);
comment on macro values_of is 'The values of a list of places and values, in the order of the list.';
