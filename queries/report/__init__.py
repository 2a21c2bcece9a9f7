"""The report: the sections of a bank as one page that asks for nothing outside itself."""
