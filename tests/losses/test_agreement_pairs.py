"""Pairs of agreement are those that a slow reading of the treebank's own lines finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import oracle_agreement
import pytest
from bank_rows import query_bank
from oracle_agreement import Site

from attnbank.cli.app import run_command_line
from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.losses.minimal_pairs import Pair, agreement_pairs
from attnbank.ingest.store.corpus import add_text

# What `_sentence` writes for the feats of a word: of a noun, of a pronoun, and of forms of verbs.
FEATS = {
    "s": "Number=Sing",
    "p": "Number=Plur",
    "ptan": "Number=Ptan",
    "s1": "Number=Sing|Person=1",
    "s3": "Number=Sing|Person=3",
    "p3": "Number=Plur|Person=3",
    "S1": "Mood=Ind|Number=Sing|Person=1|Tense=Pres|VerbForm=Fin",
    "S3": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "P1": "Mood=Ind|Number=Plur|Person=1|Tense=Pres|VerbForm=Fin",
    "P3": "Mood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin",
    "SP": "Mood=Ind|Number=Sing|Person=3|Tense=Past|VerbForm=Fin",
    "PP": "Mood=Ind|Number=Plur|Person=3|Tense=Past|VerbForm=Fin",
    "sub": "Mood=Sub|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "typo": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|Typo=Yes|VerbForm=Fin",
    "subs": "Mood=Sub|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin",
    "typos": "Mood=Ind|Number=Plur|Person=3|Tense=Pres|Typo=Yes|VerbForm=Fin",
    "fin": "VerbForm=Fin",
    "inf": "VerbForm=Inf",
    "part": "Tense=Past|VerbForm=Part",
    "ms": "Gender=Masc|Number=Sing|Person=3|Tense=Past",
    "fs": "Gender=Fem|Number=Sing|Person=3|Tense=Past",
    "up": "Number=Plur|Person=3|Tense=Past",
    "fmp": "Gender=Fem,Masc|Number=Plur|Person=3|Tense=Past",
}
PARADIGM = """
is be AUX S3 0 root

are be AUX P3 0 root

was be AUX SP 0 root

were be AUX PP 0 root

has have AUX S3 0 root

have have VERB P3 0 root

sees see VERB S3 0 root

see see VERB P3 0 root
"""
"""Forms without a subject: no pair is made of them."""

CASES = {
    "attractor": (
        """
        The the DET _ 2 det
        friend friend NOUN s 9 nsubj
        of of ADP _ 5 case
        the the DET _ 5 det
        sailors sailor NOUN p 2 nmod
        from from ADP _ 7 case
        Athens Athens PROPN s 5 nmod
        always always ADV _ 9 advmod
        sees see VERB S3 0 root
        cats cat NOUN p 9 obj
        """,
        [("sees", "see", "nsubj", 1, 7)],
    ),
    "several attractors": (
        """
        Keys key NOUN p 6 nsubj
        of of ADP _ 3 case
        doors door NOUN s 1 nmod
        in in ADP _ 5 case
        Rome Rome PROPN s 3 nmod
        see see VERB P3 0 root
        """,
        [("see", "sees", "nsubj", 2, 5)],
    ),
    "copula": (
        """
        Dogs dog NOUN p 4 nsubj
        are be AUX P3 4 cop
        very very ADV _ 4 advmod
        old old ADJ _ 0 root
        """,
        [("are", "is", "nsubj", 0, 1)],
    ),
    "past": (
        """
        Dogs dog NOUN p 3 nsubj
        were be AUX PP 3 cop
        old old ADJ _ 0 root
        """,
        [("were", "was", "nsubj", 0, 1)],
    ),
    "plurale tantum": (
        """
        Scissors scissors NOUN ptan 3 nsubj
        are be AUX P3 3 cop
        old old ADJ _ 0 root
        """,
        [("are", "is", "nsubj", 0, 1)],
    ),
    "auxiliary": (
        """
        She she PRON s3 4 nsubj
        has have AUX S3 4 aux
        been be AUX part 4 aux
        seeing see VERB part 0 root
        """,
        [("has", "have", "nsubj", 0, 1)],
    ),
    "passive": (
        """
        Dogs dog NOUN p 4 nsubj:pass
        have have AUX P3 4 aux
        been be AUX part 4 aux:pass
        seen see VERB part 0 root
        """,
        [("have", "has", "nsubj:pass", 0, 1)],
    ),
    "inversion": (
        """
        Is be AUX S3 5 cop
        the the DET _ 4 det
        cats' cat NOUN p 4 nmod:poss
        dog dog NOUN s 5 nsubj
        old old ADJ _ 0 root
        ? ? PUNCT _ 5 punct
        """,
        [("Is", "Are", "nsubj", 1, 3)],
    ),
    "capitals": (
        """
        IT it PRON s3 3 nsubj
        IS be AUX S3 3 cop
        OLD old ADJ _ 0 root
        """,
        [("IS", "ARE", "nsubj", 0, 1)],
    ),
    "negation": (
        """
        It it PRON s3 4 nsubj
        2-3 isn't
        is be AUX S3 4 cop
        n't not PART _ 4 advmod
        old old ADJ _ 0 root
        """,
        [("is", "are", "nsubj", 0, 1)],
    ),
    "relative clause": (
        """
        Dogs dog NOUN p 7 nsubj
        that that PRON _ 5 nsubj
        the the DET _ 4 det
        man man NOUN s 5 obj
        see see VERB P3 1 acl:relcl
        are be AUX P3 7 cop
        old old ADJ _ 0 root
        """,
        [("are", "is", "nsubj", 1, 5)],
    ),
    "clause with a subject": (
        """
        Dogs dog NOUN p 7 nsubj
        that that PRON _ 5 obj
        the the DET _ 4 det
        man man NOUN s 5 nsubj
        sees see VERB S3 1 acl:relcl
        are be AUX P3 7 cop
        old old ADJ _ 0 root
        """,
        [("sees", "see", "nsubj", 0, 1), ("are", "is", "nsubj", 1, 5)],
    ),
    "quotation": (
        """
        It it PRON s3 4 nsubj
        " " PUNCT _ 3 punct NoSpace
        is be AUX S3 4 cop
        old old ADJ _ 0 root
        """,
        [("is", "are", "nsubj", 0, 2)],
    ),
    "token that is read as written": (
        """
        Prix prix NOUN s 6 nsubj
        2-3 des
        de de ADP _ 4 case
        les le DET _ 4 det
        pains pain NOUN p 1 nmod
        is be AUX S3 6 cop
        old old ADJ _ 0 root
        """,
        [("is", "are", "nsubj", 1, 4)],
    ),
    "coordination": (
        """
        Dogs dog NOUN p 4 nsubj
        and and CCONJ _ 3 cc
        cats cat NOUN p 1 conj
        see see VERB P3 0 root
        """,
        [],
    ),
    "clitic": (
        """
        1-2 he's
        he he PRON s3 3 nsubj
        's be AUX S3 3 cop
        old old ADJ _ 0 root
        """,
        [],
    ),
    "elision": (
        """
        n' ne ADV _ 3 advmod NoSpace
        is be AUX S3 3 cop
        old old ADJ _ 0 root
        it it PRON s3 3 nsubj
        """,
        [],
    ),
    "verb in a token that is read as written": (
        """
        He he PRON s3 3 nsubj
        2-3 innit
        is be AUX S3 3 cop
        not old ADJ _ 0 root
        """,
        [],
    ),
    "expletive": (
        """
        There there PRON _ 2 expl
        are be VERB P3 0 root
        dogs dog NOUN p 2 nsubj
        """,
        [],
    ),
    "modal": (
        """
        She she PRON s3 4 nsubj
        can can AUX fin 4 aux
        is be AUX S3 4 aux
        see see VERB inf 0 root
        """,
        [],
    ),
    "two subjects": (
        """
        Trouble trouble NOUN s 6 nsubj:outer
        is be AUX S3 6 cop
        that that SCONJ _ 6 mark
        he he PRON s3 6 nsubj
        is be AUX S3 6 cop
        late late ADJ _ 0 root
        """,
        [],
    ),
    "clause as a subject": (
        """
        What what PRON _ 2 nsubj
        counts count VERB S3 5 csubj:outer
        is be AUX S3 5 cop
        they they PRON p3 5 nsubj
        see see VERB P3 0 root
        """,
        [],
    ),
    "numbers that differ": (
        """
        Staff staff NOUN s 2 nsubj
        see see VERB P3 0 root
        """,
        [],
    ),
    "no number": (
        """
        Who who PRON _ 2 nsubj
        sees see VERB S3 0 root
        """,
        [],
    ),
    "no noun": (
        """
        Two two NUM p 2 nsubj
        see see VERB P3 0 root
        """,
        [],
    ),
    "other person": (
        """
        I I PRON s1 2 nsubj
        sees see VERB S3 0 root
        """,
        [],
    ),
    "no form of this person": (
        """
        I I PRON s1 3 nsubj
        am be AUX S1 3 cop
        old old ADJ _ 0 root
        """,
        [],
    ),
    "first person": (
        """
        I I PRON s1 3 nsubj
        am be AUX S1 3 cop
        old old ADJ _ 0 root

        're be AUX P1 0 root

        're be AUX P1 0 root

        we we PRON _ 2 nsubj NoSpace
        're be AUX P1 0 root

        we we PRON _ 2 nsubj NoSpace
        're be AUX P1 0 root

        are be AUX P1 0 root

        are be AUX P1 0 root

        are be AUX P1 0 root
        """,
        [("am", "are", "nsubj", 0, 1)],
    ),
    "mood": (
        """
        It it PRON s3 2 nsubj
        sees see VERB sub 0 root

        see see VERB subs 0 root
        """,
        [],
    ),
    "mistake": (
        """
        It it PRON s3 2 nsubj
        sees see VERB typo 0 root

        see see VERB typos 0 root
        """,
        [],
    ),
    "one form for both": (
        """
        It it PRON s3 2 nsubj
        saw see VERB SP 0 root

        saw see VERB PP 0 root
        """,
        [],
    ),
    "rare form": (
        """
        It it PRON s3 2 nsubj
        ben be VERB S3 0 root

        is be VERB S3 0 root
        """,
        [],
    ),
    "several forms": (
        """
        They they PRON p3 2 nsubj
        go go VERB P3 0 root

        Goes go VERB S3 0 root

        goeth go VERB S3 0 root

        goes go VERB S3 0 root

        They they PRON p3 2 nsubj
        wend wend VERB P3 0 root

        wends wend VERB S3 0 root

        wendeth wend VERB S3 0 root
        """,
        [("go", "goes", "nsubj", 0, 1), ("wend", "wendeth", "nsubj", 0, 1)],
    ),
    "gender": (
        """
        Yeled yeled NOUN s 2 nsubj
        haya haya VERB ms 0 root

        Yalda yalda NOUN s 2 nsubj
        hayta haya VERB fs 0 root

        Yeladim yeled NOUN p 2 nsubj
        hayu haya VERB fmp 0 root

        haya haya VERB ms 0 root
        """,
        [
            ("haya", "hayu", "nsubj", 0, 1),
            ("hayta", "hayu", "nsubj", 0, 1),
            ("hayu", "haya", "nsubj", 0, 1),
        ],
    ),
    "gender of one number alone": (
        """
        Devochka devochka NOUN s 2 nsubj
        byla byt VERB fs 0 root

        Devochki devochka NOUN p 2 nsubj
        byli byt VERB up 0 root

        byl byt VERB ms 0 root
        """,
        [("byla", "byli", "nsubj", 0, 1), ("byli", "byl", "nsubj", 0, 1)],
    ),
}


def _sentence(text: str, name: str) -> str:
    """CoNLL-U of `form lemma upos feats head deprel` lines, and `2-3 form` ones."""
    lines, index = [f"# sent_id = {name}"], 0
    for row in text.strip().splitlines():
        cells = row.split()
        if "-" in cells[0] and len(cells) == 2:
            lines.append("\t".join([*cells, *"_" * 8]))
            continue
        index += 1
        form, lemma, upos, feats, head, deprel, *space = cells
        feats = FEATS.get(feats, feats)
        misc = "SpaceAfter=No" if space else "_"
        lines.append(
            "\t".join([str(index), form, lemma, upos, "_", feats, head, deprel, "_", misc])
        )
    return "\n".join(lines) + "\n\n"


def _write(text: str, path: Path) -> None:
    blocks = text.strip().split("\n\n")
    path.write_text("".join(_sentence(each, f"s{at}") for at, each in enumerate(blocks)), "utf-8")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each case, and a bank with all of them, each a corpus by its name."""
    folder = tmp_path_factory.mktemp("cases")
    for at, (text, _) in enumerate(CASES.values()):
        path = folder / f"{at}.conllu"
        _write(f"{PARADIGM}\n\n{text.strip()}", path)
        add_text(IngestOptions((str(path),), folder / "bank.duckdb", model="none"))
    return folder


def _pairs(bank: Path, corpus: str) -> tuple[list[Pair], list[Site]]:
    """The pairs of a corpus, and the same as sites."""
    with duckdb.connect(str(bank), read_only=True) as connection:
        ((id,),) = connection.execute("select id from corpus where name = ?", [corpus]).fetchall()
        pairs = agreement_pairs(connection, id)
        places = {
            word: place
            for word, *place in connection.execute(
                "select word.id, sentence.name, word.index from word"
                " inner join sentence on sentence.id = word.sentence"
            ).fetchall()
        }
    found = []
    for each in pairs:
        assert each.at is not None and each.word is not None
        assert each.attractors is not None and each.distance is not None
        sentence, index = places[each.word]
        texts = each.good.words, each.bad.words, each.at
        facts = each.attractors, each.distance, each.is_inverted
        found.append(Site(sentence, index, each.paradigm, *texts, *facts))
    return pairs, found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_small_cases(cases: Path, case: str) -> None:
    name = str(list(CASES).index(case))
    pairs, found = _pairs(cases / "bank.duckdb", name)
    told = [
        (each.good[each.at], each.bad[each.at], each.relation, each.attractors, each.distance)
        for each in found
    ]
    assert told == CASES[case][1]
    assert found == oracle_agreement.sites(cases / f"{name}.conllu")
    assert [each.number for each in pairs] == list(range(1, len(pairs) + 1))


def test_sides_are_what_a_tokenizer_is_given(cases: Path) -> None:
    def only(case: str) -> Pair:
        ((pair,), _) = _pairs(cases / "bank.duckdb", str(list(CASES).index(case)))
        assert pair.good.spaces == pair.bad.spaces
        return pair

    negated = only("negation")
    assert negated.good.words == ("It", "is", "n't", "old")
    assert negated.bad.words == ("It", "are", "n't", "old")
    assert negated.good.spaces == (True, False, True, True)
    written = only("token that is read as written")
    assert written.bad.words == ("Prix", "des", "pains", "are", "old")
    assert (written.at, written.good.spaces) == (3, (True,) * 5)


@pytest.mark.usual("he-*")
@pytest.mark.parametrize(
    ("corpus", "least"),
    [("gum-dev", 300), ("ewt-dev", 500), ("fr-dev", 150), ("he-dev", 50), ("tr-dev", 1)],
)
def test_treebanks(corpora: Path, tmp_path: Path, corpus: str, least: int) -> None:
    path = corpora / f"{corpus}.conllu"
    add_text(IngestOptions((str(path),), tmp_path / "bank.duckdb", model="none"))
    _, found = _pairs(tmp_path / "bank.duckdb", corpus)
    assert found == oracle_agreement.sites(path)
    assert len(found) >= least


def test_forms_are_of_the_corpus_itself(tmp_path: Path) -> None:
    bank = tmp_path / "bank.duckdb"
    site = "It it PRON s3 2 nsubj\nsees see VERB S3 0 root"
    for name, text in (("one", PARADIGM), ("two", site)):
        _write(text, tmp_path / f"{name}.conllu")
        add_text(IngestOptions((str(tmp_path / f"{name}.conllu"),), bank, model="none"))
    assert _pairs(bank, "two")[0] == []


def test_text_without_trees_has_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "rain.txt").write_text("Rain falls.\nDogs bark.\n", "utf-8")
    options = IngestOptions(
        (str(tmp_path / "rain.txt"),), tmp_path / "bank.duckdb", model="none", format="lines"
    )
    add_text(options)
    assert _pairs(tmp_path / "bank.duckdb", "rain")[0] == []


def test_a_causal_model_is_not_asked_for_a_verb_before_its_subject(
    tiny_model: Callable[[str], Path],
    tiny_masked_lm: Callable[[str], Path],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    inverted = """
        Here here ADV _ 2 advmod
        are be AUX P3 0 root
        cats cat NOUN p 2 nsubj

        Cats cat NOUN p 4 nsubj
        here here ADV _ 1 advmod
        are be AUX P3 4 cop
        old old ADJ _ 0 root"""
    corpus, bank = tmp_path / "corpus.conllu", tmp_path / "bank.duckdb"
    _write(f"{PARADIGM}\n\n{inverted.strip()}", corpus)
    for number, model in enumerate((tiny_model("gpt2"), tiny_masked_lm("bert")), start=1):
        ingest(IngestOptions((str(corpus),), bank, str(model)))
        call = ["-b", str(bank), "surprisal", str(number), "--agreement", "--model", str(model)]
        assert run_command_line(call) == 0
        told = capfd.readouterr().err
        assert "2 pairs of agreement" in told
        is_causal = number == 1
        assert ("1 pair could not be measured" in told) == is_causal
        rows = query_bank(
            bank,
            "select good_nats is null, bad_nats is null from minimal_pair where run = ?"
            " order by number",
            [number],
        )
        assert rows == [(is_causal, is_causal), (False, False)]
        assert (
            run_command_line(["-b", str(bank), "query", "agreement_accuracy", "--run", str(number)])
            == 0
        )
        assert capfd.readouterr().out.splitlines()[3].split()[2] == ("1" if is_causal else "2")
