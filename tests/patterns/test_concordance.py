"""The concordance of hits, against one that is made word by word, on real text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from attnbank.queries import Bank, open_bank
from attnbank.queries.patterns import HitOptions, compile_request
from attnbank.queries.requests import add_context, hits_in_context, node_columns, run_hits
from attnbank.sql.messages import is_right_to_left

REQUESTS = (
    "pattern { V -[obj]-> O }",
    "pattern { P [upos=PUNCT] }",
    "pattern { N [] }",
    "pattern { N [upos=VERB]; N -> M; M -> K }",
    'global { sent_id = re".*1" }',
)
OVER_SENTENCES = "pattern { A ~ B; A [mention=proper]; B [mention=pronoun] }"


class Token(NamedTuple):
    """A token as it is written: the indexes of its words, its form, and what follows it."""

    indexes: set[int]
    form: str
    gap: str


def _tokens_of_sentences(bank: Bank) -> dict[int, list[Token]]:
    words = bank.sql(
        "select sentence, token_start, index, form, surface, space_after from word order by id"
    ).rows(named=True)
    sentences: dict[int, list[Token]] = {}
    for sentence, own in groupby(words, lambda word: word["sentence"]):
        tokens = sentences[sentence] = []
        for _, group in groupby(own, lambda word: word["token_start"] or -word["index"]):
            parts = list(group)
            surface, gaps = parts[0]["surface"], [" " * part["space_after"] for part in parts]
            if surface in (None, "".join(part["form"] for part in parts)):
                for part, gap in zip(parts, gaps, strict=True):
                    tokens.append(Token({part["index"]}, part["form"], gap))
            else:
                tokens.append(Token({part["index"] for part in parts}, surface, gaps[-1]))
    return sentences


def _text(tokens: list[Token], matched: set[int]) -> str:
    text = ""
    for token in tokens:
        text += f"[{token.form}]" if token.indexes & matched else token.form
        text += token.gap
    return text.strip()


def _line(
    sentences: dict[int, list[Token]], row: dict[str, Any], nodes: list[str], context: int | None
) -> tuple[str, str, str]:
    matched: dict[int, set[int]] = {}
    for node in nodes:
        if row[node]:
            sentence = row.get(f"{node}.sentence", row["sentence"])
            matched.setdefault(sentence, set()).add(row[node])
    if not matched:
        return "", _text(sentences[row["sentence"]], set()), ""
    parts: list[str] = []
    before = after = ""
    for sentence in sorted(matched):
        tokens, indexes = sentences[sentence], matched[sentence]
        places = [place for place, token in enumerate(tokens) if token.indexes & indexes]
        first, end = places[0], places[-1] + 1
        around = len(tokens) if context is None else context
        if not parts:
            before = _text(tokens[max(0, first - around) : first], set())
        parts.append(_text(tokens[first:end], indexes))
        after = _text(tokens[end : end + around], set())
    hit = " … ".join(parts)
    return (after, hit, before) if is_right_to_left(hit) else (before, hit, after)


def _hits(bank: Bank, request: str, *, cross_sentence: bool = False) -> pl.DataFrame:
    choice = HitOptions(limit=3000, keys=True, cross_sentence=cross_sentence)
    return run_hits(bank.backend, compile_request(request, choice=choice))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gum-dev", "he-dev"])
def test_it_is_that_of_the_words_one_by_one(name: str, text_bank: Callable[[str], Path]) -> None:
    with open_bank(text_bank(name)) as bank:
        sentences = _tokens_of_sentences(bank)
        assert (name == "he-dev") == any(
            len(token.indexes) > 1 for tokens in sentences.values() for token in tokens
        )
        frames = [_hits(bank, request) for request in REQUESTS]
        if name == "gum-dev":
            frames.append(_hits(bank, OVER_SENTENCES, cross_sentence=True))
        for hits in frames:
            nodes = node_columns(hits)
            for context in (0, 3, 10, None):
                lines = add_context(bank.backend, hits, context).select("left", "hit", "right")
                expected = [
                    _line(sentences, row, nodes, context) for row in hits.iter_rows(named=True)
                ]
                assert lines.rows() == expected and expected


@pytest.mark.slow
def test_the_forms_are_those_of_the_nodes(text_bank: Callable[[str], Path]) -> None:
    """A node before the first word has none; words that share a token have that."""
    with open_bank(text_bank("he-dev")) as bank:
        sentences = _tokens_of_sentences(bank)
        hits = _hits(bank, "pattern { V -> O; O -[case]-> A; R -> V }")
        nodes = node_columns(hits)
        assert 0 in hits["R"]
        for row, forms in zip(
            hits.iter_rows(named=True), hits_in_context(bank.backend, hits, 1)["forms"], strict=True
        ):
            form_at = {
                index: token.form for token in sentences[row["sentence"]] for index in token.indexes
            }
            assert forms.to_list() == [form_at.get(row[node]) for node in nodes]


def test_what_has_no_words_has_an_empty_line(sample_text_bank: Path) -> None:
    with open_bank(sample_text_bank) as bank:
        hits = _hits(bank, 'global { sent_id = "no such sentence" }')
        assert add_context(bank.backend, hits).rows() == []
        nowhere = pl.DataFrame({"sent_id": ["a"], "sentence": [0]})
        assert add_context(bank.backend, nowhere).rows() == [("a", "", "", "")]
