"""Banks with text and no run, for requests that are not about attention."""

from __future__ import annotations

from pathlib import Path

import new_banks

from attnbank.ingest import IngestOptions
from attnbank.ingest.corpora.corpus import find_corpus_files
from attnbank.ingest.progress import ignore_progress
from attnbank.ingest.store import corpus
from attnbank.sql.bank.opening import open_to_write


def make_text_bank(path: Path, *corpora: Path) -> Path:
    """Write corpora into a bank, each with the stem of its file as its name."""
    connection = open_to_write(new_banks.put(path), "test")
    try:
        for each in corpora:
            found = find_corpus_files(IngestOptions((str(each),), path, "none", name=each.stem))
            corpus.write_corpus_once(connection, corpus.CheckedCorpus(found), ignore_progress)
    finally:
        connection.close()
    return path
