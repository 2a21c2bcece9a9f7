-- Of the runs that may answer, the one over a corpus that does, by the rules of chosen_run; no row where there is none.
select fit.name, count(*) over () as usable
from run_fit() as fit
where fit.corpus = $corpus
    and fit.id in (select unnest($usable))
order by fit.is_preferred desc, concat(fit.context, '/', fit.unit) = 'sentence/word' desc, fit.is_whole desc,
    fit.id desc
limit 1
