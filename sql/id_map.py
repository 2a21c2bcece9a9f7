"""Which ids rows get where several sources are one: for each kind of id a number is added.

The ids of a run's inputs follow each other, and so do the ids of a document's sentences, words,
mentions and entities: ingest writes them in order, and gives no id twice. So an id is the first one
of its run or document and a place, which is the same wherever that is ingested, and rows move from
one bank to another by adding the difference of the two first ids. Table `merge_id_map` has a row
for each document of each source, since shards leave documents out, each time others.

The statements here read the tables of one attached source (`OF`), and DuckDB and Spark take them
both. Tables that are made for this are called `merge_...`, since a temporary table hides one of the
bank that has its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from attnbank.sql import registry
from attnbank.sql.bank import formats
from attnbank.sql.matching import Catalog, Matched, Run, unfit
from attnbank.sql.outputs.tables import is_by_run

SOURCE = "source"
"""The name that a source is attached under."""
OF = f"{SOURCE}.main."
JOINED_LOSS = "sum(loss * tokens) / greatest(sum(tokens), 1)"
"""SQL for the loss of a run from those of its shards (`ablation`): the mean over all tokens."""
KINDS = ("sentence", "word", "mention", "entity")
MOST_IDS = 2**31 - 1
_COUNTS = ("sentences", "words", "mentions", "entities")
BROKEN = " or ".join(
    f"last_{kind} - first_{kind} + 1 <> {count}" for kind, count in zip(KINDS, _COUNTS, strict=True)
) + (
    " or least_word < first_word or largest_word > last_word"
    " or least_word is not null and first_word is null"
)
"""SQL that is true for a document in `merge_extent` whose ids are not as ingest gives them."""

TEXT = ("document", "sentence", "word", "mention", "enhanced_dependency", "departure")
KIND_OF = {name: name for name in (*KINDS, "corpus", "document", "run", "sequence", "batch")}
KIND_OF |= dict.fromkeys(("first_word", "last_word", "head_word"), "word")
"""What the columns of ids mean, by their names; `id` is that of the table."""
_BY_SENTENCE = f"join {OF}sentence as inside on inside.id = own.sentence"
_INSIDE = {
    **dict.fromkeys(("word", "enhanced_dependency", "departure", "skipped"), _BY_SENTENCE),
    "position": f"join {OF}sequence as inside on inside.id = own.sequence",
    "saved_pair": f"join {OF}word as its_word on its_word.id = own.word"
    f" inner join {OF}sentence as inside on inside.id = its_word.sentence",
}
"""How a row of a table, `own`, leads to its document, where it does not name it itself."""


def ids_of(table: str) -> dict[str, str]:
    """The columns of ids of a table, and of what kind they are."""
    kinds = KIND_OF | {"id": table}
    columns = formats.columns_of_this_format()[table]
    return {name: kinds[name] for name in columns if name in kinds}


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run: how many, in how many batches, from which id to which."""

    count: int
    batches: int
    first: int
    last: int

    @property
    def among(self) -> str:
        """SQL that is true for a row of a table, `own`, that belongs to one of them."""
        return f"own.sequence between {self.first} and {self.last}"


@dataclass(frozen=True)
class Part:
    """A run of a source, as it goes into a run of all sources, and what is added to its ids."""

    source: int
    old: int
    run: Run
    inputs: Inputs
    sequence_shift: int
    batch_shift: int


def inputs_of() -> str:
    """SQL for the runs of a source that have inputs, and the ids of these: see `inputs`."""
    return (
        "select run, count(*) as inputs, max(batch) as batches, min(id) as first, max(id) as last"
        f" from {OF}sequence group by run"
    )


def inputs(catalog: Catalog, rows: Iterable[Sequence[Any]]) -> dict[int, Inputs]:
    """The inputs of all runs of a source, from the rows of `inputs_of`.

    Raises BankError unless each run has ids of its own.
    """
    found = {}
    for run, count, batches, first, last in rows:
        row = catalog.rows["run"].get(run)
        if row is None:
            raise unfit(catalog.shown, "its table sequence has inputs without a run")
        if row["finished"] is None:  # it goes on by counting from there
            first = min(row["first_sequence"], first)
        if first > last or row["batches"] < batches:
            raise unfit(catalog.shown, f"the inputs of its run {row['name']} are mixed")
        found[run] = Inputs(count, batches, first, last)
    ranges = sorted((each.first, each.last) for each in found.values())
    if any(second[0] <= first[1] for first, second in pairwise(ranges)):
        raise unfit(catalog.shown, "in its table sequence the inputs of several runs overlap")
    for run, row in catalog.rows["run"].items():
        found.setdefault(run, Inputs(0, 0, row["first_sequence"], row["first_sequence"] - 1))
    return found


def parts_of(
    matched: Matched, inputs: Sequence[Mapping[int, Inputs]], sentences: Mapping[int, int]
) -> list[Part]:
    """Give the inputs of every run their ids, as ingest would: the parts of all runs, in order.

    `inputs` has those of each source, `sentences` counts those of each corpus by its new id: a run
    has no more inputs than that. Each run gets its `first_sequence`.
    """
    found = []
    following = 1
    for run in matched.runs:
        run.values["first_sequence"] = following
        start, batch = following, 0
        for number, old in run.places:
            own = inputs[number][old]
            found.append(Part(number, old, run, own, start - own.first, batch))
            start += max(0, own.last - own.first + 1)
            batch += matched.catalogs[number].rows["run"][old]["batches"]
        following = max(start, following + sentences[run.corpus.id])
    return found


def extent(number: int, corpora: Mapping[int, int]) -> str:
    """SQL for the rows of `merge_extent` of a source; `corpora` are the new ids of its corpora."""
    cases = " ".join(f"when {old} then {new}" for old, new in corpora.items())
    return (
        f"select {number} as source, case own.old_corpus {cases or 'when null then null'} end as"
        f" corpus, own.* from ({registry.statement('merge/document_extent')}) as own"
        f" where own.old_corpus in ({', '.join(map(str, corpora)) or 'null'})"
    )


def documents() -> str:
    """SQL for `merge_id_map`, over `merge_extent`."""
    return registry.statement("merge/id_map")


def differing(repeated: Iterable[tuple[int, int]]) -> str:
    """SQL for the first document, by corpus and index, that is not the same in all its sources.

    `repeated` are sources and corpora of which an earlier source has the same shards.
    """
    pairs = " or ".join(f"(source = {source} and corpus = {new})" for source, new in repeated)
    return (
        "select corpus, index from merge_id_map group by corpus, index having "
        + " or ".join(f"min({each}) <> max({each})" for each in _COUNTS)
        + f" or max(case when is_own and ({pairs or 'false'}) then 1 else 0 end) = 1"
        " order by corpus, index limit 1"
    )


def from_text(table: str, number: int) -> str:
    """The FROM of a table of a source, called `own`, joined to where its document goes, `home`."""
    kind = "left" if table == "skipped" else "inner"
    inside = f" {kind} {_INSIDE[table]}" if table in _INSIDE else ""
    old = "own.id" if table == "document" else "inside.document" if inside else "own.document"
    return (
        f"from {OF}{table} as own{inside} {kind} join merge_id_map as home"
        f" on home.old = {old} and home.source = {number}"
    )


def moved(table: str, number: int, part: Part | None = None) -> tuple[dict[str, str], str]:
    """The columns of ids of a table as SQL for their new values, and the FROM for these.

    Of a table of text these are the rows that are the source's own to give; of another one those of
    a run, `part`, of the source, and of `saved_pair` all.
    """
    if part is not None and table in tables_by_sequence() and table != "position":
        changed = {"sequence": f"own.sequence + {part.sequence_shift}"}
        return changed, f"from {OF}{table} as own where {part.inputs.among}"
    changed = {name: _new(table, name, kind, part) for name, kind in ids_of(table).items()}
    where = " where home.is_own" if table in TEXT else ""
    if part is not None:
        where = f" where {part.inputs.among if table == 'position' else f'own.run = {part.old}'}"
    return changed, from_text(table, number) + where


def _new(table: str, name: str, kind: str, part: Part | None) -> str:
    """SQL for the new value of a column of ids; it raises for one that leads nowhere."""
    column = f"own.{name}"
    if part is not None:
        of_part = {
            "run": str(part.run.id),
            "corpus": str(part.run.corpus.id),
            "sequence": f"{column} + {part.sequence_shift}",
            "batch": f"{column} + {part.batch_shift}",
        }
        if kind in of_part:
            return of_part[kind]
    if kind in ("document", "corpus"):
        return f"home.{kind}"
    shifted = f"{column} + home.{kind}_shift"
    if table == "position":
        return (
            f"case when {column} between home.first_word and home.last_word then {shifted}"
            f" when {column} is not null"
            " then error('a position has a word of another document') end"
        )
    if table == "skipped":
        return (
            f"case when {column} is null then null when home.sentence_shift is null"
            f" then error('it skipped a sentence that it does not have') else {shifted} end"
        )
    return shifted


def unread(number: int, old: int, new: int) -> tuple[dict[str, str], str]:
    """As `moved`, for what of a corpus could not be read, so that no run has it."""
    changed = {"corpus": str(new), "sentence": _new("skipped", "sentence", "sentence", None)}
    own = f"where own.corpus = {old} and own.run is null"
    return changed, f"{from_text('skipped', number)} {own}"


def relative(table: str) -> dict[str, str]:
    """The columns of ids of a text as SQL, without what differs between sources of one text."""
    return {
        name: "0" if kind in ("document", "corpus") else f"own.{name} - home.first_{kind}"
        for name, kind in ids_of(table).items()
    }


def tables_by_sequence() -> list[str]:
    """The tables whose rows belong to an input, positions first: weights, peaks, gradients."""
    tables = formats.columns_of_this_format().items()
    found = [table for table, columns in tables if is_by_run(columns)]
    return sorted(found, key=lambda table: table != "position")
