"""Which sentence of which run is shown, and by which heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from attnbank.sql import header, registry
from attnbank.sql.errors import CallError, QueryError
from attnbank.sql.header import Analysis
from attnbank.sql.runs import Run, choose_run, run_fits
from attnbank.sql.suggest import did_you_mean, listed

_HEADER = """-- title: What heads look at in one sentence
-- paper: Clark et al. 2019, figures 1 and 5
-- grain: one row a word and head
-- run: favours=sentence/word
-- weights: true
-- param run varchar = null: name or id of the run
-- column sent_id varchar: name of the sentence
select 1 as sent_id
"""
_LARGEST = 2**31 - 1
MOST_PANELS = 150
"""Panels of a picture: all 144 heads of the paper's model on one sentence, and a few."""


@dataclass(frozen=True)
class Chosen:
    """A sentence of the bank: its id, its name (the id where it has none), and its corpus.

    `matched` has the indexes of the words that a request found in it.
    """

    id: int
    name: str
    corpus: int
    corpus_name: str
    matched: frozenset[int] = frozenset()


@cache
def as_analysis(needs: str | None) -> Analysis:
    """A picture of a sentence as an analysis, as far as the choice of its run goes.

    It `needs` trees where a relation is shown, and mentions where coreference is.
    """
    made = header.parse("show", "sentences", _HEADER)
    assert made.run is not None
    return replace(made, run=replace(made.run, needs=needs))


def is_request(text: str) -> bool:
    """Whether a text asks for what a request describes, and not for a sentence by its name."""
    return text.lstrip().startswith("pattern") or "{" in text


def called(connection: DuckDBPyConnection, asked: str, corpus: str | None) -> Chosen:
    """The sentence of an id (a number) or else of a name.

    Raises CallError where there is none, or where several have the name.
    """
    asked = asked.strip()
    values: dict[str, Any] = {"corpus": corpus, "id": None, "name": None}
    found: list[tuple[int, str, int, str]] = []
    if asked.isdecimal() and int(asked) <= _LARGEST:
        found = _rows(connection, "called", values | {"id": int(asked)})
    found = found or _rows(connection, "called", values | {"name": asked})
    if len(found) == 1:
        return Chosen(*found[0])
    where = f" of the corpus {corpus}" if corpus is not None else " of the bank"
    if not found:
        near = [row[0] for row in _rows(connection, "near_names", {"name": asked[:80]})]
        nearest = f"The nearest names: {', '.join(map(_shortened, near))}. " if near else ""
        raise CallError(
            f"No sentence{where} is called {_shortened(asked)}.",
            f"{nearest}Give a sent_id, a number (sentence.id), or a request:"
            " 'pattern { N [upos=NOUN] }'.",
        )
    raise CallError(
        f"{len(found)} sentences{where} are called {_shortened(asked)}.",
        "Give the number of one, or --corpus: "
        + listed([f"{row[0]} ({row[3]})" for row in found], 8)
        + ".",
    )


def marked(connection: DuckDBPyConnection, one: Chosen, indexes: Sequence[int]) -> Chosen:
    """The sentence with the words of these indexes marked, counted from 1.

    Raises CallError where the sentence has no word of an index.
    """
    if not indexes:
        return one
    statement = registry.statement("examples/words")
    rows = connection.execute(statement, {"sentence": one.id}).fetchall()
    known = {index for _, index, _ in rows}
    if missing := sorted(set(indexes) - known):
        raise CallError(
            f"The sentence {_shortened(one.name)} has no word {missing[0]}.",
            f"Its words are 1 to {max(known, default=0)}.",
        )
    return replace(one, matched=frozenset(indexes))


def check_corpus(connection: DuckDBPyConnection, name: str) -> tuple[int, str]:
    """The id and name of a corpus. Raises CallError where the bank has none of that name."""
    rows = connection.execute("select id, name from corpus order by id").fetchall()
    for number, known in rows:
        if known == name:
            return number, known
    names = [known for _, known in rows]
    raise CallError(
        f"The bank has no corpus {name}.",
        f"{did_you_mean(name, names)} It has: {listed(names)}.".strip(),
    )


def run_over(
    connection: DuckDBPyConnection,
    path: Path,
    asked: str | None,
    needs: str | None,
    corpus: tuple[int, str] | None,
) -> Run:
    """The run that is named, else the one that answers of those over the corpus (id and name).

    Without a corpus it is the run that answers as for every analysis. Raises as `choose_run` does.
    """
    analysis = as_analysis(needs)
    assert analysis.run is not None
    if asked is not None or corpus is None:
        run = choose_run(connection, path, analysis, {"run": asked})
        assert run is not None
        return run
    fits = run_fits(connection, analysis.run)
    usable = [each.id for each in fits if each.misfit is None and each.reserve is None]
    found = _rows(connection, "run_of_corpus", {"corpus": corpus[0], "usable": usable})
    if not found:
        if not usable:
            choose_run(connection, path, analysis, {})  # which says why
        over = connection.execute("select id from run where corpus = ?", [corpus[0]]).fetchall()
        those = [str(each) for each in fits if (each.id,) in over]
        raise QueryError(
            f"No run over the corpus {corpus[1]} answers: {listed(those, 8) or 'there is none'}.",
            "Name another run (--run, run=), or ingest the corpus; attnbank info lists all.",
        )
    name, among = found[0]
    run = choose_run(connection, path, analysis, {"run": name})
    assert run is not None
    return replace(run, among=among)


def check_held(connection: DuckDBPyConnection, run: Run, chosen: Chosen) -> None:
    """Raise CallError or QueryError where no input of the run holds the sentence, and say why."""
    if chosen.corpus != run.corpus:
        raise CallError(
            f"The sentence {_shortened(chosen.name)} is of the corpus {chosen.corpus_name}; the"
            f" run {run.name} read {run.corpus_name}.",
            "Name a run over its corpus (--run, run=); attnbank info lists all.",
        )
    if held(connection, run, [chosen.id]):
        return
    reasons = _rows(connection, "left_out", {"sentence": chosen.id, "run": run.id})
    if reasons:
        reason, detail = reasons[0]
        why = f"left out the sentence {_shortened(chosen.name)} ({reason}): {detail}"
    elif not run.is_finished:
        why = f"is not finished, and has not read the sentence {_shortened(chosen.name)} so far"
    else:
        why = f"has not read the sentence {_shortened(chosen.name)}: it is over a sample (--limit)"
    raise QueryError(
        f"The run {run.name} {why.rstrip('.')}.", "Choose another sentence, or another run (--run)."
    )


def check_count(heads: int, sentences: int) -> None:
    """Raise CallError for more panels than anyone looks at."""
    if heads * sentences > MOST_PANELS:
        raise CallError(
            f"{heads} heads on {sentences} sentences are {heads * sentences} panels.",
            f"Ask for fewer heads or hits: up to {MOST_PANELS} panels.",
        )


def held(connection: DuckDBPyConnection, run: Run, sentences: Sequence[int]) -> set[int]:
    """Return those of some sentences (numbers, sentence.id) that an input of the run holds."""
    rows = _rows(connection, "held", {"run": run.id, "sentences": list(sentences)})
    return {row[0] for row in rows}


def heads_of(run: Run, heads: Sequence[str], layer: int | None) -> list[tuple[int, int]]:
    """The layer and number of each head that is asked for (3-1, or a whole layer), each once.

    Raises CallError where none is, and for a head that the model has not.
    """
    size = f"{run.layers} layers of {run.heads} heads: 1-1 to {run.layers}-{run.heads}"
    if not heads and layer is None:
        raise CallError(
            "No head is named.",
            f"Give --head 3-1, or --layer 3 for all of a layer. The model has {size};"
            " attnbank query best_head finds those worth a look.",
        )
    found = [(layer, each) for each in range(1, run.heads + 1)] if layer is not None else []
    if layer is not None and not 1 <= layer <= run.layers:
        raise CallError(f"The model of the run {run.name} has no layer {layer}.",
                        f"It has {size}.")  # fmt: skip
    for text in _each(heads):
        parts = text.split("-")
        if len(parts) != 2 or not all(each.isascii() and each.isdecimal() for each in parts):
            raise CallError(
                f"{_shortened(text)} is no head.", "A head is LAYER-HEAD, as the paper has it: 3-1."
            )
        pair = int(parts[0][:9]), int(parts[1][:9])
        if not (1 <= pair[0] <= run.layers and 1 <= pair[1] <= run.heads):
            raise CallError(
                f"The model of the run {run.name} has no head {_shortened(text)}.",
                f"It has {size}.",
            )
        found.append(pair)
    return list(dict.fromkeys(found))


def _each(heads: Sequence[str]) -> Iterator[str]:
    for several in heads:
        yield from (each.strip() for each in several.split(",") if each.strip())


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def _rows(connection: DuckDBPyConnection, name: str, values: dict[str, Any]) -> list[Any]:
    """What a statement of sql/internal/sentences gives; values that it does not use are left."""
    statement = registry.statement(f"sentences/{name}")
    return connection.execute(statement, values).fetchall()
