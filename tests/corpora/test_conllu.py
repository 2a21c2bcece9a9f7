"""CoNLL-U: what a sentence, a document and a paragraph become; nothing makes the reader stop."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_text import problem_and_sentence, read_items, read_sentence, read_sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbank.ingest.corpora.document import FaultError, Problem, Word, check_tree


def row(id: str, form: str, head: str = "_", deprel: str = "_", misc: str = "_") -> str:
    return f"{id}\t{form}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t{misc}"


RAIN = f"{row('1', 'Rain', '2', 'nsubj')}\n{row('2', 'fell', '0', 'root')}\n\n"
SNOW = RAIN.replace("Rain", "Snow")


def test_all_columns_of_a_word() -> None:
    text = (
        "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t2:nsubj\tGloss=x|SpaceAfter=No\n"
        "2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t0:root\t_\n"
    )
    sentence = read_sentence(text)
    assert sentence.words == (
        Word("Dogs", "dog", "NOUN", "NNS", "Number=Plur", 2, "nsubj", "2:nsubj", False, None,
             "Gloss=x"),
        Word("bark", "bark", "VERB", "VBP", None, 0, "root", "0:root", True, None, None),
    )  # fmt: skip
    assert sentence.line == 1


def test_the_underscore_is_a_word() -> None:
    sentence = read_sentence("1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n")
    assert sentence.words == (Word("_", lemma="_"), Word("x"))


def test_a_sentence_without_a_tree() -> None:
    sentence = read_sentence(f"{row('1', 'Rain')}\n{row('2', 'fell')}\n")
    assert [word.head_index for word in sentence.words] == [None, None]


def test_multiword_tokens() -> None:
    text = "\n".join(
        [
            "# text = I don't know.",
            row("1", "I", "4", "nsubj"),
            row("2-3", "don't"),
            row("2", "do", "4", "aux", "SpaceAfter=No"),
            row("3", "n't", "4", "advmod"),
            row("4-5", "know.", misc="SpaceAfter=No"),
            row("4", "know", "0", "root"),
            row("5", ".", "4", "punct"),
        ]
    )
    sentence = read_sentence(text)
    assert [word.surface for word in sentence.words] == [None, "don't", "don't", "know.", "know."]
    assert [word.space_after for word in sentence.words] == [True, False, True, False, False]


def test_empty_nodes_are_counted_and_are_no_words() -> None:
    text = "\n".join(
        [row("0.1", "You"), row("1", "Go", "0", "root"), row("1.1", "a"), row("1.2", "b")]
    )
    sentence = read_sentence(text)
    assert sentence.empty_nodes == 3
    assert [word.form for word in sentence.words] == ["Go"]


def test_documents_and_paragraphs() -> None:
    text = (
        "# newdoc id = one\n# newpar\n# meta::genre = tale\n# sent_id = s1\n" + RAIN
        + "# sent_id = s2\n" + RAIN
        + "# newpar id = p\n" + RAIN
        + "# newdoc\n# sent_id = s1\n" + RAIN
        + "# newdoc\n" + RAIN
    )  # fmt: skip
    read = read_sentences(text)
    starts = [sentence.document and sentence.document.name for sentence in read]
    assert starts == ["one", None, None, "document-1", "document-2"]
    assert [sentence.paragraph for sentence in read] == [1, 1, 2, None, None]
    assert [sentence.name for sentence in read] == ["s1", "s2", None, "s1", None]
    assert read[0].document is not None
    assert read[0].document.metadata == {"genre": "tale"}


COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"


def test_what_is_said_of_a_sentence_is_kept_as_it_is() -> None:
    text = (
        f"# newdoc id = one\n# global.columns = {COLUMNS}\n# meta::genre = tale\n# newpar id = p\n"
        "# sent_id = s1\n# speaker = Ann\n# text = Rain fell\n# s_type=decl\n# a = b = c\n"
        "# speaker =  Bob \n# empty =\n# no value\n# = no key\n# newpar_block = p (2 s)\n"
        + RAIN
        + "# sent_id = s2\n# text = Rain  fell\n# newpar\n# newdoc_id = x\n" + RAIN
        + "# text = Snow fell\n" + RAIN
    )  # fmt: skip
    first, second, third = read_sentences(text)
    assert list(first.metadata.items()) == [
        ("speaker", "Bob"), ("s_type", "decl"), ("a", "b = c"), ("empty", ""),
        ("newpar_block", "p (2 s)"),
    ]  # fmt: skip
    assert (first.name, first.text) == ("s1", "Rain fell")
    assert (second.name, second.text) == ("s2", "Rain  fell")
    assert second.metadata == {"newdoc_id": "x"}
    assert (third.text, third.metadata) == ("Rain fell", {"text": "Snow fell"})


def test_a_paragraph_may_begin_within_a_sentence() -> None:
    broken = row("1", "Rain", "2", "nsubj") + "\n" + row("2", "fell", "0", "root", "NewPar=Yes")
    read = read_sentences(f"# newpar\n{broken}\n\n{RAIN}")
    assert [sentence.paragraph for sentence in read] == [1, 2]


def test_a_file_without_newdoc_is_a_document() -> None:
    read = read_sentences("# a licence, and nothing else\n\n# meta::genre = tale\n" + RAIN + RAIN)
    assert [sentence.document is not None for sentence in read] == [True, False]
    assert read[0].document is not None
    assert (read[0].document.name, read[0].document.metadata) == ("document", {"genre": "tale"})


@pytest.mark.parametrize("lost", ["bad\n", "# sent_id = x\n\n", "\xff".join(["1", "\n"])])
def test_a_faulty_sentence_loses_neither_document_nor_paragraph(lost: str) -> None:
    begin = "# newdoc id = one\n# newpar\n# meta::genre = tale\n"
    text = (begin + lost).encode("latin1") + b"\n" + RAIN.encode()
    _, sentence = problem_and_sentence(read_items(text))
    assert sentence.document is not None
    assert (sentence.document.name, sentence.document.metadata) == ("one", {"genre": "tale"})
    assert sentence.paragraph == 1


def test_a_document_that_begins_in_a_faulty_sentence() -> None:
    text = RAIN.rstrip() + "\n# newdoc id = two\n" + RAIN + SNOW
    problem, sentence = problem_and_sentence(read_items(text))
    assert problem.id == "newdoc-in-sentence"
    assert sentence.document is not None and sentence.document.name == "two"


def test_all_problems_in_one_pass() -> None:
    bad = RAIN.replace("\t0\troot", "\t1\tdep")
    read = read_items("# sent_id = a\n" + bad + RAIN + "# sent_id = c\n" + bad + bad)
    assert [getattr(item, "id", None) for item in read] == ["no-root", None, "no-root", "no-root"]
    assert [item.line for item in read] == [2, 5, 9, 12]
    assert isinstance(read[0], Problem)
    message = str(replace(read[0], file="file.conllu"))
    assert message.startswith("file.conllu:2: no-root: no word has head 0 (sentence a).")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b" \n"),
        lambda data: data.rstrip(b"\n"),
        lambda data: b"\n\n" + data.replace(b"\n\n", b"\n\t\n\n") + b"\n\n",
    ],
    ids=["byte-order mark", "CRLF", "trailing spaces", "no final newline", "more blank lines"],
)
def test_harmless_variants_read_the_same(change) -> None:  # type: ignore[no-untyped-def]
    data = ("# newdoc id = d\n# sent_id = s\n# text = Rain fell\n" + RAIN + RAIN).encode()
    plain = [(s.words, s.name, s.text, s.document) for s in read_sentences(data)]
    assert [(s.words, s.name, s.text, s.document) for s in read_sentences(change(data))] == plain


def test_line_separators_of_unicode_end_no_line() -> None:
    sentence = read_sentence(row("1", "a\u2028b", "0", "root") + "\n")
    assert sentence.words[0].form == "a\u2028b"


def test_text_is_compared_without_spaces() -> None:
    assert len(read_sentences("# text = Ra in  fell\n" + RAIN)) == 1
    assert len(read_sentences("# text = Caf\u00e9\n" + row("1", "Cafe\u0301", "0", "root"))) == 1


def test_sent_ids_are_unique_within_a_document_only() -> None:
    text = "# newdoc id = a\n# sent_id = 1\n" + RAIN + "# newdoc id = b\n# sent_id = 1\n" + RAIN
    assert len(read_sentences(text)) == 2


def test_a_long_sentence() -> None:
    count = 1500
    lines = [row("1", "w", "0", "root")]
    lines += [row(str(i), "w", str(i - 1), "dep") for i in range(2, count + 1)]
    sentence = read_sentence("\n".join(lines))
    assert [word.head_index for word in sentence.words] == list(range(count))


# Properties.

cell = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"], exclude_characters="|=_#"),
    min_size=1,
    max_size=6,
)
optional = st.none() | cell


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    """Heads of a tree: each word hangs on one that comes before it in a random order."""
    count = draw(st.integers(1, 12))
    order = draw(st.permutations(range(1, count + 1)))
    heads = [0] * count
    for at, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from(order[:at])) if at else 0
    return heads


@st.composite
def words(draw: st.DrawFn) -> tuple[Word, ...]:
    return tuple(
        Word(
            form=draw(cell),
            lemma=draw(optional),
            upos=draw(st.sampled_from(["NOUN", "X", None])),
            xpos=draw(optional),
            feats=draw(st.sampled_from([None, "Number=Sing", "Case=Nom|Number=Sing"])),
            head_index=head,
            deprel="root" if head == 0 else "dep:" + draw(cell),
            deps=draw(st.none() | cell.map(f"{head}:dep:{{}}|0:root".format)),
            space_after=draw(st.booleans()),
            misc=draw(st.none() | cell.map("Gloss={}".format)),
        )
        for head in draw(trees())
    )


def write(sentence: Iterable[Word]) -> str:
    lines = []
    for index, word in enumerate(sentence, start=1):
        misc = [item for item in (word.misc, None if word.space_after else "SpaceAfter=No") if item]
        head = None if word.head_index is None else str(word.head_index)
        cells = (word.lemma, word.upos, word.xpos, word.feats, head, word.deprel, word.deps)
        columns = [str(index), word.form, *(cell or "_" for cell in cells), "|".join(misc) or "_"]
        lines.append("\t".join(columns))
    return "\n".join(lines) + "\n\n"


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(words(), min_size=1, max_size=4))
def test_what_is_written_is_read(corpus: list[tuple[Word, ...]]) -> None:
    read = read_sentences("".join(map(write, corpus)))
    assert [sentence.words for sentence in read] == corpus


def is_tree(heads: list[int]) -> bool:
    """Climb from every word; slow and plain."""
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = heads[word - 1] if 0 < word <= len(heads) else word
        if word != 0:
            return False
    return heads.count(0) == 1


@pytest.mark.slow
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_a_tree_fault_is_found_where_there_is_one(heads: list[int]) -> None:
    with nullcontext() if is_tree(heads) else pytest.raises(FaultError):
        check_tree(heads)


DAMAGE = [b"", b"\t", b"\n", b"\n\n", b"#", b"-", b".", b"1", b"0", b"_", b"\xff", b"(", b"|"]


def test_damage_gives_problems_and_never_an_exception() -> None:
    rng = random.Random(1)
    line = row("1", "Rain", "2", "nsubj", "Entity=(e1-weather-1)")
    sound = ("# newdoc id = d\n# sent_id = s\n# text = Rain fell\n" + line + RAIN[19:]).encode()
    good = (sound + RAIN.encode()) * 2
    problems = 0
    for _ in range(500):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            data[at : at + rng.randint(0, 2)] = rng.choice(DAMAGE)
        problems += any(isinstance(item, Problem) for item in read_items(bytes(data)))
    assert problems > 250


# Real corpora, against a count that is slow and obvious.


@pytest.mark.slow
@pytest.mark.few("gum-dev", "ewt-dev")
@pytest.mark.parametrize("name", ["gum-dev", "ewt-dev", "gum-train"])
def test_real_corpora(corpora: Path, name: str) -> None:
    path = corpora / f"{name}.conllu"
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    read = read_sentences(path.read_bytes())
    assert len(read) == sum(line.startswith("# sent_id = ") for line in lines)
    numbered = [line.split("\t") for line in lines if line[:1].isdigit()]
    expected = [cells[1] for cells in numbered if cells[0].isdigit()]
    assert [word.form for sentence in read for word in sentence.words] == expected
    starts = [s.document.name for s in read if s.document is not None]
    assert starts == [line[14:] for line in lines if line.startswith("# newdoc id = ")]
    assert sum(s.empty_nodes for s in read) == sum("." in cells[0] for cells in numbered)
    misc = [item for cells in numbered for item in cells[9].split("|")]
    opened = sum(item.count("(") for item in misc if item.startswith("Entity="))
    assert sum(len(s.mentions) for s in read) == opened


def test_white_space_is_no_form() -> None:
    (problem,) = read_items(
        "1\ttea\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\t \t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
    )
    assert isinstance(problem, Problem)
    assert (problem.id, problem.fact) == ("empty-form", "the form of word 2 is white space")
