-- Of the runs that may answer, the one over a corpus that does, by the rules of chosen_run; no row where there is none.
select name, count(*) over () as usable
from run_candidate() as candidate
where corpus = $corpus
    and id in (select unnest($usable))
order by is_preferred desc, concat(context, '/', unit) = 'sentence/word' desc, is_whole desc, id desc
limit 1
