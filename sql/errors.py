"""The errors that people see: a fact, then what to type."""

from __future__ import annotations

import re


class AttnbankError(Exception):
    """An error that the user can fix: what is wrong (`fact`), then what to type (`remedy`)."""

    # The exit status of a command that fails with it: 2 when the call itself is wrong.
    status = 1

    def __init__(self, fact: str, remedy: str = "") -> None:
        super().__init__(fact if not remedy else f"{fact}\n{remedy}")
        self.fact = fact
        self.remedy = remedy


class CallError(AttnbankError):
    """The call is wrong: an option, a name, or a combination of options."""

    status = 2


class MissingPackageError(CallError, ImportError):
    """A package is needed that the base install leaves out, and it is not installed."""


class BankError(AttnbankError):
    """The bank cannot be opened, read or written."""


class QueryError(AttnbankError):
    """A statement or an analysis cannot be answered."""


class AttnbankWarning(UserWarning):
    """A warning: the result is valid, but the user should know something about it."""


def first_line(error: BaseException) -> str:
    """The first line of an error, without DuckDB's prefix such as "Binder Error: "."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"^[A-Za-z ]+ Error: ", "", text)
