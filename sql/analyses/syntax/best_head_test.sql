-- title: The best head of one relation, tested against the best offset and on text that it was not chosen on
-- paper: beside Clark et al. 2019, section 4.2; the test is by sign flips, corrected by max-T (see head_score)
-- grain: one row
-- formula: as in head_score; held_out_accuracy and what else begins with held_out as in best_head_held_out
-- run: unit=word needs=trees usual=sentence
-- plot: bars x=gain y=relation low=gain_low high=gain_high beside=held_out_gain label=layer,head aside=n
-- empty: no dependent has the relation
-- note: low and high are of a head that was chosen on these words, and too high for it; p_corrected allows for the
--   choice, and so does what is held out, where one test is made and held_out_p needs no correction.
-- note: p values are null for a relation that was saved from a request about attention (see head_score).
-- param relation varchar = null: a relation of the trees, or a saved one; by default all
-- param run, subtypes, possessive, offsets
-- column relation, n, clusters, clustered_by
-- column tried bigint: heads and directions that the best one was chosen from, on these very words
-- column layer, head, direction, accuracy, low, high, ceiling, offset, offset_accuracy, gain, gain_low, gain_high,
--   cohens_h, clusters_needed, p_corrected, p_documents_corrected
-- column held_out_n bigint: dependents of the other half; null where there is none
-- column held_out_layer smallint: 1-based layer of the head that is best on every second document or sentence
-- column held_out_head smallint: 1-based number of that head in its layer
-- column held_out_direction varchar: dependent_to_head, head_to_dependent or later_to_earlier
-- column held_out_accuracy double: share of the dependents of the other half whose head it finds, in [0, 1]
-- column held_out_low double: lower end of the 95 % interval of held_out_accuracy by documents
-- column held_out_high double: upper end of that interval; null, like held_out_low, if in one document of several
-- column held_out_offset integer: the offset that is best on every second document or sentence
-- column held_out_offset_accuracy double: share of the dependents of the other half whose head is there, in [0, 1]
-- column held_out_gain double: held_out_accuracy minus held_out_offset_accuracy
-- column held_out_gain_low double: lower end of the 95 % interval of held_out_gain
-- column held_out_gain_high double: upper end of that interval
-- column held_out_p double: how likely held_out_gain is by chance; null where the half has fewer than 5 clusters
-- column findable, overall, run
with best as (
    select
        per_head.*,
        count(*) over () as tried,
        row_number() over (order by correct desc, layer, head, direction) as place
    from head_score(
        relation := $relation, offsets := $offsets, run := $run, subtypes := $subtypes, possessive := $possessive
    ) as per_head
)

select
    coalesce($relation, 'all') as relation,
    best.n, best.clusters, best.clustered_by, best.tried, best.layer, best.head, best.direction, best.accuracy,
    best.low, best.high, best.ceiling, best."offset", best.offset_accuracy, best.gain, best.gain_low, best.gain_high,
    best.cohens_h, best.clusters_needed, best.p_corrected, best.p_documents_corrected,
    held_out.n as held_out_n,
    held_out.layer as held_out_layer,
    held_out.head as held_out_head,
    held_out.direction as held_out_direction,
    held_out.accuracy as held_out_accuracy,
    held_out.low as held_out_low,
    held_out.high as held_out_high,
    held_out."offset" as held_out_offset,
    held_out.offset_accuracy as held_out_offset_accuracy,
    held_out.gain as held_out_gain,
    held_out.gain_low as held_out_gain_low,
    held_out.gain_high as held_out_gain_high,
    held_out.p_value as held_out_p,
    best.findable, best.overall,
    (select name from chosen_run) as run
from best
left join best_head_held_out(
    relation := coalesce($relation, 'all'), min_count := 1, run := $run, subtypes := $subtypes,
    possessive := $possessive, offsets := $offsets
) as held_out on true
where best.place = 1
order by best.layer, best.head, best.direction
