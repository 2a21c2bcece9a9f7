"""Data frames of words as corpora: they are written to a CoNLL-U file, which is then read.

A frame has a row for each word, in the order of the text, and the columns of table `word`.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from attnbank.ingest.corpora.format import CorpusFile
from attnbank.sql.errors import CallError, first_line

_TEXTS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc", "surface", "document")
_NUMBERS = ("index", "head_index", "token_start")
_NAMES = ("sentence", "sent_id")
_KNOWN = (*_TEXTS, *_NUMBERS, *_NAMES, "space_after")
_BREAKS = frozenset("\t\n\r")
_EMPTY_NODE = re.compile(r"(?:^|\|)([0-9]{1,5})\.([0-9]{1,2}):")


def is_frame(corpus: object) -> bool:
    """Whether a corpus is a data frame, of Polars, pandas, pyarrow or anything streaming Arrow."""
    return hasattr(corpus, "__arrow_c_stream__") or hasattr(corpus, "iloc")


def frame_source(frame: Any, folder: Path, name: str, keep: object) -> CorpusFile:
    """Write a frame to a CoNLL-U file of this name in a folder; its digest is that of the content.

    Consecutive rows with the same `sent_id` (its name) or `sentence` (its name if text) are a
    sentence. Unknown columns are ignored. `keep` is held by the result, so that the folder lives as
    long. Raises CallError for a frame without words or sentences, or with values that a CoNLL-U
    file cannot have.
    """
    rows = _frame_rows(frame)
    path = folder / f"{Path(name).name}.conllu"
    places = array("l")  # of each line: the row of the frame, from 1
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for row, line in _conllu_lines(rows):
            content = f"{line}\n".encode()
            digest.update(content)
            file.write(content)
            places.append(row)
    return CorpusFile(name, path, "conllu", digest.hexdigest(), keep=keep, line_numbers=places)


def _frame_rows(frame: Any) -> Iterator[dict[str, Any]]:
    try:
        streams = hasattr(frame, "__arrow_c_stream__")
        table = pa.table(frame) if streams else pa.Table.from_pandas(frame, preserve_index=False)
        named = [name for name in table.column_names if name in _KNOWN]
        table = table.select(named)
        for name in {*named} & {*_NUMBERS}:
            at = named.index(name)
            # pandas makes floats (3.0) of integers where some are missing.
            table = table.set_column(at, name, table[name].cast(pa.int64()))
    except Exception as error:  # the caller's object may raise anything
        raise CallError(
            f"The frame cannot be read: {first_line(error)}",
            "Give a Polars or pandas frame with a row for each word.",
        ) from error
    if "form" not in named or not {*named} & {*_NAMES}:
        raise CallError(
            f"The frame has these columns: {', '.join(table.column_names) or 'none'}.",
            "It needs form, and sentence or sent_id; it may have " + ", ".join(_KNOWN[1:-3]) + ".",
        )
    return (row for batch in table.to_batches(10_000) for row in batch.to_pylist())


def _conllu_lines(rows: Iterator[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a CoNLL-U file, each with the number of the row it comes from."""
    before: Any = None
    numbered = enumerate(rows, start=1)
    by_sentence = groupby(
        numbered, lambda item: [item[1].get(column) for column in ("document", *_NAMES)]
    )
    for (document, sentence, sent_id), group in by_sentence:
        words = [*group]
        first = words[0][0]
        if document is not None and document != before:
            yield first, f"# newdoc id = {_cell_to_text(document, first, 'document')}"
        before = document
        name = sentence if sent_id is None and isinstance(sentence, str) else sent_id
        if name is not None:
            yield first, f"# sent_id = {_cell_to_text(name, first, 'sent_id')}"
        empty = _empty_nodes([word for _, word in words])
        yield from ((first, line) for line in empty["0"])
        for at, (row, word) in enumerate(words):
            if word.get("token_start") is not None and word["token_start"] == _word_index(word, at):
                yield row, _token_row(words[at:], at)
            yield row, _word_row(word, at, row)
            yield from ((row, line) for line in empty[str(_word_index(word, at))])
        yield words[-1][0], ""


def _empty_nodes(words: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return lines for the empty nodes that `deps` refers to, by the index of the word before.

    Frames have no rows for empty nodes, but in CoNLL-U a head in DEPS must be a node.
    """
    most: dict[str, int] = defaultdict(int)
    for word in words:
        for before, number in _EMPTY_NODE.findall(str(word.get("deps") or "")):
            most[before] = max(most[before], int(number))
    nodes = {at: [f"{at}.{n}" + "\t_" * 9 for n in range(1, last + 1)] for at, last in most.items()}
    return defaultdict(list, nodes)


def _word_index(word: Mapping[str, Any], at: int) -> Any:
    return word.get("index", at + 1)


def _token_row(words: Sequence[tuple[int, Mapping[str, Any]]], at: int) -> str:
    """Return the line of the multiword token that begins with the first of these words."""
    (row, first), start = words[0], words[0][1]["token_start"]
    parts = [word for _, word in words if word.get("token_start") == start]
    last = _word_index(parts[-1], at + len(parts) - 1)
    misc = "_" if parts[-1].get("space_after") is not False else "SpaceAfter=No"
    surface = _cell_to_text(first.get("surface"), row, "surface")
    return "\t".join([f"{start}-{last}", surface, *"_" * 7, misc])


def _word_row(word: Mapping[str, Any], at: int, row: int) -> str:
    def column_text(name: str) -> str:
        return _cell_to_text(word.get(name), row, name)

    misc = [] if word.get("misc") is None else [column_text("misc")]
    if word.get("space_after") is False:
        misc.insert(0, "SpaceAfter=No")
    form = "" if word["form"] is None else column_text("form")
    cells = [
        column_text(name)
        for name in ("lemma", "upos", "xpos", "feats", "head_index", "deprel", "deps")
    ]
    index = _cell_to_text(_word_index(word, at), row, "index")
    return "\t".join([index, form, *cells, "|".join(misc) or "_"])


def _cell_to_text(value: Any, row: int, column: str) -> str:
    text = "_" if value is None else str(value)
    if not _BREAKS.isdisjoint(text):
        raise CallError(
            f"Row {row:,} of the frame has a tab or a line break in column {column}.",
            "Replace it with a space.",
        )
    return text
