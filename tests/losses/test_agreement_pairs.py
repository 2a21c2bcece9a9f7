"""Pairs of agreement are those that a slow reading of the treebank's own lines finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import duckdb
import oracle_agreement
import pytest
from bank_factory import BankFactory
from bank_rows import query_bank
from command_line import Cli
from fixture_types import Models, Options
from oracle_agreement import Site

from attnbank.ingest import ingest
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

Case = tuple[list[str], str]
"""The pairs of a corpus, and its sentences."""
Cases = Callable[[str], Path]


def _cases() -> dict[str, Case]:
    _, *parts = Path(__file__).with_name("agreement_pairs.txt").read_text("utf-8").split("== ")
    cases = {}
    for part in parts:
        name, *lines = part.strip().split("\n")
        pairs = [line.removeprefix("pair: ") for line in lines if line.startswith("pair: ")]
        cases[name] = pairs, "\n".join(lines[len(pairs) :])
    return cases


CASES = _cases()


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
def written(options_for: Options, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """A function from the name of a case to a folder with its file and a bank of it."""

    @cache
    def make(case: str) -> Path:
        folder = tmp_path_factory.mktemp("case")
        _write(f"{PARADIGM}\n\n{CASES[case][1]}", folder / "case.conllu")
        add_text(options_for(folder / "bank.duckdb", folder / "case.conllu", "none"))
        return folder

    return make


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
    results = []
    for pair in pairs:
        assert pair.at is not None and pair.word is not None
        assert pair.attractors is not None and pair.distance is not None
        sentence, index = places[pair.word]
        texts = pair.good.words, pair.bad.words, pair.at
        facts = pair.attractors, pair.distance, pair.is_inverted
        results.append(Site(sentence, index, pair.paradigm, *texts, *facts))
    return pairs, results


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_small_cases(written: Cases, case: str) -> None:
    pairs, sites = _pairs(written(case) / "bank.duckdb", "case")
    facts = [
        (site.good[site.at], site.bad[site.at], site.relation, site.attractors, site.distance)
        for site in sites
    ]
    assert [" ".join(map(str, pair)) for pair in facts] == CASES[case][0]
    assert sites == oracle_agreement.sites(written(case) / "case.conllu")
    assert [pair.number for pair in pairs] == list(range(1, len(pairs) + 1))


def test_all_cases_in_one_corpus(tmp_path: Path, bank_of: BankFactory) -> None:
    """The forms of each case are forms of the others, too: the oracle knows the pairs."""
    path = tmp_path / "all.conllu"
    _write("\n\n".join([PARADIGM, *(text for _, text in CASES.values())]), path)
    _, sites = _pairs(bank_of(path, "none"), "all")
    assert sites == oracle_agreement.sites(path)
    assert len(sites) > 20


def test_sides_are_what_a_tokenizer_is_given(written: Cases) -> None:
    def only(case: str) -> Pair:
        ((pair,), _) = _pairs(written(case) / "bank.duckdb", "case")
        assert pair.good.spaces == pair.bad.spaces
        return pair

    negated = only("negation")
    assert negated.good.words == ("It", "is", "n't", "old")
    assert negated.bad.words == ("It", "are", "n't", "old")
    assert negated.good.spaces == (True, False, True, True)
    as_written = only("token that is read as written")
    assert as_written.bad.words == ("Prix", "des", "pains", "are", "old")
    assert (as_written.at, as_written.good.spaces) == (3, (True,) * 5)


@pytest.mark.slow
@pytest.mark.few("fr-*", "he-*", "tr-*")
@pytest.mark.parametrize(
    ("corpus", "least"),
    [("gum-dev", 300), ("ewt-dev", 500), ("fr-dev", 150), ("he-dev", 50), ("tr-dev", 1)],
)
def test_treebanks(corpora: Path, corpus: str, least: int, bank_of: BankFactory) -> None:
    path = corpora / f"{corpus}.conllu"
    _, sites = _pairs(bank_of(path, "none"), corpus)
    assert sites == oracle_agreement.sites(path)
    assert len(sites) >= least


def test_forms_are_of_the_corpus_itself(options_for: Options, tmp_path: Path) -> None:
    bank = tmp_path / "bank.duckdb"
    site = "It it PRON s3 2 nsubj\nsees see VERB S3 0 root"
    for name, text in (("one", PARADIGM), ("two", site)):
        _write(text, tmp_path / f"{name}.conllu")
        add_text(options_for(bank, tmp_path / f"{name}.conllu", "none"))
    assert _pairs(bank, "two")[0] == []


def test_text_without_trees_has_no_pairs(bank_of: BankFactory) -> None:
    bank = bank_of({"rain.txt": "Rain falls.\nDogs bark.\n"}, "none", format="lines")
    assert _pairs(bank, "rain")[0] == []


def test_a_causal_model_is_not_asked_for_a_verb_before_its_subject(
    options_for: Options,
    tiny_model: Models,
    tiny_masked_lm: Models,
    tmp_path: Path,
    cli: Cli,
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
        ingest(options_for(bank, corpus, model))
        call = ["-b", str(bank), "surprisal", str(number), "--agreement", "--model", str(model)]
        error = cli(*call).err
        assert "2 pairs of agreement" in error
        is_causal = number == 1
        assert ("1 pair could not be measured" in error) == is_causal
        rows = query_bank(
            bank,
            "select good_nats is null, bad_nats is null from minimal_pair where run = ?"
            " order by number",
            [number],
        )
        assert rows == [(is_causal, is_causal), (False, False)]
