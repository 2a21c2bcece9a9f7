"""Every statement of attnbank, as text, and the door to a bank's file.

- `schema/*.sql` make the tables and views of a bank, in the order of their names, and
  `schema/migrations/<N>.sql` bring a bank of format N - 1 to format N;
- `analyses/<section>/<name>.sql` are the analyses: a header and one SELECT. Those of the section
  `paper` print a table or figure of the paper: views in the schema `paper` of the bank, and macros
  of the same names that take a run;
- `shared/<name>.sql` are what several analyses read, in the same form: macros that are no analyses;
- `internal/<name>.sql` are the package's own statements.

What stands in a statement is read by sqlglot (reading.py), which is imported where that is asked.
`bank/` opens the file of a bank; `outputs/` writes the files that a user named.
"""
