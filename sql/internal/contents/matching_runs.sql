-- The runs that an analysis of several corpora reads (see corpus_run), given its own run.
select name
from corpus_run(run := $run, corpora := $corpora) as corpus_run
order by corpus
