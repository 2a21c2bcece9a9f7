"""How large the parts of a corpus may be.

A corpus from elsewhere may have an endless line, a few bytes that decompress to billions, or
thousands of brackets. Every bound is far above what text has, and keeps a reader's memory well
below 3 GB. A file as a whole may have any size: it is read piece by piece.
"""

MOST_LINE = 16 * 2**20  # bytes; a sentence of 32,767 words has 0.2 MB, a book's paragraph 0.02 MB
MOST_SENTENCE = 32 * 2**20  # bytes with its annotation, or of what stands between two blank lines
MOST_BLANK = 1_000_000  # blank lines that follow one another
MOST_PARAGRAPH = 128 * 2**20  # bytes of plain text: a file of sentences may have no blank line
MOST_ROWS = 100_000  # lines of a sentence, comments and empty nodes counted
MOST_WORDS = 32_767  # of a sentence: word.index is a SMALLINT
MOST_CONSTITUENTS = 32_767  # of a sentence: constituent.number is a SMALLINT
MOST_CHARACTERS = 32_767  # of a word
MOST_OF_A_LABEL = 1_000  # characters of a relation or part of speech
MOST_COVERED = 1_000_000  # words in a sentence's mentions, those in several counted several times
MOST_DIGITS = 9  # of an id or a head; int() itself raises ValueError from 4,301 on
MOST_FACTOR = 200  # compression ratio of a gzip file; text has 3 to 20
SMALL_FILE = 64 * 2**20  # bytes of a decompressed file, below which any ratio is accepted
MOST_DOCBIN = 512 * 2**20  # bytes, decompressed: 4 million words with all their annotation
MOST_ITEMS = 4_000_000  # strings, numbers and lists in a DocBin, or in the user data of a Doc of it
MOST_TOKENS = 1_000_000  # of a Doc; spaCy itself refuses a text of a million characters
MOST_PIPE = 2 * 2**30  # bytes copied from standard input or a pipe, which can be read only once
LEAST_FREE = 2**30  # bytes that such a copy leaves free on its disk
