"""A data frame of words is a corpus: read, checked and told as CoNLL-U is."""

from __future__ import annotations

from operator import eq
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from corpus_text import facts
from fixture_types import Models

from attnbank.ingest import IngestOptions, add_text, ingest
from attnbank.ingest.corpora.corpus_files import find_sources, read_corpus
from attnbank.ingest.corpora.document import CorpusError, Problem, Sentence
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError

WORDS = """
    select document.name as document, sentence.name as sent_id,
        word.* exclude (id, sentence)
    from word inner join sentence on sentence.id = word.sentence
    inner join document on document.id = sentence.document
    order by word.id
"""
TABLES = {
    "word": "* exclude (id)",
    "sentence": "document, index, name, words",
    "document": "corpus, index, name, split",
    "enhanced_dependency": "*",
}


def _add(corpus: Any, path: Path, **more: Any) -> Path:
    add_text(IngestOptions((corpus,), path, **more))
    return path


def _sql(bank: Path, statement: str) -> pl.DataFrame:
    with open_bank(bank) as opened:
        return opened.sql(statement)


def test_paths_may_be_text_or_paths_and_a_corpus_alone(tmp_path: Path) -> None:
    path, bank = tmp_path / "small.conllu", tmp_path / "bank.duckdb"
    path.write_text(TREES, encoding="utf-8")
    for corpora in (path, (str(path),)):  # a corpus of this name and other content: an error
        assert add_text(IngestOptions(corpora, str(bank), name="small")) == "small"  # type: ignore[arg-type]
    frame = _sql(bank, WORDS)
    add_text(IngestOptions((frame,), bank, name="frame"))
    forms = [*frame["form"], *frame["form"]]
    assert _sql(bank, "select form from word order by id")["form"].to_list() == forms


TREES = """\
# newdoc id = one
# sent_id = a
# text = Elle vient du marché et rentre.
1\tElle\til\tPRON\tCL\tGender=Fem|Number=Sing\t2\tnsubj\t2:nsubj|2.2:nsubj\t_
2\tvient\tvenir\tVERB\tV\t_\t0\troot\t0:root\t_
2.1\telle\t_\tPRON\t_\t_\t_\t_\t7:nsubj\t_
2.2\tsort\t_\tVERB\t_\t_\t_\t_\t2:conj\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\tP\t_\t5\tcase\t5:case\t_
4\tle\tle\tDET\tD\t_\t5\tdet\t5:det\t_
5\tmarché\tmarché\tNOUN\tN\t_\t2\tobl\t2:obl:de\tGloss=market
6\tet\tet\tCCONJ\tC\t_\t7\tcc\t2.1:cc|7:cc\t_
7\trentre\trentrer\tVERB\tV\t_\t2\tconj\t0:root|2:conj:et\tSpaceAfter=No
8\t.\t.\tPUNCT\t_\t_\t2\tpunct\t2:punct\t_

# sent_id = b
# text = Pluie
0.1\til\t_\tPRON\t_\t_\t_\t_\t1:nsubj\t_
1\tPluie\t_\tNOUN\t_\t_\t0\troot\t0:root|0.1:dep\t_

# newdoc id = two
# sent_id = a
# text = Elle  dort là-dessus.
1\tElle\til\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tdort\tdormir\tVERB\t_\t_\t0\troot\t_\t_
3-4\tlà-dessus\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\tlà\t_\tADV\t_\t_\t2\tadvmod\t_\t_
4\tdessus\t_\tADV\t_\t_\t3\tfixed\t_\t_
5\t.\t_\tPUNCT\t_\t_\t2\tpunct\t_\tSpaceAfter=No|Gloss=stop

"""
"""Two documents; tokens of two words, one with a space after it; empty nodes that words depend on,
also before the first word; cells that are missing."""


@pytest.mark.usual("small")
@pytest.mark.few("he-dev")
@pytest.mark.parametrize("name", ["small", "gum-dev", "fr-dev", "he-dev"])
def test_a_treebank_as_a_frame_gives_the_same_tables(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if name == "small":
        path = tmp_path / "small.conllu"
        path.write_text(TREES, encoding="utf-8")
    else:
        path = request.getfixturevalue("corpora") / f"{name}.conllu"
    bank = _add(str(path), tmp_path / "files.duckdb")
    frame = _sql(bank, WORDS)
    other = _add(frame, tmp_path / "frames.duckdb", name=name)
    with open_bank(bank) as of_file, open_bank(other) as of_frame:
        for table, columns in TABLES.items():
            statement = f"select {columns} from {table} order by all"
            wanted = of_file.sql(statement)
            assert wanted.height or name not in ("small", "gum-dev")
            assert wanted.equals(of_frame.sql(statement)), table
        # What the columns do not hold is rebuilt, or absent: the text, from the words.
        spelled = "select replace(text, ' ', '') as text from sentence order by id"
        texts, rebuilt = (opened.sql(spelled)["text"] for opened in (of_file, of_frame))
        assert sum(map(eq, texts, rebuilt)) > 0.99 * len(texts)
        facts = "select format, language from corpus"
        assert of_file.sql(facts).equals(of_frame.sql(facts))


def _sample(sample: Path, tmp_path: Path) -> pl.DataFrame:
    return _sql(_add(str(sample / "stories.conllu"), tmp_path / "sample.duckdb"), WORDS)


@pytest.mark.slow
def test_every_kind_of_frame_is_the_same_corpus(sample: Path, tmp_path: Path) -> None:
    frame = _sample(sample, tmp_path)
    table = frame.to_arrow()
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7))
    floats = frame.with_columns(pl.col("head_index").cast(pl.Float64))
    kinds = {"polars": frame, "arrow": table, "batches": batches, "floats": floats}
    corpora = [
        _sql(_add(corpus, tmp_path / f"{kind}.duckdb", name="stories"), "from corpus")
        for kind, corpus in kinds.items()
    ]
    assert all(corpus.equals(corpora[0]) for corpus in corpora)
    changed = frame.with_columns(pl.col("form").replace(frame["form"][3], "other"))
    with pytest.raises(CallError, match="its content differs"):
        _add(changed, tmp_path / "polars.duckdb", name="stories")
    assert _add(frame, tmp_path / "polars.duckdb", name="stories")  # adds nothing


def test_pandas(sample: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = _sample(sample, tmp_path)
    own = pandas.DataFrame(frame.to_dict(as_series=False))
    one = _add(frame, tmp_path / "one.duckdb", name="stories")
    other = _add(own, tmp_path / "other.duckdb", name="stories")
    for table in ("word", "corpus"):
        assert _sql(one, f"from {table}").equals(_sql(other, f"from {table}"))


@pytest.mark.slow
def test_an_ingest_of_a_frame(sample: Path, tmp_path: Path, tiny_model: Models) -> None:
    rows = []
    for name, corpus in (
        ("files", sample / "stories.conllu"),
        ("frame", _sample(sample, tmp_path)),
    ):
        bank = tmp_path / f"{name}.duckdb"
        ingest(IngestOptions((corpus,), bank, str(tiny_model("bert")), name="stories"))
        rows.append(_sql(bank, "from attention order by all"))
    assert rows[0].height and rows[0].equals(rows[1])


SMALL = pl.DataFrame(
    {
        "sentence": [1, 1, 1, 2, 2],
        "form": ["Rain", "fell", ".", "It", "stopped"],
        "upos": ["NOUN", "VERB", "PUNCT", "PRON", "VERB"],
        "head_index": [2, 0, 2, 2, 0],
        "deprel": ["nsubj", "root", "punct", "nsubj", "root"],
        "space_after": [True, False, True, True, True],
    }
)


@pytest.mark.slow
def test_the_least_that_a_frame_has(tmp_path: Path) -> None:
    bank = _add(SMALL, tmp_path / "small.duckdb", name="small")
    assert _sql(bank, "select text from sentence order by id")["text"].to_list() == [
        "Rain fell.", "It stopped",
    ]  # fmt: skip
    assert _sql(bank, "select name from document")["name"].to_list() == ["small"]
    bare = _add(SMALL.select("sentence", "form"), tmp_path / "bare.duckdb", name="bare")
    assert _sql(bare, "select count(head_index) as n from word")["n"].to_list() == [0]


def test_a_word_without_a_head_is_told_by_row() -> None:
    frame = SMALL.with_columns(head_index=pl.Series([2, 0, None, 2, 0]))
    first, _ = read_corpus(find_sources([frame], name="small"))
    assert isinstance(first, Sentence)
    assert [word.head_index for word in first.words] == [2, 0, None]
    assert facts(first.departures) == [("missing-head", "'.' has no head", 3)]


@pytest.mark.parametrize(
    ("column", "values", "fault"),
    [
        ("head_index", [2, 0, 2, 1, 0], "small:4: head-self: word 1 is its own head"),
        ("head_index", [2, 0, 9, 2, 0], "small:3: head-out-of-range: head 9 in a sentence of 3"),
        ("deprel", [None, None, None, "nsubj", "root"], "small:1: empty-deprel"),
        ("upos", ["NOUN", "VERB", "PUNCT", "WORD", "VERB"], "small:4: bad-upos"),
        ("form", ["Rain", "fell", None, "It", "stopped"], "small:3: empty-form"),
        ("form", ["Rain", "fell", "\x00", "It", "stopped"], "small:3: control-character"),
        ("index", [1, 2, 2, 1, 2], "small:3: id-order: expected id 3, found 2"),
        ("index", [1, 2, 1, 1, 2], "small:3: missing-blank-line"),
    ],
)
def test_faults_are_told_by_row(column: str, values: list[Any], fault: str) -> None:
    frame = SMALL.with_columns(pl.Series(column, values))
    items = read_corpus(find_sources([frame], name="small"))
    (problem,) = (item for item in items if isinstance(item, Problem))
    assert str(problem).startswith(fault)


def test_a_faulty_frame_makes_no_bank_but_with_skip_bad(tmp_path: Path) -> None:
    frame = SMALL.with_columns(head_index=pl.Series([2, 0, 9, 2, 0]))
    with pytest.raises(CorpusError, match="small:3: head-out-of-range"):
        _add(frame, tmp_path / "bad.duckdb", name="small")
    assert not (tmp_path / "bad.duckdb").exists()
    bank = _add(frame, tmp_path / "bad.duckdb", name="small", skip_bad=True)
    assert _sql(bank, "select place from skipped")["place"].to_list() == ["small:3"]


@pytest.mark.parametrize(
    ("frame", "fact"),
    [
        (SMALL.drop("sentence"), "The frame has these columns: form, upos"),
        (SMALL.drop("form"), "The frame has these columns: sentence, upos"),
        (
            SMALL.with_columns(form=pl.lit("a\n\n# newdoc")),
            "Row 1 of the frame has a tab or a line",
        ),
        (SMALL.with_columns(head_index=pl.lit(0.5)), "The frame cannot be read"),
        (SMALL.with_columns(head_index=pl.lit("up")), "The frame cannot be read"),
        (SMALL.lazy(), "A corpus cannot be a LazyFrame"),
    ],
)
def test_what_is_not_a_frame_of_words(frame: Any, fact: str, tmp_path: Path) -> None:
    with pytest.raises(CallError, match=fact):
        _add(frame, tmp_path / "none.duckdb", name="small")
    assert not (tmp_path / "none.duckdb").exists()


def test_a_frame_needs_a_name_and_rows(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="A data frame has no name"):
        _add(SMALL, tmp_path / "none.duckdb")
    with pytest.raises(CorpusError, match="no-sentences"):
        _add(SMALL.head(0), tmp_path / "none.duckdb", name="small")
