"""Every fault of the catalogue has a minimal faulty file, which gives that fault and no other.

The files are faults/FORMAT/ID.*. Those in faults/docbin hold three small Docs each, the second
with heads, spaces or a span group coref_clusters_1 that are wrong; bad-docbin is one cut short.
"""

from __future__ import annotations

import re
from pathlib import Path

import made_faults
import pytest

from attnbank.ingest.corpora.document import ANY, FAULTS, CorpusError, Problem
from attnbank.ingest.corpora.sources import find_sources, read_corpus

FOLDER = Path(__file__).parents[1] / "faults"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.is_file())
MADE = {f"{format}/{id}": make for (format, id), make in made_faults.MADE.items()}
"""Those whose files would be large: they are made when they are needed."""

# The line that each problem names; 0 where the fault is the file's or the format has no lines.
LINES = {
    "conll2012/bad-begin": 1,
    "conll2012/bad-coreference": 6,
    "conll2012/bad-parse": 5,
    "conll2012/column-count": 5,
    "conll2012/control-character": 6,
    "conll2012/duplicate-document": 6,
    "conll2012/empty-form": 5,
    "conll2012/missing-begin": 1,
    "conll2012/missing-end": 5,
    "conll2012/not-utf8": 5,
    "conll2012/repeated-mention": 5,
    "conll2012/unknown-tag": 5,
    "conll2012/unbalanced-entity": 5,
    "conll2012/unclosed-entity": 5,
    "conllu/bad-deprel": 7,
    "conllu/bad-deps": 7,
    "conllu/bad-entity": 7,
    "conllu/bad-feats": 7,
    "conllu/bad-global-entity": 7,
    "conllu/bad-id": 8,
    "conllu/bad-upos": 7,
    "conllu/column-count": 7,
    "conllu/control-character": 7,
    "conll2012/byte-order-mark": 6,
    "conll2012/carriage-return": 6,
    "conllu/byte-order-mark": 7,
    "conllu/carriage-return": 7,
    "lines/carriage-return": 3,
    "relations/byte-order-mark": 5,
    "relations/carriage-return": 4,
    "text/carriage-return": 3,
    "conllu/cut-short": 8,
    "conllu/cycle": 8,
    "conllu/duplicate-sent-id": 7,
    "conllu/empty-column": 7,
    "conllu/empty-deprel": 7,
    "conllu/empty-form": 7,
    "conllu/empty-node-id": 8,
    "conllu/entity-head": 7,
    "conllu/entity-parts": 7,
    "conllu/head-not-integer": 7,
    "conllu/head-out-of-range": 7,
    "conllu/head-self": 7,
    "conllu/id-order": 8,
    "conllu/misplaced-comment": 8,
    "conllu/missing-blank-line": 9,
    "conllu/newdoc-in-sentence": 9,
    "conllu/no-entity-group": 7,
    "conllu/no-root": 7,
    "conllu/no-words": 6,
    "conllu/not-utf8": 7,
    "conllu/range-order": 7,
    "conllu/range-overlap": 9,
    "conllu/range-past-end": 8,
    "conllu/repeated-document": 7,
    "conllu/repeated-mention": 6,
    "conllu/unknown-tag": 6,
    "conllu/root-deprel": 8,
    "conllu/space-mismatch": 7,
    "conllu/text-mismatch": 7,
    "conllu/two-roots": 8,
    "conllu/unbalanced-entity": 7,
    "conllu/unclosed-entity": 7,
    "conll2012/mark-in-word": 5,
    "conll2012/withheld-text": 5,
    "conllu/bad-global-columns": 6,
    "conllu/mark-in-word": 6,
    "conllu/missing-head": 7,
    "conllu/other-upos": 7,
    "conllu/withheld-form": 7,
    "conllu/withheld-text": 7,
    "lines/mark-in-word": 3,
    "relations/mark-in-word": 4,
    "text/mark-in-word": 3,
    "lines/control-character": 4,
    "lines/not-utf8": 3,
    "lines/too-many-words": 2,
    "relations/bad-relation": 4,
    "relations/control-character": 5,
    "relations/cycle": 4,
    "relations/head-out-of-range": 4,
    "relations/head-self": 4,
    "relations/no-root": 4,
    "relations/not-utf8": 4,
    "relations/two-roots": 5,
    "text/control-character": 4,
    "text/not-utf8": 3,
}


def key(path: Path) -> str:
    return f"{path.parent.name}/{path.name.split('.')[0]}"


def test_every_fault_has_a_file_and_every_file_a_fault() -> None:
    catalogue = {f"{format}/{fault.id}" for fault in FAULTS.values() for format in fault.formats}
    assert catalogue == {key(path) for path in FILES} | MADE.keys()
    assert not MADE.keys() & {key(path) for path in FILES}


def test_the_catalogue_reads_well() -> None:
    for fault in FAULTS.values():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fault.id)
        assert fault.meaning.endswith(".") and fault.remedy.endswith(".")
        assert fault.formats


@pytest.mark.usual("conll2012/*", "relations/sentence*", "conllu/too*")
@pytest.mark.parametrize("name", MADE)
def test_so_does_a_large_one(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / name
    path.parent.mkdir()
    line = MADE[name](path)
    _check(path, line, request)


@pytest.mark.usual(4)
@pytest.mark.parametrize("path", FILES, ids=key)
def test_a_faulty_file_gives_its_fault_alone(path: Path, request: pytest.FixtureRequest) -> None:
    _check(path, LINES.get(key(path), 0), request)


def _check(path: Path, line: int, request: pytest.FixtureRequest) -> None:
    format, id = key(path).split("/")
    if format == "docbin":
        pytest.importorskip("spacy")
    spacy = str(request.getfixturevalue("tiny_pipeline")) if format == "text" else None
    try:
        # Nothing in a file tells sentences on lines from other text: the user says so.
        sources = find_sources([str(path)], "lines" if format == "lines" else None, spacy)
        if format != ANY:
            assert sources[0].format == format
        items = list(read_corpus(sources, spacy=spacy, strict=True))
    except CorpusError as error:
        items = list(error.problems)
    problems = [item for item in items if isinstance(item, Problem)]
    assert [problem.id for problem in problems] == [id]
    assert problems[0].line == line
    assert problems[0].file == str(path)
    assert problems[0].remedy == FAULTS[id].remedy
    if format != ANY and id != "bad-docbin":
        assert len(items) > 1, "the sound sentences around the faulty one are read"
