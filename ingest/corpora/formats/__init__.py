"""One module for each corpus format: CoNLL-U, CoNLL-2012, DocBin, plain text and others."""
