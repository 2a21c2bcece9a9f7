"""The section that shows a head at work on one sentence, as figures 1 and 5 of the paper do."""

from __future__ import annotations

import shlex
import time
import warnings
from typing import TYPE_CHECKING

from attnbank.queries.sections import commands
from attnbank.queries.sections.choosing import Subject
from attnbank.queries.sections.kinds import Answer, Drawn, Missing, Section
from attnbank.sql import registry
from attnbank.sql.errors import AttnbankWarning, BankError, CallError, QueryError

if TYPE_CHECKING:
    import polars as pl

    from attnbank.queries.bank import Bank

EXAMPLE = "example"
"""What stands in the place of an analysis for this section."""
_FIRST = ("obj", "dobj", "det", "nsubj")
"""The relations that are shown, the first of them that the corpus has."""
_NEVER = ("all", "punct", "root")


def example(bank: Bank, section: Section, of: Subject) -> Answer | Missing:
    """A sentence with the head that is best for direct objects, or for another relation.

    Raises BankError where the bank is damaged or closed.
    """
    begun = time.perf_counter()
    values = {} if of.main is None or not of.is_named else {"run": of.main.name}
    try:
        best = bank.query("best_head", min_count=1, **values)
    except BankError:
        raise
    except (CallError, QueryError) as error:
        return Missing(section, error.fact, commands.remedy(bank, "best_head", error, of))
    chosen = _chosen(best)
    statement = registry.statement("sections/sentence_of_relation")
    number = None
    if chosen is not None:
        found = bank.run_of("best_head", **values)
        with bank._answering():
            rows = bank.connection.execute(
                statement, {"run": None if found is None else found.id, "relation": chosen[0]}
            ).fetchall()
        number = rows[0][0] if rows else None
    if chosen is None or number is None:
        why = "No sentence of 6 to 14 words has the relation."
        return Missing(section, why, commands.ingest(bank, of, (), "trees"))
    relation, head, direction, run = chosen
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AttnbankWarning)  # an unfinished run is told at its place
        try:
            shown = bank.show(
                number, head, run=run, relation=relation, direction=direction, special=True
            )
        except CallError as error:  # the run keeps peaks and sums alone
            return Missing(section, error.fact, error.remedy)
    typed = ["attnbank", "-b", str(bank.path), "show", str(number), "--head", head]
    typed += ["--relation", relation, "--run", run]
    if direction != "dependent_to_head":
        typed += ["--direction", direction]
    return Answer(
        section,
        f"Head {head}, the best for {relation}, on one sentence",
        (run,),
        shown.rows,
        statement,
        shlex.join(typed),
        (),
        Drawn("show", shown.weights, shlex.join([*typed, "-o", "sentence.svg"]), svg=shown.svg),
        None,
        time.perf_counter() - begun,
    )


def _chosen(best: pl.DataFrame) -> tuple[str, str, str, str] | None:
    """Relation, head, direction and run of the row that is shown; None where there is none."""
    known = {row["relation"]: row for row in best.iter_rows(named=True)}
    names = [name for name in (*_FIRST, *known) if name in known and name not in _NEVER]
    if not names:
        return None
    row = known[names[0]]
    return names[0], f"{row['layer']}-{row['head']}", row["direction"], row["run"]
