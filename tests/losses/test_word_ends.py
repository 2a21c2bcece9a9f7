"""Where words end: before a space and before a mark, in a text and in a pair."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import oracle_ablation
import oracle_words
import pytest
import real_models
import spaced_tokenizers
import torch
import transformers
from bank_rows import query_bank
from fixture_types import Models
from tokenizers import Tokenizer, decoders

from attnbank.ingest import IngestOptions, LossOptions, ingest, surprisal
from attnbank.ingest.losses.language_model import Scorer, Text
from attnbank.ingest.models.loading import Model, load

WORDS = (
    ("He", True), ("said", False), (",", True), ("“", False), ("Two", True), ("jackets", False),
    (",", True), ("naïve", True), ("do", False), ("n't", True), ("(", False), ("мир", False),
    (")", False), (",", True), ("co", False), ("-", False), ("op", False), ("—", False),
    ("5", False), ("%", True), ("的", False), ("一", False), ("!", False),
)  # fmt: skip
"""Words, and whether a space follows."""
KINDS = (
    "byte_level", "byte_level_prefix", "byte_level_split", "metaspace_always", "metaspace_first",
    "metaspace_first_whole", "metaspace_never", "prepend_and_replace",
)  # fmt: skip
REAL = ("smollm2", "mistral_tokenizer")
VERB = "VERB\t_\tMood=Ind|Person=3|Tense=Pres|VerbForm=Fin|Number"
AGREEMENT = f"""\
# text = The dog sleeps, they say.
1	The	the	DET	_	_	2	det	_	_
2	dog	dog	NOUN	_	Number=Sing	3	nsubj	_	_
3	sleeps	sleep	{VERB}=Sing	0	root	_	SpaceAfter=No
4	,	,	PUNCT	_	_	6	punct	_	_
5	they	they	PRON	_	Number=Plur	6	nsubj	_	_
6	say	say	{VERB}=Plur	3	parataxis	_	SpaceAfter=No
7	.	.	PUNCT	_	_	3	punct	_	_

# text = The dogs sleep well and the dog says it again.
1	The	the	DET	_	_	2	det	_	_
2	dogs	dog	NOUN	_	Number=Plur	3	nsubj	_	_
3	sleep	sleep	{VERB}=Plur	0	root	_	_
4	well	well	ADV	_	_	3	advmod	_	_
5	and	and	CCONJ	_	_	8	cc	_	_
6	the	the	DET	_	_	7	det	_	_
7	dog	dog	NOUN	_	Number=Sing	8	nsubj	_	_
8	says	say	{VERB}=Sing	3	conj	_	_
9	it	it	PRON	_	_	8	obj	_	_
10	again	again	ADV	_	_	8	advmod	_	SpaceAfter=No
11	.	.	PUNCT	_	_	3	punct	_	_

"""

Made = Callable[[str], Model]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, sample_text: list[str]) -> Made:
    """A function from a kind of tokenizer, or a real one, to a random decoder that has it."""

    def make(kind: str) -> Model:
        folder = tmp_path_factory.mktemp(kind)
        if kind in KINDS:
            tokenizer = spaced_tokenizers.train(kind, sample_text, 600)
            tokenizer.add_special_tokens(["</s>"])
            is_bytes = kind.startswith("byte")
            tokenizer.decoder = decoders.ByteLevel() if is_bytes else decoders.Metaspace()
        else:
            real = real_models.get(kind)
            if real is None:
                pytest.skip(f"{kind} is not here")
            tokenizer = Tokenizer.from_file(f"{real}/tokenizer.json")
        end = next(each for each in ("<|im_end|>", "</s>") if tokenizer.token_to_id(each))
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end)
        config = transformers.LlamaConfig(
            vocab_size=len(fast), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64,
        )  # fmt: skip
        torch.manual_seed(3)
        model = transformers.LlamaForCausalLM(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.3)
        model.save_pretrained(folder)
        fast.save_pretrained(folder)
        return load(str(folder), head="own")

    return make


def _text(model: Model) -> Text:
    words, spaces = [word for word, _ in WORDS], [space for _, space in WORDS]
    (pieces,) = model.input_tokenizer.pieces([(words, spaces)])
    assert isinstance(pieces, tuple)
    encoded = model.input_tokenizer.assemble([pieces], words, "word")
    spans = [
        (position.start, position.end)
        for position in encoded.positions
        if position.word is not None
    ]
    return Text(encoded.ids, encoded.segments, tuple(spans))


@pytest.mark.parametrize(
    "kind",
    [KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in (*KINDS[1:], *REAL))],
)
def test_what_ends_a_word_begins_the_next(kind: str, made: Made) -> None:
    model = made(kind)
    text = _text(model)
    (result,) = Scorer(model).score([text])
    tokenizer = model.input_tokenizer.tokenizer
    boundary = oracle_words.boundaries(tokenizer, {"</s>", "<|im_end|>"})
    plain = [(text.ids, text.segments, text.spans)]
    whole = model.module_with_head.double()
    expected = oracle_ablation.causal(whole, plain, boundary)
    assert np.allclose(result.words, expected, atol=2e-4, equal_nan=True)
    of_pieces = oracle_ablation.causal(whole, plain)
    assert np.allclose(result.pieces, of_pieces, atol=2e-4, equal_nan=True)
    assert np.nanmin(result.words) > 0
    # Of words, what each end takes the next beginning gives back.
    rows = oracle_ablation.logits(whole, text.ids, text.segments).log_softmax(-1)

    def nats(place: int) -> float:
        ids = boundary(text.ids, place)
        return 0.0 if ids is None else -float(rows[place - 1][list(ids)].logsumexp(-1))

    first = text.spans[0][1]
    left = nats(len(text.ids)) - nats(first)
    assert np.nansum(result.words) == pytest.approx(np.nansum(result.pieces) + left, rel=1e-4)


@pytest.mark.parametrize("context", ["sentence", pytest.param("document", marks=pytest.mark.slow)])
def test_a_verb_has_one_surprisal_in_its_text_and_in_a_pair(
    context: str, tiny_causal_lm: Models, tmp_path: Path
) -> None:
    """Before a comma, a space and a full stop."""
    corpus, bank, folder = tmp_path / "c.conllu", tmp_path / "b.duckdb", tiny_causal_lm("gpt2")
    first, second = AGREEMENT.strip().split("\n\n")
    corpus.write_text(
        f"# newdoc id = a\n{first}\n\n# newdoc id = b\n{second}\n\n", encoding="utf-8"
    )
    ingest(IngestOptions((str(corpus),), bank, str(folder), context=context))
    surprisal(bank, options=LossOptions(agreement=True, model=str(folder)))
    rows = query_bank(
        bank,
        "select good, good_nats, nats, nats_of_pieces from minimal_pair"
        " inner join surprisal using (run, word) order by number",
    )
    assert [row[0] for row in rows] == ["sleeps", "say", "sleep", "says"]
    for _, in_pair, nats, of_pieces in rows:
        assert in_pair == pytest.approx(nats, abs=1e-5)
        assert abs(nats - of_pieces) > 1e-3
