-- title: The mean surprisal of the words of each class
-- paper: Levy 2008 (Expectation-based syntactic comprehension), for surprisal; Pimentel and Meister 2024, for words
-- grain: one row per (classification, class), the most frequent first
-- formula: surprisal(w) = −ln P(w | what the model sees); of a causal model −ln P(pieces) − ln P(end of w) + ln P(end
--   of the word before)
-- run: needs=surprisals
-- plot: bars x=surprisal y=class low=low high=high panel=classification aside=n
-- note: measured by attnbank surprisal RUN. A causal model sees what is before the word, a masked model the rest of the
--   input (pseudo-log-likelihood): figures of the two cannot be compared.
-- note: a word ends with what the text has after it: white space or nothing, a mark, or (do of don't) a letter.
-- note: words with nothing before them, and all but the first of words that share a position, have no surprisal.
-- note: intervals are by documents (by sentences if the source marks none or the run has only one), with Student's t.
-- param classification varchar = null {upos, relation, all}: how words are classed; by default all three ways
-- column classification varchar: upos, relation, or all
-- column class varchar: the part of speech or the relation; all for all
-- column n bigint: words with a surprisal
-- column surprisal double: their mean surprisal, in nats
-- column low double: lower end of its 95 % interval, at least 0; null, like high, if all words are in one document
-- column high double: upper end of the 95 % interval of surprisal
-- column perplexity double: exp(surprisal), by words
-- column missing bigint: words of the run without one
-- column run
with classed_word as (
    select
        cluster_of(clustered_document.clusters_before, clustered_document.by_sentences, sentence.index) as cluster,
        surprisal.nats,
        unnest([
            {'classification': 'all', 'class': 'all'},
            {'classification': 'upos', 'class': word.upos},
            {'classification': 'relation', 'class': without_subtype(word.deprel)}
        ]) as kind
    from surprisal
    inner join chosen_run on chosen_run.id = surprisal.run
    inner join word on word.id = surprisal.word
    inner join sentence on sentence.id = word.sentence
    inner join corpus_document(runs := (select list(id) from chosen_run)) as clustered_document using (document)
),

per_cluster as (
    select
        kind.classification as classification,
        kind.class as class,
        cluster,
        coalesce(sum(nats), cast(0 as double)) as nats,
        cast(count(nats) as double) as n,
        count(*) - count(nats) as missing
    from classed_word
    where kind.class is not null
        and ($classification is null or kind.classification = $classification)
    group by all
),

per_class as (
    select
        classification, class,
        cast(sum(n) as bigint) as n,
        case when sum(n) > 0 then sum(nats) / sum(n) end as surprisal,
        clustered_margin(nats, n) as margin,
        cast(sum(missing) as bigint) as missing
    from per_cluster
    group by all
)

select
    classification, class, n, surprisal,
    case when margin is not null then greatest(cast(0 as double), surprisal - margin) end as low,
    surprisal + margin as high,
    exp(surprisal) as perplexity,
    missing,
    (select name from chosen_run) as run
from per_class
order by list_position(['all', 'upos', 'relation'], classification), n desc, class
