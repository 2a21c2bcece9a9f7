-- How many rows of the file (annotated_row) match no word, by reason, with the first row of each.
with first_row as (
    select fault, count(*) as rows, min(n) as n
    from annotated_word
    where fault is not null
    group by all
)

select
    first_row.fault, first_row.rows, first_row.n, annotated_row.sent_id, annotated_row.document,
    annotated_row.word_number, annotated_row.form, annotated_word.known_form
from first_row
inner join annotated_row on annotated_row.n = first_row.n
inner join annotated_word on annotated_word.n = first_row.n
order by first_row.n, first_row.fault
