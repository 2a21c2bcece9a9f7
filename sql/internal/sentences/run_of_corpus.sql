-- Of the runs that may answer, the one over a corpus that does, by the rules of chosen_run; no row where there is none.
select candidate.name, count(*) over () as usable
from run_candidate() as candidate
where candidate.corpus = $corpus
    and candidate.id in (select unnest($usable))
order by
    candidate.is_preferred desc,
    concat(candidate.context, '/', candidate.unit) = 'sentence/word' desc,
    candidate.is_whole desc,
    candidate.id desc
limit 1
