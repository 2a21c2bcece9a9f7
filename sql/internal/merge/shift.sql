-- What is added to the ids of each kind, from first to last, of each source: for what users' own tables name.
create temp table merge_shift as
select source, 'document' as kind, old as first, old as last, document - old as shift
from merge_id_map
union all
select source, 'sentence', first_sentence, last_sentence, sentence_shift
from merge_id_map
union all
select source, 'word', first_word, last_word, word_shift
from merge_id_map
union all
select source, 'mention', first_mention, last_mention, mention_shift
from merge_id_map;

-- Up to which sentence each source was looked at for each saved relation of the new bank.
create temp table merge_looked (relation varchar, source integer, last integer);
