"""What a corpus reader makes of a text, with the outcome that the test expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attnbank.ingest.corpora.document import Departure, Problem, Sentence
from attnbank.ingest.corpora.formats.conllu import read_conllu

Items = list[Sentence | Problem]


def read_items(
    text: str | bytes,
    read: Callable[..., Iterator[Sentence | Problem]] = read_conllu,
    *options: Any,
    **more: Any,
) -> Items:
    data = text.encode() if isinstance(text, str) else text
    return list(read(data.splitlines(keepends=True), *options, **more))


def read_sentences(*text: Any, **options: Any) -> list[Sentence]:
    """The sentences of a text without problems."""
    read = read_items(*text, **options)
    assert [str(item) for item in read if isinstance(item, Problem)] == []
    return [item for item in read if isinstance(item, Sentence)]


def read_sentence(*text: Any, **options: Any) -> Sentence:
    """The only sentence of a text."""
    (only,) = read_sentences(*text, **options)
    return only


def read_problem(*text: Any, **options: Any) -> Problem:
    """The problem of a text that is one faulty sentence."""
    (only,) = read_items(*text, **options)
    assert isinstance(only, Problem)
    return only


def problem_and_sentence(read: Items) -> tuple[Problem, Sentence]:
    first, second = read
    assert isinstance(first, Problem) and isinstance(second, Sentence)
    return first, second


def facts(departures: tuple[Departure, ...]) -> list[tuple[str, str, int]]:
    return [(departure.id, departure.fact, departure.line) for departure in departures]
