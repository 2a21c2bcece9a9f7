-- From format 3 to format 4. Where a multiword token begins was not kept. Neighbours with one surface are one token if
-- they spell it, or are fewer than four: a token has two words at least. Other words keep a null, and a corpus with such
-- words is read anew before a run takes its tokens as written. Runs of before read the parts: run.multiword is null.

alter table if exists word add column if not exists token_start smallint;

update word
set token_start = token.first_index
from (
    select island.sentence, island.first_index, island.last_index
    from (
        select
            marked.sentence,
            min(marked.surface) as surface,
            min(marked.index) as first_index,
            max(marked.index) as last_index,
            string_agg(marked.form, '' order by marked.index) as spelled
        from (
            select
                numbered.sentence,
                numbered.index,
                numbered.form,
                numbered.surface,
                sum(numbered.is_first) over (partition by numbered.sentence order by numbered.index) as number
            from (
                select
                    word.sentence,
                    word.index,
                    word.form,
                    word.surface,
                    case
                        when lag(word.surface) over (partition by word.sentence order by word.index) = word.surface
                            and not lag(word.space_after) over (partition by word.sentence order by word.index)
                            then 0
                        else 1
                    end as is_first
                from word
            ) as numbered
        ) as marked
        where marked.surface is not null
        group by marked.sentence, marked.number
    ) as island
    where island.spelled = island.surface
        or island.last_index - island.first_index < 3
) as token
where word.sentence = token.sentence
    and word.index between token.first_index and token.last_index;
