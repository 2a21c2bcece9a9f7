-- title: Accuracy of subject-verb agreement by number of attractors, with all heads and with some ablated
-- paper: Linzen et al. 2016 (Assessing the ability of LSTMs to learn syntax-sensitive dependencies); Goldberg 2019
-- grain: one row per (ablation, set, attractors), those of the whole model first
-- formula: accuracy = share of verbs with ln P(the verb as it is written) > ln P(its form in the other number)
-- formula: difference = (better − worse) / n, where better are the verbs that agree only without the heads, worse those
--   that agree only in the whole model
-- run: needs=pairs
-- plot: lines x=attractors y=accuracy color=name low=low high=high rule=chance
-- note: the pairs are made from the trees of the corpus (attnbank surprisal RUN --agreement): a finite verb that agrees
--   in number with its subject, where the corpus has the other number's form of the same lemma.
-- note: a causal model sees what is before the verb, a masked model the whole sentence. So a verb before its subject
--   (here are some articles) is left out for a causal model: its surprisals in table minimal_pair are null.
-- note: attractors are nouns between subject and verb in the other number. The intervals are by documents.
-- param ablation
-- column ablation
-- column name of pair_outcome
-- column attractors integer: nouns of the other number in between: 0, 1, or 2 for 2 and more; null for all
-- column n bigint: verbs
-- column accuracy double: share of verbs that are more probable than their other form, in [0, 1]
-- column low, high, difference, difference_low, difference_high of pair_accuracy
-- column margin double: mean of ln P(the verb) − ln P(its other form), in nats
-- column distance, chance of pair_accuracy
-- column run
select
    ablation, name,
    cast(nullif(class, 'all') as integer) as attractors,
    n, accuracy, low, high, difference, difference_low, difference_high, margin, distance, chance,
    (select name from chosen_run) as run
from pair_accuracy(runs := (select list(id) from chosen_run), ablation := $ablation, by_attractors := true) as pair
where source = 'agreement'
order by
    case when ablation is null then 0 else 1 end,
    ablation, number,
    case when class = 'all' then 0 else 1 end,
    class
