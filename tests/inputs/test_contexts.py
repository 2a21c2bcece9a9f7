"""Runs in contexts: what is estimated is done, and attention is that of the text as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bounds
import duckdb
import new_banks
import numpy as np
import oracle_reference as slow
import planning
import pytest
import torch
import transformers
from bank_peaks import peaks

from attnbank.ingest import IngestOptions, estimate, ingest
from attnbank.ingest.models.files import locate_model
from attnbank.ingest.options import MINILM
from attnbank.ingest.progress import Progress
from attnbank.ingest.store import pipeline
from attnbank.sql.errors import CallError

# Whole runs.


def bank(path: Path, corpus: Path, model: str, **options: Any) -> duckdb.DuckDBPyConnection:
    ingest(IngestOptions((str(corpus),), new_banks.put(path), model, **options))
    return duckdb.connect(str(path), read_only=True)


CHOICES: list[dict[str, Any]] = [
    {"context": "document"},
    {"context": "document", "unit": "token", "truncate": True, "max_tokens": 60},
    {"context": "document", "max_tokens": 20},
    {"context": "pair", "unit": "token", "max_tokens": 40},
    {"context": "pair", "unit": "token", "limit": 7, "seed": 5},
    {"context": "document", "limit": 3},
    {"limit": 20, "seed": 1},
    {},
]


@pytest.mark.usual("document-token-*", "usual")
@pytest.mark.parametrize(
    "options", CHOICES, ids=lambda each: "-".join(map(str, each.values())) or "usual"
)
def test_the_estimate_is_what_the_ingest_does(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], options: dict[str, Any]
) -> None:
    chosen = IngestOptions(
        (str(sample),), tmp_path / "b.duckdb", str(tiny_model("bert")), **options
    )
    new_banks.put(chosen.bank)
    expected = estimate(chosen)
    found = ingest(chosen)
    assert (found.inputs, found.sentences, found.words, found.weights, found.skipped) == (
        expected.inputs, expected.sentences, expected.words, expected.weights, expected.skipped,
    )  # fmt: skip
    assert found.inputs > 0
    with duckdb.connect(str(tmp_path / "b.duckdb"), read_only=True) as connection:
        inside, outside, every = (
            {row[0] for row in connection.execute(statement).fetchall()}
            for statement in (
                "select word.sentence from position inner join word on word.id = position.word",
                "select skipped.sentence from skipped",
                "select sentence.id from sentence",
            )
        )
        once = connection.execute(
            "select count(*), count(distinct sentence) from skipped"
        ).fetchone()
        assert once is not None and once[0] == once[1]
        assert len(inside) == found.sentences and not inside & outside
        assert inside | outside == every or "limit" in options
        rows = connection.execute(
            "select sequence.sentence is null, count(*) from sequence group by all"
        ).fetchall()
        assert rows == [(options.get("context", "sentence") != "sentence", found.inputs)]
        ids = connection.execute(
            "select distinct id, coalesce(sentence, min(word)) from sequence"
            " inner join position on sequence = id group by id, sentence"
        ).fetchall()
        assert len(ids) == found.inputs and all(id == place for id, place in ids)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path,
    sample: Path,
    tiny_model: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "WEIGHTS_AT_ONCE", 1)  # so that every batch is committed

    def options(name: str) -> IngestOptions:
        return IngestOptions(
            (str(sample),), tmp_path / name, str(tiny_model("bert")), context="document",
            unit="token", max_tokens=60, batch_tokens=200, limit=25,
        )  # fmt: skip

    done: list[int] = []

    def stop(progress: Progress) -> None:
        if progress.stage == "running" and progress.done:
            done.append(progress.done)
            if len(done) == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(options("a.duckdb"), stop)
    with duckdb.connect(str(tmp_path / "a.duckdb"), read_only=True) as connection:
        kept = connection.execute("select batches from run_part where finished is null").fetchone()
        assert kept is not None and kept[0] >= 2
    last: list[Progress] = []
    resumed = ingest(options("a.duckdb"), last.append)
    whole = ingest(options("b.duckdb"))
    assert (resumed.state, whole.state) == ("resumed", "new")
    assert resumed.inputs == whole.inputs == 25
    assert last[-1].done == last[-1].total == resumed.sentences  # of the sample of inputs
    with duckdb.connect() as connection:
        for name in "ab":
            connection.execute(f"attach '{tmp_path / name}.duckdb' as {name} (read_only)")
        for table in ("sequence", "position", "attention", "peak", "skipped"):
            differing = connection.execute(
                f"select count(*) from (from a.{table} except all from b.{table})"
            ).fetchone()
            counts = connection.execute(
                f"select (select count(*) from a.{table}) - (select count(*) from b.{table})"
            ).fetchone()
            assert differing == counts == (0,), table


def test_inputs_do_not_depend_on_the_batches(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    model = str(tiny_model("bert"))
    with planning.text_bank(tmp_path / "b.duckdb", sample) as connection:
        for options in CHOICES:
            chosen = {"unit": "token"} | options
            plans = [
                planning.plan(connection, model, **chosen, batch_tokens=budget)
                for budget in (1, 300, 300, 10_000)
            ]
            assert plans[1] == plans[2]
            one, several, _, large = map(planning.made_of, plans)
            assert one == several == large
            assert [len(batch.inputs) for batch in plans[0]] == [1] * len(one)
            assert len(plans[3]) < len(plans[1]) < len(plans[0])


@pytest.mark.slow
def test_long_inputs_share_a_batch_by_their_weights(tmp_path: Path) -> None:
    path = planning.story(tmp_path, ("the dogs barked\n" * 60 + "\n") * 3)  # 182 tokens each
    with planning.text_bank(tmp_path / "b.duckdb", path) as connection:
        for budget, sizes in ((3 * 182, [2, 1]), (3 * 182 * 182 // 128 + 1, [3])):
            batches = planning.plan(
                connection, MINILM, context="document", max_tokens=200, batch_tokens=budget
            )
            assert [len(batch.inputs) for batch in batches] == sizes


@pytest.mark.slow
def test_a_run_is_found_again_by_what_shapes_it(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    def state(**options: Any) -> tuple[str, str]:
        report = ingest(
            IngestOptions(
                (str(sample / "stories.conllu"),), tmp_path / "b.duckdb",
                str(tiny_model("bert")), max_tokens=90,
                **options,
            )
        )  # fmt: skip
        return report.state, report.run.split("/", 2)[2]

    document: dict[str, Any] = {"context": "document"}
    pair: dict[str, Any] = {"context": "pair", "unit": "token"}
    assert state(**document) == ("new", "document/max90")
    assert state(**document, truncate=True) == ("new", "document/max90/truncated")
    assert state(**document, limit=4) == ("new", "document/max90/limit4")
    assert state(**document, limit=4, seed=1) == ("new", "document/max90/limit4/seed1")
    assert state(**document, limit=4) == ("unchanged", "document/max90/limit4")
    assert state(**pair) == ("new", "pair/token/max90")
    assert state(**pair, seed=2) == ("new", "pair/token/max90/seed2")
    assert state(**pair, seed=2) == ("unchanged", "pair/token/max90/seed2")
    with duckdb.connect(str(tmp_path / "b.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "select options['truncate'], options['limit'], options['seed'] from run order by id"
        ).fetchall()
    assert rows == [
        (None, None, None),
        ("true", None, None),
        (None, "4", "0"),
        (None, "4", "1"),
        (None, None, "0"),
        (None, None, "2"),
    ]


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"context": "paragraph"}, "not a valid value of --context"),
        ({"context": "pair"}, "cuts segments between tokens"),
        ({"truncate": True}, "--truncate keeps the first input"),
        ({"context": "pair", "unit": "token", "truncate": True}, "--truncate keeps the first"),
        ({"limit": 0}, "--limit is out of range"),
        ({"context": "document", "seed": 4}, "--seed has no effect"),
        ({"unit": "token", "subword": "first"}, "--subword merges the pieces"),
        ({"revision": "main"}, "--revision is for models of the hub"),
        ({"context": "document", "max_tokens": 97}, "takes at most 96 tokens"),
        ({"context": "document", "max_tokens": 2}, "no room for text: 2 tokens are special"),
        (
            {"context": "pair", "unit": "token", "max_tokens": 4},
            "no room for text: 3 tokens are special",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path,
    sample: Path,
    tiny_model: Callable[[str], Path],
    options: dict[str, Any],
    fact: str,
) -> None:
    chosen = IngestOptions(
        (str(sample),), tmp_path / "b.duckdb", str(tiny_model("bert")), **options
    )
    for call in (ingest, estimate):
        with pytest.raises(CallError, match=fact) as caught:
            call(chosen)
        assert caught.value.remedy
    assert not (tmp_path / "b.duckdb").exists()


@pytest.mark.slow
def test_the_usual_length_is_the_papers(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path]
) -> None:
    """128 tokens, or what the model takes where that is less."""
    for model, most in ((MINILM, 128), (str(tiny_model("bert")), 96)):
        options = IngestOptions(
            (str(sample / "stories.conllu"),),
            new_banks.put(tmp_path / f"{most}.duckdb"),
            model,
            context="document",
        )
        ingest(options)
        with duckdb.connect(str(tmp_path / f"{most}.duckdb"), read_only=True) as connection:
            assert connection.execute("select max_tokens from run").fetchone() == (most,)
            longest = connection.execute("select max(tokens) from sequence").fetchone()
            assert longest is not None and most - 30 < longest[0] <= most


@pytest.mark.usual("llama")
@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "llama", "deberta"])
def test_stored_attention_is_that_of_the_text_as_a_whole(
    tmp_path: Path, sample: Path, tiny_model: Callable[[str], Path], kind: str
) -> None:
    """The model is given the same ids as the tokenizer makes of the text, white space and all."""
    folder = tiny_model(kind)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with bank(
        tmp_path / "b.duckdb", sample, str(folder), context="document", unit="token"
    ) as connection:
        inputs = connection.execute(
            "select sequence, list(text order by position),"
            " list(word order by position) from position group by sequence order by sequence"
        ).fetchall()
        words = {
            row[0]: row[1:]
            for row in connection.execute("select id, form, space_after from word").fetchall()
        }
        assert len(inputs) > 10
        alone = []
        for sequence, texts, owners in inputs:
            ids = tokenizer.convert_tokens_to_ids(texts)
            own = [each for each in dict.fromkeys(owners) if each is not None]
            forms = [words[each][0] for each in own]
            if kind in ("roberta", "gpt2", "llama"):
                forms = [
                    (" " if at and words[own[at - 1]][1] else "") + form
                    for at, form in enumerate(forms)
                ]
            one_by_one = [
                id
                for form in forms
                for id in tokenizer(form, add_special_tokens=False)["input_ids"]
            ]
            if kind in ("bert", "roberta", "deberta"):
                one_by_one = [tokenizer.cls_token_id, *one_by_one, tokenizer.sep_token_id]
            assert ids == one_by_one
            alone.append((sequence, {"input_ids": torch.tensor([ids])}))
        within = bounds.attention(module, [given for _, given in alone])
        for sequence, given in alone:
            with torch.no_grad():
                maps = module(**given, output_attentions=True).attentions
            stored = connection.execute(
                "select weights from attention where sequence = ?"
                " order by layer, head, from_position",
                [sequence],
            ).fetchall()
            direct = np.concatenate([each[0].reshape(-1, each.shape[-1]).numpy() for each in maps])
            np.testing.assert_allclose([row[0] for row in stored], direct, atol=within, rtol=0)


# The analyses of words, on a run of documents.


def as_one(trees: Sequence[slow.Tree]) -> slow.Tree:
    """Sentences as one tree with several roots."""
    whole = slow.Tree()
    for tree in trees:
        start = len(whole.words)
        whole.words += tree.words
        whole.space_before += tree.space_before
        whole.relations += tree.relations
        whole.heads += [head + start if head else 0 for head in tree.heads]
    return whole


def slow_inputs(
    path: Path, tokenizer: Any, max_tokens: int, truncate: bool
) -> list[tuple[int, slow.Tree]]:
    """Packed inputs of a CoNLL-U file in order, each with the index of its first sentence."""
    text = path.read_text(encoding="utf-8")
    starts = [block.startswith("# newdoc") for block in text.split("\n\n") if block.strip()]
    trees = slow.trees([path])
    assert len(starts) == len(trees)

    def size(tree: slow.Tree) -> int:
        return sum(
            len(tokenizer(word, add_special_tokens=False)["input_ids"]) for word in tree.words
        )

    documents: list[list[int]] = []
    for at, starting in enumerate(starts):
        if starting:
            documents.append([])
        documents[-1].append(at)
    found: list[tuple[int, slow.Tree]] = []
    for document in documents:
        rest = list(document)
        while rest:
            most = max(
                count for count in range(1, len(rest) + 1)
                if sum(size(trees[each]) for each in rest[:count]) + 2 <= max_tokens
            )  # fmt: skip
            found.append((rest[0], as_one([trees[each] for each in rest[:most]])))
            rest = [] if truncate else rest[most:]
    return found


@pytest.mark.soak
def test_head_accuracy_in_documents_on_gum(tmp_path: Path, corpora: Path, truncate: bool) -> None:
    corpus = corpora / "gum-dev.conllu"
    folder = locate_model(MINILM)[0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    expected_inputs = slow_inputs(corpus, tokenizer, 128, truncate)
    with bank(
        tmp_path / "b.duckdb", corpus, MINILM, context="document", truncate=truncate
    ) as connection:
        placed = connection.execute(
            "select sequence.batch, min(word.sentence), count(*) from sequence"
            " inner join position on position.sequence = sequence.id"
            " inner join word on word.id = position.word"
            " group by sequence.id, sequence.batch order by sequence.id"
        ).fetchall()
        assert sorted((first - 1, count) for _, first, count in placed) == [
            (first, len(tree.words)) for first, tree in expected_inputs
        ]
        trees = dict(expected_inputs)
        batches: dict[int, list[slow.Tree]] = {}
        for batch, first, _ in placed:
            batches.setdefault(batch, []).append(trees[first - 1])
        expected = slow.count(
            list(batches.values()), tokenizer, module, subword="mean", peaks=peaks(connection)
        )
        rows = connection.execute(
            "select relation, layer, head, direction, correct, n from head_accuracy(run := '1')"
        ).fetchall()
        assert {tuple(row[:4]): (row[4], row[5]) for row in rows} == expected
