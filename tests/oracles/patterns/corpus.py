"""The plain data that the slow matcher reads, from a CoNLL-U file or from the rows of a bank."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import duckdb
import numpy as np

from patterns.binding import Place

ANCHOR = "__0__"


@dataclass
class Mention:
    """A mention that a word is the head of."""

    entity: str
    kind: str
    type: str | None


@dataclass
class Word:
    """A word, or the anchor: features under Grew's names, the index of its head, its relation.

    `surprisal` is that of the run; None for a word that has none.
    """

    features: dict[str, str]
    head: int | None = None
    deprel: str | None = None
    mentions: list[Mention] = field(default_factory=list)
    surprisal: float | None = None


@dataclass
class Sentence:
    """The anchor (index 0) and the words from 1 on.

    In `metadata` the sentence's own keys override those of its document.
    """

    name: str
    document: str
    words: list[Word]
    metadata: dict[str, str]
    enhanced: list[tuple[int, int, str]] = field(default_factory=list)
    """Head, dependent and relation of each edge of the enhanced graph between words."""


WORDS = ("word", "first")


@dataclass
class Input:
    """One input of a model: the kind and the words of each position, and the maps.

    A special token has no words, and a multiword token several. `weights` is
    [layers, heads, positions, positions], from and to. The kind of a first word that is set apart
    is first: it has weights as any word, and no word looks at it most.
    """

    positions: list[tuple[str, list[Place]]]
    weights: np.ndarray

    @cached_property
    def peaks(self) -> np.ndarray:
        """The position that each word looks at most, [layers, heads, positions]; -1 for none.

        Special tokens and the word itself are left out; of equals it is the leftmost.
        """
        words = np.array([kind == "word" for kind, _ in self.positions])
        among = np.where(words[:, None] & words[None, :], self.weights, 0.0)
        among[:, :, np.arange(len(words)), np.arange(len(words))] = 0.0
        return np.asarray(np.where(among.max(axis=-1) > 0, among.argmax(axis=-1), -1))


@dataclass
class Corpus:
    """Sentences in order, and the inputs of one run; None if no run was asked for.

    `measured` are the places of the sentences that have words with a surprisal in the run, and
    `run` is its name.
    """

    sentences: list[Sentence]
    inputs: list[Input] | None = None
    measured: set[int] = field(default_factory=set)
    run: str | None = None

    @cached_property
    def positions(self) -> dict[Place, list[tuple[int, int]]]:
        """The places of each word in the inputs: index of the input, and position."""
        positions: dict[Place, list[tuple[int, int]]] = {}
        for at, input in enumerate(self.inputs or []):
            for position, (_, words) in enumerate(input.positions):
                for place in words:
                    positions.setdefault(place, []).append((at, position))
        return positions

    @cached_property
    def children(self) -> dict[Place, list[Place]]:
        """The dependents of each word."""
        children: dict[Place, list[Place]] = {}
        for at, sentence in enumerate(self.sentences):
            for index, word in enumerate(sentence.words):
                if word.head is not None:
                    children.setdefault((at, word.head), []).append((at, index))
        return children

    @cached_property
    def referring(self) -> dict[str, list[Place]]:
        """The head words of the mentions of each entity."""
        heads: dict[str, list[Place]] = {}
        for at, sentence in enumerate(self.sentences):
            for index, word in enumerate(sentence.words):
                for mention in word.mentions:
                    heads.setdefault(mention.entity, []).append((at, index))
        return heads


def anchor() -> Word:
    return Word({"form": ANCHOR})


def _features(
    columns: Mapping[str, str | None], feats: str | None, misc: str | None
) -> dict[str, str]:
    """The columns, FEATS and MISC of a word in one dict; `Number[psor]` becomes Number__psor."""
    features: dict[str, str] = {}
    for text in (misc, feats):
        for pair in (text or "").split("|"):
            name, equals, value = pair.partition("=")
            if equals:
                features[name.strip().replace("[", "__").replace("]", "")] = value.strip()
    features |= {name: value for name, value in columns.items() if value is not None}
    return {name: unicodedata.normalize("NFC", value) for name, value in features.items()}


def of_bank(path: Path, run: str | None = None) -> Corpus:
    """The sentences of a run's corpus and the inputs of the run; without a run, all sentences."""
    with duckdb.connect(str(path), read_only=True) as connection:
        chosen = connection.execute(
            "select id, corpus from run where name = ?", [run]
        ).fetchone() or (None, None)
        sentences, places = _sentences(connection, chosen[1])
        inputs = None if run is None else list(_inputs(connection, int(chosen[0]), places))
        measured = set()
        for id, nats in connection.execute(
            "select word, nats from surprisal where run = ?", [chosen[0]]
        ).fetchall():
            at, index = places[id]
            sentences[at].words[index].surprisal = nats
            measured.add(at)
    return Corpus(sentences, inputs, measured, run)


def _sentences(
    connection: duckdb.DuckDBPyConnection, corpus: int | None
) -> tuple[list[Sentence], dict[int, tuple[int, int]]]:
    """The sentences, and for each word, by id, the place of its sentence and its index."""
    documents = {
        id: (name, dict(metadata or {}))
        for id, name, metadata in connection.execute(
            "select id, name, metadata from document where corpus = coalesce(?, corpus)", [corpus]
        ).fetchall()
    }
    sentences: list[Sentence] = []
    at: dict[int, int] = {}
    for id, document, name, text, metadata in connection.execute(
        "select id, document, name, text, metadata from sentence order by id"
    ).fetchall():
        if document in documents:
            at[id] = len(sentences)
            known = {key: value for key, value in (("sent_id", name), ("text", text)) if value}
            own = {**documents[document][1], **known, **dict(metadata or {})}
            own = {key: unicodedata.normalize("NFC", value) for key, value in own.items()}
            sentences.append(Sentence(name or "", str(document), [anchor()], own))
    places: dict[int, tuple[int, int]] = {}
    before: str | None = None
    for row in connection.execute(
        "select id, sentence, index, form, lemma, upos, xpos, feats, misc, space_after, surface,"
        " head_index, deprel from word order by id"
    ).fetchall():
        id, sentence, index, form, lemma, upos, xpos, feats, misc, space, surface, head, rel = row
        if sentence not in at:
            continue
        written = surface or form
        if surface is not None and surface == before and index > 1:
            written = "_"
        before = surface
        columns = {"form": form, "lemma": lemma, "upos": upos, "xpos": xpos}
        columns |= {"textform": written, "wordform": form}
        if surface is None and not space:
            columns["SpaceAfter"] = "No"
        places[id] = (at[sentence], index)
        sentences[at[sentence]].words.append(Word(_features(columns, feats, misc), head, rel))
    for sentence, head, dependent, relation in connection.execute(
        "select sentence, head_index, dependent_index, relation from enhanced_dependency"
    ).fetchall():
        if sentence in at:
            sentences[at[sentence]].enhanced.append((head, dependent, relation))
    for head, entity, kind, type in connection.execute(
        "select head_word, entity, kind, type from mention order by id"
    ).fetchall():
        if head in places:
            sentence, index = places[head]
            sentences[sentence].words[index].mentions.append(Mention(str(entity), kind, type))
    return sentences, places


def _inputs(
    connection: duckdb.DuckDBPyConnection, run: int, places: dict[int, tuple[int, int]]
) -> Iterator[Input]:
    for sequence, count in connection.execute(
        "select id, positions from sequence where run = ? order by id", [run]
    ).fetchall():
        positions = [
            (kind, [] if word is None else [places[id] for id in range(word, last + 1)])
            for kind, word, last in connection.execute(
                "select kind, word, coalesce(last_word, word) from position where sequence = ?"
                " order by position",
                [sequence],
            ).fetchall()
        ]
        rows = connection.execute(
            "select layer, head, from_position, unnest(weights) as weight,"
            " generate_subscripts(weights, 1) as at from attention where sequence = ?",
            [sequence],
        ).fetchnumpy()
        where = [rows[name] - 1 for name in ("layer", "head")]
        layers, heads = (int(numbers.max()) + 1 for numbers in where)
        weights = np.full((layers, heads, count, count), np.nan)
        weights[(*where, rows["from_position"], rows["at"] - 1)] = rows["weight"]
        assert not np.isnan(weights).any()
        yield Input(positions, weights)
