"""Every fault of the catalogue has a minimal faulty file, which gives that fault and no other.

The files are faults/FORMAT/ID.*. Those in faults/docbin hold three small Docs each, the second
with heads, spaces or a span group coref_clusters_1 that are wrong; bad-docbin is one cut short.
"""

from __future__ import annotations

import re
from pathlib import Path

import made_faults
import pytest

from attnbank.ingest.corpora.corpus_files import find_sources, read_corpus
from attnbank.ingest.corpora.document import ANY, FAULTS, CorpusError, Problem

FOLDER = Path(__file__).parents[1] / "faults"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.is_file())
MADE = {f"{format}/{id}": make for (format, id), make in made_faults.MADE.items()}
"""Those whose files would be large: they are made when they are needed."""

# The line that each problem names; 0 where the fault is the file's or the format has no lines.
LINES = {
    ("conll2012", 1): "bad-begin missing-begin",
    ("conll2012", 5): """
        bad-parse column-count empty-form mark-in-word missing-end not-utf8 repeated-mention
        unbalanced-entity unclosed-entity unknown-tag withheld-text
    """,
    ("conll2012", 6): """
        bad-coreference byte-order-mark carriage-return control-character duplicate-document
    """,
    ("conllu", 6): "bad-global-columns mark-in-word no-words repeated-mention unknown-tag",
    ("conllu", 7): """
        bad-deprel bad-deps bad-entity bad-feats bad-global-entity bad-upos byte-order-mark
        carriage-return column-count control-character duplicate-sent-id empty-column empty-deprel
        empty-form entity-head entity-parts head-not-integer head-out-of-range head-self
        missing-head no-entity-group no-root not-utf8 other-upos range-order repeated-document
        space-mismatch text-mismatch unbalanced-entity unclosed-entity withheld-form withheld-text
    """,
    ("conllu", 8): """
        bad-id cut-short cycle empty-node-id id-order misplaced-comment range-past-end root-deprel
        two-roots undeclared-entity
    """,
    ("conllu", 9): "missing-blank-line newdoc-in-sentence range-overlap",
    ("lines", 2): "too-many-words",
    ("lines", 3): "carriage-return mark-in-word not-utf8",
    ("lines", 4): "control-character",
    ("relations", 4): """
        bad-relation carriage-return cycle head-out-of-range head-self mark-in-word no-root
        not-utf8
    """,
    ("relations", 5): "byte-order-mark control-character two-roots",
    ("text", 3): "carriage-return mark-in-word not-utf8",
    ("text", 4): "control-character",
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
def test_a_large_faulty_file_gives_its_fault_alone(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / name
    path.parent.mkdir()
    _check(path, MADE[name](path), request)


@pytest.mark.usual(4)
@pytest.mark.parametrize("path", FILES, ids=key)
def test_a_faulty_file_gives_its_fault_alone(path: Path, request: pytest.FixtureRequest) -> None:
    format, id = key(path).split("/")
    lines = [line for (of, line), ids in LINES.items() if of == format and id in ids.split()]
    _check(path, sum(lines), request)


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
