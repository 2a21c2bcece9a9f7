-- Functions that the analyses share. The text of each is one expression.

-- One end of the interval of the share correct / n: z is the quantile of the normal distribution, negative for the
--   lower.
create or replace macro wilson_end(correct, n, z) as (
    cast(correct as double) / n
    + cast(1.9207294103470 as double) / n
    + z * sqrt(
        cast(correct as double) / n * (1 - cast(correct as double) / n) / n
        + cast(0.9603647051735 as double) / (cast(n as double) * n)
    )
) / (1 + cast(3.8414588206941 as double) / n);
comment on macro wilson_end is 'An end of the 95 % Wilson interval of the share correct / n, which may lie outside of [0, 1]: the lower for z = -1.96, the upper for 1.96.';

create or replace macro wilson_low(correct, n) as case
    when n > 0 and correct is not null
        then greatest(cast(0 as double), wilson_end(correct, n, cast(-1.9599639845401 as double)))
end;
comment on macro wilson_low is 'Lower end of the 95 % Wilson interval of the share correct / n; null for null.';

create or replace macro wilson_high(correct, n) as case
    when n > 0 and correct is not null
        then least(cast(1 as double), wilson_end(correct, n, cast(1.9599639845401 as double)))
end;
comment on macro wilson_high is 'Upper end of the 95 % Wilson interval of the share correct / n; null for null.';

-- split_part is not used here, because with it DuckDB 2.0 fails on a filter of a column that is null in every row, as
-- in text without trees.
create or replace macro without_subtype(relation) as regexp_replace(relation, '[:$@].*', '');
comment on macro without_subtype is 'A relation without its subtype, and without what SUD adds to it: nmod for nmod:poss, comp for comp:aux@lvc; null for null.';

create or replace macro feature(feats, name) as nullif(
    regexp_extract(feats, concat('(^|[|])', name, '=([^|]*)'), 2), ''
);
comment on macro feature is 'The value of one universal feature (Number, Gender, ...) in word.feats; null if the word does not have it.';

-- In a causal model a word can attend only to words before it, so that each direction can find the heads on one side of
-- their dependents; column side of gold_dependency says which. Only for such a model there is a third direction, from
-- the later of the two words to the earlier, whichever of them is the dependent.
create or replace macro directions() as ['dependent_to_head', 'head_to_dependent', 'later_to_earlier'];
comment on macro directions is 'The directions in which a head can find a dependency. later_to_earlier is for causal models: from the dependent where its head stands before it, else from the head.';

create or replace macro applies_to_side(direction, side) as coalesce(
    case direction
        when 'dependent_to_head' then side <> 'right'
        when 'head_to_dependent' then side <> 'left'
        else side <> 'both'
    end,
    false
);
comment on macro applies_to_side is 'Whether a direction is scored on the dependents of a side: dependent_to_head on left, head_to_dependent on right, later_to_earlier on both of these, and the first two on both; false for null.';

create or replace macro judged_side(direction, side) as case direction
    when 'later_to_earlier' then 'either'
    else side
end;
comment on macro judged_side is 'The side by which a direction is scored: that of the dependent, or either for later_to_earlier.';

create or replace macro offset_applies_to_side(distance, scored_side) as coalesce(
    scored_side = 'both'
    or (scored_side in ('left', 'either') and distance < 0)
    or (scored_side = 'right' and distance > 0),
    false
);
comment on macro offset_applies_to_side is 'Whether a fixed offset is scored on the dependents of a judged_side: one to the left on left and either, one to the right on right, each on both; false for null.';

create or replace macro is_at_offset(distance, scored_side, place, head_place) as case
    when scored_side = 'either' then -abs(head_place - place) = distance
    else head_place - place = distance
end;
comment on macro is_at_offset is 'Whether a head is at a fixed offset from its dependent; on either, whether the earlier of the two words is from the later.';

create or replace macro is_offset_hit(
    distance, scored_side, place, head_place, is_root, is_clamped, first_place, last_place
) as case
    when not is_clamped or scored_side = 'either' then is_at_offset(distance, scored_side, place, head_place)
    when place + distance < first_place then is_root
    else least(place + distance, last_place) = head_place
end;
comment on macro is_offset_hit is 'Whether a fixed offset finds the head of a dependent. Clamped (as in the published code), a place after the last word of the sentence is the last word, and one before the first is the root.';

create or replace macro in_direction(direction, side, attended, attending) as case
    when direction = 'dependent_to_head' or (direction = 'later_to_earlier' and side = 'left') then attended
    else attending
end;
comment on macro in_direction is 'The one of two values that belongs to a direction: attended, of the word that the dependent attends to most, or attending, of the word that attends to it most. Of later_to_earlier it depends on the side of the head.';

create or replace macro finds_head(direction, side, attended, attending, head_place) as case
    when in_direction(direction, side, attended, attending) = head_place then 1 else 0
end;
comment on macro finds_head is '1 if the word that a head finds in a direction (in_direction) is at head_place, else 0.';

create or replace macro is_selection_part(choose, split, cluster) as case
    when choose = 'train' then coalesce(split, '') = 'train'
    else cluster % 2 = 1
end;
comment on macro is_selection_part is 'Whether a dependent is in the part that heads are chosen on: half, if its cluster is odd (see gold_dependency); train, if its split is train.';

create or replace macro relations_of(relation, is_root) as case when is_root then ['all'] else [relation, 'all'] end;
comment on macro relations_of is 'The relations that a dependent is counted in: its own and all; a root, which has no head to find, only in all.';

create or replace macro ratio(part, whole) as cast(part as double) / cast(whole as double);
comment on macro ratio is 'The part divided by the whole, as a number with a fraction.';

-- 6/10 - 3/10 and 4/10 - 1/10 are not the same number where each share is rounded by itself.
create or replace macro share_above(part, whole, other_part, other_whole) as ratio(
    part * other_whole - other_part * whole, whole * other_whole
);
comment on macro share_above is 'By how much part / whole is above other_part / other_whole, which are whole numbers: rounded once, so that equal differences are one number.';

create or replace macro share_of(condition) as avg(
    case when condition then cast(1 as double) when not condition then cast(0 as double) end
);
comment on macro share_of is 'An aggregate: the share of the rows in which the condition holds, of those in which it is not null.';

create or replace macro bonferroni(p_value, tests) as case
    when p_value is not null then least(cast(1 as double), p_value * tests)
end;
comment on macro bonferroni is 'A p value that is corrected for the number of tests: times that number, at most 1; null for null.';

create or replace macro harmonic(n) as coalesce(
    list_sum(list_transform(range(1, cast(n as bigint) + 1), lambda k: cast(1 as double) / k)), cast(0 as double)
);
comment on macro harmonic is '1 + 1/2 + ... + 1/n; 0 for 0. Uniform attention of a causal model (without a sliding window) over n positions puts (harmonic(n) - harmonic(p)) / n on position p, on average.';

create or replace macro even_total(list_indexes, positions, is_causal) as case
    when is_causal
        then coalesce(
            list_sum(list_transform(list_indexes, lambda place: harmonic(positions) - harmonic(place - 1))),
            cast(0 as double)
        )
    else cast(place_count(list_indexes) as double)
end;
comment on macro even_total is 'The sum of the weights to some places under uniform attention over this many positions, of a causal model or another. Places count from 1.';

create or replace macro weights_at(weights, positions) as list_transform(
    positions, lambda attended: list_extract(weights, attended + 1)
);
comment on macro weights_at is 'The weights that go to some positions, in their order.';

create or replace macro top_k(keep) as try_cast(replace(keep, 'top:', '') as integer);
comment on macro top_k is 'The number of weights that run.keep keeps of each distribution: 8 for top:8; null for other values.';

create or replace macro place_name(row_id) as case
    when row_id < 1099511627776 then cast(row_id as varchar)
    else concat(cast((row_id >> 40) + 1 as varchar), ':', cast(row_id % 1099511627776 as varchar))
end;
comment on macro place_name is 'An id of a document, sentence, word or mention as people read it: 12, or 2:12 for the twelfth of the second corpus.';

create or replace macro argmax_position(positions, weights) as case
    when list_max(weights) > 0 then list_extract(positions, cast(array_position(weights, list_max(weights)) as integer))
end;
comment on macro argmax_position is 'The position that has the largest weight, the first of equals; null if all weights are 0. The two lists are parallel.';

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

create or replace macro mcnemar_better(only_a, only_b) as least(
    cast(1 as double),
    list_sum(list_transform(
        range(0, cast(only_b as bigint) + 1),
        lambda k: exp(
            log_factorial(only_a + only_b) - log_factorial(k) - log_factorial(only_a + only_b - k)
            - (only_a + only_b) * ln(cast(2 as double))
        )
    ))
);
comment on macro mcnemar_better is 'The p value of McNemar''s exact test, one-sided: of the pairs that only one of the two gets right, how likely it is by chance that a gets at least only_a of them.';

create or replace macro mcnemar(only_a, only_b) as least(
    cast(1 as double), 2 * mcnemar_better(greatest(only_a, only_b), least(only_a, only_b))
);
comment on macro mcnemar is 'The p value of McNemar''s exact test, two-sided: of the pairs that only one of the two gets right, how likely a split at least as uneven as only_a to only_b is by chance.';

-- Of all the ways to give the differences a sign, those have a sum at least as large as the observed one in which the
-- differences that become negative add up to at most what the negative ones add up to now. So the distribution is needed
-- only up to there: list element k + 1 is the share of the ways in which they add up to k, and each difference is added
-- in turn.
create or replace macro sign_flips(differences) as case
    when list_sum(differences) <= 0 then cast(1 as double)
    else list_sum(
        list_reduce(
            list_transform(differences, lambda difference: [cast(abs(difference) as double)]),
            lambda ways, size: list_transform(
                range(0, len(ways)),
                lambda k: (
                    list_extract(ways, k + 1)
                    + case
                        when k >= list_extract(size, 1)
                            then list_extract(ways, k + 1 - cast(list_extract(size, 1) as bigint))
                        else 0
                    end
                ) / 2
            ),
            list_transform(
                range(
                    0,
                    1 - cast(list_sum(list_transform(differences, lambda difference: least(difference, 0))) as bigint)
                ),
                lambda k: case when k = 0 then cast(1 as double) else cast(0 as double) end
            )
        )
    )
end;
comment on macro sign_flips is 'The p value of an exact sign-flip test, one-sided: how likely the differences (whole numbers, one per document) have a sum at least as large as theirs, if each is as likely to be negative as positive. 1 if the sum is not positive.';

-- A polynomial in 1 / freedom, fitted to the logarithm: off by 0.004 % at most, for fractions of a degree, too.
create or replace macro student_quantile(freedom) as cast(1.9599639845401 as double) * exp(
    (
        cast(1.2103524246989 as double)
        + (
            cast(0.70596272352267 as double)
            + (
                cast(0.17347942 as double)
                + (cast(-0.32484728 as double) + cast(0.10421705 as double) / freedom) / freedom
            ) / freedom
        ) / freedom
    ) / freedom
);
comment on macro student_quantile is 'The 0.975 quantile of Student''s t with so many degrees of freedom, 1 or more.';

create or replace macro cluster_of(clusters_before, by_sentences, index) as
    clusters_before + case when by_sentences then index else 1 end;
comment on macro cluster_of is 'The number, from 1, of the cluster that a sentence belongs to: its document, or the sentence itself (index is its place in the document), counted over the corpus.';

-- Negative, since a document may have the number of an input.
create or replace macro input_cluster(by_sentences, sequence, document) as
    cast(case when by_sentences then sequence else -document end as bigint);
comment on macro input_cluster is 'The cluster that an input belongs to: its document, or the input itself where clusters are sentences.';

create or replace macro design_effect(correct, n, clusters, correct_squares, products, n_squares) as case
    when clusters < 2 then null
    when correct = 0 or correct = n then cast(1 as double)
    else cast(clusters as double) / (clusters - 1)
        * (
            correct_squares
            - 2 * (cast(correct as double) / n) * products
            + power(cast(correct as double) / n, 2) * n_squares
        )
        / (correct * (1 - cast(correct as double) / n))
end;
comment on macro design_effect is 'By how much the variance of the share correct / n is larger than if all n were independent: they come in clusters (documents), over which the squares of correct, of n, and the products of the two are summed. Null for a single cluster.';

create or replace macro effective_n(n, clusters, even_clusters, effect) as case
    when clusters > 1
        then n / greatest(cast(1 as double), effect)
            * power(cast(1.9599639845401 as double) / student_quantile(even_clusters - 1), 2)
end;
comment on macro effective_n is 'The effective sample size of n cases in clusters with this design effect (Korn and Graubard 1998), with the degrees of freedom of even_clusters clusters of equal size (clusters_of_one_size): the interval of a share of n cases is that of as many independent ones. Null for a single cluster.';

-- A document with nothing to count says nothing about how documents differ.
create or replace macro clusters_with(n) as count(nullif(n, 0));
comment on macro clusters_with is 'An aggregate over rows that are one cluster (document) each: how many of them have an n above 0.';

-- If a few large clusters have most of the cases, the others say little about how clusters differ (Kish 1965).
create or replace macro clusters_of_one_size(n) as greatest(
    cast(2 as double), power(cast(sum(n) as double), 2) / nullif(cast(sum(n * n) as double), 0)
);
comment on macro clusters_of_one_size is 'An aggregate over rows that are one cluster (document) each: the effective number of clusters, (Σn)² / Σn² (Kish 1965), and at least 2.';

create or replace macro clustered_effect(correct, n) as design_effect(
    sum(correct), sum(n), clusters_with(n), sum(correct * correct), sum(correct * n), sum(n * n)
);
comment on macro clustered_effect is 'An aggregate over rows that are one cluster (document) each: the design effect of the share sum(correct) / sum(n), over the clusters with an n above 0.';

create or replace macro clustered_n(correct, n) as effective_n(
    sum(n), clusters_with(n), clusters_of_one_size(n), clustered_effect(correct, n)
);
comment on macro clustered_n is 'An aggregate over rows that are one cluster (document) each: the effective sample size of sum(n) cases.';

create or replace macro clustered_variance(total, n) as case
    when clusters_with(n) > 1
        then ratio(clusters_with(n), clusters_with(n) - 1)
            * greatest(
                cast(0 as double),
                cast(sum(total * total) as double)
                - 2 * ratio(sum(total), sum(n)) * cast(sum(total * n) as double)
                + power(ratio(sum(total), sum(n)), 2) * cast(sum(n * n) as double)
            )
            / power(cast(sum(n) as double), 2)
end;
comment on macro clustered_variance is 'An aggregate over rows that are one cluster (document) each: the variance of the mean sum(total) / sum(n), as the clusters with an n above 0 differ. Null for a single one.';

create or replace macro clustered_margin(total, n) as case
    when clusters_with(n) > 1 then student_quantile(clusters_of_one_size(n) - 1) * sqrt(clustered_variance(total, n))
end;
comment on macro clustered_margin is 'An aggregate over rows that are one cluster (document) each: half the width of the 95 % interval of the mean sum(total) / sum(n), from the variance among the clusters with an n above 0. Null for a single one.';

-- Bonett and Price 2012: a pair is added to either side, so that a difference of 0 has an interval, too.
create or replace macro paired_end(only_a, only_b, n, z) as ratio(only_a - only_b, n + 2)
+ z * sqrt(
    greatest(cast(0 as double), ratio(only_a + only_b + 2, n + 2) - power(ratio(only_a - only_b, n + 2), 2))
    / (n + 2)
);
comment on macro paired_end is 'An end of the 95 % interval of the difference (only_a - only_b) / n of two shares of the same n cases, which may lie outside of [-1, 1]: the lower for z = -1.96, the upper for 1.96. only_a and only_b are the cases that one of the two has alone.';

create or replace macro paired_low(only_a, only_b, n, effective) as case
    when effective > 0 and only_a is not null
        then greatest(
            cast(-1 as double),
            paired_end(
                ratio(only_a, n) * effective, ratio(only_b, n) * effective, effective, cast(-1.9599639845401 as double)
            )
        )
end;
comment on macro paired_low is 'Lower end of the 95 % interval of the difference (only_a - only_b) / n, where effective is the effective sample size of the n cases (clustered_pairs). Null for null.';

create or replace macro paired_high(only_a, only_b, n, effective) as case
    when effective > 0 and only_a is not null
        then least(
            cast(1 as double),
            paired_end(
                ratio(only_a, n) * effective, ratio(only_b, n) * effective, effective, cast(1.9599639845401 as double)
            )
        )
end;
comment on macro paired_high is 'Upper end of the 95 % interval of the difference (only_a - only_b) / n; see paired_low.';

create or replace macro clustered_pairs(only_a, only_b, n) as effective_n(
    sum(n),
    clusters_with(n),
    clusters_of_one_size(n),
    coalesce(
        clustered_variance(only_a - only_b, n)
        / nullif(
            (ratio(sum(only_a) + sum(only_b), sum(n)) - power(ratio(sum(only_a) - sum(only_b), sum(n)), 2)) / sum(n), 0
        ),
        cast(1 as double)
    )
);
comment on macro clustered_pairs is 'An aggregate over rows that are one cluster (document) each: the effective sample size of sum(n) cases for the difference (sum(only_a) - sum(only_b)) / sum(n). Null for a single cluster.';

create or replace macro within_share(number) as case
    when number is not null then least(cast(1 as double), greatest(cast(0 as double), number))
end;
comment on macro within_share is 'The number, but at least 0 and at most 1; null for null.';

create or replace macro cohens_h(share_a, share_b) as
    2 * asin(sqrt(within_share(share_a))) - 2 * asin(sqrt(within_share(share_b)));
comment on macro cohens_h is 'Cohen''s h, the size of a difference between two shares: 0.2 is called small, 0.5 medium, 0.8 large.';

-- 2.4865 is the sum of the 0.95 and the 0.80 quantile of the normal distribution.
create or replace macro clusters_to_detect(difference, variance, clusters) as case
    when variance is not null
        then greatest(
            cast(5 as bigint),
            cast(ceil(clusters * variance * power(cast(2.4864748605244 as double) / difference, 2)) as bigint)
        )
end;
comment on macro clusters_to_detect is 'In how many clusters (documents) like these a difference would be found significant (one-sided, 0.05) in four of five samples, where the variance of the mean over so many clusters is known (clustered_variance): 5 at least, since the sign flips of fewer cannot be.';

create or replace macro has_arc(heads, first_position, place, head_position) as case
    when list_extract(heads, place - first_position + 1) = head_position then 1 else 0
end;
comment on macro has_arc is '1 if the head of the word at a position is at head_position in a decoded tree (heads and first_position of attention_tree), else 0.';

create or replace macro has_edge(heads, first_position, place, head_position) as greatest(
    has_arc(heads, first_position, place, head_position), has_arc(heads, first_position, head_position, place)
);
comment on macro has_edge is '1 if a decoded tree joins the words at two positions in either direction, else 0; see has_arc.';

create or replace macro word_properties(relation, upos, distance) as [
    {'place': 1, 'breakdown': 'relation', 'value': relation},
    {'place': 2, 'breakdown': 'upos', 'value': upos},
    {'place': 3, 'breakdown': 'distance', 'value': cast(distance as varchar)}
];
comment on macro word_properties is 'What head_error breaks the errors of a head down by: the properties of the word that it finds instead, a place, breakdown and value each.';

create or replace macro dependent_properties(upos, head_distance) as [
    {'place': 11, 'breakdown': 'of upos', 'value': coalesce(upos, 'none')},
    {
        'place': 12,
        'breakdown': 'of order',
        'value': case when head_distance < 0 then 'after its head' else 'before its head' end
    },
    {'place': 13, 'breakdown': 'of distance', 'value': cast(greatest(-10, least(10, head_distance)) as varchar)}
];

comment on macro dependent_properties is 'What the accuracy of a head is broken down by: its part of speech, its side of its head, and the distance to its head, where -10 and 10 are also all beyond; a place, breakdown and value each.';

create or replace macro kind_place(kind) as list_position(['all', 'pronoun', 'proper', 'nominal'], kind);
comment on macro kind_place is 'The place of a kind of mention in the order in which the analyses list them.';

create or replace macro baseline_place(baseline) as list_position(['nearest', 'head_match', 'rule_based'], baseline);
comment on macro baseline_place is 'The place of a baseline of coreference in the order in which the analyses list them.';

-- Quadratic maps modulo a prime, whose products stay within a BIGINT: the same everywhere, unlike hash and random.
create or replace macro scrambled(number, salt) as (
    ((number % 2147483647) * (number % 2147483647) + salt) % 2147483647
);
comment on macro scrambled is 'A whole number made of another and a salt, from 0 to 2147483646.';

create or replace macro pseudo_random(resample, draw) as scrambled(
    scrambled(
        scrambled(
            cast(resample as bigint) * 1000003 + cast(draw as bigint) * 7919 + 12345, 104729 * cast(draw as bigint)
        ),
        1299709 * cast(resample as bigint)
    ),
    15485863
);
comment on macro pseudo_random is 'A pseudo-random whole number, the same on every engine for the same resample and draw.';
