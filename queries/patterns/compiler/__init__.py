"""Builds one SELECT from a parsed request.

select.py is the entry (`compile_hits`, `compile_counts`, `compile_pairs`); scopes.py joins the
nodes, clauses.py has what ties them and the keys, expressions.py the tests of their values.
"""
