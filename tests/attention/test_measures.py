"""`ingest --measure`: what is written is what layers lack without the values of a position."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import duckdb
import numpy as np
import oracle_measures
import pytest
import tiny_models
import torch
import transformers
from bank_factory import BankFactory
from bank_rows import query_bank
from fixture_types import Models
from oracle_maps import maps_of

from attnbank.ingest import IngestOptions, ingest
from attnbank.ingest.attention.measures import (
    PaddedInputs,
    check_measure,
    compute_maps,
)
from attnbank.ingest.models.attend import Call
from attnbank.ingest.models.loading import Model, load
from attnbank.ingest.models.runtime import ModelError
from attnbank.ingest.models.tokenizer import Encoded, Position
from attnbank.ingest.options import LAYER_MEASURES, Measure
from attnbank.queries import open_bank
from attnbank.sql.errors import CallError

STORIES = Path(__file__).resolve().parents[2] / "ingest" / "corpora" / "sample" / "stories.conllu"
TEXT = [
    line.removeprefix("# text = ")
    for line in STORIES.read_text(encoding="utf-8").splitlines()
    if line.startswith("# text = ")
]
FAMILIES = (
    "bert", "roberta", "electra", "distilbert", "mpnet", "deberta-v1", "deberta", "gpt2",
    "gpt-neox", "llama", "mistral-own", "qwen2", "qwen3", "gemma-own", "gemma2", "gemma3", "opt",
    "granite", "bloom",
)  # fmt: skip
NOT_RESIDUAL = {family: family for family in ("gemma2", "opt", "granite", "bloom")}
NOT_RESIDUAL["gemma3"] = "gemma3_text"
"""Where it is not known where the model normalises, by family: its model_type."""
MEASURES: tuple[Measure, ...] = tuple(
    measure for measure in get_args(Measure) if measure != "weights"
)
CLOSE = 1e-5  # of the largest figure: the models compute in float32


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of tiny models, made when they are first asked for."""
    top = tmp_path_factory.mktemp("models")

    class Made(dict[str, Path]):
        def __missing__(self, kind: str) -> Path:
            self[kind] = tiny_models.save(kind, top / kind, TEXT)
            model = transformers.AutoModel.from_pretrained(self[kind])
            torch.manual_seed(1)
            with torch.no_grad():
                for parameter in model.parameters():
                    if parameter.ndim == 1:  # biases, which are 0 in a new model, and norms
                        parameter.normal_(1, 0.3)
            model.save_pretrained(self[kind])
            return self[kind]

    return Made()


def _maps(bank: Path) -> dict[int, tuple[list[list[str]], np.ndarray]]:
    """Of each input the pieces of its positions, and its maps [layers, heads, P, P]."""
    inputs = {}
    for (sequence,) in query_bank(bank, "select id from sequence"):
        pieces = query_bank(
            bank, "select pieces from position where sequence = ? order by position", [sequence]
        )
        with duckdb.connect(str(bank), read_only=True) as connection:
            inputs[sequence] = ([row[0] for row in pieces], maps_of(connection, sequence))
    return inputs


def _expected(
    measure: Measure, model: Any, ids: list[int], segments: list[int] | None,
    ranges: list[tuple[int, int]], subword: str,
) -> np.ndarray:  # fmt: skip
    if measure == "norms":
        return oracle_measures.norms(model, ids, segments, ranges, subword)
    if measure == "residual-norms":
        return oracle_measures.residual_norms(model, ids, segments, ranges)[:, None]
    if measure == "value-zeroing":
        return oracle_measures.value_zeroing(model, ids, segments, ranges)[:, None]
    with torch.no_grad():
        attentions = model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
    weights = np.stack([layer[0].double().numpy() for layer in attentions])
    return oracle_measures.rollout(weights)[:, None]


def _compare(bank_of: BankFactory, folder: Path, measure: Measure, subword: str = "mean") -> None:
    unit = "token" if measure == "rollout" else "word"
    own: dict[str, Any] = {"measure": measure, "unit": unit, "subword": subword}
    bank = bank_of("stories", folder, limit=2, seed=3, **own)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    takes_segments = load(str(folder)).takes_segments
    split = 0
    for pieces, maps in _maps(bank).values():
        ends = np.cumsum([len(own) for own in pieces]).tolist()
        ranges = [*zip([0, *ends], ends, strict=False)]
        split += len(ranges) < ends[-1]
        ids = tokenizer.convert_tokens_to_ids([piece for own in pieces for piece in own])
        segments = [0] * len(ids) if takes_segments else None
        expected = _expected(measure, model, ids, segments, ranges, subword)
        assert maps.shape == expected.shape
        assert np.abs(maps - expected).max() <= CLOSE * max(1.0, np.abs(expected).max())
    assert split or unit == "token", "no word of the sample is split"


@pytest.mark.usual("bert-*", "llama-norms")
@pytest.mark.few("*-norms", "bert-*", "mpnet-*", "llama-*", "gpt-neox-*")  # norms differ by family
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(
    folders: dict[str, Path], family: str, measure: Measure, bank_of: BankFactory
) -> None:
    if measure == "residual-norms" and family in NOT_RESIDUAL:
        fact = f"^--measure residual-norms is not known for {NOT_RESIDUAL[family]} "
        with pytest.raises(ModelError, match=fact):
            load(str(folders[family]), measure=measure)
        return
    _compare(bank_of, folders[family], measure)


@pytest.mark.slow
def test_from_the_first_piece(folders: dict[str, Path], bank_of: BankFactory) -> None:
    _compare(bank_of, folders["bert"], "norms", "first")


def test_a_family_that_is_not_known_is_refused_in_one_line(folders: dict[str, Path]) -> None:
    with pytest.raises(ModelError) as error:
        load(str(folders["albert"]), measure="residual-norms")
    assert error.value.fact.startswith("--measure residual-norms is not known for albert (")
    assert "bert, " in error.value.remedy and "--measure norms" in error.value.remedy
    load(str(folders["albert"]), measure="rollout")


@pytest.mark.parametrize(
    ("kind", "measure", "why"),
    [
        ("nystromformer", "norms", "its heads add something else to the output"),
        ("qwen3-next", "norms", "its heads add something else to the output"),  # a gate
        ("nystromformer", "value-zeroing", "in another way than by attention"),
        ("convbert", "value-zeroing", "in another way than by attention"),
        ("reformer", "value-zeroing", "The heads of ReformerModel"),
    ],
)
def test_a_model_for_which_a_measure_means_nothing_is_refused_before_anything_is_written(
    folders: dict[str, Path], tmp_path: Path, kind: str, measure: Any, why: str
) -> None:
    """Values that are convolved, gated or never multiplied with weights."""
    bank = tmp_path / "bank.duckdb"
    with pytest.raises(ModelError) as error:
        ingest(IngestOptions((str(STORIES),), bank, model=str(folders[kind]), measure=measure))
    assert why in error.value.fact and "\n" not in error.value.fact
    assert not bank.exists()


@pytest.mark.usual("albert-norms")
@pytest.mark.parametrize("measure", ["norms", "value-zeroing"])
@pytest.mark.parametrize("kind", ["albert", "t5", "lfm2", "granite-hybrid", "jamba", "gpt-oss"])
def test_layers_that_are_shared_or_stand_among_others_have_measures(
    tiny_model: Models, kind: str, measure: Measure
) -> None:
    """Norms are those of weights x values x W_O; without values later tokens change nothing."""
    model = load(str(tiny_model(kind)), measure=measure)
    check_measure(model, measure)
    inputs = one_input(model)
    maps = compute_maps(model, inputs, measure, "mean")
    attentions = model.attentions(inputs.ids, inputs.mask, inputs.segments)
    assert len(maps) == len(attentions) == model.facts.layers
    if measure == "value-zeroing":
        for own in maps:
            assert float((own[0, 0].sum(-1) - 1).abs().max()) < 1e-5
            # Experts get more tokens at a time when a layer runs again, which rounds otherwise.
            assert not model.facts.causal or own[0, 0].triu(1).max() < 1e-6
        return
    values: list[np.ndarray] = []

    def note(call: Call) -> None:
        values.append(call.values_of(range(call.heads))[0].double().numpy())

    with model.attention.watch(after=note):
        model.run(inputs.ids, inputs.mask, inputs.segments)
    for own, weights, vectors, site in zip(
        maps, attentions, values, model.attention.sites, strict=True
    ):
        weight = site.projection.weight.detach().double().numpy().T
        size = vectors.shape[-1]
        for head in range(site.heads):
            moved = vectors[head] @ weight[head * size : (head + 1) * size]
            expected = weights[0, head].double().numpy() * np.linalg.norm(moved, axis=-1)
            assert np.abs(own[0, head].numpy() - expected).max() <= CLOSE * expected.max()


def one_input(model: Model) -> PaddedInputs:
    """The short input that models are tried with; each token is a position."""
    ids, mask, segments = model.tried_input()
    tokens = tuple(ids[0].tolist())
    positions = tuple(Position("token", at, "x", at, at + 1) for at in range(len(tokens)))
    encoded = Encoded(tokens, (0,) * len(tokens), ("x",) * len(tokens), positions)
    return PaddedInputs([encoded], ids, mask, segments)


@pytest.mark.slow
def test_a_run_of_another_measure_answers_only_if_it_is_named(
    folders: dict[str, Path], bank_of: BankFactory
) -> None:
    measures = ("weights", "norms", "value-zeroing")
    ingests = [("stories", folders["bert"], {"measure": measure}) for measure in measures]
    with open_bank(bank_of.in_turn(*ingests)) as bank:
        runs = bank.info().runs
        assert dict(zip(runs["measure"], runs["heads"], strict=True)) == {
            "weights": 4, "norms": 4, "value-zeroing": 1,
        }  # fmt: skip
        assert runs["name"].to_list()[1:] == ["stories/bert/norms", "stories/bert/value-zeroing"]
        assert str(getattr(bank.run_of("best_head"), "name", None)) == "stories/bert"
        named = bank.query("best_head", run="stories/bert/norms")
        assert not named.equals(bank.query("best_head"))
        zeroed = bank.query("head_accuracy", run="stories/bert/value-zeroing")
        assert {*zeroed["head"]} == {1} and {*zeroed["layer"]} == {1, 2, 3}
        with pytest.raises(CallError, match="its measure is norms, which are not shares"):
            bank.query("entropy", run="stories/bert/norms")
        assert bank.query("entropy", run="stories/bert/value-zeroing")["head"].max() == 1


@pytest.mark.slow
def test_a_picture_of_norms_is_scaled_by_the_largest(
    folders: dict[str, Path], bank_of: BankFactory
) -> None:
    with open_bank(bank_of("stories", folders["bert"], measure="norms")) as bank:
        picture = bank.show(1, head="2-3", run="stories/bert/norms")
        largest = picture.weights["weight"].max()
        assert isinstance(largest, float) and largest != 1
        assert 'stroke-opacity="1.000"' in picture.svg
        assert "The measure is norms, not attention weights." in picture.svg
        assert "Line width = attention norm" in picture.svg and "0.01 of the largest" in picture.svg


def test_measures_of_layers_have_one_map_in_each() -> None:
    assert {"weights", "norms"} == {*get_args(Measure)} - LAYER_MEASURES
