"""Runs an ingest on many machines: Spark executors run the model and fill an export."""
