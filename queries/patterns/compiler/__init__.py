"""Builds one SELECT from a parsed request.

select.py is the entry (`compile_hits`, `compile_counts`, `compile_pairs`); scopes.py has FROM and
the joins, clauses.py WHERE and expressions.py the columns.
"""
