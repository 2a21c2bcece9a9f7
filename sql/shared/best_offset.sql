-- title: The fixed offset that finds the most gold heads in some runs, per relation
-- grain: one row per (run, relation, side)
-- param runs, subtypes, possessive, saved, offsets, clamped
-- column run integer: run.id of the run
-- column relation, side, offset, accuracy, correct, n
select hit.run, hit.relation, hit.side, hit."offset", hit.accuracy, hit.correct, hit.n
from offset_hit(
    runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved, offsets := $offsets,
    clamped := $clamped
) as hit
qualify row_number() over (
    partition by hit.run, hit.relation, hit.side order by hit.correct desc, abs(hit."offset"), hit."offset"
) = 1
