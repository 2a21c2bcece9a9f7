-- English pronouns, for the rules for text without tags and for the agreement of mentions.

create or replace view english_pronoun as
select unnest(string_split(forms, ' ')) as form, person, number, gender, is_certain
from (
    values
    ('i me my mine myself', '1', 'Sing', null, true),
    ('we us our ours ourselves ''s', '1', 'Plur', null, true),
    ('you your yours', '2', null, null, true),
    ('yourself thou thee thy thine thyself', '2', 'Sing', null, true),
    ('yourselves ye', '2', 'Plur', null, true),
    ('he him his himself', '3', 'Sing', 'Masc', true),
    ('she her hers herself', '3', 'Sing', 'Fem', true),
    ('it its itself', '3', 'Sing', 'Neut', true),
    ('they them their theirs themselves themself em ''em', '3', 'Plur', null, true),
    ('one''s oneself this that another', '3', 'Sing', null, true),
    ('everybody everyone everything somebody someone something', '3', 'Sing', null, true),
    ('anybody anyone anything nobody nothing', '3', 'Sing', null, true),
    ('these those both', '3', 'Plur', null, true),
    ('who whom whose which what whoever whomever whatever each other', null, null, null, true),
    ('’s', '1', 'Plur', null, false),
    ('’em', '3', 'Plur', null, false),
    ('one one’s', '3', 'Sing', null, false)
) as listed(forms, person, number, gender, is_certain);
comment on view english_pronoun is 'English pronouns, one row per form.';
comment on column english_pronoun.form is 'The form, in lower case.';
comment on column english_pronoun.person is '1, 2 or 3, as in word.feats; null where it has none.';
comment on column english_pronoun.number is 'Sing or Plur; null where it may be either.';
comment on column english_pronoun.gender is 'Masc, Fem or Neut; null where it has none.';
comment on column english_pronoun.is_certain is 'Whether the form is enough to know a pronoun in text without tags: true for ''s, as in let''s; false for one, which may be a number or stand for a noun.';
