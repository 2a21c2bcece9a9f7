-- From format 1 to format 2. What a new bank has and this one lacks (tables, columns, comments) is added afterwards,
-- from sql/schema, so this holds only what cannot be done in that way. New columns are null in existing rows.

drop macro if exists has_mentions;
