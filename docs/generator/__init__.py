"""The pages that are made from the commands, the schema, the analyses and the faults."""
