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

from collections.abc import Iterable, Mapping

from attnbank.sql import registry
from attnbank.sql.bank import upgrading
from attnbank.sql.matching import Matched, Part
from attnbank.sql.outputs.tables import is_by_run
from attnbank.sql.quoting import quoted

SOURCE = "source"
"""The name that a source is attached under."""
OF = f"{SOURCE}.main."
JOINED_LOSS = "sum(loss * tokens) / greatest(sum(tokens), 1)"
"""SQL for the loss of a run from those of its shards (`ablation`): the mean over all tokens."""
KINDS = ("sentence", "word", "mention", "entity")
MOST_IDS = 2**31 - 1
Moved = tuple[dict[str, str], str]
"""The columns of a table, `own`, that change, as SQL, and the rest of its SELECT from FROM on."""

TEXT = (
    "document", "sentence", "word", "mention", "enhanced_dependency", "constituent", "departure",
)  # fmt: skip
KIND_OF = {name: name for name in (*KINDS, "corpus", "document", "run", "sequence", "batch")}
KIND_OF |= dict.fromkeys(("first_word", "last_word", "head_word"), "word")
"""What the columns of ids mean, by their names; `id` is that of the table."""
_BY_SENTENCE = f"join {OF}sentence as inside on inside.id = own.sentence"
_INSIDE = {
    **dict.fromkeys(
        (
            "word",
            "enhanced_dependency",
            "constituent",
            "departure",
            "skipped",
            "attention_tree",
            "attention_span",
        ),
        _BY_SENTENCE,
    ),
    "position": f"join {OF}sequence as inside on inside.id = own.sequence",
    **dict.fromkeys(
        ("saved_pair", "surprisal", "ablated_surprisal", "minimal_pair"),
        f"join {OF}word as its_word on its_word.id = own.word"
        f" {{kind}} join {OF}sentence as inside on inside.id = its_word.sentence",
    ),
}
"""How a row of a table, `own`, leads to its document, where it does not name it itself."""
_MAY_HAVE_NONE = ("skipped", "minimal_pair")
"""Tables with rows that belong to no document."""
_FITS = {
    "position": (
        "{} between home.first_word and home.last_word",
        "a position has a word of another document",
    ),
    "skipped": ("home.sentence_shift is not null", "it skipped a sentence that it does not have"),
}
"""What is true for a column of ids that leads to a row of its document, and the error if not."""


def ids_of(table: str) -> dict[str, str]:
    """The columns of ids of a table, and of what kind they are."""
    kinds = KIND_OF | {"id": table}
    columns = upgrading.columns_of_this_format()[table]
    return {name: kinds[name] for name in columns if name in kinds}


def listed(columns: Mapping[str, str]) -> str:
    """The columns of a SELECT, given as SQL by their names."""
    return ", ".join(f"{value} as {quoted(name)}" for name, value in columns.items())


def parts_of(matched: Matched, sentences: Mapping[int, int]) -> list[Part]:
    """Give the inputs of every run their ids, as ingest would: the parts of all runs, in order.

    `sentences` counts those of each corpus by its new id: a run has no more inputs than that. Each
    run gets its `first_sequence`.
    """
    selects = []
    following = 1
    for run in matched.runs:
        run.row["first_sequence"] = following
        start, batch = following, 0
        for number, old in run.places:
            part = matched.catalogs[number].inputs[old]
            part.run = run.id
            row = matched.catalogs[number].rows["run"][old]
            new = {"run": run.id - old, "corpus": run.row["corpus"] - row["corpus"]}
            part.shifts = new | {"sequence": start - part.first, "batch": batch}
            selects.append(part)
            start += max(0, part.last - part.first + 1)
            batch += row["batches"]
        following = max(start, following + sentences.get(run.row["corpus"], 0))
    return selects


def new_ids(column: str, ids: Mapping[int, int]) -> str:
    """SQL for what stands in `ids` for the value of a column; null for one that does not."""
    cases = " ".join(f"when {old} then {new}" for old, new in ids.items())
    return f"case own.{column} {cases} end" if cases else "null"


def _among(column: str, ids: Iterable[int]) -> str:
    return f"own.{column} in ({', '.join(map(str, ids)) or 'null'})"


def extent(number: int, corpora: Mapping[int, int], first: Iterable[int]) -> str:
    """SQL for the rows of `merge_extent` of a source; `corpora` are the new ids of its corpora.

    Of those in `first` no earlier source has the same shards.
    """
    return (
        f"select {number} as source, {new_ids('old_corpus', corpora)} as corpus,"
        f" {_among('old_corpus', first)} as is_first, own.*"
        f" from ({registry.internal_statement('merge/document_extent')}) as own"
        f" where {_among('old_corpus', corpora)}"
    )


def from_text(table: str, number: int) -> str:
    """The FROM of a table of a source, called `own`, joined to where its document goes, `home`.

    A table whose rows belong to no document stands alone.
    """
    kind = "left" if table in _MAY_HAVE_NONE else "inner"
    if table in _INSIDE:
        inside, old = f" {kind} {_INSIDE[table].format(kind=kind)}", "inside.document"
    elif table == "document" or "document" in ids_of(table):
        inside, old = "", "own.id" if table == "document" else "own.document"
    else:
        return f"from {OF}{table} as own"
    return (
        f"from {OF}{table} as own{inside} {kind} join merge_id_map as home"
        f" on home.old = {old} and home.source = {number}"
    )


def moved(table: str, number: int, part: Part | None = None, *, is_own: bool = True) -> Moved:
    """The columns of ids of a table as SQL for their new values, and the FROM for these.

    Of a table of text these are the rows that are the source's own to give (all of them without
    `is_own`), of `saved_pair` all, and of others those of a run, `part`, of the source.
    """
    changed = {name: _new(table, name, kind, part) for name, kind in ids_of(table).items()}
    where = " where home.is_own" if table in TEXT and is_own else ""
    if part is not None:
        is_by_id = "run" in upgrading.columns_of_this_format()[table]
        where = f" where {f'own.run = {part.old}' if is_by_id else part.among}"
    return changed, from_text(table, number) + where


def unread(number: int, corpora: Mapping[int, int]) -> Moved:
    """As `moved`, for what could not be read of some corpora, of which these are the new ids."""
    changed, rest = moved("skipped", number)
    changed |= {"corpus": new_ids("corpus", corpora), "run": "own.run", "batch": "own.batch"}
    return changed, f"{rest} where own.run is null and {_among('corpus', corpora)}"


def renumbered(
    table: str,
    number: int,
    ids: Mapping[str, Mapping[int, int]],
    inputs: Mapping[int, int] | None = None,
) -> Moved:
    """As `moved`, for what was computed from runs; `ids` are the new ids of runs and of probes.

    `inputs` say of each run what is added to the ids of its inputs (`Matched.input_shifts`). Rows
    that refer to others are left out.
    """
    changed, where = {}, []
    for column in upgrading.columns_of_this_format()[table]:
        kind = {"id": table, "train_run": "run", "test_run": "run"}.get(column, column)
        if kind in ids:
            changed[column] = new_ids(column, ids[kind])
            where.append(f"(own.{column} is null or {_among(column, ids[kind])})")
        elif kind in ("word", "sentence"):
            changed[column] = _new(table, column, kind, None)
        elif kind == "sequence":
            changed[column] = f"own.{column} + {new_ids('run', inputs or {})}"
    return changed, f"{from_text(table, number)} where {' and '.join(where)}"


def _new(table: str, name: str, kind: str, part: Part | None) -> str:
    """SQL for the new value of a column of ids; it raises for one that leads nowhere."""
    column = f"own.{name}"
    if part is not None and kind in part.shifts:
        return f"{column} + {part.shifts[kind]}"
    if kind in ("document", "corpus"):
        return f"home.{kind}"
    shifted = f"{column} + home.{kind}_shift"
    if table not in _FITS:
        return shifted
    fits, told = _FITS[table]
    fits = fits.format(column)
    return f"case when {fits} then {shifted} when {column} is not null then error('{told}') end"


def tables_by_sequence() -> list[str]:
    """The tables whose rows belong to an input: positions, weights, peaks, gradients."""
    tables = upgrading.columns_of_this_format().items()
    return [table for table, columns in tables if is_by_run(columns)]
