-- The runs of an attached source that have inputs: how many, in how many batches, from which id to which.
select
    sequence.run, count(*) as inputs, max(sequence.batch) as batches, min(sequence.id) as first,
    max(sequence.id) as last
from source.main.sequence as sequence
group by sequence.run
