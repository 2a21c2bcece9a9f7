"""The catalogue of everything that can be wrong with a corpus.

Each fault has a stable id in kebab-case, a meaning and a remedy. Readers raise `SentenceError` with
an id from here, so that messages, the docs and the tests list the same faults.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnbank.ingest.corpora.document import Problem

CONLLU = "conllu"
RELATIONS = "relations"
CONLL2012 = "conll2012"
DOCBIN = "docbin"
TEXT = "text"
LINES = "lines"
ANY = "any"  # faults of the file itself, whatever its format

_LONGEST_FACT = 300  # characters: a fact may quote what a file holds
_LINES = (CONLLU, RELATIONS, CONLL2012, TEXT, LINES)
_TREES = (CONLLU, RELATIONS, DOCBIN)
_BRACKETS = (CONLLU, CONLL2012)


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: its id, the formats that it occurs in, its meaning and its remedy.

    What `is_mended` is read all the same, as a departure, unless strictness is asked for.
    """

    id: str
    formats: tuple[str, ...]
    meaning: str
    remedy: str
    is_mended: bool = False


class SentenceError(Exception):
    """Raised where a sentence turns out to be faulty; the reader makes a `Problem` of it."""

    def __init__(self, id: str, fact: str, line: int = 0) -> None:
        super().__init__(fact)
        self.id = id
        self.fact = fact
        self.line = line


_ALL = (
    # The file.
    FaultKind(
        "empty-file",
        (ANY,),
        "The file holds nothing, or only spaces and line ends.",
        "Check that the file was written or downloaded to the end, or leave it out.",
    ),
    FaultKind(
        "no-sentences",
        (ANY,),
        "The file was read to its end and holds no sentence at all.",
        "Check the file, or give its format with --format.",
    ),
    FaultKind(
        "bad-gzip",
        (ANY,),
        "The file begins as a gzip file but cannot be decompressed: it is cut short or damaged.",
        "Test it with gzip -t, and fetch or compress it again.",
    ),
    FaultKind(
        "unknown-format",
        (ANY,),
        "The format of the file cannot be recognised: it is not text in UTF-8.",
        "Convert it, give its format with --format, or leave it out.",
    ),
    FaultKind(
        "inflates-too-far",
        (ANY,),
        "A gzip file becomes more than 200 times as large (and 64 MB): no text does.",
        "Check where it is from; what should be read all the same can be decompressed first.",
    ),
    FaultKind(
        "line-too-long",
        (ANY,),
        "A line has more than 16 MB. The rest of the file is not read.",
        "Break the lines, at blank lines or after each sentence.",
    ),
    FaultKind(
        "blank-lines",
        (ANY,),
        "More than a million blank lines follow one another. The rest of the file is not read.",
        "Delete them, e.g. cat -s OLD > NEW.",
    ),
    # Bytes.
    FaultKind(
        "not-utf8",
        _LINES,
        "The bytes of a line are not UTF-8.",
        "Convert the file, e.g. iconv -f LATIN1 -t UTF-8 OLD > NEW.",
    ),
    FaultKind(
        "control-character",
        (*_LINES, DOCBIN),
        "A line holds a control character, such as a null byte.",
        "Delete the character; words hold only printable characters.",
    ),
    FaultKind(
        "carriage-return",
        _LINES,
        "A carriage return stands within a line: the lines end in it alone, or some of them.",
        "Convert the line ends, e.g. tr '\\r' '\\n' < OLD > NEW.",
    ),
    FaultKind(
        "byte-order-mark",
        (CONLLU, RELATIONS, CONLL2012),
        "A byte-order mark stands between the lines of a sentence: files were joined without a "
        "blank line between.",
        "Delete the mark, and put a blank line there.",
    ),
    # The shape of a block of lines.
    FaultKind(
        "sentence-too-long",
        (CONLLU, RELATIONS, CONLL2012, TEXT),
        "More than 100,000 lines, or 32 MB (of plain text 128 MB), stand between two blank lines.",
        "End every sentence, and every paragraph of plain text, with a blank line.",
    ),
    FaultKind(
        "word-too-long",
        (*_LINES, DOCBIN),
        "A word has more than 32,767 characters.",
        "Leave it out, or write less of it: a model takes a few hundred tokens.",
    ),
    FaultKind(
        "too-many-mentions",
        (*_BRACKETS, DOCBIN),
        "The mentions of a sentence cover more than a million words, counted for each mention.",
        "Correct the brackets: few mentions hold more than some dozens of words.",
    ),
    FaultKind(
        "column-count",
        (CONLLU, CONLL2012),
        "A line has more or fewer columns than the format asks for.",
        "Separate the columns by single tabs, and write _ for what is not annotated.",
    ),
    FaultKind(
        "cut-short",
        (CONLLU,),
        "The file ends in the middle of a line.",
        "Fetch or write the file again; its last sentence is incomplete.",
    ),
    FaultKind(
        "missing-blank-line",
        (CONLLU,),
        "A sentence begins before the one above it has ended.",
        "End every sentence with a blank line.",
    ),
    FaultKind(
        "misplaced-comment",
        (CONLLU,),
        "A comment stands between the words of a sentence.",
        "Move the comment above the first word, or write a form that begins with # after its id.",
    ),
    FaultKind(
        "newdoc-in-sentence",
        (CONLLU,),
        "A document begins between the words of a sentence.",
        "Put # newdoc above the sentence that begins the document, after a blank line.",
    ),
    FaultKind(
        "no-words",
        (CONLLU,),
        "A sentence has comments such as sent_id or text but no words.",
        "Delete the comments, or give the sentence its words.",
    ),
    # Ids.
    FaultKind(
        "bad-id",
        (CONLLU,),
        "An id is none of 1 (word), 1-2 (multiword token) and 1.1 (empty node).",
        "Number the words of each sentence 1, 2, 3, ...",
    ),
    FaultKind(
        "id-order",
        (CONLLU,),
        "The ids of the words are not 1, 2, 3, ... in this order.",
        "Number the words of each sentence anew; a line may be lost or out of place.",
    ),
    FaultKind(
        "range-order",
        (CONLLU,),
        "The range of a multiword token does not stand right above its first word, or does not "
        "hold at least two words.",
        "Put 3-4 right above word 3; its end must be greater than its start.",
    ),
    FaultKind(
        "range-overlap",
        (CONLLU,),
        "The ranges of two multiword tokens share a word.",
        "Let each word belong to one multiword token at most.",
    ),
    FaultKind(
        "range-past-end",
        (CONLLU,),
        "The range of a multiword token ends after the last word of the sentence.",
        "Correct the end of the range, or add the words that are lost.",
    ),
    FaultKind(
        "empty-node-id",
        (CONLLU,),
        "The id of an empty node does not continue the word or empty node above it.",
        "After word 3, number empty nodes 3.1, 3.2, ...; before word 1, 0.1, 0.2, ...",
    ),
    # Columns.
    FaultKind(
        "empty-form", (CONLLU, CONLL2012), "A word has no form.", "Write it; _ is the underscore."
    ),
    FaultKind(
        "empty-column", (CONLLU,), "A column is empty.", "Write _ for what is not annotated."
    ),
    FaultKind(
        "bad-upos",
        (CONLLU,),
        "UPOS is not one of the 17 universal part-of-speech tags.",
        "Use ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X or _; "
        "tags of the treebank's own stand in the next column, XPOS.",
    ),
    FaultKind(
        "bad-deprel", (CONLLU,), "DEPREL holds a space.", "Delete it, or part the columns by tabs."
    ),
    FaultKind(
        "bad-feats",
        (CONLLU,),
        "FEATS is not Name=Value pairs with | between, each name once.",
        "Write e.g. Number=Sing|Person=3, or _.",
    ),
    FaultKind(
        "bad-relation",
        (RELATIONS,),
        "A line is not a word and its head and relation, such as members 10-nsubj.",
        "Write the word, a space, the index of its head (0 for the root), a hyphen and the "
        "relation.",
    ),
    FaultKind(
        "too-many-words",
        (CONLLU, RELATIONS, CONLL2012, LINES, DOCBIN),
        "A sentence holds more than 32,767 words, the most that one in a bank can have.",
        "Put each sentence on a line of its own, or end it with a blank line.",
    ),
    # Trees.
    FaultKind(
        "head-not-integer",
        (CONLLU,),
        "HEAD is not a whole number, or is missing in a sentence in which other words have one.",
        "Write the id of the head, 0 for the root, or _ for every word of a sentence with no tree.",
    ),
    FaultKind(
        "head-out-of-range",
        _TREES,
        "HEAD is not a word of the sentence.",
        "Correct the head; words may be lost from the sentence, or it may be split wrongly.",
    ),
    FaultKind(
        "head-self",
        (CONLLU, RELATIONS),
        "A word is its own head.",
        "Correct the head; the root has head 0.",
    ),
    FaultKind("no-root", _TREES, "No word of the sentence has head 0.", "Give one word head 0."),
    FaultKind(
        "two-roots",
        _TREES,
        "More than one word of the sentence has head 0.",
        "Keep one root, or split the sentence.",
    ),
    FaultKind(
        "cycle",
        _TREES,
        "Heads lead from a word back to itself, never to the root.",
        "Correct one of the heads on the cycle.",
    ),
    FaultKind(
        "empty-deprel",
        (CONLLU,),
        "A word has a head but no relation to it.",
        "Write the relation in DEPREL.",
    ),
    FaultKind(
        "root-deprel",
        (CONLLU,),
        "The word with head 0 is not called root, or a word with another head is.",
        "Use the relation root for the word with head 0 and for no other.",
    ),
    # Names.
    FaultKind(
        "duplicate-sent-id",
        (CONLLU,),
        "Two sentences of a document have the same sent_id.",
        "Rename one of them, or delete it if it is a copy.",
    ),
    FaultKind(
        "duplicate-document",
        (CONLLU, CONLL2012),
        "Two documents of a file have the same name.",
        "Rename one of them, or delete it if it is a copy.",
    ),
    FaultKind(
        "text-mismatch",
        (CONLLU,),
        "# text is not what the words spell (spaces aside). Without --strict the text is rebuilt "
        "from the words.",
        "Correct the text or the forms; a line may be lost or doubled.",
        is_mended=True,
    ),
    # Coreference.
    FaultKind(
        "bad-global-entity",
        (CONLLU,),
        "# global.Entity does not name the fields of Entity, with eid or GRP among them.",
        "Write e.g. # global.Entity = eid-etype-head-other.",
    ),
    FaultKind(
        "bad-entity",
        (CONLLU,),
        "Entity in MISC is not made of openings (e1-person, closings e1) and single words (e1).",
        "Correct the brackets; a bracket within a value is written %28 or %29.",
    ),
    FaultKind(
        "entity-head",
        (CONLLU,),
        "The head (or minspan) of a mention is not a position within the mention.",
        "Count from 1 at the mention's first word, or check the order in # global.Entity.",
    ),
    FaultKind(
        "entity-parts",
        (CONLLU,),
        "The parts of a discontinuous mention, such as e5[1/2] and e5[2/2], do not add up.",
        "Number the parts 1 to their count, in the order of the text, all in one sentence.",
    ),
    FaultKind(
        "bad-coreference",
        (CONLL2012,),
        "The last column is not made of (1, 1) and (1) with | between.",
        "Correct the brackets; write - or _ where no mention begins or ends.",
    ),
    FaultKind(
        "unbalanced-entity",
        _BRACKETS,
        "A mention is closed that was not opened in the sentence.",
        "Open the mention in the same sentence, or delete the closing bracket.",
    ),
    FaultKind(
        "unclosed-entity",
        _BRACKETS,
        "A mention is opened but not closed in the sentence.",
        "Close the mention in the same sentence, or delete the opening bracket.",
    ),
    FaultKind(
        "mention-across-sentences",
        (DOCBIN,),
        "A mention (a span in coref_clusters_...) begins in one sentence and ends in another.",
        "Correct the span or the sentence boundaries.",
    ),
    # The documents of CoNLL-2012.
    FaultKind(
        "bad-begin",
        (CONLL2012,),
        "A line begins with #begin document but names no document.",
        "Write #begin document (NAME); part 000.",
    ),
    FaultKind(
        "missing-begin",
        (CONLL2012,),
        "Words, or #end document, stand outside of any document.",
        "Write #begin document (NAME); part 000 above the document.",
    ),
    FaultKind(
        "missing-end",
        (CONLL2012,),
        "A document begins, or the file ends, before the document above has ended.",
        "Write #end document below the document; if it is the last, the file may be cut short.",
    ),
    # DocBin.
    FaultKind(
        "bad-docbin",
        (DOCBIN,),
        "The file is not a spaCy DocBin, or is damaged.",
        "Write it anew with DocBin(store_user_data=True).to_disk(...).",
    ),
    FaultKind("empty-document", (DOCBIN,), "A Doc holds no words.", "Leave it out of the DocBin."),
)

FAULTS: dict[str, FaultKind] = {fault.id: fault for fault in _ALL}


def problem(id: str, fact: str, file: str, line: int = 0, sentence: str | None = None) -> Problem:
    """Make a `Problem` of a fault of the catalogue, with its remedy. KeyError: no such fault."""
    if len(fact) > _LONGEST_FACT:
        fact = fact[: _LONGEST_FACT - 3] + "..."
    return Problem(id, fact, FAULTS[id].remedy, file, line, sentence)
