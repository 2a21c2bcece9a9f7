-- title: Accuracy on minimal pairs by paradigm, with all heads and with some ablated
-- paper: Warstadt et al. 2020 (BLiMP: the benchmark of linguistic minimal pairs for English), section 4
-- grain: one row per (source, paradigm, ablation, set), those of the whole model first
-- formula: accuracy = share of pairs with ln P(good) > ln P(bad)
-- formula: difference = (better − worse) / n, where better are the pairs that are right only without the heads, worse
--   those that are right only in the whole model
-- run: needs=pairs
-- plot: bars x=accuracy y=paradigm low=low high=high beside=chance panel=source,name aside=n domain=0,1
-- note: the pairs are those of attnbank surprisal RUN --pairs FILE, of --agreement too, whose paradigm is the relation
--   of the subject. Of a file whole sentences are compared: by a causal model without the first word if nothing is
--   before it, by a masked model by pseudo-log-likelihood (Salazar et al. 2020).
-- note: the intervals are Wilson's, by documents; pairs of a file are independent of each other, and a single pair has
--   no interval. Pairs that the model cannot score are left out.
-- param ablation
-- param source varchar = null: only pairs of this file, or agreement; null for all
-- column source
-- column paradigm varchar: its paradigm in the file, or the relation of the subject; all for all of the source
-- column ablation
-- column name, n, accuracy, low, high, difference, difference_low, difference_high, margin, chance of pair_accuracy
-- column run
select
    source,
    class as paradigm,
    ablation, name, n, accuracy, low, high, difference, difference_low, difference_high, margin, chance,
    (select name from chosen_run) as run
from pair_accuracy(runs := (select list(id) from chosen_run), ablation := $ablation) as pair
where $source is null or source = $source
order by
    source,
    case when ablation is null then 0 else 1 end,
    ablation, number,
    case when class = 'all' then 0 else 1 end,
    class
