"""The SQL files, and the code that opens, checks and compacts the file of a bank.

- `schema/*.sql` make the tables and views of a bank, in the order of their names;
- `analyses/<section>/<name>.sql` are the analyses: a header and one SELECT. Those of the section
  `paper` are views and macros in the schema `paper` of the bank;
- `shared/<name>.sql` are macros that several analyses read, with the same kind of header;
- `internal/<name>.sql` are statements that only the package itself runs.

`registry` has them by name; `bank/` opens the file of a bank, `outputs` writes the files that a
user names, `run_choice` chooses the run of an analysis, `errors` explains the errors of DuckDB.
"""
