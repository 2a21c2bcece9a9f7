"""Words without heads: equal to surgery on the weights, for every family and way of disabling."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle_ablation
import oracle_words
import pytest
import tiny_models
import torch
import transformers
from fixture_types import Models

from attnbank.ingest.losses.language_model import Scorer, Text
from attnbank.ingest.models.loading import Model, load
from attnbank.sql.errors import AttnbankError

SIZE = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64,
    "max_position_embeddings": 64,
}  # fmt: skip
PAD = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "BERT": ("Bert", {}),
    "RoBERTa": ("Roberta", {"type_vocab_size": 2}),
    "ELECTRA": ("Electra", {"embedding_size": 16}),
    "DistilBERT": ("DistilBert", {"hidden_dim": 64}),
    "MPNet": ("MPNet", {}),
    "GPT-2": ("GPT2", {"bos_token_id": 0, "eos_token_id": 0}),
    "GPT-NeoX": ("GPTNeoX", {}),
    "Llama": ("Llama", {"num_key_value_heads": 2}),
    "Qwen2": ("Qwen2", {"num_key_value_heads": 2}),
    "Qwen3": ("Qwen3", {"num_key_value_heads": 2, "head_dim": 12}),
    "Gemma": ("Gemma", {"num_key_value_heads": 2, "head_dim": 12}),
    "Mistral": ("Mistral", {"num_key_value_heads": 2, "sliding_window": 4}),
    "ALBERT": ("Albert", {"embedding_size": 16}),
    "DeBERTa": ("DebertaV2", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "ModernBERT": ("ModernBert", {"global_attn_every_n_layers": 2, "local_attention": 4, **PAD}),
    "OPT": ("OPT", {"ffn_dim": 64, "word_embed_proj_dim": 32, **PAD}),
    "OLMo 2": ("Olmo2", {"num_key_value_heads": 2, **PAD}),
    "Phi 3": ("Phi3", {"num_key_value_heads": 2, **PAD}),
    "Granite": ("Granite", {"num_key_value_heads": 2, "attention_multiplier": 0.3, **PAD}),
}
"""By family, the name of its classes and what its config has besides the size."""
NOT_BY_SURGERY = {
    ("ALBERT", "mean"),  # one layer has three means
    ("ALBERT", "uniform"),  # a head changes too little to be told from rounding
    ("DeBERTa", "uniform"),  # positions have queries of their own
    ("OLMo 2", "uniform"),  # the queries of all heads are normalised together
}
SENTENCES = ("The reporters saw her .", "Nobody in the old town knows where the reporter is .")
HEADS = ((0, 1), (2, 0), (2, 3))
# MPNet has one table of distances for all layers, ALBERT one layer.
IN_ALL_LAYERS = ((0, 1), (1, 1), (2, 1))

Made = Callable[[str], tuple[Model, list[Text]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, sample_text: list[str]) -> Made:
    """A function from a family to a random model of it, with its head, and two sentences."""
    result: dict[str, tuple[Model, list[Text]]] = {}

    def make(family: str) -> tuple[Model, list[Text]]:
        if family not in result:
            folder = tmp_path_factory.mktemp("model")
            classes, settings = CONFIGS[family]
            is_causal = hasattr(transformers, f"{classes}ForCausalLM") and not hasattr(
                transformers, f"{classes}ForMaskedLM"
            )
            if classes == "GPT2":
                classes, head = "GPT2", "LMHeadModel"
            else:
                head = "ForCausalLM" if is_causal else "ForMaskedLM"
            if is_causal or head == "LMHeadModel":
                tokenizer = tiny_models.byte_level(sample_text, special=False)
            else:
                tokenizer = tiny_models.wordpiece(sample_text)
            config = getattr(transformers, f"{classes}Config")(
                **SIZE | settings | {"vocab_size": len(tokenizer)}
            )
            torch.manual_seed(2)
            model = getattr(transformers, f"{classes}{head}")(config)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.normal_(std=0.3)
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            loaded = load(str(folder), head="own")
            result[family] = loaded, [_text(loaded, sentence) for sentence in SENTENCES]
        return result[family]

    return make


def _text(model: Model, sentence: str) -> Text:
    words = sentence.split()
    (pieces,) = model.input_tokenizer.pieces([(words, [True] * len(words))])
    assert isinstance(pieces, tuple)
    encoded = model.input_tokenizer.assemble([pieces], words, "word")
    spans = [
        (position.start, position.end)
        for position in encoded.positions
        if position.word is not None
    ]
    return Text(encoded.ids, encoded.segments, tuple(spans))


def _plain(texts: list[Text]) -> list[oracle_ablation.Text]:
    return [(text.ids, text.segments, text.spans) for text in texts]


def _expected(model: Model, whole: Any, texts: list[Text]) -> list[float]:
    if model.head == "causal":
        boundary = oracle_words.boundaries(model.input_tokenizer.tokenizer, {"<|endoftext|>"})
        return oracle_ablation.causal(whole, _plain(texts), boundary)
    mask_token = model.input_tokenizer.mask_token
    assert mask_token is not None
    return oracle_ablation.masked(whole, _plain(texts), mask_token)


def _begins(model: Model) -> list[int]:
    """What begins with white space, or ends the text."""
    result = oracle_words.boundaries(model.input_tokenizer.tokenizer, {"<|endoftext|>"})([], 0)
    assert result is not None
    return [*result]


def _by_layer(heads: tuple[tuple[int, int], ...]) -> dict[int, list[int]]:
    return {layer: [own for at, own in heads if at == layer] for layer, _ in heads}


@pytest.mark.usual(5)
@pytest.mark.parametrize(
    ("family", "cut"),
    [
        (family, cut)
        for family in CONFIGS
        for cut in ("zero", "mean", "uniform")
        if (family, cut) not in NOT_BY_SURGERY
    ],
)
def test_disabled_heads(family: str, cut: Any, made: Made) -> None:
    model, texts = made(family)
    heads = IN_ALL_LAYERS if family in ("MPNet", "ALBERT") else HEADS
    scorer = Scorer(model)
    sums: list[Any] = []
    tokens = scorer.add_head_outputs(texts, sums)
    scorer.means = [each / tokens for each in sums]
    scores = scorer.score(texts, [{}, _by_layer(heads)], cut)
    own = model.module_with_head
    operated = oracle_ablation.operated(own, heads, cut, _plain(texts))
    for score, module in zip(scores, (copy.deepcopy(own).double(), operated), strict=True):
        expected = np.array(_expected(model, module, texts))
        # float32 against float64: sums of up to 11 pieces of some 10 nats.
        assert np.allclose(score.words, expected, atol=1e-4, rtol=1e-5, equal_nan=True)
        assert abs(np.nanmean(score.words) - np.nanmean(expected)) < 1e-5
        assert np.isnan(score.words).sum() == (len(texts) if model.head == "causal" else 0)
    assert np.nanmax(np.abs(scores[1].words - scores[0].words)) > 1e-3  # it does something


@pytest.mark.parametrize("family", ["BERT", "Llama"])
def test_a_cut_after_the_projection_is_seen(family: str, made: Made) -> None:
    """What is compared above tells the right place from the wrong one that is often taken."""
    model, texts = made(family)
    expected = _expected(
        model, oracle_ablation.operated(model.module_with_head, HEADS, "zero", _plain(texts)), texts
    )
    hooks = []
    for layer, head in HEADS:
        module = oracle_ablation.output_of(
            model.module_with_head, oracle_ablation.layers_of(model.module_with_head)[layer]
        )

        def cut(_: Any, given: Any, output: Any, head: int = head) -> Any:
            output = output.clone()
            size = output.shape[-1] // model.facts.heads
            output[..., head * size : (head + 1) * size] = 0
            return output

        hooks.append(module.register_forward_hook(cut))
    (wrong,) = Scorer(model).score(texts)
    for hook in hooks:
        hook.remove()
    # Word by word: in a mean over so few the differences may cancel.
    assert np.nanmax(np.abs(wrong.words - np.array(expected))) > 1e-2


def test_layers_below_the_cut_are_computed_once(made: Made) -> None:
    model, texts = made("Llama")
    layers = oracle_ablation.layers_of(model.module_with_head)
    calls = [0] * len(layers)

    def count(at: int) -> Callable[..., None]:
        def add(*_: Any) -> None:
            calls[at] += 1

        return add

    scorer = Scorer(model)
    scorer.score(texts, [{}, {0: [0]}])  # the first time, the model is also tried
    hooks = [layer.self_attn.register_forward_hook(count(at)) for at, layer in enumerate(layers)]
    sets = [{}, *({layer: [head]} for layer in range(3) for head in range(4))]
    scorer.score(texts, sets)
    for hook in hooks:
        hook.remove()
    assert calls == [1 + 4, 1 + 8, 1 + 12]


def test_how_inputs_are_put_together_changes_nothing(made: Made) -> None:
    for family in ("BERT", "GPT-2"):
        model, texts = made(family)
        one = Scorer(model, chunk_tokens=1).score(texts, [{}, {1: [2]}], "uniform")
        many = Scorer(model).score(texts, [{}, {1: [2]}], "uniform")
        for alone, together in zip(one, many, strict=True):
            assert np.allclose(alone.words, together.words, atol=1e-4, equal_nan=True)


def test_the_words_of_a_text_add_up_to_its_pieces(made: Made) -> None:
    """The space after a word is taken from the next: what is left over is the end of the text."""
    model, texts = made("Llama")
    (result,) = Scorer(model).score(texts[:1])
    ids, segments = texts[0].ids, texts[0].segments
    begins = _begins(model)
    rows = oracle_ablation.logits(model.module_with_head, ids, segments).softmax(-1)

    def at_boundary(at: int) -> float:
        return math.log(sum(float(rows[at][id]) for id in begins))

    first = texts[0].spans[0][1] - 1
    left = at_boundary(first) - at_boundary(len(ids) - 1)
    assert abs(np.nansum(result.words) - (np.nansum(result.pieces) + left)) < 1e-3


def test_boundaries_too_improbable_for_float32(made: Made) -> None:
    """Surprisals are finite where no share of the probability is left for what begins a word."""
    model, texts = made("Llama")
    begins = _begins(model)
    last, least = model.module_with_head.get_output_embeddings(), 0.0
    with torch.no_grad():
        last.weight *= 200
        (result,) = Scorer(model).score(texts)
        expected = []
        for text in texts:
            rows = oracle_ablation.logits(
                model.module_with_head, text.ids, text.segments
            ).log_softmax(-1)
            at_boundary = rows[:, begins].double().logsumexp(1).tolist()
            least = min(least, *at_boundary)
            for start, end in text.spans:
                total = math.nan if start == 0 else 0.0
                for at in range(start, end if start else start):
                    total -= float(rows[at - 1, text.ids[at]])
                if start and text.ids[start] in begins:
                    total += at_boundary[start - 1]
                if end == len(text.ids) or text.ids[end] in begins:
                    total -= at_boundary[end - 1]
                expected.append(total)
        last.weight /= 200
    assert least < -150  # e to this power is 0 in float32
    assert np.allclose(result.words, expected, atol=0.05, rtol=1e-4, equal_nan=True)


def test_heads_that_cannot_be_replaced_are_refused(tiny_masked_lm: Models) -> None:
    model = load(str(tiny_masked_lm("reformer")), head="own")
    with pytest.raises(AttnbankError) as caught:
        Scorer(model).score([_text(model, SENTENCES[0])], [{}, {0: [0]}])
    assert caught.value.fact.startswith("The heads of ReformerForMaskedLM (reformer) cannot")
    assert np.isfinite(Scorer(model).score([_text(model, SENTENCES[0])])[0].words).all()
