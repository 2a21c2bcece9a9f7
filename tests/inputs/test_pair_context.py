"""Pairs of segments, as in BERT's pre-training, and random samples of inputs."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import bounds
import duckdb
import planning
import pytest
import torch
import transformers
from bank_factory import BankFactory
from bank_rows import query_bank
from direct_attention import check_stored_attention, load_directly
from fixture_types import Models, Options
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbank.ingest import ingest
from attnbank.ingest.candidate_inputs import Draft, Skip, Span, TokenisedSentence
from attnbank.ingest.models.files import locate_model
from attnbank.ingest.models.tokenizer import Piece
from attnbank.ingest.options import MINILM
from attnbank.ingest.planning import TokenBudget, pair_drafts

TWO = "Rain fell.\nThe dogs barked.\n"


def pairs(connection: duckdb.DuckDBPyConnection, model: str, **options: Any) -> list[str]:
    return planning.made_of(planning.plan(connection, model, context="pair", **options))


def test_two_sentences_make_a_pair(tmp_path: Path) -> None:
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path, TWO)) as connection:
        (batch,) = planning.plan(connection, MINILM, context="pair")
        (one,) = batch.inputs
        found = [
            (position.kind, position.text, position.segment, position.word)
            for position in one.encoded.positions
        ]
        assert found == [
            ("cls", "[CLS]", 0, None),
            ("token", "rain", 0, 0),
            ("token", "fell", 0, 1),
            ("token", ".", 0, 2),
            ("sep", "[SEP]", 0, None),
            ("token", "the", 1, 3),
            ("token", "dogs", 1, 4),
            ("token", "barked", 1, 5),
            ("token", ".", 1, 6),
            ("sep", "[SEP]", 1, None),
        ]
        assert one.encoded.segments == (0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
        assert one.words == (1, 2, 3, 4, 5, 6, 7)
        assert [sentence.id for sentence in one.sentences] == [1, 2]


@pytest.mark.slow
def test_the_longer_segment_is_cut_at_either_end(tmp_path: Path) -> None:
    """A has 3 tokens and B 4: with room for 5, B loses two, as it loses ties."""
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path, TWO)) as connection:
        found = Counter(
            one for seed in range(60) for one in pairs(connection, MINILM, max_tokens=8, seed=seed)
        )
        assert set(found) == {
            "[CLS] rain fell . [SEP] the dogs [SEP]",
            "[CLS] rain fell . [SEP] dogs barked [SEP]",
            "[CLS] rain fell . [SEP] barked . [SEP]",
        }
        assert found["[CLS] rain fell . [SEP] dogs barked [SEP]"] == max(found.values())


@pytest.mark.slow
def test_every_place_between_sentences_can_part_them(tmp_path: Path) -> None:
    text = "It stopped.\nRain fell.\nA door closed.\nThe dogs barked.\n"
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path, text)) as connection:
        found = Counter(pairs(connection, MINILM, seed=seed)[0] for seed in range(60))
        assert set(found) == {
            "[CLS] it stopped . [SEP] rain fell . a door closed . the dogs barked . [SEP]",
            "[CLS] it stopped . rain fell . [SEP] a door closed . the dogs barked . [SEP]",
            "[CLS] it stopped . rain fell . a door closed . [SEP] the dogs barked . [SEP]",
        }
        assert min(found.values()) > 8


def test_a_sentence_without_another_is_left_out(tmp_path: Path) -> None:
    """At the end of a document, and where one sentence is a document; none is paired across."""
    text = f"It stopped.\n\n{TWO}A door closed.\n\n{TWO}"
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path, text)) as connection:
        batches = planning.plan(connection, MINILM, context="pair", max_tokens=10)
        assert sorted(
            tuple(s.id for s in each.sentences) for b in batches for each in b.inputs
        ) == [
            (2, 3),
            (5, 6),
        ]
        skips = sorted((skip.sentence, skip.reason) for b in batches for skip in b.skips)
        assert skips == [(1, "unpaired"), (4, "unpaired")]


def test_a_sentence_that_is_cut_off_whole_says_so(tmp_path: Path) -> None:
    """Nothing of a short first sentence is left where A loses more from its front."""
    text = f"Stop.\n{'the dogs barked ' * 2}\n{'rain fell . ' * 2}\n"  # 2, 6 and 6 tokens
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path, text)) as connection:
        reasons = set()
        for seed in range(40):
            (batch,) = planning.plan(connection, MINILM, context="pair", max_tokens=13, seed=seed)
            (one,) = batch.inputs
            inside = {sentence.id for sentence in one.sentences}
            outside = {skip.sentence for skip in batch.skips}
            assert inside | outside == {1, 2, 3} and not inside & outside
            assert len(one.encoded.ids) == 13
            reasons |= {(skip.sentence, skip.reason) for skip in batch.skips}
        assert reasons == {(1, "cut-off")}


# Any lengths, against lists that lose their first or last item one by one.

Lengths = list[list[int]]


def slow_pairs(
    lengths: Lengths, room: int, seed: int
) -> tuple[list[tuple[list[tuple[int, int]], list[tuple[int, int]]]], set[int]]:
    """A and B of each input as (sentence, piece), and the sentences that are in no gathering."""
    made, alone = [], set()
    number = 0
    for document, sizes in enumerate(lengths, start=1):
        stretches: list[list[tuple[int, int, int]]] = [[]]
        for index, size in enumerate(sizes, start=1):
            number += 1
            if size:
                stretches[-1].append((number, index, size))
            else:
                stretches.append([])
        for stretch in stretches:
            rest = list(stretch)
            while len(rest) > 1:
                count = 2
                while count < len(rest) and sum(size for *_, size in rest[:count]) < room:
                    count += 1
                chunk, rest = rest[:count], rest[count:]
                rng = random.Random(f"pair {seed} {document} {chunk[0][1]}")
                split = 1 + int(rng.random() * (count - 1))
                a, b = (
                    [(id, at) for id, _, size in part for at in range(size)]
                    for part in (chunk[:split], chunk[split:])
                )
                while len(a) + len(b) > room:
                    longer = a if len(a) > len(b) else b
                    if rng.random() < 0.5:
                        del longer[0]
                    else:
                        longer.pop()
                made.append((a, b))
            alone |= {id for id, *_ in rest}
    return made, alone


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=9), max_size=4),
    st.integers(2, 24),
    st.integers(0, 5),
)
def test_pairs_are_those_of_the_oracle(lengths: Lengths, room: int, seed: int) -> None:
    sentences: list[TokenisedSentence] = []
    for document, sizes in enumerate(lengths, start=1):
        for index, size in enumerate(sizes, start=1):
            id = len(sentences) + 1
            pieces = tuple(Piece(at, "x", at) for at in range(size))
            fault = None if size else Skip(id, None, "", "no-pieces", "")
            sentences.append(
                TokenisedSentence(
                    id, 50 + document, document, index, None, "",
                    tuple(Span(at, at, "x", True) for at in range(size)), pieces, pieces, fault,
                )
            )  # fmt: skip
    items = list(pair_drafts(iter(sentences), TokenBudget(room + 3, 3), seed=seed, parted=True))
    expected, alone = slow_pairs(lengths, room, seed)
    drafts = [item for item in items if isinstance(item, Draft)]
    found = [[[(s.id, piece.id) for s, piece in seg] for seg in d.segments] for d in drafts]
    assert found == [[a, b] for a, b in expected]
    skips = [item for item in items if isinstance(item, Skip)]
    assert {skip.sentence for skip in skips if skip.reason == "unpaired"} == alone
    gathered = {sentence.id for sentence in sentences if not sentence.fault} - alone
    inside = {id for a, b in expected for id, _ in a + b}
    assert {each.sentence for d in drafts for each in d.cut} == gathered - inside


# Models with other special tokens.


@pytest.mark.usual("roberta")
@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "llama", "deberta", "electra"])
def test_stored_attention_is_that_of_the_tokenizers_own_pair(
    few: Path, tiny_model: Models, kind: str, bank_of: BankFactory
) -> None:
    tokenizer, model = load_directly(tiny_model(kind))
    bank = bank_of(few, kind, context="pair", unit="token", limit=3)
    byte_level = kind in ("roberta", "gpt2", "llama")
    inputs = query_bank(
        bank,
        "select sequence, list(text order by position), list(segment order by position),"
        " list(kind order by position) from position group by sequence order by sequence",
    )
    assert len(inputs) == 3
    alone = []
    for sequence, texts, segments, kinds in inputs:
        ids = tokenizer.convert_tokens_to_ids(texts)
        text = [
            [id for id, own, role in zip(ids, segments, kinds, strict=True)
             if own == segment and role in ("token", "first")]
            for segment in (0, 1)
        ]  # fmt: skip
        cls, sep = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
        if kind == "roberta":
            assert ids == cls + text[0] + sep + sep + text[1] + sep
            between = kinds.index("sep")
            assert kinds[between : between + 2] == ["sep", "sep"]
            assert segments[between : between + 3] == [0, 0, 1]
        elif not byte_level:
            assert ids == cls + text[0] + sep + text[1] + sep
        if byte_level:
            assert ids == text[0] + text[1] or kind == "roberta"
            assert set(segments) == {0, 1} and segments == sorted(segments)
        else:
            assert segments == [0] * (len(text[0]) + 2) + [1] * (len(text[1]) + 1)
        tensors = {"input_ids": torch.tensor([ids])}
        if kind in ("bert", "electra"):
            tensors["token_type_ids"] = torch.tensor([segments])
        alone.append((sequence, tensors))
    check_stored_attention(bank, model, alone)


def test_white_space_before_the_second_segment(tmp_path: Path, tiny_model: Models) -> None:
    """B begins a text of its own after </s>; in a decoder nothing but a space parts it from A."""
    with planning.text_bank(tmp_path / "b.duckdb", planning.story(tmp_path, TWO)) as connection:
        for kind, expected in (
            ("roberta", "<s>Rain fell.</s></s>The dogs barked.</s>"),
            ("gpt2", "Rain fell. The dogs barked."),
        ):
            folder = str(tiny_model(kind))
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            (batch,) = planning.plan(connection, folder, context="pair", max_tokens=90)
            assert tokenizer.decode(batch.inputs[0].encoded.ids) == expected


# Samples.


@pytest.mark.slow
def test_a_sample_is_seeded_nested_and_of_whole_inputs(
    tmp_path: Path, few: Path, tiny_model: Models
) -> None:
    model = str(tiny_model("bert"))
    contexts: list[dict[str, Any]] = [
        {"context": "pair", "max_tokens": 40},
        {"context": "document", "max_tokens": 40},
        {"context": "sentence", "unit": "word"},
    ]
    with planning.text_bank(tmp_path / "b.duckdb", few) as connection:
        for context in contexts:

            def inputs(context: dict[str, Any] = context, **options: Any) -> set[tuple[int, ...]]:
                batches = planning.plan(connection, model, **context, **options)
                found = [(*each.words, *each.encoded.ids) for b in batches for each in b.inputs]
                assert len(found) == len(set(found))
                return set(found)

            every, three, six = inputs(), inputs(limit=3), inputs(limit=6)
            assert len(three) == 3 and len(six) == 6
            assert three < six < every
            assert inputs(limit=3, batch_tokens=100) == three
            assert inputs(limit=10_000) == every
            if context["context"] != "pair":
                assert three != inputs(limit=3, seed=1) < every


def test_a_sample_is_fair() -> None:
    """Every input is drawn about as often as any other."""
    from attnbank.ingest.planning import sample_inputs, select_sampled

    sentences = [
        TokenisedSentence(
            id, 1, (id + 3) // 4, id % 4 + 1, None, "", (Span(id, id, "x", True),), (), (), None
        )
        for id in range(1, 41)
    ]
    drafts = [Draft((sentence,), (), 0) for sentence in sentences]
    drawn: Counter[int] = Counter()
    for seed in range(400):
        sample = sample_inputs(drafts, 10, seed)
        items = list(select_sampled(drafts, sample))
        chosen = [item.sentences[0].id for item in items if isinstance(item, Draft)]
        assert chosen == sorted(chosen) and len(chosen) == 10
        assert len({id % 4 for id in chosen}) > 1  # not the same place of every document
        assert sum(sample.values()) == 10 and len(items) == 10
        drawn.update(chosen)
    assert set(drawn) == set(range(1, 41))
    # 400 draws with chance 1/4: mean 100, standard deviation 8.7.
    assert all(60 < count < 140 for count in drawn.values())


@pytest.mark.slow
def test_few_of_many_inputs_still_share_batches(tmp_path: Path) -> None:
    path = planning.story(tmp_path, "Rain fell.\n" * 5000)
    with planning.text_bank(tmp_path / "b.duckdb", path) as connection:
        batches = planning.plan(connection, MINILM, context="sentence", limit=12)
        assert [len(batch.inputs) for batch in batches] == [12]
        assert batches[0].sentence_count == 12


# Real text.


def slow_count(path: Path, tokenizer: Any, room: int) -> int:
    """How many pairs a text gives: gather sentences until they fill the input, two at least."""
    inputs = 0
    for document in path.read_text(encoding="utf-8").split("\n\n"):
        gathered: list[int] = []
        for line in document.splitlines():
            gathered.append(len(tokenizer.tokenize(line)))
            if sum(gathered) >= room and len(gathered) > 1:
                inputs += 1
                gathered = []
        inputs += len(gathered) > 1
    return inputs


@pytest.mark.slow
def test_real_text_with_minilm(tmp_path: Path, corpora: Path, options_for: Options) -> None:
    path = corpora / "wiki-text.txt"
    tokenizer, model = load_directly(locate_model(MINILM)[0])
    with planning.text_bank(tmp_path / "text.duckdb", path) as connection:
        batches = planning.plan(connection, MINILM, context="pair")
        inputs = [each for batch in batches for each in batch.inputs]
        assert len(inputs) == slow_count(path, tokenizer, 125)
        assert max(len(each.encoded.ids) for each in inputs) == 128
        assert sum(len(each.encoded.ids) == 128 for each in inputs) > 0.8 * len(inputs)
        accounted = [s.id for each in inputs for s in each.sentences]
        accounted += [skip.sentence for batch in batches for skip in batch.skips]
        assert sorted(accounted) == list(range(1, 1264))

    bank = tmp_path / "b.duckdb"
    report = ingest(options_for(bank, path, MINILM, context="pair", unit="token", limit=10))
    assert report.inputs == 10
    facts = "select annotation, format, max_tokens, context from run, corpus"
    assert query_bank(bank, facts) == [("none", "lines", 128, "pair")]
    ((positions,),) = query_bank(bank, "select sum(positions) from sequence")
    sums = "select max(abs(list_sum(weights) - 1)), count(*) from attention"
    ((largest, rows),) = query_bank(bank, sums)
    assert largest < bounds.row_sum(128) and rows == 72 * positions
    texts = path.read_text(encoding="utf-8").lower()
    forms = query_bank(bank, "select form from word inner join position on word = word.id")
    assert all(form.lower() in texts for (form,) in forms)
    alone = []
    for sequence, pieces, segments in query_bank(
        bank,
        "select sequence, list(text order by position), list(segment order by position)"
        " from position group by sequence order by sequence limit 4",
    ):
        ids = tokenizer.convert_tokens_to_ids(pieces)
        tensors = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([segments])}
        alone.append((sequence, tensors))
    check_stored_attention(bank, model, alone)
