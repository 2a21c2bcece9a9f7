-- The runs that an analysis of many corpora reads (see corpus_run), by the run that answers.
select corpus_run.name
from corpus_run(run := $run, corpora := $corpora) as corpus_run
order by corpus_run.corpus
