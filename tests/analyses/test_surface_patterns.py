"""Section 3 of the paper equals a slow implementation written apart, on real and on tiny models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bounds
import duckdb
import new_banks
import numpy as np
import oracle_surface as slow
import pytest
import torch
import transformers
from bank_factory import BankFactory
from duckdb import DuckDBPyConnection
from fixture_types import Models

from attnbank.sql.bank.opening import open_to_read


@pytest.fixture(scope="module", params=["sample", "wiki", "bert", "roberta"])
def bank(request: pytest.FixtureRequest, token_bank: Callable[[str], Path]) -> Path:
    return token_bank(request.param)


@pytest.fixture
def connection(bank: Path) -> Iterator[DuckDBPyConnection]:
    with open_to_read(bank) as opened:
        yield opened


@pytest.fixture(scope="module")
def inputs(bank: Path) -> list[slow.Input]:
    with duckdb.connect(str(bank), read_only=True) as opened:
        return slow.inputs(opened)


@pytest.mark.usual("bert")
def test_previous_self_and_next(connection: DuckDBPyConnection, inputs: list[slow.Input]) -> None:
    rows = connection.execute("select layer, head, previous, self, next from relative_position()")
    found = {
        (layer, head, offset): weight
        for layer, head, *weights in rows.fetchall()
        for offset, weight in zip((-1, 0, 1), weights, strict=True)
    }
    expected = slow.offsets(inputs, (-1, 0, 1))
    slow.assert_close(found, {key: value for key, value in expected.items() if len(key) == 3})


@pytest.mark.usual("bert")
def test_every_offset(connection: DuckDBPyConnection, inputs: list[slow.Input]) -> None:
    found: dict[slow.Key, float] = {}
    rows = connection.execute('select layer, head, "offset", weight, present from offset_profile()')
    for layer, head, offset, weight, present in rows.fetchall():
        found[layer, head, offset] = weight
        if present is not None:
            found[layer, head, offset, "present"] = present
    slow.assert_close(found, slow.offsets(inputs, range(-10, 11)))


@pytest.mark.usual("bert")
def test_special_tokens(connection: DuckDBPyConnection, inputs: list[slow.Input]) -> None:
    expected = slow.special_tokens(inputs)
    columns = list(dict.fromkeys(key[2] for key in expected))
    rows = connection.execute(f"select layer, head, {', '.join(columns)} from special_tokens()")
    found = {
        (layer, head, column): weight
        for layer, head, *weights in rows.fetchall()
        for column, weight in zip(columns, weights, strict=True)
    }
    assert expected[1, 1, "punctuation_chance"] > 0.02  # the sample has some, in any vocabulary
    slow.assert_close(found, expected)


@pytest.mark.usual("bert-*")
@pytest.mark.parametrize("smoothing", [0.0, 0.0001])
def test_entropy(
    connection: DuckDBPyConnection, inputs: list[slow.Input], smoothing: float
) -> None:
    rows = connection.execute(
        "select layer, head, entropy, entropy_from_cls, uniform from entropy(smoothing := $s)",
        {"s": smoothing},
    )
    found = {
        (layer, head, which): value
        for layer, head, *values in rows.fetchall()
        for which, value in zip(("all", "cls", "uniform"), values, strict=True)
    }
    slow.assert_close(found, slow.entropies(inputs, smoothing))


@pytest.mark.usual("bert")
def test_gradient_importance(bank: Path, inputs: list[slow.Input], tmp_path: Path) -> None:
    # What stands in for gradients is known: a function of the weights, signs included.
    path = new_banks.put(tmp_path / "gradients.duckdb")
    path.write_bytes(bank.read_bytes())
    with duckdb.connect(str(path)) as writing:
        writing.execute(
            "insert into gradient select sequence, layer, head, from_position,"
            " list_transform(weights, lambda w: w * w - 0.125) from attention"
        )
        rows = writing.execute("select layer, head, target, gradient from gradient_importance()")
        found = {tuple(row[:3]): row[3] for row in rows.fetchall()}
        assert writing.execute("select min(list_min(gradients)) < 0 from gradient").fetchone()
        expected = slow.gradients(slow.inputs(writing, table="gradient"))
    slow.assert_close(found, expected)


@pytest.mark.slow
def test_gradient_importance_of_real_gradients(
    tiny_masked_lm: Models, bank_of: BankFactory
) -> None:
    model, tokens = tiny_masked_lm("bert"), {"unit": "token"}
    pairs: dict[str, Any] = {**tokens, "context": "pair", "max_tokens": 48, "gradients": True}
    newer = bank_of.in_turn(("stories", model, pairs), ("stories", model, tokens))
    with open_to_read(newer) as connection:
        rows = connection.execute(
            "select layer, head, target, gradient from gradient_importance()"
        ).fetchall()
        points = connection.execute("from paper.figure_3").fetchall()
        expected = slow.gradients(slow.inputs(connection, table="gradient"))
    found = {tuple(row[:3]): row[3] for row in rows}
    assert found.keys() == expected.keys()
    keys = list(expected)
    np.testing.assert_allclose(  # gradients are small: relative to each
        [found[key] for key in keys],
        [expected[key] for key in keys],
        rtol=bounds.sums(48 * 48),
        atol=0,
    )
    assert min(found.values()) > 0
    heads = [
        value for (layer, _, target), value in expected.items() if (layer, target) == (2, "sep")
    ]
    assert {row[:2]: row[2] for row in points}["[SEP]", 2] == pytest.approx(
        np.mean(heads), rel=bounds.sums(48 * 48)
    )


@pytest.mark.parametrize(
    ("name", "option"),
    [("gradient_importance", "--gradients"), ("head_ablation", "--ablate heads")],
)
def test_a_run_without_what_is_read_says_how_to_get_it(
    token_bank: Callable[[str], Path], name: str, option: str
) -> None:
    with open_to_read(token_bank("bert")) as bert, pytest.raises(duckdb.Error, match=option):
        bert.execute(f"from {name}()").fetchall()


def _pointing_model(folder: Path, tokenizer: Any) -> None:
    """A BERT of one layer whose three heads look at the next, the previous and the own token.

    Position embeddings are unit vectors and word embeddings nothing; keys tell the position p,
    and queries tell p + 1, p - 1 and p.
    """
    size = 32
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=3 * size,
        num_hidden_layers=1,
        num_attention_heads=3,
        intermediate_size=8,
        max_position_embeddings=size,
    )
    model = transformers.BertModel(config)
    sharp = 10.0
    with torch.no_grad():
        for parameter in model.embeddings.parameters():
            parameter.zero_()
        model.embeddings.LayerNorm.weight.fill_(1)
        for place in range(size):
            model.embeddings.position_embeddings.weight[place, place] = 1
        attention = model.encoder.layer[0].attention.self
        for linear in (attention.query, attention.key):
            linear.weight.zero_()
            linear.bias.zero_()
        for head, step in enumerate((1, -1, 0)):
            for place in range(size):
                attention.key.weight[head * size + place, place] = 1
                if 0 <= place + step < size:
                    attention.query.weight[head * size + place + step, place] = sharp
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def test_next_is_to_the_right(tmp_path: Path, tiny_model: Models, bank_of: BankFactory) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model("bert"))
    _pointing_model(tmp_path / "pointing", tokenizer)
    text = {"text.txt": "the dog saw a cat\n"}
    with open_to_read(bank_of(text, tmp_path / "pointing", unit="token")) as opened:
        rows = opened.execute("select previous, self, next from relative_position() order by head")
        found = np.array(rows.fetchall())
        profile = opened.execute(
            'select head, arg_max("offset", weight) from offset_profile() group by head'
        )
        assert dict(profile.fetchall()) == {1: 1, 2: -1, 3: 0}
        (n,) = opened.execute("select positions from sequence").fetchone() or (0,)
    # The last token has no next one, so that head looks elsewhere there; likewise the first.
    at_most = (n - 1) / n
    # The sought key scores 10 * 9.7 * 9.7 / sqrt(32), which is 168, more than any other: what it
    # leaves to them is nothing in float32.
    assert found[0, 2] == pytest.approx(at_most, abs=bounds.row_sum(n))
    assert found[1, 0] == pytest.approx(at_most, abs=bounds.row_sum(n))
    assert found[2, 1] == pytest.approx(1, abs=bounds.row_sum(n))
    assert found[0, 0] < 0.1
    assert found[1, 2] < 0.1
