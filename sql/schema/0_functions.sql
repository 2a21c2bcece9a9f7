-- Functions that the analyses share. The text of each is one expression.

create or replace macro wilson_low(correct, n) as greatest(
    cast(0 as double),
    (
        cast(correct as double) / n
        + cast(1.9207294103470 as double) / n
        - cast(1.9599639845401 as double) * sqrt(
            cast(correct as double) / n * (1 - cast(correct as double) / n) / n
            + cast(0.9603647051735 as double) / (cast(n as double) * n)
        )
    ) / (1 + cast(3.8414588206941 as double) / n)
);
comment on macro wilson_low is 'Lower end of the 95 % Wilson interval of the share correct / n.';

create or replace macro wilson_high(correct, n) as least(
    cast(1 as double),
    (
        cast(correct as double) / n
        + cast(1.9207294103470 as double) / n
        + cast(1.9599639845401 as double) * sqrt(
            cast(correct as double) / n * (1 - cast(correct as double) / n) / n
            + cast(0.9603647051735 as double) / (cast(n as double) * n)
        )
    ) / (1 + cast(3.8414588206941 as double) / n)
);
comment on macro wilson_high is 'Upper end of the 95 % Wilson interval of the share correct / n.';

-- split_part is not used here, because with it DuckDB 2.0 fails on a filter of a column that is null in every row, as
-- in text without trees.
create or replace macro without_subtype(relation) as regexp_replace(relation, ':.*', '');
comment on macro without_subtype is 'A relation without its subtype: nmod for nmod:poss; null for null.';

create or replace macro feature(feats, name) as nullif(
    regexp_extract(feats, concat('(^|[|])', name, '=([^|]*)'), 2), ''
);
comment on macro feature is 'The value of one universal feature (Number, Gender, ...) in word.feats; null if the word does not have it.';

create or replace macro weights_to(weights, positions) as list_transform(
    positions, lambda each_position: list_extract(weights, each_position + 1)
);
comment on macro weights_to is 'The weights that go to some positions, in their order.';

create or replace macro at_largest(positions, weights) as case
    when list_max(weights) > 0
        then list_extract(positions, cast(array_position(weights, list_max(weights)) as integer))
end;
comment on macro at_largest is 'The position that has the largest weight, the first of equals; null if all weights are 0. The two lists are parallel.';

-- Arithmetic only, so that every engine gives the same: Stirling's series gives ln((n + 8)!), where it is good to 14
-- digits even for n = 0, and the logarithms of the last eight factors are taken off again.
create or replace macro log_factorial(n) as
(cast(n as double) + 8) * ln(cast(n as double) + 8) - (cast(n as double) + 8)
+ ln(cast(6.283185307179586 as double) * (cast(n as double) + 8)) / 2
+ 1 / (12 * (cast(n as double) + 8))
- 1 / (360 * power(cast(n as double) + 8, 3))
+ 1 / (1260 * power(cast(n as double) + 8, 5))
- 1 / (1680 * power(cast(n as double) + 8, 7))
+ 1 / (1188 * power(cast(n as double) + 8, 9))
- 691 / (360360 * power(cast(n as double) + 8, 11))
- ln(
    (cast(n as double) + 1) * (cast(n as double) + 2) * (cast(n as double) + 3) * (cast(n as double) + 4)
    * (cast(n as double) + 5) * (cast(n as double) + 6) * (cast(n as double) + 7) * (cast(n as double) + 8)
);
comment on macro log_factorial is 'The natural logarithm of n!.';

create or replace macro mcnemar(only_a, only_b) as least(
    cast(1 as double),
    2 * list_sum(
        list_transform(
            range(0, cast(least(only_a, only_b) as bigint) + 1),
            lambda k: exp(
                log_factorial(only_a + only_b) - log_factorial(k) - log_factorial(only_a + only_b - k)
                - (only_a + only_b) * ln(cast(2 as double))
            )
        )
    )
);
comment on macro mcnemar is 'The p value of McNemar''s exact test, two-sided: of the pairs that only one of the two gets right, how likely a split at least as uneven as only_a to only_b is by chance.';
