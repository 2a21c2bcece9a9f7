"""Which runs of several banks are the same run, and which are shards of one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnbank.ingest.meeting.held import Held, Row
from attnbank.ingest.meeting.same import Corpus, Model, Place, unique
from attnbank.sql.bank.shards import Parts
from attnbank.sql.errors import CallError

_COLUMNS = {
    "context": "--context",
    "unit": "--unit",
    "subword": "--subword",
    "multiword": "--multiword",
    "max_tokens": "--max-tokens",
    "decimals": "--decimals",
    "keep": "--keep",
    "reading": "way of reading words (run.reading)",
}
_OPTIONS = {
    "truncate": "--truncate",
    "limit": "--limit",
    "seed": "--seed",
    "gradients": "--gradients",
    "ablate": "--ablate",
    "replacement": "--replacement",
    "mask_seed": "--mask-seed",
}
_VERSIONS = ("transformers", "tokenizers")
_REMEDY = "Name its bank too, or give --partial: what is made then says which shards it has."


@dataclass(frozen=True)
class Part:
    """A run of a source, as it goes into the new bank.

    `sequence_shift` and `batch_shift` are added to the ids of its inputs and to their batches.
    """

    place: Place
    sequence_shift: int
    batch_shift: int


@dataclass
class Run:
    """A run of the new bank: the runs of the sources that it is made of, in order.

    `alike` are further runs of sources that hold the same documents; `has` are the shards of its
    corpus that it has. `values` are the columns that differ from the row of its first part.
    """

    id: int
    corpus: Corpus
    model: Model
    places: list[Place]
    alike: list[Place]
    has: Parts
    values: dict[str, Any] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)

    @property
    def is_joined(self) -> bool:
        """Whether it is made of several."""
        return len(self.places) > 1


@dataclass
class _Candidate:
    """A run of a source, with all that tells it from others."""

    place: Place
    held: Held
    row: Row
    parts: Parts
    corpus: Corpus
    model: Model
    key: dict[str, Any]  # what it differs in, in words, and the value
    of_shards: dict[str, Any]  # what shards of one run must share besides

    @property
    def is_finished(self) -> bool:
        return self.row["finished"] is not None

    @property
    def is_in(self) -> str:
        return self.held.source.shown


def runs(
    sources: Sequence[Held],
    corpora: Sequence[Corpus],
    models: Sequence[Model],
    notes: list[str],
    *,
    partial: bool,
) -> list[Run]:
    """The runs of the new bank, in the order in which they come.

    The same run in two sources is kept once, and the shards of a run become the run. What is left
    out, and what is kept apart, is noted. Raises CallError if a run lacks a shard, unless
    `partial`.
    """
    every = _candidates(sources, corpora, models)
    groups: list[list[_Candidate]] = []
    for each in every:
        group = next((it for it in groups if _is_same(it[0], each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    made: list[Run] = []
    for group in groups:
        for chosen in _divided(group):
            found = _made(chosen, every, notes, partial=partial)
            if found is not None:
                made.append(found)
    made.sort(key=lambda run: run.places[0])
    names: list[str] = []
    for number, run in enumerate(made, start=1):
        run.id = number
        _name(run, sources, names, notes)
    return made


def _candidates(
    sources: Sequence[Held], corpora: Sequence[Corpus], models: Sequence[Model]
) -> list[_Candidate]:
    found = []
    for held in sources:
        number = held.source.number
        for id, row in held.runs.items():
            corpus = next(each for each in corpora if (number, row["corpus"]) in each.rows)
            model = next(each for each in models if (number, row["model"]) in each.rows)
            options: Mapping[str, str] = row["options"] or {}
            libraries: Mapping[str, str] = row["libraries"] or {}
            key = {told: row[column] for column, told in _COLUMNS.items()}
            key |= {told: options.get(name) for name, told in _OPTIONS.items()}
            of_shards = {"version of attnbank": row["code_version"]}
            of_shards |= {f"version of {name}": libraries.get(name) for name in _VERSIONS}
            of_shards["--strict"] = options.get("strict")
            parts = held.parts_of_runs[id]
            found.append(_Candidate((number, id), held, row, parts, corpus, model, key, of_shards))
    return found


def _is_same(first: _Candidate, second: _Candidate) -> bool:
    """Whether they are one run, or shards of one, by their options; of one source none are."""
    return first.corpus is second.corpus and first.model is second.model and first.key == second.key


def _divided(group: list[_Candidate]) -> list[list[_Candidate]]:
    """The runs of the same options that go together: all if one is whole, else by versions.

    Several of one source, made before and after something changed, stay several.
    """
    rounds: list[list[_Candidate]] = []
    for each in sorted(group, key=lambda it: not it.parts.is_whole):
        for found in rounds:
            is_here = any(other.held is each.held for other in found)
            whole = any(other.parts.is_whole for other in (*found, each))
            if not is_here and (whole or found[0].of_shards == each.of_shards):
                found.append(each)
                break
        else:
            rounds.append([each])
    return rounds


def _made(
    group: list[_Candidate], every: list[_Candidate], notes: list[str], *, partial: bool
) -> Run | None:
    """The run that a group of runs becomes; None if none of them can be taken."""
    finished = [each for each in group if each.is_finished]
    unfinished = [each for each in group if not each.is_finished]
    if not finished:
        whole = next((each for each in unfinished if each.parts.is_whole), None)
        if whole is not None:
            notes.append(
                f"The run {whole.row['name']} of {whole.is_in} is not finished: it is kept so."
            )
            _note_left_out([each for each in unfinished if each is not whole], notes)
            return Run(0, whole.corpus, whole.model, [whole.place], [], whole.parts)
    chosen: list[_Candidate] = []
    alike: list[_Candidate] = []
    has: Parts | None = None
    for each in sorted(finished, key=lambda it: (not it.parts.is_whole, -len(it.parts.numbers))):
        if has is None or not has.meets(each.parts):
            has = each.parts if has is None else has.with_(each.parts)
            chosen.append(each)
        elif has.has(each.parts):
            alike.append(each)
        else:
            first = next(other for other in chosen if other.parts.meets(each.parts))
            raise CallError(
                f"The run {each.row['name']} of {each.is_in} and that of {first.is_in} have some"
                f" shards in common, and others not: {each.parts.text} and {first.parts.text}.",
                "Merge the banks of the single shards.",
            )
    if not partial and (has is None or not has.is_whole):
        raise _incomplete(group, has, every)
    if has is None:
        _note_left_out(unfinished, notes)
        return None
    _note_left_out(unfinished, notes)
    for each in alike:
        twin = next((it for it in chosen if it.parts.meets(each.parts)), chosen[0])
        if each.row["finished"] != twin.row["finished"]:
            notes.append(
                f"The run {each.row['name']} is in {twin.is_in} and in {each.is_in}, made at"
                " different times: the first is kept."
            )
    chosen.sort(key=lambda it: min(it.parts.numbers))
    same = [
        each.place for each in alike if each.parts == has or (each.parts.is_whole and has.is_whole)
    ]
    return Run(
        0, chosen[0].corpus, chosen[0].model, [each.place for each in chosen], same, has,
        _values(chosen, has, notes),
    )  # fmt: skip


def _note_left_out(unfinished: list[_Candidate], notes: list[str]) -> None:
    for each in unfinished:
        notes.append(f"The run {each.row['name']} of {each.is_in} is not finished: it is left out.")


def _incomplete(group: list[_Candidate], has: Parts | None, every: list[_Candidate]) -> CallError:
    """The error for a run that lacks a shard: which one, and who has it otherwise."""
    first = group[0]
    name = _plain(first.row["name"], first.parts)
    missing = first.parts.text if has is None else has.missing
    for other in every:
        if other.corpus is not first.corpus or (has is not None and has.has(other.parts)):
            continue
        if other in group:
            reason = f"in {other.is_in} it is not finished"
        else:
            what = _differences(first, other)
            if not what:
                continue
            reason = f"{other.is_in} has {other.parts.text or 'it'} with another {what}"
        return CallError(f"The run {name} lacks the shard {missing}: {reason}.", _REMEDY)
    return CallError(f"The run {name} lacks the shard {missing}.", _REMEDY)


def _differences(first: _Candidate, other: _Candidate) -> str:
    """How the options of another run of the corpus differ, in words."""
    found = []
    if first.model is not other.model:
        own, its = (each.held.models[each.row["model"]] for each in (first, other))
        found.append(
            f"model ({its['name']}, not {own['name']})"
            if own["name"] != its["name"]
            else "model: its digests (SHA-256) differ"
        )
    for own_values, its_values in ((first.key, other.key), (first.of_shards, other.of_shards)):
        found += [
            f"{told} ({its_values[told] or 'none'}, not {value or 'none'})"
            for told, value in own_values.items()
            if its_values[told] != value
        ]
    return ", ".join(found)


def _values(chosen: list[_Candidate], has: Parts, notes: list[str]) -> dict[str, Any]:
    """The columns of the run that some runs become; nothing for one that stays as it is."""
    if len(chosen) == 1:
        return {}
    rows = [each.row for each in chosen]
    options = {name: text for name, text in (rows[0]["options"] or {}).items() if name != "shard"}
    if has.text is not None:
        options["shard"] = has.text
    words = [row["unknown_words"] for row in rows]
    libraries = {
        name: ", ".join(_once(row["libraries"].get(name, "none") for row in rows))
        for name in dict.fromkeys(name for row in rows for name in row["libraries"])
    }
    differ = {
        "device": _once(row["device"] for row in rows),
        "--batch-tokens": _once(str(row["batch_tokens"]) for row in rows),
        "torch": _once(row["libraries"].get("torch", "none") for row in rows),
    }
    told = [f"{name} {' and '.join(each)}" for name, each in differ.items() if len(each) > 1]
    if told:
        name = _plain(rows[0]["name"], chosen[0].parts)
        notes.append(f"The shards of {name} differ in rounding alone: {', '.join(told)}.")
    return {
        "options": options,
        "device": " + ".join(differ["device"]),
        "batch_tokens": max(row["batch_tokens"] for row in rows),
        "libraries": libraries,
        "batches": sum(row["batches"] for row in rows),
        "started": min(row["started"] for row in rows),
        "finished": max(row["finished"] for row in rows),
        "unknown_words": None if None in words else sum(words),
    }


def _once(texts: Any) -> list[str]:
    return [*dict.fromkeys(texts)]


def _name(run: Run, sources: Sequence[Held], names: list[str], notes: list[str]) -> None:
    """Name a run as its first part is named, with what it has of the corpus."""
    number, id = run.places[0]
    held = sources[number]
    row, parts = held.runs[id], held.parts_of_runs[id]
    name = row["name"]
    if run.has != parts:
        name = _plain(name, parts, run.has)
    before = f"{held.corpora[row['corpus']]['name']}/"
    if name.startswith(before):
        name = f"{run.corpus.name}/{name.removeprefix(before)}"
    found = unique(name, names)
    if found != row["name"] and run.has == parts:
        notes.append(f"The run {row['name']} of {held.source.shown} is called {found} here.")
    run.values["name"] = found
    names.append(found)


def _plain(name: str, parts: Parts, has: Parts | None = None) -> str:
    """The name of a run with other shards in it than its own: none, if it has all of them."""
    if parts.text is None:
        return name
    own = re.compile(f"shard{re.escape(parts.text.replace('/', 'of'))}(-[0-9]+)?")
    now = "" if has is None or has.text is None else f"shard{has.text.replace('/', 'of')}"
    kept = [now if own.fullmatch(each) else each for each in name.split("/")]
    return "/".join(each for each in kept if each)


def number_inputs(
    made: Sequence[Run], sources: Sequence[Held], sentences: Mapping[int, int]
) -> int:
    """Give the inputs of every run their ids, as ingest would; the last id that is in use.

    `sentences` counts those of each corpus, by its id: a run has no more inputs than that. The
    inputs of shards follow each other, shard by shard, and so do their batches.
    """
    following = 1
    for run in made:
        run.values["first_sequence"] = following
        start, batch = following, 0
        for number, id in run.places:
            inputs = sources[number].inputs_of(id)
            run.parts.append(Part((number, id), start - inputs.first, batch))
            start += inputs.room
            batch += sources[number].runs[id]["batches"]
        following = max(start, following + sentences[run.corpus.id])
    return following - 1
