-- The first document that is not the same in two sources, and these, from the digests of their rows (merge_digest).
select first.corpus, first.index, first.source, other.source as other
from merge_digest as first
inner join merge_digest as other
    on other.corpus = first.corpus and other.index = first.index and other.source > first.source
where (other.n, other.total) <> (first.n, first.total)
order by first.corpus, first.index, first.source, other.source
limit 1
