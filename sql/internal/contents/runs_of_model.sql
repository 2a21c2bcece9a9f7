-- The runs that an analysis of many corpora reads (see corpus_run), by the run that answers.
select each.name
from corpus_run(run := $run, corpora := $corpora) as each
order by each.corpus
