"""Cut edges: which words they connect, what their controls are, and what a model then loses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import oracle_ablation
import oracle_attend
import oracle_words
import pyarrow as pa
import pytest
import transformers
from bank_factory import BankFactory
from bank_rows import change_bank, model_of, query_bank
from command_line import Cli
from fixture_types import Models

from attnbank.ingest import AblateOptions, Edges, HeadSet, ablate
from attnbank.ingest.candidate_inputs import cursor_query
from attnbank.ingest.losses.edges import EdgeDirection, EdgeFinder, PlacedWord, expand_tokens
from attnbank.ingest.store.saved import SavedRelation, save_pairs
from attnbank.sql.errors import CallError

LAYERS, HEADS = 3, 4
EVERYWHERE = tuple((layer, head) for layer in range(1, LAYERS + 1) for head in range(1, HEADS + 1))
Pairs = set[tuple[int, int]]


@pytest.fixture
def causal(tiny_model: Models) -> Path:
    return tiny_model("gpt2")


@pytest.fixture
def bank(causal: Path, few: Path, tmp_path: Path, bank_of: BankFactory) -> Path:
    """A bank with one run over two sentences."""
    return bank_of(few / "press.conllu", causal, to=tmp_path / "bank.duckdb")


def _finder(bank: Path, edges: Edges, *, is_causal: bool = False) -> EdgeFinder:
    with duckdb.connect(str(bank), read_only=True) as connection:
        return EdgeFinder(cursor_query(connection), 1, edges, is_causal=is_causal)


def _words(bank: Path) -> list[PlacedWord]:
    """The words of both sentences, as of one input."""
    rows = query_bank(bank, "select id, id, sentence from word order by id")
    return [PlacedWord(*row) for row in rows]


def _dependents(bank: Path, relation: str) -> Pairs:
    """The places of the dependents of a relation and of their heads, from the rows of words."""
    places = {id: at for at, (id, *_) in enumerate(_words(bank))}
    rows = query_bank(bank, "select id, index, head_index, deprel from word")
    return {
        (places[id], places[id - index + head])
        for id, index, head, deprel in rows
        if head and deprel.split(":")[0] == relation
    }


def test_the_edges_of_a_relation_are_those_of_the_trees(bank: Path) -> None:
    words = _words(bank)
    to_head = _dependents(bank, "det")
    from_head = {(head, dependent) for dependent, head in to_head}
    assert len(to_head) > 2
    by_direction: dict[EdgeDirection, Pairs] = {
        "dependent_to_head": to_head,
        "head_to_dependent": from_head,
        "both": to_head | from_head,
    }
    for direction, expected in by_direction.items():
        edges = Edges("det", direction)
        assert _finder(bank, edges).find(words) == sorted(expected), direction
        backwards = sorted(edge for edge in expected if edge[1] < edge[0])
        if backwards:
            assert _finder(bank, edges, is_causal=True).find(words) == backwards, direction
        else:
            with pytest.raises(CallError, match="In a causal model no word attends along det"):
                _finder(bank, edges, is_causal=True)
    assert _finder(bank, Edges("det")).find(words[:1]) == []


def test_words_that_share_a_position_have_no_edge(bank: Path) -> None:
    words = _words(bank)
    first, second = min(_dependents(bank, "det"), key=lambda edge: abs(edge[0] - edge[1]))
    first, second = sorted((first, second))
    joined = PlacedWord(words[first].first, words[second].last, words[first].sentence)
    shared = [*words[:first], joined, *words[second + 1 :]]
    apart = _finder(bank, Edges("det")).find(words)
    together = _finder(bank, Edges("det")).find(shared)
    assert len(together) == len(apart) - 2 and all(one != other for one, other in together)


def test_a_saved_relation_may_cross_sentences(bank: Path) -> None:
    words = _words(bank)
    within, across = (words[3], words[0]), (words[-2], words[1])
    pairs = pa.table(
        {
            "word": [dependent.first for dependent, _ in (within, across)],
            "head_word": [head.first for _, head in (within, across)],
        }
    )
    save_pairs(bank, SavedRelation("far", "pattern { D; H }", "D", "H", None, "select"), pairs)
    finder = _finder(bank, Edges("far", "dependent_to_head"))
    edges = finder.find(words)
    assert edges == [(3, 0), (len(words) - 2, 1)]
    (drawn,) = finder.draw(words, ["1"])
    assert [_kind(edge, words) for edge in drawn] == [_kind(edge, words) for edge in edges]
    assert [_kind(edge, words)[1] for edge in edges] == [False, True]


def _kind(edge: tuple[int, int], words: list[PlacedWord]) -> tuple[int, bool]:
    return edge[1] - edge[0], words[edge[0]].sentence != words[edge[1]].sentence


def test_controls_are_over_the_same_distances_and_of_other_words(bank: Path) -> None:
    words = _words(bank)
    for is_causal in (False, True):
        finder = _finder(bank, Edges("det"), is_causal=is_causal)
        edges = finder.find(words)
        draws = finder.draw(words, [str(seed) for seed in range(30)])
        kinds = Counter(_kind(edge, words) for edge in edges)
        for drawn in draws:
            assert Counter(_kind(edge, words) for edge in drawn) == kinds
            assert not {*drawn} & {*edges, *((head, word) for word, head in edges)}
            assert len({*drawn}) == len(drawn)
        assert len({tuple(drawn) for drawn in draws}) > 25
        assert finder.draw(words, ["7"]) == [draws[7]]


def test_controls_of_an_input_without_other_pairs_have_fewer(bank: Path) -> None:
    dependent, head = min(_dependents(bank, "det"), key=lambda edge: abs(edge[0] - edge[1]))
    words = [_words(bank)[at] for at in sorted((dependent, head))]
    finder = _finder(bank, Edges("det"))
    assert len(finder.find(words)) == 2 and finder.draw(words, ["1"]) == [[]]


def test_all_pieces_of_both_words_are_cut() -> None:
    tokens = {0: (1, 3), 1: (3, 4), 2: (4, 7)}
    assert expand_tokens([(2, 0)], tokens) == (
        (4, 1), (4, 2), (5, 1), (5, 2), (6, 1), (6, 2),
    )  # fmt: skip
    assert expand_tokens([(1, 0), (1, 5)], tokens) == ((3, 1), (3, 2))
    # Where the word is predicted: one token further left, which does not lose itself.
    assert expand_tokens([(1, 0)], tokens, before=1) == ((2, 1),)
    assert expand_tokens([(0, 2)], {0: (0, 1), 2: (1, 2)}, before=1) == ()


def _ablate(bank: Path, sets: list[HeadSet], **options: Any) -> Any:
    return ablate(bank, "a", sets, options=AblateOptions(model=model_of(bank), **options))


@pytest.mark.parametrize(
    ("kind", "heads", "at"),
    [
        ("gpt2", ((2, 1), (2, 3), (3, 4)), "prediction"),
        pytest.param("gpt2", EVERYWHERE, "word", marks=pytest.mark.slow),
        pytest.param("llama", EVERYWHERE, "prediction", marks=pytest.mark.slow),
        pytest.param("bert", ((1, 2), (3, 4)), "word", marks=pytest.mark.slow),
    ],
)
def test_surprisals_without_edges_are_those_of_a_slow_softmax(
    tiny_causal_lm: Models, tiny_masked_lm: Models, few: Path, tmp_path: Path, bank_of: BankFactory,
    kind: str, heads: tuple[tuple[int, int], ...], at: Any,
) -> None:  # fmt: skip
    folder = (tiny_masked_lm if kind == "bert" else tiny_causal_lm)(kind)
    bank = bank_of(few / "press.conllu", folder, to=tmp_path / "bank.duckdb")
    edges = Edges("det", "both", at)
    report = _ablate(bank, [HeadSet("det", heads, "hand", edges=edges)], controls=1)
    assert report.edges["det"] > 1 and not report.missing_edges
    of_word: dict[int, tuple[int, int, int]] = {}  # input, and the range of its tokens
    texts: list[oracle_ablation.Text] = []
    words: list[int] = []
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sequences = query_bank(bank, "select id from sequence order by id")
    for number, (sequence,) in enumerate(sequences):
        ids: list[int] = []
        spans = []
        for pieces, word in query_bank(
            bank, f"select pieces, word from position where sequence = {sequence} order by position"
        ):
            if word is not None:
                of_word[word] = number, len(ids), len(ids) + len(pieces)
                spans.append((len(ids), len(ids) + len(pieces)))
                words.append(word)
            ids += tokenizer.convert_tokens_to_ids(pieces)
        texts.append((tuple(ids), (0,) * len(ids), tuple(spans)))
    head_class = "AutoModelForMaskedLM" if kind == "bert" else "AutoModelForCausalLM"
    model = (
        getattr(transformers, head_class)
        .from_pretrained(folder, attn_implementation="eager")
        .eval()
    )
    boundary = oracle_words.boundaries(tokenizer.backend_tokenizer, {"<|endoftext|>"})
    before = int(at == "prediction")
    for number in (1, 2):
        cut: list[set[oracle_attend.Edge]] = [set() for _ in texts]
        for word, attended in query_bank(
            bank, f"select word, attended_word from ablated_edge where number = {number}"
        ):
            text, *rows = of_word[word]
            _, *columns = of_word[attended]
            for row in range(rows[0] - before, rows[1] - before):
                for column in range(*columns):
                    if row != column:
                        # A masked model makes a pass for each piece.
                        passes = len(texts[text][0]) if kind == "bert" else 1
                        cut[text] |= {
                            (layer - 1 + LAYERS * number, 0, head - 1, row, column)
                            for number in range(passes)
                            for layer, head in heads
                        }
        expected: list[float] = []
        for one, edges_of_text in zip(texts, cut, strict=True):
            with oracle_attend.attention(model.base_model, cut=edges_of_text):
                if kind == "bert":
                    expected += oracle_ablation.masked(model, [one], tokenizer.mask_token_id)
                else:
                    expected += oracle_ablation.causal(model, [one], boundary)
        stored = dict(
            query_bank(bank, f"select word, nats from ablated_surprisal where number = {number}")
        )
        own = np.array([np.nan if stored[word] is None else stored[word] for word in words])
        assert np.allclose(own, expected, atol=1e-4, equal_nan=True)


def test_dropped_edges_leave_the_other_weights(bank: Path) -> None:
    """With zero less is lost than an even share can make up: both differ, and from the whole."""
    _ablate(bank, [HeadSet("det", EVERYWHERE, "hand", edges=Edges("det"))], controls=0)
    masked = query_bank(bank, "select nats from ablated_surprisal order by word")
    ablate(
        bank, "b", [HeadSet("det", EVERYWHERE, "hand", edges=Edges("det"))],
        options=AblateOptions(model=model_of(bank), controls=0, replacement="zero"),
    )  # fmt: skip
    dropped = query_bank(
        bank, "select nats from ablated_surprisal where ablation = 'b' order by word"
    )
    whole = query_bank(bank, "select nats from surprisal order by word")
    assert masked != dropped != whole != masked
    assert query_bank(bank, "select ablation, replacement, relation, direction, cut_at"
                      " from ablation_set order by all") == [
        ("a", "mask", "det", "both", "word"), ("b", "zero", "det", "both", "word"),
    ]  # fmt: skip


def test_nothing_before_the_first_edge_changes_in_a_causal_model(bank: Path) -> None:
    _ablate(bank, [HeadSet("det", EVERYWHERE, "hand", edges=Edges("det"))], controls=0)
    rows = query_bank(
        bank,
        "select surprisal.word, surprisal.nats, ablated.nats from surprisal inner join"
        " ablated_surprisal as ablated using (word) where ablated.nats is not null",
    )
    edges = dict(
        query_bank(
            bank,
            "select sentence, min(ablated_edge.word) from ablated_edge"
            " inner join word on word.id = ablated_edge.word group by all",
        )
    )
    sentence_of = dict(query_bank(bank, "select id, sentence from word"))
    before = [row for row in rows if row[0] < edges.get(sentence_of[row[0]], row[0] + 1)]
    after = [row for row in rows if row not in before]
    assert before and all(whole == without for _, whole, without in before)
    assert sum(whole != without for _, whole, without in after) > len(after) / 2


def test_the_command_says_what_it_cut(bank: Path, cli: Cli) -> None:
    run = ("-b", bank, "ablate", "a", "--model", model_of(bank))
    printed = cli(
        *run, "--edges", "det", "--edges", "nsubj", "--layers", "2-3", "--controls", "1"
    ).err
    assert "without 2 sets of edges and 2 random ones" in printed
    assert "det in layers 2-3: " in printed and " edges cut\n" in printed
    rows = cli("-b", bank, "query", "ablation_effect", "--classification", "cut", "-f", "csv").out
    assert '"det, both",mask,surprisal,cut,' in rows and '"nsubj, both",mask,' in rows
    assert "2-1, 2-2, 2-3, 2-4, 3-1, 3-2, 3-3, 3-4" in rows
    cut = next(row for row in rows.splitlines() if '"det, both",mask,surprisal,cut,' in row)
    of_set = query_bank(
        bank,
        "select count(distinct word) from ablated_edge inner join surprisal using (run, word)"
        " where number = 1 and nats is not null",
    )
    assert f",cut,{of_set[0][0]}," in cut, "the words of the set, not those of its control"
    again = cli(*run, "--edges", "det", "--edges", "nsubj", "--layers", "2-3", "--controls", "1")
    assert "nothing was measured" in again.err
    other = cli(*run, "--edges", "det", "--controls", "1", status=2).err
    assert "already has an ablation a" in other
    everywhere = cli(*run[:-3], "b", *run[-2:], "--edges", "det", "--controls", "0")
    assert "without 1 set of edges" in everywhere.err
    shown = cli("-b", bank, "query", "ablation_effect", "--ablation", "b", "-f", "csv").out
    assert 'b,det,all,"det, both",mask,surprisal,all,' in shown


@pytest.mark.parametrize(
    ("flags", "fact"),
    [
        (["--edges", "nothing"], "The text of the run has no edge of the relation nothing."),
        (["--edges", "det", "--with", "mean"], "--with mean does not apply to edges."),
        (["--heads", "1-1", "--with", "mask"], "--with mask does not apply to heads."),
        (["--heads", "1-1", "--direction", "both"], "--direction needs --edges."),
        (["--heads", "1-1", "--at", "prediction"], "--at needs --edges."),
        (["--edges", "det", "--controls-from", "any"], "--controls-from is for sets of heads"),
        (["--layers", "4-9"], "'4-9' names no layers of the model."),
        (["--layers", "two"], "'two' names no layers of the model."),
        ([], "No set of heads was named."),
    ],
)
def test_what_does_not_go_together_is_refused(
    bank: Path, cli: Cli, flags: list[str], fact: str
) -> None:
    printed = cli("-b", bank, "ablate", "a", "--model", model_of(bank), *flags, status=2).err
    assert fact in printed
    assert not query_bank(bank, "select count(*) from ablation_set")[0][0]


def test_pairs_of_a_file_have_no_edges(bank: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("good\tbad\na b\ta c\n")
    edges = [HeadSet("det", EVERYWHERE, "hand", edges=Edges("det"))]
    with pytest.raises(CallError, match="have no trees, and so no edges"):
        _ablate(bank, edges, pairs=(str(file),))
    with pytest.raises(CallError, match="disables heads or cuts edges, not both"):
        _ablate(bank, [*edges, HeadSet("1-1", ((1, 1),), "hand")])


AGREE = """
# newdoc id = one
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\t_\tNumber=Sing\t3\tnsubj\t_\t_
3\tsleeps\tsleep\tVERB\t_\tMood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin\t0\troot\t_\t_
4\there\there\tADV\t_\t_\t3\tadvmod\t_\t_

1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tdogs\tdog\tNOUN\t_\tNumber=Plur\t3\tnsubj\t_\t_
3\tsleep\tsleep\tVERB\t_\tMood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin\t0\troot\t_\t_
4\there\there\tADV\t_\t_\t3\tadvmod\t_\t_

""".lstrip()


@pytest.mark.parametrize(("kind", "at"), [("gpt2", "prediction"), ("bert", "word")])
def test_a_verb_loses_its_subject_where_it_is_predicted(
    tiny_causal_lm: Models, tiny_masked_lm: Models, tmp_path: Path, bank_of: BankFactory,
    kind: str, at: Any,
) -> None:  # fmt: skip
    corpus = tmp_path / "agree.conllu"
    corpus.write_text(AGREE, encoding="utf-8")
    folder = (tiny_masked_lm if kind == "bert" else tiny_causal_lm)(kind)
    bank = bank_of(corpus, folder, to=tmp_path / "bank.duckdb")
    sets = [HeadSet("nsubj", EVERYWHERE, "hand", edges=Edges("nsubj", "head_to_dependent", at))]
    _ablate(bank, sets, agreement=True, controls=0)
    pairs = query_bank(
        bank,
        "select pair.good_nats, pair.bad_nats, ablated.good_nats, ablated.bad_nats"
        " from minimal_pair as pair inner join ablated_pair as ablated"
        " on ablated.pair = pair.number",
    )
    assert len(pairs) == 2
    for good, bad, good_without, bad_without in pairs:
        assert good != good_without and bad != bad_without


def test_another_seed_is_another_ablation(bank: Path, cli: Cli) -> None:
    """The heads of its controls are the same, but not their edges."""
    run = (
        "-b",
        bank,
        "ablate",
        "a",
        "--model",
        model_of(bank),
        "--edges",
        "det",
        "--controls",
        "1",
    )
    cli(*run)
    drawn = "select word, attended_word from ablated_edge where number = 2 order by all"
    before = query_bank(bank, drawn)
    assert "already has an ablation a" in cli(*run, "--seed", "1", status=2).err
    assert query_bank(bank, drawn) == before
    cli(*run, "--seed", "1", "--replace")
    assert query_bank(bank, drawn) != before


def test_edges_that_a_causal_model_does_not_have_are_refused(bank: Path, cli: Cli) -> None:
    """Determiners precede their nouns: they have not seen them."""
    run = ("-b", bank, "ablate", "a", "--model", model_of(bank), "--edges", "det")
    printed = cli(*run, "--direction", "dependent_to_head", status=2).err
    assert "In a causal model no word attends along det (dependent_to_head)" in printed
    assert "give the other one" in printed


def test_a_relation_that_was_saved_again_is_another_ablation(bank: Path, cli: Cli) -> None:
    words = _words(bank)

    def save(place: int) -> None:
        pairs = pa.table({"word": [words[place].first], "head_word": [words[place - 1].first]})
        relation = SavedRelation("mine", "pattern { D; H }", "D", "H", None, "select")
        save_pairs(bank, relation, pairs, replace=True)

    run = ("-b", bank, "ablate", "a", "--model", model_of(bank), "--edges", "mine")
    save(3)
    cli(*run, "--controls", "0")
    assert "nothing was measured" in cli(*run, "--controls", "0").err
    # Times are of whole seconds.
    change_bank(bank, "update ablation_set set started = started - interval 2 second")
    save(4)
    printed = cli(*run, "--controls", "0", status=2).err
    assert "The relation mine was saved again after the ablation a was begun." in printed
    cli(*run, "--controls", "0", "--replace")
    assert query_bank(bank, "select word from ablated_edge") == [(words[4].first,)]
