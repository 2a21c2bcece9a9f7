-- From format 1 to format 2: whether a saved relation is circular, by the test that format 1 used.

alter table saved_relation add column if not exists is_circular boolean;

update saved_relation
set is_circular = contains(request, ']=>')
where is_circular is null;
