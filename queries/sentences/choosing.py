"""Choose the sentence, the run and the heads to show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from attnbank.queries.backend import Backend
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.header import RunChoice
from attnbank.sql.ids import place_of
from attnbank.sql.messages import join_names
from attnbank.sql.run_choice import Run, choose_run, run_candidates, with_reasons

# A sentence by its place: 12 of the corpus 2, or of a corpus by name.
_PLACE = re.compile(r"(.+):([0-9]{1,13})")
_MAX_ID = 2**63 - 1


@dataclass(frozen=True)
class ChosenSentence:
    """A sentence, and the indexes from 1 of its matched words. The name defaults to the id."""

    id: int
    name: str
    corpus: int
    corpus_name: str
    matched: frozenset[int] = frozenset()


def is_request(text: str) -> bool:
    """Whether a text is a request, rather than the name of a sentence."""
    return text.lstrip().startswith("pattern") or "{" in text


def find_sentence(backend: Backend, name_or_id: str, corpus: str | None) -> ChosenSentence:
    """Find a sentence by id, by name, or by its place in a corpus (2:12 or gum-dev:12).

    Raises CallError for none or several.
    """
    name_or_id = name_or_id.strip()

    def find(**values: Any) -> list[tuple[Any, ...]]:
        every = {"corpus": corpus, "id": None, "name": None, "ordinal": None, **values}
        return backend.internal("sentences/by_name", **every).rows()

    rows = []
    if name_or_id.isdecimal() and int(name_or_id) <= _MAX_ID:
        rows = find(id=int(name_or_id))
    rows = rows or find(name=name_or_id)
    if not rows and (place := _PLACE.fullmatch(name_or_id)):
        rows = find(corpus=place[1], ordinal=int(place[2]))
    if len(rows) == 1:
        return ChosenSentence(*rows[0])
    scope = f" of the corpus {corpus}" if corpus is not None else " of the bank"
    if not rows:
        near_names = backend.internal("sentences/near_names", name=name_or_id[:80]).to_series()
        names = ", ".join(map(_shortened, near_names))
        nearest = f"The nearest names: {names}. " if names else ""
        raise CallError(
            f"No sentence{scope} is called {_shortened(name_or_id)}.",
            f"{nearest}Give a sent_id, a number (sentence.id, CORPUS:12), or a request:"
            " 'pattern { N [upos=NOUN] }'.",
        )
    numbers = join_names([f"{place_of(row[0])} ({row[3]})" for row in rows], 8)
    raise CallError(
        f"{len(rows)} sentences{scope} are called {_shortened(name_or_id)}.",
        f"Give its number, or --corpus: {numbers}.",
    )


def mark_words(
    backend: Backend, sentence: ChosenSentence, indexes: Sequence[int]
) -> ChosenSentence:
    """Mark words by their indexes from 1. Raises CallError for an index out of range."""
    if not indexes:
        return sentence
    known = {*backend.internal("sentences/words", sentences=[sentence.id])["index"]}
    if missing := sorted(set(indexes) - known):
        raise CallError(
            f"The sentence {_shortened(sentence.name)} has no word {missing[0]}.",
            f"Its words are 1 to {max(known, default=0)}.",
        )
    return replace(sentence, matched=frozenset(indexes))


class SentenceNotReadError(QueryError):
    """The run has not read the sentence `sentence` (sentence.id)."""

    def __init__(self, fact: str, remedy: str, sentence: int) -> None:
        super().__init__(fact, remedy)
        self.sentence = sentence


def choose_run_over_corpus(
    backend: Backend, requested: str | None, needs: str | None, corpus: tuple[int, str] | None
) -> Run:
    """Choose the requested or the default run, if given over a corpus (id, name).

    A run that keeps only peaks is a default only if there is no other.
    """
    choice = RunChoice(needs=needs, favours="sentence/word")
    if requested is None:
        with suppress(QueryError):
            return _choose_run(backend, None, replace(choice, weights="largest"), corpus)
    return _choose_run(backend, requested, choice, corpus)


def _choose_run(
    backend: Backend, requested: str | None, choice: RunChoice, corpus: tuple[int, str] | None
) -> Run:
    def choose(name: str | None) -> Run:
        return choose_run(backend.connection, backend.path, choice, "show", name)

    if requested is not None or corpus is None:
        return choose(requested)
    candidates = run_candidates(backend.connection, choice)
    usable = [candidate.id for candidate in candidates if candidate.may_be_default]
    rows = backend.internal("sentences/run_of_corpus", corpus=corpus[0], usable=usable).rows()
    if not rows:
        if not usable:
            choose(None)  # raises, and says why
        of_corpus = "select id from run where corpus = ?"
        over = backend.connection.execute(of_corpus, [corpus[0]]).fetchall()
        unusable = [candidate for candidate in candidates if (candidate.id,) in over]
        raise QueryError(
            f"No run over the corpus {corpus[1]} is suitable:"
            f" {with_reasons(unusable, 8) or 'it has none'}.",
            "Name another run (--run, run=), or ingest the corpus; attnbank info lists all.",
        )
    name, among = rows[0]
    return replace(choose(name), among=among)


def check_sentence_in_run(backend: Backend, run: Run, chosen: ChosenSentence) -> None:
    """Raise CallError or QueryError, with the reason, if the run has not read the sentence."""
    if chosen.corpus != run.corpus:
        raise CallError(
            f"The sentence {_shortened(chosen.name)} is of the corpus {chosen.corpus_name}; the"
            f" run {run.name} read {run.corpus_name}.",
            "Name a run over its corpus (--run, run=); attnbank info lists all.",
        )
    if sentences_of_run(backend, run, [chosen.id]):
        return
    reasons = backend.internal("sentences/skip_reasons", sentence=chosen.id, run=run.id).rows()
    if reasons:
        reason, detail = reasons[0]
        why = f"left out the sentence {_shortened(chosen.name)} ({reason}): {detail}"
    elif not run.is_finished:
        why = f"is not finished, and has not read the sentence {_shortened(chosen.name)} yet"
    else:
        why = f"has not read the sentence {_shortened(chosen.name)}: it is over a sample (--limit)"
    raise SentenceNotReadError(
        f"The run {run.name} {why.rstrip('.')}.",
        "Choose another sentence, or another run (--run).",
        chosen.id,
    )


def sentences_of_run(backend: Backend, run: Run, sentences: Sequence[int]) -> dict[int, str]:
    """Those sentences (sentence.id) that the run has read, with their names."""
    rows = backend.internal("sentences/read_by_run", run=run.id, sentences=list(sentences))
    return dict(rows.rows())


def requested_heads(run: Run, heads: Sequence[str], layer: int | None) -> list[tuple[int, int]]:
    """Layer and number of each requested head (3-1, or all of a layer). Raises CallError."""
    if not heads and layer is None:
        raise CallError(
            "No head is named.",
            f"Give --head 3-1, or --layer 3 for all of a layer. The model has {run.size};"
            " attnbank query best_head finds those worth a look.",
        )
    pairs = [(layer, head) for head in range(1, run.heads + 1)] if layer is not None else []
    if not run.has(layer, None):
        raise CallError(f"The model of the run {run.name} has no layer {layer}.",
                        f"It has {run.size}.")  # fmt: skip
    for text in (part.strip() for heads_text in heads for part in heads_text.split(",")):
        if not text:
            continue
        pair = layer_and_head(text)
        if not run.has(*pair):
            raise CallError(
                f"The model of the run {run.name} has no head {_shortened(text)}.",
                f"It has {run.size}.",
            )
        pairs.append(pair)
    return list(dict.fromkeys(pairs))


def layer_and_head(text: str) -> tuple[int, int]:
    """Parse a head such as 3-1 to its layer and number. Raises CallError for anything else."""
    parts = text.split("-")
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise CallError(
            f"{_shortened(text)} is not a valid head.", "Write a head as LAYER-HEAD: 3-1."
        )
    return int(parts[0][:9]), int(parts[1][:9])


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
