-- title: The best head for each relation, beside the best fixed offset (the paper's table 1)
-- paper: Clark et al. 2019, section 4.2, table 1
-- grain: one row per relation, the most frequent first
-- formula: (head, direction)*(r) = argmax_{h, v} |{d ∈ D(r) : prediction_{h,v}(d) = head(d)}|, as in head_accuracy
-- formula: accuracy(r) = |{d ∈ D(r) : prediction*(d) = head(d)}| / |D(r)|, where D(r) are the dependents of
--   relation r
-- formula: offset(r) = argmax_k |{d ∈ D(r) : d + k = head(d)}|; gain = accuracy − offset_accuracy
-- formula: low, high = (p + z²/2n ∓ z √(p (1 − p) / n + z²/4n²)) / (1 + z²/n), where p is accuracy and z = 1.96
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=accuracy y=relation low=low high=high beside=offset_accuracy label=layer,head domain=0,1
-- empty: no relation has min_count dependents (--min-count 1 shows them all)
-- note: the head is picked on the very words that it is scored on, as in the paper; best_head_held_out shows what
--   that is worth. Equal heads: the lowest layer, then the lowest head, then dependent_to_head.
-- note: the published code tries the offsets -3 to 2, clamped (see offset_baseline), and prints relations with 100
--   dependents or more (min_count := 100), punctuation and root left out.
-- note: offset is a word of SQL: write "offset", or qualify it.
-- param relation varchar = null: only this relation (or all); by default every one
-- param min_count integer = 10: leave out relations with fewer dependents
-- param run varchar = null: name or id of the run; by default the bank's own choice, else the newest finished
--   one of trained weights over single sentences
-- param subtypes boolean = false: keep subtypes (nmod:poss) instead of folding them (nmod)
-- param possessive boolean = false: judge a possessor by its possessive 's, the next word (see gold_dependency)
-- param offsets integer[] = [-3, -2, -1, 1, 2, 3]: the offsets that the baseline tries
-- param clamped boolean = false: the baseline takes the last word, or the root, outside the sentence (published code)
-- column relation varchar: the relation, or all
-- column n bigint: dependents
-- column layer smallint: 1-based layer of the best head
-- column head smallint: 1-based number of the best head in its layer
-- column direction varchar: dependent_to_head or head_to_dependent
-- column accuracy double: share of the dependents whose head it finds, in [0, 1]
-- column low double: lower end of the 95 % Wilson interval of accuracy
-- column high double: upper end of the 95 % Wilson interval of accuracy
-- column offset integer: the best fixed offset (the nearest, then the left one, of equals)
-- column offset_accuracy double: share of the dependents whose head is there, in [0, 1]
-- column gain double: accuracy minus offset_accuracy
-- column run varchar: name of the run that answered
with

chosen_run as (
    select chosen.id, chosen.name
    from chosen_run(
        asked := $run, unit := 'word', needs := 'trees', equipped := runs_with_trees(), usual := 'sentence'
    ) as chosen
),

best as (
    select scored.relation, scored.n, scored.layer, scored.head, scored.direction, scored.correct, scored.accuracy
    from head_accuracy(
        relation := $relation, run := $run, subtypes := $subtypes, possessive := $possessive
    ) as scored
    where scored.n >= $min_count
    qualify row_number() over (
        partition by scored.relation
        order by scored.correct desc, scored.layer, scored.head, scored.direction
    ) = 1
),

best_offset as (
    select baseline.relation, baseline."offset", baseline.accuracy
    from offset_baseline(
        relation := $relation,
        offsets := $offsets,
        clamped := $clamped,
        run := $run,
        subtypes := $subtypes,
        possessive := $possessive
    ) as baseline
    qualify row_number() over (
        partition by baseline.relation
        order by baseline.correct desc, abs(baseline."offset"), baseline."offset"
    ) = 1
)

select
    best.relation,
    best.n,
    best.layer,
    best.head,
    best.direction,
    best.accuracy,
    wilson_low(best.correct, best.n) as low,
    wilson_high(best.correct, best.n) as high,
    best_offset."offset",
    best_offset.accuracy as offset_accuracy,
    best.accuracy - best_offset.accuracy as gain,
    (select chosen_run.name from chosen_run) as run
from best
left join best_offset on best_offset.relation = best.relation
order by best.n desc, best.relation
