-- title: The fixed offset that finds the most gold heads in some runs, per relation
-- grain: one row per (run, relation, side)
-- param runs, subtypes, possessive, saved, offsets, clamped, choose of offset_hit
-- column run, relation, side, offset, accuracy, correct, n of offset_hit
select run, relation, side, "offset", accuracy, correct, n
from offset_hit(
    runs := $runs, subtypes := $subtypes, possessive := $possessive, saved := $saved, offsets := $offsets,
    clamped := $clamped, choose := $choose
) as hit
qualify row_number() over (partition by run, relation, side order by correct desc, abs("offset"), "offset") = 1
