"""When corpora, models and runs of several banks or exports are the same: by digests and options.

Names do not decide, since the same model has another folder, and the same corpus another file name,
on every machine; they only choose among rows that are equal otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from attnbank.sql.bank.bank_format import columns_of_this_format
from attnbank.sql.errors import BankError, CallError
from attnbank.sql.ids import WHOLE, Shards, read_shards
from attnbank.sql.messages import escape_control

Row = dict[str, Any]
# A row of a source: the number of the source, and the row's id there.
Place = tuple[int, int]

# The tables that a Catalog is made of.
TABLES = ("corpus", "model", "run", "run_part", "preferred_run")

# The columns that must be filled for the rest to make sense; others are checked as they come.
_NEEDED = {
    "corpus": ("name", "sha256"),
    "model": ("name", "sha256"),
    "run": ("name", "model", "corpus", "started"),
}

# The columns in which two rows must agree to be the same corpus or model, in words.
_SAME = {
    "corpus": {
        "sha256": "its content (SHA-256)",
        "format": "the format that it was read as",
        "annotation": "its annotation",
        "annotator": "its annotator",
        "annotator_sha256": "the files of its annotator",
        "language": "its language",
    },
    "model": {
        "sha256": "its weights (SHA-256)",
        "tokenizer_sha256": "its tokenizer (SHA-256)",
        "random_seed": "the seed of its weights",
        "layers": "its layers",
        "heads": "its heads",
        "architecture": "its architecture",
        "max_positions": "its longest input",
        # The configuration can change these, and all attention, while the weights stay.
        "causal": "whether it is causal",
        "sinks": "whether its attention has sinks",
        "sliding_window": "its sliding window",
        "layer_numbers": "the layers that have attention",
        "step": "the step of its training",
    },
}
_NAMES = {"corpus": ("name",), "model": ("name", "revision", "tokenizer")}
_WHAT_IS_SAME = {"corpus": "content and annotation", "model": "weights and tokenizer"}
# The columns of `run` that do not shape its rows. Its heads follow from its model and its measure.
_DESCRIPTIVE = (
    "id", "name", "model", "corpus", "heads", "options", "code_version", "started", "finished",
)  # fmt: skip
# What the others are called where they are not options of an ingest.
_WORDS = {
    "reading": "way of reading words (run.reading)",
    "batching": "way of batching (run.batching)",
}


def shaping_columns() -> list[str]:
    """The columns of `run` in which two runs of one corpus and model must agree to be the same.

    An option of an ingest has the name of its field in `IngestOptions`.
    """
    return [name for name in columns_of_this_format()["run"] if name not in _DESCRIPTIVE]


def invalid_source(label: str, reason: str) -> BankError:
    """The error for a bank or an export that is not as attnbank writes it."""
    return BankError(
        f"{label} is damaged: {escape_control(reason.rstrip('.'))[:400]}.",
        "Use an undamaged copy; an export can be written again from its bank: attnbank export DIR",
    )


class Catalog:
    """The rows of the tables `corpus`, `model` and `run` of a source, by table and id.

    `label` is the path of the source as the user gave it, `shards` are the shards that each corpus
    and each run has, `preferred` the ids of the preferred runs. Raises BankError if the rows do not
    fit together.
    """

    def __init__(self, number: int, label: str, rows: Mapping[str, Sequence[Row]]) -> None:
        self.number = number
        self.label = label
        self.rows = {table: {row["id"]: row for row in rows[table]} for table in _NEEDED}
        self.preferred = [row["run"] for row in rows.get("preferred_run", ())]
        self.shards: dict[str, dict[int, Shards]] = {"corpus": {}, "run": {}}
        self.parts: dict[int, list[Row]] = {run: [] for run in self.rows["run"]}
        for part in rows["run_part"]:
            if part["run"] not in self.parts:
                raise invalid_source(label, "its table run_part has rows that belong to no run")
            self.parts[part["run"]].append(part)
        for table, needed in _NEEDED.items():
            if len(self.rows[table]) != len(rows[table]) or None in self.rows[table]:
                raise invalid_source(label, f"its table {table} has duplicate ids")
            for name in (name for row in rows[table] for name in needed if row[name] is None):
                raise invalid_source(label, f"{table}.{name} is null")
        for row in rows["run"]:
            if any(row[table] not in self.rows[table] for table in ("corpus", "model")):
                raise invalid_source(label, f"its run {row['name']} has no corpus or model")
        for table, shards in self.shards.items():
            for id, row in self.rows[table].items():
                try:
                    shards[id] = read_shards(row["shard"])
                except ValueError:
                    text = str(row["shard"])[:40]
                    fault = f"its {table} {row['name']} has an invalid shard: {text!r}"
                    raise invalid_source(label, fault) from None


@dataclass(eq=False)
class Entry:
    """A corpus, a model or a run of the sources together.

    `places` are the rows that it is made of, those of a run in the order of its shards; `first` is
    the first of them, and `row` becomes the new one. `shards` are the shards that it has,
    `duplicates` further runs that hold all of it. `differs` says how a corpus differs from an
    earlier one of its name.
    """

    first: Row
    places: list[Place]
    shards: Shards = WHOLE
    duplicates: list[Place] = field(default_factory=list)
    differs: str | None = None

    def __post_init__(self) -> None:
        self.row = dict(self.first)

    @property
    def id(self) -> int:
        """Its id in the new bank."""
        return int(self.row["id"])


@dataclass
class Matched:
    """What several sources hold together, and what is to be known of it, a sentence each.

    `preferred` are the new ids of the runs to prefer.
    """

    catalogs: Sequence[Catalog]
    corpora: list[Entry]
    models: list[Entry]
    notes: list[str]
    runs: list[Entry] = field(default_factory=list)
    preferred: list[int] = field(default_factory=list)

    def of(self, table: str) -> Sequence[Entry]:
        """The corpora, models or runs, by the name of their table."""
        return {"corpus": self.corpora, "model": self.models, "run": self.runs}[table]

    def name(self, table: str, id: int) -> str:
        """What a row of these tables is called in the new bank."""
        return str(self.of(table)[id - 1].row["name"])

    def ids(self, table: str, number: int, *, duplicates: bool = True) -> dict[int, int]:
        """The new id of each row of a source, by its id there; rows that are left out have none.

        Without `duplicates` a run that an earlier source has is left out, too.
        """
        return {
            old: entry.id
            for entry in self.of(table)
            for source, old in (*entry.places, *(entry.duplicates if duplicates else ()))
            if source == number
        }

    def whole_runs(self, number: int) -> dict[int, int]:
        """The new ids of those runs of a source that have all that the new run has."""
        return {
            old: run.id
            for run in self.runs
            for source, old in (*run.duplicates, *(run.places if len(run.places) == 1 else ()))
            if source == number
        }


def match(catalogs: Sequence[Catalog], *, partial: bool = False) -> Matched:
    """What is the same in several sources, in the order in which it comes.

    Two rows of one source stay two. With `partial`, shards may be missing. Raises CallError if a
    shard is missing, or if shards do not go together.
    """
    notes: list[str] = []
    corpora = _entries(catalogs, "corpus", notes)
    matched = Matched(catalogs, corpora, _entries(catalogs, "model", notes), notes)
    for corpus in corpora:
        corpus.row["shard"] = corpus.shards.text
        if not corpus.shards.is_whole and not partial:
            missing = corpus.shards.missing
            several = re.search("[-+]", missing)
            fact = (
                f"The shard{'s' if several else ''} {missing} of the corpus {corpus.row['name']}"
                f" {'are' if several else 'is'} in none of the banks."
            )
            named = (entry for entry in corpora if entry.first["name"] == corpus.first["name"])
            differ = [entry.differs for entry in named if entry.differs]
            raise _missing_shards("corpus", " ".join([fact, *differ[-1:]]))
    matched.runs = _RunMatcher(matched, partial).match()
    matched.preferred = _preferred(matched)
    return matched


def unique(name: str, taken: Iterable[str], sign: str = "-") -> str:
    """A name that is not taken: the name itself, or with a sign and a number."""
    used = {*taken}
    numbered = (f"{name}{sign}{number}" for number in count(2))
    return next(candidate for candidate in chain([name], numbered) if candidate not in used)


def _entries(catalogs: Sequence[Catalog], table: str, notes: list[str]) -> list[Entry]:
    """The corpora or models of all sources; among rows that are the same, names choose first."""
    entries: list[Entry] = []

    def is_same(entry: Entry, catalog: Catalog, row: Row, by_name: bool) -> bool:
        is_named = all(entry.first[column] == row[column] for column in _NAMES[table])
        is_here = any(number == catalog.number for number, _ in entry.places)
        return (is_named or not by_name) and not is_here and not _differ(table, entry.row, row)

    for catalog in catalogs:
        left = dict(catalog.rows[table])
        for by_name in (True, False):
            for id, row in [*left.items()]:
                same = (entry for entry in entries if is_same(entry, catalog, row, by_name))
                if (entry := next(same, None)) is not None:
                    if entry.first["name"] != row["name"]:
                        notes.append(
                            f"The {table} {row['name']} of {catalog.label} is"
                            f" {entry.row['name']}: the same {_WHAT_IS_SAME[table]}."
                        )
                    if table == "corpus":
                        _add_shards(entry, catalog, id, catalogs)
                    entry.places.append((catalog.number, id))
                    del left[id]
                elif not by_name:
                    entries.append(Entry(row, [(catalog.number, id)]))
                    entries[-1].row["id"] = len(entries)
                    if table == "corpus":
                        _name_corpus(entries, catalog, notes)
    return entries


def _name_corpus(corpora: Sequence[Entry], catalog: Catalog, notes: list[str]) -> None:
    """Give the last corpus a name of its own, and its shards."""
    *others, new = corpora
    name = new.row["name"]
    new.shards = catalog.shards["corpus"][new.first["id"]]
    new.row["name"] = unique(name, [entry.row["name"] for entry in others])
    other = next((entry for entry in others if entry.first["name"] == name), None)
    if other is not None:
        what = ", ".join(_differ("corpus", other.row, new.first))
        verb = "differ" if "," in what else "differs"
        new.differs = f"{catalog.label} has another corpus called {name}: {what} {verb}."
        notes.append(f"{new.differs} It is called {new.row['name']} here.")


def _differ(table: str, first: Row, second: Row) -> list[str]:
    """What tells two corpora or two models apart, in words."""
    differences = [
        words
        for column, words in _SAME[table].items()
        if first[column] != second[column]
        and not (column == "language" and None in (first[column], second[column]))
    ]
    # Of a tokenizer that has no digest only the names tell.
    if not differences and table == "model" and first["tokenizer_sha256"] is None:
        differences = [f"its {name}" for name in _NAMES[table] if first[name] != second[name]]
    return differences


def _add_shards(corpus: Entry, catalog: Catalog, id: int, catalogs: Sequence[Catalog]) -> None:
    shards, row = catalog.shards["corpus"][id], corpus.row
    if not shards.is_whole and not corpus.shards.is_whole and shards.count != corpus.shards.count:
        raise CallError(
            f"The shards of {row['name']} do not match: {catalogs[corpus.places[0][0]].label}"
            f" has {corpus.shards.text}, and {catalog.label} {shards.text}.",
            "Name shards of the same division.",
        )
    corpus.shards = corpus.shards.with_(shards)
    row["language"] = row["language"] or catalog.rows["corpus"][id]["language"]


def _missing_shards(what: str, fact: str) -> CallError:
    remedy = f"Name its bank too, or give --partial: the {what} then says which shards it has."
    return CallError(fact, remedy)


@dataclass(eq=False)
class _SourceRun:
    """A run of a source; `key` and `of_shards` are what tells it from others, by words.

    Runs of one bank differ in `key`; shards of one run must share `of_shards` besides.
    """

    catalog: Catalog
    row: Row
    corpus: Entry
    model: Entry

    def __post_init__(self) -> None:
        parts = self.catalog.parts[self.row["id"]]
        libraries = (parts[0]["libraries"] or {}) if parts else {}
        self.place: Place = (self.catalog.number, self.row["id"])
        self.shards = self.catalog.shards["run"][self.row["id"]]
        self.is_finished = self.row["finished"] is not None
        # Finished ones are taken first, then whole ones, then those of most shards.
        self.order = (not self.is_finished, not self.shards.is_whole, -len(self.shards.numbers))
        self.label = f"The run {self.row['name']} of {self.catalog.label}"
        self.plain = _name_with_shards(self.row["name"], self.shards)
        self.key = {
            _WORDS.get(name, f"--{name.replace('_', '-')}"): self.row[name]
            for name in shaping_columns()
            if name != "shard"
        }
        self.of_shards = {"version of attnbank": self.row["code_version"]}
        for name in ("transformers", "tokenizers"):
            self.of_shards[f"version of {name}"] = libraries.get(name)
        self.of_shards["--strict"] = (self.row["options"] or {}).get("strict")


@dataclass
class _RunMatcher:
    """Puts together the runs that are the same, or shards of the same one."""

    matched: Matched
    partial: bool

    def __post_init__(self) -> None:
        self.notes = self.matched.notes
        corpora, models = (
            {place: entry for entry in entries for place in entry.places}
            for entries in (self.matched.corpora, self.matched.models)
        )
        self.runs = [
            _SourceRun(catalog, row, corpora[number, row["corpus"]], models[number, row["model"]])
            for number, catalog in enumerate(self.matched.catalogs)
            for row in catalog.rows["run"].values()
        ]

    def match(self) -> list[Entry]:
        groups: dict[tuple[Any, ...], list[_SourceRun]] = {}
        for run in self.runs:
            key = (run.corpus.id, run.model.id, *run.key.values())
            groups.setdefault(key, []).append(run)
        parts = [part for group in groups.values() for part in _rounds(group)]
        entries = [entry for entry in map(self._joined, parts) if entry is not None]
        entries.sort(key=lambda entry: entry.places[0])
        for number, entry in enumerate(entries, start=1):
            names = [other.row["name"] for other in entries[: number - 1]]
            entry.row |= {"id": number, "name": self._name(entry, names)}
        return entries

    def _joined(self, group: list[_SourceRun]) -> Entry | None:
        """The run that these are, or are parts of; None if none of them is taken."""
        corpus, model = group[0].corpus, group[0].model
        left_out = [run for run in group if not run.is_finished]
        if left_out == group and (whole := [run for run in group if run.shards.is_whole]):
            self.notes.append(f"{whole[0].label} is unfinished and stays so.")
            left_out.remove(whole[0])
        chosen: list[_SourceRun] = []
        same: list[_SourceRun] = []
        has = Shards(frozenset(), 0)
        for run in sorted((run for run in group if run not in left_out), key=lambda run: run.order):
            met = next((other for other in chosen if other.shards.meets(run.shards)), None)
            if met is None:
                chosen.append(run)
                has = has.with_(run.shards)
                continue
            if not has.has(run.shards):
                raise CallError(
                    f"{run.label} and that of {met.catalog.label} overlap in part:"
                    f" {run.shards.text} and {met.shards.text}.",
                    "Name the banks of the individual shards.",
                )
            same.append(run)
            if run.row["finished"] != met.row["finished"]:
                self.notes.append(
                    f"The run {run.row['name']} is in {met.catalog.label} and in"
                    f" {run.catalog.label}, made at different times: the first is kept."
                )
        if not self.partial and not has.has(corpus.shards):
            raise self._incomplete(group, has)
        self.notes += [f"{run.label} is unfinished and was not copied." for run in left_out]
        if not chosen:
            return None
        chosen.sort(key=lambda run: min(run.shards.numbers))
        duplicates = [run.place for run in same if run.shards.text == has.text]
        entry = Entry(chosen[0].row, [run.place for run in chosen], has, duplicates)
        entry.row |= {"corpus": corpus.id, "model": model.id}
        if len(chosen) > 1:
            entry.row |= self._columns_of_parts(chosen, has)
        return entry

    def _incomplete(self, group: list[_SourceRun], has: Shards) -> CallError:
        first = group[0]
        missing = has.missing if has.numbers else first.shards.text
        why = ""
        for other in self.runs:
            if why or other.corpus is not first.corpus or has.has(other.shards):
                continue
            if other in group:
                why = f": in {other.catalog.label} it is unfinished"
            elif what := _differences(first, other):
                why = f": {other.catalog.label} has {other.shards.text or 'it'} with another {what}"
        fact = f"The run {first.plain} lacks the shard {missing}{why}."
        return _missing_shards("run", fact)

    def _columns_of_parts(self, chosen: list[_SourceRun], has: Shards) -> Row:
        """What of the row of a run of several parts is not that of the first one."""
        parts = [part for run in chosen for part in run.catalog.parts[run.row["id"]]]
        differ = {
            "device": [part["device"] for part in parts],
            "--batch-tokens": [part["batch_tokens"] for part in parts],
            "torch": [(part["libraries"] or {}).get("torch") for part in parts],
        }
        differing = [
            f"{name} {' and '.join(map(str, dict.fromkeys(values)))}"
            for name, values in differ.items()
            if len({*values}) > 1
        ]
        if differing:
            self.notes.append(
                f"The shards of {chosen[0].plain} differ only in rounding: {', '.join(differing)}."
            )
        finished = [run.row["finished"] for run in chosen]
        return {
            "shard": has.text,
            "started": min(run.row["started"] for run in chosen),
            "finished": None if None in finished else max(finished),
        }

    def _name(self, run: Entry, names: list[str]) -> str:
        row, catalog = run.first, self.matched.catalogs[run.places[0][0]]
        shards = catalog.shards["run"][row["id"]]
        name = _name_with_shards(row["name"], shards, run.shards)
        before = f"{catalog.rows['corpus'][row['corpus']]['name']}/"
        if name.startswith(before):
            corpus = self.matched.name("corpus", run.row["corpus"])
            name = f"{corpus}/{name.removeprefix(before)}"
        name_in_bank = unique(name, names)
        if name_in_bank != row["name"] and run.shards == shards:
            self.notes.append(
                f"The run {row['name']} of {catalog.label} is called {name_in_bank} here."
            )
        return name_in_bank


def _rounds(group: list[_SourceRun]) -> list[list[_SourceRun]]:
    """The runs of the same options that go together: all if one is whole, else by versions.

    Several of one source, made before and after something changed, stay several.
    """
    rounds: list[list[_SourceRun]] = []
    for run in sorted(group, key=lambda run: not run.shards.is_whole):
        for members in rounds:
            is_here = any(other.catalog is run.catalog for other in members)
            whole = any(other.shards.is_whole for other in (*members, run))
            if not is_here and (whole or members[0].of_shards == run.of_shards):
                members.append(run)
                break
        else:
            rounds.append([run])
    return rounds


def _differences(first: _SourceRun, other: _SourceRun) -> str:
    differences = []
    if first.model is not other.model:
        own, its = (run.catalog.rows["model"][run.row["model"]] for run in (first, other))
        what = " and ".join(_differ("model", own, its))
        named = f" ({its['name']}, not {own['name']})" if own["name"] != its["name"] else ""
        differences.append(f"model{named}{f', by {what}' if what else ''}")
    theirs = other.key | other.of_shards
    differences += [
        f"{words} ({_value_text(theirs[words])}, not {_value_text(value)})"
        for words, value in (first.key | first.of_shards).items()
        if theirs[words] != value
    ]
    return ", ".join(differences)


def _value_text(value: object) -> str:
    if value is None or value is False:
        return "none"
    return "true" if value is True else str(value)


def _preferred(matched: Matched) -> list[int]:
    """Of each context and unit the run that the first source prefers."""
    entries: dict[tuple[str, str], Entry] = {}
    for catalog in matched.catalogs:
        ids = matched.ids("run", catalog.number)
        for old in (old for old in catalog.preferred if old in ids):
            own = matched.runs[ids[old] - 1]
            first = entries.setdefault((own.row["context"], own.row["unit"]), own)
            if first is not own:
                matched.notes.append(
                    f"{catalog.label} prefers the run {catalog.rows['run'][old]['name']}, an"
                    f" earlier bank {first.row['name']}, which stays the default (change it:"
                    " attnbank use)."
                )
    return [run.id for run in entries.values()]


def _name_with_shards(name: str, shards: Shards, has: Shards = WHOLE) -> str:
    """The name of a run with other shards in it than its own: none, if it has all of them."""
    if shards.label is None or shards == has:
        return name
    own = re.compile(f"{re.escape(shards.label)}(-[0-9]+)?")
    parts = (has.label or "" if own.fullmatch(part) else part for part in name.split("/"))
    return "/".join(filter(None, parts))
