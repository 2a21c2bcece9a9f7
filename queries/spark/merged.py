"""Several exports read as one: their tables, with ids that fit together.

Documents are in the order of their corpus and of their place in it (`document.index`), and so are
the sentences, words and mentions in them: with all shards of a corpus the ids are those that one
bank of the whole corpus has. Sequences are in the order of the shards, since each shard makes
batches of its own. In the big tables a number is added to an id and nothing else is done; only the
tables of text, and `position`, are joined with something: a few dozen bytes for each document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from attnbank.queries.spark.frames import case, expr, extent, moved, together, with_ids
from attnbank.queries.spark.joining import Held, RunPart, join
from attnbank.queries.spark.placing import COLUMNS, Extent, placed
from attnbank.queries.spark.tables import Export, rows_of, types_of
from attnbank.sql.bank.formats import columns_of_this_format
from attnbank.sql.errors import CallError
from attnbank.sql.outputs.tables import is_by_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BIG = ("attention", "attention_map", "gradient", "peak")
"""The tables with rows of every head: they are never copied."""
_PROBES = 1_000_000
"""How far apart the ids of the probes of two exports are."""


class Merged:
    """The tables of several exports as those of one."""

    def __init__(self, exports: Sequence[Export]) -> None:
        """Raises CallError if the exports hold what cannot be one (see `joining`)."""
        self.session = exports[0].session
        self.folder = ", ".join(each.folder for each in exports)
        self._exports = exports
        self._joined = join([_held(each) for each in exports])
        self._parts: dict[str, Callable[[int], DataFrame]] = {
            "document": self._documents,
            "sentence": self._sentences,
            "word": self._words,
            "mention": self._mentions,
            "departure": self._departures,
            "skipped": self._skipped,
            "sequence": self._sequences,
            "position": self._positions,
            "saved_pair": self._saved_pairs,
            "probe": self._probes,
        }

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with the columns that a bank has. Raises as `Export.table`."""
        rows = self._few(name)
        if rows is not None:
            return rows_of(self.session, name, rows)
        parts = [self._part(name, export) for export in range(len(self._exports))]
        found = reduce(lambda one, other: one.unionByName(other), parts)
        if name == "saved_pair":
            found = found.distinct()
        elif name == "ablation":
            found = self._mean_losses(found)
        elif name == "head_distance":
            found = self._sums_of_distances(found)
        types = types_of(name)
        found = found.select(*(found[each].cast(type_) for each, type_ in types.items()))
        # What is joined is done once; the big tables are read where they are.
        return found if name in _BIG else found.localCheckpoint()

    def _few(self, name: str) -> Sequence[Mapping[str, Any]] | None:
        """The rows of a table that never has many; None for any other table."""
        if name == "corpus":
            return self._joined.corpora
        if name == "model":
            return self._joined.models
        if name == "run":
            return [row | {"first_sequence": self._first[row["id"]]} for row in self._joined.runs]
        if name == "preferred_run":
            ids = {(each.export, each.id): each.joined for each in self._joined.parts}
            chosen = [
                [ids[place, row["run"]] for row in rows if (place, row["run"]) in ids]
                for place, rows in enumerate(self._every(name))
            ]
            first = next((each for each in chosen if each), [])
            return [{"run": each} for each in dict.fromkeys(first)]
        if name == "saved_relation":
            return self._saved_relations()
        if name in ("bank", "used_id"):
            return self._every(name)[0]
        return None

    def _every(self, name: str) -> list[list[dict[str, Any]]]:
        return [[row.asDict() for row in each.table(name).collect()] for each in self._exports]

    def _saved_relations(self) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for row in (row for rows in self._every("saved_relation") for row in rows):
            other = found.setdefault(row["name"], row)
            if any(row[each] != other[each] for each in ("request", "from_node", "to_node")):
                raise CallError(
                    f"The exports have two saved relations {row['name']}, of other requests.",
                    "Ask them one by one.",
                )
        return [*found.values()]

    def _part(self, name: str, export: int) -> DataFrame:
        """The rows that one export has in a table, with new ids."""
        if name in self._parts:
            return self._parts[name](export)
        if is_by_run(columns_of_this_format()[name]):
            return self._of_runs(name, export)
        rows = self._exports[export].table(name)
        columns = columns_of_this_format()[name]
        if "probe" in columns:
            probes = self._probes(export).selectExpr(f"id - {export * _PROBES} as probe")
            rows = rows.join(probes, "probe", "left_semi")
            return rows.withColumn("probe", rows["probe"] + export * _PROBES)
        if "run" in columns:
            # What was computed of a shard is not that of the run, except for sums.
            is_sum = name in ("ablation", "head_distance")
            parts = [each for each in self._runs(export) if each.is_whole or is_sum]
            return with_ids(rows, "run", {each.id: each.joined for each in parts})
        return rows if export == self._frequencies else rows.limit(0)

    @cached_property
    def _frequencies(self) -> int:
        """The first export that has frequencies of words, which belong to no corpus or run."""
        found = [bool(each.table("word_frequency").take(1)) for each in self._exports]
        return found.index(True) if any(found) else 0

    def _runs(self, export: int) -> list[RunPart]:
        return [each for each in self._joined.parts if each.export == export]

    # The text: from the export that is named first, where several have it.

    def _text(self, name: str, export: int) -> DataFrame:
        """The rows of a table of text with the corpus of each, and where its document goes."""
        return self._exports[export].table(name).join(self._owned(export), "document")

    def _owned(self, export: int) -> DataFrame:
        return self._placed(export).where("is_read").drop("is_read")

    def _documents(self, export: int) -> DataFrame:
        rows = self._exports[export].table("document").withColumnRenamed("id", "document")
        rows = with_ids(rows, "corpus", self._joined.corpus_ids[export])
        return moved(rows.join(self._owned(export), "document"), {"id": "new_document"})

    def _sentences(self, export: int) -> DataFrame:
        return moved(
            self._text("sentence", export),
            {"id": "id + sentence_shift", "document": "new_document"},
        )

    def _words(self, export: int) -> DataFrame:
        rows = self._exports[export].table("word").join(self._by_sentence(export), "sentence")
        return moved(
            rows.where("is_read"),
            {"id": "id + word_shift", "sentence": "sentence + sentence_shift"},
        )

    def _mentions(self, export: int) -> DataFrame:
        words = {f"{each}_word": f"{each}_word + word_shift" for each in ("first", "last", "head")}
        return moved(
            self._text("mention", export),
            {"id": "id + mention_shift", "document": "new_document"}
            | {"entity": "entity + entity_shift"}
            | words,
        )

    def _departures(self, export: int) -> DataFrame:
        rows = self._exports[export].table("departure")
        rows = with_ids(rows, "corpus", self._read_corpora(export))
        return self._with_sentences(rows, export)

    def _skipped(self, export: int) -> DataFrame:
        """What a run left out, and, once, what could not be read, which no run has."""
        rows = self._exports[export].table("skipped")
        unread = with_ids(rows.where("run is null"), "corpus", self._read_corpora(export))
        runs = {each.id: each.joined for each in self._runs(export)}
        left = with_ids(rows, "corpus", self._joined.corpus_ids[export])
        left = left.withColumn("batch", expr(f"batch + {self._by_run(export, 'batch')}"))
        return self._with_sentences(unread.unionByName(with_ids(left, "run", runs)), export)

    def _saved_pairs(self, export: int) -> DataFrame:
        words = self._exports[export].table("word").selectExpr("id as word", "sentence")
        words = words.join(self._by_sentence(export), "sentence")
        rows = self._exports[export].table("saved_pair").join(words, "word")
        return moved(rows, {"word": "word + word_shift", "head_word": "head_word + word_shift"})

    def _with_sentences(self, rows: DataFrame, export: int) -> DataFrame:
        """Rows with new ids in the column `sentence`, which may be null."""
        found = rows.join(self._by_sentence(export), "sentence", "left")
        return moved(found, {"sentence": "sentence + sentence_shift"})

    def _by_sentence(self, export: int) -> DataFrame:
        """Where each sentence goes, by its old id."""
        rows = self._exports[export].table("sentence").selectExpr("id as sentence", "document")
        return rows.join(self._placed(export), "document")

    def _read_corpora(self, export: int) -> dict[int, int]:
        """The corpora whose text is read from an export: the new id by the old one."""
        ids = self._joined.corpus_ids[export]
        return {old: new for old, new in ids.items() if (export, old) in self._joined.texts}

    # The runs: a number is added to the ids of the sequences of each.

    def _sequences(self, export: int) -> DataFrame:
        runs = self._runs(export)
        rows = self._exports[export].table("sequence")
        rows = rows.join(self._placed(export), "document")
        columns = {
            "id": f"id + {self._by_run(export, 'sequence')}",
            "batch": f"batch + {self._by_run(export, 'batch')}",
            "document": "new_document",
            "sentence": "sentence + sentence_shift",
        }
        return with_ids(moved(rows, columns), "run", {each.id: each.joined for each in runs})

    def _positions(self, export: int) -> DataFrame:
        documents = self._exports[export].table("sequence").selectExpr("id as sequence", "document")
        documents = documents.join(self._placed(export), "document")
        words = {"word": "word + word_shift", "last_word": "last_word + word_shift"}
        parts = [
            moved(
                self._exports[export].of_runs("position", [each.id]).join(documents, "sequence"),
                {"sequence": f"sequence + {self._shifts[export, each.id]['sequence']}"} | words,
            )
            for each in self._runs(export)
        ]
        return together(parts, rows_of(self.session, "position", []))

    def _of_runs(self, name: str, export: int) -> DataFrame:
        parts = [
            moved(
                self._exports[export].of_runs(name, [each.id]),
                {"sequence": f"sequence + {self._shifts[export, each.id]['sequence']}"},
            )
            for each in self._runs(export)
        ]
        return together(parts, rows_of(self.session, name, []))

    def _by_run(self, export: int, kind: str) -> str:
        """The SQL of the number that is added to ids of a kind, by the old column `run`."""
        cases = {each.id: self._shifts[export, each.id][kind] for each in self._runs(export)}
        return case("run", cases) if cases else "0"

    @cached_property
    def _shifts(self) -> dict[tuple[int, int], dict[str, int]]:
        """What is added to ids of sequences and to numbers of batches, by export and old run."""
        rows = self._beside("sequence", "run", "id").groupBy("export", "run")
        last = {
            (row["export"], row["run"]): row["last"]
            for row in rows.agg(expr("max(id) as last")).collect()
        }
        found = {}
        sequence = 1
        batches: dict[int, int] = {}
        for part in sorted(self._joined.parts, key=lambda each: each.joined):
            done = batches.get(part.joined, 0)
            found[part.export, part.id] = {
                "sequence": sequence - part.first_sequence,
                "batch": done,
            }
            batches[part.joined] = done + part.batches
            end = last.get((part.export, part.id), part.first_sequence - 1)
            sequence += end - part.first_sequence + 1
        return found

    @cached_property
    def _first(self) -> dict[int, int]:
        """The first sequence of each run of all exports."""
        found: dict[int, int] = {}
        for part in self._joined.parts:
            shift = self._shifts[part.export, part.id]["sequence"]
            found.setdefault(part.joined, part.first_sequence + shift)
        return found

    # What was computed.

    def _probes(self, export: int) -> DataFrame:
        runs = {each.id: each.joined for each in self._runs(export) if each.is_whole}
        ids = ", ".join(map(str, runs)) or "null"
        rows = self._exports[export].table("probe").where(f"test_run in ({ids})")
        rows = rows.where(f"train_run is null or train_run in ({ids})")
        if not runs:
            return rows
        return moved(
            rows,
            {"id": f"id + {export * _PROBES}"}
            | {each: case(each, runs) for each in ("train_run", "test_run")},
        )

    def _mean_losses(self, rows: DataFrame) -> DataFrame:
        """The losses of whole runs: the mean over the masked tokens of all shards."""
        keys = ["run", "disabled", "layer", "head", "replacement"]
        return self._grouped(
            rows, keys, "sum(loss * tokens) / sum(tokens) as loss", "sum(tokens) as tokens"
        )

    def _sums_of_distances(self, rows: DataFrame) -> DataFrame:
        """The distances in whole runs: sums over the tokens of all shards."""
        keys = ["run", "smoothing", "layer_a", "head_a", "layer_b", "head_b"]
        return self._grouped(
            rows, keys, "sum(js_divergence) as js_divergence", "sum(n_tokens) as n_tokens"
        )

    def _grouped(self, rows: DataFrame, keys: list[str], *sums: str) -> DataFrame:
        """Sums over the shards of each run, where every shard has its part."""
        counts: dict[int, int] = {}
        for part in self._joined.parts:
            counts[part.joined] = counts.get(part.joined, 0) + 1
        if not counts:
            return rows
        grouped = rows.groupBy(*keys).agg(*map(expr, sums), expr("count(*) as parts"))
        return grouped.where(f"parts = {case('run', counts)}")

    # Where documents go.

    def _placed(self, export: int) -> DataFrame:
        from pyspark.sql.functions import broadcast

        return broadcast(self._places[export])

    @cached_property
    def _places(self) -> list[DataFrame]:
        """For each export where its documents go: what `placing.placed` says, as tables."""
        extents: list[list[Extent]] = [[] for _ in self._exports]
        for row in self._extents().collect():
            export, corpus = row["export"], row["corpus"]
            joined = self._joined.corpus_ids[export].get(corpus)
            if joined is not None:
                is_read = (export, corpus) in self._joined.texts
                extents[export].append(Extent.of(row.asDict(), joined, is_read))
        shape = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
        folders = [each.folder for each in self._exports]
        return [
            self.session.createDataFrame(rows, shape)
            for rows in placed(extents, self._joined.corpora, folders)
        ]

    def _extents(self) -> DataFrame:
        """What each document of each export holds, and with which ids: the columns of Extent."""
        in_document = ["export", "document"]
        sentences = self._beside("sentence", "id as sentence", "document")
        in_sentence = self._beside("word", "id", "sentence").groupBy("export", "sentence")
        words = in_sentence.agg(*extent("id", "word")).join(sentences, ["export", "sentence"])
        ends = [expr("min(word_first) as word_first"), expr("max(word_last) as word_last")]
        mentions = self._beside("mention", "id", "entity", "document").groupBy(*in_document)
        found = self._beside("document", "id as document", "corpus", "index")
        for each in (
            sentences.groupBy(*in_document).agg(*extent("sentence", "sentence")),
            words.groupBy(*in_document).agg(*ends),
            mentions.agg(*extent("id", "mention"), *extent("entity", "entity")),
        ):
            found = found.join(each, in_document, "left")
        return found

    def _beside(self, name: str, *columns: str) -> DataFrame:
        """Some columns of a table, with the old ids, of all exports; `export` says of which."""
        parts = [
            each.table(name).selectExpr(f"{place} as export", *columns)
            for place, each in enumerate(self._exports)
        ]
        return reduce(lambda one, other: one.unionByName(other), parts)


def _held(export: Export) -> Held:
    corpora, models, runs = (
        [row.asDict() for row in export.table(name).orderBy("id").collect()]
        for name in ("corpus", "model", "run")
    )
    return Held(export.folder, corpora, models, runs)
