"""Which corpora and models of several banks are the same: by digests, and by what decides them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnbank.ingest.meeting.held import Held, Row
from attnbank.sql.bank.shards import Parts
from attnbank.sql.errors import CallError

_CORPUS = {
    "sha256": "its content (SHA-256)",
    "format": "the format that it was read as",
    "annotation": "its annotation",
    "annotator": "its annotator",
    "annotator_sha256": "the files of its annotator",
}
_MODEL = (
    "sha256", "tokenizer_sha256", "random_seed", "layers", "heads", "architecture",
    "max_positions",
)  # fmt: skip

Place = tuple[int, int]
"""A row of a source: the number of the source, and the row's id there."""


@dataclass
class Corpus:
    """A corpus of the new bank, and the rows of the sources that are it, the first one first."""

    id: int
    name: str
    rows: list[Place]
    parts: Parts
    language: str | None


@dataclass
class Model:
    """A model of the new bank, and the rows of the sources that are it, the first one first."""

    id: int
    rows: list[Place]


def unique(name: str, taken: Iterable[str]) -> str:
    """A name that is not taken: the name itself, or with a number."""
    found, number = name, 1
    while found in {*taken}:
        number += 1
        found = f"{name}-{number}"
    return found


def corpora(sources: Sequence[Held], notes: list[str]) -> list[Corpus]:
    """The corpora of the new bank, in the order in which they come.

    Those of one name are the same if their content and all that decides how it is read are. What
    is kept apart is noted. Raises CallError for shards that divide a corpus in different ways.
    """
    made: list[Corpus] = []
    for held in sources:
        for id, row in held.corpora.items():
            alike = [each for each in made if _named(each, sources) == row["name"]]
            same = next((each for each in alike if not _differ(_row(each, sources), row)), None)
            if same is not None:
                _join(same, held, id, sources)
                continue
            name = unique(row["name"], [each.name for each in made])
            if alike:
                first = _row(alike[0], sources)
                what = ", ".join(_differ(first, row))
                notes.append(
                    f"{held.source.shown} has another corpus called {row['name']}:"
                    f" {what} differ{'' if ',' in what else 's'}. It is {name} here."
                )
            new = Corpus(len(made) + 1, name, [(held.source.number, id)], held.parts[id], None)
            new.language = row["language"]
            made.append(new)
    return made


def _row(corpus: Corpus, sources: Sequence[Held]) -> Row:
    number, id = corpus.rows[0]
    return sources[number].corpora[id] | {"language": corpus.language}


def _named(corpus: Corpus, sources: Sequence[Held]) -> str:
    return str(_row(corpus, sources)["name"])


def _differ(first: Row, second: Row) -> list[str]:
    """What tells two corpora of one name apart, in words; nothing if they are the same."""
    found = [told for column, told in _CORPUS.items() if first[column] != second[column]]
    if None not in (first["language"], second["language"]):
        found += ["its language"] if first["language"] != second["language"] else []
    return found


def _join(corpus: Corpus, held: Held, id: int, sources: Sequence[Held]) -> None:
    parts = held.parts[id]
    if not parts.is_whole and not corpus.parts.is_whole and parts.count != corpus.parts.count:
        first = sources[corpus.rows[0][0]].source.shown
        raise CallError(
            f"The shards of {corpus.name} do not go together: {first} has {corpus.parts.text}, and"
            f" {held.source.shown} {parts.text}.",
            "Merge shards of one division.",
        )
    corpus.rows.append((held.source.number, id))
    corpus.parts = corpus.parts.with_(parts)
    corpus.language = corpus.language or held.corpora[id]["language"]


def models(sources: Sequence[Held], notes: list[str]) -> list[Model]:
    """The models of the new bank, in the order in which they come.

    Two are the same if their weights and their tokenizers have the same digests, whatever they are
    called: a folder has another path on another machine. But two rows of one source stay two.
    """
    made: list[Model] = []
    for held in sources:
        number = held.source.number
        left = dict(held.models)
        for by_name in (True, False):
            for id, row in [*left.items()]:
                for model in made:
                    first = sources[model.rows[0][0]].models[model.rows[0][1]]
                    is_here = any(each == number for each, _ in model.rows)
                    if is_here or not _is_same(first, row) or (by_name and not _alike(first, row)):
                        continue
                    model.rows.append((number, id))
                    del left[id]
                    if first["name"] != row["name"]:
                        notes.append(
                            f"The model {row['name']} of {held.source.shown} is {first['name']}:"
                            " the same weights and tokenizer."
                        )
                    break
        made += [Model(len(made) + at, [(number, id)]) for at, id in enumerate(left, start=1)]
    return made


def _is_same(first: Row, second: Row) -> bool:
    if any(first[column] != second[column] for column in _MODEL):
        return False
    return first["tokenizer_sha256"] is not None or _alike(first, second)


def _alike(first: Row, second: Row) -> bool:
    """Whether they are called alike, too, with the same revision and class of tokenizer."""
    return all(first[column] == second[column] for column in ("name", "revision", "tokenizer"))
