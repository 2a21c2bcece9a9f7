"""The default run of a bank."""

from __future__ import annotations

from pathlib import Path

from attnbank.ingest.store.writer import open_for_changes
from attnbank.sql.bank.connections import transaction
from attnbank.sql.errors import CallError
from attnbank.sql.run_choice import find_run

_UNCHANGED = "the default run is unchanged"


def set_default_run(bank: Path, run: str | int) -> str:
    """Set the default run for its context and unit, and return its name.

    Raises CallError if there is no such run, or it is unfinished or random; BankError if the bank
    cannot be written.
    """
    with open_for_changes(bank, _UNCHANGED) as connection:
        number, name = find_run(connection, bank, run)
        ((reason,),) = connection.execute(
            "select not_default_because from run_candidate() where id = ?", [number]
        ).fetchall()
        if reason is not None:
            raise CallError(
                f"The run {name} cannot be the default run: {reason}.",
                "Name it in each query instead: --run, or run := in SQL.",
            )
        with transaction(connection):
            connection.execute(
                "delete from preferred_run where run in ("
                " select other.id from run as other inner join run as new"
                " on new.context = other.context and new.unit = other.unit where new.id = ?)",
                [number],
            )
            connection.execute("insert into preferred_run values (?)", [number])
    return name


def unset_default_runs(bank: Path) -> None:
    """Unset the default runs: the newest suitable run is the default again. Raises BankError."""
    with open_for_changes(bank, _UNCHANGED) as connection, transaction(connection):
        connection.execute("delete from preferred_run")
