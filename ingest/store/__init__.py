"""Writes the rows of a bank: texts, runs, annotations, saved relations; and deletes them."""
