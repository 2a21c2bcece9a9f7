-- title: The documents of the corpora of some runs, numbered in their order
-- grain: one row per (run, document)
-- note: what goes by documents (halves to choose heads on, intervals, tests) takes them from here, so that it is the same
--   documents whatever is asked.
-- param runs
-- column run integer: run.id of the run
-- column document
-- column number bigint: its place among the documents of the corpus that are in the bank, from 1
-- column is_single boolean: whether the run reads one document only, so that its sentences take their place
with

extent as (
    select sequence.run, document.corpus, count(distinct sequence.document) = 1 as is_single
    from sequence
    inner join document on document.id = sequence.document
    where list_contains($runs, sequence.run)
    group by sequence.run, document.corpus
)

select
    extent.run,
    document.id as document,
    row_number() over (partition by extent.run order by document.index, document.id) as number,
    extent.is_single
from document
inner join extent on extent.corpus = document.corpus
