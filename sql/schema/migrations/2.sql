-- From format 1 to format 2. What a new bank has and this one lacks (tables, columns, comments) is added afterwards,
-- from sql/schema: only what that cannot do stands here. New columns are null in rows of before.

drop macro if exists has_mentions;
