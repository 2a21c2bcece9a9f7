"""Every statement of attnbank, as text, and the door to a bank's file.

- `schema/*.sql` make the tables and views of a bank, in the order of their names, and
  `schema/migrations/<N>.sql` bring a bank of format N - 1 to format N;
- `analyses/<section>/<name>.sql` are the analyses: a header and one SELECT. Those of the section
  `paper` print a table or figure of the paper: views in the schema `paper` of the bank, and macros
  of the same names that take a run;
- `shared/<name>.sql` are macros that several analyses read, with the same kind of header;
- `internal/<name>.sql` are statements that only the package itself runs.

reading.py reads statements with sqlglot, which is imported only when it is needed.
`bank/` opens the file of a bank; `outputs/` writes the files that a user names.
"""
